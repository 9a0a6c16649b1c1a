"""Rules for cut points by the first rows of a stream: what the library has, and what was tried beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tanager.encoding.bins import equal_frequency, for_stream, mdl, middle, refined

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def frequency(x: np.ndarray, y: np.ndarray, n_bins: int) -> np.ndarray:
    """So many bins of equal frequency."""
    return equal_frequency(x, n_bins)


def onward(x: np.ndarray, y: np.ndarray, n_bins: int | None = None, rows: int = 0, heavy: bool = False) -> np.ndarray:
    """By class entropy, then large bins go on by equal frequency: to so many in all, or as so many rows would allow.

    ``heavy``: a value that more rows have than a bin should hold weighs as a bin, so that the others get theirs.
    """
    cuts = mdl(x, y)
    distinct, counts = np.unique(x[np.isfinite(x)], return_counts=True)
    if len(distinct) < 2:
        return cuts
    k = n_bins or min(20.0, np.sqrt(rows / (25 * len(np.unique(y)))))
    if len(distinct) <= k:
        return middle(distinct[:-1], distinct[1:])
    weights = levelled(counts, k) if heavy else counts.astype(float)
    ends = [0, *np.searchsorted(distinct, cuts, side="right").tolist(), len(distinct)]
    parts = np.floor(np.add.reduceat(weights, ends[:-1]) / weights.sum() * k + 0.5).astype(int)
    more = [
        equal_frequency(distinct[a:b], own, weights[a:b])
        for a, b, own in zip(ends, ends[1:], parts, strict=False)
        if own > 1
    ]
    return np.sort(np.concatenate([cuts, *more]))


def levelled(counts: np.ndarray, k: float) -> np.ndarray:
    """Counts of values, none of them above the k-th part of all together."""
    counts = counts.astype(float)
    for _ in range(50):
        cap = counts.sum() / k
        if counts.max() <= cap * (1 + 1e-9):
            break
        counts = np.minimum(counts, cap)
    return counts


RULES: dict[str, Rule] = {
    "mdl": mdl,
    "refined": refined,
    "frequency, 5": partial(frequency, n_bins=5),
    "frequency, 10": partial(frequency, n_bins=10),
    "frequency, 20": partial(frequency, n_bins=20),
    "onward to 5": partial(onward, n_bins=5),
    "onward to 8": partial(onward, n_bins=8),
    "stream": for_stream,  # onward to 10
    "onward to 15": partial(onward, n_bins=15),
    "onward to 20": partial(onward, n_bins=20),
    "onward to 10, heavy": partial(onward, n_bins=10, heavy=True),
    "for 3,000 rows": partial(onward, rows=3_000),
    "for 5,000 rows": partial(onward, rows=5_000),
    "for 10,000 rows": partial(onward, rows=10_000),
    "for 20,000 rows": partial(onward, rows=20_000),
}
