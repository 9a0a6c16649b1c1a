// Models along a stream: every row is answered before it is learned.

import { colourOf, legend, lines, scale, xAxis, canvas } from "../charts.js";
import { choice, field, h, number, percent, refill, s } from "../dom.js";

const SPEEDS = [[0, "as fast as possible"], [5000, "5,000 rows a second"], [1000, "1,000 rows a second"], [200, "200 rows a second"], [50, "50 rows a second"]];
const DRIFTS = [["none", "no drift"], ["sudden", "sudden"], ["gradual", "gradual"], ["slow", "tables turn slowly"], ["recurring", "there and back"]];
const ALARMS = { drift: "drift noticed", swap: "new model takes over", restart: "starts anew", warning: "warning" };
const DASHES = [null, "6 4", "2 3", "8 3 2 3"];

/** Buttons of which one is pressed; draw() shows which. */
function radio(label, options, chosen, choose) {
  const buttons = options.map(([own, text]) => h("button", { role: "radio", onclick: () => choose(own) }, text));
  return {
    element: h("div", { class: "row", role: "radiogroup", "aria-label": label }, buttons),
    draw() {
      buttons.forEach((button, i) => {
        const on = options[i][0] === chosen();
        button.setAttribute("aria-checked", String(on));
        button.classList.toggle("main", on);
      });
    },
  };
}

export default {
  async show(root, studio) {
    const known = await studio.act("stream", "choices");
    const wanted = {
      models: new Set(["nb", "aode"]),
      watched: "nb",
      source: known.rows ? "rows" : "tan",
      n_rows: 20000, drift: "sudden", at: 10000, seed: 1, shuffled: false, speed: 0,
    };
    let job = known.job;
    let measure = "accuracy";
    let along = "members";
    const hidden = new Set(); // models whose curves are not drawn
    const form = h("div", { class: "panel stream-form" });
    // Buttons and boxes are made once and changed then: one that is replaced while the mouse is down does not hear the click.
    const state = h("strong", { id: "state" });
    const words = h("span");
    const progress = h("progress", { max: 1, value: 0, "aria-label": "Rows so far" });
    const pause = h("button", { id: "pause", onclick: () => studio.attempt(() => studio.act("stream", job.paused ? "resume" : "pause")) }, "Pause");
    const stop = h("button", { id: "stop", onclick: () => studio.attempt(() => studio.act("session", "cancel", { page: "stream" })) }, "Stop");
    const measures = radio("Measure", [["accuracy", "Accuracy"], ["log_loss", "Log loss"]], () => measure, (own) => { measure = own; drawCurves(); });
    const note = h("small");
    const picture = h("div", { class: "stream-picture" });
    const table = h("div");
    const evolution = h("section", { class: "panel", "aria-label": "Pseudo-classes", hidden: true });
    const against = radio("Against", [["members", "by super-parents"], ["time", "by time"]], () => along, (own) => { along = own; drawAnytime(); });
    const bought = h("div");
    const timed = h("section", { class: "panel", "aria-label": "Anytime curve", hidden: true }, h("h2", {}, "What time buys"), against.element, bought);
    const curves = h("section", { "aria-label": "Curves", hidden: true }, h("div", { class: "row" }, measures.element, note), picture, table);
    refill(root, h("h1", {}, "Stream"), h("div", { class: "stream" }, form,
      h("div", {}, h("div", { class: "row", "aria-live": "polite" }, state, words, progress, pause, stop), curves, h("div", { class: "stream-below" }, evolution, timed))));

    // --- what to run --------------------------------------------------------------------------------------------

    function drawForm() {
      const generator = known.generators.find((own) => own.name === wanted.source);
      const rows = wanted.source === "rows";
      const sources = [...(known.rows ? [["rows", "rows of the session"]] : []), ...known.generators.map((own) => [own.name, own.text])];
      const whole = (name, text, least) => field(text, h("input", { type: "number", min: least, value: wanted[name], id: name, onchange: (event) => (wanted[name] = Math.round(Number(event.target.value))) }));
      refill(
        form,
        field("Rows from", choice(sources, wanted.source, (value) => { wanted.source = value; drawForm(); }, { id: "source" })),
        rows ? h("label", { class: "tick-line", title: "Tables are often sorted, by the class for example" }, h("input", { type: "checkbox", id: "shuffled", checked: wanted.shuffled, onchange: (event) => (wanted.shuffled = event.target.checked) }), h("span", {}, "in random order")) : null,
        rows ? null : [
          h("div", { class: "pair" }, whole("n_rows", "Rows", 1), whole("seed", "Seed", 0)),
          generator.drifts
            ? h("div", { class: "pair" }, field("Drift", choice(DRIFTS, wanted.drift, (value) => { wanted.drift = value; drawForm(); }, { id: "drift" })),
                wanted.drift === "none" ? h("span") : whole("at", wanted.drift === "recurring" ? "every … rows" : "at row", 0))
            : h("p", { class: "quiet" }, "This source changes by itself."),
        ],
        h("fieldset", {}, h("legend", {}, "Models"),
          known.models.filter((own) => rows || own.name !== "session").map((own) =>
            h("label", { class: "tick-line", title: own.about },
              h("input", { type: "checkbox", value: own.name, name: "model", checked: wanted.models.has(own.name), onchange: (event) => (event.target.checked ? wanted.models.add(own.name) : wanted.models.delete(own.name)) }),
              h("span", {}, own.text))),
          field("And with a drift detector",
            choice([["", "none"], ...known.models.filter((own) => known.watched.includes(own.name) && (rows || own.name !== "session")).map((own) => [own.name, own.text])], wanted.watched, (value) => (wanted.watched = value), { id: "watched" }))),
        field("Speed", choice(SPEEDS.map(([value, text]) => [String(value), text]), String(wanted.speed), (value) => (wanted.speed = Number(value)), { id: "speed" })),
        h("button", { class: "main", id: "begin", disabled: job?.state === "running", onclick: begin }, "Start"),
      );
    }

    async function begin() {
      const rows = wanted.source === "rows";
      const generator = known.generators.find((own) => own.name === wanted.source);
      const drift = !rows && generator.drifts ? wanted.drift : "none";
      const source = rows
        ? { name: "rows", shuffled: wanted.shuffled, seed: wanted.seed }
        : { name: wanted.source, n_rows: wanted.n_rows, seed: wanted.seed, drift, at: drift === "none" ? null : wanted.at };
      const models = [...wanted.models].filter((name) => rows || name !== "session");
      const watched = wanted.watched && (rows || wanted.watched !== "session") ? [wanted.watched] : [];
      hidden.clear();
      tabled = "";
      const begun = await studio.attempt(() => studio.act("stream", "start", { models, watched, source, speed: wanted.speed }));
      if (begun && (job?.number ?? 0) < begun.number) take(begun);
    }

    // --- how it goes --------------------------------------------------------------------------------------------

    function drawStatus() {
      const running = job?.state === "running";
      const done = job?.result?.rows.at(-1) ?? 0;
      state.textContent = job ? { running: job.paused ? "resting" : "running", done: "done", cancelled: "stopped", failed: "failed" }[job.state] : "";
      state.className = words.className = job?.state === "failed" ? "bad" : job ? "" : "quiet";
      words.textContent = !job
        ? "Every row is answered first and learned then, so no rows must be kept apart. Choose rows and models, and start."
        : job.state === "failed" ? job.text : job.result ? `${job.result.source}: row ${number(done)} of ${number(job.result.total)}` : "beginning …";
      for (const own of [progress, pause, stop]) own.hidden = !running;
      pause.textContent = job?.paused ? "Go on" : "Pause";
      progress.max = job?.total || 1;
      progress.value = job?.done ?? 0;
    }

    function drawCurves() {
      const run = job?.result;
      curves.hidden = !run;
      if (!run) return;
      const loss = measure === "log_loss";
      const alarms = run.models.some((model) => model.events.some((own) => ALARMS[own.what]));
      measures.draw();
      note.textContent = `of the last thousand rows or so (fading by ${run.fade} a row)${alarms ? "; triangles: a detector alarms" : ""}${run.best && !loss ? "; dashed: the best possible on the average" : ""}`;
      refill(picture, drawn(run, loss));
      drawTable(run);
    }

    /** The chart: a curve for each model, where the stream drifts, and where a detector alarms. */
    function drawn(run, loss) {
      const series = run.models.map((model, i) => ({ label: model.name, colour: colourOf(i), points: run.rows.map((row, at) => [row, model[measure][at]]) }));
      const shown = series.filter((own) => !hidden.has(own.label));
      const values = shown.flatMap((own) => own.points.map((point) => point[1])).filter((value) => value !== null).sort((a, b) => a - b);
      const low = values[Math.floor(values.length * 0.02)] ?? 0; // the first rows, of which nothing was known, would take all the room
      const high = values[Math.ceil(values.length * 0.98) - 1] ?? 1;
      const ydomain = loss ? [0, Math.max(0.1, high * 1.08)] : [Math.max(0, Math.min(low - 0.03, 0.95)), Math.min(1, Math.max(high, run.best ?? 0) + 0.03)];
      for (const own of shown) own.points = own.points.map(([x, y]) => [x, y === null ? null : Math.min(ydomain[1], Math.max(ydomain[0], y))]);
      if (!loss && run.best) shown.push({ label: "best possible on the average", colour: "var(--quiet)", dashed: true, points: [[0, run.best], [run.total, run.best]] });
      const what = loss ? "log loss" : "accuracy";
      const chart = lines({
        series: shown, width: Math.max(420, picture.clientWidth), height: 300, xdomain: [0, run.total], ydomain, xlabel: "rows", ylabel: `${what} of late`,
        marks: run.drifts.map((row, i) => ({ x: row, label: i === 0 ? "the stream drifts" : "", colour: "var(--bad)" })),
        yformat: loss ? number : (own) => percent(own, ydomain[1] - ydomain[0] > 0.1 ? 0 : 1),
        label: `${what} of ${run.models.length} models after ${number(run.rows.at(-1))} rows`,
      });
      run.models.forEach((model, i) => {
        for (const event of hidden.has(model.name) ? [] : model.events.filter((own) => ALARMS[own.what])) {
          const [x, size] = [chart.xOf(event.row), event.what === "warning" ? 4 : 6];
          chart.append(s("path", { class: `alarm ${event.what}`, d: `M${x} ${chart.plot.bottom - 2 * size} l${-size} ${2 * size - 1} h${2 * size} z`, fill: colourOf(i), opacity: size === 6 ? 1 : 0.5 },
            s("title", {}, `${model.name}, row ${number(event.row)}: ${ALARMS[event.what]}. ${event.why}`)));
        }
      });
      return chart;
    }

    let made = []; // of the table: [row, cells], one for each model
    let tabled = "";

    function drawTable(run) {
      const names = run.models.map((model) => model.name).join("\n");
      if (names !== tabled) makeTable(run.models);
      tabled = names;
      const best = Math.max(...run.models.map((model) => model.whole));
      run.models.forEach((model, i) => {
        const [row, cells] = made[i];
        const texts = [percent(model.accuracy.at(-1)), percent(model.whole), number(model.whole_loss), number(Number(model.rate.toPrecision(2))),
          model.events.filter((own) => own.what === "drift").slice(-3).map((own) => number(own.row)).join(", ")];
        texts.forEach((text, c) => (cells[c].textContent = text));
        cells[1].classList.toggle("good", model.whole === best);
        row.classList.toggle("faint", hidden.has(model.name));
      });
    }

    function makeTable(models) {
      made = models.map((model, i) => {
        const turn = (event) => { event.target.checked ? hidden.delete(model.name) : hidden.add(model.name); drawCurves(); };
        const cells = [0, 1, 2, 3].map(() => h("td", { class: "number" })).concat(h("td"));
        const box = h("input", { type: "checkbox", checked: !hidden.has(model.name), onchange: turn, "aria-label": `Draw ${model.name}` });
        return [h("tr", {}, h("td", {}, h("label", { class: "tick-line" }, box, h("i", { class: "stream-swatch", css: { "--own": colourOf(i) } }), model.name)), cells), cells];
      });
      const heads = ["accuracy now", "over all", "log loss", "rows/s"].map((text) => h("th", { class: "number" }, text));
      const hint = models.some((model) => model.name.endsWith("of the session")) ? h("small", {}, "The session's classifier has its cut points from the page Data, and so from all rows; the others learn theirs on the way.") : null;
      refill(table, h("table", { class: "stream-table" }, h("thead", {}, h("tr", {}, h("th", {}, "model"), heads, h("th", {}, "drift seen at"))), h("tbody", {}, made.map(([row]) => row))), hint);
    }

    // --- pseudo-classes and the anytime curve -------------------------------------------------------------------

    function drawPseudo() {
      evolution.hidden = !job?.result?.evolving;
      if (!evolution.hidden) refill(evolution, evolving(job.result));
    }

    function drawAnytime() {
      timed.hidden = !job?.result?.anytime;
      against.draw();
      if (!timed.hidden) refill(bought, anytime(job.result.anytime));
    }

    function evolving(run) {
      const { classes, pseudo, columns, n_columns } = run.evolving;
      const model = run.models.find((own) => own.name.startsWith("evolving"));
      const style = pseudo.map((own, at) => {
        const age = pseudo.slice(0, at).filter((other) => other.label === own.label).length;
        return { colour: colourOf(classes.indexOf(own.label)), dash: DASHES[age % DASHES.length], opacity: 0.35 + 0.65 * Math.min(1, 6 * own.prior) };
      });
      const counts = classes.map((label) => pseudo.filter((own) => own.label === label).length);
      const news = [...(model?.events ?? [])].reverse().slice(0, 6);
      return [
        h("h2", {}, "Pseudo-classes of the evolving model"),
        h("p", { class: "quiet" }, `A class that is often taken for another gets a further pseudo-class. Each curve is a fuzzy set: how much a value belongs to it.${n_columns > columns.length ? ` Shown are ${columns.length} of ${n_columns} columns, in which they differ most.` : ""}`),
        legend(classes.map((label, c) => ({ label: `${label}: ${counts[c]}`, colour: colourOf(c) }))),
        h("div", { class: "fuzzy" }, columns.map((name, i) => h("figure", {}, h("figcaption", { title: name }, name), pseudo[0].sets[i].degrees ? fuzzyBars(name, i, pseudo, style) : fuzzyBells(name, i, pseudo, style)))),
        news.length ? h("ul", { class: "news" }, news.map((own) => h("li", {}, h("strong", {}, `row ${number(own.row)} `), `${own.what} a pseudo-class of ${own.label}: ${own.why}`))) : h("p", { class: "quiet" }, "None was added yet."),
      ];
    }

    function fuzzyBells(name, i, pseudo, style) {
      const sets = pseudo.map((own) => own.sets[i]);
      const domain = [Math.min(...sets.map((own) => (own.curve ? 0 : own.mean - 3 * own.spread))), Math.max(...sets.map((own) => (own.curve ? own.curve.at(-1)[0] : own.mean + 3 * own.spread)))];
      const [width, height] = [220, 100];
      const x = scale(domain, [6, width - 6]);
      const picture = canvas(width, height, `Fuzzy sets of ${name}`);
      picture.append(xAxis({ x, y: height - 22, domain, n: 3 }));
      sets.forEach((own, at) => {
        const bell = () => Array.from({ length: 61 }, (_, k) => k / 10 - 3).map((z) => [own.mean + own.spread * z, Math.exp(-0.5 * z ** 2)]);
        const d = (own.curve ?? bell()).map(([value, degree], k) => `${k ? "L" : "M"}${x(value).toFixed(1)} ${(height - 22 - 70 * degree).toFixed(1)}`).join("");
        picture.append(s("path", { d, class: "curve", stroke: style[at].colour, "stroke-dasharray": style[at].dash, opacity: style[at].opacity },
          s("title", {}, `${pseudo[at].label}: about ${number(own.mean)} (± ${number(own.spread)}), ${percent(pseudo[at].prior)} of the rows, since row ${number(pseudo[at].since)}`)));
      });
      return picture;
    }

    function fuzzyBars(name, i, pseudo, style) {
      const values = Object.keys(pseudo[0].sets[i].degrees);
      const [width, height] = [220, 100];
      const picture = canvas(width, height, `Fuzzy sets of ${name}`);
      const slot = (width - 12) / values.length;
      const wide = Math.max(1, (slot * 0.84) / pseudo.length);
      values.forEach((value, v) => {
        pseudo.forEach((own, at) => {
          const degree = own.sets[i].degrees[value] ?? 0;
          picture.append(s("rect", { x: 6 + v * slot + slot * 0.08 + at * wide, y: height - 22 - 70 * degree, width: wide * 0.9, height: 70 * degree, fill: style[at].colour, opacity: style[at].opacity },
            s("title", {}, `${own.label}: ${value} belongs to it by ${number(degree)}`)));
        });
        picture.append(s("text", { x: 6 + (v + 0.5) * slot, y: height - 6, "text-anchor": "middle", class: "tick" }, value.length * 7 > slot ? `${value.slice(0, Math.max(1, Math.floor(slot / 8)))}…` : value));
      });
      picture.append(s("line", { x1: 6, x2: width - 6, y1: height - 22, y2: height - 22, class: "axis" }));
      return picture;
    }

    function anytime(found) {
      const xs = found.accuracy.map((_, n) => (along === "members" ? n : found.microseconds[n]));
      const [low, high] = [Math.min(...found.accuracy), Math.max(...found.accuracy)];
      const chart = lines({
        series: [{ label: "anytime AODE", points: xs.map((x, n) => [x, found.accuracy[n]]) }], width: 460, height: 240,
        xdomain: [xs[0], Math.max(xs.at(-1), xs[0] + 1)], ydomain: [Math.max(0, low - 0.02), Math.min(1, high + 0.02)],
        xformat: (own) => (along === "members" && !Number.isInteger(own) ? "" : number(own)),
        xlabel: along === "members" ? "super-parents (0: naive Bayes alone)" : "microseconds for a row", ylabel: "accuracy", yformat: (own) => percent(own), label: "Accuracy of the anytime model by what it may spend",
      });
      xs.forEach((x, n) => chart.append(s("circle", { cx: chart.xOf(x), cy: chart.yOf(found.accuracy[n]), r: 4, fill: colourOf(0) }, s("title", {}, `${n} super-parents: ${percent(found.accuracy[n])}, ${number(found.microseconds[n])} µs for a row`))));
      return [
        h("p", { class: "quiet" }, `The anytime model at row ${number(found.row)}, tried on the next ${number(found.rows)} rows. It has enough after ${found.members.length} of ${found.n_members} super-parents.`),
        chart,
        found.members.length ? h("p", { class: "quiet" }, `In this order: ${found.members.slice(0, 8).join(", ")}${found.members.length > 8 ? ", …" : ""}`) : null,
      ];
    }

    // --- events -------------------------------------------------------------------------------------------------

    let waiting = 0;
    function draw() {
      waiting = 0;
      drawStatus();
      drawCurves();
      drawPseudo();
      drawAnytime();
    }

    function take(summary) {
      const turned = (job?.state === "running") !== (summary.state === "running");
      job = summary.result || summary.number !== job?.number ? summary : { ...summary, result: job.result };
      if (turned) {
        const button = form.querySelector("#begin");
        if (button) button.disabled = job.state === "running";
      }
      waiting ||= requestAnimationFrame(draw); // events may come faster than pictures
    }

    const resized = new ResizeObserver(() => (waiting ||= requestAnimationFrame(draw)));
    resized.observe(root);
    drawForm();
    draw();
    return {
      job: take,
      async changed() {
        known.rows = studio.summary?.data?.rows ?? 0;
        if (!known.rows && wanted.source === "rows") wanted.source = "tan";
        drawForm();
        const found = await studio.attempt(() => studio.act("session", "job", { page: "stream" }));
        if (found) take(found);
      },
      hide() {
        resized.disconnect();
        cancelAnimationFrame(waiting);
      },
    };
  },
};
