// Ask: evidence on any variable by a click, posteriors of all others at once, and what to make of them.

import { Boxes } from "../ask/boxes.js";
import { BeliefList } from "../ask/list.js";
import * as panel from "../ask/panel.js";
import { fitTo, observed, state, toggle } from "../ask/state.js";
import { h, latest, refill, valueText } from "../dom.js";
import { NetworkView } from "../graph.js";

const SMALL = 0.4; // a picture that must be scaled down so much cannot be read: the list is shown first

export default {
  async show(root, studio) {
    const page = new AskPage(root, studio);
    await page.load();
    return { changed: () => page.load() };
  },
};

class AskPage {
  constructor(root, studio) {
    this.root = root;
    this.studio = studio;
    this.known = h("div", { id: "known" });
    this.closely = h("div", { id: "closely" });
    this.tabs = h("div", {});
    this.answers = h("div", { id: "answers", role: "tabpanel" });
    this.search = h("input", { type: "search", id: "search", placeholder: "Search variables", "aria-label": "Search variables", oninput: () => this.find() });
    this.stage = h("div", { class: "stage" });
    this.ask = latest(() => this.askNow());
    this.askMore = latest(() => this.askMoreNow());
    this.act = {
      toggle: (name, place) => this.change(name, () => toggle(name, place)),
      forget: (name) => this.change(null, () => (state.evidence.delete(name), state.soft.delete(name))),
      forgetAll: () => this.change(null, () => (state.evidence.clear(), state.soft.clear())),
      takeBack: () => this.takeBack(),
      soften: (name, place, likelihood) => this.soften(name, place, likelihood),
      select: (name) => this.select(name),
      turn: (tab) => ((state.tab = tab), this.drawTabs(), this.askMore()),
      aim: (name) => ((state.target = name), (state.value = 0), this.drawTabs(), this.askMore()),
      value: (place) => ((state.value = place), this.askMore()),
      answer: () => this.askMore(),
    };
  }

  /** The network as it is now; what is known stays as far as it fits. */
  async load() {
    let found;
    try {
      found = await this.studio.act("ask", "network");
    } catch (error) {
      this.variables = null;
      refill(this.root, h("h1", {}, "Ask"), h("p", {}, error.message), h("button", { class: "main", onclick: () => this.studio.go("network") }, "To the page Network"));
      return;
    }
    const key = JSON.stringify([found.variables, found.picture]);
    for (const variable of found.variables) variable.values = variable.values.map(valueText);
    this.variables = found.variables;
    fitTo(found.variables, found.target);
    if (key !== this.key) {
      this.key = key;
      this.priors = null;
      this.build(found);
    }
    this.priors = (await this.studio.act("ask", "beliefs", { evidence: {} })).marginals;
    await this.ask();
  }

  build(found) {
    this.view = new NetworkView({ label: "What the network believes. Digits set a value of a box as evidence", onselect: (what) => this.select(what?.kind === "node" ? what.name : null) });
    this.view.draw(found.picture);
    this.boxes = new Boxes(found.variables, found.picture, found.bars, this.act.toggle);
    this.view.annotate(this.boxes.notes);
    this.view.element.addEventListener("keydown", (event) => this.digit(event));
    this.list = new BeliefList(found.variables, this.act.toggle, (name) => this.select(name));
    const views = [["picture", "Picture"], ["list", "List"]].map(([id, text]) => h("button", { id: `view-${id}`, onclick: () => ((this.chosen = true), this.turnView(id)) }, text));
    refill(this.root,
      h("div", { class: "split ask" },
        h("div", { class: "column" },
          h("div", { class: "row" }, h("h1", {}, "Ask"), this.search, h("span", { class: "group", role: "group", "aria-label": "Picture or list" }, views), h("span", { class: "quiet hint" }, h("i", { class: "key-tick" }), " before anything was known")),
          this.stage),
        h("aside", { class: "panel", "aria-label": "What is known, and questions" }, this.known, this.closely, this.tabs, this.answers)));
    this.turnView(state.view ?? "picture");
    this.view.fit();
    if (!this.chosen && this.view.zoom.scale < SMALL) this.turnView("list");
    this.drawTabs();
  }

  /** Only what is to be seen follows at once. */
  update() {
    if (!this.marginals) return;
    if (state.view === "picture") this.boxes.update(this.marginals, this.priors);
    else this.list.update(this.marginals);
  }

  turnView(id) {
    state.view = id;
    this.update();
    refill(this.stage, id === "picture" ? this.view.element : this.list.element);
    for (const own of ["picture", "list"]) this.root.querySelector(`#view-${own}`).setAttribute("aria-pressed", String(own === id));
    this.find();
  }

  drawTabs() {
    refill(this.tabs, panel.questions(this.variables, this.act));
  }

  find() {
    const text = this.search.value.trim().toLowerCase();
    this.list.search(text);
    const found = this.variables.map((variable) => variable.name).filter((name) => name.toLowerCase().includes(text));
    this.view.focus(text ? found : null);
    if (text && found.length === 1 && state.view === "picture") this.view.show(found[0]);
  }

  select(name) {
    state.selected = name;
    this.view.select(name);
    if (name && state.view === "list") this.list.cards.find((card) => card.dataset.name === name)?.scrollIntoView({ block: "nearest" });
    if (this.marginals) this.drawClosely();
  }

  digit(event) {
    const name = event.target.closest?.(".node")?.dataset.name;
    const place = Number(event.key) - 1;
    const variable = this.variables.find((own) => own.name === name);
    if (!variable || event.ctrlKey || event.altKey || event.metaKey || !(place >= 0 && place < variable.values.length)) return;
    event.preventDefault();
    this.act.toggle(name, place);
  }

  // --- what is known ------------------------------------------------------------------------------------------------

  change(name, work) {
    this.last = { evidence: new Map(state.evidence), soft: new Map(state.soft) };
    work();
    if (name && state.selected && state.selected !== name) this.select(null);
    this.ask();
  }

  takeBack() {
    if (!this.last) return this.act.forgetAll();
    Object.assign(state, this.last);
    this.last = null;
    this.ask();
  }

  soften(name, place, likelihood) {
    const { values } = this.variables.find((variable) => variable.name === name);
    if (!state.soft.has(name)) this.last = { evidence: new Map(state.evidence), soft: new Map(state.soft) };
    const numbers = [...(state.soft.get(name) ?? values.map(() => 1))];
    numbers[place] = likelihood;
    state.evidence.delete(name);
    if (numbers.every((own) => own === 1)) state.soft.delete(name);
    else state.soft.set(name, numbers);
    this.ask();
  }

  // --- answers --------------------------------------------------------------------------------------------------------

  async askNow() {
    let found;
    try {
      found = await this.studio.act("ask", "beliefs", observed());
    } catch (error) {
      this.stage.classList.add("stale");
      refill(this.known, panel.known(this.variables, null, this.act).slice(0, 2));
      panel.refusal(this.answers, error.message, this.act);
      return;
    }
    this.stage.classList.remove("stale");
    this.marginals = found.marginals;
    this.update();
    refill(this.known, panel.known(this.variables, found.probability, this.act));
    this.drawClosely();
    this.askMore();
  }

  /** The sliders stay while they are moved; only numbers follow. */
  drawClosely() {
    const at = this.variables.findIndex((variable) => variable.name === state.selected);
    const sliding = document.activeElement?.type === "range" && this.closely.contains(document.activeElement);
    if (at >= 0 && sliding) {
      for (const text of this.closely.querySelectorAll(".number")) {
        const p = this.marginals[at][Number(text.dataset.place)];
        text.textContent = `${(100 * p).toFixed(1)} %`;
        text.parentElement.style.setProperty("--p", `${100 * p}%`);
      }
    } else refill(this.closely, at < 0 ? [] : panel.closely(this.variables[at], this.marginals[at], this.act));
  }

  async askMoreNow() {
    const sliding = document.activeElement?.id === "wanted";
    let content;
    try {
      content = await panel.answer(this.variables, this.studio, this.act);
    } catch (error) {
      content = h("p", { class: "bad", role: "alert" }, error.message);
    }
    if (this.stage.classList.contains("stale")) return; // the refusal stays
    refill(this.answers, content);
    panel.markAlone(this.answers, this.variables, this.marginals);
    if (sliding) document.getElementById("wanted")?.focus();
  }
}
