// Choose a data set, drop a file, or open a session.

import { choice, field, h, number, refill } from "../dom.js";

export default {
  async show(root, studio) {
    const sets = await studio.act("start", "datasets");
    const asking = h("div", { "aria-live": "polite" });

    /** Go to a page once something is done, unless another was chosen meanwhile. */
    async function goAfter(work, id) {
      const here = location.hash;
      if ((await studio.attempt(work)) !== undefined && location.hash === here) studio.go(id);
    }

    function begin(body) {
      return goAfter(() => studio.act("start", "choose", body), { network: "ask", model: "why" }[body.kind] ?? "data");
    }

    async function take(file) {
      if (!file) return;
      if (file.name.endsWith(".studio")) {
        const content = await file.text();
        return goAfter(() => studio.act("session", "open", { content }), "network");
      }
      refill(asking, h("p", { class: "quiet" }, `Reading ${file.name} …`));
      const name = await studio.attempt(() => studio.upload(file));
      const wanted = studio.summary?.data;
      if (name && wanted?.lost && wanted.kind !== "file" && wanted.name === name) {
        refill(asking);
        return studio.refresh(); // the file that this session was missing: it goes on
      }
      const found = name && (await studio.attempt(() => studio.act("start", "columns", { upload: name })));
      if (!found) return refill(asking);
      if (found.kind !== "upload") return begin({ kind: found.kind, name });
      let target = found.target;
      refill(
        asking,
        h("div", { class: "panel row end" },
          field(`Which column of ${name} is the class?`, choice(found.columns, target, (value) => (target = value), { id: "target" })),
          h("button", { class: "main", id: "begin", onclick: () => begin({ kind: "upload", name, target }) }, "Begin"),
        ),
      );
    }

    const picker = h("input", { type: "file", id: "file", hidden: true, onchange: (event) => take(event.target.files[0]) });
    const drop = h(
      "div",
      {
        class: "drop",
        ondragover: (event) => (event.preventDefault(), drop.classList.add("over")),
        ondragleave: () => drop.classList.remove("over"),
        ondrop: (event) => (event.preventDefault(), drop.classList.remove("over"), take(event.dataTransfer.files[0])),
      },
      h("p", {}, "Drop a table here (CSV, TSV, Parquet, Arrow, ARFF), a model (.tanager), a network (BIF, XMLBIF, XDSL), or a session of the studio."),
      h("button", { class: "main", onclick: () => picker.click() }, "Choose a file …"),
      picker,
    );
    const search = h("input", { type: "search", placeholder: "Search data sets", "aria-label": "Search data sets", oninput: () => list() });
    const cards = h("div", { class: "cards" });

    function list() {
      const wanted = search.value.toLowerCase();
      const shown = sets.filter((set) => set.name.toLowerCase().includes(wanted));
      refill(
        cards,
        shown.map((set) =>
          h("button", { class: "card", onclick: () => begin({ kind: "dataset", name: set.name }) },
            h("strong", {}, set.name), h("br"),
            h("small", {}, `${number(set.rows)} rows, ${set.columns} columns, ${set.classes} classes`)),
        ),
      );
    }

    const lost = h("p", { class: "warn", role: "status" });
    const tell = () => {
      const missing = studio.summary?.data?.lost;
      refill(lost, missing ? `This session cannot go on: ${missing}${studio.summary.data.kind === "file" ? "" : " All steps are still there."}` : null);
    };
    refill(root, h("h1", {}, "What do you want to look at?"), lost, drop, asking, h("h2", {}, "Or a data set that is here already"), search, h("p"), cards);
    list();
    tell();
    return { changed: tell };
  },
};
