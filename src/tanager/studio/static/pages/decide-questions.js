// Which question next: prices, what is known so far, and what each question is expected to gain.

import { choice, debounced, h, number, percent, refill } from "../dom.js";

export async function questions(root, studio) {
  let found = await studio.act("questions", "show");
  let advice = found.advice;
  const known = new Map(); // of this tab: name to value
  let ahead = 1;
  const head = h("div", { class: "panel", "aria-live": "polite" });
  const lines = h("tbody", {});
  const report = h("div", {});

  const ask = debounced(() => studio.attempt(async () => {
    advice = await studio.act("questions", "advise", { known: Object.fromEntries(known), look_ahead: ahead });
    draw();
  }), 120);

  const setPrice = debounced((name, price) => studio.attempt(() => studio.act("questions", "set_prices", { prices: { [name]: price } })), 500);

  function draw() {
    const ways = Object.entries(advice.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 4);
    refill(
      head,
      h("p", { class: "headline" }, advice.next ? ["Ask next: ", h("strong", { id: "next-question" }, advice.next)] : ["Answer ", h("strong", { id: "next-question" }, advice.answer), ": no question is worth its price."]),
      h("p", { class: "quiet" }, `Without another question the answer is ${advice.answer}, at an expected cost of ${number(advice.expected_cost)} (`, ways.map(([label, p]) => `${label} ${percent(p)}`).join(", "), ")."),
    );
    const order = new Map(advice.questions.map((own, i) => [own.name, [i, own]]));
    const most = Math.max(1e-9, ...advice.questions.map((own) => own.gain));
    const sorted = [...found.columns].sort((a, b) => (known.has(b.name) - known.has(a.name)) || (order.get(a.name)?.[0] ?? 1e9) - (order.get(b.name)?.[0] ?? 1e9));
    refill(lines, sorted.map((column) => line(column, order.get(column.name)?.[1], most)));
  }

  function line(column, own, most) {
    const set = (value) => (value === "" ? known.delete(column.name) : known.set(column.name, column.numeric ? Number(value) : value), ask());
    const value = known.get(column.name);
    const control = column.numeric
      ? h("input", { class: "cell wide", inputmode: "decimal", value: value ?? "", "aria-label": `value of ${column.name}`, onchange: (event) => set(event.target.value.trim()) })
      : choice([["", "not known"], ...column.values], value ?? "", set, { "aria-label": `value of ${column.name}` });
    const price = h("input", { class: "cell", inputmode: "decimal", value: String(column.price), "aria-label": `price of ${column.name}`, oninput: (event) => Number.isFinite(Number(event.target.value)) && event.target.value !== "" && setPrice(column.name, Number(event.target.value)) });
    return h("tr", { class: known.has(column.name) ? "selected" : null },
      h("th", { scope: "row" }, column.name), h("td", {}, control), h("td", {}, price),
      h("td", {}, own ? h("meter", { min: 0, max: most, value: own.gain, "aria-label": `expected gain ${number(own.gain)}` }) : null),
      h("td", { class: "number" }, own ? number(own.gain) : "–"),
      h("td", { class: `number ${own && own.net > 0 ? "good" : "quiet"}` }, own ? number(own.net) : "–"));
  }

  let last = null; // the job that is shown; its end may be told before the answer that it has begun

  function drawReport(job) {
    if (job && last?.number === job.number && last.state !== "running") return;
    last = job;
    if (job?.state === "running") {
      return refill(report, h("p", {}, job.text), h("progress", { max: job.total || 1, value: job.done }), h("button", { onclick: () => studio.attempt(() => studio.act("session", "cancel", { page: "questions" })) }, "Stop"));
    }
    const names = { chosen: "question after question", everything: "asking for everything", nothing: "asking for nothing" };
    const rows = job?.state === "done" ? Object.entries(job.result) : [];
    refill(
      report,
      h("button", { id: "evaluate", onclick: () => studio.attempt(async () => drawReport(await studio.act("questions", "evaluate"))) }, "What does this save, over the rows?"),
      job?.state === "failed" ? h("p", { class: "bad" }, job.text) : null,
      rows.length ? h("table", { id: "report" }, h("thead", {}, h("tr", {}, ["mean per row", "price", "errors", "together", "questions"].map((text, i) => h("th", { class: i ? "number" : null }, text)))),
        h("tbody", {}, rows.map(([id, way]) => h("tr", {}, h("th", { scope: "row" }, names[id]), [way.price, way.errors, way.total].map((value) => h("td", { class: "number" }, number(value))), h("td", { class: "number" }, number(way.questions)))))) : null,
      rows.length ? h("small", {}, "These rows were learned, too: rows of the future will cost a little more.") : null,
    );
  }

  async function load() {
    found = await studio.act("questions", "show");
    advice = known.size ? await studio.act("questions", "advise", { known: Object.fromEntries(known), look_ahead: ahead }) : found.advice;
    draw();
  }

  refill(
    root,
    h("p", { class: "quiet" }, "Every value has its price, in the unit in which errors cost (1 each, or as you set under “What errors cost”). A question is worth asking if it can change the answer by more than that."),
    head,
    h("div", { class: "row spaced" },
      h("label", { class: "row" }, "Think", choice([["1", "one question"], ["2", "two questions"]], "1", (value) => ((ahead = Number(value)), ask())), "ahead"),
      h("button", { onclick: () => (known.clear(), ask()) }, "Forget what is known")),
    h("div", { class: "scroll" }, h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, ["column", "known", "price", "expected gain", "", "less its price"].map((text) => h("th", {}, text)))), lines)),
    report,
  );
  draw();
  drawReport(await studio.act("session", "job", { page: "questions" }));
  return { changed: load, heard: (kind, data) => kind === "job" && data.page === "questions" && drawReport(data) };
}
