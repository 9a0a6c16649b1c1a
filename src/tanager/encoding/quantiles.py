"""Quantile sketches: approximate quantiles of a stream from a few hundred of its values.

A weighted sketch in the manner of Karnin, Lang and Liberty (KLL). Values are kept with weights; a level holds the
values whose weights have the same binary exponent. Where a level is over its capacity, neighbouring values are paired,
and one of each pair, chosen at random, takes the weight of both. The random numbers are a counted sequence from a seed,
so the same values give the same sketch on every machine, in whatever chunks they come.

Plain KLL counts whole rows. Here weights are real numbers, because rows have weights and because old rows fade: levels
by exponent, and pairs chosen in proportion to their weights (so that ranks stay unbiased), are what that takes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tanager import saved
from tanager.encoding.bins import cut, find_cuts
from tanager.errors import ModelFileError, OptionError

_SHRINK = 2 / 3  # capacity of a level relative to the next heavier one; the constant of the paper
_CAPACITY = 8  # of the heaviest level, divided by 1 / error: the bound then fails less than once in a million
_MAX_SCALE = 1e100  # far from overflow: weights of rows are multiplied by the scale, and add up


class QuantileSketch:
    """Quantiles of a numeric column within a given rank error, in little memory.

    Parameters
    ----------
    bins : int, default=5
        Number of bins to be cut: ranks are off by at most 1 / (10 * bins) of the rows.
    seed : int, default=0
        Of the random choices.

    Examples
    --------
    >>> sketch = QuantileSketch(bins=5).update(np.arange(1.0, 10_001.0))
    >>> bool(abs(sketch.quantile(0.5) - 5_000) <= 10_000 / 50)
    True
    >>> QuantileSketch().update([1, 2, 3, 4, 5, 6, 7, 8]).cuts(4)
    array([2., 4., 6.])

    Notes
    -----
    The error is random, with a standard deviation of about a tenth of the bound. Memory is O(1/e log(e n))
    values for an error e and n rows; adding a row takes O(log(1/e)).
    """

    def __init__(self, bins: int = 5, seed: int = 0) -> None:
        if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
            raise OptionError(f"bins={bins!r} must be a whole number of at least 1.")
        self.bins = int(bins)
        self.seed = int(seed)
        self.capacity = _CAPACITY * 10 * self.bins
        self.scale = 1.0
        self._n_flips = 0  # random choices so far
        # Values, and weights times the scale.
        self._kept = _pairs(0)  # those that stand for all older rows
        self._buffer = _pairs(0)  # rows since the last compression

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self._kept[1].sum() + self._buffer[1].sum()) / self.scale

    def __len__(self) -> int:
        """Number of values stored."""
        return len(self._kept[0]) + len(self._buffer[0])

    # Rows

    def update(self, values: np.ndarray, weights: np.ndarray | None = None) -> QuantileSketch:
        """Add values. NaN, infinite values and those of weight zero are ignored."""
        x = np.asarray(values, dtype=np.float64)
        w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        keep = np.isfinite(x) & (w > 0)
        self._append(x[keep], w[keep] * self.scale)
        return self

    def merge(self, other: QuantileSketch) -> QuantileSketch:
        """Add another sketch, as if its rows had been added here; the error is that of the coarser one."""
        self._compress()
        share = self.scale / other.scale
        self._kept = _joined(self._kept, (other._kept[0], other._kept[1] * share))
        self._append(other._buffer[0], other._buffer[1] * share)
        self._compress()
        return self

    def decay(self, factor: float) -> QuantileSketch:
        """Multiply all weights by a factor in (0, 1]. Takes constant time: later rows are scaled up instead."""
        if not 0 < factor <= 1:
            raise OptionError(f"decay({factor!r}): the factor must be above 0 and at most 1.")
        self.scale /= factor
        if self.scale > _MAX_SCALE:
            self._kept, self._buffer = ((x, w / self.scale) for x, w in (self._kept, self._buffer))
            self.scale = 1.0
        return self

    # Quantiles and cut points

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        """The stored values, ascending, and the weight that each stands for."""
        x, w = _joined(self._kept, self._buffer)
        order = np.argsort(x, kind="stable")
        return x[order], w[order] / self.scale

    def quantile(self, q: float) -> float:
        """The least stored value x such that a share of at least q of the rows are <= x; NaN without rows."""
        if not 0 <= q <= 1:
            raise OptionError(f"quantile({q!r}): q must be from 0 to 1.")
        x, w = self.items()
        return float(x[_position(w, np.array([q]))[0]]) if len(x) else np.nan

    def rank(self, values: np.ndarray) -> np.ndarray:
        """For each of these values, the share of the rows that are <= it."""
        x, w = self.items()
        up_to = np.append(0.0, np.cumsum(w))
        return np.asarray(up_to[np.searchsorted(x, values, side="right")] / max(up_to[-1], np.finfo(float).tiny))

    def cuts(self, n_bins: int | None = None) -> np.ndarray:
        """Cut points at the quantiles j / n_bins; a frequent value gives fewer bins."""
        n_bins = n_bins or self.bins
        x, w = self.items()
        if not len(x):
            return np.empty(0)
        cuts = np.unique(x[_position(w, np.arange(1, n_bins) / n_bins)])
        return np.asarray(cuts[cuts < x[-1]])

    # Files

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        numbers = np.array([self.bins, self.seed, self._n_flips, self.scale])
        return {"kept": np.array(self._kept), "new": np.array(self._buffer), "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> QuantileSketch:
        """The sketch whose state ``to_arrays`` returned. Raises ModelFileError for an invalid state."""
        cells = saved.numbers(2, None)
        expected = {"kept": cells, "new": cells, "numbers": saved.array("f8", 4)}
        kept, new, numbers = saved.read("quantiles of its number columns", arrays, expected).values()
        bins, seed, flips, scale = numbers.tolist()
        sound = (
            all((a[1] > 0).all() and (a[1] <= saved.LARGEST).all() for a in (kept, new)) and 1 <= scale <= _MAX_SCALE
        )
        whole = all(0 <= value < 2**53 and value % 1 == 0 for value in (bins, seed, flips))
        if not sound or not whole or not 1 <= bins < 2**24:
            raise ModelFileError(f"the quantiles of its number columns hold {numbers.tolist()}, which cannot be")
        sketch = cls(int(bins), int(seed))
        sketch.scale, sketch._n_flips = scale, int(flips)
        sketch._kept, sketch._buffer = (kept[0].copy(), kept[1].copy()), (new[0].copy(), new[1].copy())
        return sketch

    # Compression

    def _append(self, x: np.ndarray, w: np.ndarray) -> None:
        """Buffer rows, and compress each time that there are ``capacity`` of them.

        Compression happens after fixed numbers of rows, not at the ends of chunks: chunks do not change the sketch.
        """
        at = 0
        while at < len(x):
            end = at + self.capacity - len(self._buffer[0])
            self._buffer = _joined(self._buffer, (x[at:end], w[at:end]))
            if len(self._buffer[0]) == self.capacity:
                self._compress()
            at = end

    def _compress(self) -> None:
        """Pair values of levels that are over their capacity, the lightest level first.

        It stops as soon as the whole is small enough, which leaves the heavier levels as exact as possible: an error
        made among heavy values weighs more.
        """
        x, w = _joined(self._kept, self._buffer)
        level = np.frexp(w)[1]  # binary exponents: weights on a level differ by less than a factor of two
        for e in range(int(level.min(initial=0)), int(level.max(initial=0)) + 1):
            if len(x) <= 2 * self.capacity:
                break
            here = np.flatnonzero(level == e)
            if len(here) > max(2, self.capacity * _SHRINK ** (level.max() - e)):
                stay, drop, w[stay] = self._paired(x, w, here)
                level[stay] += 1  # the sum of two weights of one level is exactly one level up
                x, w, level = (np.delete(part, drop) for part in (x, w, level))
        self._kept, self._buffer = (x, w), _pairs(0)

    def _paired(self, x: np.ndarray, w: np.ndarray, here: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which of every two neighbours stays, which goes, and their joint weight; an odd one out is not paired."""
        here = here[np.argsort(x[here], kind="stable")]
        first, second = here[: len(here) // 2 * 2 : 2], here[1::2]
        # One random number for all pairs, as in KLL: errors of neighbouring pairs then cancel out instead of adding up.
        lower = self._flip() < w[first] / (w[first] + w[second])
        return np.where(lower, first, second), np.where(lower, second, first), w[first] + w[second]

    def _flip(self) -> float:
        """The next random number in (0, 1); every second one mirrors the one before, so that errors cancel out."""
        n, mirrored = divmod(self._n_flips, 2)
        self._n_flips += 1
        u = _uniform(self.seed, n)
        return 1.0 - u if mirrored else u


class LabelledSketch:
    """One sketch for each class of a numeric column, with the methods of a ``Grid``.

    It needs no range, and its resolution follows the values; so it suits columns whose scale is unknown or changes.

    Examples
    --------
    >>> sketch = LabelledSketch(n_classes=2)
    >>> sketch.update(np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5]), np.array([0, 0, 0, 1, 1, 1])).cuts("mdl")
    array([3.])
    """

    def __init__(self, n_classes: int, bins: int = 5) -> None:
        self.bins = bins
        self.sketches = [QuantileSketch(bins, seed=c) for c in range(n_classes)]

    def update(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> LabelledSketch:
        """Add rows. NaN, infinite values and labels beyond the classes are ignored."""
        x, y = np.asarray(values, dtype=np.float64), np.asarray(labels)
        for c, sketch in enumerate(self.sketches):
            own = y == c
            sketch.update(x[own], None if weights is None else np.asarray(weights)[own])
        return self

    def decay_classes(self, factors: np.ndarray) -> LabelledSketch:
        """Multiply the weights of class c by factors[c]."""
        for sketch, factor in zip(self.sketches, factors.tolist(), strict=True):
            sketch.decay(factor)
        return self

    def move_classes(self, places: np.ndarray, n_classes: int) -> LabelledSketch:
        """The same rows among more classes: class c is now places[c]."""
        old, self.sketches = self.sketches, [QuantileSketch(self.bins, seed=c) for c in range(n_classes)]
        for c, sketch in zip(places.tolist(), old, strict=True):
            self.sketches[c] = sketch
        return self

    def cuts(self, how: str = "mdl", n_bins: int = 5, encoding: str = "n-1") -> np.ndarray:
        """Cut points by one of the ``METHODS`` of ``tanager.encoding.bins``, as if the stored values were all rows."""
        x, y, w = self._items()
        return find_cuts(x, how, n_bins, encoding, y, w)

    def table(self, cuts: np.ndarray) -> np.ndarray:
        """Weight of the rows in every bin of these cut points (first axis) and class."""
        x, y, w = self._items()
        out = np.zeros((len(cuts) + 1, len(self.sketches)))
        np.add.at(out, (cut(x, cuts).astype(np.intp), y), w)
        return out

    def _items(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Stored values, their classes and weights."""
        items = [sketch.items() for sketch in self.sketches]
        labels = np.repeat(np.arange(len(items)), [len(x) for x, _ in items])
        return np.concatenate([x for x, _ in items]), labels, np.concatenate([w for _, w in items])

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        return {f"{c}-{name}": a for c, sketch in enumerate(self.sketches) for name, a in sketch.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_classes: int) -> LabelledSketch:
        """The sketches whose state ``to_arrays`` returned."""
        new = cls(n_classes)
        names = ("kept", "new", "numbers")
        new.sketches = [
            QuantileSketch.from_arrays({name: arrays[f"{c}-{name}"] for name in names}) for c in range(n_classes)
        ]
        new.bins = max((sketch.bins for sketch in new.sketches), default=5)
        return new


def _uniform(seed: int, n: int) -> float:
    """The n-th number of a seeded sequence (SplitMix64), in (0, 1)."""
    mask = (1 << 64) - 1
    z = (seed + (n + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return ((z ^ (z >> 31)) >> 11) / 2**53 + 2.0**-54


def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n), np.empty(n)


def _joined(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _position(w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """For every share, the first position up to which at least this share of the weight lies."""
    up_to = np.cumsum(w)
    # The tolerance keeps a share such as 3/10 from missing its position by rounding.
    return np.asarray(np.minimum(np.searchsorted(up_to, shares * up_to[-1] * (1 - 1e-12)), len(w) - 1))
