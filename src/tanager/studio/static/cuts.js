// A picture of a column with cut points that are moved by the mouse or by keys.

import { columns, ticks, tip } from "./charts.js";
import { number, s } from "./dom.js";

const DAY = 86400;

/** How numbers of a column are written: as times, where they are seconds. */
export function formatOf(numbers) {
  if (numbers?.time === "time") return (value) => new Date(1000 * value).toISOString().slice(11, 16);
  if (numbers?.time !== "date") return (value) => number(value, 4);
  const long = numbers.high - numbers.low > 3 * DAY;
  return (value) => {
    const date = new Date(1000 * value);
    if (Number.isNaN(date.getTime())) return number(value);
    return long ? date.toISOString().slice(0, 10) : date.toISOString().slice(5, 16).replace("T", " ");
  };
}

/** A step that is small for people, given the range of a column. */
function grainOf({ low, high, time }) {
  const range = high - low;
  if (time) return range > 60 * DAY ? DAY : range > 2 * DAY ? 3600 : 60;
  const rough = (range || 1) / 1000;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * (rough / power >= 5 ? 5 : rough / power >= 2 ? 2 : 1);
}

function between(from, to, pairs, x) {
  let k = 1;
  while (k < pairs.length - 1 && x > pairs[k][from]) k++;
  const [a, b] = [pairs[k - 1], pairs[k]];
  return b[from] === a[from] ? b[to] : a[to] + ((x - a[from]) / (b[from] - a[from])) * (b[to] - a[to]);
}

/** The axis of a column: places from 0 to 1, and back; cut points only where they mean something. */
export function axisOf(column, scale) {
  if (column.kind === "ordinal") {
    const n = column.values.length;
    return {
      place: (t) => (t + 0.5) / n,
      value: (p) => p * n - 0.5,
      snap: (t) => Math.min(n - 1.5, Math.max(0.5, Math.round(t - 0.5) + 0.5)),
      step: 1,
      format: (t) => `after ${column.values[Math.floor(t)]?.value}`,
    };
  }
  const { numbers } = column;
  const { knots } = numbers[scale];
  const grain = grainOf(numbers);
  const whole = (value) => Math.floor(value) + 0.5;
  const rounded = (value) => Number((Math.round(value / grain) * grain).toPrecision(12));
  return {
    place: (value) => Math.min(1, Math.max(0, between(0, 1, knots, value))),
    value: (place) => between(1, 0, knots, place),
    snap: numbers.whole ? whole : rounded,
    step: numbers.whole ? 1 : grain,
    format: formatOf(numbers),
  };
}

/** Where a new cut point halves the bin with the most rows. */
export function halfway(column, cuts) {
  const axis = axisOf(column, "rank");
  const places = [0, ...cuts.map(axis.place), 1];
  let widest = 0;
  for (let k = 1; k < places.length - 1; k++) if (places[k + 1] - places[k] > places[widest + 1] - places[widest]) widest = k;
  return axis.snap(axis.value((places[widest] + places[widest + 1]) / 2));
}

function background(column, classes, scale, width, height, share) {
  const shared = { classes, width, height, share, headroom: 20, ylabel: share ? "share of rows" : "rows" };
  if (column.kind === "ordinal") {
    const bins = column.values.map(({ value, counts }) => ({ label: String(value), counts, title: `${value}: ${number(counts.reduce((a, b) => a + b, 0))} rows` }));
    return columns({ ...shared, bins, edges: null, label: `${column.name} by class, in its order` });
  }
  const { numbers } = column;
  const [axis, format] = [axisOf(column, scale), formatOf(numbers)];
  const { edges, counts } = numbers[scale];
  const bins = counts.map((own, b) => {
    const rows = number(own.reduce((x, y) => x + y, 0));
    return { counts: own, title: `${format(axis.value(edges[b]))} to ${format(axis.value(edges[b + 1]))}: ${rows} rows` };
  });
  const values = scale === "value" ? ticks(axis.value(0), axis.value(1), 7) : numbers.rank.knots.slice(1).map(([value]) => value);
  const words = new Map(values.map((value) => [axis.place(value), format(value)]));
  const xlabel = scale === "value" ? column.name : `${column.name}, spread out`;
  return columns({ ...shared, bins, edges, xlabel, at: [...words.keys()], format: (p) => words.get(p) ?? "", label: `${column.name} by class` });
}

/**
 * The picture. onmove(cuts) is called while a cut point moves, ondone(cuts, index) when it rests, is added or removed.
 * The element has .focusCut(index).
 */
export function cutPicture({ column, classes, scale, share, width = 640, height = 262, onmove, ondone }) {
  const picture = background(column, classes, scale, width, height, share || (scale === "rank" && column.kind !== "ordinal")); // bars of unequal width have no height
  const axis = axisOf(column, scale);
  const { left, right, top, bottom } = picture.plot;
  const xOf = (value) => left + axis.place(value) * (right - left);
  const placeAt = (event) => {
    const box = picture.getBoundingClientRect();
    return Math.min(1, Math.max(0, (((event.clientX - box.left) / box.width) * width - left) / (right - left)));
  };
  let cuts = [...column.cuts];
  let timer = 0;
  picture.setAttribute("role", "group");
  const handles = s("g", {});
  picture.append(handles);

  const inside = (k, value) => (k === 0 || value > cuts[k - 1]) && (k === cuts.length - 1 || value < cuts[k + 1]);

  function remove(k) {
    cuts = cuts.filter((_, other) => other !== k);
    ondone(cuts, Math.min(k, cuts.length - 1));
  }

  function add(value) {
    if (cuts.includes(value)) return;
    cuts = [...cuts, value].sort((a, b) => a - b);
    ondone(cuts, cuts.indexOf(value));
  }

  function handle(value, k) {
    const words = s("text", { class: "cut-value", y: top - 14, "text-anchor": "middle" });
    const own = s("g", { class: "cut", tabindex: 0, role: "slider", "aria-label": `Cut point ${k + 1} of ${column.name}`, "aria-valuemin": axis.value(0), "aria-valuemax": axis.value(1) },
      tip("Drag, or use the arrow keys; Delete removes"),
      s("rect", { x: -6, y: top - 12, width: 12, height: bottom - top + 12, fill: "transparent" }),
      s("line", { x1: 0, x2: 0, y1: top - 4, y2: bottom }),
      s("path", { d: `M0 ${top} l6 -10 h-12 z` }), words);

    function put(next) {
      cuts[k] = next;
      own.setAttribute("transform", `translate(${xOf(next)} 0)`);
      own.setAttribute("aria-valuenow", next);
      own.setAttribute("aria-valuetext", axis.format(next));
      words.textContent = axis.format(next);
    }

    function shift(way, far) {
      const place = axis.place(cuts[k]) + way * (far ? 0.04 : 0.005);
      let next = axis.snap(axis.value(place));
      if (way * (next - cuts[k]) <= 0) next = axis.snap(cuts[k] + way * axis.step); // at least one step
      if (!inside(k, next) || axis.place(next) <= 0 || axis.place(next) >= 1) return;
      put(next);
      onmove([...cuts]);
      clearTimeout(timer);
      timer = setTimeout(() => own.isConnected && ondone([...cuts], k), 600); // a rest after the last key
    }

    own.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft" || event.key === "ArrowDown") shift(-1, event.shiftKey);
      else if (event.key === "ArrowRight" || event.key === "ArrowUp") shift(1, event.shiftKey);
      else if (event.key === "Delete" || event.key === "Backspace") remove(k);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    own.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      own.focus();
      own.setPointerCapture(event.pointerId);
      const start = cuts[k];
      const move = (moved) => {
        const next = axis.snap(axis.value(placeAt(moved)));
        if (next === cuts[k] || !inside(k, next)) return;
        put(next);
        onmove([...cuts]);
      };
      const end = () => {
        own.removeEventListener("pointermove", move);
        if (cuts[k] !== start) ondone([...cuts], k);
      };
      own.addEventListener("pointermove", move);
      own.addEventListener("pointerup", end, { once: true });
    });
    put(value);
    return own;
  }

  picture.addEventListener("dblclick", (event) => {
    const place = placeAt(event);
    if (place > 0 && place < 1) add(axis.snap(axis.value(place)));
  });
  handles.append(...cuts.map(handle));
  return Object.assign(picture, { focusCut: (k) => handles.children[k]?.focus() });
}
