"""How well super-parents answer left-out rows: each alone, and the first so many of them together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.scoring.forms import ParentSet

ENOUGH = 1000.0  # weight of rows from which on a number of members is trusted


class MemberScores:
    """Fading sums over rows that were answered as if they had not been learned.

    ``alone`` holds, for naive Bayes and then each member by itself, the weight of wrong answers, the sum of the
    probabilities of the true class, and the weight of all rows. ``first`` holds the same for the first 0, 1, 2, ...
    members in ``order``. Which members come first matters there, not their order among themselves.
    """

    def __init__(self, members: Sequence[ParentSet]) -> None:
        self.members = tuple(members)
        self.order = list(range(len(members)))
        self.alone = np.zeros((3, len(members) + 1))
        self.first = np.zeros((3, len(members) + 1))

    @property
    def weight(self) -> float:
        """Weight of the rows that they were validated by."""
        return float(self.alone[2, 0])

    def empty(self) -> np.ndarray:
        """An empty table for the kernels: sums of members alone, then of the first so many."""
        return np.zeros((6, len(self.members) + 1))

    def take(self, found: np.ndarray, order: Sequence[int], keep: float = 1.0) -> None:
        """Add what the kernels found, members being in this order; what was known before fades by ``keep``."""
        self.reorder(order)
        self.alone *= keep
        self.first *= keep
        self.alone[:, 0] += found[:3, 0]
        self.alone[:, 1 + np.asarray(order, dtype=int)] += found[:3, 1:]
        self.first += found[3:]

    def give_back(self, found: np.ndarray) -> None:
        """Take out what rows would add now, members being in our order; nothing falls below zero."""
        self.take(-found, self.order)
        for sums in (self.alone, self.first):
            np.maximum(sums, 0.0, out=sums)
            sums[:, sums[2] < 1e-9] = 0.0  # of these all has gone, or more than there was

    def reorder(self, order: Sequence[int]) -> None:
        """Another order: sums over the first so many start again where these are others now."""
        if list(order) == self.order:
            return
        place = np.empty(len(order), dtype=int)
        place[np.asarray(self.order, dtype=int)] = np.arange(len(order))
        reach = np.maximum.accumulate(place[np.asarray(order, dtype=int)])  # of the old order that is needed
        self.first[:, 1:][:, reach >= np.arange(1, len(order) + 1)] = 0.0
        self.order = list(order)

    def restart(self, order: Sequence[int]) -> None:
        """Forget the sums over first members."""
        self.order = list(order)
        self.first[:] = 0.0

    def grow(self, members: Sequence[ParentSet]) -> None:
        """There are more members; nothing is known about the new ones yet."""
        if tuple(members) == self.members:
            return
        old, own = MemberScores(members), {member: at for at, member in enumerate(self.members)}
        old.alone[:, 0], old.first[:, 0] = self.alone[:, 0], self.first[:, 0]
        for at, member in enumerate(members):
            if member in own:
                old.alone[:, 1 + at] = self.alone[:, 1 + own[member]]
        self.members, self.order, self.alone, self.first = old.members, old.order, old.alone, old.first

    def ranking(self) -> list[int]:
        """Members by the share of wrong answers; ties by the probability of the true class, then as they come."""
        wrong, true = (np.round(_share(part, self.alone[2])[1:], 12) for part in self.alone[:2])
        unknown = self.alone[2, 1:] == 0  # these come last
        return [int(j) for j in np.lexsort((np.arange(len(wrong)), -true, wrong, unknown))]

    def best(self) -> int | None:
        """How many members answer best; the smallest such number, or None where no row was answered."""
        weight = self.first[2]
        known = weight >= max(min(ENOUGH, 0.5 * weight.max()), 1e-300)
        if not known.any():
            return None
        return int(np.argmin(np.where(known, np.round(_share(self.first[0], weight), 12), np.inf)))

    @property
    def wrong_alone(self) -> np.ndarray:
        """Share of wrong answers of naive Bayes and each member alone; NaN where no row was answered."""
        return _share(self.alone[0], self.alone[2], np.nan)

    @property
    def wrong_first(self) -> np.ndarray:
        """Share of wrong answers of the first 0, 1, 2, ... members; NaN where no row was answered."""
        return _share(self.first[0], self.first[2], np.nan)


def _share(part: np.ndarray, whole: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), otherwise), where=whole > 0)
