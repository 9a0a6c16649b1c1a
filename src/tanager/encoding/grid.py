"""Grid: class counts of a numeric column over many small intervals, from which cut points can be computed at any time.

Cut points of a stream cannot move after rows were counted, but a fine histogram can be filled once and cut many times:
each interval is treated as one distinct value. This is the two-layer scheme of Gama and Pinto (PiD), with intervals
that are open on the left and closed on the right, as all bins are here; so a cut at an edge of the grid splits its
counts exactly as it will split the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tanager import saved
from tanager.encoding.bins import METHODS, cut, equal_width, find_cuts
from tanager.errors import DataError, ModelFileError, OptionError, check_option

_MARGIN = 0.1  # of the range of the first rows, on each side
_FADED = 1e-6  # intervals with a smaller share of the weight no longer count towards the range of a column
_MAX_SCALE = 1e100  # far from overflow: weights of rows are multiplied by the scale, and cells add up
_BLOCK = 4096  # rows searched at a time for the next split; each split searches the rest of its block again


class Grid:
    """Counts per interval and class of one numeric column: layer 1; ``cuts`` computes layer 2 from it.

    Edges stay where they are, and the two outer intervals are open: values beyond the range all fall into the same
    interval. With ``split`` an interval that holds more than this share of the rows is halved, and an outer one gets
    a new edge one step further out.

    Parameters
    ----------
    edges : array
        Boundaries between the intervals, ascending; ``Grid.over`` spaces them evenly over the range of some values.
    n_classes : int
        Rows of further classes are ignored until ``move_classes`` makes room for them.
    split : float, default=None
        Share of the rows above which an interval is halved: 0.1 is coarse, 0.01 fine.
    max_intervals : int, default=1000
        Number of intervals at which splitting ends.

    Examples
    --------
    >>> grid = Grid(np.arange(0.0, 9.0), n_classes=2)
    >>> grid.update(np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5]), np.array([0, 0, 0, 1, 1, 1])).cuts("frequency", n_bins=3)
    array([2., 4.])
    >>> grid.cuts("mdl")
    array([3.])

    Notes
    -----
    A row costs one look-up, whatever was seen; memory is 8 bytes per interval and class.
    """

    def __init__(
        self, edges: np.ndarray, n_classes: int, split: float | None = None, max_intervals: int = 1000
    ) -> None:
        self.edges = np.array(edges, dtype=np.float64)
        if self.edges.ndim != 1 or not len(self.edges) or not _ascend(self.edges):
            raise DataError(f"the edges of a grid must be finite and ascending, got {self.edges.tolist()}.")
        if split is not None and not 0 < split < 1:
            raise OptionError(f"split={split!r} must be a share of the rows between 0 and 1, or None for no splitting.")
        self.split = split
        self.max_intervals = int(max_intervals)
        self.step = float(np.median(np.diff(self.edges))) if len(self.edges) > 1 else 1.0
        self.cells = np.zeros((len(self.edges) + 1, n_classes))  # counts times the scale, see ``decay``
        self.scale = 1.0
        self.low, self.high = np.inf, -np.inf  # of all finite values ever added

    @classmethod
    def over(
        cls, values: np.ndarray, n_classes: int, size: int = 200, split: float | None = None, max_intervals: int = 1000
    ) -> Grid:
        """An empty grid of ``size`` equal intervals over the range of first values, widened by a tenth on each side."""
        x = np.asarray(values, dtype=np.float64)
        x = x[np.isfinite(x)]
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
        return cls(_even_edges(low, high, size), n_classes, split, max_intervals)

    @property
    def counts(self) -> np.ndarray:
        """Weight of the rows in every interval (first axis) and class."""
        return self.cells / self.scale

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self.cells.sum() / self.scale)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.cells.shape[1])

    # Rows

    def update(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Grid:
        """Add rows. NaN and labels beyond the classes are ignored; infinite values go to the outer intervals."""
        x, y, w = self._rows(values, labels, weights)
        finite = x[np.isfinite(x)]
        if len(finite):
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
        if self.split is None:
            self._add(cut(x, self.edges), y, w)
        else:
            for at in range(0, len(x), _BLOCK):
                block = slice(at, at + _BLOCK)
                self._add_and_split(x[block], y[block], w[block])
        return self

    def subtract(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Grid:
        """Remove rows. The range of the column stays as it was."""
        x, y, w = self._rows(values, labels, weights)
        self._add(cut(x, self.edges), y, -w)
        # Below zero by rounding, or because a split gave half of an interval's weight to the side the row was not on.
        np.maximum(self.cells, 0.0, out=self.cells)
        return self

    def merge(self, other: Grid) -> Grid:
        """Add another grid over the same intervals and classes."""
        if not np.array_equal(self.edges, other.edges):
            raise DataError(
                f"cannot merge grids with different edges: {_described(self.edges)} here, {_described(other.edges)} "
                "there. Make both with the same edges."
            )
        if self.n_classes != other.n_classes:
            raise DataError(f"cannot merge grids of {self.n_classes} and {other.n_classes} classes; they must agree.")
        self.cells += other.cells * (self.scale / other.scale)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        return self

    def decay(self, factor: float) -> Grid:
        """Multiply all counts by a factor in (0, 1]. Takes constant time: later rows are scaled up instead."""
        if not 0 < factor <= 1:
            raise OptionError(f"decay({factor!r}): the factor must be above 0 and at most 1.")
        self.scale /= factor
        if self.scale > _MAX_SCALE:
            self.cells /= self.scale
            self.scale = 1.0
        return self

    def decay_classes(self, factors: np.ndarray) -> Grid:
        """Multiply the counts of class c by factors[c]."""
        self.cells *= factors
        return self

    def move_classes(self, places: np.ndarray, n_classes: int) -> Grid:
        """The same counts among more classes: class c is now places[c]."""
        cells = np.zeros((len(self.cells), n_classes))
        cells[:, places] = self.cells
        self.cells = cells
        return self

    # Cut points

    def cuts(self, how: str = "mdl", n_bins: int = 5, encoding: str = "n-1") -> np.ndarray:
        """Cut points by one of the ``METHODS`` of ``tanager.encoding.bins``; all of them are edges."""
        check_option("how", how, METHODS)
        if how == "width":
            return self._at_edges(equal_width(np.array(self.span()), n_bins))
        # Every (interval, class) cell is one weighted row, whose value is the number of the interval.
        counts = self.counts
        interval, label = np.indices(counts.shape)
        between = find_cuts(interval.ravel(), how, n_bins, encoding, label.ravel(), counts.ravel())
        # A cut lies halfway between intervals a < b, with only empty ones between them: the edge nearest to the middle.
        return np.asarray(self.edges[np.ceil(between).astype(int) - 1])

    def table(self, cuts: np.ndarray) -> np.ndarray:
        """Weight of the rows in every bin of these cut points (first axis) and class; exact where cuts are edges."""
        bin_of = np.append(cut(self.edges, cuts), len(cuts)).astype(np.intp)
        out = np.zeros((len(cuts) + 1, self.n_classes))
        np.add.at(out, bin_of, self.counts)
        return out

    def span(self) -> tuple[float, float]:
        """The range of the values to the resolution of the grid, without values whose weight has faded away."""
        weight = self.cells.sum(axis=1)
        there = np.flatnonzero(weight > _FADED * weight.sum())
        if not len(there):
            return float(self.edges[0]), float(self.edges[0])
        first, last = there[0], there[-1]
        low = min(self.low, self.edges[0]) if first == 0 else max(self.low, self.edges[first - 1])
        high = max(self.high, self.edges[-1]) if last == len(self.edges) else min(self.high, self.edges[last])
        return float(low), float(high)

    def _at_edges(self, cuts: np.ndarray) -> np.ndarray:
        """The nearest edges."""
        above = np.clip(np.searchsorted(self.edges, cuts), 0, len(self.edges) - 1)
        below = np.maximum(above - 1, 0)
        nearer = np.where(self.edges[above] - cuts < cuts - self.edges[below], above, below)
        return np.asarray(self.edges[np.unique(nearer)])

    # Files

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        split = np.nan if self.split is None else self.split
        numbers = np.array([self.scale, self.low, self.high, self.step, split, self.max_intervals])
        return {"edges": self.edges, "cells": self.cells, "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_classes: int) -> Grid:
        """The grid whose state ``to_arrays`` returned. Raises ModelFileError for an invalid state."""
        n_edges = len(arrays["edges"])
        expected = {
            "edges": saved.numbers(n_edges),
            "cells": saved.array("f8", n_edges + 1, n_classes, least=0.0),
            "numbers": saved.array("f8", 6, least=-np.inf, most=np.inf, gaps=True),
        }
        edges, cells, numbers = saved.read("intervals of its number columns", arrays, expected).values()
        scale, low, high, step, split, max_intervals = numbers.tolist()
        sound = n_edges > 0 and _ascend(edges) and low == low and high == high
        sound = sound and 1 <= scale <= _MAX_SCALE and 0 < step < np.inf and 0 <= max_intervals < 2**31
        if not sound or not (split != split or 0 < split < 1):
            raise ModelFileError(f"the intervals of its number columns hold {numbers.tolist()}, which cannot be")
        grid = cls(edges, n_classes, None if split != split else split, int(max_intervals))
        grid.cells, grid.scale, grid.low, grid.high, grid.step = cells.copy(), scale, low, high, step
        return grid

    # Helpers

    def _rows(
        self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, labels and scaled weights of the rows that are used."""
        x, y = np.asarray(values, dtype=np.float64), np.asarray(labels)
        keep = ~np.isnan(x) & (y < self.n_classes)
        w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        return x[keep], y[keep].astype(np.intp), w[keep] * self.scale

    def _add(self, interval: np.ndarray, y: np.ndarray, w: np.ndarray) -> None:
        cell = interval.astype(np.intp) * self.n_classes + y
        self.cells += np.bincount(cell, w, self.cells.size).reshape(self.cells.shape)

    def _add_and_split(self, x: np.ndarray, y: np.ndarray, w: np.ndarray) -> None:
        """Count rows in order, and halve an interval as soon as it holds too many.

        The outcome is that of a loop over rows, so chunks do not matter; but the loop is over splits, which are rare.
        """
        while len(x):
            interval = cut(x, self.edges).astype(np.intp)
            over = self._over_full(interval, w)
            n_rows = int(np.argmax(over)) + 1 if over.any() else len(x)
            self._add(interval[:n_rows], y[:n_rows], w[:n_rows])
            if over.any():
                self._halve(int(interval[n_rows - 1]))
            x, y, w = x[n_rows:], y[n_rows:], w[n_rows:]

    def _over_full(self, interval: np.ndarray, w: np.ndarray) -> np.ndarray:
        """For every row, whether its interval would be halved after it, if none was halved before."""
        if self.split is None or len(self.cells) >= self.max_intervals:
            return np.zeros(len(w), dtype=bool)
        held = (self.cells.sum(axis=1)[interval] + _running(interval, w)) / self.scale
        seen = (self.cells.sum() + np.cumsum(w)) / self.scale
        # The share is smoothed as in the paper (PiD), or the very first row would exceed any share.
        return np.asarray(((1 + held) / (seen + 2) > self.split) & self._divisible()[interval])

    def _new_edges(self) -> np.ndarray:
        """Where each interval would be divided."""
        # Halves are added, not the sum halved: the sum of two large edges could overflow.
        inner = 0.5 * self.edges[:-1] + 0.5 * self.edges[1:]
        return np.concatenate([[self.edges[0] - self.step], inner, [self.edges[-1] + self.step]])

    def _divisible(self) -> np.ndarray:
        """Whether a float lies inside each interval, at which it can be divided."""
        new = self._new_edges()
        below = np.append(-np.inf, self.edges)
        return np.asarray((below < new) & (new < np.append(self.edges, np.inf)))

    def _halve(self, b: int) -> None:
        self.edges = np.insert(self.edges, b, self._new_edges()[b])
        self.cells[b] /= 2  # where the rows are inside the interval is unknown
        self.cells = np.insert(self.cells, b, self.cells[b], axis=0)


def _even_edges(low: float, high: float, size: int) -> np.ndarray:
    """Edges of equal intervals over a range and a margin; a single value gets a range of its own magnitude."""
    if low == high:
        low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    share = np.linspace(-_MARGIN, 1 + _MARGIN, size + 1)
    with np.errstate(over="ignore"):  # the margin may exceed the largest float; it is clipped below
        edges = low * (1 - share) + high * share
    most = np.finfo(np.float64).max
    return np.unique(np.clip(edges, -most, most))


def _running(group: np.ndarray, w: np.ndarray) -> np.ndarray:
    """For every row, the weight of the rows of its group up to and including it."""
    order = np.argsort(group, kind="stable")
    sums = np.cumsum(w[order])
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    before = np.append(0.0, sums)[starts]
    out = np.empty(len(w))
    out[order] = sums - np.repeat(before, np.diff(np.append(starts, len(w))))
    return out


def _ascend(edges: np.ndarray) -> bool:
    return bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())


def _described(edges: np.ndarray) -> str:
    return f"{len(edges) + 1} intervals with edges from {edges[0]:g} to {edges[-1]:g}"
