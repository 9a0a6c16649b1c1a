// The form of a learner, its progress, and its end.

import { choice, field, h, refill } from "../dom.js";

export function learnPanel(page, forms) {
  const { studio } = page;
  const byName = new Map(forms.map((form) => [form.name, form]));
  const values = new Map(forms.map((form) => [form.name, Object.fromEntries(form.fields.map((own) => [own.name, own.default]))]));
  let chosen = "hill-climb";
  let tidy = true;
  let state = null; // of the job
  const about = h("p", { class: "quiet" });
  const body = h("div", {});
  const progress = h("div", { "aria-live": "polite" });
  const picker = choice(forms.map((form) => [form.name, form.title]), chosen, pick, { id: "learner" });
  const element = h(
    "div",
    {},
    field("Learn the network by", picker),
    about,
    body,
    h("label", { class: "row" }, h("input", { type: "checkbox", checked: true, onchange: (event) => (tidy = event.target.checked) }), "lay the picture out again"),
    progress,
  );

  function pick(name) {
    chosen = name;
    draw();
  }

  function draw() {
    const form = byName.get(chosen);
    const own = values.get(chosen);
    refill(about, form.about);
    refill(
      body,
      form.fields.filter(({ where }) => !where || where[1].includes(own[where[0]])).map((item) => control(item, own)),
      page.state && !form.rules && hasRules(page.state.rules) ? h("p", { class: "warn" }, "This learner does not know of your rules.") : null,
      page.state && form.rules && hasRules(page.state.rules) ? h("p", { class: "quiet" }, "It keeps to your rules.") : null,
    );
    drawProgress();
  }

  function control(item, own) {
    const id = `option-${item.name}`;
    const set = (value) => {
      own[item.name] = value;
      draw();
    };
    if (item.kind === "choice") return field(item.label, choice(item.options, own[item.name], set, { id }), item.help);
    if (item.kind === "names") return orderControl(item, own);
    const step = item.kind === "whole" ? 1 : "any";
    const read = (text) => (text.trim() === "" ? null : Number(text));
    const input = h("input", { id, type: "number", step, min: item.least, max: item.most, value: own[item.name] ?? "", onchange: (event) => (own[item.name] = read(event.target.value)) });
    return field(item.label, input, item.help);
  }

  /** Columns in an order that buttons change. */
  function orderControl(item, own) {
    const names = own.names?.length ? own.names : page.state.names.filter((name) => name !== page.state.target);
    own.names = names;
    const shift = (i, by) => {
      const next = [...own.names];
      const [name] = next.splice(i, 1);
      next.splice(i + by, 0, name);
      own.names = next;
      draw();
    };
    return h("div", { class: "field" }, h("span", {}, item.label), h("ol", { class: "order" }, names.map((name, i) =>
      h("li", {}, h("span", { class: "name" }, name),
        h("button", { class: "plain", "aria-label": `${name} up`, disabled: i === 0, onclick: () => shift(i, -1) }, "↑"),
        h("button", { class: "plain", "aria-label": `${name} down`, disabled: i === names.length - 1, onclick: () => shift(i, 1) }, "↓")))));
  }

  function drawProgress() {
    if (state === "running") return;
    refill(progress, h("button", { class: "main", id: "learn", disabled: page.state && !page.state.editable, onclick: () => run(chosen) }, "Learn"));
  }

  async function run(name) {
    const form = byName.get(name);
    const own = values.get(name);
    const options = Object.fromEntries(form.fields.filter(({ where }) => !where || where[1].includes(own[where[0]])).map((item) => [item.name, own[item.name]]));
    await studio.attempt(() => studio.act("network", "learn", { learner: name, options, tidy }));
  }

  function job(summary) {
    state = summary.state;
    if (state === "running") {
      const bar = summary.total ? h("progress", { max: summary.total, value: summary.done }) : h("progress", {});
      refill(progress, bar, h("p", { class: "quiet" }, summary.text), h("button", { id: "cancel", onclick: () => studio.act("session", "cancel", { page: "network" }) }, "Stop"));
      return;
    }
    drawProgress();
    if (state === "failed") progress.append(h("p", { class: "bad", role: "alert" }, summary.text));
    if (state === "cancelled") progress.append(h("p", { class: "quiet" }, "Stopped; the network is the one from before."));
    if (state === "done" && summary.result?.trace) {
      progress.append(h("details", {}, h("summary", {}, `How these ${summary.result.arcs} arcs came about`), h("pre", { class: "trace" }, summary.result.trace)));
    }
  }

  draw();
  return { element, job, run, draw };
}

export function hasRules(rules) {
  return rules.required.length + rules.forbidden.length + rules.tiers.flat().length > 0;
}
