import { h } from "../dom.js";

export default {
  show(root) {
    root.append(h("h1", {}, "why"), h("p", { class: "quiet" }, "Not there yet."));
  },
};
