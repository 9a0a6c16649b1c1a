"""Sketches: where the quantiles of a stream are, from a few hundred of its values.

A summary in the manner of Karnin, Lang and Liberty (KLL): values are kept with weights, and where too many have about
the same weight, neighbours are paired and one of the two stands for both. The coins that decide are numbered and
come from a seed, so the same values give the same answer on every machine, in whatever chunks they come.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tanager.encoding.bins import cut, find_cuts
from tanager.errors import ModelFileError, OptionError

_SHRINK = 2 / 3  # room of a level, as a share of the room of the next heavier one
_ROOM = 8  # values kept on the heaviest level, times the wanted error: leaves a chance below one in a million
_TOO_LARGE_SCALE = 1e100


class QuantileSketch:
    """Quantiles of a number column within a given error of rank, in little memory.

    Parameters
    ----------
    bins : int, default=5
        Number of bins that it should be good for: ranks are off by at most 1 / (10 * bins) of the rows.
    seed : int, default=0
        Of the coins.

    Examples
    --------
    >>> sketch = QuantileSketch(bins=5).update(np.arange(1.0, 10_001.0))
    >>> bool(abs(sketch.quantile(0.5) - 5_000) <= 10_000 / 50)
    True
    >>> QuantileSketch().update([1, 2, 3, 4, 5, 6, 7, 8]).cuts(4)
    array([2., 4., 6.])

    Notes
    -----
    The error is a matter of chance, with a standard deviation of about a tenth of the bound. Memory is O(1/e log(e n))
    values for an error e and n rows; adding a row takes O(log(1/e)).
    """

    def __init__(self, bins: int = 5, seed: int = 0) -> None:
        if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
            raise OptionError(f"bins={bins!r}: give a number of bins of at least 1.")
        self.bins = int(bins)
        self.seed = int(seed)
        self.room = _ROOM * 10 * self.bins
        self.scale = 1.0
        self._flips = 0  # coins thrown so far
        self._kept = _pairs(0)  # values and weights (times the scale) that stand for all older rows
        self._new = _pairs(0)  # rows that have come since

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self._kept[1].sum() + self._new[1].sum()) / self.scale

    def __len__(self) -> int:
        """How many values are kept."""
        return len(self._kept[0]) + len(self._new[0])

    # Rows

    def update(self, values: np.ndarray, weights: np.ndarray | None = None) -> QuantileSketch:
        """Add values. Missing (NaN) and infinite ones and those of weight zero are left out."""
        x = np.asarray(values, dtype=np.float64)
        w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        keep = np.isfinite(x) & (w > 0)
        self._append(x[keep], w[keep] * self.scale)
        return self

    def merge(self, other: QuantileSketch) -> QuantileSketch:
        """Add another sketch, as if its values had come here; the error is that of the coarser one."""
        self._compress()
        share = self.scale / other.scale
        self._kept = _joined(self._kept, (other._kept[0], other._kept[1] * share))
        self._append(other._new[0], other._new[1] * share)
        self._compress()
        return self

    def decay(self, factor: float) -> QuantileSketch:
        """Fade all weights by a factor in (0, 1]. Costs nothing: new rows weigh more instead."""
        if not 0 < factor <= 1:
            raise OptionError(f"decay({factor!r}): the factor must be above 0 and at most 1.")
        self.scale /= factor
        if self.scale > _TOO_LARGE_SCALE:
            self._kept, self._new = ((x, w / self.scale) for x, w in (self._kept, self._new))
            self.scale = 1.0
        return self

    # Quantiles and cut points

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        """The values kept, ascending, and the weight that each stands for."""
        x, w = _joined(self._kept, self._new)
        order = np.argsort(x, kind="stable")
        return x[order], w[order] / self.scale

    def quantile(self, q: float) -> float:
        """The least value kept that has a share of at least q of the rows up to and with it; NaN without rows."""
        if not 0 <= q <= 1:
            raise OptionError(f"quantile({q!r}): give a share of the rows from 0 to 1.")
        x, w = self.items()
        return float(x[_place(w, np.array([q]))[0]]) if len(x) else np.nan

    def rank(self, values: np.ndarray) -> np.ndarray:
        """The share of the rows that are at most as large as each of these values."""
        x, w = self.items()
        up_to = np.append(0.0, np.cumsum(w))
        return np.asarray(up_to[np.searchsorted(x, values, side="right")] / max(up_to[-1], np.finfo(float).tiny))

    def cuts(self, n_bins: int | None = None) -> np.ndarray:
        """Cut points at the quantiles j / n_bins; a value that repeats a lot gives fewer bins."""
        n_bins = n_bins or self.bins
        x, w = self.items()
        if not len(x):
            return np.empty(0)
        cuts = np.unique(x[_place(w, np.arange(1, n_bins) / n_bins)])
        return cuts[cuts < x[-1]]

    # Files

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All there is, by name."""
        numbers = np.array([self.bins, self.seed, self._flips, self.scale])
        return {"kept": np.array(self._kept), "new": np.array(self._new), "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> QuantileSketch:
        """The sketch that ``to_arrays`` described."""
        kept, new, numbers = (arrays[name] for name in ("kept", "new", "numbers"))
        sound = numbers.shape == (4,) and all(a.ndim == 2 and len(a) == 2 for a in (kept, new))
        if not sound or any(array.dtype != np.float64 for array in (kept, new, numbers)):
            raise ModelFileError("its quantile sketches are of another shape")
        bins, seed, flips, scale = numbers.tolist()
        sound = all(np.isfinite(a).all() and (a[1] > 0).all() for a in (kept, new)) and 1 <= scale <= _TOO_LARGE_SCALE
        if not sound or any(value % 1 != 0 for value in (bins, seed, flips)) or bins < 1 or flips < 0:
            raise ModelFileError("its quantile sketches hold numbers that cannot be")
        sketch = cls(int(bins), int(seed))
        sketch.scale, sketch._flips = scale, int(flips)
        sketch._kept, sketch._new = (kept[0].copy(), kept[1].copy()), (new[0].copy(), new[1].copy())
        return sketch

    # Small steps

    def _append(self, x: np.ndarray, w: np.ndarray) -> None:
        """Take rows as they come; each time that there are ``room`` of them, press them into what is kept."""
        at = 0
        while at < len(x):
            end = at + self.room - len(self._new[0])
            self._new = _joined(self._new, (x[at:end], w[at:end]))
            if len(self._new[0]) == self.room:
                self._compress()
            at = end

    def _compress(self) -> None:
        """Pair values of about the same weight where a level has more than its room, the lightest first.

        It ends as soon as there is room for new rows, which leaves the heavier levels as exact as they can be.
        """
        x, w = _joined(self._kept, self._new)
        level = np.frexp(w)[1]
        for e in range(int(level.min(initial=0)), int(level.max(initial=0)) + 1):
            if len(x) <= 2 * self.room:
                break
            here = np.flatnonzero(level == e)
            if len(here) > max(2, self.room * _SHRINK ** (level.max() - e)):
                stay, drop, w[stay] = self._paired(x, w, here)
                level[stay] += 1
                x, w, level = (np.delete(part, drop) for part in (x, w, level))
        self._kept, self._new = (x, w), _pairs(0)

    def _paired(self, x: np.ndarray, w: np.ndarray, here: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which of every two neighbours stays, which goes, and the weight of both; an odd one out is not paired."""
        here = here[np.argsort(x[here], kind="stable")]
        first, second = here[: len(here) // 2 * 2 : 2], here[1::2]
        lower = self._flip() < w[first] / (w[first] + w[second])
        return np.where(lower, first, second), np.where(lower, second, first), w[first] + w[second]

    def _flip(self) -> float:
        """A number in [0, 1) for the next coin; every second one mirrors the one before, so that errors cancel out."""
        n, mirrored = divmod(self._flips, 2)
        self._flips += 1
        u = _uniform(self.seed, n)
        return 1.0 - u if mirrored else u


class LabelledSketch:
    """One sketch for each class of a number column, with the verbs of a ``Grid``.

    Its range need not be known, and what it keeps follows the values; so it suits columns whose scale is unknown.

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
        """Add rows. Missing and infinite values are left out, as are labels beyond the classes."""
        x, y = np.asarray(values, dtype=np.float64), np.asarray(labels)
        for c, sketch in enumerate(self.sketches):
            own = y == c
            sketch.update(x[own], None if weights is None else np.asarray(weights)[own])
        return self

    def decay_classes(self, factors: np.ndarray) -> LabelledSketch:
        """Fade the rows of class c by factors[c]."""
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
        """Cut points by "mdl", "width" or "frequency", as if the values kept were all rows."""
        x, y, w = self._items()
        return find_cuts(x, how, n_bins, encoding, y, w)

    def table(self, cuts: np.ndarray) -> np.ndarray:
        """Weight of the rows in every bin that these cut points make, and class."""
        x, y, w = self._items()
        out = np.zeros((len(cuts) + 1, len(self.sketches)))
        np.add.at(out, (cut(x, cuts).astype(np.intp), y), w)
        return out

    def _items(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values kept, their classes and weights."""
        items = [sketch.items() for sketch in self.sketches]
        labels = np.repeat(np.arange(len(items)), [len(x) for x, _ in items])
        return np.concatenate([x for x, _ in items]), labels, np.concatenate([w for _, w in items])

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All there is, by name."""
        return {f"{c}-{name}": a for c, sketch in enumerate(self.sketches) for name, a in sketch.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_classes: int) -> LabelledSketch:
        """The sketches that ``to_arrays`` described."""
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


def _place(w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """For every share, the first place up to which at least this share of the weight lies."""
    up_to = np.cumsum(w)
    return np.minimum(np.searchsorted(up_to, shares * up_to[-1] * (1 - 1e-12)), len(w) - 1)
