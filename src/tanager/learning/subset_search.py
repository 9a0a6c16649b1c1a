"""Searching for the subset of factors (or of roles of columns) with the best left-out answers.

Forward, backward, or best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tanager.learning.left_out import LeftOutAnswers, P, Quality, best_change

DIRECTIONS = ("forward", "backward", "best_first")


class Step(NamedTuple):
    """One step of a search: "start", "add", "remove" or "join", the columns it is about, and how good answers were."""

    did: str
    columns: str
    value: float


Move = tuple[str, int, float]  # what was done, to which factor (-1: none), and the criterion then


def select(
    left_out: LeftOutAnswers[P], factors: Sequence[P], direction: str, min_gain: float, non_worse: bool, patience: int
) -> tuple[list[int], list[Move]]:
    """Places of the factors to keep, and the moves that led there."""
    if direction == "best_first":
        return _best_first(left_out, factors, min_gain, patience)
    forward = direction == "forward"
    if not forward:
        left_out.make(factors)
    current = left_out.quality()
    moves: list[Move] = [("start", -1, current[0])]
    rest = list(range(len(factors)))
    steps = factors if forward else [-factor for factor in factors]
    while rest:
        changes = [[steps[q]] for q in rest]
        best, quality = best_change(left_out, changes)
        better = quality[0] >= current[0] if non_worse else quality[0] > current[0] + min_gain
        if not better:
            break
        left_out.make(changes[best])
        current = quality
        moves.append(("add" if forward else "remove", rest.pop(best), quality[0]))
    kept = rest if not forward else [q for q in range(len(factors)) if q not in rest]
    return kept, moves


def _best_first(
    left_out: LeftOutAnswers[P], factors: Sequence[P], min_gain: float, patience: int
) -> tuple[list[int], list[Move]]:
    """From the empty set: always go on from the best set that was seen and not gone on from yet."""
    start = left_out.quality()
    best: tuple[frozenset[int], Quality] = (frozenset(), start)
    seen: dict[frozenset[int], Quality] = {frozenset(): start}
    came: dict[frozenset[int], tuple[frozenset[int], int]] = {}
    waiting = [frozenset[int]()]
    in_vain = 0
    while waiting and in_vain < patience:
        at = max(waiting, key=lambda subset: (seen[subset], -len(subset), [-q for q in sorted(subset)]))
        waiting.remove(at)
        left_out.start_again()
        left_out.make([factors[q] for q in sorted(at)])
        others = [(q, at ^ {q}) for q in range(len(factors)) if at ^ {q} not in seen]
        in_vain += 1
        if not others:
            continue
        changes = [[-factors[q] if q in at else factors[q]] for q, _ in others]
        for (q, subset), quality in zip(others, left_out.qualities(changes, ties=True), strict=True):
            seen[subset], came[subset] = quality, (at, q)
            waiting.append(subset)
        found = max((subset for _, subset in others), key=seen.__getitem__)
        if seen[found][0] > best[1][0] + min_gain:
            best, in_vain = (found, seen[found]), 0
    return sorted(best[0]), _path(best[0], came, seen)


def _path(
    at: frozenset[int], came: dict[frozenset[int], tuple[frozenset[int], int]], seen: dict[frozenset[int], Quality]
) -> list[Move]:
    """How a set was reached from the empty one."""
    moves: list[Move] = []
    while at in came:
        before, q = came[at]
        moves.append(("add" if q in at else "remove", q, seen[at][0]))
        at = before
    return [("start", -1, seen[at][0]), *reversed(moves)]
