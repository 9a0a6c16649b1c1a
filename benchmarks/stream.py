"""Test-then-train over arrays, next to scikit-learn in chunks of 100 and with forgetting; over dicts next to river."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from river.naive_bayes import BernoulliNB
from sklearn.naive_bayes import CategoricalNB

from benchmarks.harness import Line, best_times, binary_rows, rate
from tanager import AODE, FANC
from tanager.counts.block import Block
from tanager.counts.forgetting import Steps


def sklearn_in_chunks(X: np.ndarray, y: np.ndarray, size: int = 100) -> None:
    model = CategoricalNB(min_categories=2).partial_fit(X[:size], y[:size], classes=[0, 1])
    for start in range(size, len(X), size):
        model.predict_proba(X[start : start + size])
        model.partial_fit(X[start : start + size], y[start : start + size])


def rows_per_second(model: Any, rows: list[dict[str, bool]], labels: list[bool]) -> float:
    """Predict, then learn, one dict after the other."""
    start = time.thread_time()
    for row, label in zip(rows, labels, strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    return len(rows) / (time.thread_time() - start)


def forgetting(kind: type, X: np.ndarray, y: np.ndarray, *, fades: bool = False, leave: bool = False) -> None:
    """A stream whose counts fade by 0.999 a row, or from which each row leaves a thousand rows later."""
    view = kind().fit(X[:1000], y[:1000]).view_
    fade = np.full(len(X) - 1000, 0.999) if fades else None
    queue = (X, y, np.ones(len(X))) if leave else None
    gone = np.ones(len(X) - 1000, dtype=np.int64) if leave else None
    view.stream(Block(X[1000:], y[1000:]), np.empty((len(X) - 1000, 2)), Steps(fade, None, gone), queue=queue)


def forgetting_lines(X: np.ndarray, y: np.ndarray) -> Iterator[Line]:
    for kind in (AODE, FANC):
        times = best_times(
            {
                "plain": lambda kind=kind: forgetting(kind, X, y),
                "fading": lambda kind=kind: forgetting(kind, X, y, fades=True),
                "leaving": lambda kind=kind: forgetting(kind, X, y, leave=True),
            },
            repeats=6,
        )
        for way, what, bar in (("fading", "counts that fade", 0.8), ("leaving", "a window of 1000 rows", 0.5)):
            figures = f"{rate(len(X) / times[way])} / {rate(len(X) / times['plain'])}"
            ratio = times["plain"] / times[way]
            yield Line(f"a stream with {what} / all rows, {kind.__name__}", figures, ratio, bar, at_most=False)


def lines() -> Iterator[Line]:
    X, y = binary_rows(500_000)
    few = 20_000
    times = best_times(
        {
            "sklearn": lambda: sklearn_in_chunks(X[:few], y[:few]),
            "AODE": lambda: AODE().test_then_train(X, y),
            "FANC": lambda: FANC().test_then_train(X, y),
        },
        repeats=6,
    )
    peer = few / times["sklearn"]
    for name in ("AODE", "FANC"):
        ours = len(X) / times[name]
        what = f"{name}.test_then_train / CategoricalNB in chunks of 100"
        yield Line(what, f"{rate(ours)} / {rate(peer)}", ours / peer, 20.0, at_most=False)

    yield from forgetting_lines(X[:200_000], y[:200_000])
    rows = [{f"x{i}": bool(v) for i, v in enumerate(row)} for row in X[:10_000]]
    labels = [bool(label) for label in y[:10_000]]
    river = max(rows_per_second(BernoulliNB(), rows[:2000], labels[:2000]) for _ in range(5))
    ours = max(rows_per_second(AODE(), rows, labels) for _ in range(5))
    yield Line(
        "AODE learn_one + predict_proba_one / river's BernoulliNB",
        f"{rate(ours)} / {rate(river)}",
        ours / river,
        10.0,
        at_most=False,
    )
