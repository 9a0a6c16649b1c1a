// The reasons for an answer: log-odds as bars, and the nomogram of the model with the row marked on it.

import { bars, canvas, colourOf, cut, scale, textWidth, ticks } from "../charts.js";
import { chance, h, isText, number, s, valueText } from "../dom.js";

const MOST = 14; // bars that are shown at first
const AXES = 11;
const signed = (value) => (value === null || !Number.isFinite(value) ? "∞" : `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`);

/** Log-odds of the columns as bars, the largest first. */
export function reasonBars(reasons, classes, width, all) {
  if (reasons.refused) return h("p", { class: "warn" }, sentence(reasons.refused));
  const [mine, other] = [classes[reasons.answer], classes[reasons.against]];
  const shown = all ? reasons.columns : reasons.columns.slice(0, MOST);
  const rest = reasons.columns.slice(shown.length);
  const colour = (value) => colourOf(value >= 0 ? reasons.answer : reasons.against);
  const items = shown.map(({ name, value, log_odds: own }) => ({ label: isText(name, value), value: own ?? 0, colour: colour(own), note: signed(own) }));
  if (rest.length) items.push(item(`${rest.length} more columns`, rest.reduce((sum, each) => sum + (each.log_odds ?? 0), 0)));
  if (Math.abs(reasons.prior) > 5e-5) items.push(item("how common the classes are", reasons.prior));
  items.push({ ...item("all together", reasons.log_odds ?? 0), note: signed(reasons.log_odds), faint: false });
  return [
    reasons.where.length ? h("p", {}, `Where ${reasons.where.join(", then ")}:`) : null,
    h("p", { class: "sides" }, h("span", { css: { color: colourOf(reasons.against) } }, `← for ${other}`), h("span", { css: { color: colourOf(reasons.answer) } }, `for ${mine} →`)),
    bars({ items, width, label: `Log-odds of ${mine} against ${other} by column`, xlabel: "log-odds; +0.7 doubles the odds, +2.3 makes them tenfold", rowHeight: 23 }),
  ];

  function item(label, value) {
    return { label, value, colour: colour(value), note: signed(value), faint: true };
  }
}

export function hasMore(reasons) {
  return (reasons.columns?.length ?? 0) > MOST || (reasons.axes?.length ?? 0) > AXES;
}

/** The nomogram: an axis for each column, all on one scale of log-odds; a click on a value tries it. */
export function nomogram(found, classes, width, all, onpick) {
  if (found.refused) return h("p", { class: "warn" }, sentence(found.refused));
  const axes = all ? found.axes : found.axes.slice(0, AXES);
  const [mine, other] = [classes[found.answer], classes[found.against]];
  const left = Math.min(165, Math.max(60, ...axes.map((axis) => Math.max(textWidth(axis.column), textWidth(givenText(axis), 10)) + 12)));
  const points = axes.flatMap((axis) => axis.points).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...points), Math.max(0, ...points)];
  const x = scale([low, high], [left + 8, width - 14]);
  const row = 32;
  const top = 26;
  const bottom = top + axes.length * row;
  const picture = canvas(width, bottom + 76, `Nomogram: what each value adds to the log-odds of ${mine} against ${other}`, { class: "chart nomogram", role: "group" });
  const grid = ticks(low, high, 8);
  picture.append(s("g", { "aria-hidden": "true" }, grid.map((own) => [
    s("line", { class: own === 0 ? "axis" : "grid", x1: x(own), x2: x(own), y1: top - 8, y2: bottom - 4 }),
    s("text", { class: "tick", x: x(own), y: top - 13, "text-anchor": "middle" }, own > 0 ? `+${number(own)}` : number(own)),
  ])));
  axes.forEach((axis, i) => picture.append(drawAxis(axis, x, top + i * row + 18, [left, width - 2], onpick)));
  picture.append(sum(found, mine, left, width, bottom + 14));
  const probability = 1 / (1 + Math.exp(-found.total));
  const parents = axes.some((axis) => axis.given.length) ? " A column with a parent is drawn for the parent's value in this row, in grey below its name." : "";
  return [picture, h("p", { class: "quiet" },
    `Total ${signed(found.total)} = ${signed(found.prior)} (how common the classes are) and a point from each axis${found.axes.length > axes.length ? ` and from ${found.axes.length - axes.length} more` : ""}: ${chance(probability)} ${mine}${classes.length > 2 ? `, if it is ${mine} or ${other}` : ""}. Click on a value to try it.${parents}`)];
}

function givenText(axis) {
  return axis.given.map(([name, value]) => (value === "?" ? `${name} not known` : isText(name, value))).join(", ");
}

function drawAxis(axis, x, y, [left, right], onpick) {
  const known = axis.points.map((point, place) => ({ point, place })).filter(({ point }) => Number.isFinite(point)).sort((a, b) => a.point - b.point);
  if (!known.length) return s("g", {});
  const given = givenText(axis);
  const marks = [];
  const order = [...known].sort((a, b) => (b.place === axis.at) - (a.place === axis.at));
  const taken = []; // labels that would overlap are left out; the tooltip has them
  for (const { point, place } of order) {
    const text = cut(valueText(axis.values[place]), 120, 11);
    const half = textWidth(text, 11) / 2;
    const middle = Math.min(Math.max(x(point), left + half), right - half);
    const fits = taken.every(([from, to]) => middle + half + 3 < from || middle - half - 3 > to);
    if (fits) taken.push([middle - half, middle + half]);
    marks.push(s("g", { class: place === axis.at ? "value own" : "value", onclick: () => onpick(axis.column, place) },
      s("title", {}, `${isText(axis.column, axis.values[place])}: ${signed(point)}`),
      s("rect", { class: "hit", x: x(point) - 7, y: y - 20, width: 14, height: 28 }),
      place === axis.at ? s("circle", { cx: x(point), cy: y, r: 5.5 }) : s("line", { x1: x(point), x2: x(point), y1: y - 4, y2: y + 4 }),
      fits ? s("text", { x: middle, y: y - 8, "text-anchor": "middle" }, text) : null));
  }
  return s("g", { class: "nomogram-axis" },
    s("text", { x: left - 4, y: y + (given ? -2 : 4), "text-anchor": "end", class: "name" }, s("title", {}, `${axis.column}${given ? `, where ${given}` : ""}`), cut(axis.column, left - 6)),
    given ? s("text", { x: left - 4, y: y + 11, "text-anchor": "end", class: "given" }, cut(given, left - 6, 10)) : null,
    s("line", { class: "axis", x1: x(known[0].point), x2: x(known.at(-1).point), y1: y, y2: y }),
    marks);
}

/** The two axes at the foot: the sum of all points, and the probability that belongs to it. */
function sum(found, mine, left, width, y) {
  const reach = Math.max(5, Math.min(40, Math.ceil(Math.abs(found.total) + 1)));
  const x = scale([-reach, reach], [left + 8, width - 14]);
  const at = x(Math.max(-reach, Math.min(reach, found.total)));
  const label = (text, dy) => s("text", { x: left - 4, y: y + dy + 4, "text-anchor": "end", class: "name" }, text);
  const chances = [1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1 - 1e-6].filter((p) => Math.abs(Math.log(p / (1 - p))) <= reach);
  let free = -Infinity;
  const tick = (px, text, dy) => {
    const half = textWidth(text, 11) / 2;
    const shown = px - half > free;
    if (shown) free = px + half + 5;
    return [s("line", { class: "axis", x1: px, x2: px, y1: y + dy - 4, y2: y + dy + 4 }), shown ? s("text", { class: "tick", x: px, y: y + dy + 18, "text-anchor": "middle" }, text) : null];
  };
  const first = ticks(-reach, reach, 8).map((own) => tick(x(own), own > 0 ? `+${number(own)}` : number(own), 0));
  free = -Infinity;
  const second = chances.map((p) => tick(x(Math.log(p / (1 - p))), `${Number((100 * p).toPrecision(4))} %`, 38));
  return s("g", { class: "nomogram-sum" },
    label("total", 0), s("line", { class: "axis", x1: x(-reach), x2: x(reach), y1: y, y2: y }), first,
    label(cut(`P(${mine})`, left - 6), 38), s("line", { class: "axis", x1: x(-reach), x2: x(reach), y1: y + 38, y2: y + 38 }), second,
    s("line", { class: "down", x1: at, x2: at, y1: y, y2: y + 38 }), s("circle", { cx: at, cy: y, r: 5.5 }), s("circle", { cx: at, cy: y + 38, r: 5.5 }));
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
