"""NetworkForest beside scikit-learn's random forest of 300 trees, one thread each, on tables of 20,000 rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.harness import Line, best_times, rate, seconds
from tanager import NetworkForest

ROWS, ASKED = 20_000, 5_000
SHAPES = ((10, 2), (20, 3), (50, 2))  # columns, classes
TREES = 300


def lines() -> Iterator[Line]:
    """Learning takes at most half the time, and answers come at least as fast."""
    for n_columns, n_classes in SHAPES:
        X, y = make_classification(
            ROWS + ASKED, n_columns, n_informative=8, n_redundant=2, n_classes=n_classes, flip_y=0.05, random_state=0
        )
        ours, trees = NetworkForest(), RandomForestClassifier(TREES, random_state=0)
        learn = {"ours": partial(ours.fit, X[:ROWS], y[:ROWS]), "trees": partial(trees.fit, X[:ROWS], y[:ROWS])}
        times = best_times(learn, 2)
        shape, peer = f"{ROWS:,} x {n_columns}", f"{TREES} trees"
        figures = f"{seconds(times['ours'])} / {seconds(times['trees'])}"
        yield Line(f"NetworkForest.fit {shape} / {peer}", figures, times["ours"] / times["trees"], 0.5)
        answer = {"ours": partial(ours.predict_proba, X[ROWS:]), "trees": partial(trees.predict_proba, X[ROWS:])}
        times = best_times(answer, 3)
        rates = {name: ASKED / spent for name, spent in times.items()}
        figures = f"{rate(rates['ours'])} / {rate(rates['trees'])}, {ours.n_bytes_ / 1e6:.0f} MB"
        yield Line(
            f"NetworkForest.predict_proba, {n_columns} columns / {peer}",
            figures,
            rates["ours"] / rates["trees"],
            1.0,
            False,
        )
