"""HalfLives over hundreds of columns: what is lost and gained where AODE sees few of them.

``python -m benchmarks.wide_streams [parts of names]`` prints log loss, accuracy and rows per second of the processor,
every row answered and then learned, with 32 and 64 columns for AODE and with all of them (which takes minutes).
``TANAGER_DATA`` names the folder with dna180; the other streams are made here, and none of them is one that is reported
elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.many_columns import topic_table, tree_table
from tanager import HalfLives
from tanager.datasets import load

Rows = tuple[np.ndarray, np.ndarray]


def topics(change: bool) -> Rows:
    """Words by topics; from the middle on with other topics."""
    (X, y), (other, z) = topic_table(2000, 250, 21), topic_table(2000, 250, 22)
    return (np.concatenate([X[:1000], other[:1000]]), np.concatenate([y[:1000], z[:1000]])) if change else (X, y)


def trees(change: bool) -> Rows:
    """A tree over the columns, and more and more rows of another one."""
    (X, y), (other, z) = tree_table(2000, 200, 23), tree_table(2000, 200, 24)
    if not change:
        return X, y
    late = np.random.default_rng(3).random(2000) < np.clip((np.arange(2000) - 500) / 1000, 0, 1)
    return np.where(late[:, None], other, X), np.where(late, z, y)


def digits() -> Rows:
    """Three thresholds for every pixel; digits that differ by five are one class."""
    data = load_digits()
    order = np.random.default_rng(3).permutation(len(data.target))[:1500]
    X = np.concatenate([data.data > 2, data.data > 7, data.data > 12], axis=1)[order]
    return X.astype(np.uint8), data.target[order] % 5


def dna() -> Rows:
    """2,000 rows of dna180, shuffled."""
    data = load("dna180")
    codes = np.column_stack([np.unique(cells.to_numpy(), return_inverse=True)[1] for cells in data.X.columns])
    order = np.random.default_rng(3).permutation(2000)
    return codes[order].astype(np.uint8), np.unique(data.y, return_inverse=True)[1][order]


STREAMS: dict[str, Callable[[], Rows]] = {
    "topics, none": lambda: topics(False),
    "topics, abrupt": lambda: topics(True),
    "tree, none": lambda: trees(False),
    "tree, gradual": lambda: trees(True),
    "digits": digits,
    "dna180": dna,
}


def main(wanted: list[str]) -> None:
    for name in (name for name in STREAMS if not wanted or any(part in name for part in wanted)):
        X, y = STREAMS[name]()
        for columns in (32, 64, None):
            start = time.thread_time()
            proba = HalfLives(max_columns=columns).test_then_train(X.astype(np.uint8), y)
            speed = len(y) / (time.thread_time() - start)
            loss = -np.log(np.maximum(proba[np.arange(len(y)), y], 1e-15)).mean()
            right = (proba.argmax(axis=1) == y).mean()
            print(f"{name:16}{columns or 'all':>4} {loss:.4f} {right:.4f} {speed:7,.0f} rows/s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
