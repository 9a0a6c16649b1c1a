// Learn a network, look at it, change it, and see at once what that does to left-out answers.

import { choice, h, number, percent, refill } from "../dom.js";
import { legend, NetworkView } from "../graph.js";
import { learnPanel } from "../network/learn.js";
import { rulesPanel, withRules } from "../network/rules.js";
import { tablePanel } from "../network/table.js";

const MODES = [
  ["arc", "draws an arc"],
  ["require", "requires an arc"],
  ["forbid", "forbids an arc"],
  ["move", "moves a box"],
];
const TABS = [
  ["learn", "Learn"],
  ["selected", "Selected"],
  ["rules", "Rules"],
  ["history", "History"],
];

export default {
  async show(root, studio) {
    const page = new NetworkPage(root, studio);
    await page.start();
    return {
      changed: () => page.changed(),
      job: (summary) => page.learning.job(summary),
      heard: (kind, data) => page.heard(kind, data),
      hide: () => page.view.stop(),
    };
  },
};

class NetworkPage {
  constructor(root, studio) {
    Object.assign(this, { root, studio, state: null, tab: "learn", mode: "arc", against: "", editing: 0, showRules: true, classArcs: true });
    this.view = new NetworkView({
      label: "The network",
      editable: true,
      onadd: (parent, child) => this.drawn(parent, child),
      onremove: (parent, child) => this.removed(parent, child),
      onreverse: (parent, child) => this.edit("reverse", { parent, child }),
      onselect: (what) => this.selected(what),
      onmove: (name, x, y) => this.moved(name, x, y),
      ontry: (parent, child) => this.preview(parent, child),
      onrefuse: (parent, child, path) => studio.toast(`${parent} → ${child} would close the cycle ${[...path, path[0]].join(" → ")}, so it is refused.`, "error"),
    });
    this.other = new NetworkView({ label: "The network it is compared with", editable: false });
    this.figures = h("div", { class: "figures", "aria-live": "polite" });
    this.panel = h("div", { class: "panel side-panel" });
    this.tabs = h("div", { class: "tabs", role: "tablist" });
    this.size = h("span", {});
    this.search = h("input", { type: "search", placeholder: "Find a box (/)", "aria-label": "Find a box", list: "names", onkeydown: (event) => event.key === "Enter" && this.find(), onchange: () => this.find() });
    this.names = h("datalist", { id: "names" });
    this.views = h("div", { class: "views" }, this.view.element);
    this.legend = h("p", { class: "quiet legend-line" }, legend(h("span", {})), this.size);
  }

  async start() {
    const { studio } = this;
    const forms = await studio.act("network", "forms");
    this.learning = learnPanel(this, forms);
    this.rules = rulesPanel(this);
    this.table = tablePanel(this);
    this.toolbar = h(
      "div",
      { class: "row toolbar" },
      h("label", { class: "row" }, "Dragging ", choice(MODES, this.mode, (mode) => this.setMode(mode), { id: "mode", "aria-label": "What dragging from a box does" })),
      this.search,
      this.names,
      h("button", { id: "tidy", title: "Lay the picture out again", onclick: () => this.edit("tidy", {}) }, "Tidy"),
      h("button", { id: "blanket", title: "Show only the selected box (or the class) and its Markov blanket (B)", "aria-pressed": "false", onclick: () => this.turnBlanket() }, "Blanket"),
      choice([["", "one picture"], ["before", "+ step before"], ["learned", "+ as learned"]], "", (value) => this.compare(value), { id: "against", "aria-label": "Side by side" }),
      h("label", {}, h("input", { type: "checkbox", id: "class-arcs", checked: true, onchange: (event) => this.turnClassArcs(event.target.checked) }), " class arcs"),
    );
    refill(this.root, h("div", { class: "network-page" }, this.figures, this.toolbar, this.views, this.legend, h("aside", { "aria-label": "Learn, selected box, rules and history" }, this.tabs, this.panel)));
    this.view.svg.addEventListener("keydown", (event) => this.key(event));
    await this.load();
    const running = await studio.act("session", "job", { page: "network" });
    if (running) this.learning.job(running);
  }

  // --- what there is -------------------------------------------------------------------------------------------------

  async load() {
    const state = await this.studio.attempt(() => this.studio.act("network", "state"));
    if (state) this.take(state);
  }

  /** The session has changed. Our own edits are drawn with their answers, which come before or after this. */
  async changed() {
    const heard = this.version;
    if (this.editing > 0 && heard !== undefined) return;
    this.version = undefined;
    if (heard !== undefined && heard <= (this.state?.version ?? -1)) {
      if (this.tab === "history") this.drawPanel();
      return;
    }
    await this.load();
  }

  heard(kind, data) {
    if (kind === "changed") this.version = data.version;
  }

  take(state) {
    const first = !this.state?.picture;
    this.state = state;
    this.draw();
    if (first && state.picture) this.view.fit();
    this.view.options.editable = state.editable;
    for (const id of ["mode", "tidy"]) this.toolbar.querySelector(`#${id}`).disabled = !state.editable || !state.picture;
    this.toolbar.querySelector("#against").disabled = !state.editable;
    refill(this.names, (state.picture?.nodes ?? []).map((node) => h("option", { value: node.name })));
    if (this.selection && state.picture && !this.isThere(this.selection)) this.selection = null;
    refill(this.size, state.picture ? ` · ${number(state.arcs)} arcs, ${number(state.parameters)} numbers` : "");
    this.drawFigures();
    this.drawTabs();
    this.drawPanel();
    if (this.root.dataset.version !== String(state.version)) this.root.dataset.version = state.version;
    if (this.against) this.compare(this.against);
  }

  isThere(what) {
    const { nodes, arcs } = this.state.picture;
    return what.kind === "node" ? nodes.some((node) => node.name === what.name) : arcs.some((arc) => arc.parent === what.parent && arc.child === what.child) || what.rule;
  }

  draw() {
    const { picture } = this.state;
    this.views.classList.toggle("empty", !picture);
    if (!picture) return this.drawNothing();
    this.nothing?.remove();
    this.nothing = null;
    this.view.links = picture.arcs;
    let shown = this.showRules ? withRules(picture, this.state.rules) : picture;
    if (!this.classArcs) shown = { ...shown, arcs: shown.arcs.filter((arc) => arc.style !== "class") };
    this.view.draw(this.marked(shown));
    this.view.select(this.selection?.kind === "arc" ? this.selection : this.selection?.name ?? null);
    this.drawBlanket();
  }

  drawNothing() {
    this.view.draw({ nodes: [], arcs: [], width: 0, height: 0 });
    this.nothing ??= h(
      "div",
      { class: "nothing" },
      h("p", {}, "There is no network yet. Learn one on the right, or begin with"),
      h("p", { class: "row" },
        h("button", { onclick: () => this.learning.run("naive-bayes") }, "naive Bayes"),
        h("button", { onclick: () => this.learning.run("empty") }, "no arcs")),
    );
    if (!this.nothing.isConnected) this.views.append(this.nothing);
  }

  // --- figures -------------------------------------------------------------------------------------------------------

  drawFigures(candidate = null) {
    const { figures, editable, picture } = this.state;
    if (!figures) {
      refill(this.figures, h("p", { class: "quiet" }, editable || !picture ? "Left-out accuracy and log loss appear here once there is a network." : "This is a model file: there are no rows, so its network can be looked at but not changed."));
      return;
    }
    const { accuracy, log_loss: loss, rows } = figures;
    refill(
      this.figures,
      h("div", { class: "figure", id: "accuracy", title: `Each of ${number(rows)} rows answered as if it alone had not been learned` }, h("small", {}, "left-out accuracy"), h("b", {}, percent(accuracy, 2))),
      h("div", { class: "figure", id: "log-loss" }, h("small", {}, "left-out log loss"), h("b", {}, loss.toFixed(4))),
      candidate
        ? this.comparison(`if you drop it here: ${candidate.text}`, candidate, "candidate")
        : [
            figures.before ? this.comparison("the last step", figures.before, "before") : null,
            figures.learned ? this.comparison("all edits since it was learned", figures.learned, "learned") : null,
          ],
    );
  }

  comparison(label, difference, id) {
    return h(
      "div",
      { class: "figure", id: `against-${id}`, title: "Paired differences with intervals of 95 %, over the rows" },
      h("small", {}, label),
      difference.accuracy ? h("span", {}, signed(difference.accuracy, 100, " %", 2), " accuracy, ", signed(difference.log_loss, 1, "", 4, -1), " log loss") : h("span", { class: difference.bad ? "bad" : "quiet" }, difference.note ?? "…"),
    );
  }

  /** An arc is being dragged over a possible child: what would it do? The answer to the last one counts. */
  async preview(parent, child) {
    this.asked = { parent, child };
    const { asked } = this;
    if (!child) return this.drawFigures();
    const text = `${parent} → ${child}`;
    if (this.mode !== "arc") return this.drawFigures({ text, note: this.mode === "require" ? "every learner must keep it" : "no learner may have it" });
    const { arcs } = this.state.picture;
    if (arcs.some((arc) => arc.parent === parent && arc.child === child)) return this.drawFigures({ text, note: "it is there already" });
    if (this.view.svg.querySelector(".refused")) return this.drawFigures({ text, note: "it would close a cycle", bad: true });
    this.drawFigures({ text });
    const found = await this.studio.act("network", "attempt", { parent, child }).catch((error) => ({ note: error.message, bad: true }));
    if (this.asked === asked) this.drawFigures({ ...found, text });
  }

  // --- edits ---------------------------------------------------------------------------------------------------------

  async edit(action, body) {
    this.view.calm();
    this.editing += 1;
    const state = await this.studio.attempt(() => this.studio.act("network", action, body));
    this.editing -= 1;
    if (state) this.take(state);
    if (this.version !== undefined) await this.changed();
    return state;
  }

  drawn(parent, child) {
    if (this.mode === "arc") return this.edit("add", { parent, child });
    return this.rules.add(this.mode === "require" ? "required" : "forbidden", [parent, child]);
  }

  removed(parent, child) {
    const what = this.selection;
    this.selection = null;
    if (what?.rule) return this.rules.remove(what.rule, [parent, child]);
    return this.edit("remove", { parent, child });
  }

  async moved(name, x, y) {
    const version = await this.studio.attempt(() => this.studio.act("network", "move", { name, x, y }));
    if (version === undefined) return;
    this.state.version = Math.max(this.state.version, version);
    const node = this.state.picture.nodes.find((own) => own.name === name);
    Object.assign(node, { x: Math.round(x), y: Math.round(y) });
    for (const arc of this.state.picture.arcs) if (arc.parent === name || arc.child === name) arc.points = null;
  }

  setMode(mode) {
    this.mode = mode;
    this.view.mode = mode === "move" ? "move" : "arc";
  }

  // --- selection, search, blanket, side by side ------------------------------------------------------------------------

  selected(what) {
    if (what?.kind === "arc") {
      const arc = this.view.picture.arcs.find((own) => own.parent === what.parent && own.child === what.child);
      this.selection = { ...what, rule: arc?.rule };
    } else this.selection = what;
    if (what) this.tab = "selected";
    this.drawTabs();
    this.drawPanel();
    this.drawBlanket();
  }

  find() {
    const wanted = this.search.value.trim().toLowerCase();
    const nodes = this.state.picture?.nodes ?? [];
    const found = nodes.find((node) => node.name.toLowerCase() === wanted) ?? nodes.find((node) => wanted && node.name.toLowerCase().includes(wanted));
    if (!found) return wanted ? this.studio.toast(`There is no box with “${this.search.value}” in its name.`) : undefined;
    this.view.show(found.name);
    this.view.select(found.name);
    this.selected({ kind: "node", name: found.name });
  }

  turnBlanket() {
    this.blanket = !this.blanket;
    this.drawBlanket(true);
  }

  /** The selected box, or the class, with parents, children and their parents; all others fade. */
  drawBlanket(move = false) {
    this.toolbar.querySelector("#blanket").setAttribute("aria-pressed", String(Boolean(this.blanket)));
    const { picture, target } = this.state;
    const name = this.selection?.kind === "node" ? this.selection.name : target;
    if (!this.blanket || !picture) this.view.focus(null);
    else {
      const children = picture.arcs.filter((arc) => arc.parent === name).map((arc) => arc.child);
      const near = picture.arcs.filter((arc) => arc.child === name || children.includes(arc.child)).map((arc) => arc.parent);
      this.view.focus([name, ...children, ...near]);
    }
    if (move) this.view.fit();
  }

  turnClassArcs(shown) {
    this.classArcs = shown;
    if (this.state.picture) this.draw();
  }

  async compare(against) {
    this.against = against;
    this.toolbar.querySelector("#against").value = against;
    if (!against) {
      this.beside = null;
      refill(this.views, this.view.element);
      this.views.classList.remove("two");
      this.draw();
      return;
    }
    const found = await this.studio.attempt(() => this.studio.act("network", "side", { against }));
    if (!found || this.against !== against) return;
    this.beside = found.picture ? found : null;
    const caption = found.picture ? `${found.label}: ${percent(found.figures.accuracy, 2)}, log loss ${found.figures.log_loss.toFixed(4)}` : `There is nothing to compare: ${found.label}, the network was the same.`;
    refill(
      this.views,
      h("figure", {}, h("figcaption", {}, caption), this.other.element),
      h("figure", {}, h("figcaption", {}, "now (green: new, blue: turned round)"), this.view.element),
    );
    this.views.classList.add("two");
    if (found.picture) this.other.draw(this.classArcs ? this.markedBefore(found.picture) : withoutClass(this.markedBefore(found.picture), this.state.target));
    else this.other.draw({ nodes: [], arcs: [], width: 0, height: 0 });
    this.draw();
    this.view.fit();
    this.other.fit();
  }

  /** The present picture, with the arcs that are new against the one beside it. */
  marked(picture) {
    if (!this.beside) return picture;
    const old = new Set(this.beside.picture.arcs.map(key));
    return { ...picture, arcs: picture.arcs.map((arc) => (arc.rule || old.has(key(arc)) ? arc : { ...arc, style: old.has(key(turned(arc))) ? "turned" : "added" })) };
  }

  markedBefore(picture) {
    const present = new Set(this.state.picture.arcs.map(key));
    return { ...picture, arcs: picture.arcs.map((arc) => (present.has(key(arc)) ? arc : { ...arc, style: present.has(key(turned(arc))) ? "turned" : "removed" })) };
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.toLowerCase() === "b") this.turnBlanket();
    else if (event.key === "/") this.search.focus();
    else return;
    event.preventDefault();
  }

  // --- the panel on the right ------------------------------------------------------------------------------------------

  drawTabs() {
    refill(
      this.tabs,
      TABS.map(([id, title]) =>
        h("button", { role: "tab", id: `tab-${id}`, "aria-selected": String(this.tab === id), onclick: () => this.open(id) }, title)),
      h("button", { id: "widen", class: "plain", title: "Wider or narrower", "aria-label": "Wider or narrower", onclick: () => this.root.firstElementChild.classList.toggle("wide") }, "⇔"),
    );
  }

  open(tab) {
    this.tab = tab;
    this.drawTabs();
    this.drawPanel();
  }

  drawPanel() {
    const { tab, selection } = this;
    if (tab === "learn") refill(this.panel, this.learning.element);
    else if (tab === "rules") this.rules.draw(this.panel);
    else if (tab === "history") this.drawHistory();
    else if (!selection) refill(this.panel, h("p", { class: "quiet" }, "Click a box or an arc."), this.help());
    else if (selection.kind === "arc") this.drawArc(selection);
    else this.table.draw(this.panel, selection.name);
  }

  help() {
    const keys = [
      ["drag", "from box to box: an arc; its effect shows before you let go"],
      ["A", "begin an arc at a box, Enter on another one ends it"],
      ["E", "go through the arcs of a box"],
      ["Delete", "remove the selected arc"],
      ["R", "reverse it"],
      ["B", "show a Markov blanket only"],
      ["Shift drag", "move a box (or Shift and arrow keys)"],
      ["wheel, + − 0", "zoom; drag the ground to pan"],
    ];
    return h("table", { class: "keys" }, keys.map(([name, what]) => h("tr", {}, h("th", {}, name), h("td", {}, what))));
  }

  drawArc({ parent, child, rule }) {
    const { editable, target } = this.state;
    const buttons = rule
      ? h("button", { onclick: () => this.removed(parent, child) }, rule === "required" ? "Require it no more" : "Forbid it no more")
      : [
          h("button", { id: "reverse", onclick: () => this.view.reverse({ parent, child }) }, "Reverse (R)"),
          h("button", { id: "remove", onclick: () => this.removed(parent, child) }, "Remove (Delete)"),
          h("button", { onclick: () => this.rules.add("required", [parent, child]) }, "Require"),
          h("button", { onclick: () => this.rules.add("forbidden", [parent, child]) }, "Forbid"),
        ];
    const cost = h("p", { class: "quiet", id: "cost" }, editable && !rule ? "…" : "");
    refill(
      this.panel,
      h("h2", { class: "name" }, `${parent} → ${child}`),
      rule ? h("p", {}, rule === "required" ? "Every learner must have this arc." : "No learner may have this arc.") : h("p", {}, parent === target ? "An arc of the class." : "An arc between columns."),
      editable ? h("div", { class: "row" }, buttons) : null,
      cost,
      this.help(),
    );
    if (editable && !rule) this.tellCost(cost, { parent, child });
  }

  async tellCost(cost, arc) {
    const found = await this.studio.act("network", "attempt", { ...arc, what: "remove" }).catch(() => null);
    if (found) refill(cost, "Without it: ", signed(found.accuracy, 100, " %", 2), " accuracy, ", signed(found.log_loss, 1, "", 4, -1), " log loss.");
  }

  drawHistory() {
    const { history, position } = this.studio.summary;
    const rows = history.map(({ label, figures }, i) =>
      h("li", { "aria-current": i === position ? "step" : null, class: i > position ? "undone" : null },
        h("button", { class: "plain", onclick: () => this.studio.attempt(() => this.studio.act("session", "go_to", { position: i })) }, label),
        figures?.accuracy !== undefined ? h("small", {}, `${percent(figures.accuracy, 2)} · ${figures.log_loss.toFixed(4)}`) : null));
    refill(this.panel, h("p", { class: "quiet" }, "Left-out accuracy and log loss after each step; click to go there."), h("ol", { class: "history" }, rows.reverse()));
  }
}

/** A difference with its interval; good ones are green, bad ones red, and those that may be nothing quiet. */
export function signed({ difference, margin, certain }, scale, unit, digits, good = 1) {
  const text = `${difference < 0 ? "−" : "+"}${Math.abs(scale * difference).toFixed(digits)} ± ${(scale * margin).toFixed(digits)}${unit}`;
  return h("span", { class: certain ? (difference * good > 0 ? "good" : "bad") : "quiet" }, text);
}

function key({ parent, child }) {
  return JSON.stringify([parent, child]);
}

function turned({ parent, child }) {
  return { parent: child, child: parent };
}

function withoutClass(picture, target) {
  return { ...picture, arcs: picture.arcs.filter((arc) => arc.parent !== target) };
}
