// The list of rows with its filters: wrong answers first.

import { choice, debounced, field, h, number, percent, refill } from "../dom.js";

const STEP = 100; // rows that the server gives at a time

export class RowList {
  constructor(studio, onchoose) {
    this.studio = studio;
    this.onchoose = onchoose;
    this.filter = { only: "all", actual: null, predicted: null, low: 0, high: 1, search: "" };
    this.start = 0;
    this.head = h("p", { class: "quiet", "aria-live": "polite" });
    this.body = h("tbody", {});
    this.fields = h("div", { class: "filters" });
    this.more = h("button", { id: "more-rows", onclick: () => ((this.start += STEP), this.load(true)) }, "More rows");
    this.table = h("table", { class: "rows" }, h("thead", {}, h("tr", {}, ["row", "is", "answer", "sure"].map((text) => h("th", {}, text)))), this.body);
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.element = h("div", { class: "row-list" }, this.fields, this.head, h("div", { class: "row-scroll" }, this.table, this.more));
    this.soon = debounced(() => this.load());
  }

  /** Draw the filters for the classes of a model. */
  setClasses(classes) {
    this.classes = classes;
    const set = (name, value) => ((this.filter[name] = value), this.load());
    const any = [["", "any"], ...classes.map((text, c) => [String(c), text])];
    const pick = (label, name) => field(label, choice(any, this.filter[name] === null ? "" : String(this.filter[name]), (value) => set(name, value === "" ? null : Number(value)), { id: `filter-${name}` }));
    const end = (label, name) => h("input", { type: "number", min: 0, max: 100, step: 5, value: 100 * this.filter[name], "aria-label": label, onchange: (event) => set(name, Math.min(100, Math.max(0, Number(event.target.value))) / 100) });
    refill(this.fields,
      h("div", { class: "row" },
        field("answers", choice([["all", "all"], ["wrong", "wrong"], ["right", "right"]], this.filter.only, (value) => set("only", value), { id: "filter-only" })),
        field("sure, %", h("span", { class: "row tight" }, end("Sure at least", "low"), "–", end("Sure at most", "high")))),
      h("div", { class: "row" }, pick("is", "actual"), pick("answered", "predicted")),
      h("input", { type: "search", id: "filter-search", value: this.filter.search, placeholder: "Search: a value, or sex = male", "aria-label": "Search rows", oninput: (event) => ((this.filter.search = event.target.value), this.soon()) }));
  }

  async load(more = false) {
    if (!more) this.start = 0;
    const asked = JSON.stringify(this.filter);
    const found = await this.studio.attempt(() => this.studio.act("why", "rows", { ...this.filter, start: this.start }));
    if (!found || asked !== JSON.stringify(this.filter)) return;
    const rows = found.rows.map((row) => this.line(row));
    if (more) this.body.append(...rows);
    else refill(this.body, rows);
    refill(this.head, found.n ? `${number(found.n)} ${found.n === 1 ? "row" : "rows, wrong answers first"}` : "No row fits.");
    this.more.hidden = this.start + STEP >= found.n;
    this.mark(this.chosen);
    return found.rows;
  }

  line({ row, actual, predicted, certainty }) {
    const wrong = actual !== predicted;
    return h("tr", { tabindex: 0, "data-row": row, class: wrong ? "wrong" : null, title: wrong ? "a wrong answer" : null, onclick: () => this.onchoose(row) },
      h("td", { class: "number" }, row), h("td", {}, this.classes[actual]), h("td", {}, wrong ? "✗ " : "", this.classes[predicted]), h("td", { class: "number" }, percent(certainty, 0)));
  }

  mark(row) {
    this.chosen = row;
    for (const line of this.body.children) {
      line.classList.toggle("selected", Number(line.dataset.row) === row);
      line.setAttribute("aria-selected", String(Number(line.dataset.row) === row));
    }
  }

  key(event) {
    const line = event.target.closest("tr[data-row]");
    if (!line) return;
    const to = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
    if (to) to.focus();
    else if (event.key === "Enter" || event.key === " ") this.onchoose(Number(line.dataset.row));
    else return;
    event.preventDefault();
  }
}
