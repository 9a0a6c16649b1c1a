"""Probabilities of a million rows on one thread, next to scikit-learn's categorical naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.naive_bayes import CategoricalNB

from benchmarks.harness import Line, best_times, binary_rows, rate
from tanager import AODE, FANC, TAN, NaiveBayes


def lines() -> Iterator[Line]:
    X, y = binary_rows(1_000_000)
    models = {type(m).__name__: m.fit(X, y) for m in (CategoricalNB(), NaiveBayes(), TAN(), AODE(), FANC())}
    times = best_times({name: (lambda m=model: m.predict_proba(X)) for name, model in models.items()})
    peer = times.pop("CategoricalNB")
    for name, bar in (("NaiveBayes", 3.0), ("TAN", 3.0), ("AODE", 1.0), ("FANC", 1.0)):
        figures = f"{rate(len(X) / times[name])} / {rate(len(X) / peer)}"
        yield Line(f"{name}.predict_proba 1M rows / CategoricalNB's", figures, peer / times[name], bar, at_most=False)
