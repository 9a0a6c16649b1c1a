// NetworkView: a network as SVG that can be looked at, moved and edited, with the mouse and with the keyboard.

import { h, refill, s } from "./dom.js";
import { directRoute, edge, headLength, headPoints, layoutPath, pathBetween } from "./routes.js";

const LINE = 17; // px between lines of a label
const NEAR = 4; // px that a pointer may move in a click
const MARGIN = 24;
const BUTTONS = 32; // px on the right that the buttons take
const HELP =
  "Network. Arrow keys go from box to box, Enter selects, E goes through the arcs of a box, A begins an arc and Enter on another box ends it, " +
  "Delete removes the selected arc, R reverses it, Shift with arrow keys moves a box, + and - zoom, 0 shows all.";

/**
 * Options, all of them optional: label, editable, onadd(parent, child), onremove(parent, child), onreverse(parent, child),
 * onselect({kind: "node", name} | {kind: "arc", parent, child} | null), onmove(name, x, y), ontry(parent, child | null): an arc is
 * being dragged over a possible child, onrefuse(parent, child, path): it would close a cycle.
 */
export class NetworkView {
  constructor(options = {}) {
    this.options = options;
    this.mode = "arc"; // what dragging a box does where the view is editable: "arc" or "move"
    this.selected = null;
    this.picture = { nodes: [], arcs: [], width: 0, height: 0 };
    this.links = null; // the arcs that a new one could close a cycle with, where not all of them are drawn
    this.boxes = new Map();
    this.nodes = new Map(); // name -> {box, element}
    this.arcs = new Map(); // key -> {arc, element, drawn}
    this.focused = null;
    this.notes = new Map();
    this.zoom = { x: 0, y: 0, scale: 1 };
    this.touched = false; // whether the user has moved the picture: then it stays
    this.arcLayer = s("g", {});
    this.nodeLayer = s("g", {});
    this.rubber = s("path", { class: "rubber", hidden: "" });
    this.world = s("g", {}, this.arcLayer, this.rubber, this.nodeLayer);
    this.svg = s("svg", { class: "graph", role: "group", "aria-label": `${options.label ?? "Network"}. ${HELP}` }, this.world);
    const button = (text, label, act) => h("button", { "aria-label": label, title: label, onclick: act }, text);
    this.buttons = h(
      "div",
      { class: "zoom" },
      button("+", "Zoom in", () => this.zoomBy(1.25)),
      button("−", "Zoom out", () => this.zoomBy(0.8)),
      button("⤢", "Show all", () => this.fit()),
    );
    this.status = h("div", { class: "sr", role: "status" });
    this.element = h("div", { class: "network" }, this.svg, this.buttons, this.status);
    this.listen();
    new ResizeObserver(() => this.touched || this.fit()).observe(this.element);
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  /** Draw a picture of the server; extra: {name: px} makes boxes taller, for what annotate puts into them. */
  draw(picture, { extra = {} } = {}) {
    const first = this.picture.nodes.length === 0;
    this.picture = picture;
    const most = Math.max(0, ...Object.values(extra));
    const stretch = most ? 1 + most / 90 : 1;
    const before = this.boxes;
    this.boxes = new Map(
      picture.nodes.map((node) => {
        const more = Object.hasOwn(extra, node.name) ? extra[node.name] : 0; // a column may be called "constructor"
        return [node.name, { ...node, y: node.y * stretch, height: node.height + more, extra: more + (node.room ?? 0) }];
      }),
    );
    this.layoutHolds = !most;
    for (const [name, { element }] of this.nodes) {
      if (this.boxes.has(name)) continue;
      element.remove();
      this.nodes.delete(name);
    }
    for (const box of this.boxes.values()) this.drawNode(box, before.get(box.name));
    this.drawArcs();
    this.mark();
    if (first || !this.touched) this.fit();
  }

  drawNode(box, before) {
    const known = this.nodes.get(box.name);
    const same = known && before && ["x", "y", "width", "height", "shade", "faint", "kind"].every((key) => before[key] === box[key]) && before.lines.join("\n") === box.lines.join("\n");
    if (same) {
      known.box = box;
      return;
    }
    const label = `${box.name}${box.kind === "class" ? ", the class" : ""}${box.faint ? ", outside the Markov blanket of the class" : ""}`;
    const top = -box.height / 2;
    const text = box.lines.map((line, i) => s("text", { x: 0, y: top + (box.height - box.extra) / 2 + LINE * (i - (box.lines.length - 1) / 2) }, line));
    const element = s(
      "g",
      { class: `node ${box.kind}${box.faint ? " faint" : ""}`, transform: `translate(${box.x} ${box.y})`, tabindex: "0", role: "button", "aria-label": label, "data-name": box.name },
      s("title", {}, box.name),
      outline(box),
      text,
    );
    const note = this.notes.get(box.name);
    if (note) element.append(note);
    if (known) {
      const active = document.activeElement === known.element;
      known.element.replaceWith(element);
      if (active) element.focus({ preventScroll: true });
    } else this.nodeLayer.append(element);
    this.nodes.set(box.name, { box, element });
  }

  drawArcs() {
    const seen = new Set();
    for (const arc of this.picture.arcs) {
      if (!this.boxes.has(arc.parent) || !this.boxes.has(arc.child)) continue;
      const key = arcKey(arc);
      seen.add(key);
      const route = this.route(arc);
      const drawn = JSON.stringify([route.path, arc.width, arc.style, arc.head]);
      const known = this.arcs.get(key);
      if (known?.drawn === drawn) continue;
      const element = this.arcElement(arc, route);
      if (known) known.element.replaceWith(element);
      else this.arcLayer.append(element);
      this.arcs.set(key, { arc, element, drawn });
    }
    for (const [key, { element }] of this.arcs) {
      if (seen.has(key)) continue;
      element.remove();
      this.arcs.delete(key);
    }
  }

  arcElement(arc, route) {
    const size = lineWidth(arc);
    return s(
      "g",
      { class: `arc ${arc.style}`, "data-parent": arc.parent, "data-child": arc.child },
      s("title", {}, `${arc.parent} → ${arc.child}`),
      s("path", { class: "hit", d: route.path }),
      s("path", { class: "line", d: route.path, "stroke-width": size }),
      arc.head === false ? null : s("polygon", { class: "head", points: headPoints(route.tip, route.angle, size) }),
    );
  }

  route(arc) {
    const back = arc.head === false ? 0 : 0.7 * headLength(lineWidth(arc));
    const from = this.boxes.get(arc.parent);
    const to = this.boxes.get(arc.child);
    if (arc.points && this.layoutHolds && !from.moved && !to.moved) {
      const [before, tip] = arc.points.slice(-2);
      return { path: layoutPath(arc.points, back), tip, angle: Math.atan2(tip[1] - before[1] || 1e-9, tip[0] - before[0]) };
    }
    return directRoute(from, to, arc.style === "class" ? [] : [...this.boxes.values()], back);
  }

  /** Put SVG elements into boxes, by name; their origin is the middle of the room below the name. */
  annotate(notes) {
    for (const note of this.notes.values()) note.remove();
    this.notes = new Map();
    for (const [name, content] of notes) {
      const found = this.nodes.get(name);
      if (!found) continue;
      const note = s("g", { class: "note", transform: `translate(0 ${(found.box.height - found.box.extra) / 2})` }, content);
      this.notes.set(name, note);
      found.element.append(note);
    }
  }

  // --- what is selected, and what is shown strongly ------------------------------------------------------------------

  /** Select a box by name, an arc by {parent, child}, or nothing. Does not call onselect. */
  select(what) {
    if (typeof what === "string") this.selected = { kind: "node", name: what };
    else this.selected = what ? { kind: "arc", parent: what.parent, child: what.child } : null;
    this.mark();
  }

  /** Let all boxes but these fade; null shows all. */
  focus(names) {
    this.focused = names ? new Set(names) : null;
    this.mark();
  }

  /** Show a path of names as refused, for a while. */
  refuse(path) {
    for (let i = 1; i < path.length; i++) this.arcs.get(arcKey({ parent: path[i - 1], child: path[i] }))?.element.classList.add("refused");
    for (const name of path) this.nodes.get(name)?.element.classList.add("refused");
    clearTimeout(this.calming);
    this.calming = setTimeout(() => this.calm(), 5000);
  }

  calm() {
    for (const element of this.svg.querySelectorAll(".refused")) element.classList.remove("refused");
  }

  mark() {
    const { selected, focused } = this;
    for (const [name, { element }] of this.nodes) {
      const own = selected?.kind === "node" && selected.name === name;
      element.classList.toggle("selected", own);
      element.setAttribute("aria-pressed", String(own));
      element.classList.toggle("faded", focused !== null && !focused.has(name));
    }
    for (const { arc, element } of this.arcs.values()) {
      const own = selected?.kind === "arc" && selected.parent === arc.parent && selected.child === arc.child;
      const touching = selected?.kind === "node" && (selected.name === arc.parent || selected.name === arc.child);
      element.classList.toggle("selected", own);
      element.classList.toggle("touching", touching);
      element.classList.toggle("faded", focused !== null && !(focused.has(arc.parent) && focused.has(arc.child)));
      if (own) this.arcLayer.append(element); // on top of all others
    }
  }

  choose(what) {
    this.selected = what;
    refill(this.status, what === null ? "nothing selected" : what.kind === "node" ? `${what.name} selected` : `arc from ${what.parent} to ${what.child} selected`);
    this.mark();
    this.options.onselect?.(what);
  }

  // --- zoom and pan --------------------------------------------------------------------------------------------------

  /** Show all of it, or all that focus has left. */
  fit() {
    const wide = this.svg.clientWidth - BUTTONS;
    const high = this.svg.clientHeight;
    const boxes = [...this.boxes.values()].filter((box) => !this.focused || this.focused.has(box.name));
    if (!boxes.length || wide <= 0 || !high) return;
    const left = Math.min(...boxes.map((box) => box.x - box.width / 2)) - MARGIN;
    const right = Math.max(...boxes.map((box) => box.x + box.width / 2)) + MARGIN;
    const above = Math.min(...boxes.map((box) => box.y - box.height / 2)) - MARGIN;
    const below = Math.max(...boxes.map((box) => box.y + box.height / 2)) + MARGIN;
    const scale = Math.min(wide / (right - left), high / (below - above), 1.5);
    this.zoom = { scale, x: (wide - scale * (left + right)) / 2, y: (high - scale * (above + below)) / 2 };
    this.touched = false;
    this.turn();
  }

  /** Bring a box into the middle, large enough to read. */
  show(name) {
    const box = this.boxes.get(name);
    if (!box) return;
    const scale = Math.max(this.zoom.scale, 0.9);
    this.zoom = { scale, x: this.svg.clientWidth / 2 - scale * box.x, y: this.svg.clientHeight / 2 - scale * box.y };
    this.touched = true;
    this.turn();
  }

  zoomBy(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const scale = Math.min(Math.max(this.zoom.scale * factor, 0.05), 4);
    const own = scale / this.zoom.scale;
    this.zoom = { scale, x: x - own * (x - this.zoom.x), y: y - own * (y - this.zoom.y) };
    this.touched = true;
    this.turn();
  }

  turn() {
    const { x, y, scale } = this.zoom;
    this.world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.svg.classList.toggle("far", scale < 0.45);
  }

  /** A point of the screen as one of the picture. */
  inside(event) {
    const frame = this.svg.getBoundingClientRect();
    return [(event.clientX - frame.left - this.zoom.x) / this.zoom.scale, (event.clientY - frame.top - this.zoom.y) / this.zoom.scale];
  }

  // --- the mouse -----------------------------------------------------------------------------------------------------

  listen() {
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const frame = this.svg.getBoundingClientRect();
      this.zoomBy(Math.exp(-event.deltaY / 500), event.clientX - frame.left, event.clientY - frame.top);
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.down(event));
    this.svg.addEventListener("pointermove", (event) => this.drag?.move(event));
    this.svg.addEventListener("pointerup", (event) => this.endDrag(event));
    this.svg.addEventListener("pointercancel", () => this.endDrag(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("focusin", (event) => {
      const name = event.target.closest(".node")?.dataset.name;
      if (name && this.from) this.try(name);
    });
  }

  down(event) {
    if (event.button !== 0) return;
    this.calm();
    const node = event.target.closest(".node");
    const arc = event.target.closest(".arc");
    const start = [event.clientX, event.clientY];
    this.svg.setPointerCapture(event.pointerId);
    const moved = (now) => Math.hypot(now.clientX - start[0], now.clientY - start[1]) > NEAR;
    if (node) {
      const draws = this.options.editable && this.mode === "arc" && !event.shiftKey;
      this.drag = draws ? this.arcDrag(node, moved) : this.moveDrag(node, event, moved);
    } else this.drag = this.panDrag(arc, event, moved);
  }

  endDrag(event) {
    const { drag } = this;
    this.drag = null;
    drag?.end(event);
  }

  panDrag(arc, event, moved) {
    const { x, y } = this.zoom;
    let panned = false;
    return {
      move: (now) => {
        panned ||= moved(now);
        if (!panned) return;
        this.zoom = { ...this.zoom, x: x + now.clientX - event.clientX, y: y + now.clientY - event.clientY };
        this.touched = true;
        this.turn();
      },
      end: () => {
        if (panned) return;
        this.choose(arc ? { kind: "arc", parent: arc.dataset.parent, child: arc.dataset.child } : null);
        if (arc) (this.nodes.get(arc.dataset.child)?.element).focus({ preventScroll: true });
      },
    };
  }

  moveDrag(node, event, moved) {
    const { name } = node.dataset;
    const { box } = this.nodes.get(name);
    const [x, y] = this.inside(event);
    const [dx, dy] = [box.x - x, box.y - y];
    let going = false;
    return {
      move: (now) => {
        going ||= moved(now);
        if (!going) return;
        const [nowX, nowY] = this.inside(now);
        this.place(name, nowX + dx, nowY + dy);
      },
      end: () => {
        if (going) this.options.onmove?.(name, this.boxes.get(name).x, this.boxes.get(name).y);
        else this.choose({ kind: "node", name });
      },
    };
  }

  place(name, x, y) {
    const box = this.boxes.get(name);
    box.x = Math.round(x);
    box.y = Math.round(y);
    box.moved = true;
    this.touched = true;
    this.nodes.get(name).element.setAttribute("transform", `translate(${box.x} ${box.y})`);
    this.drawArcs();
  }

  arcDrag(node, moved) {
    const { name } = node.dataset;
    let going = false;
    return {
      move: (now) => {
        going ||= moved(now);
        if (!going) return;
        if (!this.from) this.begin(name);
        const over = document.elementFromPoint(now.clientX, now.clientY)?.closest?.(".node");
        const child = over && this.svg.contains(over) && over.dataset.name !== name ? over.dataset.name : null;
        this.stretch(child ?? this.inside(now));
        this.try(child);
      },
      end: (now) => {
        const child = this.tried;
        if (!going) {
          this.choose({ kind: "node", name });
          node.focus({ preventScroll: true });
        } else if (now && child) this.finish(child);
        this.stop();
      },
    };
  }

  // --- an arc that is being drawn, with the mouse or by keys ---------------------------------------------------------

  begin(name) {
    this.from = name;
    this.tried = null;
    this.svg.classList.add("drawing");
    this.nodes.get(name).element.classList.add("source");
  }

  try(child) {
    if (child === this.tried || child === this.from) return;
    this.nodes.get(this.tried)?.element.classList.remove("aim");
    this.calm();
    this.tried = child;
    if (child) {
      this.stretch(child);
      this.nodes.get(child).element.classList.add("aim");
      const path = pathBetween(this.allLinks(), child, this.from);
      if (path) this.refuse(path);
    }
    this.options.ontry?.(this.from, child);
  }

  allLinks() {
    return this.links ?? this.picture.arcs.filter((arc) => !arc.rule);
  }

  /** The line that follows the pointer, or leads to a box. */
  stretch(to) {
    const from = this.boxes.get(this.from);
    const box = typeof to === "string" ? this.boxes.get(to) : null;
    const end = box ? edge(box, [from.x, from.y]) : to;
    const start = edge(from, end);
    this.rubber.setAttribute("d", `M${start[0]} ${start[1]}L${end[0]} ${end[1]}`);
    this.rubber.removeAttribute("hidden");
  }

  finish(child) {
    const parent = this.from;
    if (!parent || child === parent) return;
    const path = pathBetween(this.allLinks(), child, parent);
    if (path) {
      this.options.onrefuse?.(parent, child, path);
      this.refuse(path);
    } else this.options.onadd?.(parent, child);
  }

  stop() {
    if (!this.from) return;
    this.nodes.get(this.from)?.element.classList.remove("source");
    this.nodes.get(this.tried)?.element.classList.remove("aim");
    this.svg.classList.remove("drawing");
    this.rubber.setAttribute("hidden", "");
    const had = this.from;
    this.from = this.tried = null;
    this.options.ontry?.(had, null);
  }

  // --- keys ----------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = event.target.closest(".node")?.dataset.name ?? null;
    const { key } = event;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (key in arrows && name) {
      if (event.shiftKey) this.step(name, arrows[key]);
      else this.neighbour(name, arrows[key])?.focus({ preventScroll: true });
    } else if ((key === "Enter" || key === " ") && name) {
      if (this.from) {
        if (name !== this.from) this.finish(name);
        this.stop();
      } else this.choose({ kind: "node", name });
    } else if (key === "Escape") {
      if (this.from) this.stop();
      else this.choose(null);
    } else if (key === "+" || key === "=") this.zoomBy(1.25);
    else if (key === "-") this.zoomBy(0.8);
    else if (key === "0") this.fit();
    else if (key.toLowerCase() === "e" && name) this.nextArc(name);
    else if (!this.options.editable) return;
    else if (key.toLowerCase() === "a" && name) this.begin(name);
    else if ((key === "Delete" || key === "Backspace") && this.selected?.kind === "arc") this.options.onremove?.(this.selected.parent, this.selected.child);
    else if (key.toLowerCase() === "r" && this.selected?.kind === "arc") this.reverse(this.selected);
    else return;
    event.preventDefault();
  }

  /** Reverse an arc, unless that would close a cycle. */
  reverse({ parent, child }) {
    const path = pathBetween(this.allLinks().filter((arc) => arc.parent !== parent || arc.child !== child), parent, child);
    if (path) {
      this.options.onrefuse?.(child, parent, path);
      this.refuse(path);
    } else this.options.onreverse?.(parent, child);
  }

  step(name, [dx, dy]) {
    const box = this.boxes.get(name);
    this.place(name, box.x + 10 * dx, box.y + 10 * dy);
    clearTimeout(this.stepping);
    this.stepping = setTimeout(() => this.options.onmove?.(name, box.x, box.y), 300);
  }

  /** The nearest box in a direction. */
  neighbour(name, [dx, dy]) {
    const own = this.boxes.get(name);
    let best = null;
    for (const box of this.boxes.values()) {
      const along = (box.x - own.x) * dx + (box.y - own.y) * dy;
      const across = Math.abs((box.x - own.x) * dy) + Math.abs((box.y - own.y) * dx);
      if (box === own || along <= 0) continue;
      const cost = along + 2 * across;
      if (!best || cost < best.cost) best = { cost, box };
    }
    return best && this.nodes.get(best.box.name).element;
  }

  nextArc(name) {
    const own = this.picture.arcs.filter((arc) => arc.parent === name || arc.child === name);
    if (!own.length) return;
    const at = own.findIndex((arc) => this.selected?.kind === "arc" && arc.parent === this.selected.parent && arc.child === this.selected.child);
    const { parent, child } = own[(at + 1) % own.length];
    this.choose({ kind: "arc", parent, child });
  }
}

function lineWidth(arc) {
  return arc.style === "class" ? 1.1 : arc.width;
}

function arcKey({ parent, child }) {
  return JSON.stringify([parent, child]);
}

/** What the shades and widths of a picture mean. */
export function legend(element) {
  return refill(
    element,
    h("span", { class: "swatch dark" }), "tells much about the class",
    h("span", { class: "swatch" }), "little",
    h("span", { class: "swatch faint" }), "nothing more, given the others",
    h("span", { class: "stroke" }), "strong dependence",
    h("span", { class: "stroke thin" }), "weak (no head: either way)",
    h("span", { class: "stroke pale" }), "arc of the class",
  );
}

/** The shape of a node: an oval for chance, a sharp box for a decision, a diamond for a utility, else a box. */
function outline({ kind, width, height, shade }) {
  const [x, y] = [width / 2, height / 2];
  const css = { "--shade-part": `${Math.round(100 * shade)}%` };
  if (kind === "chance") return s("ellipse", { class: "outline", rx: x, ry: y, css });
  if (kind === "utility") return s("polygon", { class: "outline", points: `0,${-y} ${x},0 0,${y} ${-x},0`, css });
  return s("rect", { class: "outline", x: -x, y: -y, width, height, rx: kind === "decision" ? 0 : 7, css });
}
