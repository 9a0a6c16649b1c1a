"""Moments: weight, mean and variance of numeric columns per class, with the operations of counts.

Means and squared deviations are updated by the rules of Welford and of Chan, Golub and LeVeque; sums of squares would
lose all digits for values such as 1e9 + 4. Unlike counts, moments of the same rows agree only up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block
from tanager.errors import ModelFileError

NOTHING = 1e-9  # a smaller weight is what rounding leaves of a class whose rows were all removed
_MIN_VARIANCE = 1e-9
_MIN_DEVIATION = 1e-3  # of the range of a column


class Moments:
    """Weight W, mean and sum of squared deviations S of every column (second axis) in every class (first axis)."""

    def __init__(self, n_classes: int, n_columns: int) -> None:
        self.weight = np.zeros((n_classes, n_columns))
        self.mean = np.zeros((n_classes, n_columns))
        self.squares = np.zeros((n_classes, n_columns))
        self.low = np.full(n_columns, np.inf)
        self.high = np.full(n_columns, -np.inf)

    @property
    def n_columns(self) -> int:
        """How many numbers come with a row."""
        return self.weight.shape[1]

    def add_block(self, block: Block) -> None:
        """Add encoded rows."""
        assert block.numbers is not None
        self.update(block.numbers, block.labels, block.weights)

    def remove_block(self, block: Block) -> None:
        """Remove encoded rows."""
        assert block.numbers is not None
        self.subtract(block.numbers, block.labels, block.weights)

    def update(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Moments:
        """Add rows. NaN is missing; rows with labels beyond the classes are ignored."""
        rows = _moments_of(values, labels, weights, len(self.weight))
        finite = np.where(np.isfinite(values), values, np.nan)
        for j in range(values.shape[1]):
            column = finite[:, j][~np.isnan(finite[:, j])]
            if len(column):
                rows.low[j], rows.high[j] = column.min(), column.max()
        return self.merge(rows)

    def merge(self, other: Moments) -> Moments:
        """Add other moments over the same classes and columns."""
        total = self.weight + other.weight
        share = np.divide(other.weight, total, out=np.zeros_like(total), where=total > 0)
        shift = other.mean - self.mean
        self.mean = self.mean + shift * share
        self.squares = self.squares + other.squares + shift**2 * self.weight * share
        self.weight = total
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return self

    def subtract(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Moments:
        """Remove rows. The range of the columns stays as it was."""
        gone = _moments_of(values, labels, weights, len(self.weight))
        total = self.weight - gone.weight
        left = total > NOTHING
        # The update by Chan's rule, solved for the moments before it; squares are clipped, as rounding may go below 0.
        share = np.divide(gone.weight, total, out=np.zeros_like(total), where=left)
        mean = self.mean - (gone.mean - self.mean) * share
        between = (
            (gone.mean - mean) ** 2 * total * np.divide(gone.weight, self.weight, out=np.zeros_like(total), where=left)
        )
        self.squares = np.where(left, np.maximum(self.squares - gone.squares - between, 0.0), 0.0)
        self.mean, self.weight = np.where(left, mean, 0.0), np.where(left, total, 0.0)
        return self

    def decay(self, factor: float | np.ndarray) -> Moments:
        """Multiply the weights by a factor, or by one per class (first axis). Means stay."""
        self.weight, self.squares = self.weight * factor, self.squares * factor
        return self

    def move_classes(self, places: np.ndarray, n_classes: int) -> Moments:
        """The same moments among more classes: class c is now places[c]."""
        new = Moments(n_classes, self.weight.shape[1])
        for name in ("weight", "mean", "squares"):
            getattr(new, name)[places] = getattr(self, name)
        new.low, new.high = self.low, self.high
        return new

    def project(self, columns: list[int]) -> Moments:
        """The moments of some columns, in the order given."""
        new = Moments(len(self.weight), len(columns))
        for name in ("weight", "mean", "squares", "low", "high"):
            setattr(new, name, getattr(self, name)[..., columns])
        return new

    def log_density(self, values: np.ndarray, leave_out: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        """Sum over the columns of log N(value; mean, variance) for every class; missing cells add 0.

        With ``leave_out`` (labels and weights of the rows) each row is first removed from its own class. Variances are
        at least (0.001 of the column's range)² and 1e-9. A class without values takes the moments of all classes.
        """
        floor = variance_floor(self.low, self.high)
        total = np.zeros((len(values), len(self.weight)))
        pooled = _pool(self)
        for c in range(len(self.weight)):
            w, mean, squares = (np.broadcast_to(a[c], values.shape) for a in (self.weight, self.mean, self.squares))
            if leave_out is not None:
                labels, weights = leave_out
                own = np.where(labels == c, weights, 0.0)[:, None] * ~np.isnan(values)
                left = w - own
                away = values - mean
                moved = np.divide(own * away, left, out=np.zeros_like(values), where=left > NOTHING)
                new_mean = mean - np.nan_to_num(moved)
                new_squares = np.maximum(squares - np.nan_to_num(own * away * (values - new_mean)), 0.0)
                w, mean, squares = left, np.where(own > 0, new_mean, mean), np.where(own > 0, new_squares, squares)
            known = w > NOTHING
            mean = np.where(known, mean, pooled[0])
            variance = np.divide(squares, w, out=np.broadcast_to(pooled[1], values.shape).copy(), where=known)
            variance = np.maximum(variance, floor)
            density = -0.5 * (np.log(2 * np.pi * variance) + (values - mean) ** 2 / variance)
            total[:, c] = np.where(np.isfinite(values), density, 0.0).sum(axis=1)
        return total

    def stream(
        self,
        values: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        out: np.ndarray,
        asked: np.ndarray | None = None,
        fade: np.ndarray | None = None,
        per_class: bool = False,
        leaving: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
        gone: np.ndarray | None = None,
    ) -> None:
        """Test, then train: ``log_density`` of each row (or of those in ``asked``) into ``out``, then the row is added.

        Before it is added everything fades by fade[r], or only its class; after it gone[r] rows leave, oldest first.
        """
        for name in ("weight", "mean", "squares", "low", "high"):  # the kernel changes them in place
            setattr(self, name, np.ascontiguousarray(getattr(self, name)))
        _kernels.stream_moments(
            np.ascontiguousarray(values),
            labels,
            weights,
            self.weight,
            self.mean,
            self.squares,
            self.low,
            self.high,
            out,
            None if asked is None else np.ascontiguousarray(asked),
            fade,
            per_class,
            leaving,
            gone,
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        return {f"moments-{name}": value for name, value in vars(self).items()}

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> Moments:
        """Moments of the same size, with the state that ``to_arrays`` returned. Raises ModelFileError for another."""
        new = Moments(*self.weight.shape)
        for name, empty in vars(new).items():
            found = arrays[f"moments-{name}"]
            if found.shape != empty.shape or found.dtype != np.float64 or np.isnan(found).any():
                raise ModelFileError(f"its moments ({name}) do not match its columns and classes")
            setattr(new, name, found)
        return new


def variance_floor(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The least variance of columns with this range.

    A constant column would have an infinite density at its value, and outweigh all others.
    """
    span = np.where(high > low, high - low, 0.0)
    return np.maximum(_MIN_VARIANCE, (_MIN_DEVIATION * span) ** 2)


def _moments_of(values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, n_classes: int) -> Moments:
    """The moments of some rows, in two passes."""
    out = Moments(n_classes, values.shape[1])
    w = np.ones(len(values)) if weights is None else weights
    for c in range(n_classes):
        rows = labels == c
        x, own = values[rows], np.isfinite(values[rows]) * w[rows][:, None]
        out.weight[c] = own.sum(axis=0)
        filled = np.where(np.isfinite(x), x, 0.0)
        out.mean[c] = np.divide(
            (filled * own).sum(axis=0), out.weight[c], out=np.zeros(values.shape[1]), where=out.weight[c] > 0
        )
        out.squares[c] = (own * (filled - out.mean[c]) ** 2).sum(axis=0)
    return out


def _pool(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column over all classes."""
    total = moments.weight.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    mean = (moments.weight * moments.mean).sum(axis=0) / safe
    squares = (moments.squares + moments.weight * (moments.mean - mean) ** 2).sum(axis=0)
    return mean, np.where(total > 0, squares / safe, 1.0)
