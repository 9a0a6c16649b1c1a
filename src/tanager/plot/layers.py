"""Where the boxes of a picture stand: arcs point down, cross seldom and run straight; rows are not too long.

Works in steps, after Sugiyama, Tagawa and Toda (1981): every box gets a row, long arcs get a bend in each row that they
pass, rows are put in order, and then boxes and bends move sideways. Pieces that no arc joins are drawn on their own and
packed. Lengths are in inches, and y grows upwards.
"""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Arc = tuple[str, str]
Point = tuple[float, float]

SHAPE = 1.6  # width to height of a picture that fills a screen
GAP, BEND = 0.24, 0.12  # between neighbours in a row; room for an arc that passes
DROP, MOST_DROP = 0.42, 1.2  # between rows
STUB = 0.13  # the last bit of an arc, straight into its box


@dataclass(frozen=True)
class Layout:
    """The middle of every box, and the points that every arc passes, from the edge of its parent to that of its child.

    The points of an arc come in pairs: it runs straight from each odd one to the next and swings in between.
    """

    places: dict[str, Point]
    routes: dict[Arc, list[Point]]
    width: float
    height: float


def layered(sizes: Mapping[str, Point], arcs: Sequence[Arc], top: str | None = None, *, shape: float = SHAPE) -> Layout:
    """Place boxes of these sizes (width, height).

    Arcs point down as far as possible: one that would close a cycle with those before it points up, and so do those
    that lead to ``top``, which stands above all others.
    """
    down = _downward(sizes, arcs, top)
    pieces = [_best_drawing(piece, sizes, down, top, shape) for piece in _connected(sizes, down) if len(piece) > 1]
    joined = {name for arc in arcs for name in arc}
    alone = [name for name in sizes if name not in joined]
    if top in alone:
        alone.remove(top)
        pieces.append(_box(top, sizes[top], sizes[top][0]))
    pieces.sort(key=lambda piece: (top not in piece.places, -piece.height))
    layout = _packed(pieces, alone, sizes, shape)
    turned = {arc: layout.routes[arc] if arc in down else layout.routes[arc[::-1]][::-1] for arc in arcs}
    return Layout(layout.places, turned, layout.width, layout.height)


def _downward(names: Iterable[str], arcs: Iterable[Arc], top: str | None) -> list[Arc]:
    """The arcs without their direction where that leads up, each once."""
    below: dict[str, list[str]] = {name: [] for name in names}
    found: dict[Arc, None] = {}
    for parent, child in arcs:
        if child == top or (parent != top and parent in _reached(child, below)):
            parent, child = child, parent
        if (parent, child) not in found:
            found[parent, child] = None
            below[parent].append(child)
    return list(found)


def _reached(start: str, below: Mapping[str, Sequence[str]]) -> set[str]:
    seen, queue = {start}, [start]
    while queue:
        for name in below[queue.pop()]:
            if name not in seen:
                seen.add(name)
                queue.append(name)
    return seen


def _connected(names: Iterable[str], arcs: Iterable[Arc]) -> list[list[str]]:
    """The pieces that arcs hold together, each in the order of the names."""
    beside: dict[str, list[str]] = {name: [] for name in names}
    for a, b in arcs:
        beside[a].append(b)
        beside[b].append(a)
    pieces: list[list[str]] = []
    seen: set[str] = set()
    for name in beside:
        if name not in seen:
            piece = _reached(name, beside)
            seen |= piece
            pieces.append([other for other in beside if other in piece])
    return pieces


def _packed(pieces: Sequence[Layout], alone: Sequence[str], sizes: Mapping[str, Point], shape: float) -> Layout:
    """Pieces side by side, in lines where they are many; below them the boxes without an arc, as a grid."""
    cell = max((sizes[name][0] for name in alone), default=0.0)
    area = sum((piece.width + GAP) * (piece.height + GAP) for piece in pieces)
    area += sum((cell + GAP) * (sizes[name][1] + GAP) for name in alone)
    room = max([math.sqrt(area * shape), *(piece.width for piece in pieces)], default=0.0)
    lines: list[list[Layout]] = []
    used = math.inf
    for piece in pieces:
        if used + piece.width > room:
            lines.append([])
            used = 0.0
        lines[-1].append(piece)
        used += piece.width + 2 * GAP
    if alone:
        across = max(int((room + GAP) / (cell + GAP)), 1)
        across = math.ceil(len(alone) / math.ceil(len(alone) / across))
        lines += [
            [_box(name, sizes[name], cell) for name in alone[at : at + across]] for at in range(0, len(alone), across)
        ]
    return _stacked(lines)


def _box(name: str, size: Point, width: float) -> Layout:
    """A box on its own in a place so wide."""
    return Layout({name: (width / 2, size[1] / 2)}, {}, width, size[1])


def _stacked(lines: Sequence[Sequence[Layout]]) -> Layout:
    """Lines of blocks below each other, the middles of the blocks of a line level."""
    room = max((sum(block.width + GAP for block in line) - GAP for line in lines), default=0.0)
    tall = [max(block.height for block in line) for line in lines]
    places: dict[str, Point] = {}
    routes: dict[Arc, list[Point]] = {}
    y = height = sum(tall) + GAP * max(len(lines) - 1, 0)
    for line, high in zip(lines, tall, strict=True):
        x = (room - sum(block.width + GAP for block in line) + GAP) / 2
        for block in line:
            low = y - (high + block.height) / 2
            places |= {name: (x + a, low + b) for name, (a, b) in block.places.items()}
            routes |= {arc: [(x + a, low + b) for a, b in points] for arc, points in block.routes.items()}
            x += block.width + GAP
        y -= high + GAP
    return Layout(places, routes, room, height)


# --- one piece --------------------------------------------------------------------------------------------------


def _best_drawing(
    piece: Sequence[str], sizes: Mapping[str, Point], arcs: Sequence[Arc], top: str | None, shape: float
) -> Layout:
    """Draw a piece with longer and shorter rows, and keep the drawing that reads best."""
    place = {name: i for i, name in enumerate(piece)}
    own = [(place[a], place[b]) for a, b in arcs if a in place]
    boxes = [sizes[name] for name in piece]
    first = place.get(top) if top is not None else None
    tried: dict[tuple[int, ...], _Drawing] = {}
    area = sum((w + GAP) * (h + DROP) for w, h in boxes)
    for stretch in (0.7, 1.0, 1.4, 2.0, 2.8, math.inf):
        rows = _rows([w for w, _ in boxes], own, math.sqrt(area * shape) * stretch, first)
        if tuple(rows) not in tried:
            tried[tuple(rows)] = _Drawing(boxes, own, rows, shape)
    best = min(tried.values(), key=lambda drawing: drawing.badness)
    return best.layout(piece)


def _rows(widths: Sequence[float], arcs: Sequence[tuple[int, int]], room: float, first: int | None) -> list[int]:
    """A row for every box: below its parents, near its children, and rows not longer than the room."""
    above, below = _lists(len(widths), arcs)
    depth = [0] * len(widths)
    for i in reversed(_sorted_down(above, below)):
        depth[i] = max((depth[j] + 1 for j in below[i]), default=0)
    row = [-1] * len(widths)
    used: dict[int, float] = {}

    def put(i: int, at: int) -> None:
        if row[i] >= 0:
            used[row[i]] -= widths[i] + GAP
        row[i] = at
        used[at] = used.get(at, 0.0) + widths[i] + GAP

    upper = 0 if first is None else 1  # the row of those without parents
    if first is not None:
        put(first, 0)
    waiting = sorted((i for i in range(len(widths)) if i != first), key=lambda i: (-depth[i], i))
    while waiting:
        i = next(i for i in waiting if all(row[j] >= 0 for j in above[i]))
        waiting.remove(i)
        at = max((row[j] + 1 for j in above[i]), default=upper)
        while used.get(at, 0.0) > 0 and used[at] + widths[i] > room:
            at += 1
        put(i, at)
    for _ in range(20):  # boxes move to where their arcs are shortest
        moved = False
        for i in (i for i in range(len(widths)) if i != first):
            low = max((row[j] + 1 for j in above[i]), default=upper)
            high = min((row[j] - 1 for j in below[i]), default=max(row))
            free = [r for r in range(low, high + 1) if r == row[i] or used.get(r, 0.0) + widths[i] <= room]
            ends = [row[j] for j in (*above[i], *below[i])]
            at = min(free, key=lambda r: (sum(abs(r - end) for end in ends), r != row[i]))
            if at != row[i]:
                put(i, at)
                moved = True
        if not moved:
            break
    filled = {r: at for at, r in enumerate(sorted(set(row)))}
    return [filled[r] for r in row]


def _lists(n: int, arcs: Iterable[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """The neighbours above and below everyone."""
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for a, b in arcs:
        below[a].append(b)
        above[b].append(a)
    return above, below


def _sorted_down(above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> list[int]:
    """All, each after those above it."""
    missing = [len(own) for own in above]
    order = [i for i, n in enumerate(missing) if n == 0]
    for i in order:
        for j in below[i]:
            missing[j] -= 1
            if missing[j] == 0:
                order.append(j)
    return order


class _Drawing:
    """Boxes in their rows, bends for the arcs that pass rows, in order and in place."""

    def __init__(
        self, boxes: Sequence[Point], arcs: Sequence[tuple[int, int]], rows: Sequence[int], shape: float
    ) -> None:
        self.boxes = boxes
        self.widths = [w for w, _ in boxes]
        self.rows: list[list[int]] = [[] for _ in range(max(rows) + 1)]
        for i, r in enumerate(rows):
            self.rows[r].append(i)
        self.chains = {arc: self._chain(*arc, rows) for arc in arcs}
        steps = [step for chain in self.chains.values() for step in itertools.pairwise(chain)]
        self.above, self.below = _lists(len(self.widths), steps)
        self.crossings = self._order()
        self.x = self._place()
        self.y, self.band = self._heights()
        lengths = sum(abs(self.x[a] - self.x[b]) for a, b in steps)
        left = min(x - w / 2 for x, w in zip(self.x, self.widths, strict=True))
        self.x = [x - left for x in self.x]
        self.width = max(x + w / 2 for x, w in zip(self.x, self.widths, strict=True))
        self.height = self.y[0] + self.band[0] / 2
        stretched = abs(math.log(self.width / self.height / shape)) if len(boxes) > 3 else 0.0
        per_box = (self.crossings + 0.35 * lengths + 0.25 * len(self.widths)) / len(boxes)
        self.badness = per_box + 1.2 * stretched**2 + 0.02 * self.width * self.height / len(boxes)

    def _chain(self, parent: int, child: int, rows: Sequence[int]) -> list[int]:
        chain = [parent]
        for r in range(rows[parent] + 1, rows[child]):
            chain.append(len(self.widths))
            self.rows[r].append(chain[-1])
            self.widths.append(BEND)
        return [*chain, child]

    # --- order ---

    def _order(self) -> int:
        """Put the rows in an order with few crossings; several starts, each improved by sweeps."""
        dice = random.Random(0)
        best: tuple[int, list[list[int]]] | None = None
        for start in range(4):
            if start == 0:
                self.rows = self._walked()
            else:
                for row in self.rows:
                    dice.shuffle(row)
            found = self._sweep()
            if best is None or found[0] < best[0]:
                best = found
            if best[0] == 0:
                break
        assert best is not None
        self.rows = best[1]
        return best[0]

    def _walked(self) -> list[list[int]]:
        """The rows in the order of a walk from top to bottom, branch after branch."""
        seen: dict[int, None] = {}
        stack = [i for row in reversed(self.rows) for i in reversed(row)]
        while stack:
            i = stack.pop()
            if i not in seen:
                seen[i] = None
                stack += reversed(self.below[i])
        place = {i: at for at, i in enumerate(seen)}
        return [sorted(row, key=lambda i: place[i]) for row in self.rows]

    def _sweep(self) -> tuple[int, list[list[int]]]:
        best, rows, idle = self._count(), [list(row) for row in self.rows], 0
        for sweep in range(24):
            if best == 0 or idle == 4:
                break
            downwards = sweep % 2 == 0
            fixed = self.above if downwards else self.below
            for r in range(1, len(self.rows)) if downwards else range(len(self.rows) - 2, -1, -1):
                self._sort_row(r, fixed)
            self._swap()
            found = self._count()
            idle = 0 if found < best else idle + 1
            if found < best:
                best, rows = found, [list(row) for row in self.rows]
        return best, rows

    def _sort_row(self, r: int, fixed: Sequence[Sequence[int]]) -> None:
        """Everyone to the mean place of its neighbours in the row before; those without any keep theirs."""
        place = self._places()
        want = {i: sum(place[j] for j in fixed[i]) / len(fixed[i]) if fixed[i] else place[i] for i in self.rows[r]}
        self.rows[r].sort(key=lambda i: want[i])

    def _places(self) -> list[float]:
        place = [0.0] * len(self.widths)
        for row in self.rows:
            for at, i in enumerate(row):
                place[i] = at / max(len(row) - 1, 1)
        return place

    def _swap(self) -> None:
        """Exchange neighbours wherever that saves a crossing."""
        place = self._places()
        improved, rounds = True, 0
        while improved and rounds < 10:
            improved, rounds = False, rounds + 1
            for row in self.rows:
                for at in range(len(row) - 1):
                    a, b = row[at], row[at + 1]
                    gain = sum(
                        _crossed(n[a], n[b], place) - _crossed(n[b], n[a], place) for n in (self.above, self.below)
                    )
                    if gain > 0:
                        row[at], row[at + 1] = b, a
                        place[a], place[b] = place[b], place[a]
                        improved = True

    def _count(self) -> int:
        """All crossings."""
        place = self._places()
        total = 0
        for row in self.rows[:-1]:
            ends: list[float] = []
            for i in row:
                own = [place[j] for j in self.below[i]]
                total += sum(len(ends) - bisect_right(ends, end) for end in own)
                for end in own:
                    insort(ends, end)
        return total

    # --- place ---

    def _place(self) -> list[float]:
        """Move sideways, row after row: the sum of |x_a - x_b| over all arcs becomes small, those that bend count most.

        A weighted sum of squares is least, in one row with the others fixed, at the means of the neighbours, pushed
        apart until they do not touch. Weights of 1 / |x_a - x_b| turn the squares into absolute values, step by step.
        """
        n = len(self.boxes)
        x = [0.0] * len(self.widths)
        for row in self.rows:
            for a, b in itertools.pairwise(row):
                x[b] = x[a] + (self.widths[a] + self.widths[b]) / 2 + self._gap(a, b)
            middle = (x[row[0]] + x[row[-1]]) / 2
            for i in row:
                x[i] -= middle
        near = [[(j, *self._pull(i, j)) for j in (*self.above[i], *self.below[i])] for i in range(len(x))]
        for turn in range(60):
            for row in self.rows if turn % 2 == 0 else reversed(self.rows):
                want, weight = [], []
                for i in row:
                    pulls = [(j, w / max(abs(x[i] - x[j]), far) if turn >= 16 else w) for j, w, far in near[i]]
                    weight.append(sum(w for _, w in pulls))
                    want.append(sum(x[j] * w for j, w in pulls) / weight[-1])
                for i, at in zip(row, self._apart(row, want, weight), strict=True):
                    x[i] = at
        return x

    def _pull(self, i: int, j: int) -> tuple[float, float]:
        """How much it counts that two are not above each other, and up to which distance its square does.

        Bends and lonely steps shall be straight; a box with several arcs shall stand in their middle.
        """
        a, b = (i, j) if j in self.below[i] else (j, i)
        bends = (i >= len(self.boxes)) + (j >= len(self.boxes))
        lonely = len(self.below[a]) == 1 == len(self.above[b])
        return (1.0, 3.0, 8.0)[bends], 0.05 if bends or lonely else 1.0

    def _gap(self, a: int, b: int) -> float:
        n = len(self.boxes)
        return GAP if a < n and b < n else GAP / 2

    def _apart(self, row: Sequence[int], want: Sequence[float], weight: Sequence[float]) -> list[float]:
        """The places nearest to those wanted (weighted least squares) at which no two touch."""
        # Take away the room that those before each one need; what is left must not descend (pool adjacent violators).
        needed = [0.0]
        for a, b in itertools.pairwise(row):
            needed.append(needed[-1] + (self.widths[a] + self.widths[b]) / 2 + self._gap(a, b))
        blocks: list[tuple[float, float, int]] = []
        for at, w, offset in zip(want, weight, needed, strict=True):
            blocks.append((at - offset, w, 1))
            while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
                (a, v, n), (b, u, m) = blocks[-2:]
                blocks[-2:] = [((a * v + b * u) / (v + u), v + u, n + m)]
        free = [mean for mean, _, size in blocks for _ in range(size)]
        return [mean + offset for mean, offset in zip(free, needed, strict=True)]

    def _heights(self) -> tuple[list[float], list[float]]:
        """The middle and the height of every row; where arcs swing far, the next row is lower."""
        band = [max((self.boxes[i][1] for i in row if i < len(self.boxes)), default=0.0) for row in self.rows]
        y = [0.0] * len(self.rows)
        at = 0.0
        for r in range(len(self.rows) - 1, -1, -1):
            y[r] = at + band[r] / 2
            swings = [abs(self.x[i] - self.x[j]) for i in self.rows[r - 1] for j in self.below[i]] if r else [0.0]
            at += band[r] + min(DROP + 0.07 * max(swings) + 0.012 * len(swings), MOST_DROP)
        return y, band

    # --- arcs ---

    def layout(self, names: Sequence[str]) -> Layout:
        """Boxes by name, and arcs that leave and enter them side by side."""
        row_of = {i: r for r, row in enumerate(self.rows) for i in row}
        leaves, enters = self._doors()
        routes: dict[Arc, list[Point]] = {}
        for (a, b), chain in self.chains.items():
            (upper, lower), points = (row_of[a], row_of[b]), []
            points += [(leaves[a, b], self.y[upper] - self.boxes[a][1] / 2), (leaves[a, b], self._edge(upper, -1))]
            for bend in chain[1:-1]:
                points += [(self.x[bend], self._edge(row_of[bend], side)) for side in (1, -1)]
            points += [
                (enters[a, b], self._edge(lower, 1) + STUB),
                (enters[a, b], self.y[lower] + self.boxes[b][1] / 2),
            ]
            routes[names[a], names[b]] = points
        places = {name: (self.x[i], self.y[row_of[i]]) for i, name in enumerate(names)}
        return Layout(places, routes, self.width, self.height)

    def _edge(self, r: int, side: int) -> float:
        return self.y[r] + side * self.band[r] / 2

    def _doors(self) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
        """Where arcs leave and enter boxes: side by side, in the order of where they go to and come from."""
        leaves: dict[tuple[int, int], float] = {}
        enters: dict[tuple[int, int], float] = {}
        for end, doors in ((0, leaves), (1, enters)):
            for i, (width, _) in enumerate(self.boxes):
                own = [arc for arc in self.chains if arc[end] == i]
                own.sort(key=lambda arc: self.x[self.chains[arc][1 if end == 0 else -2]])
                step = min(0.2, 0.75 * width / max(len(own), 1))
                doors |= {arc: self.x[i] + step * (at - (len(own) - 1) / 2) for at, arc in enumerate(own)}
        return leaves, enters


def _crossed(left: Sequence[int], right: Sequence[int], place: Sequence[float]) -> int:
    """How often the arcs of two neighbours cross, when the first stands to the left."""
    return sum(place[i] > place[j] for i in left for j in right)
