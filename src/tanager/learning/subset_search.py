"""Searching for the subset of factors (or of roles of columns) with the best left-out answers.

Forward, backward, or best first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, NamedTuple

from tanager import saved
from tanager.learning.left_out import LeftOutAnswers, P, Quality, best_change

DIRECTIONS = ("forward", "backward", "best_first")


class Step(NamedTuple):
    """One step of a search: "start", "add", "remove" or "join", the columns it is about, and how good answers were."""

    did: str
    columns: str
    value: float


STEPS = saved.items(saved.row(saved.text(), saved.text(), saved.figure()))  # in a file
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
        least = -math.inf if non_worse else current[0] + min_gain
        best, quality = best_change(left_out, changes, above=least)
        better = quality[0] >= current[0] if non_worse else quality[0] > least
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
    sets = _Sets(left_out, factors)
    best, in_vain = frozenset[int](), 0
    while (at := sets.next()) is not None and in_vain < patience:
        in_vain += 1
        found = sets.go_on(at)
        if found is not None and sets.seen[found][0] > sets.seen[best][0] + min_gain:
            best, in_vain = found, 0
    return sorted(best), _path(best, sets.came, sets.seen)


class _Sets(Generic[P]):
    """The sets of factors that were seen, and those of them that were not gone on from yet.

    By accuracy, the probability of the true class is worked out where it decides between sets, and for no others: it
    takes ten times as long as to count errors.
    """

    def __init__(self, left_out: LeftOutAnswers[P], factors: Sequence[P]) -> None:
        self._left_out, self._factors = left_out, factors
        start = left_out.quality()
        self.seen: dict[frozenset[int], Quality] = {frozenset(): start}
        self.came: dict[frozenset[int], tuple[frozenset[int], int]] = {}  # from which set, and by which factor
        self._waiting = {start[0]: [frozenset[int]()]}  # by their criterion
        self._rough: set[frozenset[int]] = set()  # known by their criterion alone

    def next(self) -> frozenset[int] | None:
        """The best set that waits, taken out: the smallest of equals, then the first."""
        if not self._waiting:
            return None
        top = max(self._waiting)
        equals = self._waiting[top]
        if len(equals) > 1:
            self._tell_apart(equals)
        best = max(equals, key=lambda subset: (self.seen[subset], -len(subset), [-q for q in sorted(subset)]))
        equals.remove(best)
        if not equals:
            del self._waiting[top]
        return best

    def go_on(self, at: frozenset[int]) -> frozenset[int] | None:
        """Look at all sets with one factor more or less, and return the best of those that are new."""
        new = [(q, at ^ {q}) for q in range(len(self._factors)) if at ^ {q} not in self.seen]
        if not new:
            return None
        qualities = self._qualities(at, [q for q, _ in new], ties=False)
        top = max(quality[0] for quality in qualities)
        for (q, subset), quality in zip(new, qualities, strict=True):
            self.seen[subset], self.came[subset] = quality, (at, q)
            self._waiting.setdefault(quality[0], []).append(subset)
            if quality[0] < top and quality[1] == 0.0:
                self._rough.add(subset)
        return max((subset for _, subset in new), key=self.seen.__getitem__)

    def _qualities(self, at: frozenset[int], changed: Sequence[int], *, ties: bool) -> list[Quality]:
        """How good answers would be with each of these factors more, or less, than a set has."""
        self._left_out.start_again()
        self._left_out.make([self._factors[q] for q in sorted(at)])
        changes = [[-self._factors[q] if q in at else self._factors[q]] for q in changed]
        return self._left_out.qualities(changes, ties=ties)

    def _tell_apart(self, equals: Sequence[frozenset[int]]) -> None:
        """Work out the rest of the quality of sets with the same criterion, from the sets that they came from."""
        parents: dict[frozenset[int], list[frozenset[int]]] = {}
        for subset in equals:
            if subset in self._rough:
                parents.setdefault(self.came[subset][0], []).append(subset)
        for at, subsets in parents.items():
            qualities = self._qualities(at, [self.came[subset][1] for subset in subsets], ties=True)
            self.seen.update(zip(subsets, qualities, strict=True))
            self._rough.difference_update(subsets)


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
