// What stands beside the network: what is known, one variable closely, and the three questions about a target.

import { choice, field, h, isText, number, percent, refill, s } from "../dom.js";
import { observed, state } from "./state.js";

const TABS = [
  ["questions", "Ask next"],
  ["explanation", "Most probable"],
  ["sensitivity", "What matters"],
];

/** What is known, as chips that can be taken away. */
export function known(variables, probability, act) {
  const values = new Map(variables.map((variable) => [variable.name, variable.values]));
  const chip = (name, text, away) => h("span", { class: "chip" }, text, h("button", { class: "plain", "aria-label": `Forget ${name}`, onclick: away }, "×"));
  const chips = [
    ...[...state.evidence].map(([name, place]) => chip(name, isText(name, values.get(name)[place]), () => act.forget(name))),
    ...[...state.soft.keys()].map((name) => chip(name, `${name}: likelihoods`, () => act.forget(name))),
  ];
  const often = state.evidence.size === 0 ? null : h("p", { class: "quiet" }, `In this network that happens ${frequency(probability)}.`);
  return [
    h("h2", {}, "What is known"),
    chips.length ? h("div", { class: "chips" }, chips) : h("p", { class: "quiet" }, "Nothing yet. Click on a bar to say that a value was observed; click again to take it back."),
    often,
    chips.length > 1 ? h("button", { id: "forget-all", onclick: act.forgetAll }, "Forget all") : null,
  ];
}

function frequency(probability) {
  if (probability >= 0.095) return `in ${percent(probability, 0)} of all cases`;
  const times = 1 / probability;
  return times < 1e9 ? `once in ${Number(times.toPrecision(2)).toLocaleString("en")} cases` : `with probability ${number(probability)}`;
}

/** One variable closely, with a slider for the likelihood of every value. */
export function closely(variable, marginal, act) {
  if (!variable) return [];
  const { name, values } = variable;
  const likelihoods = state.soft.get(name);
  const rows = values.map((value, place) => {
    const slider = h("input", {
      type: "range", min: 0, max: 100, step: 1, value: likelihoods ? 100 * likelihoods[place] : 100,
      "aria-label": `How well ${name} = ${value} fits`, "data-place": place,
      oninput: (event) => act.soften(name, place, Number(event.target.value) / 100),
    });
    const pressed = state.evidence.get(name) === place;
    return h("tr", {},
      h("td", {}, h("button", { class: "belief", "aria-pressed": String(pressed), css: { "--p": `${100 * marginal[place]}%` }, onclick: () => act.toggle(name, place) }, h("span", { class: "value" }, value), h("span", { class: "number", "data-place": place }, percent(marginal[place])))),
      h("td", {}, slider));
  });
  return [
    h("div", { class: "row spread" }, h("h2", {}, name), h("button", { class: "plain", "aria-label": "Close", onclick: () => act.select(null) }, "×")),
    h("table", { class: "closely" },
      h("thead", {}, h("tr", {}, h("th", {}, "certain"), h("th", { title: "Soft evidence: likelihoods of what was seen, given each value. Only their ratios matter." }, "or: how well each fits"))),
      h("tbody", {}, rows)),
  ];
}

/** Tabs, and below them what was asked for. */
export function questions(variables, act) {
  const tabs = TABS.map(([id, text]) =>
    h("button", { role: "tab", id: `tab-${id}`, "aria-selected": String(state.tab === id), tabindex: state.tab === id ? 0 : -1, onclick: () => act.turn(id), onkeydown: (event) => along(event, id, act) }, text));
  const names = variables.map((variable) => variable.name);
  const of = variables.find((variable) => variable.name === state.target);
  const about = state.tab === "explanation" ? null : field(state.tab === "questions" ? "to learn about" : "for the probability of", choice(names, state.target, act.aim, { id: "target" }));
  const value = state.tab === "sensitivity" && of ? field("being", choice(of.values.map((text, place) => [String(place), text]), String(state.value), (place) => act.value(Number(place)), { id: "value" })) : null;
  return [h("div", { role: "tablist", class: "tabs", "aria-label": "Questions to the network" }, tabs), h("div", { class: "row" }, about, value)];
}

function along(event, id, act) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const at = TABS.findIndex(([own]) => own === id);
  act.turn(TABS[(at + step + TABS.length) % TABS.length][0]);
  document.getElementById(`tab-${state.tab}`)?.focus();
}

/** Ask the server for what the open tab shows, and draw it. */
export async function answer(variables, studio, act) {
  if (state.tab === "explanation") return explanation(variables, await studio.act("ask", "explanation", observed()));
  if (state.evidence.has(state.target)) return h("p", {}, `${state.target} is known already. Choose another variable, or take it back.`);
  const body = { target: state.target, ...observed() };
  if (state.tab === "questions") return ask(await studio.act("ask", "questions", body), act);
  return sensitivity(await studio.act("ask", "sensitivity", { ...body, value: state.value, wanted: state.wanted }), variables, act);
}

function ask({ entropy, questions: listed }, act) {
  const useful = listed.filter((each) => each.bits >= 0.0005);
  if (!useful.length) return h("p", {}, `Nothing else would tell more than a hair about ${state.target}.`);
  const most = useful[0].bits;
  return [
    h("p", { class: "quiet" }, `${state.target} is uncertain by ${number(entropy)} bits. One more answer would take away, on average:`),
    h("ol", { class: "asks" }, useful.map((each) =>
      h("li", {}, h("button", { class: "belief", title: "Look at this variable", css: { "--p": `${(100 * each.bits) / most}%` }, onclick: () => act.select(each.name) }, h("span", { class: "value" }, each.name), h("span", { class: "number" }, `${each.bits.toFixed(3)} bits`))))),
  ];
}

function explanation(variables, { values, probability }) {
  const names = new Map(variables.map((variable) => [variable.name, variable.values]));
  return [
    h("p", { class: "quiet" }, `Of all combinations of the other variables this one is most probable (${percent(probability, probability < 0.01 ? 3 : 1)}). ◆: not the most probable value by itself.`),
    h("table", { class: "explanation" }, h("tbody", {}, Object.entries(values).map(([name, place]) => h("tr", {}, h("td", {}, name), h("td", { "data-alone": name, "data-place": place }, names.get(name)[place]))))),
  ];
}

/** Mark the values of an explanation that are not the most probable ones by themselves. */
export function markAlone(element, variables, marginals) {
  for (const cell of element.querySelectorAll("[data-alone]")) {
    const own = marginals[variables.findIndex((variable) => variable.name === cell.dataset.alone)];
    const place = Number(cell.dataset.place);
    if (own[place] < Math.max(...own) - 1e-9) cell.append(h("span", { class: "warn", title: "another value is more probable by itself" }, " ◆"));
  }
}

function sensitivity({ posterior, entries }, variables, act) {
  const of = variables.find((variable) => variable.name === state.target);
  const wanted = h("output", {}, percent(state.wanted, 0));
  const slider = h("input", { type: "range", id: "wanted", min: 1, max: 99, value: Math.round(100 * state.wanted), "aria-label": "Wanted probability", oninput: (event) => {
    state.wanted = Number(event.target.value) / 100;
    wanted.textContent = percent(state.wanted, 0);
    act.answer();
  } });
  return [
    h("p", {}, `P(${isText(state.target, of.values[state.value])}) is `, h("strong", {}, percent(posterior)), ". What must a number in a table be, so that it is ", wanted, "?"),
    slider,
    h("ol", { class: "matters" }, entries.map((entry) => matter(entry, posterior))),
    entries.length ? null : h("p", {}, "No single number in the tables can change this answer."),
  ];
}

function matter(entry, posterior) {
  const given = entry.given.length ? ` | ${entry.given.map(([name, value]) => isText(name, value)).join(", ")}` : "";
  const needed = entry.needed === null ? `cannot make it ${percent(state.wanted, 0)}` : `${percent(state.wanted, 0)} needs ${number(entry.needed, 3)}`;
  return h("li", {},
    h("div", {}, h("code", {}, `P(${isText(entry.variable, entry.value)}${given})`), ` = ${number(entry.number)}`),
    h("div", { class: "row" }, curve(entry, posterior), h("small", {}, `from ${percent(entry.low, 0)} to ${percent(entry.high, 0)}`, h("br"), needed)));
}

/** The answer (upwards) as the number goes from 0 to 1 (to the right); the dot is where they are now. */
function curve(entry, posterior) {
  const [wide, high] = [120, 46];
  const x = (t) => 4 + t * (wide - 8);
  const y = (p) => high - 4 - p * (high - 8);
  const points = entry.curve.map((p, i) => (p === null ? null : `${x(i / (entry.curve.length - 1)).toFixed(1)},${y(p).toFixed(1)}`)).filter(Boolean);
  const label = `The answer goes from ${percent(entry.curve[0] ?? entry.low, 0)} to ${percent(entry.curve.at(-1) ?? entry.high, 0)} as the number goes from 0 to 1`;
  return s("svg", { class: "chart matter", width: wide, height: high, role: "img", "aria-label": label },
    s("title", {}, label),
    s("rect", { class: "frame", x: 4, y: 4, width: wide - 8, height: high - 8 }),
    s("line", { class: "wanted", x1: 4, x2: wide - 4, y1: y(state.wanted), y2: y(state.wanted) }),
    s("polyline", { class: "curve", points: points.join(" ") }),
    s("circle", { class: "now", cx: x(entry.number), cy: y(posterior), r: 3.5 }),
    entry.needed === null ? null : s("circle", { class: "needed", cx: x(entry.needed), cy: y(state.wanted), r: 3.5 }));
}

/** A sentence in place of answers: what is known cannot be. */
export function refusal(element, message, act) {
  return refill(element, h("div", { class: "refusal", role: "alert" }, h("p", {}, message), h("button", { id: "take-back", onclick: act.takeBack }, "Take the last one back")));
}
