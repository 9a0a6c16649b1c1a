"""Horizontal coordinates, such that arcs run straight down, above all long ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Lists = Sequence[Sequence[int]]

# Sweeps over the layers, and how many of them minimise squares. Squares first, as they converge fast from any start;
# then absolute distances, which make most arcs exactly straight and put the deviation into few of them.
SWEEPS, SQUARED_SWEEPS = 60, 16


def straight(
    rows: Lists, widths: Sequence[float], above: Lists, below: Lists, *, n_boxes: int, gap: float
) -> list[float]:
    """The x of every node, such that the weighted sum of |x_a - x_b| over all arcs is small and no two nodes touch.

    Nodes from ``n_boxes`` on are bends. With all other layers fixed, the weighted sum of squares of one layer is least
    at the means of the neighbours, moved apart until they do not touch. Weights of 1 / |x_a - x_b| turn the squares
    into absolute values step by step (iteratively reweighted least squares).

    >>> straight([[0], [1], [2]], [1.0, 1.0, 1.0], [[], [0], [1]], [[1], [2], []], n_boxes=3, gap=0.2)
    [0.0, 0.0, 0.0]
    """
    apart = [_distances(row, widths, n_boxes, gap) for row in rows]
    x = [0.0] * len(widths)
    for row, needed in zip(rows, apart, strict=True):
        for i, at in zip(row, needed, strict=True):
            x[i] = at - needed[-1] / 2
    near = [[(j, *_pull(j, i, above, below, n_boxes)) for j in above[i]] for i in range(len(x))]
    for i in range(len(x)):
        near[i] += [(j, *_pull(i, j, above, below, n_boxes)) for j in below[i]]
    for turn in range(SWEEPS):
        for r in range(len(rows)) if turn % 2 == 0 else range(len(rows) - 1, -1, -1):
            want, weight = [], []
            for i in rows[r]:
                pulls = [
                    (x[j], w / max(abs(x[i] - x[j]), far) if turn >= SQUARED_SWEEPS else w) for j, w, far in near[i]
                ]
                weight.append(sum(w for _, w in pulls) or 1.0)
                want.append(sum(at * w for at, w in pulls) / weight[-1])
            for i, at in zip(rows[r], moved_apart(want, weight, apart[r]), strict=True):
                x[i] = at
    return x


def moved_apart(want: Sequence[float], weight: Sequence[float], needed: Sequence[float]) -> list[float]:
    """The positions nearest to those wanted (weighted least squares) that keep the distances needed.

    >>> moved_apart([0.0, 0.0], [1.0, 1.0], [0.0, 1.0])
    [-0.5, 0.5]
    """
    # After subtracting the needed distance, positions must not decrease: isotonic regression by pooling adjacent
    # violators, exact and linear in the number of nodes.
    blocks: list[tuple[float, float, int]] = []
    for at, w, distance in zip(want, weight, needed, strict=True):
        blocks.append((at - distance, w, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, u, n), (b, v, m) = blocks[-2:]
            blocks[-2:] = [((a * u + b * v) / (u + v), u + v, n + m)]
    free = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + distance for mean, distance in zip(free, needed, strict=True)]


def _distances(row: Sequence[int], widths: Sequence[float], n_boxes: int, gap: float) -> list[float]:
    """The distance of each node from the first if all are as close as allowed; bends may be closer than boxes."""
    needed = [0.0]
    for a, b in itertools.pairwise(row):
        between = gap if a < n_boxes and b < n_boxes else gap / 2
        needed.append(needed[-1] + (widths[a] + widths[b]) / 2 + between)
    return needed


def _pull(a: int, b: int, above: Lists, below: Lists, n_boxes: int) -> tuple[float, float]:
    """The weight of an arc, and the distance up to which its square counts instead of the absolute value.

    Bends and only children should be straight below; a box with several arcs should be centred among them.
    """
    bends = (a >= n_boxes) + (b >= n_boxes)
    alone = len(below[a]) == 1 == len(above[b])
    return (1.0, 3.0, 8.0)[bends], 0.05 if bends or alone else 1.0
