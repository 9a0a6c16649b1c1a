"""A ladder of five half-lives beside one model of the same kind, over numbers and towns: answered, then learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Line, best_times, rate
from tanager import AODE, HalfLives

SHAPES = ((100_000, 8, 2), (100_000, 14, 2), (50_000, 21, 5), (20_000, 40, 2))  # rows, columns, classes
BAR = 3.0


def numbers(n_rows: int, n_columns: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + 2 * (X[:, 3] > 0) + (X[:, 4] > 1)
    return X, y % n_classes


def towns(n_rows: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two columns of text whose values are ever rarer, so that new ones keep coming, and four of numbers."""
    rng = np.random.default_rng(0)
    places = np.char.add("t", np.minimum(rng.zipf(1.4, (n_rows, 2)), 400).astype(str))
    X = {"from": places[:, 0], "to": places[:, 1]} | {f"x{i}": rng.normal(size=n_rows) for i in range(4)}
    return X, (X["x0"] + (places[:, 0] == "t1") > 0.5).astype(int)


def one() -> AODE:
    return AODE(bins="frequency", n_bins=10)


def lines() -> Iterator[Line]:
    for shape in SHAPES:
        yield _line(f"{shape[1]} columns, {shape[2]} classes", *numbers(*shape))
    yield _line("new towns keep coming", *towns(20_000))


def _line(what: str, X: Any, y: np.ndarray) -> Line:
    times = best_times(
        {
            "one": lambda: one().test_then_train(X, y),
            "ladder": lambda: HalfLives(one()).test_then_train(X, y),
        },
        repeats=5,
    )
    figures = f"{rate(len(y) / times['ladder'])} / {rate(len(y) / times['one'])}"
    return Line(f"HalfLives of five AODEs / one, {what}", figures, times["ladder"] / times["one"], BAR)
