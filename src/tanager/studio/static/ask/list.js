// All variables as a list of buttons: for hundreds of them, and for screen readers.

import { h, percent } from "../dom.js";
import { state } from "./state.js";

export class BeliefList {
  constructor(variables, ontoggle, onselect) {
    this.variables = variables;
    this.buttons = [];
    const cards = variables.map(({ name, values }) => {
      const buttons = values.map((value, place) => {
        const number = h("span", { class: "number" });
        const button = h("button", { class: "belief", onclick: () => ontoggle(name, place) }, h("span", { class: "value" }, value), number);
        return { button, number };
      });
      this.buttons.push(buttons);
      return h("section", { class: "card", "aria-label": name, "data-name": name },
        h("button", { class: "plain name", title: "More about this variable", onclick: () => onselect(name) }, name),
        h("div", { class: "beliefs" }, buttons.map(({ button }) => button)));
    });
    this.cards = cards;
    this.element = h("div", { class: "cards belief-list" }, cards);
  }

  update(marginals) {
    this.variables.forEach(({ name, values }, i) => {
      this.buttons[i].forEach(({ button, number }, place) => {
        const p = marginals[i][place];
        const known = state.evidence.get(name) === place;
        number.textContent = percent(p);
        button.style.setProperty("--p", `${100 * p}%`);
        button.setAttribute("aria-pressed", String(known));
        button.setAttribute("aria-label", `${name} = ${values[place]}, ${percent(p)}`);
      });
      this.cards[i].classList.toggle("known", state.evidence.has(name));
      this.cards[i].classList.toggle("soft", state.soft.has(name));
    });
  }

  /** Show only variables whose names contain a text. */
  search(text) {
    for (const card of this.cards) card.hidden = !card.dataset.name.toLowerCase().includes(text);
  }
}
