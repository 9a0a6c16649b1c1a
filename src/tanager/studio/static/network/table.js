// The table of a node: its numbers with the counts behind them, to be looked at, set and locked.

import { h, number, refill } from "../dom.js";

const CLOSE = 1e-6; // how far from one a row may sum

export function tablePanel(page) {
  const { studio } = page;
  let shown = null; // {name, table}
  let editing = null; // {key, numbers, touched}
  let asked = 0;

  async function draw(panel, name) {
    const own = ++asked;
    const { state } = page;
    const known = shown?.name === name && shown.version === state.version ? shown.table : null;
    if (!known) {
      if (shown?.name !== name) refill(panel, h("h2", { class: "name" }, name), h("p", { class: "quiet" }, "…"));
      editing = null;
      const table = await studio.attempt(() => studio.act("network", "table", { name }));
      if (own !== asked || !table) return;
      shown = { name, version: state.version, table };
    }
    fill(panel, shown.table);
  }

  function fill(panel, table) {
    const { name, parents, values, rows, editable } = table;
    const again = () => fill(panel, table);
    refill(
      panel,
      h("h2", { class: "name" }, name),
      h("p", { class: "quiet" }, parents.length ? ["P(", name, " | ", parents.join(", "), ")"].join("") : `P(${name})`, `; ${number(table.n_rows)} ${table.n_rows === 1 ? "row" : "rows"}. `,
        editable ? "Counts are below each number. Click a row to set its numbers." : rows[0]?.counts ? "Counts are below each number." : ""),
      matters(name) ? null : h("p", { class: "quiet" }, "No answer depends on this table, as the class is no parent of it."),
      editable ? h("div", { class: "row" }, "Tier ", page.rules.tierControl(name)) : null,
      h("div", { class: "cpt", tabindex: "0", role: "region", "aria-label": `Table of ${name}` },
        h("table", {},
          h("thead", {}, h("tr", {}, parents.map((parent) => h("th", { class: "given", title: parent }, parent)), values.map((value) => h("th", { class: "number", title: value }, String(value))), h("th", { class: "number" }, "rows"))),
          h("tbody", {}, rows.map((row) => (editing?.key === key(row) ? editor(table, row, again) : line(table, row, again)))))),
      table.n_rows > table.first + rows.length || table.first > 0 ? pages(panel, table) : null,
      h("div", { id: "trace" }),
    );
  }

  /** Whether answers about the class read the table: that of the class itself, or of one of its children. */
  function matters(name) {
    const { picture, target } = page.state;
    return !target || name === target || (picture?.arcs ?? []).some((arc) => arc.parent === target && arc.child === name);
  }

  function pages(panel, table) {
    const go = async (first) => {
      const next = await studio.attempt(() => studio.act("network", "table", { name: table.name, first }));
      if (!next) return;
      shown = { ...shown, table: next };
      fill(panel, next);
    };
    const last = table.first + table.rows.length;
    return h("p", { class: "row" },
      h("button", { disabled: table.first === 0, onclick: () => go(Math.max(table.first - 200, 0)) }, "‹"),
      `${number(table.first + 1)} to ${number(last)} of ${number(table.n_rows)}, those with most rows first`,
      h("button", { disabled: last >= table.n_rows, onclick: () => go(last) }, "›"));
  }

  function line(table, row, again) {
    const begin = () => {
      if (!table.editable) return;
      editing = { key: key(row), numbers: [...row.probabilities], touched: new Set() };
      again();
      document.querySelector(".cpt input")?.focus();
    };
    return h(
      "tr",
      { class: row.locked ? "locked" : null, tabindex: table.editable ? "0" : null, onclick: begin, onkeydown: (event) => event.key === "Enter" && begin() },
      row.given.map((value) => h("td", { class: "given", title: value }, String(value))),
      row.probabilities.map((value, i) => h("td", { class: "number" }, value.toFixed(3), row.counts ? h("small", {}, number(row.counts[i])) : null)),
      h("td", { class: "number" }, row.locked ? h("span", { class: "lock", title: "set by hand", role: "img", "aria-label": "set by hand" }, "🔒") : null, row.total === null ? "–" : number(row.total)),
    );
  }

  /** A row with inputs. Numbers that were not touched share what the others leave, so that the row sums to one. */
  function editor(table, row, again) {
    const { numbers, touched } = editing;
    const inputs = numbers.map((value, i) =>
      h("input", { type: "number", min: 0, max: 1, step: "any", value: short(value), "aria-label": `P(${table.name} = ${table.values[i]})`, oninput: (event) => set(i, event.target.value), onkeydown: (event) => keys(event) }));
    const sum = h("span", { id: "sum" });
    const save = h("button", { class: "main", id: "lock", onclick: () => lock() }, "Set and lock");
    const scale = h("button", { onclick: () => scaled() }, "Scale to 1");

    function set(i, text) {
      numbers[i] = Math.min(Math.max(Number(text) || 0, 0), 1);
      touched.add(i);
      const free = numbers.map((_, j) => j).filter((j) => !touched.has(j));
      const rest = Math.max(1 - [...touched].reduce((total, j) => total + numbers[j], 0), 0);
      const before = free.reduce((total, j) => total + numbers[j], 0);
      for (const j of free) {
        numbers[j] = before > 0 ? (numbers[j] * rest) / before : rest / free.length;
        inputs[j].value = short(numbers[j]);
      }
      check();
    }

    function scaled() {
      const total = numbers.reduce((a, b) => a + b, 0);
      numbers.forEach((value, j) => {
        numbers[j] = total > 0 ? value / total : 1 / numbers.length;
        inputs[j].value = short(numbers[j]);
      });
      check();
    }

    function check() {
      const total = numbers.reduce((a, b) => a + b, 0);
      const fine = Math.abs(total - 1) < CLOSE;
      refill(sum, `sum ${number(total, 6)}`);
      sum.className = fine ? "quiet" : "bad";
      save.disabled = !fine;
      scale.hidden = fine;
    }

    async function lock() {
      editing = null;
      await page.edit("lock", { name: table.name, given: row.given, probabilities: numbers });
    }

    async function unlock() {
      editing = null;
      await page.edit("unlock", { name: table.name, given: row.given });
    }

    function stop() {
      editing = null;
      again();
    }

    function keys(event) {
      if (event.key === "Escape") stop();
      if (event.key === "Enter" && !save.disabled) lock();
    }

    check();
    const wide = table.parents.length + table.values.length + 1;
    return [
      h("tr", { class: "editing" }, row.given.map((value) => h("td", { class: "given", title: value }, String(value))), inputs.map((input) => h("td", { class: "number" }, input)), h("td", {}, sum)),
      h("tr", { class: "editing" }, h("td", { colspan: wide }, h("div", { class: "row" }, save, scale,
        row.locked ? h("button", { id: "unlock", onclick: unlock }, "Unlock") : null,
        h("button", { onclick: () => trace(table, row) }, "Where from?"),
        h("button", { onclick: stop }, "Leave")))),
    ];
  }

  /** The counts behind a row, from few parents to all. */
  async function trace(table, row) {
    const steps = await studio.attempt(() => studio.act("network", "trace", { name: table.name, given: row.given }));
    const place = document.getElementById("trace");
    if (!steps || !place) return;
    const lines = steps.map((step) =>
      h("tr", {},
        h("td", {}, step.given.length ? step.given.map(([parent, value]) => `${parent} = ${value}`).join(", ") : "all rows"),
        h("td", { class: "number" }, number(step.total)),
        step.counts.map((count, i) => h("td", { class: "number" }, step.probabilities[i].toFixed(3), h("small", {}, number(count))))));
    refill(
      place,
      h("h2", {}, "Where the numbers come from"),
      h("p", { class: "quiet" }, "Counts of the rows, with more and more parents. Each line is pulled towards the one above it as by five rows, so that few rows do not say much."),
      h("div", { class: "cpt" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "given"), h("th", { class: "number" }, "rows"), table.values.map((value) => h("th", { class: "number" }, String(value))))), h("tbody", {}, lines))),
      row.locked ? h("p", {}, "This row was set by hand: its numbers stay, whatever the rows say.") : null,
    );
    place.scrollIntoView({ block: "nearest" });
  }

  return { draw };
}

function key(row) {
  return JSON.stringify(row.given);
}

function short(value) {
  return String(Number(value.toPrecision(6)));
}
