"""The smallest value of a smooth function of numbers that are at least zero, by quasi-Newton steps.

Numbers at zero that would go below it stand still; the others take a step of L-BFGS among themselves, and what would
go below zero stays there (Bertsekas's two-metric projection). ``scipy``'s L-BFGS-B finds the same, and takes some
milliseconds for every step with thousands of bounds, which is longer than most losses here take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_KEPT = 10  # steps that tell how the slope bends
_HALVINGS = 12  # of a step that does not lead down
_ENOUGH = 1e-4  # share of the promised gain that a step must bring

_RISE = 1e-10  # of the slope over a step, as a share of what it could be, below which a step tells nothing
_NONE = np.empty((0, 0))

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Bends:
    """The last steps and how slopes changed over them: what L-BFGS knows of the second derivatives."""

    def __init__(self, steps: np.ndarray = _NONE, changes: np.ndarray = _NONE) -> None:
        self.steps, self.changes = steps, changes  # (steps, numbers), the last one last

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step; one over which the slope does not rise tells nothing."""
        if step @ change > _RISE * np.sqrt((step @ step) * (change @ change)):
            self.steps, self.changes = _after(self.steps, step), _after(self.changes, change)

    @property
    def n(self) -> int:
        """How many steps are known."""
        return len(self.steps)

    def of_twice(self, other: Bends) -> Bends:
        """What these and another's tell of a sum of two such functions: each for both, as if they were alike."""
        n, size = min(self.n, other.n, _KEPT // 2), self.steps.shape[1]
        if not n:
            return Bends()
        steps = np.stack([self.steps[-n:], other.steps[-n:]], axis=1).reshape(-1, size)
        changes = 2 * np.stack([self.changes[-n:], other.changes[-n:]], axis=1).reshape(-1, size)
        return Bends(steps, changes)._telling()

    def stiffer(self, by: float) -> Bends:
        """The same after adding ``by`` / 2 times the squares of all numbers to the function."""
        return Bends(self.steps, self.changes + by * self.steps)._telling()

    def _telling(self) -> Bends:
        """The steps over which the slope rises."""

        def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.asarray(np.einsum("ij,ij->i", a, b))

        squares = products(self.steps, self.steps) * products(self.changes, self.changes)
        tells = products(self.steps, self.changes) > _RISE * np.sqrt(squares)
        return self if tells.all() else Bends(self.steps[tells], self.changes[tells])

    def direction(self, slope: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Where the free numbers go: minus the inverse of the second derivatives among them, times the slope.

        The two loops of L-BFGS run over products of steps and changes, all of which are made at once: a few large
        products take a fraction of the time of many small ones.
        """
        way = np.where(free, -slope, 0.0)
        if not self.n:
            return way
        steps, changes = self.steps * free, self.changes * free
        products = steps @ changes.T
        rises = products.diagonal()
        known = [k for k in range(len(steps)) if rises[k] > 0]
        if not known:
            return way
        shares, along = np.zeros(len(steps)), steps @ way
        for k in reversed(known):
            shares[k] = (along[k] - products[k] @ shares) / rises[k]
        way -= shares @ changes
        last = known[-1]
        way *= rises[last] / float(changes[last] @ changes[last])
        lengths, along = np.zeros(len(steps)), changes @ way
        for k in known:
            lengths[k] = shares[k] - (along[k] + lengths @ products[:, k]) / rises[k]
        return np.asarray(way + lengths @ steps)


def _after(kept: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The last ones of those kept, and one more."""
    return np.concatenate([kept[1 - _KEPT :], new[None]]) if len(kept) else new[None]


@dataclass(frozen=True)
class Point:
    """Numbers of at least zero, the value and the slope of a function there, and whether a search has ended there."""

    at: np.ndarray
    value: float
    slope: np.ndarray
    last: bool = False

    def pulled(self, strength: float, centre: np.ndarray) -> Point:
        """The same after adding ``strength`` times the squared distance from a centre to the function."""
        away = self.at - centre
        slope = self.slope + 2 * strength * away
        return Point(self.at, self.value + strength * float(away @ away), slope, self.last)


def start_at(function: Function, numbers: np.ndarray) -> Point:
    """Where a search starts."""
    at = np.maximum(numbers, 0.0)
    return Point(at, *function(at))


def smallest(function: Function, start: Point, bends: Bends, most_steps: int, least_gain: float) -> Point:
    """Where the function is smallest; ``bends`` learn of its second derivatives on the way.

    The search ends where a step gains less than a share of ``least_gain``, or after so many steps.
    """
    point = start
    for _ in range(most_steps):
        way = bends.direction(point.slope, (point.at > 0) | (point.slope < 0))
        if not bends.n:
            way /= max(1.0, float(np.sqrt(way @ way)))
        after = _shortened(function, point, way)
        if after is None:
            return Point(point.at, point.value, point.slope, last=True)
        bends.add(after.at - point.at, after.slope - point.slope)
        gain, point = point.value - after.value, after
        if gain <= least_gain * max(abs(point.value), 1.0):
            return Point(point.at, point.value, point.slope, last=True)
    return point


def _shortened(function: Function, point: Point, way: np.ndarray) -> Point | None:
    """The point after a step along the way, made shorter until it leads down; None where nothing does."""
    for halving in range(_HALVINGS):
        at = np.maximum(point.at + 0.5**halving * way, 0.0)
        promised = float(point.slope @ (at - point.at))
        after = Point(at, *function(at))
        if promised < 0 and after.value <= point.value + _ENOUGH * promised:
            return after
    return None
