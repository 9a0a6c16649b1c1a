"""Places within rows, such that arcs run straight down, above all those that pass other rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Lists = Sequence[Sequence[int]]

TURNS, SQUARES = 60, 16  # sweeps over the rows; those before distances count instead of squares


def straight(
    rows: Lists, widths: Sequence[float], above: Lists, below: Lists, *, n_boxes: int, gap: float
) -> list[float]:
    """The place of everyone, such that the weighted sum of |x_a - x_b| over all arcs is small and no two touch.

    Those numbered from ``n_boxes`` on are bends. A sum of weighted squares is least, in one row with the others fixed,
    at the means of the neighbours, moved apart until they do not touch; weights of 1 / |x_a - x_b| turn squares into
    absolute values, step by step.

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
    for turn in range(TURNS):
        for r in range(len(rows)) if turn % 2 == 0 else range(len(rows) - 1, -1, -1):
            want, weight = [], []
            for i in rows[r]:
                pulls = [(x[j], w / max(abs(x[i] - x[j]), far) if turn >= SQUARES else w) for j, w, far in near[i]]
                weight.append(sum(w for _, w in pulls) or 1.0)
                want.append(sum(at * w for at, w in pulls) / weight[-1])
            for i, at in zip(rows[r], moved_apart(want, weight, apart[r]), strict=True):
                x[i] = at
    return x


def moved_apart(want: Sequence[float], weight: Sequence[float], needed: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (weighted least squares), each as far after the first as needed.

    >>> moved_apart([0.0, 0.0], [1.0, 1.0], [0.0, 1.0])
    [-0.5, 0.5]
    """
    # Less the distance that is needed, places must not descend: pool adjacent violators.
    blocks: list[tuple[float, float, int]] = []
    for at, w, distance in zip(want, weight, needed, strict=True):
        blocks.append((at - distance, w, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, u, n), (b, v, m) = blocks[-2:]
            blocks[-2:] = [((a * u + b * v) / (u + v), u + v, n + m)]
    free = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + distance for mean, distance in zip(free, needed, strict=True)]


def _distances(row: Sequence[int], widths: Sequence[float], n_boxes: int, gap: float) -> list[float]:
    """From the middle of the first to that of everyone, when all stand as close as they may; arcs may be closer."""
    needed = [0.0]
    for a, b in itertools.pairwise(row):
        between = gap if a < n_boxes and b < n_boxes else gap / 2
        needed.append(needed[-1] + (widths[a] + widths[b]) / 2 + between)
    return needed


def _pull(a: int, b: int, above: Lists, below: Lists, n_boxes: int) -> tuple[float, float]:
    """How much it counts that two are not above each other, and the distance up to which its square does.

    Bends and only children shall be straight below; a box with several arcs shall stand in their middle.
    """
    bends = (a >= n_boxes) + (b >= n_boxes)
    alone = len(below[a]) == 1 == len(above[b])
    return (1.0, 3.0, 8.0)[bends], 0.05 if bends or alone else 1.0
