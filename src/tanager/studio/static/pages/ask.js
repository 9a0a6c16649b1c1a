import { h } from "../dom.js";

export default {
  show(root) {
    root.append(h("h1", {}, "ask"), h("p", { class: "quiet" }, "Not there yet."));
  },
};
