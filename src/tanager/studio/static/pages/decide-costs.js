// What errors cost: a matrix to fill in, and what that changes in the answers for rows that were left out.

import { debounced, h, number, percent, refill } from "../dom.js";

const MANY = 12; // classes, beyond which a matrix is no longer readable

export async function costs(root, studio) {
  const body = h("div", {});
  refill(root, body);

  async function load() {
    const found = await studio.act("costs", "show");
    if (found.classes.length > MANY) {
      return refill(body, h("p", {}, `There are ${found.classes.length} classes, and ${found.classes.length ** 2} costs. Give them in Python: cost_matrix=.`));
    }
    const matrix = found.costs.map((row) => [...row]);
    const results = h("div", { "aria-live": "polite" });
    const tryOut = debounced(() => studio.attempt(async () => refill(results, picture(found.classes, await studio.act("costs", "figures", { costs: matrix })))), 200);
    const cell = (i, j) =>
      h("td", {}, h("input", { class: "cell", inputmode: "decimal", value: String(matrix[i][j]), "aria-label": `cost of answering ${found.classes[j]} where ${found.classes[i]} is true`, oninput: (event) => {
        const value = Number(event.target.value);
        event.target.setAttribute("aria-invalid", String(!Number.isFinite(value)));
        if (Number.isFinite(value)) ((matrix[i][j] = value), tryOut());
      } }));
    refill(
      body,
      h("p", { class: "quiet" }, "What does it cost to answer one thing where another is true? The classifier then answers with the least expected cost."),
      h("div", { class: "row top" },
        h("div", { class: "panel" },
          h("table", { class: "numbers" },
            h("thead", {}, h("tr", {}, h("th", {}, "true \\ answer"), found.classes.map((name) => h("th", {}, name)))),
            h("tbody", {}, found.classes.map((name, i) => h("tr", {}, h("th", { scope: "row" }, name), found.classes.map((_, j) => cell(i, j)))))),
          h("div", { class: "row" },
            h("button", { class: "main", id: "use-costs", onclick: () => studio.attempt(() => studio.act("costs", "use", { costs: matrix })) }, "Use these costs"),
            found.given ? h("button", { onclick: () => studio.attempt(() => studio.act("costs", "use", { costs: null })) }, "All errors alike") : null,
            found.given ? h("small", { class: "good" }, "in use") : null)),
        results),
    );
    refill(results, picture(found.classes, found.figures));
  }

  await load();
  return { changed: load };
}

function picture(classes, figures) {
  const better = figures.saved > (figures.margin ?? 0);
  return h("div", { class: "panel" },
    h("p", { class: "headline" }, "Mean cost of an answer ", h("strong", { id: "mean-cost" }, number(figures.careful.cost, 4)), `, instead of ${number(figures.plain.cost, 4)} by the most probable class: `,
      h("span", { class: better ? "good" : "quiet" }, `${number(figures.saved)} less`), figures.margin === null ? null : h("small", {}, ` ± ${number(figures.margin, 2)}`)),
    h("p", {}, `${number(figures.changed)} of ${number(figures.rows)} rows are answered otherwise. Accuracy ${percent(figures.careful.accuracy)}, before ${percent(figures.plain.accuracy)}.`),
    figures.threshold === null ? null : h("p", {}, `The answer is ${classes[1]} from a probability of ${percent(figures.threshold)} on.`),
    h("div", { class: "row top" }, matrix("by the most probable class", classes, figures.plain.confusion), matrix("for least cost", classes, figures.careful.confusion)),
    h("small", {}, "Rows were left out, each in its turn."));
}

function matrix(title, classes, cells) {
  return h("div", {}, h("h2", {}, title), h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, "true \\ answer"), classes.map((name) => h("th", { class: "number" }, name)))),
    h("tbody", {}, classes.map((name, i) => h("tr", {}, h("th", { scope: "row" }, name), cells[i].map((value, j) => h("td", { class: `number ${i === j ? "good" : value ? "bad" : ""}` }, number(value))))))));
}
