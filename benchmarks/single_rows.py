"""Single rows as dicts, answered and then learned, beside river's classifiers of the same kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from river.drift import ADWIN, DriftRetrainingClassifier
from river.naive_bayes import BernoulliNB, GaussianNB
from river.tree import HoeffdingTreeClassifier

from benchmarks.drift import wandering
from benchmarks.harness import Line, rate
from tanager import AODE, FANC, TAN, DriftAware, EvolvingNaiveBayes, HalfLives, HoeffdingTree, NaiveBayes

BAR = 3.0
N_ROWS, OF_RIVER = 4_000, 1_000

Rows = tuple[list[dict[str, Any]], list[Any]]
Make = Callable[[], Any]


def of_numbers(n_columns: int) -> Rows:
    X, y = wandering(N_ROWS, n_columns)
    return [{f"x{i}": v for i, v in enumerate(row)} for row in X.tolist()], y.tolist()


def of_flags(n_columns: int) -> Rows:
    """Truths that depend on the class, which river's BernoulliNB counts."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    X = rng.random((N_ROWS, n_columns)) < rng.uniform(0.2, 0.8, (2, n_columns))[y]
    return [{f"x{i}": v for i, v in enumerate(row)} for row in X.tolist()], y.tolist()


def rows_per_second(model: Any, rows: list[dict[str, Any]], labels: list[Any]) -> float:
    """Answer, then learn, one dict after the other."""
    start = time.thread_time()
    for row, label in zip(rows, labels, strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    return len(rows) / (time.thread_time() - start)


def retrained() -> Any:
    return DriftRetrainingClassifier(GaussianNB(), ADWIN(), train_in_background=False)


PEERS: dict[str, tuple[Callable[[int], Rows], Make, Make]] = {
    "NaiveBayes(gaussian=True) / GaussianNB": (of_numbers, lambda: NaiveBayes(gaussian=True), GaussianNB),
    "EvolvingNaiveBayes / GaussianNB": (of_numbers, EvolvingNaiveBayes, GaussianNB),
    "NaiveBayes / GaussianNB": (of_numbers, NaiveBayes, GaussianNB),
    "AODE / GaussianNB": (of_numbers, AODE, GaussianNB),
    "HalfLives / GaussianNB": (of_numbers, HalfLives, GaussianNB),
    "HoeffdingTree / HoeffdingTreeClassifier": (of_numbers, HoeffdingTree, HoeffdingTreeClassifier),
    "DriftAware / DriftRetrainingClassifier of GaussianNB": (of_numbers, DriftAware, retrained),
    "DriftAware(AODE) / DriftRetrainingClassifier of GaussianNB": (of_numbers, lambda: DriftAware(AODE()), retrained),
    "NaiveBayes / BernoulliNB": (of_flags, NaiveBayes, BernoulliNB),
    "AODE / BernoulliNB": (of_flags, AODE, BernoulliNB),
    "FANC / BernoulliNB": (of_flags, FANC, BernoulliNB),
    "TAN / BernoulliNB": (of_flags, TAN, BernoulliNB),
    "HalfLives / BernoulliNB": (of_flags, HalfLives, BernoulliNB),
}


def lines() -> Iterator[Line]:
    for what, (make_rows, ours, theirs) in PEERS.items():
        for n_columns in (8, 20):
            rows, labels = make_rows(n_columns)
            fast = max(rows_per_second(ours(), rows, labels) for _ in range(4))
            slow = max(rows_per_second(theirs(), rows[:OF_RIVER], labels[:OF_RIVER]) for _ in range(3))
            name = f"one dict at a time, {n_columns} columns: {what}"
            yield Line(name, f"{rate(fast)} / {rate(slow)}", fast / slow, BAR, at_most=False)
