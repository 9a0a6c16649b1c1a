"""Learning from code arrays through the public API, next to scikit-learn's categorical naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from benchmarks.harness import Line, best_times, binary_rows, seconds
from tanager import AODE, FANC, TAN, TC


def lines() -> Iterator[Line]:
    X, y = binary_rows(10_000_000)
    times = best_times(
        {
            "CategoricalNB": lambda: CategoricalNB().fit(X, y),
            "AODE": lambda: AODE().fit(X, y),
            "FANC": lambda: FANC().fit(X, y),
            "TAN": lambda: TAN().fit(X, y),
        },
        repeats=4,
    )
    for name in ("AODE", "FANC"):
        figures = f"{seconds(times[name])} / {seconds(times['CategoricalNB'])}"
        yield Line(f"{name}.fit 10M x 19 / CategoricalNB.fit", figures, times[name] / times["CategoricalNB"], 1 / 30)
    yield Line(
        "TAN.fit / AODE.fit", f"{seconds(times['TAN'])} / {seconds(times['AODE'])}", times["TAN"] / times["AODE"], 1.2
    )
    X, y = np.ascontiguousarray(X[:1_000_000]), y[:1_000_000]
    times = best_times({"CategoricalNB": lambda: CategoricalNB().fit(X, y), "TC": lambda: TC().fit(X, y)}, repeats=3)
    figures = f"{seconds(times['TC'])} / {seconds(times['CategoricalNB'])}"
    yield Line("TC.fit 1M x 19, all triples / CategoricalNB.fit", figures, times["TC"] / times["CategoricalNB"], 1.0)
