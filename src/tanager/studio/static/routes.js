// How arcs run between boxes: as the layout says, or from edge to edge, around boxes that are in the way.

/** How long the head of an arc is; its line ends inside it. */
export function headLength(width) {
  return 7 + 1.6 * width;
}

/** A path through points in pairs: straight within a pair, then a curve to the next; its end is drawn back by so much. */
export function layoutPath(points, back = 0) {
  const [before, tip] = points.slice(-2);
  const long = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
  const part = Math.min(back / long, 1);
  points = [...points.slice(0, -1), [tip[0] - part * (tip[0] - before[0]), tip[1] - part * (tip[1] - before[1])]];
  let path = `M${at(points[0])}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1];
    const [x1, y1] = points[i];
    const middle = (y0 + y1) / 2;
    if (i % 2 === 1) path += `L${at(points[i])}`;
    else path += `C${at([x0, middle])} ${at([x1, middle])} ${at([x1, y1])}`;
  }
  return path;
}

function at([x, y]) {
  return `${Math.round(10 * x) / 10} ${Math.round(10 * y) / 10}`;
}

/** From box to box, each {x, y, width, height}: {path, tip: [x, y], angle}. A curve that meets few other boxes. */
export function directRoute(from, to, others, back = 0) {
  let best = null;
  for (const bow of [0, 0.18, -0.18, 0.36, -0.36, 0.6, -0.6]) {
    const curve = bowed(from, to, bow, back);
    const cost = meets(curve, from, to, others) + Math.abs(bow);
    if (best === null || cost < best.cost) best = { curve, cost };
    if (cost <= Math.abs(bow)) break; // nothing is in the way
  }
  return best.curve;
}

function bowed(from, to, bow, back) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const control = [(from.x + to.x) / 2 - bow * dy, (from.y + to.y) / 2 + bow * dx];
  const start = edge(from, control);
  const tip = edge(to, control);
  const angle = Math.atan2(tip[1] - control[1], tip[0] - control[0]);
  const end = [tip[0] - back * Math.cos(angle), tip[1] - back * Math.sin(angle)];
  return { start, control, tip, path: `M${at(start)}Q${at(control)} ${at(end)}`, angle };
}

/** Where the line from the middle of a box to a point leaves the box. */
export function edge(box, [x, y]) {
  const dx = x - box.x;
  const dy = y - box.y;
  if (dx === 0 && dy === 0) return [box.x, box.y + box.height / 2];
  const scale = Math.min(box.width / 2 / Math.abs(dx || 1e-9), box.height / 2 / Math.abs(dy || 1e-9));
  return [box.x + dx * scale, box.y + dy * scale];
}

/** How many boxes a curve meets, looked at in ten places. */
function meets({ start, control, tip }, from, to, others) {
  let found = 0;
  for (const box of others) {
    if (box === from || box === to) continue;
    const left = box.x - box.width / 2;
    const right = box.x + box.width / 2;
    const above = box.y - box.height / 2;
    const below = box.y + box.height / 2;
    if (Math.max(start[0], control[0], tip[0]) < left || Math.min(start[0], control[0], tip[0]) > right) continue;
    if (Math.max(start[1], control[1], tip[1]) < above || Math.min(start[1], control[1], tip[1]) > below) continue;
    for (let i = 1; i < 10; i++) {
      const t = i / 10;
      const x = (1 - t) ** 2 * start[0] + 2 * t * (1 - t) * control[0] + t * t * tip[0];
      const y = (1 - t) ** 2 * start[1] + 2 * t * (1 - t) * control[1] + t * t * tip[1];
      if (x > left && x < right && y > above && y < below) {
        found++;
        break;
      }
    }
  }
  return found;
}

/** The head of an arrow that points along an angle, as points of a polygon. */
export function headPoints([x, y], angle, width) {
  const long = headLength(width);
  const half = 3.2 + 0.8 * width;
  const corner = (across) => [x - long * Math.cos(angle) - across * Math.sin(angle), y - long * Math.sin(angle) + across * Math.cos(angle)];
  return [[x, y], corner(half), corner(-half)].map((point) => at(point).replace(" ", ",")).join(" ");
}

/** A directed path from one name to another along arcs, both ends included; null where there is none. */
export function pathBetween(arcs, from, to) {
  const children = new Map();
  for (const { parent, child } of arcs) children.set(parent, [...(children.get(parent) ?? []), child]);
  const came = new Map([[from, null]]);
  const queue = [from];
  while (queue.length) {
    const here = queue.shift();
    if (here === to) {
      const way = [];
      for (let name = to; name !== null; name = came.get(name)) way.unshift(name);
      return way;
    }
    for (const next of children.get(here) ?? []) {
      if (came.has(next)) continue;
      came.set(next, here);
      queue.push(next);
    }
  }
  return null;
}
