// Files that leave the studio, the session itself, and the script that repeats it.

import { h, refill } from "../dom.js";

const TOKENS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(from|import|as|for|in|if|else|None|True|False|lambda)\b/gm;

export default {
  async show(root, studio) {
    const files = h("div", { class: "cards" });
    const code = h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "The script" });
    const copy = h("button", { id: "copy", onclick: take }, "Copy");
    const save = h("button", { class: "main", id: "script", onclick: () => get("script") }, "Download");
    const picker = h("input", { type: "file", accept: ".studio", hidden: true, id: "session-file", onchange: (event) => open(event.target.files[0]) });
    let script = "";

    async function get(kind) {
      const name = await studio.attempt(() => studio.download("export", "file", { kind }));
      if (name) studio.toast(`Saved ${name}.`);
    }

    async function take() {
      try {
        await navigator.clipboard.writeText(script);
        studio.toast("Copied.");
      } catch {
        getSelection().selectAllChildren(code); // not every browser lets a page write there
        studio.toast("Press Ctrl-C to copy what is selected.");
      }
    }

    async function open(file) {
      if (!file) return;
      const content = await file.text();
      picker.value = "";
      if ((await studio.attempt(() => studio.act("session", "open", { content }))) !== undefined) studio.toast(`Opened ${file.name}.`);
    }

    function card(own) {
      const off = own.obstacle !== "";
      return h("div", { class: "card export-card", "data-kind": own.kind },
        h("strong", {}, own.title), h("small", {}, own.about),
        off ? h("p", { class: "warn" }, own.obstacle) : h("button", { "aria-label": `Download ${own.file}`, onclick: () => get(own.kind) }, own.file));
    }

    async function draw() {
      const found = await studio.attempt(() => studio.act("export", "show"));
      if (!found) return;
      script = found.script;
      refill(files, found.files.filter((own) => own.kind !== "script").map(card));
      refill(code, coloured(script));
    }

    refill(
      root,
      h("h1", {}, "Export"),
      h("div", { class: "export" },
        h("section", {}, h("div", { class: "row" }, h("h2", {}, "The script that repeats this session"), save, copy), h("p", { class: "quiet" }, "What was undone is left out. Its end fits the model and saves it."), code),
        h("section", {}, h("h2", {}, "Files"), files,
          h("h2", {}, "The session"),
          h("p", { class: "quiet" }, studio.summary?.file ? `It is kept in ${studio.summary.file} after every step.` : "All steps and decisions, to go on another day. Rows are not in it: they stay in their file."),
          h("div", { class: "row" }, h("button", { id: "save-session", onclick: () => studio.attempt(() => studio.download("session", "save")) }, "Save the session"),
            h("button", { onclick: () => picker.click() }, "Open a session …"), picker))),
    );
    await draw();
    return { changed: draw };
  },
};

/** Python with comments, texts and keywords marked. */
function coloured(text) {
  const parts = [];
  let done = 0;
  for (const found of text.matchAll(TOKENS)) {
    parts.push(text.slice(done, found.index));
    const kind = found[1] ? "comment" : found[2] ? "text" : "word";
    parts.push(h("span", { class: kind }, found[0]));
    done = found.index + found[0].length;
  }
  return [...parts, text.slice(done)];
}
