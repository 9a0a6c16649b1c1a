// The columns: what they are, how they are distributed, and what every decision about them is worth.

import { columns as columnChart, cut, legend } from "../charts.js";
import { columnDetail } from "../column.js";
import { choice, debounced, h, number, percent, refill } from "../dom.js";
import { changeFigures, presentFigures } from "../figures.js";

const FIRST = 150; // columns that are listed before "more"
const KINDS = { categorical: "categories", numeric: "numbers", ordinal: "in order", codes: "codes", continuous: "numbers" };
const METHODS = [
  ["mdl", "where classes change"],
  ["refined", "where classes change, finer"],
  ["width", "equal widths"],
  ["frequency", "equal numbers of rows"],
];

export default {
  async show(root, studio) {
    let [data, selected, comparison, focus, listed] = [null, null, null, null, FIRST];
    let sort = { by: "information", down: true };
    let drawn = null; // the column as it is shown
    let weighing = null; // the last job that weighs columns

    const list = h("div", { class: "data-list" });
    const side = h("section", { class: "data-side", "aria-label": "The selected column" });
    const figures = h("div", { class: "panel data-figures", "aria-live": "polite" });
    const detail = h("div");
    const settings = h("div", { class: "row" });
    const names = h("div", { class: "data-classes" });
    const search = h("input", { type: "search", placeholder: "Search columns", "aria-label": "Search columns", oninput: () => drawList() });
    const weigh = h("button", { id: "weigh", title: "Leave out each column in turn, and see what that costs", onclick: () => startWeighing() }, "Weigh columns");
    refill(root, h("div", { class: "data-page" },
      h("section", { "aria-label": "All columns" }, h("div", { class: "row" }, h("h1", {}, "Data"), search, weigh), settings, list),
      (refill(side, figures, names, detail), side)));

    // --- asking ---------------------------------------------------------------------------------------------------

    async function load() {
      data = await studio.act("data", "show");
      if (comparison?.version !== data.version) comparison = null; // another tab, or undo
      if (sort.by === "worth" && !weighed()) sort = { by: "information", down: true };
      if (!data.columns.some((column) => column.name === selected)) selected = ordered()[0]?.name ?? null;
      drawSettings();
      drawFigures();
      drawList();
      await loadDetail();
    }

    async function loadDetail() {
      if (selected === null) return;
      const name = selected;
      const column = await studio.act("data", "column", { name });
      const state = JSON.stringify([column, data.rows, data.classes]);
      if (name !== selected || state === drawn) return; // what is shown already keeps the focus
      drawn = state;
      drawDetail(column);
    }

    async function change(edit) {
      const found = await studio.attempt(() => studio.act("data", "change", { edit }));
      if (found === undefined) {
        drawn = null;
        return studio.attempt(load); // what was moved goes back
      }
      comparison = found;
      for (const note of found.notes ?? []) studio.toast(note);
      drawFigures();
    }

    let asked = 0;
    const attempt = debounced(async (edit, shown) => {
      const mine = ++asked;
      const found = await studio.attempt(() => studio.act("data", "attempt", { edit }));
      if (found === undefined || mine !== asked) return;
      drawFigures(found, true);
      shown?.(found.column);
    }, 60);

    async function startWeighing() {
      const begun = await studio.attempt(() => studio.act("data", "weigh"));
      if (begun && begun.number !== weighing?.number) weighing = begun; // a quick job may have been heard of already
      drawList();
    }

    // --- the list -------------------------------------------------------------------------------------------------

    const weighed = () => (weighing?.result?.version === data.version ? weighing.result.worth : null);
    const worthOf = (name) => weighed()?.[name];
    const KEYS = {
      used: (column) => (column.used ? 1 : 0),
      name: (column) => column.name.toLowerCase(),
      kind: (column) => KINDS[column.kind],
      gaps: (column) => column.gaps,
      information: (column) => column.information,
      worth: (column) => worthOf(column.name)?.log_loss.difference ?? -Infinity,
    };

    function ordered() {
      const key = KEYS[sort.by];
      const found = [...data.columns].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
      return sort.down ? found.reverse() : found;
    }

    function head(by, text, title, properties = {}) {
      const turn = () => {
        sort = { by, down: sort.by === by ? !sort.down : by !== "name" && by !== "kind" };
        drawList();
      };
      const mark = sort.by === by ? (sort.down ? " ↓" : " ↑") : "";
      return h("th", { "aria-sort": sort.by === by ? (sort.down ? "descending" : "ascending") : null, ...properties }, h("button", { class: "plain head", title, onclick: turn }, text + mark));
    }

    function drawList() {
      const wanted = search.value.toLowerCase();
      const found = ordered().filter((column) => column.name.toLowerCase().includes(wanted));
      const most = Math.max(0.001, ...data.columns.map((column) => column.information));
      const worth = weighed();
      weigh.disabled = weighing?.state === "running";
      weigh.textContent = weigh.disabled ? `Weighing … ${Math.round((100 * weighing.done) / (weighing.total || 1))} %` : "Weigh columns";
      const table = h("table", { class: "columns", onkeydown: step },
        h("thead", {}, h("tr", {},
          head("used", "In", "Is it used?"), head("name", "Column", "Sort by name"), h("th", {}, "By class"),
          head("gaps", "Gaps", "Cells without a value", { class: "number" }),
          head("information", "Bits", "What it says about the class, in bits; what chance would seem to say is taken off", { class: "number" }),
          worth ? head("worth", "Without", "What the log loss would be more (worse) or less without it; bold where the interval excludes 0", { class: "number" }) : null)),
        h("tbody", {}, found.slice(0, listed).map((column) => line(column, most, worth))));
      const more = found.length > listed ? h("button", { onclick: () => ((listed += 500), drawList()) }, `and ${number(found.length - listed)} more`) : null;
      const none = found.length ? null : h("p", { class: "quiet" }, "No column has this in its name.");
      const at = list.scrollTop;
      refill(list, table, more, none, droppedList());
      list.scrollTop = at;
    }

    function line(column, most, all) {
      const bins = column.small.map((counts) => ({ label: "", counts }));
      const small = columnChart({ bins, classes: data.classes, thumbnail: true, width: all ? 60 : 80, height: 26, label: `${column.name} by class` });
      const worth = all?.[column.name];
      const sure = worth && (worth.log_loss.low > 0 || worth.log_loss.high < 0);
      const parts = `${number(column.n_values)} ${column.kind === "categorical" ? "value" : "bin"}${column.n_values === 1 ? "" : "s"}`;
      return h("tr", { class: [column.name === selected ? "selected" : "", column.used ? "" : "out"].join(" "), onclick: () => select(column.name) },
        h("td", {}, h("input", { type: "checkbox", checked: column.used, "aria-label": `Use ${column.name}`, onclick: (event) => event.stopPropagation(), onchange: (event) => change({ what: event.target.checked ? "take in" : "leave out", names: [column.name] }) })),
        h("td", { class: "name" }, h("button", { class: "plain", "data-name": column.name, title: `${column.name}: ${KINDS[column.kind]}; ${column.reason}`, "aria-current": column.name === selected || null }, cut(column.name, all ? 104 : 160, 15)),
          h("small", { title: column.reason }, `${all ? "" : `${KINDS[column.kind]}, `}${parts}${column.automatic ? "" : " ✎"}`)),
        h("td", {}, small),
        h("td", { class: "number" }, column.gaps ? percent(column.gaps / data.rows) : "–"),
        h("td", { class: "number" }, h("span", { class: "meter", css: { "--share": column.information / most } }, column.information.toFixed(3))),
        all ? h("td", { class: `number ${sure ? (worth.log_loss.difference > 0 ? "bad sure" : "good sure") : "quiet"}`, title: worth ? `log loss ${signed(worth.log_loss.low)} to ${signed(worth.log_loss.high)}, accuracy ${signed(100 * worth.accuracy.difference, 2)} points` : null }, worth ? signed(worth.log_loss.difference) : "") : null);
    }

    const signed = (value, digits = 4) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;

    function droppedList() {
      if (!data.dropped.length) return null;
      return h("div", { class: "panel dropped" }, h("strong", {}, "Not used, as the file was read"),
        data.dropped.map(({ name, reason }) => h("div", { class: "row" }, h("span", { title: name }, `${cut(name, 150, 15)}: ${reason}`),
          h("button", { onclick: () => change({ what: "keep", name }) }, "Take it in"))));
    }

    function step(event) {
      if ((event.key !== "ArrowDown" && event.key !== "ArrowUp") || event.target.matches("input")) return;
      const buttons = [...list.querySelectorAll("[data-name]")];
      const next = buttons[buttons.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
      if (!next) return;
      event.preventDefault();
      select(next.dataset.name);
      list.querySelector(`[data-name="${CSS.escape(next.dataset.name)}"]`)?.focus();
    }

    function select(name) {
      if (name === selected) return;
      [selected, comparison, focus] = [name, null, null];
      drawFigures();
      drawList();
      list.querySelector(`[data-name="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
      studio.attempt(loadDetail);
    }

    // --- the side -------------------------------------------------------------------------------------------------

    function drawSettings() {
      const state = JSON.stringify([data.bins, data.n_bins, data.classes, data.class_counts]);
      if (settings.dataset.state === state) return;
      settings.dataset.state = state;
      const counted = data.bins === "width" || data.bins === "frequency";
      const bins = (edit) => change({ what: "bins", bins: data.bins, n_bins: data.n_bins, ...edit });
      refill(settings,
        h("label", { class: "row" }, h("span", { class: "quiet" }, "Numbers are cut"), choice(METHODS, data.bins, (value) => bins({ bins: value }), { id: "bins" })),
        counted ? h("label", { class: "row" }, h("span", { class: "quiet" }, "bins"), h("input", { id: "n-bins", type: "number", min: 2, max: 50, value: data.n_bins, onchange: (event) => bins({ n_bins: Math.max(2, Math.min(50, Math.round(Number(event.target.value)) || 5)) }) })) : null);
      refill(names, legend(data.classes.map((label, c) => ({ label: `${label} (${number(data.class_counts[c])})` }))));
    }

    function drawFigures(found = comparison, trying = false) {
      refill(figures, found ? changeFigures(found, trying) : presentFigures(data.figures));
    }

    function drawDetail(column) {
      const shown = columnDetail({
        column,
        data,
        focus,
        attempt: (edit, after) => attempt(edit, after),
        change: (edit, index = null) => {
          focus = index;
          return change(edit);
        },
      });
      refill(detail, shown.element);
      shown.focus();
    }

    weighing = (await studio.act("session", "job", { page: "data" })) ?? null;
    await load();
    return {
      changed: () => studio.attempt(load),
      job(summary) {
        weighing = summary;
        if (summary.state === "failed") studio.toast(summary.text, "error");
        if (summary.state === "done" && sort.by === "information") sort = { by: "worth", down: true };
        drawList();
      },
    };
  },
};
