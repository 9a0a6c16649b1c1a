"""The smallest value of a smooth function of numbers that are at least zero, by quasi-Newton steps.

Numbers at zero that would go below it stand still; the others take a step of L-BFGS among themselves, and what would
go below zero stays there (Bertsekas's two-metric projection). ``scipy``'s L-BFGS-B finds the same, and takes some
milliseconds for every step with thousands of bounds, which is longer than most losses here take.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_KEPT = 10  # steps that tell how the slope bends
_HALVINGS = 12  # of a step that does not lead down
_ENOUGH = 1e-4  # share of the promised gain that a step must bring

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Bends:
    """The last steps and how slopes changed over them: what L-BFGS knows of the second derivatives."""

    def __init__(self) -> None:
        self.steps: list[np.ndarray] = []
        self.changes: list[np.ndarray] = []

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step; one over which the slope does not rise tells nothing."""
        if step @ change > 1e-10 * np.sqrt((step @ step) * (change @ change)):
            self.steps, self.changes = [*self.steps[1 - _KEPT :], step], [*self.changes[1 - _KEPT :], change]

    def stiffer(self, by: float) -> Bends:
        """The same after adding ``by`` / 2 times the squares of all numbers to the function."""
        found = Bends()
        for step, change in zip(self.steps, self.changes, strict=True):
            found.add(step, change + by * step)
        return found

    def direction(self, slope: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Where the free numbers go: minus the inverse of the second derivatives among them, times the slope."""
        way, used = np.where(free, -slope, 0.0), []
        for step, change in zip(reversed(self.steps), reversed(self.changes), strict=True):
            own = np.where(free, step, 0.0)
            rise = float(own @ change)
            if rise > 0:
                share = float(own @ way) / rise
                way -= share * np.where(free, change, 0.0)
                used.append((own, change, rise, share))
        if used:
            own, change, rise, _ = used[0]
            way *= rise / float(change[free] @ change[free])
        for own, change, rise, share in reversed(used):
            way += (share - float(change @ way) / rise) * own
        return way


def smallest(
    function: Function, start: np.ndarray, bends: Bends, most_steps: int, least_gain: float
) -> tuple[np.ndarray, Bends]:
    """Numbers of at least zero where the function is smallest, and what is known of its second derivatives there.

    The search ends where a step gains less than a share of ``least_gain``.
    """
    at = np.maximum(start, 0.0)
    value, slope = function(at)
    for _ in range(most_steps):
        way = bends.direction(slope, (at > 0) | (slope < 0))
        if not bends.steps:
            way /= max(1.0, float(np.sqrt(way @ way)))
        found = _shortened(function, at, value, slope, way)
        if found is None:
            break
        after, after_value, after_slope = found
        bends.add(after - at, after_slope - slope)
        gain = value - after_value
        at, value, slope = after, after_value, after_slope
        if gain <= least_gain * max(abs(value), 1.0):
            break
    return at, bends


def _shortened(
    function: Function, at: np.ndarray, value: float, slope: np.ndarray, way: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """The point after a step along the way, made shorter until it leads down; None where nothing does."""
    for halving in range(_HALVINGS):
        after = np.maximum(at + 0.5**halving * way, 0.0)
        promised = float(slope @ (after - at))
        found, found_slope = function(after)
        if promised < 0 and found <= value + _ENOUGH * promised:
            return after, found, found_slope
    return None
