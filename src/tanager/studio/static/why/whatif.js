// What if: a control for every column. The probabilities follow while it is moved.

import { h, number, refill } from "../dom.js";

export class WhatIf {
  constructor(onchange) {
    this.onchange = onchange;
    this.controls = new Map();
    this.element = h("div", { class: "what-if" });
  }

  /** Make the controls for the columns of a model. */
  build(columns) {
    this.columns = new Map(columns.map((column) => [column.name, column]));
    this.controls = new Map(columns.map((column) => [column.name, column.range ? this.slider(column) : this.select(column)]));
    refill(this.element, [...this.controls].map(([name, control]) => control.line));
  }

  line(column, input, text) {
    const back = h("button", { class: "plain", title: "Back to the value of the row", "aria-label": `Put ${column.name} back`, hidden: true, onclick: () => this.onchange(column.name, undefined) }, "↶");
    const line = h("div", { class: `control${column.read ? "" : " unread"}`, title: column.read ? null : "the model does not read this column", "data-name": column.name }, h("label", {}, h("span", { class: "name" }, column.name), input), text, back);
    return { line, back };
  }

  select(column) {
    const input = h("select", { onchange: (event) => this.onchange(column.name, event.target.value === "" ? null : column.values[Number(event.target.value)]) },
      h("option", { value: "" }, "not known"), column.values.map((value, place) => h("option", { value: String(place) }, String(value))));
    const { line, back } = this.line(column, input, null);
    const set = (value) => {
      const place = column.values.findIndex((own) => own === value || String(own) === String(value));
      input.value = value === null || place < 0 ? "" : String(place);
    };
    return { line, back, set };
  }

  slider(column) {
    const [low, high] = column.range;
    const whole = Number.isInteger(low) && Number.isInteger(high) && high - low >= 10;
    const id = `cuts-${[...this.columns.keys()].indexOf(column.name)}`;
    const send = (text) => {
      const value = text === "" ? null : Number(text);
      if (value === null || Number.isFinite(value)) this.onchange(column.name, value);
    };
    const input = h("input", { type: "range", min: low, max: high, step: whole ? 1 : (high - low) / 200 || "any", list: id, oninput: (event) => ((box.value = number(Number(event.target.value), 5)), send(event.target.value)) });
    const box = h("input", { type: "number", step: "any", "aria-label": `${column.name}, as a number`, placeholder: "?", onchange: (event) => send(event.target.value) });
    const marks = h("datalist", { id }, column.cuts.map((cut) => h("option", { value: cut })));
    const { line, back } = this.line(column, input, [box, marks]);
    const set = (value) => {
      if (document.activeElement !== input) input.value = value ?? (low + high) / 2;
      if (document.activeElement !== box) box.value = value === null ? "" : Number(Number(value).toPrecision(5));
      line.classList.toggle("missing", value === null);
    };
    return { line, back, set };
  }

  /** Show the cells of a row, and which of them were changed. */
  show(cells, changes) {
    for (const [name, control] of this.controls) {
      control.set(cells[name] ?? null);
      control.back.hidden = !(name in changes);
      control.line.classList.toggle("changed", name in changes);
    }
  }
}
