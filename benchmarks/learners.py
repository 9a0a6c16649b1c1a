"""Learning time of the classifiers that search by answers, next to scikit-learn's random forest on the same codes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.harness import Line, best_times, seconds
from tanager import BSEJ, FSSJ, TAN, AdjustedNaiveBayes, Selective, SelectiveNaiveBayes, SuperParentTAN

MODELS = (
    SelectiveNaiveBayes(),
    SelectiveNaiveBayes(direction="backward"),
    SelectiveNaiveBayes(direction="best_first"),
    AdjustedNaiveBayes(),
    Selective(TAN()),
    SuperParentTAN(),
    SuperParentTAN(search="arcs"),
    FSSJ(),
    BSEJ(),
)
SHAPES = ((300, 13, 3, 4), (3000, 36, 2, 3), (20_000, 16, 10, 8))  # rows, columns, classes, values


def interacting_rows(n_rows: int, n_columns: int, n_classes: int, n_values: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that tell about the class by themselves, in pairs, or not at all."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, (n_rows, n_columns)).astype(np.uint8)
    y = (X[:, 0].astype(int) + X[:, 1] + (X[:, 2] * X[:, 3])) % n_classes
    y = np.where(rng.random(n_rows) < 0.9, y, rng.integers(0, n_classes, n_rows))
    for i in range(4, n_columns // 2):
        X[:, i] = np.where(rng.random(n_rows) < 0.3, y % n_values, X[:, i])
    return X, y


def lines() -> Iterator[Line]:
    for shape in SHAPES:
        X, y = interacting_rows(*shape)
        every = (*MODELS, RandomForestClassifier(random_state=0))
        times = best_times({repr(model): partial(model.fit, X, y) for model in every}, repeats=3)
        forest = repr(every[-1])
        for name in map(repr, MODELS):
            figures = f"{seconds(times[name])} / {seconds(times[forest])}"
            yield Line(f"{name}.fit {shape[0]:,} x {shape[1]} / forest", figures, times[name] / times[forest], 1.0)
