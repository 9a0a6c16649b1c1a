// The frame: navigation, the bar with data and history, events, and one page at a time.

import { act, download, listen, StudioError, upload } from "./api.js";
import { h, number, refill } from "./dom.js";

// A page is a module whose default export is {show(root, studio)}; show draws into root and may return
// {changed(), job(summary), hide()}: called when the session changed, when a job of this page reports, and at the end.
const PAGES = [
  ["start", "Start"],
  ["data", "Data"],
  ["compare", "Compare"],
  ["network", "Network"],
  ["ask", "Ask"],
  ["why", "Why"],
  ["stream", "Stream"],
  ["decide", "Decide"],
  ["export", "Export"],
];

const FREE = ["start", "decide"]; // pages that need no data

const main = document.getElementById("main");
let current = { id: "", page: null };
let summary = null;

/** What pages get: actions, messages, and the summary of the session. */
export const studio = {
  act,
  download,
  upload,
  get summary() {
    return summary;
  },
  /** Do something asynchronous; an error becomes a message. */
  async attempt(work) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StudioError)) console.error(error);
      toast(error.message, "error");
      return undefined;
    }
  },
  toast,
  go,
  refresh,
};

function toast(text, kind = "note") {
  const box = document.getElementById("toasts");
  const close = h("button", { class: "plain", "aria-label": "Close this message" }, "×");
  const item = h("div", { class: `toast ${kind}`, role: kind === "error" ? "alert" : null }, h("span", {}, text), close);
  close.addEventListener("click", () => item.remove());
  box.append(item);
  setTimeout(() => item.remove(), kind === "error" ? 12000 : 4000);
  while (box.children.length > 4) box.firstElementChild.remove();
}

function go(id) {
  if (location.hash === `#${id}`) return show();
  location.hash = id;
}

/** Whether there is something to look at; a session may name a file that is not here any more. */
function hasData() {
  return Boolean(summary?.data) && !summary.data.lost;
}

async function show() {
  const asked = location.hash.slice(1).split("/")[0];
  const known = PAGES.some(([id]) => id === asked);
  const id = hasData() ? (known ? asked : "network") : FREE.includes(asked) ? asked : "start";
  if (current.id !== id) {
    current.page?.hide?.();
    const own = (current = { id, page: null });
    refill(main, h("p", { class: "quiet" }, "Loading …"));
    main.dataset.page = id;
    const module = await import(`./pages/${id}.js`);
    if (current !== own) return; // another page was chosen meanwhile
    const root = h("div", { class: "page" }); // its own: a page that is left may still draw
    refill(main, root);
    document.title = `${PAGES.find(([own]) => own === id)[1]} · tanager studio`;
    const page = await studio.attempt(() => module.default.show(root, studio));
    if (current !== own) return page?.hide?.();
    own.page = page ?? null;
  }
  drawNavigation();
}

function drawNavigation() {
  const links = PAGES.map(([id, title]) => {
    const off = !FREE.includes(id) && !hasData();
    return h("a", { href: off ? null : `#${id}`, "aria-current": id === current.id ? "page" : null, "aria-disabled": off || null }, title);
  });
  refill(document.getElementById("nav"), links);
}

function drawBar() {
  const data = summary?.data;
  const about = !data
    ? "no data yet"
    : data.lost
      ? `${data.name} is not here`
      : data.rows === undefined
        ? data.name
        : `${data.name}: ${number(data.rows)} rows, ${data.columns} columns, ${data.classes.length} values of ${data.target}`;
  const position = summary?.position ?? 0;
  const last = (summary?.history.length ?? 1) - 1;
  refill(
    document.getElementById("bar"),
    h("strong", { class: "brand" }, "tanager studio"),
    h("span", { class: "about", title: about }, about),
    h("span", { id: "link", class: "link", hidden: linkText === "" }, linkText),
    h("button", { id: "undo", title: "Undo (Ctrl-Z)", disabled: position <= 0, onclick: () => step("undo") }, "Undo"),
    h("button", { id: "redo", title: "Redo (Ctrl-Y)", disabled: position >= last, onclick: () => step("redo") }, "Redo"),
    h("button", { id: "save", title: "Save this session to a file", onclick: () => studio.attempt(() => download("session", "save")) }, "Save"),
    h("button", { id: "theme", title: "Light or dark", "aria-label": "Light or dark", onclick: turnTheme }, "◐"),
  );
}

async function step(way) {
  await studio.attempt(() => act("session", way));
}

/** Ask for the summary again, and let the page know. */
async function refresh() {
  const found = await studio.attempt(() => act("session", "summary"));
  if (found === undefined) return;
  summary = found;
  drawBar();
  await show();
  drawNavigation();
  await current.page?.changed?.();
}

// --- theme --------------------------------------------------------------------------------------------------------

function turnTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

// --- start --------------------------------------------------------------------------------------------------------

let linkText = "";

function linked(there, text = "") {
  linkText = there ? "" : text;
  drawBar();
  if (there) refresh();
}

function heard(kind, data) {
  if (kind === "changed" || kind === "missed") refresh();
  if (kind === "job" && data.page === current.id) current.page?.job?.(data);
  current.page?.heard?.(kind, data);
}

addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches("input, textarea")) return;
  const key = event.key.toLowerCase();
  if (key === "z" && !event.shiftKey) step("undo");
  else if (key === "y" || (key === "z" && event.shiftKey)) step("redo");
  else return;
  event.preventDefault();
});

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
drawBar();
listen(heard, linked);
