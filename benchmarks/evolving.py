"""Evolving naive Bayes over four number columns and four pseudo-classes: against a bar, and next to river."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from river.naive_bayes import GaussianNB

from benchmarks.harness import Line, best_times, rate
from benchmarks.stream import rows_per_second
from tanager import EvolvingNaiveBayes

BAR = 1e6  # rows per second


def clusters(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of two clusters each, a b a b along the diagonal of four columns."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 4, n_rows)
    return rng.normal(size=(n_rows, 4)) + 2.0 * place[:, None], place % 2


def four_pseudo_classes(X: np.ndarray, y: np.ndarray) -> EvolvingNaiveBayes:
    """A model that has found the clusters, and keeps as many."""
    model = EvolvingNaiveBayes(max_error=0.02, max_pseudo=2, simplify=False).fit(X, y)
    assert len(model.pseudo_classes_) == 4, model.pseudo_classes_
    return model


def lines() -> Iterator[Line]:
    X, y = clusters(500_000)
    model = four_pseudo_classes(X[:20_000], y[:20_000])
    windowed = EvolvingNaiveBayes(max_error=0.02, max_pseudo=2, simplify=False, window=10_000).fit(
        X[:20_000], y[:20_000]
    )
    times = best_times(
        {
            "all rows": lambda: model.test_then_train(X, y),
            "window": lambda: windowed.test_then_train(X, y),
            "answers": lambda: model.predict_proba(X),
        },
        repeats=5,
    )
    for name, what in {
        "all rows": "EvolvingNaiveBayes.test_then_train / a million rows/s",
        "window": "the same with a window of 10,000 rows / a million rows/s",
        "answers": "EvolvingNaiveBayes.predict_proba / a million rows/s",
    }.items():
        ours = len(X) / times[name]
        yield Line(what, rate(ours), ours / BAR, 1.0, at_most=False)

    rows = [{f"x{i}": float(x) for i, x in enumerate(row)} for row in X[:10_000]]
    labels = y[:10_000].tolist()
    river = max(rows_per_second(GaussianNB(), rows[:3000], labels[:3000]) for _ in range(5))
    ours = len(X) / times["all rows"]
    what = "EvolvingNaiveBayes.test_then_train / river's GaussianNB on dicts"
    yield Line(what, f"{rate(ours)} / {rate(river)}", ours / river, 50.0, at_most=False)
    single = max(rows_per_second(EvolvingNaiveBayes().fit(rows, labels), rows, labels) for _ in range(5))
    what = "learn_one + predict_proba_one / river's GaussianNB"
    yield Line(what, f"{rate(single)} / {rate(river)}", single / river, 1.0, at_most=False)
