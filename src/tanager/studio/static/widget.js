// The network view in a notebook: the same as on the page, with a model of anywidget behind it.

import { h, refill } from "./dom.js";
import { NetworkView } from "./graph.js";

function isDark() {
  const light = document.body.dataset.jpThemeLight; // JupyterLab says which theme it has
  return light !== undefined ? light === "false" : document.body.classList.contains("vscode-dark") || matchMedia("(prefers-color-scheme: dark)").matches;
}

export default {
  render({ model, el }) {
    const say = (text) => refill(words, text);
    const edit = (what) => (parent, child) => model.send({ what, parent, child });
    const words = h("p", { class: "says", "aria-live": "polite" });
    const view = new NetworkView({
      label: "Network",
      editable: model.get("editable"),
      onadd: edit("add"),
      onremove: edit("remove"),
      onreverse: edit("reverse"),
      onmove: (name, x, y) => model.send({ what: "move", name, x, y }),
      onrefuse: (parent, child, path) => say(`${parent} → ${child} would close a cycle: ${[parent, ...path].join(" → ")}.`),
      onselect(what) {
        model.set("selected", what);
        model.save_changes();
      },
    });
    const mode = h("button", { "aria-pressed": "false", onclick: turn }, "Move boxes");

    function turn() {
      view.mode = view.mode === "move" ? "arc" : "move";
      mode.setAttribute("aria-pressed", String(view.mode === "move"));
      mode.textContent = view.mode === "move" ? "Draw arcs" : "Move boxes";
    }

    function draw() {
      view.draw(model.get("picture"));
    }

    function select() {
      const what = model.get("selected");
      view.select(what?.kind === "arc" ? what : what?.name ?? null);
    }

    const root = h("div", { class: "tanager-widget", "data-theme": isDark() ? "dark" : "light" }, view.element, h("div", { class: "below" }, model.get("editable") ? mode : null, words));
    view.element.style.height = `${model.get("height")}px`;
    el.append(root);
    const heard = [["change:picture", draw], ["change:selected", select], ["change:said", () => say(model.get("said"))]];
    for (const [name, f] of heard) model.on(name, f);
    draw();
    say(model.get("said"));
    return () => heard.forEach(([name, f]) => model.off(name, f));
  },
};
