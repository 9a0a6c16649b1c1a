// One column, large: its kind, its distribution by class, cut points, values, and their order.

import { colourOf, columns as columnChart, cut } from "./charts.js";
import { cutPicture, formatOf, halfway } from "./cuts.js";
import { choice, h, number, percent, refill } from "./dom.js";

const KINDS = { categorical: "categories", numeric: "numbers", ordinal: "in order" };
const MOST_BARS = 24;
const MOST_LINES = 20;
const WIDTH = 660;
const scales = new Map(); // of this tab: how each column is looked at
let shares = false;

const sum = (counts) => counts.reduce((a, b) => a + b, 0);

/** Values in an order that is likely: numbers by size, text by the alphabet. */
function likelyOrder(values) {
  return values.map(({ value }) => value).sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true })));
}

/** {element, focus()}; change(edit, index of the cut point to go on with) and attempt(edit, shown) are asked for. */
export function columnDetail({ column, data, focus, attempt, change }) {
  const { name } = column;
  const scale = scales.get(name) ?? (column.numbers?.skewed ? "rank" : "value");
  const chart = h("div");
  const below = h("div");
  let picture = null;

  const cutEdit = (cuts) => ({ what: "cuts", name, cuts });
  const done = (cuts, index) => change(cutEdit(cuts), index);

  function draw() {
    const shared = { column, classes: data.classes, scale: scales.get(name) ?? scale, share: shares, width: WIDTH };
    if (column.numbers || column.kind === "ordinal") {
      picture = cutPicture({ ...shared, onmove: (cuts) => attempt(cutEdit(cuts), (after) => drawBins(after)), ondone: done });
    } else if (column.values?.length) {
      const bins = column.values.slice(0, MOST_BARS).map(({ value, counts }) => ({ label: String(value), counts, title: `${value}: ${number(sum(counts))} rows` }));
      picture = columnChart({ bins, classes: data.classes, width: WIDTH, height: 262, share: shares, ylabel: shares ? "share of rows" : "rows", label: `${name} by class` });
    } else {
      picture = h("p", { class: "quiet" }, "There is no cell with a value.");
    }
    refill(chart, picture);
  }

  /** What the bins say about the class: shares, with the rows of each bin. */
  function drawBins(own) {
    if (!(column.numbers || column.kind === "ordinal")) return;
    if (own.bins.length < 2) {
      return refill(below, h("p", { class: "quiet" }, "Not cut: all values share one bin, so the column says nothing about the class. Double-click into the picture to cut it."));
    }
    const format = (value) => formatOf(column.numbers)(column.numbers?.whole ? Math.floor(value) : value); // ≤ 4.5 is ≤ 4
    const bins = own.bins.map(({ label, counts }, b) => {
      const words = own.kind === "numeric" ? (b === 0 ? `≤ ${format(own.cuts[0])}` : b === own.cuts.length ? `> ${format(own.cuts[b - 1])}` : `≤ ${format(own.cuts[b])}`) : label;
      const range = own.kind === "numeric" && b > 0 && b < own.cuts.length ? `${format(own.cuts[b - 1])} to ${format(own.cuts[b])}` : words;
      return { label: words, counts, title: `${range}: ${number(sum(counts))} rows` };
    });
    refill(below,
      h("h2", {}, `${bins.length} bins, and the classes in each`),
      columnChart({ bins, classes: data.classes, share: true, width: WIDTH, height: 150, ylabel: "share", label: `Classes in the bins of ${name}` }));
  }

  function header() {
    const kinds = [...new Set([column.kind, ...column.can_be])].map((kind) => [kind, KINDS[kind] ?? kind]);
    const pick = (kind) => change(kind === "ordinal" ? { what: "kind", name, kind, order: likelyOrder(column.values ?? distinct()) } : { what: "kind", name, kind });
    return h("div", { class: "row" },
      h("h2", { class: "column-name", title: name }, cut(name, 170, 18)),
      choice(kinds, column.kind, pick, { id: "kind", "aria-label": "Kind of column", title: "Kind of column" }),
      h("button", { id: "automatic", disabled: column.automatic, title: "Take back what was decided by hand about this column", onclick: () => change({ what: "automatic", name }) }, "Automatic"),
      column.numbers ? choice([["value", "as they are"], ["rank", "spread out"]], scales.get(name) ?? scale, (value) => (scales.set(name, value), draw()), { id: "scale", "aria-label": "Axis", title: "The axis: numbers as they are, or spread out where they lie close together" }) : null,
      (scales.get(name) ?? scale) !== "rank" || !column.numbers ? h("label", { class: "check" }, h("input", { type: "checkbox", id: "shares", checked: shares, onchange: (event) => ((shares = event.target.checked), draw()) }), " shares") : null,
      column.numbers || column.kind === "ordinal" ? h("button", { id: "add-cut", title: "Halve the bin with the most rows (or double-click into the picture)", onclick: () => addCut() }, "Add a cut") : null);
  }

  /** The whole numbers of a numeric column, for an order. */
  function distinct() {
    const { low, high } = column.numbers;
    return Array.from({ length: high - low + 1 }, (_, k) => ({ value: low + k }));
  }

  function addCut() {
    const cuts = [...column.cuts];
    const next = column.kind === "ordinal" ? freePlace(cuts) : halfway(column, cuts);
    if (next === null || cuts.includes(next)) return;
    const all = [...cuts, next].sort((a, b) => a - b);
    done(all, all.indexOf(next));
  }

  function freePlace(cuts) {
    const places = column.values.slice(1).map((_, k) => k + 0.5).filter((place) => !cuts.includes(place));
    return places.length ? places[Math.floor(places.length / 2)] : null;
  }

  function about() {
    const gaps = column.gaps ? `${number(column.gaps)} gaps (${percent(column.gaps / data.rows)})` : "no gaps";
    const most = column.gaps_by_class.map((own, c) => [own / Math.max(1, data.class_counts[c]), c]).sort((a, b) => b[0] - a[0])[0];
    const uneven = column.gaps && most[0] > 1.5 * (column.gaps / data.rows) ? `, most often where the class is ${data.classes[most[1]]} (${percent(most[0])})` : "";
    return h("p", { class: "quiet about-column" }, `${column.reason}; ${gaps}${uneven}; tells ${column.information.toFixed(3)} bits about the class, of ${entropy(data.class_counts).toFixed(3)}.`);
  }

  draw();
  drawBins(column);
  const element = h("div", {}, header(), about(), chart,
    column.kind === "ordinal" ? orderList(column, change) : null, below,
    column.kind === "categorical" ? valueTable(column, data) : null);
  return { element, focus: () => focus !== null && focus >= 0 && picture.focusCut?.(focus) };
}

function entropy(counts) {
  const total = sum(counts);
  return -sum(counts.filter((own) => own > 0).map((own) => (own / total) * Math.log2(own / total)));
}

/** All values with their rows, searched and shown a part at a time. */
function valueTable(column, data) {
  let shown = MOST_LINES;
  const body = h("div");
  const search = h("input", { type: "search", placeholder: `Search ${number(column.values.length)} values`, "aria-label": "Search values", oninput: () => draw() });
  function draw() {
    const wanted = search.value.toLowerCase();
    const found = column.values.filter(({ value }) => String(value).toLowerCase().includes(wanted));
    refill(body,
      h("table", { class: "values" }, h("thead", {}, h("tr", {}, h("th", {}, "Value"), h("th", { class: "number" }, "Rows"), h("th", { class: "number" }, "Share"), h("th", {}, "Classes"))),
        h("tbody", {}, found.slice(0, shown).map(({ value, counts }) => h("tr", {},
          h("td", { title: String(value) }, cut(String(value), 250, 15)),
          h("td", { class: "number" }, number(sum(counts))),
          h("td", { class: "number" }, percent(sum(counts) / data.rows)),
          h("td", {}, stripe(counts, data.classes)))))),
      found.length > shown ? h("button", { onclick: () => ((shown += 100), draw()) }, `and ${number(found.length - shown)} more`) : null);
  }
  draw();
  return h("div", {}, h("div", { class: "row" }, h("h2", {}, "Values"), column.values.length > MOST_LINES ? search : null,
    column.n_values < column.values.length ? h("small", {}, `${number(column.n_values - 1)} of them count by themselves, all others together`) : null), body);
}

/** The classes of one value as a stripe. */
function stripe(counts, classes) {
  const total = sum(counts) || 1;
  return h("span", { class: "stripe" }, counts.map((own, c) => (own ? h("i", { title: `${classes[c]}: ${number(own)}`, css: { width: `${(100 * own) / total}%`, "--own": colourOf(c) } }) : null)));
}

/** The values of an ordinal column, moved by dragging or by keys. */
function orderList(column, change) {
  const order = column.values.map(({ value }) => value);
  const move = (from, to) => {
    if (to < 0 || to >= order.length || from === to) return;
    const next = [...order];
    next.splice(to, 0, ...next.splice(from, 1));
    change({ what: "kind", name: column.name, kind: "ordinal", order: next }, null).then(() => requestAnimationFrame(() => document.querySelector(`.order [data-place="${to}"]`)?.focus()));
  };
  let dragged = -1;
  return h("div", {}, h("h2", {}, "Their order, smallest first"),
    h("ol", { class: "order", "aria-label": "Order of the values; Alt and arrow keys move one" }, order.map((value, k) =>
      h("li", {
        tabindex: 0, draggable: "true", "data-place": k, title: `${value}: drag it, or use the arrow keys`,
        ondragstart: (event) => ((dragged = k), event.dataTransfer.setData("text/plain", String(k))),
        ondragover: (event) => event.preventDefault(),
        ondrop: (event) => (event.preventDefault(), move(dragged, k)),
        onkeydown: (event) => {
          const way = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
          if (!way) return;
          event.preventDefault();
          move(k, k + way);
        },
      }, cut(String(value), 150, 14)))));
}
