// The diagram: drawn, edited, solved.

import { bars } from "../charts.js";
import { choice, field, h, number, percent, refill } from "../dom.js";
import { NetworkView } from "../graph.js";

const KINDS = [["chance", "chance (oval)"], ["decision", "decision (box)"], ["utility", "utility (diamond)"]];

export async function diagram(root, studio) {
  let found = await studio.act("decide", "show");
  let selected = null; // the name of a node
  let limited = false;
  const change = (action, body) => studio.attempt(() => studio.act("decide", action, body));
  const view = new NetworkView({
    label: "Diagram of decisions",
    editable: true,
    onadd: (parent, child) => change("add_arc", { parent, child }),
    onremove: (parent, child) => change("remove_arc", { parent, child }),
    onselect: (what) => {
      selected = typeof what === "string" ? what : (what?.name ?? null);
      drawSide();
    },
  });
  const tools = h("div", { class: "row end" });
  const side = h("div", { class: "panel" });
  const below = h("div", {});
  const picker = h("input", { type: "file", accept: ".json,application/json", hidden: true, onchange: async (event) => change("open", { content: await event.target.files[0].text() }) });

  function drawTools() {
    refill(
      tools,
      field("Begin with", choice([["", "…"], ...found.examples.map((e) => [e.name, e.name]), ["new", "an empty diagram"]], "", (value) => value && change("begin_with", { example: value === "new" ? "" : value }), { id: "example" })),
      h("button", { onclick: () => picker.click() }, "Open …"),
      picker,
      found.diagram && h("button", { onclick: () => studio.attempt(() => studio.download("decide", "save")) }, "Save as JSON"),
      found.diagram && h("label", { class: "row" }, h("input", { type: "checkbox", checked: limited, onchange: (event) => ((limited = event.target.checked), studio.attempt(load)) }), "Decisions know their parents alone (limited memory)"),
    );
  }

  function drawSide() {
    const node = found.diagram?.nodes.find((own) => own.name === selected);
    refill(side, node ? editor(node) : adder());
  }

  function adder() {
    const name = h("input", { id: "node-name", placeholder: "name" });
    const values = h("input", { id: "node-values", value: "no, yes" });
    let kind = "chance";
    const values_field = field("Its values or options", values, "separated by commas");
    const add = () => change("add_node", { kind, name: name.value, values: kind === "utility" ? null : values.value.split(",").map((v) => v.trim()).filter(Boolean) });
    return [
      h("h2", {}, "Add a node"),
      field("Kind", choice(KINDS, kind, (value) => ((kind = value), (values_field.hidden = value === "utility")), { id: "node-kind" })),
      field("Name", name),
      values_field,
      h("button", { class: "main", onclick: add }, "Add"),
      h("p", { class: "quiet" }, "Drag from one node to another to add an arc. An arc into a decision says what is known when it is made. Select a node to edit its numbers; Delete removes what is selected."),
    ];
  }

  function editor(node) {
    const inputs = [];
    const table = node.table === undefined ? null : numbers(node, inputs);
    const save = () => change("set_table", { name: node.name, table: nested(inputs.map((input) => Number(input.value)), shape(node.table)) });
    return [
      h("div", { class: "row" }, h("h2", {}, node.name), h("small", {}, node.kind)),
      node.values && h("p", { class: "quiet" }, node.kind === "decision" ? "Options: " : "Values: ", node.values.join(", ")),
      node.parents.length ? h("p", { class: "quiet" }, node.kind === "decision" ? "Known when it is made: " : "Depends on: ", node.parents.join(", ")) : null,
      table,
      table && h("div", { class: "row" }, h("button", { class: "main", id: "save-table", onclick: save }, "Use these numbers"), node.kind === "chance" ? h("small", {}, "Every row must sum to 1.") : null),
      h("div", { class: "row" },
        h("button", { onclick: () => change("remove_node", { name: node.name }) }, "Remove this node"),
        h("button", { onclick: () => ((selected = null), view.select(null), drawSide()) }, "Add another node")),
    ];
  }

  /** A table with one line for each combination of the parents' values. */
  function numbers(node, inputs) {
    const nodes = new Map(found.diagram.nodes.map((own) => [own.name, own]));
    const axes = node.parents.map((name) => nodes.get(name).values);
    const columns = node.kind === "utility" ? [""] : node.values;
    const flat = [node.table].flat(Infinity);
    const lines = product(axes).map((combination, i) => {
      const cells = columns.map((value, j) => {
        const input = h("input", { class: "cell", inputmode: "decimal", value: String(Number(flat[i * columns.length + j].toPrecision(6))), "aria-label": [...combination, value].filter((text) => text !== "").join(", ") || node.name });
        inputs.push(input);
        return h("td", {}, input);
      });
      return h("tr", {}, combination.map((value) => h("th", { scope: "row" }, value)), cells);
    });
    const head = h("tr", {}, node.parents.map((name) => h("th", {}, name)), columns.map((value) => h("th", {}, value || "worth")));
    return h("div", { class: "scroll" }, h("table", { class: "numbers" }, h("thead", {}, head), h("tbody", {}, lines)));
  }

  function drawBelow() {
    if (!found.diagram) {
      return refill(below, h("div", { class: "cards" }, found.examples.map((e) => h("button", { class: "card", onclick: () => change("begin_with", { example: e.name }) }, h("strong", {}, e.name), h("br"), h("small", {}, e.about)))));
    }
    if (found.problem) return refill(below, h("p", { class: "warn", role: "status" }, found.problem));
    const first = Object.keys(found.information)[0];
    const worth = Object.entries(found.information[first] ?? {});
    refill(
      below,
      h("p", { class: "headline", role: "status" }, "Expected utility ", h("strong", { id: "expected-utility" }, number(found.expected_utility, 5)), found.certain ? null : " (no single policy can be improved; several at once might)"),
      h("div", { class: "cards wide" },
        found.policies.map(policy),
        h("section", { class: "panel" }, h("h2", {}, `What it is worth to know, before ${first ?? "a decision"}`),
          worth.length ? bars({ items: worth.map(([label, value]) => ({ label, value })), width: 360, label: "Value of information" }) : h("p", { class: "quiet" }, "Nothing else could be known.")),
        h("section", { class: "panel" }, h("h2", {}, "What matters most"), h("p", { class: "quiet" }, "The expected utility if one number is a tenth of its range lower or higher."), tornado()),
      ),
    );
  }

  function tornado() {
    const items = found.tornado.map((swing) => ({ label: swing.words, value: Math.abs(swing.utilities[1] - swing.utilities[0]), text: `${number(swing.utilities[0])} … ${number(swing.utilities[1])}` }));
    return items.length ? bars({ items, width: 440, label: "Change of the expected utility" }) : h("p", { class: "quiet" }, "There are no utilities.");
  }

  function policy(own) {
    const rows = own.rows.map((row) =>
      h("tr", { class: row.probability === 0 ? "quiet" : null }, row.known.map((value) => h("td", {}, value)), h("td", {}, h("strong", {}, row.choose)), h("td", { class: "number" }, number(row.expected_utility, 4)), h("td", { class: "number" }, number(row.margin)), h("td", { class: "number" }, percent(row.probability))),
    );
    return h("section", { class: "panel" },
      h("h2", {}, own.decision),
      h("ul", { class: "rules" }, own.rules.map((rule) => h("li", {}, rule))),
      own.irrelevant.length ? h("p", { class: "quiet" }, `Makes no difference: ${own.irrelevant.join(", ")}.`) : null,
      h("details", {}, h("summary", {}, "As a table"), h("div", { class: "scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, own.known.map((name) => h("th", {}, name)), h("th", {}, "choose"), h("th", { class: "number" }, "expected"), h("th", { class: "number" }, "better by"), h("th", { class: "number" }, "how often"))),
        h("tbody", {}, rows)), own.n_rows > own.rows.length ? h("p", { class: "quiet" }, `and ${own.n_rows - own.rows.length} more`) : null)),
    );
  }

  async function load() {
    found = await studio.act("decide", "show", { limited_memory: limited });
    if (!found.diagram?.nodes.some((node) => node.name === selected)) selected = null;
    view.element.hidden = side.hidden = !found.diagram;
    if (found.diagram) view.draw(found.picture);
    drawTools();
    drawSide();
    drawBelow();
  }

  refill(root, tools, h("div", { class: "split diagram" }, view.element, side), below);
  await load();
  if (found.diagram) view.fit();
  return { changed: load };
}

function shape(table) {
  const sizes = [];
  for (let own = table; Array.isArray(own); own = own[0]) sizes.push(own.length);
  return sizes;
}

/** Numbers in a row as nested lists of this shape; a single number where it has no axes. */
function nested(flat, sizes) {
  if (sizes.length === 0) return flat[0];
  const step = flat.length / sizes[0];
  return Array.from({ length: sizes[0] }, (_, i) => nested(flat.slice(i * step, (i + 1) * step), sizes.slice(1)));
}

function product(axes) {
  return axes.reduce((lines, values) => lines.flatMap((line) => values.map((value) => [...line, String(value)])), [[]]);
}
