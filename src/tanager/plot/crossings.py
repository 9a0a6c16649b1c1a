"""Crossing reduction: the order within each layer, such that few arcs cross. Arcs lead from one layer to the next."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right, insort
from collections.abc import Sequence

Lists = Sequence[Sequence[int]]

# Minimal crossings are NP-hard already for two layers. Barycentre sweeps get stuck in local minima, so a few random
# restarts are made; a sweep without gain may be followed by one with gain, so some are tolerated.
STARTS, SWEEPS, PATIENCE = 4, 24, 4


def few_crossings(rows: Lists, above: Lists, below: Lists) -> tuple[list[list[int]], int]:
    """The rows in a better order, and the number of crossings left.

    From several starts, every node moves to the mean position of its neighbours in the layer before, downwards and
    upwards in turn (the barycentre heuristic), and adjacent nodes are exchanged if that saves a crossing.

    >>> few_crossings([[0, 1], [2, 3]], [[], [], [1], [0]], [[3], [2], [], []])
    ([[0, 1], [3, 2]], 0)
    """
    rng = random.Random(0)  # a fixed seed: the same network always gives the same picture
    now = _walked(rows, below)
    best = min(now, [list(row) for row in rows], key=lambda order: count_crossings(order, below))
    fewest = count_crossings(best, below)
    for _ in range(STARTS):
        found, n = _swept(now, above, below)
        if n < fewest:
            best, fewest = found, n
        if fewest == 0:
            break
        now = [rng.sample(row, len(row)) for row in rows]
    _exchange(best, above, below)
    return best, count_crossings(best, below)


def count_crossings(rows: Lists, below: Lists) -> int:
    """How many pairs of arcs cross."""
    total = 0
    for upper, lower in itertools.pairwise(rows):
        place = {i: at for at, i in enumerate(lower)}
        # An arc crosses all arcs that start further left and end further right: inversions, counted in a sorted list.
        ends: list[int] = []  # of the arcs further left
        for i in upper:
            own = [place[j] for j in below[i]]
            total += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total


def _walked(rows: Lists, below: Lists) -> list[list[int]]:
    """The rows in the order of a depth-first walk, which draws a tree without any crossing."""
    seen: dict[int, int] = {}
    stack = [i for row in reversed(rows) for i in reversed(row)]
    while stack:
        i = stack.pop()
        if i not in seen:
            seen[i] = len(seen)
            stack += reversed(below[i])
    return [sorted(row, key=seen.__getitem__) for row in rows]


def _swept(start: Lists, above: Lists, below: Lists) -> tuple[list[list[int]], int]:
    """The best order along several sweeps, and its crossings."""
    now = [list(row) for row in start]
    best, fewest, idle = [list(row) for row in now], count_crossings(now, below), 0
    for sweep in range(SWEEPS):
        if fewest == 0 or idle == PATIENCE:
            break
        if sweep % 2 == 0:
            for r in range(1, len(now)):
                _sort(now[r], now[r - 1], above)
        else:
            for r in range(len(now) - 2, -1, -1):
                _sort(now[r], now[r + 1], below)
        _exchange(now, above, below)
        n = count_crossings(now, below)
        idle = 0 if n < fewest else idle + 1
        if n < fewest:
            best, fewest = [list(row) for row in now], n
    return best, fewest


def _sort(row: list[int], fixed: Sequence[int], near: Lists) -> None:
    """Sort a row by the mean positions of its neighbours; nodes without neighbours stay about where they are."""
    # Relative positions, so that nodes with and without neighbours are comparable in rows of different length.
    place = {i: at / max(len(fixed) - 1, 1) for at, i in enumerate(fixed)}
    stay = {i: at / max(len(row) - 1, 1) for at, i in enumerate(row)}
    row.sort(key=lambda i: sum(place[j] for j in near[i]) / len(near[i]) if near[i] else stay[i])


def _exchange(rows: Sequence[list[int]], above: Lists, below: Lists) -> None:
    """Swap adjacent nodes as long as that saves crossings."""
    place = {i: at for row in rows for at, i in enumerate(row)}
    improved = True
    while improved:  # each exchange saves a crossing, so this ends
        improved = False
        for row in rows:
            for at in range(len(row) - 1):
                a, b = row[at], row[at + 1]
                gain = sum(
                    _crossed(near[a], near[b], place) - _crossed(near[b], near[a], place) for near in (above, below)
                )
                if gain > 0:
                    row[at : at + 2] = b, a
                    place[a], place[b] = place[b], place[a]
                    improved = True


def _crossed(left: Sequence[int], right: Sequence[int], place: dict[int, int]) -> int:
    """How often the arcs of two adjacent nodes cross."""
    return sum(place[i] > place[j] for i in left for j in right)
