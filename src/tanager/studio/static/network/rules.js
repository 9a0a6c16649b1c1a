// Rules for learners: arcs that must or must not be there, and tiers.

import { choice, h, refill } from "../dom.js";

/** A picture with the rules in it: required arcs are marked, forbidden ones drawn though they are not there. */
export function withRules(picture, rules) {
  const names = new Set(picture.nodes.map((node) => node.name));
  const there = new Set(picture.arcs.map(({ parent, child }) => JSON.stringify([parent, child])));
  const required = new Set(rules.required.map((arc) => JSON.stringify(arc)));
  const arcs = picture.arcs.map((arc) => (required.has(JSON.stringify([arc.parent, arc.child])) ? { ...arc, style: `${arc.style} kept` } : arc));
  for (const kind of ["required", "forbidden"]) {
    for (const [parent, child] of rules[kind]) {
      if (names.has(parent) && names.has(child) && !there.has(JSON.stringify([parent, child]))) {
        arcs.push({ parent, child, points: null, width: 1.6, style: kind, head: true, rule: kind });
      }
    }
  }
  return { ...picture, arcs };
}

export function rulesPanel(page) {
  const { studio } = page;
  const rules = () => page.state.rules;

  function change(parts) {
    const body = { required: rules().required, forbidden: rules().forbidden, tiers: rules().tiers, ...parts };
    return page.edit("constrain", body);
  }

  async function add(kind, arc) {
    if (rules()[kind].some(([parent, child]) => parent === arc[0] && child === arc[1])) return;
    if (await change({ [kind]: [...rules()[kind], arc] })) studio.toast(`${arc[0]} → ${arc[1]} is ${kind}. Learners keep to it from now on.`);
  }

  function remove(kind, [parent, child]) {
    return change({ [kind]: rules()[kind].filter((arc) => arc[0] !== parent || arc[1] !== child) });
  }

  /** Put a name into a tier (from 0), or into none (-1). */
  function setTier(name, tier) {
    const tiers = rules().tiers.map((own) => own.filter((other) => other !== name));
    while (tiers.length <= tier) tiers.push([]);
    if (tier >= 0) tiers[tier] = [...tiers[tier], name];
    while (tiers.length && !tiers.at(-1).length) tiers.pop();
    return change({ tiers });
  }

  function tierOf(name) {
    return rules().tiers.findIndex((own) => own.includes(name));
  }

  function tierControl(name) {
    const options = [["-1", "none"], ...Array.from({ length: Math.min(rules().tiers.length + 1, 9) }, (_, i) => [String(i), `tier ${i + 1}`])];
    return choice(options, String(tierOf(name)), (value) => setTier(name, Number(value)), { "aria-label": `Tier of ${name}` });
  }

  function draw(panel) {
    const { names, editable } = page.state;
    if (!editable) return refill(panel, h("p", { class: "quiet" }, "There are no rows to learn from."));
    let [parent, child] = [names[0], names[1]];
    const form = h(
      "div",
      { class: "row end" },
      choice(names, parent, (value) => (parent = value), { id: "rule-parent", "aria-label": "Parent" }),
      "→",
      choice(names, child, (value) => (child = value), { id: "rule-child", "aria-label": "Child" }),
      h("button", { id: "require", onclick: () => add("required", [parent, child]) }, "Require"),
      h("button", { id: "forbid", onclick: () => add("forbidden", [parent, child]) }, "Forbid"),
    );
    const list = (kind, title) =>
      rules()[kind].length
        ? [h("h2", {}, title), h("ul", { class: "plain-list" }, rules()[kind].map((arc) =>
            h("li", {}, h("span", { class: "name" }, `${arc[0]} → ${arc[1]}`), h("button", { class: "plain", "aria-label": `Drop the rule ${arc[0]} → ${arc[1]}`, onclick: () => remove(kind, arc) }, "×"))))]
        : null;
    refill(
      panel,
      h("p", { class: "quiet" }, "Learners keep to these rules; edits by hand need not. Draw rules in the picture (“Dragging requires / forbids an arc”), or here:"),
      form,
      list("required", "Required arcs"),
      list("forbidden", "Forbidden arcs"),
      h("h2", {}, "Tiers"),
      h("p", { class: "quiet" }, "No arc leads from a later tier to an earlier one; put causes first."),
      h("table", { class: "tiers" }, names.map((name) => h("tr", {}, h("th", { class: "name" }, name), h("td", {}, tierControl(name))))),
      h("label", {}, h("input", { type: "checkbox", checked: page.showRules, onchange: (event) => ((page.showRules = event.target.checked), page.draw()) }), " show rules in the picture"),
    );
  }

  return { add, remove, draw, tierControl };
}
