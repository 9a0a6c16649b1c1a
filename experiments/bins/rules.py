"""Rules for cut points, from values and labels: what the library has, and what was tried beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tanager.encoding.bins import cut, equal_frequency, mdl, refined

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def frequency(x: np.ndarray, y: np.ndarray, n_bins: int) -> np.ndarray:
    """So many bins, however many rows there are."""
    return equal_frequency(x, n_bins)


def root(x: np.ndarray, y: np.ndarray, power: float, factor: float = 1.0) -> np.ndarray:
    """Bins of equal frequency, their number a root of the number of rows: 3 to 40."""
    n_rows = np.isfinite(x).sum()
    return equal_frequency(x, int(np.clip(round(factor * n_rows**power), 3, 40)))


def mdl_or_root(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By class entropy; where that finds nothing, by frequency."""
    cuts = mdl(x, y)
    return cuts if len(cuts) else root(x, y, 1 / 3)


def merged(x: np.ndarray, y: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Many bins of equal frequency, of which neighbours are merged by the classes of rows that are left out.

    Each row of a bin is left out of it in turn; the logarithm of the probability of its class by the others is added
    up. The two neighbours that gain most by a merger are merged, as long as none loses more than ``least``.
    """
    cuts = root(x, y, 1 / 3, 4.0)
    there = np.isfinite(x)
    n_classes = int(y.max()) + 1
    cell = cut(x[there], cuts).astype(np.intp) * n_classes + y[there]
    counts = np.bincount(cell, minlength=(len(cuts) + 1) * n_classes).reshape(-1, n_classes).astype(float)
    prior = (counts.sum(axis=0) + 1) / (counts.sum() + n_classes)
    score = partial(left_out, prior=prior)
    bins, own, kept = list(counts), score(counts).tolist(), cuts.tolist()
    while kept:
        joined = np.array(bins[:-1]) + np.array(bins[1:])
        together = score(joined)
        gain = together - np.array(own[:-1]) - np.array(own[1:])
        j = int(np.argmax(gain))
        if gain[j] < -least:
            break
        bins[j : j + 2], own[j : j + 2] = [joined[j]], [float(together[j])]
        del kept[j]
    return np.array(kept)


def left_out(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """For every bin, the log probability of the class of each row by its other rows and the prior, added up."""
    others = counts.sum(axis=1, keepdims=True)  # less the row itself, and one row's worth of prior
    return np.asarray(
        (counts * np.log(np.maximum(counts - 1, 0) + prior) - counts * np.log(others + (others == 0))).sum(1)
    )


RULES: dict[str, Rule] = {
    "mdl": mdl,
    "refined": refined,
    "refined, 12 rows": partial(refined, rows_per_cell=12),
    "refined, 50 rows": partial(refined, rows_per_cell=50),
    "refined, 100 rows": partial(refined, rows_per_cell=100),
    "mdl, or cube root": mdl_or_root,
    "frequency, 5": partial(frequency, n_bins=5),
    "frequency, 10": partial(frequency, n_bins=10),
    "frequency, 20": partial(frequency, n_bins=20),
    "frequency, half cube root": partial(root, power=1 / 3, factor=0.5),
    "frequency, cube root": partial(root, power=1 / 3),
    "frequency, square root": partial(root, power=1 / 2),
    "merged": merged,
    "merged, at a loss of 2": partial(merged, least=2.0),
}
REPORTED = ("mdl", "refined")  # what the other half of the data sets is asked about
