// Why: rows, wrong ones first; for a row the reasons, the nomogram, other values, and what would turn the answer.

import { colourOf } from "../charts.js";
import { chance, choice, h, isText, latest, number, percent, refill } from "../dom.js";
import { hasMore, nomogram, reasonBars } from "../why/reasons.js";
import { RowList } from "../why/rows.js";
import { WhatIf } from "../why/whatif.js";

// Where the tab stands; it outlives a visit to other pages.
const state = { row: null, changes: {}, answer: null, against: null, tab: "reasons", all: false, wanted: null, fixed: new Set(), columns: 2, allTurns: false };
const FEW = 3; // changes that are listed at first

export default {
  async show(root, studio) {
    const page = new WhyPage(root, studio);
    await page.load();
    return { changed: () => page.load(), hide: () => page.hide() };
  },
};

class WhyPage {
  constructor(root, studio) {
    this.root = root;
    this.studio = studio;
    this.list = new RowList(studio, (row) => this.choose(row));
    this.whatIf = new WhatIf((name, value) => this.change(name, value));
    this.head = h("div", { class: "why-head" });
    this.reasons = h("div", { class: "reasons" });
    this.turning = h("div", { id: "turning" });
    this.turn = 0;
    this.ask = latest(() => this.askNow());
    this.sizes = new ResizeObserver(() => requestAnimationFrame(() => this.found && this.reasons.clientWidth !== this.drawnWidth && this.drawReasons()));
  }

  hide() {
    this.sizes.disconnect();
    clearTimeout(this.later);
  }

  async load() {
    let found;
    try {
      found = await this.studio.act("why", "overview");
    } catch (error) {
      refill(this.root, h("h1", {}, "Why"), h("p", {}, error.message), h("button", { class: "main", onclick: () => this.studio.go("ask") }, "To the page Ask"));
      this.key = null;
      return;
    }
    const key = JSON.stringify([found.classes, found.columns, this.studio.summary?.data?.name]);
    this.overview = found;
    if (key !== this.key) {
      if (state.key !== key) Object.assign(state, { key, row: null, changes: {}, answer: null, against: null, wanted: null, fixed: new Set(), columns: 2 });
      this.key = key;
      this.build();
    }
    this.list.setClasses(found.classes);
    refill(this.about, this.aboutText());
    const rows = found.rows ? await this.list.load() : null;
    if (state.row === null && rows?.length) state.row = rows[0].row;
    if (!(state.row < found.rows)) state.row = null;
    this.list.mark(state.row);
    await this.ask();
  }

  aboutText() {
    const { rows, wrong, left_out: leftOut } = this.overview;
    const model = this.overview.model === "NetworkClassifier" ? "The network" : this.overview.model;
    if (!rows) return `${model} from a file: fill in what is known.`;
    return `${model}: ${number(wrong)} of ${number(rows)} answers are wrong (${percent(wrong / rows)})${leftOut ? ", each row left out in turn" : "; the rows were seen, as this model cannot leave rows out"}.`;
  }

  build() {
    this.about = h("span", { class: "quiet" });
    this.whatIf.build(this.overview.columns);
    refill(this.root,
      h("div", { class: "why" },
        h("div", { class: "row top" }, h("h1", {}, "Why"), this.about),
        this.overview.rows ? h("div", { class: "column" }, this.list.element) : null,
        h("div", { class: "column middle" }, this.head, this.reasons),
        h("aside", { class: "column panel", "aria-label": "What if" },
          this.turning,
          h("div", { class: "row spread" }, h("h2", {}, "What if"), h("button", { id: "reset", onclick: () => this.reset() }, "Put all back")),
          this.whatIf.element)));
    this.sizes.disconnect();
    this.sizes.observe(this.reasons);
  }

  choose(row) {
    Object.assign(state, { row, changes: {}, answer: null, against: null, wanted: null, columns: 2 });
    this.list.mark(row);
    this.ask();
  }

  change(name, value) {
    if (value === undefined) delete state.changes[name];
    else state.changes[name] = value;
    state.columns = 2;
    this.ask();
  }

  reset() {
    state.changes = {};
    this.ask();
  }

  // --- one row --------------------------------------------------------------------------------------------------------

  async askNow() {
    const { row, changes, answer, against } = state;
    const found = await this.studio.attempt(() => this.studio.act("why", "why", { row, changes, answer, against, nomogram: state.tab === "nomogram" }));
    if (!found || !this.key) return;
    this.found = found;
    this.whatIf.show(found.cells, state.changes);
    this.drawHead();
    this.drawReasons();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.askTurning(), 120);
  }

  drawHead() {
    const { found, overview: { classes } } = this;
    const changed = Object.keys(state.changes).length;
    const best = found.probabilities.map((p, c) => ({ p, c })).sort((a, b) => b.p - a.p).slice(0, 6);
    const wrong = found.actual !== null && found.actual !== found.answer;
    const title = state.row === null ? "A row of your own" : `Row ${state.row}`;
    refill(this.head,
      h("h2", {}, `${title}: `, h("strong", { id: "answer", css: { color: colourOf(found.answer) } }, classes[found.answer]),
        found.actual === null ? null : h("span", { class: wrong ? "bad" : "good" }, changed ? ` (the row is ${classes[found.actual]})` : wrong ? ` ✗ but it is ${classes[found.actual]}` : " ✓ as it is")),
      h("div", { class: "chances" }, best.map(({ p, c }) => h("div", { class: "chance", css: { "--p": `${100 * p}%`, "--own": colourOf(c) }, "data-class": classes[c] }, h("span", {}, classes[c]), h("span", { class: "number" }, chance(p))))),
      found.left_out && !changed ? h("p", { class: "quiet" }, `Left out, the row gets ${chance(found.left_out[found.answer])} for ${classes[found.answer]}; above and below, the model has learned it too.`) : changed ? h("p", { class: "warn" }, `${changed} ${changed === 1 ? "value" : "values"} changed by you.`) : null);
  }

  drawReasons() {
    const { found, overview: { classes } } = this;
    const width = (this.drawnWidth = this.reasons.clientWidth) - 4;
    const shown = state.tab === "nomogram" ? found.nomogram : found.reasons;
    if (!shown) return; // the nomogram is on its way
    const pair = found.reasons.refused ? null : found.reasons;
    const options = classes.map((text, c) => [String(c), text]);
    const tabs = [["reasons", "Reasons"], ["nomogram", "Nomogram"]].map(([id, text]) =>
      h("button", { role: "tab", id: `tab-${id}`, "aria-selected": String(state.tab === id), onclick: () => ((state.tab = id), this.ask()) }, text));
    refill(this.reasons,
      h("div", { class: "row spread" },
        h("div", { class: "tabs", role: "tablist", "aria-label": "Reasons or nomogram" }, tabs),
        pair ? h("span", { class: "row tight" }, "why ", choice(options, String(pair.answer), (c) => this.contrast(Number(c), null), { id: "why-answer", "aria-label": "Class to explain" }), " rather than ", choice(options.filter(([c]) => c !== String(pair.answer)), String(pair.against), (c) => this.contrast(pair.answer, Number(c)), { id: "why-against", "aria-label": "Class to compare with" })) : null),
      state.tab === "nomogram" ? nomogram(shown, classes, width, state.all, (name, place) => this.pick(name, place)) : reasonBars(shown, classes, width, state.all),
      hasMore(shown) ? h("button", { onclick: () => ((state.all = !state.all), this.drawReasons()) }, state.all ? "Only the largest" : "All columns") : null);
  }

  contrast(answer, against) {
    Object.assign(state, { answer, against });
    this.ask();
  }

  /** A value of the nomogram: of a number, the end of the bin that is nearest. */
  pick(name, place) {
    const column = this.overview.columns.find((own) => own.name === name);
    if (column.kind !== "numeric") return this.change(name, column.values[place]);
    const [low, high] = [column.cuts[place - 1] ?? column.range[0], column.cuts[place] ?? column.range[1]];
    this.change(name, (low + high) / 2);
  }

  // --- what would turn it ---------------------------------------------------------------------------------------------

  async askTurning() {
    const { row, changes, wanted, columns } = state;
    const { classes } = this.overview;
    const turn = ++this.turn;
    let found;
    try {
      found = await this.studio.act("why", "turning", { row, changes, wanted: wanted === this.found.answer ? null : wanted, fixed: [...state.fixed], columns });
    } catch (error) {
      found = { refused: error.message };
    }
    if (turn !== this.turn) return;
    const others = classes.map((text, c) => [String(c), text]).filter(([c]) => Number(c) !== this.found.answer);
    refill(this.turning,
      h("h2", {}, "What would turn the answer"),
      classes.length > 2 ? choice([["", "to any other"], ...others.map(([c, text]) => [c, `to ${text}`])], wanted === null ? "" : String(wanted), (c) => ((state.wanted = c === "" ? null : Number(c)), this.askTurning()), { id: "wanted-class", "aria-label": "To which class" }) : null,
      this.fixedChips(),
      this.turningList(found, classes));
  }

  fixedChips() {
    if (!state.fixed.size) return null;
    return h("div", { class: "chips" }, [...state.fixed].map((name) => h("span", { class: "chip" }, `${name} stays`, h("button", { class: "plain", "aria-label": `${name} may change`, onclick: () => (state.fixed.delete(name), this.askTurning()) }, "×"))));
  }

  turningList(found, classes) {
    if (found.refused) return h("p", { class: "warn" }, found.refused);
    if (!found.n) {
      const more = state.columns < 3 ? h("button", { id: "three", onclick: () => ((state.columns = 3), this.askTurning()) }, "Try three columns") : null;
      return [h("p", {}, `No other values of ${state.columns === 2 ? "one or two" : "up to three"} columns turn it.`), more];
    }
    const line = (change) => h("li", {},
      h("button", { class: "belief", title: "Try it", css: { "--p": `${100 * change.probability}%` }, onclick: () => this.apply(change) }, h("span", { class: "value" }, Object.entries(change.shown).map(([name, text]) => isText(name, text)).join(" and ")), h("span", { class: "number" }, `→ ${classes[change.answer]} ${percent(change.probability, 0)}`)),
      Object.keys(change.shown).map((name) => h("button", { class: "plain stays", title: `Leave ${name} as it is`, "aria-label": `Leave ${name} as it is`, onclick: () => (state.fixed.add(name), this.askTurning()) }, Object.keys(change.shown).length > 1 ? `not ${name}` : "not this")));
    const shown = state.allTurns ? found.changes : found.changes.slice(0, FEW);
    const more = found.changes.length > FEW ? h("button", { id: "all-turns", onclick: () => ((state.allTurns = !state.allTurns), this.askTurning()) }, state.allTurns ? "Fewer" : `${number(found.n)} in all`) : null;
    return [h("ol", { class: "turns" }, shown.map(line)), more, h("p", { class: "quiet" }, `About the model, not about causes: another value goes with another answer; it need not bring it about.`)];
  }

  apply(change) {
    Object.assign(state.changes, change.values);
    this.ask();
  }
}
