"""Many leaves of one parent, gathered in rows: their arcs leave a trunk that runs down the middle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tanager.plot.component_layout import BEND, DROP, GAP, MOST_DROP, STUB, Point

MANY = 8  # leaves of one parent that fit into one layer of the layout


def leaf_groups(arcs: Sequence[tuple[int, int]], top: int | None) -> dict[int, list[int]]:
    """Parents of many leaves, with these: variables that have no child and no other parent.

    >>> leaf_groups([(0, i) for i in range(1, 11)], None), leaf_groups([(0, 1), (0, 2)], None)
    ({0: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}, {})
    """
    n_parents: dict[int, int] = {}
    for _, child in arcs:
        n_parents[child] = n_parents.get(child, 0) + 1
    inner = {parent for parent, _ in arcs} | {top}
    groups: dict[int, list[int]] = {}
    for parent, child in arcs:
        if n_parents[child] == 1 and child not in inner:
            groups.setdefault(parent, []).append(child)
    return {parent: leaves for parent, leaves in groups.items() if len(leaves) > MANY}


class LeafBlock:
    """Leaves in rows, within a rectangle whose lower left corner is at (0, 0)."""

    def __init__(self, names: Sequence[str], sizes: Mapping[str, Point], shape: float) -> None:
        self.sizes = sizes
        self.cell = max(sizes[name][0] for name in names) + GAP
        halves = range(1, math.ceil(len(names) / 2) + 1)
        half = min(halves, key=lambda half: abs(math.log(self._shape(names, half) / shape)))
        self.rows = [list(names[at : at + 2 * half]) for at in range(0, len(names), 2 * half)]
        self.size = self._size(names, half)
        self.places: dict[str, Point] = {}
        self.starts: dict[str, float] = {}  # how far down the trunk goes for each
        self._place(half)

    def _drop(self, half: int) -> float:
        """From one row to the next, or from the upper edge to the first."""
        return min(DROP + 0.05 * half * self.cell, MOST_DROP)

    def _size(self, names: Sequence[str], half: int) -> Point:
        n_rows = math.ceil(len(names) / (2 * half))
        tall = max(self.sizes[name][1] for name in names)
        return 2 * half * self.cell - GAP + BEND, n_rows * (tall + self._drop(half))

    def _shape(self, names: Sequence[str], half: int) -> float:
        width, height = self._size(names, half)
        return width / height

    def _place(self, half: int) -> None:
        width, y = self.size
        tall = max(self.sizes[name][1] for row in self.rows for name in row)
        for row in self.rows:
            start, y = y, y - self._drop(half)
            left = (len(row) + 1) // 2
            for at, name in enumerate(row):
                across = (at - left + 0.5) * self.cell
                x = width / 2 + across + (BEND / 2 if at >= left else -BEND / 2)
                self.places[name] = x, y - self.sizes[name][1] / 2
                self.starts[name] = start
            y -= tall

    def route(self, name: str, trunk: Sequence[Point], corner: Point) -> list[Point]:
        """The way to a leaf: that of the block down the trunk, and from there aside."""
        (x, y), down = self.places[name], corner[1] + self.starts[name]
        upper = corner[1] + y + self.sizes[name][1] / 2
        return [*trunk[:-1], (trunk[-1][0], down), (corner[0] + x, upper + STUB), (corner[0] + x, upper)]
