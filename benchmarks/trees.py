"""TBMATAN: learning against a random forest, and answers by the number of columns.

``python -m benchmarks.trees`` prints the tables; ``TANAGER_DATA`` names the folder with the data sets.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OrdinalEncoder

from tanager import ANDE, TBMATAN
from tanager.datasets import load as load_dataset

ROWS = {10: 5000, 36: 1000, 100: 200, 500: 10}


def best(work: Any, times: int = 3) -> float:
    """Seconds of the quickest of a few runs."""
    spans = []
    for _ in range(times):
        start = perf_counter()
        work()
        spans.append(perf_counter() - start)
    return min(spans)


def learning() -> None:
    """Seconds to learn, and as a share of what a random forest takes on the same rows."""
    print(f"{'data':<12} {'rows':>7} {'columns':>7} {'forest':>9} {'TBMATAN':>17} {'ANDE(n=2)':>17} {'ANDE(n=3)':>17}")
    for name in ("vote", "kr-vs-kp", "letter"):
        data = load_dataset(name)
        X, y = data.X, data.y
        numbers = OrdinalEncoder().fit_transform(X.to_pandas().astype(str))
        forest = best(lambda numbers=numbers, y=y: RandomForestClassifier().fit(numbers, y), 1)
        cells = []
        for model in (TBMATAN(), ANDE(n=2), ANDE(n=3)):
            try:
                seconds = best(lambda model=model, X=X, y=y: model.fit(X, y), 2)
                cells.append(f"{seconds:9.4f} ({seconds / forest:5.2f})")
            except MemoryError:
                cells.append("beyond 2 GB")
        print(f"{name:<12} {len(y):>7,} {numbers.shape[1]:>7} {forest:9.4f} " + " ".join(f"{c:>17}" for c in cells))


def answering() -> None:
    """Microseconds for one row of two classes, answered and left out; columns of three values, half of them copies."""
    print(f"{'columns':>7} {'answer':>12} {'left out':>12}")
    for n, m in ROWS.items():
        rng = np.random.default_rng(0)
        X = rng.integers(0, 3, (3000, n)).astype(np.uint8)
        X[:, 1::2] = np.where(rng.random((3000, n // 2)) < 0.7, X[:, ::2], X[:, 1::2])
        y = rng.integers(0, 2, 3000)
        model = TBMATAN().fit(X, y)
        answer = best(lambda model=model, X=X, m=m: model.predict_proba(X[:m]))
        left_out = best(lambda model=model, X=X, y=y, m=m: model.leave_one_out(X[:m], y[:m]))
        print(f"{n:>7} {answer / m * 1e6:>9.1f} µs {left_out / m * 1e6:>9.1f} µs")


if __name__ == "__main__":
    learning()
    answering()
