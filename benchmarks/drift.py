"""DriftAware over a stream like that of electricity prices: numbers that wander, labels in runs, and many drifts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.harness import Line, best_times, rate
from tanager import AODE, DriftAware, NaiveBayes
from tanager.learning.classifier import Classifier

N_ROWS = 45_312
BAR = 100_000.0  # rows/s
DELAY = 50  # rows after which a label comes, where labels are late
KINDS = (NaiveBayes, AODE)


def wandering(n_rows: int = N_ROWS, n_columns: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Prices and demands: the first columns go in circles of a day and a week, the others wander.

    The class is whether one wandering column is above its recent mean, by which columns and how firmly changes every
    thousand rows or so; so labels come in runs, and a model that answers well goes wrong soon.
    """
    rng = np.random.default_rng(seed)
    at = np.arange(n_rows)
    X = np.empty((n_rows, n_columns))
    X[:, 0], X[:, 1] = at % 48 / 47, at // 48 % 7
    for i in range(2, n_columns):
        X[:, i] = _walk(rng.normal(size=n_rows), 0.98) + _walk(rng.normal(size=n_rows), 0.9995) * 0.3
    y = np.empty(n_rows, dtype=int)
    start = 0
    while start < n_rows:
        end = min(n_rows, start + int(rng.integers(400, 1600)))
        slope = rng.normal(size=n_columns - 2) * (rng.random(n_columns - 2) < 0.5)
        level = X[start:end, 2:] @ slope + 2.0 * np.sin(2 * np.pi * (X[start:end, 0] + rng.random()))
        y[start:end] = level + _walk(rng.normal(size=end - start), 0.9) > np.median(level)
        start = end
    return X, y


def _walk(steps: np.ndarray, keep: float) -> np.ndarray:
    """An autoregressive walk."""
    out, here = np.empty_like(steps), 0.0
    for r, step in enumerate(steps.tolist()):
        here = out[r] = keep * here + step
    return out


def late(model: Classifier, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Learn each row while the one that came DELAY rows after it is answered."""
    return DriftAware(model).test_then_train(X[:-DELAY], y[:-DELAY], answered=X[DELAY:])


def lines() -> Iterator[Line]:
    for n_columns in (8, 20):
        X, y = wandering(n_columns=n_columns)
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(n_columns)])
        tables = {"arrays": X, "frames": frame}
        ways = {
            (kind.__name__, what): lambda kind=kind, table=table, y=y: DriftAware(kind()).test_then_train(table, y)
            for kind in KINDS
            for what, table in tables.items()
        } | {(kind.__name__, "late labels"): lambda kind=kind, X=X, y=y: late(kind(), X, y) for kind in KINDS}
        times = best_times({f"{name}, {what}": way for (name, what), way in ways.items()}, repeats=4)
        for name, what in ways:
            rows = len(X) / times[f"{name}, {what}"]
            label = f"DriftAware({name}), {n_columns} numbers, {what}: rows/s / 100k"
            yield Line(label, rate(rows), rows / BAR, 1.0, at_most=False)
