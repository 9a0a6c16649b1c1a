"""A ladder of five half-lives beside one model of the same kind, over arrays of numbers: answered, then learned."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Line, best_times, rate
from tanager import AODE, HalfLives

SHAPES = ((100_000, 8, 2), (100_000, 14, 2), (50_000, 21, 5))  # rows, columns, classes
BAR = 3.0


def numbers(n_rows: int, n_columns: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + 2 * (X[:, 3] > 0) + (X[:, 4] > 1)
    return X, y % n_classes


def one() -> AODE:
    return AODE(bins="frequency", n_bins=10)


def lines() -> Iterator[Line]:
    for shape in SHAPES:
        X, y = numbers(*shape)
        times = best_times(
            {
                "one": lambda X=X, y=y: one().test_then_train(X, y),
                "ladder": lambda X=X, y=y: HalfLives(one()).test_then_train(X, y),
            },
            repeats=5,
        )
        what = f"HalfLives of five AODEs / one, {shape[1]} columns, {shape[2]} classes"
        figures = f"{rate(len(X) / times['ladder'])} / {rate(len(X) / times['one'])}"
        yield Line(what, figures, times["ladder"] / times["one"], BAR)
