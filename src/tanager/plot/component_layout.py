"""The layout of one connected component: layers of boxes, and of the bends of arcs that pass a layer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from tanager.networks.graph import topological, turned
from tanager.plot.coordinates import straight
from tanager.plot.crossings import few_crossings

Point = tuple[float, float]
Pair = tuple[int, int]  # the upper and the lower node

GAP, BEND = 0.24, 0.12  # between neighbours in a row; room for an arc that passes
DROP, MOST_DROP = 0.42, 1.2  # between rows
STUB = 0.13  # the last stretch of an arc, straight into its box
STEP = 0.2  # between arcs that enter or leave a box
MAX_SPREAD = 1.35  # times as wide as needed
STRETCHES = (0.7, 1.0, 1.4, 2.0, 2.8, math.inf)  # lengths of layers to try, relative to those of the wanted shape


def best_drawing(boxes: Sequence[Point], arcs: Sequence[Pair], top: int | None, shape: float) -> Drawing:
    """Try shorter and longer layers, and keep the drawing that is easiest to read."""
    length = math.sqrt(shape * sum((width + GAP) * (height + DROP) for width, height in boxes))
    widths = [width for width, _ in boxes]
    rows = dict.fromkeys(tuple(rows_of(widths, arcs, length * stretch, top)) for stretch in STRETCHES)
    best = min((Drawing(boxes, arcs, row) for row in rows), key=lambda drawing: drawing.badness(shape))
    best.spread(0.6 * shape * best.height / best.width)
    return best


def rows_of(widths: Sequence[float], arcs: Sequence[Pair], room: float, top: int | None = None) -> list[int]:
    """The layer of every box: below its parents, arcs short, layers not longer than ``room``, ``top`` alone on top.

    >>> rows_of([1.0, 1.0, 1.0], [(0, 1), (0, 2)], room=9.0), rows_of([1.0, 1.0, 1.0], [(0, 1), (0, 2)], room=1.5)
    ([0, 1, 1], [0, 1, 2])
    """
    above = _above(len(widths), arcs)
    below = turned(above)
    row = _first_rows(widths, above, below, room, top)
    used = [sum(widths[i] + GAP for i, at in enumerate(row) if at == r) for r in range(max(row) + 1)]
    free = [i for i in range(len(widths)) if i != top]
    for _ in range(20):  # every move shortens the arcs, so this ends; the bound limits the work
        before = list(row)
        for i in free:  # move it to where its arcs are shortest
            low = max((row[j] + 1 for j in above[i]), default=0 if top is None else 1)
            high = min((row[j] - 1 for j in below[i]), default=len(used) - 1)
            open_rows = [r for r in range(low, high + 1) if r == row[i] or used[r] + widths[i] <= room]
            ends = [row[j] for j in (*above[i], *below[i])]
            used[row[i]] -= widths[i] + GAP
            row[i] = min(open_rows, key=lambda r: (sum(abs(r - end) for end in ends), r != row[i]))
            used[row[i]] += widths[i] + GAP
        if row == before:
            break
    filled = sorted(set(row))
    return [filled.index(r) for r in row]


def _first_rows(
    widths: Sequence[float],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    room: float,
    top: int | None,
) -> list[int]:
    """Longest-path layering: boxes as high as possible; those with the longest path below first, as layers fill up."""
    order = topological(above)
    assert order is not None
    depth = [0] * len(widths)
    for i in reversed(order):
        depth[i] = max((depth[j] + 1 for j in below[i]), default=0)
    row = [-1] * len(widths)
    used: dict[int, float] = {}
    if top is not None:
        row[top] = 0
    waiting = sorted(
        (i for i in order if i != top), key=lambda i: -depth[i]
    )  # a parent has a longer path below it than its children, and so comes before them
    for i in waiting:
        at = max((row[j] + 1 for j in above[i]), default=0 if top is None else 1)
        while used.get(at, 0.0) > 0 and used[at] + widths[i] > room:
            at += 1
        row[i] = at
        used[at] = used.get(at, 0.0) + widths[i] + GAP
    return row


def _above(n: int, arcs: Iterable[Pair]) -> list[list[int]]:
    above: list[list[int]] = [[] for _ in range(n)]
    for a, b in arcs:
        above[b].append(a)
    return above


class Drawing:
    """Boxes and bends in their layers, with order and coordinates. Bends are numbered after the boxes."""

    def __init__(self, boxes: Sequence[Point], arcs: Sequence[Pair], row_of: Sequence[int]) -> None:
        self.boxes = boxes
        self.row_of = list(row_of)
        self.chains = {arc: self._chain(*arc) for arc in arcs}
        rows = [[i for i, at in enumerate(self.row_of) if at == r] for r in range(max(row_of) + 1)]
        self.steps = [step for chain in self.chains.values() for step in itertools.pairwise(chain)]
        above = _above(len(self.row_of), self.steps)
        self.rows, self.n_crossings = few_crossings(rows, above, turned(above))
        self.widths = [*(width for width, _ in boxes), *[BEND] * (len(self.row_of) - len(boxes))]
        self.x = straight(self.rows, self.widths, above, turned(above), n_boxes=len(boxes), gap=GAP)
        self.spread(1.0)
        self.band = [max((boxes[i][1] for i in row if i < len(boxes)), default=0.0) for row in self.rows]
        self.y = self._heights()
        self.height = self.y[0] + self.band[0] / 2

    def spread(self, factor: float) -> None:
        """Widen the gaps of a drawing that is too narrow, and shift it to begin at 0."""
        x = [at * min(max(factor, 1.0), MAX_SPREAD) for at in self.x]
        left = min(at - width / 2 for at, width in zip(x, self.widths, strict=True))
        self.x = [at - left for at in x]
        self.width = max(at + width / 2 for at, width in zip(self.x, self.widths, strict=True))

    def _chain(self, parent: int, child: int) -> list[int]:
        """The parent, a bend in every layer between, and the child."""
        passed = range(self.row_of[parent] + 1, self.row_of[child])
        first = len(self.row_of)
        self.row_of += passed
        return [parent, *range(first, len(self.row_of)), child]

    def _heights(self) -> list[float]:
        """The centre of every layer; where many arcs go far sideways, the next layer is further down."""
        y, at = [0.0] * len(self.rows), 0.0
        for r in range(len(self.rows) - 1, -1, -1):
            y[r] = at + self.band[r] / 2
            shifts = [abs(self.x[a] - self.x[b]) for a, b in self.steps if self.row_of[b] == r]
            at += self.band[r] + min(DROP + 0.05 * max(shifts, default=0.0) + 0.008 * len(shifts), MOST_DROP)
        return y

    def badness(self, shape: float) -> float:
        """How hard it is to read: crossings, long arcs, and a shape that does not fit a page."""
        sideways = sum(abs(self.x[a] - self.x[b]) for a, b in self.steps)
        per_box = (self.n_crossings + 0.35 * sideways + 0.25 * len(self.steps)) / len(self.boxes)
        off = math.log(self.width / self.height / shape) if len(self.boxes) > 3 else 0.0
        return per_box + 1.2 * off**2

    def place(self, i: int) -> Point:
        """The centre of a box."""
        return self.x[i], self.y[self.row_of[i]]

    def routes(self) -> dict[Pair, list[Point]]:
        """The points of every arc; see ``Layout``."""
        leaves, enters = self._ports(0), self._ports(1)
        found = {}
        for (a, b), chain in self.chains.items():
            out, into = leaves[a, b], enters[a, b]
            points = [(out, self.place(a)[1] - self.boxes[a][1] / 2), (out, self._edge(a, -1))]
            for bend in chain[1:-1]:
                points += [(self.x[bend], self._edge(bend, 1)), (self.x[bend], self._edge(bend, -1))]
            points += [(into, self._edge(b, 1) + STUB), (into, self.place(b)[1] + self.boxes[b][1] / 2)]
            found[a, b] = points
        return found

    def _edge(self, i: int, side: int) -> float:
        """The upper (1) or lower (-1) edge of the layer of a node."""
        return self.y[self.row_of[i]] + side * self.band[self.row_of[i]] / 2

    def _ports(self, end: int) -> Mapping[Pair, float]:
        """Where arcs leave (0) or enter (1) boxes: side by side, sorted by their other end, so as not to cross."""
        ports: dict[Pair, float] = {}
        for i, (width, _) in enumerate(self.boxes):
            own = [arc for arc in self.chains if arc[end] == i]
            own.sort(key=lambda arc: self.x[self.chains[arc][1 if end == 0 else -2]])
            step = min(STEP, 0.75 * width / max(len(own), 1))
            ports |= {arc: self.x[i] + step * (at - (len(own) - 1) / 2) for at, arc in enumerate(own)}
        return ports
