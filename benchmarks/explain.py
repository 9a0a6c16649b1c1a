"""Many rows explained at once, next to a loop over rows, and what importance takes next to one pass of predictions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Line, best_times, seconds
from tanager import AODE, TAN, NaiveBayes, importance

N_ROWS, N_LOOP = 5000, 40


def table(n_rows: int, n_columns: int = 14, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Codes of eight values that depend on the class a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    X = (rng.integers(8, size=(n_rows, n_columns)) + y[:, None] * (rng.random((n_rows, n_columns)) < 0.3)) % 8
    return X.astype(np.uint8), y


def lines() -> Iterator[Line]:
    X, y = table(N_ROWS)
    for model in (NaiveBayes(), TAN(), AODE()):
        model.fit(X, y)
        ways = {
            "at once": lambda model=model: model.explain(X),
            "one by one": lambda model=model: [model.explain(X[r : r + 1]) for r in range(N_LOOP)],
        }
        times = best_times(ways, repeats=5)
        once, loop = times["at once"] / N_ROWS, times["one by one"] / N_LOOP
        what = f"{type(model).__name__}.explain, {N_ROWS:,} rows of {X.shape[1]} columns, rate / one by one"
        yield Line(what, f"{1 / once:,.0f}/s / {1 / loop:,.0f}/s", loop / once, 100.0, at_most=False)
    model = AODE().fit(X, y)
    ways = {
        "importance": lambda: importance(model, X, y),
        "left out": lambda: [model.leave_one_out(X, y) for _ in range(X.shape[1] + 1)],
    }
    times = best_times(ways, repeats=5)
    figures = f"{seconds(times['importance'])} / {seconds(times['left out'])}"
    ratio = times["importance"] / times["left out"]
    yield Line("importance, AODE / leave_one_out once for each column and once more", figures, ratio, 1.5)
