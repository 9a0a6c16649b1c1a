"""From moments to normal distributions: the same few rules for every classifier with Gaussian columns.

- The variance is the mean squared deviation; with ``ddof=1`` it is divided by n - 1 in place of n, from two rows on.
- A class without values takes the moments of all classes.
- The deviation is at least a hundredth of that of all rows: a value that is constant in a class would have an infinite
  density there. Where all rows have one value it is 1: the same in all classes.
- Numbers that are more than 2^40 such deviations away from the mean of all rows are answered as if they were there. The
  answer no longer changes so far out: the widest class has won, or of equals the nearest.

Everything here depends on sums that can be taken back, so that rows that were unlearned are forgotten altogether.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tanager.counts.exact_sums import Cells
from tanager.errors import OptionError

NOTHING = 1e-9  # a smaller weight is what rounding leaves of a class whose rows were all removed
LARGEST = 2.0**1022  # numbers beyond are taken as this: differences of two stay finite
LEAST_SHARE = 1e-2  # of 1e-3, 3e-3 and 1e-2 the best on the data of docs/gaussian.md; more helps pixels alone
FAR = 2.0**40
_FEW = 64  # numbers of a row or two: Python looks at them in less time than NumPy takes to begin
_NO_SHARE = 1e-15  # of all rows: classes that have faded so far are cut, and say nothing about the others
_MOST = 1e150  # deviations from the mean of a class: the square stays finite
_SMALLEST = 2.0**-1022
_HALF_LOG_TWO_PI = 0.5 * np.log(2 * np.pi)


def usable_numbers(numbers: np.ndarray | None) -> np.ndarray:
    """Numbers whose differences are finite; infinite ones are missing."""
    assert numbers is not None  # they come with the rows where columns are Gaussian
    if 0 < numbers.size <= _FEW:  # NaN is not below anything: where it comes first, the long way is taken
        cells = numbers.ravel().tolist()
        if max(cells) <= LARGEST and min(cells) >= -LARGEST:
            return np.ascontiguousarray(numbers)
    if (np.abs(numbers) <= LARGEST).all():
        return np.ascontiguousarray(numbers)
    return np.ascontiguousarray(np.where(np.isinf(numbers), np.nan, np.clip(numbers, -LARGEST, LARGEST)))


class Normals(NamedTuple):
    """Means of normal distributions, inverse deviations, and logs of their densities at the mean."""

    mean: np.ndarray
    inverse: np.ndarray
    top: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Normals:
        """All three, changed alike."""
        return Normals(change(self.mean), change(self.inverse), change(self.top))

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """The log density of values of the same shape; 0 where they are missing."""
        out = values - self.mean
        out *= self.inverse
        np.clip(out, -_MOST, _MOST, out=out)
        out *= out
        out *= -0.5
        out += self.top
        return np.where(np.isnan(values), 0.0, out)


class AllRows(NamedTuple):
    """Mean and deviation of the rows of all classes, and the least deviation that follows from them."""

    mean: np.ndarray
    deviation: np.ndarray
    least: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> AllRows:
        """All three, changed alike."""
        return AllRows(change(self.mean), change(self.deviation), change(self.least))


def all_rows(own: Cells, axis: int, ddof: int) -> AllRows:
    """The rows of all classes; where they do not vary, or there are none, deviations are 1."""
    _, mean, deviation = by_rule(pool(own, axis), ddof)
    varied = deviation > 0
    least = np.where(varied, np.maximum(LEAST_SHARE * deviation, _SMALLEST), 1.0)
    return AllRows(mean, np.where(varied, deviation, 1.0), least)


def normals_of(mean: np.ndarray, deviation: np.ndarray, every: AllRows) -> Normals:
    """Normal distributions with the least deviation."""
    wide = np.maximum(deviation, every.least)
    return Normals(mean, 1.0 / wide, -np.log(wide) - _HALF_LOG_TWO_PI)


def within_reach(values: np.ndarray, every: AllRows) -> np.ndarray:
    """Numbers brought to where answers still change."""
    with np.errstate(over="ignore"):
        reach = FAR * every.deviation
        return np.ascontiguousarray(np.clip(values, every.mean - reach, every.mean + reach))


def check_ddof(ddof: object) -> None:
    """Raise OptionError for anything but 0 and 1."""
    if isinstance(ddof, bool | np.ndarray) or ddof not in (0, 1):
        raise OptionError(f"ddof={ddof!r}: variances are divided by n (ddof=0) or by n - 1 (ddof=1).")


def pool(cells: Cells, axis: int) -> Cells:
    """The moments of all rows along an axis."""
    weight, mean, deviation = cells
    with np.errstate(over="ignore"):
        total = weight.sum(axis=axis)
    share = weight / np.expand_dims(np.where(total > 0, total, 1.0), axis)
    share = np.where(share > _NO_SHARE, share, 0.0)
    # Distances from the mean of one class: where all have the same mean, or next to it, nothing is rounded.
    heaviest = np.take_along_axis(mean, np.expand_dims(share.argmax(axis=axis), axis), axis)
    beside = mean - heaviest
    shift = (share * beside).sum(axis=axis)
    middle = np.squeeze(heaviest, axis) + shift
    apart = np.where(share > 0, np.abs(beside - np.expand_dims(shift, axis)), 0.0)
    deviation = np.where(share > 0, deviation, 0.0)
    widest = np.maximum(apart, deviation).max(axis=axis, initial=0.0)  # squares of ratios stay finite
    unit = np.expand_dims(np.where(widest > 0, widest, 1.0), axis)
    spread = widest * np.sqrt((share * ((deviation / unit) ** 2 + (apart / unit) ** 2)).sum(axis=axis))
    return Cells(total, middle, spread)


def by_rule(cells: Cells, ddof: int) -> Cells:
    """Deviations of a variance that is divided by n - ddof, from two rows on."""
    if ddof == 0:
        return cells
    many = cells.weight >= 2
    factor = np.sqrt(np.divide(cells.weight, cells.weight - ddof, out=np.ones_like(cells.weight), where=many))
    return Cells(cells.weight, cells.mean, cells.deviation * factor)


def centre_of(own: Cells, every: AllRows) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every class, or of all classes where one has no values."""
    known = own.weight > NOTHING
    return np.where(known, own.mean, every.mean), np.where(known, own.deviation, every.deviation)


def shrunk(cells: Cells, mean: np.ndarray, deviation: np.ndarray, pseudo_rows: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of contexts with some rows of their class (mean, deviation) beside their own."""
    share = np.where(cells.weight > NOTHING, cells.weight / (cells.weight + pseudo_rows), 0.0)
    away = np.where(share > 0, cells.mean - mean, 0.0)
    spread = np.hypot(np.sqrt(share) * cells.deviation, np.sqrt(1 - share) * deviation)
    return mean + share * away, np.hypot(spread, np.sqrt(share * (1 - share)) * away)
