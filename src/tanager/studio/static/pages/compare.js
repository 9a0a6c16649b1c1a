// All classifiers on these rows: measures with intervals, ranks, reliability, and the choice of one.

import { canvas, colourOf, legend, reliability, scale } from "../charts.js";
import { choice, field, h, number, percent, refill, s } from "../dom.js";

const HOWS = [["rows", "leave out each row"], ["folds", "folds"]];
const TIMES = [[20, "20 seconds"], [60, "1 minute"], [300, "5 minutes"], [1800, "30 minutes"], [86400, "as long as it takes"]];
const HEADS = [
  ["classifier", "Classifier", "Short names, as on the command line", 1],
  ["log_loss", "Log loss", "Mean of −log P(true class) in nats: small is good, and sure but wrong is punished hardest", 1],
  ["accuracy", "Accuracy", "The share of right answers", -1],
  ["rank", "Rank", "Mean rank: the mean over parts or folds of its rank among all, by log loss (or accuracy, where sorted by it); 1 is best", 1],
  ["auc", "AUC", "The chance that a row of a class is ranked above one of another", -1],
  ["calibration_error", "Calib.", "Expected calibration error: how far answers are from being as sure as they should be", 1],
  ["seconds", "Time", "To learn all rows and to answer them", 1],
];
const MOST_CURVES = 6;

const seconds = (value) => (!Number.isFinite(value) ? "–" : value >= 1 ? `${value.toFixed(1)} s` : `${number(1000 * value, 2)} ms`);

export default {
  async show(root, studio) {
    let page = await studio.act("compare", "show");
    let job = await studio.act("session", "job", { page: "compare" });
    const wish = { how: "folds", folds: 10, repeats: 1, seconds: 60, names: new Set(page.candidates.filter((own) => own.first).map((own) => own.name)) };
    let sort = { by: "log_loss", down: false };
    let curves = null; // names whose reliability is drawn; null: the best ones
    const form = h("div");
    const state = h("div", { "aria-live": "polite" });
    const table = h("div", { class: "compare-table" });
    const side = h("section", { class: "compare-side", "aria-label": "Reliability" });
    refill(root, h("h1", {}, "Compare"), form, state, h("div", { class: "compare-page" }, table, side));

    const running = () => job?.state === "running";
    const lines = () => job?.result?.lines ?? [];
    const measure = () => (sort.by === "accuracy" ? "accuracy" : "log_loss");

    async function start() {
      const body = { names: [...wish.names], folds: wish.how === "rows" ? null : wish.folds, repeats: wish.how === "rows" ? 1 : wish.repeats, seconds: wish.seconds };
      const begun = await studio.attempt(() => studio.act("compare", "start", body));
      curves = null;
      if (begun && begun.number !== job?.number) job = begun; // a quick job may have been heard of already
      draw();
    }

    // --- what is asked for ----------------------------------------------------------------------------------------

    function drawForm() {
      const folds = (key, most, label) => field(label, h("input", { id: key, type: "number", min: key === "folds" ? 2 : 1, max: most, value: wish[key], onchange: (event) => (wish[key] = Math.min(most, Math.max(key === "folds" ? 2 : 1, Math.round(Number(event.target.value)) || 1))) }));
      refill(form, h("div", { class: "row end" },
        field("How", choice(HOWS, wish.how, (value) => ((wish.how = value), drawForm()), { id: "how" })),
        wish.how === "folds" ? [folds("folds", 100, "Folds"), folds("repeats", 100, "Times")] : null,
        field("Time limit", choice(TIMES.map(([own, text]) => [String(own), text]), String(wish.seconds), (value) => (wish.seconds = Number(value)), { id: "limit" })),
        h("button", { id: "start", class: "main", disabled: running(), onclick: start }, "Compare"),
        running() ? h("button", { id: "stop", onclick: () => studio.attempt(() => studio.act("session", "cancel", { page: "compare" })) }, "Stop, and keep what is done") : null,
        picker()));
    }

    function picker() {
      const box = (own) => {
        const turn = (event) => {
          wish.names[event.target.checked ? "add" : "delete"](own.name);
          summary.textContent = picked();
        };
        return h("label", { class: "candidate", title: `${own.class}: ${own.about}` },
          h("input", { type: "checkbox", checked: wish.names.has(own.name), onchange: turn }), h("span", {}, h("strong", {}, own.name), h("small", {}, ` ${own.about}`)));
      };
      const picked = () => `${wish.names.size} of ${page.candidates.length} classifiers`;
      const summary = h("summary", {}, picked());
      const all = (chosen) => {
        wish.names = new Set(page.candidates.filter(chosen).map((own) => own.name));
        drawForm();
        form.querySelector("details").open = true;
      };
      return h("details", { class: "candidates" }, summary, h("div", { class: "panel" },
        h("div", { class: "row" }, h("button", { onclick: () => all((own) => own.first) }, "The usual ones"), h("button", { onclick: () => all(() => true) }, "All"), h("button", { onclick: () => all(() => false) }, "None")),
        h("div", { class: "candidate-list" }, page.candidates.map(box))));
    }

    // --- how it stands --------------------------------------------------------------------------------------------

    function drawState() {
      const found = job?.result;
      const stale = found && found.version !== page.version;
      const advice = found?.advice?.[measure()];
      refill(state,
        running() ? h("div", { class: "row" }, h("progress", { max: job.total || 1, value: job.done, "aria-label": "Progress" }), h("small", {}, `${lines().length} of ${found?.asked ?? wish.names.size} classifiers are done${job.text ? `; ${job.text}` : ""}`)) : null,
        job?.state === "failed" ? h("p", { class: "bad" }, job.text) : null,
        stale ? h("p", { class: "warn" }, "These figures are from before the data, the columns or the network were changed. Compare again.") : null,
        advice && lines().length > 1 ? h("div", { class: "panel advice" }, h("span", {}, `${running() ? "So far: " : ""}${advice.reason}`), useButton(advice.name, `Use ${advice.name}`, "main")) : null,
        (found?.notes ?? []).map((note) => h("p", { class: "quiet" }, note.charAt(0).toUpperCase() + note.slice(1))),
        !job ? h("p", { class: "quiet" }, "All classifiers that are chosen answer rows that they have not learned. Cheap ones come first, and you see results as they come.") : null);
    }

    function useButton(name, text, kind = "") {
      const own = page.candidates.find((other) => other.name === name)?.own;
      if (!own) return null;
      const used = page.chosen === name;
      return h("button", { class: kind, disabled: used, "data-use": name, title: used ? "It answers on the other pages" : `Let ${name} answer on the pages Why, Stream and Export`, onclick: () => studio.attempt(() => studio.act("compare", "use", { name })) }, used ? "In use" : text);
    }

    // --- the table ------------------------------------------------------------------------------------------------

    const valueOf = (line, by) => (by === "rank" ? line[`${measure()}_`].rank : by === "seconds" ? line.fit_seconds + line.predict_seconds : line[by]);

    function sorted() {
      const way = sort.down ? -1 : 1;
      return [...lines()].sort((a, b) => {
        const [x, y] = [valueOf(a, sort.by), valueOf(b, sort.by)];
        return x === y ? 0 : x === null || x === undefined ? 1 : y === null || y === undefined ? -1 : way * (x < y ? -1 : 1);
      });
    }

    function drawTable() {
      if (!lines().length) return refill(table);
      const own = measure();
      const spans = lines().map((line) => line[`${own}_`]).filter((told) => Number.isFinite(told.low));
      const clamp = (value) => Math.max(0, own === "accuracy" ? Math.min(1, value) : value);
      const low = Math.min(...spans.map((told) => clamp(told.low)), ...lines().map((line) => line[own]));
      const highs = lines().map((line) => line[own]);
      const high = Math.max(...spans.map((told) => Math.min(clamp(told.high), 2 * Math.max(...highs))), ...highs);
      const x = scale([low, high === low ? low + 1 : high], [6, 104]);
      const shown = drawn();
      const head = HEADS.map(([by, text, title, way]) => {
        const turn = () => ((sort = { by, down: sort.by === by ? !sort.down : way < 0 }), draw());
        const mark = sort.by === by ? (sort.down ? " ↓" : " ↑") : "";
        return h("th", { class: by === "classifier" ? null : "number", "aria-sort": sort.by === by ? (sort.down ? "descending" : "ascending") : null }, h("button", { class: "plain head", title, onclick: turn }, text + mark));
      });
      head.splice(3, 0, h("th", {}, h("small", { title: `95 % intervals of the ${own === "accuracy" ? "accuracy" : "log loss"}, on a scale from ${figure(low, own)} to ${figure(high, own)}` }, "95 % interval")));
      refill(table, h("table", { class: "compared" }, h("thead", {}, h("tr", {}, h("th", { title: "Draw its reliability" }, ""), head, h("th"))),
        h("tbody", {}, sorted().map((line) => row(line, own, x, clamp, shown)))),
      h("p", { class: "quiet" }, h("span", { class: "bad" }, "−"), ` significantly worse than the best (corrected resampled t-test, 5 %); ${job.result.how ?? ""}.`));
    }

    const figure = (value, by) => (value === null || value === undefined ? "–" : by === "accuracy" ? percent(value, 2) : value.toFixed(4));

    function row(line, own, x, clamp, shown) {
      const name = line.classifier;
      const about = page.candidates.find((other) => other.name === name);
      const at = shown.indexOf(name);
      const mark = (by) => (line[`${by}_`].worse ? h("span", { class: "bad", title: "significantly worse than the best" }, " −") : line[`${by}_`].best ? h("span", { class: "good", title: "the best" }, " ★") : h("span", { class: "unseen" }, " −"));
      return h("tr", { class: name === page.chosen ? "selected" : "" },
        h("td", {}, h("input", { type: "checkbox", checked: at >= 0, "aria-label": `Draw the reliability of ${name}`, css: at >= 0 ? { "accent-color": colourOf(at) } : {}, onchange: () => toggle(name) })),
        h("td", { title: about ? `${about.class}: ${about.about}` : name }, h("strong", {}, name)),
        h("td", { class: "number" }, figure(line.log_loss, "log_loss"), mark("log_loss")),
        h("td", { class: "number" }, figure(line.accuracy, "accuracy"), mark("accuracy")),
        h("td", {}, interval(line, own, x, clamp, at)),
        h("td", { class: "number" }, line[`${own}_`].rank?.toFixed(1) ?? "–"),
        h("td", { class: "number" }, line.auc?.toFixed(4) ?? "–"),
        h("td", { class: "number" }, line.calibration_error?.toFixed(4) ?? "–"),
        h("td", { class: "number", title: `${seconds(line.fit_seconds)} to learn, ${seconds(line.predict_seconds)} to answer` }, seconds(line.fit_seconds + line.predict_seconds)),
        h("td", {}, useButton(name, "Use")));
    }

    function interval(line, own, x, clamp, at) {
      const { low, high } = line[`${own}_`];
      const colour = at >= 0 ? colourOf(at) : "var(--box-line)";
      const words = `${line.classifier}: ${figure(line[own], own)}${Number.isFinite(low) ? `, between ${figure(clamp(low), own)} and ${figure(clamp(high), own)}` : ""}`;
      const bound = (value) => Math.min(107, Math.max(3, x(clamp(value))));
      const picture = canvas(110, 18, words);
      if (Number.isFinite(low)) picture.append(s("line", { x1: bound(low), x2: bound(high), y1: 9, y2: 9, stroke: colour, "stroke-width": 3, opacity: 0.6 }));
      picture.append(s("circle", { cx: bound(line[own]), cy: 9, r: 4.5, fill: colour }));
      return picture;
    }

    // --- reliability ----------------------------------------------------------------------------------------------

    const drawn = () => (curves ?? sorted().slice(0, 3).map((line) => line.classifier)).filter((name) => lines().some((line) => line.classifier === name));

    function toggle(name) {
      const now = drawn();
      curves = now.includes(name) ? now.filter((other) => other !== name) : [...now, name].slice(-MOST_CURVES);
      draw();
    }

    function drawSide() {
      const names = drawn();
      if (!names.length) return refill(side);
      const series = names.map((name) => ({ label: name, points: lines().find((line) => line.classifier === name).reliability }));
      refill(side, h("h2", {}, "As sure as they should be?"),
        reliability({ series, width: 320, height: 310, label: `Reliability of ${names.join(", ")}`, xlabel: "probability of the answer", ylabel: "share of right answers" }),
        legend(names.map((label) => ({ label }))),
        h("p", { class: "quiet" }, "Points on the dashed line are honest; below it answers are too sure. Large points stand for many rows. Tick up to six classifiers in the table."));
    }

    function draw() {
      const open = form.querySelector("details")?.open;
      drawForm();
      if (open) form.querySelector("details").open = true;
      drawState();
      drawTable();
      drawSide();
    }

    draw();
    return {
      async changed() {
        page = await studio.act("compare", "show");
        draw();
      },
      job(summary) {
        const [was, before] = [job?.state, lines().length];
        job = summary;
        if (was === job.state && before === lines().length) drawState();
        else draw();
      },
    };
  },
};
