// Posteriors as bars inside the boxes of a network. They are made once; new beliefs only move them.

import { cut } from "../charts.js";
import { percent, s } from "../dom.js";
import { state } from "./state.js";

const BAR = 16; // px; as the server makes room for
const LONGEST = 50; // px of a bar
const NUMBER = 49; // px for the percentage

export class Boxes {
  constructor(variables, picture, most, ontoggle) {
    this.variables = variables;
    this.most = most;
    this.ontoggle = ontoggle;
    this.rows = new Map(); // name -> [{place, element, fill, tick, text}]
    const boxes = new Map(picture.nodes.map((node) => [node.name, node]));
    this.notes = new Map(variables.map((variable) => [variable.name, this.note(variable, boxes.get(variable.name))]));
  }

  note({ name, values }, box) {
    const left = -box.width / 2;
    const top = -box.room / 2;
    const shown = values.length <= this.most ? values.length : this.most;
    const rows = Array.from({ length: shown }, (_, i) => this.row(name, box, top + BAR * i));
    this.rows.set(name, rows);
    const more = values.length - shown;
    const rest = more > 0 ? s("text", { class: "value quiet", x: left + 8, y: top + BAR * (shown + 0.5) }, `${more} more: see List`) : null;
    const sheet = s("rect", { class: "sheet", x: left + 1.5, y: top, width: box.width - 3, height: box.room - 1.5, rx: 5 });
    return s("g", {}, sheet, rows.map((row) => row.element), rest);
  }

  row(name, box, y) {
    const left = -box.width / 2 + 8;
    const wide = LONGEST;
    const start = box.width / 2 - NUMBER - wide;
    const fill = s("rect", { class: "fill", x: start, y: y + 3, height: BAR - 6, width: 0 });
    const tick = s("rect", { class: "tick", y: y + 1, width: 1.5, height: BAR - 2, x: start });
    const number = s("text", { class: "number", x: box.width / 2 - 6, y: y + BAR / 2 });
    const label = s("text", { class: "value", x: left, y: y + BAR / 2 });
    const title = s("title");
    const row = { place: -1, start, wide, fill, tick, number, label, title, room: start - left - 4 };
    row.element = s(
      "g",
      {
        class: "bar",
        role: "button",
        "data-name": name,
        onpointerenter: () => (title.textContent = row.element.getAttribute("aria-label")),
        onpointerdown: (event) => event.stopPropagation(), // or the box would be dragged
        onclick: () => this.ontoggle(name, row.place),
      },
      title,
      s("rect", { class: "track", x: -box.width / 2 + 2, y, width: box.width - 4, height: BAR }),
      label, fill, tick, number,
    );
    return row;
  }

  /** Show beliefs: a list of posteriors for each variable, and what they were before anything was known. */
  update(marginals, priors) {
    this.variables.forEach(({ name, values }, i) => {
      const places = this.places(name, priors[i]);
      this.rows.get(name).forEach((row, k) => this.fillRow(row, name, values, places[k], marginals[i], priors[i]));
    });
  }

  fillRow(row, name, values, place, marginal, prior) {
    const p = marginal[place];
    const text = percent(p, p > 0.9995 || p < 0.0005 ? 0 : 1);
    const known = state.evidence.get(name) === place;
    const kind = known ? "bar known" : state.soft.has(name) ? "bar soft" : "bar";
    if (row.place !== place) {
      row.place = place;
      row.label.textContent = cut(values[place], row.room, 11.5);
      row.element.setAttribute("data-place", place);
    } else if (row.text === text && row.kind === kind && row.prior === prior[place]) return; // nothing to paint, which takes longest
    Object.assign(row, { text, kind, prior: prior[place] });
    row.fill.setAttribute("width", (row.wide * p).toFixed(1));
    row.tick.setAttribute("x", row.start + row.wide * prior[place] - 0.75);
    row.number.textContent = text;
    row.element.setAttribute("class", kind);
    row.element.setAttribute("aria-pressed", String(known));
    row.element.setAttribute("aria-label", `${name} = ${values[place]}, ${percent(p)}; ${percent(prior[place])} before anything is known`);
  }

  /** Which values have a bar: all, or those that were most probable beforehand, and the one that is known. */
  places(name, prior) {
    const rows = this.rows.get(name).length;
    const all = prior.map((_, place) => place);
    if (rows === all.length) return all;
    const known = state.evidence.get(name);
    const rank = (place) => (place === known ? 2 : prior[place]);
    return all.sort((a, b) => rank(b) - rank(a)).slice(0, rows).sort((a, b) => a - b);
  }
}
