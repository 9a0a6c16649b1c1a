"""Answers of A2DE and AODE over many columns, next to those of scikit-learn's random forest of 100 trees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from benchmarks.harness import Line, best_times
from tanager import A2DE, AODE

SINGLE = 20  # rows that are asked one by one


def sparse_rows(n_rows: int, n_columns: int, share: float, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Two-valued columns of which a share is 1, most of it by chance: words in mails, letters of DNA."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, n_classes, n_rows).astype(np.uint8)
    chance = np.clip(share * rng.lognormal(0.0, 0.7, (n_classes, n_columns)), 0.005, 0.9)
    return (rng.random((n_rows, n_columns)) < chance[y]).astype(np.uint8), y


def sources() -> Iterator[tuple[str, type, np.ndarray, np.ndarray, int, float, float]]:
    """A name, the classifier, rows and classes, how many are learned, and the bars: of a batch and of single rows."""
    X, y = load_digits(return_X_y=True)
    yield "A2DE, digits", A2DE, X, y, 1200, 40.0, 2.0
    yield "A2DE, 180 columns", A2DE, *sparse_rows(3000, 180, 0.25, 3), 2000, 200.0, 5.0
    yield "AODE, 500 columns", AODE, *sparse_rows(8000, 500, 0.1, 2), 6000, 8.0, 1.0


def lines() -> Iterator[Line]:
    for name, make, X, y, n_learned, batch_bar, single_bar in sources():
        ours = make(max_memory="4 GB").fit(X[:n_learned], y[:n_learned])
        forest = RandomForestClassifier(100, random_state=0).fit(X[:n_learned], y[:n_learned])
        rows = X[n_learned:]

        def one_by_one(model: object, rows: np.ndarray = rows) -> None:
            for r in range(SINGLE):
                model.predict_proba(rows[r : r + 1])  # type: ignore[attr-defined]

        times = best_times(
            {
                "batch": lambda m=ours, rows=rows: m.predict_proba(rows),
                "forest": lambda m=forest, rows=rows: m.predict_proba(rows),
                "single": lambda m=ours, each=one_by_one: each(m),
                "forest, single": lambda m=forest, each=one_by_one: each(m),
            },
            repeats=3,
        )
        for ours_, peer, what, n_rows, bar in (
            ("batch", "forest", f"{len(rows):,} rows at once", len(rows), batch_bar),
            ("single", "forest, single", "a row alone", SINGLE, single_bar),
        ):
            figures = " / ".join(f"{times[way] / n_rows * 1e3:.3f} ms" for way in (ours_, peer))
            yield Line(f"{name}, {what} / forest", figures, times[ours_] / times[peer], bar)


if __name__ == "__main__":
    for line in lines():
        print(f"{line.what:<62}{line.figures:>34}{line.ratio:>9.3f}  <= {line.bar:.3f}")
