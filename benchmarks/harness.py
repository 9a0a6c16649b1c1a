"""What all benchmarks share: data, fair timing, and the lines of the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """One line of the table: a ratio, and the bar it must reach ("at most" for times, "at least" for rates)."""

    what: str
    figures: str
    ratio: float
    bar: float
    at_most: bool = True

    @property
    def holds(self) -> bool:
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar


def best_times(
    ways: Mapping[str, Callable[[], object]],
    repeats: int = 5,
    *,
    most_seconds: float = 20.0,
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, float]:
    """Seconds of each way on its own thread's clock, best of several rounds in which all take turns.

    CPU time of the calling thread leaves out what other processes did meanwhile; ways that use further threads are
    timed by another clock: that of the process, or of the wall. A way that is slow by itself is not repeated beyond
    ``most_seconds``.
    """
    best = dict.fromkeys(ways, float("inf"))
    spent = dict.fromkeys(ways, 0.0)
    for turn in range(repeats):
        for name, way in ways.items():
            if turn and spent[name] + best[name] > most_seconds:
                continue
            start = clock()
            way()
            seconds = clock() - start
            best[name] = min(best[name], seconds)
            spent[name] += seconds
    return best


def binary_rows(n_rows: int, n_columns: int = 19, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Codes (row-major, as NumPy arrays usually are) and labels of a naive Bayes source with two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows, dtype=np.uint8)
    X = np.empty((n_rows, n_columns), dtype=np.uint8)
    for i in range(n_columns):
        chance = rng.uniform(0.2, 0.8, 2).astype(np.float32)
        X[:, i] = rng.random(n_rows, dtype=np.float32) < chance[y]
    return X, y


def seconds(value: float) -> str:
    return f"{value:.3f} s" if value >= 0.1 else f"{1000 * value:.1f} ms"


def rate(value: float) -> str:
    return f"{value / 1e6:.2f} M/s" if value >= 1e5 else f"{value / 1e3:.1f} k/s"
