// Charts as SVG elements: every function takes what is to be drawn with width and height in pixels, and gives an
// element. Colours are CSS variables, so that a chart follows the theme; a <title> tells screen readers what it shows.

import { h, number, s } from "./dom.js";

const N_COLOURS = 8;

/** The colour of the series or class with this number; beyond eight they become paler, then darker. */
export function colourOf(index) {
  const own = `var(--c${index % N_COLOURS})`;
  const round = Math.floor(index / N_COLOURS) % 3;
  return round === 0 ? own : `color-mix(in srgb, ${own} 55%, var(${round === 1 ? "--ground" : "--ink"}))`;
}

/** A function from a domain [a, b] to a range [c, d]. */
export function scale([a, b], [c, d]) {
  const step = b === a ? 0 : (d - c) / (b - a);
  return (x) => c + (x - a) * step;
}

/** Round numbers between low and high, about n of them. */
export function ticks(low, high, n = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((own) => own >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text in pixels, as charts set it. */
export function textWidth(text, size = 12) {
  ruler.font = `${size}px system-ui, "Segoe UI", "Liberation Sans", sans-serif`;
  return ruler.measureText(text).width;
}

/** A text that is cut to fit; the whole is for the caller's tooltip. */
export function cut(text, pixels, size = 12) {
  const whole = String(text);
  if (textWidth(whole, size) <= pixels) return whole;
  let low = 0;
  for (let high = whole.length; low < high; ) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(whole.slice(0, middle) + "…", size) <= pixels) low = middle;
    else high = middle - 1;
  }
  return whole.slice(0, low) + "…";
}

/** Names of colours: legend([{label, colour, dashed}]). */
export function legend(items) {
  return h("ul", { class: "legend" }, items.map(({ label, colour, dashed }, i) =>
    h("li", { title: label }, h("i", { class: dashed ? "dashed" : null, css: { "--own": colour ?? colourOf(i) } }), h("span", {}, label))));
}

/** An empty chart with its title. */
export function canvas(width, height, label, properties = {}) {
  return s("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, ...properties }, s("title", {}, label));
}

/** A tooltip for an SVG element. */
export function tip(text) {
  return s("title", {}, text);
}

// --- axes ----------------------------------------------------------------------------------------------------------

const text = (x, y, properties, ...children) => s("text", { x, y, ...properties }, ...children);
const line = (x1, y1, x2, y2, properties) => s("line", { x1, y1, x2, y2, ...properties });

/** A horizontal axis below y: ticks, their numbers, and a label. */
export function xAxis({ x, y, domain, label, format = number, grid = 0, n = 6, at = null }) {
  const parts = [line(x(domain[0]), y, x(domain[1]), y, { class: "axis" })];
  let free = -Infinity; // numbers that would overlap are left out
  for (const own of at ?? ticks(...domain, n)) {
    const [px, words] = [x(own), format(own)];
    const half = textWidth(words) / 2;
    parts.push(line(px, y - grid, px, y + 4, { class: grid ? "grid" : "axis" }));
    if (px - half > free) {
      parts.push(text(px, y + 17, { "text-anchor": "middle", class: "tick" }, words));
      free = px + half + 6;
    }
  }
  if (label) parts.push(text((x(domain[0]) + x(domain[1])) / 2, y + 34, { "text-anchor": "middle", class: "label" }, label));
  return s("g", { "aria-hidden": "true" }, parts);
}

/** A vertical axis to the left of x. */
export function yAxis({ x, y, domain, label, format = number, grid = 0, n = 5 }) {
  const parts = ticks(...domain, n).map((own) => [
    line(x, y(own), x + grid, y(own), { class: "grid" }),
    text(x - 6, y(own) + 4, { "text-anchor": "end", class: "tick" }, format(own)),
  ]);
  const middle = (y(domain[0]) + y(domain[1])) / 2;
  if (label) parts.push(text(13, middle, { "text-anchor": "middle", class: "label", transform: `rotate(-90 13 ${middle})` }, label));
  return s("g", { "aria-hidden": "true" }, parts);
}

function extent(values, fallback = [0, 1]) {
  const known = values.filter((value) => Number.isFinite(value));
  if (!known.length) return fallback;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function margins(yformat, domain, ylabel) {
  const widest = Math.max(...ticks(...domain).map((own) => textWidth(yformat(own))));
  return widest + 10 + (ylabel ? 18 : 0);
}

// --- charts --------------------------------------------------------------------------------------------------------

/**
 * Horizontal bars with intervals. items: [{label, value, low, high, colour, faint, note}]. Bars begin at `from`
 * (0 unless told); "dot" draws points instead, for measures that do not begin at 0.
 */
export function bars({ items, width = 520, rowHeight = 24, label = "Bars", xlabel = "", domain = null, from = 0, dot = false, format = number, labelWidth = null, sign = false }) {
  const left = labelWidth ?? Math.min(width * 0.4, Math.max(0, ...items.map((item) => textWidth(item.label))) + 10);
  const values = items.flatMap((item) => [item.value, item.low, item.high]).filter((value) => value !== undefined && value !== null);
  const numbers = Math.max(0, ...items.map((item) => textWidth(item.note ?? format(item.value)))) + 10;
  const [low, high] = domain ?? extent(dot ? values : [...values, from]);
  const height = items.length * rowHeight + (xlabel ? 44 : 26);
  const x = scale([low, high], [left + 2, width - numbers - 6]);
  const inside = (value) => x(Math.min(high, Math.max(low, value)));
  const picture = canvas(width, height, label);
  const bottom = items.length * rowHeight + 4;
  picture.append(xAxis({ x, y: bottom, domain: [low, high], label: xlabel, format, grid: bottom }));
  items.forEach((item, i) => {
    const middle = i * rowHeight + rowHeight / 2 + 2;
    const colour = item.colour ?? (sign ? (item.value < 0 ? colourOf(1) : colourOf(0)) : colourOf(0));
    const spread = item.low === undefined || item.low === null ? "" : `, interval ${format(item.low)} to ${format(item.high)}`;
    const [start, end] = [inside(from), inside(item.value)].sort((a, b) => a - b);
    picture.append(
      s("g", { opacity: item.faint ? 0.45 : null }, tip(`${item.label}: ${format(item.value)}${spread}`),
        text(left - 6, middle + 4, { "text-anchor": "end" }, cut(item.label, left - 8)),
        dot ? null : s("rect", { x: start, y: middle - rowHeight * 0.32, width: Math.max(1, end - start), height: rowHeight * 0.64, rx: 2, fill: colour, opacity: spread ? 0.75 : 1 }),
        spread ? [
          line(inside(item.low), middle, inside(item.high), middle, { stroke: dot ? colour : "var(--ink)", "stroke-width": dot ? 2 : 1.5 }),
          [item.low, item.high].map((own) => line(inside(own), middle - 4, inside(own), middle + 4, { stroke: dot ? colour : "var(--ink)", "stroke-width": 1.5 })),
        ] : null,
        dot ? s("circle", { cx: inside(item.value), cy: middle, r: 4.5, fill: colour }) : null,
        text(width - 2, middle + 4, { "text-anchor": "end", class: "tick" }, item.note ?? format(item.value))),
    );
  });
  return picture;
}

/** The rectangles of one stacked column; parts of less than a third of a pixel are not drawn. */
function stack(counts, x, width, y, classes) {
  let below = 0;
  return counts.map((count, c) => {
    const [top, base] = [y(below + count), y(below)];
    below += count;
    return base - top < 0.3 ? null : s("rect", { x, y: top, width, height: base - top, fill: colourOf(c) }, tip(`${classes[c]}: ${number(count)}`));
  });
}

/**
 * Columns stacked by class. With `edges` (one more than bins) along a numeric axis, else one slot for each of
 * bins: [{label, title, counts: [one for each class]}]. `share` makes all columns equally high.
 * `at` are places of ticks that `format` has words for; `headroom` is left free above.
 * The element has .xOf(value) and .plot = {left, right, top, bottom} for what is drawn over it.
 */
export function columns({ bins, classes, edges = null, width = 520, height = 240, label = "Columns", xlabel = "", ylabel = "rows", share = false, format = number, at = null, headroom = 0, thumbnail = false }) {
  const totals = bins.map((bin) => bin.counts.reduce((a, b) => a + b, 0));
  const rows = share ? bins.map((bin, b) => bin.counts.map((own) => (totals[b] ? own / totals[b] : 0))) : bins.map((bin) => bin.counts);
  const most = share ? 1 : Math.max(1, ...totals);
  const picture = canvas(width, height, label);
  const yformat = share ? (own) => `${Math.round(100 * own)} %` : number;
  const left = thumbnail ? 0 : margins(yformat, [0, most], ylabel);
  const slot = (width - left - 8) / Math.max(1, bins.length);
  const wanted = thumbnail || edges ? 0 : Math.max(0, ...bins.map((bin) => textWidth(bin.label)));
  const slanted = wanted > slot - 4; // labels of values that do not fit are turned
  const room = thumbnail ? 1 : (edges ? 22 : slanted ? Math.min(wanted, 110) * 0.71 + 18 : 22) + (xlabel ? 18 : 0);
  const plot = { left: left + (thumbnail ? 0 : 4), right: width - (thumbnail ? 0 : 8), top: (thumbnail ? 0 : 8) + headroom, bottom: height - room };
  const y = scale([0, most], [plot.bottom, plot.top]);
  if (!thumbnail) picture.append(yAxis({ x: left, y, domain: [0, most], label: ylabel, format: yformat, grid: plot.right - left, n: 4 }));
  const x = edges ? scale([edges[0], edges[edges.length - 1]], [plot.left, plot.right]) : scale([0, bins.length], [plot.left, plot.right]);
  bins.forEach((bin, b) => {
    const [start, end] = edges ? [x(edges[b]), x(edges[b + 1])] : [x(b + 0.08), x(b + 0.92)];
    picture.append(s("g", {}, tip(bin.title ?? `${bin.label}: ${number(totals[b])}`), stack(rows[b], start, Math.max(0.6, end - start - (edges && end - start > 3 ? 0.7 : 0)), y, classes)));
    if (thumbnail || edges) return;
    const middle = x(b + 0.5);
    const words = cut(bin.label, slanted ? 110 : slot + 2);
    const turned = slanted ? { "text-anchor": "end", transform: `rotate(-45 ${middle + 4} ${plot.bottom + 12})` } : { "text-anchor": "middle" };
    if (slot >= 9 || b % Math.ceil(12 / slot) === 0) picture.append(text(middle + (slanted ? 4 : 0), plot.bottom + (slanted ? 12 : 16), { class: "tick", ...turned }, tip(bin.title ?? bin.label), words));
  });
  if (!thumbnail && edges) picture.append(xAxis({ x, y: plot.bottom, domain: [edges[0], edges[edges.length - 1]], label: xlabel, format, at }));
  else if (!thumbnail) {
    picture.append(line(plot.left, plot.bottom, plot.right, plot.bottom, { class: "axis" }));
    if (xlabel) picture.append(text((plot.left + plot.right) / 2, height - 4, { "text-anchor": "middle", class: "label" }, xlabel));
  }
  return Object.assign(picture, { xOf: x, yOf: y, plot });
}

/** The frame of charts with two numeric axes: the picture, its scales, and where the plot is. */
function frame({ width, height, label, xdomain, ydomain, xlabel, ylabel, xformat, yformat }) {
  const picture = canvas(width, height, label);
  const left = margins(yformat, ydomain, ylabel);
  const plot = { left: left + 2, right: width - 14, top: 10, bottom: height - (xlabel ? 42 : 24) };
  const [x, y] = [scale(xdomain, [plot.left, plot.right]), scale(ydomain, [plot.bottom, plot.top])];
  picture.append(
    yAxis({ x: plot.left, y, domain: ydomain, label: ylabel, format: yformat, grid: plot.right - plot.left }),
    xAxis({ x, y: plot.bottom, domain: xdomain, label: xlabel, format: xformat }),
  );
  return { picture: Object.assign(picture, { xOf: x, yOf: y, plot }), x, y, plot };
}

const path = (points, x, y) => points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");

/**
 * Curves. series: [{label, points: [[x, y], ...], band: [[x, low, high], ...], colour, dashed}];
 * marks: [{x, label, colour}] are vertical lines. Points whose y is not known break the curve.
 */
export function lines({ series, marks = [], width = 620, height = 280, label = "Curves", xlabel = "", ylabel = "", xdomain = null, ydomain = null, xformat = number, yformat = number }) {
  const all = series.flatMap((own) => own.points);
  const bands = series.flatMap((own) => (own.band ?? []).flatMap(([, low, high]) => [low, high]));
  const xs = xdomain ?? extent([...all.map((point) => point[0]), ...marks.map((mark) => mark.x)]);
  const ys = ydomain ?? extent([...all.map((point) => point[1]), ...bands]);
  const { picture, x, y, plot } = frame({ width, height, label, xdomain: xs, ydomain: ys, xlabel, ylabel, xformat, yformat });
  for (const mark of marks) {
    picture.append(s("g", {}, tip(mark.label ?? ""), line(x(mark.x), plot.top, x(mark.x), plot.bottom, { class: "mark", stroke: mark.colour ?? "var(--quiet)" }),
      mark.label ? text(x(mark.x) + 4, plot.top + 10, { class: "tick" }, cut(mark.label, Math.max(0, plot.right - x(mark.x) - 4))) : null));
  }
  series.forEach((own, i) => {
    const colour = own.colour ?? colourOf(i);
    if (own.band?.length) {
      const around = [...own.band.map(([a, low]) => [a, low]), ...own.band.map(([a, , high]) => [a, high]).reverse()];
      picture.append(s("path", { d: `${path(around, x, y)}Z`, fill: colour, opacity: 0.18 }));
    }
    const pieces = [[]];
    for (const point of own.points) Number.isFinite(point[1]) ? pieces.at(-1).push(point) : pieces.push([]);
    const d = pieces.map((piece) => path(piece, x, y)).join("");
    picture.append(s("path", { d, class: "curve", stroke: colour, "stroke-dasharray": own.dashed ? "5 4" : null }, tip(own.label ?? "")));
  });
  return picture;
}

/** Points. series: [{label, points: [{x, y, title, size}], colour}]. */
export function scatter({ series, width = 420, height = 320, label = "Points", xlabel = "", ylabel = "", xdomain = null, ydomain = null, xformat = number, yformat = number }) {
  const all = series.flatMap((own) => own.points);
  const { picture, x, y } = frame({
    width, height, label, xlabel, ylabel, xformat, yformat,
    xdomain: xdomain ?? extent(all.map((point) => point.x)),
    ydomain: ydomain ?? extent(all.map((point) => point.y)),
  });
  series.forEach((own, i) => {
    for (const point of own.points) {
      picture.append(s("circle", { cx: x(point.x), cy: y(point.y), r: point.size ?? 3.5, fill: own.colour ?? colourOf(i), opacity: 0.8 }, tip(point.title ?? own.label ?? "")));
    }
  });
  return picture;
}

/**
 * How honest probabilities are: what was said against what came true; the diagonal is honest.
 * series: [{label, points: [{said, true, rows, low, high}], colour}].
 */
export function reliability({ series, width = 380, height = 340, label = "Reliability", xlabel = "probability that was given", ylabel = "share that came true" }) {
  const { picture, x, y } = frame({ width, height, label, xlabel, ylabel, xdomain: [0, 1], ydomain: [0, 1], xformat: number, yformat: number });
  picture.append(line(x(0), y(0), x(1), y(1), { class: "mark", stroke: "var(--quiet)" }));
  const most = Math.max(1, ...series.flatMap((own) => own.points.map((point) => point.rows ?? 1)));
  series.forEach((own, i) => {
    const colour = own.colour ?? colourOf(i);
    picture.append(s("path", { d: path(own.points.map((point) => [point.said, point.true]), x, y), class: "curve", stroke: colour }));
    for (const point of own.points) {
      if (point.low !== undefined && point.low !== null) picture.append(line(x(point.said), y(point.low), x(point.said), y(point.high), { stroke: colour, "stroke-width": 1.2, opacity: 0.6 }));
      const words = `${own.label}: ${number(point.rows)} answers of about ${number(point.said)}, of which ${number(point.true)} came true`;
      picture.append(s("circle", { cx: x(point.said), cy: y(point.true), r: 2.5 + 4 * Math.sqrt((point.rows ?? 1) / most), fill: colour, opacity: 0.85 }, tip(words)));
    }
  });
  return picture;
}
