// Decide: a diagram of chances, decisions and utilities; what errors cost; and which question is worth its price.

import { h, refill } from "../dom.js";
import { costs } from "./decide-costs.js";
import { diagram } from "./decide-diagram.js";
import { questions } from "./decide-questions.js";

const PARTS = [
  ["diagram", "A diagram", diagram],
  ["costs", "What errors cost", costs],
  ["questions", "Which question next", questions],
];

export default {
  async show(root, studio) {
    const tabs = h("div", { role: "tablist", class: "tabs", "aria-label": "Decide" });
    const body = h("div", { role: "tabpanel" });
    let part = null;

    async function open(id) {
      const [, , make] = PARTS.find(([own]) => own === id);
      refill(
        tabs,
        PARTS.map(([own, title]) => {
          const off = own !== "diagram" && !studio.summary?.data?.rows;
          return h("button", { role: "tab", "aria-selected": String(own === id), disabled: off, title: off ? "This needs data" : null, onclick: () => studio.attempt(() => open(own)) }, title);
        }),
      );
      refill(body);
      part?.hide?.();
      part = await make(body, studio);
    }

    refill(root, h("h1", {}, "Decide"), tabs, body);
    await open("diagram");
    return { changed: () => studio.attempt(() => part?.changed?.()), heard: (kind, data) => part?.heard?.(kind, data), hide: () => part?.hide?.() };
  },
};
