// What left-out rows say: the figures as they are, and what a change costs or gains, with an interval.

import { h, number, percent } from "./dom.js";

const signed = (value, digits) => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${Math.abs(value).toFixed(digits)}`;

/** The figures of the present document. */
export function presentFigures({ accuracy, log_loss, by, rows }) {
  return [
    h("span", { class: "figure" }, h("small", {}, "accuracy"), h("strong", {}, percent(accuracy, 2))),
    h("span", { class: "figure" }, h("small", {}, "log loss"), h("strong", {}, log_loss.toFixed(4))),
    h("small", { class: "how" }, `${number(rows)} rows, each answered by ${by} without having learned it. Change something, and see here what that costs or gains.`),
  ];
}

/** A difference with its interval: on a line, and in words. "good" is the sign of what is better. */
function difference(label, before, after, { difference: mean, low, high }, good, format, unit, digits) {
  const sure = low > 0 || high < 0;
  const better = mean * good > 0;
  const word = !sure ? "unclear" : better ? "better" : "worse";
  const reach = Math.max(Math.abs(low), Math.abs(high), 1e-12) * 1.1;
  const at = (value) => `${50 + (50 * value) / reach}%`;
  return h("div", { class: `difference ${sure ? (better ? "good" : "bad") : "quiet"}` },
    h("small", {}, label),
    h("span", {}, `${format(before)} → `, h("strong", {}, format(after))),
    h("span", { class: "interval", role: "img", "aria-label": `${label}: difference between ${signed(unit * low, digits)} and ${signed(unit * high, digits)}`, css: { "--low": at(low), "--high": at(high), "--mean": at(mean) } }),
    h("span", {}, h("strong", {}, signed(unit * mean, digits)), ` (${signed(unit * low, digits)} to ${signed(unit * high, digits)})`),
    h("em", {}, word));
}

/** What a change costs or gains: {before, after, difference} as the server says. */
export function changeFigures({ before, after, difference: found }, trying = false) {
  const changed = before.by === after.by ? after.by : `${before.by}, then ${after.by}`;
  return [
    h("div", { class: "differences" },
      difference("accuracy", before.accuracy, after.accuracy, found.accuracy, 1, (own) => percent(own, 2), 100, 2),
      difference("log loss", before.log_loss, after.log_loss, found.log_loss, -1, (own) => own.toFixed(4), 1, 4)),
    h("small", { class: "how" }, `${trying ? "So it would be: " : ""}${number(after.rows)} rows, each left out in turn (${changed}); in brackets the 95 % interval of the difference.`),
  ];
}
