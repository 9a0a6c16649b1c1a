"""What is run: four streams, classifiers with and without forgetting, and others beside them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tanager import AODE, FANC, TAN, DriftAware, EvolvingNaiveBayes, NaiveBayes
from tanager.datasets import load
from tanager.evaluate import Prequential, prequential

SETS = ("weather", "eeg-eye-state", "spam", "outdoor")
HALF_LIFE, WINDOW = 700, 1000  # rows; either way about 1,000 rows count
MEMORIES = (100, 300, 1000, 3000)  # windows of naive Bayes, for the second table
BASES: dict[str, type[Any]] = {"NB": NaiveBayes, "AODE": AODE, "FANC": FANC, "TAN": TAN}
DRAWN = ("no change", "NB", "NB, decay", "NB, window", "NB, aware", "AODE, decay", "river tree")


class NoChange:
    """Answers with the last label, whatever the row."""

    def __init__(self) -> None:
        self.last: Any = None

    def predict_proba_one(self, row: dict[str, Any]) -> dict[Any, float]:
        """All on the last label."""
        return {} if self.last is None else {self.last: 1.0}

    def learn_one(self, row: dict[str, Any], y: Any) -> None:
        """Remember the label."""
        self.last = y


def models(kind: str) -> dict[str, Any]:
    """All that is compared on a stream of "numbers" or "codes"."""
    ours: dict[str, Any] = {}
    for name, cls in BASES.items():
        ours[name] = cls()
        ours[f"{name}, decay"] = cls(decay=HALF_LIFE)
        ours[f"{name}, window"] = cls(window=WINDOW)
        ours[f"{name}, aware"] = DriftAware(cls())
    if kind == "numbers":
        ours["Gaussian NB"] = NaiveBayes(gaussian=True)
        ours["Gaussian NB, decay"] = NaiveBayes(gaussian=True, decay=HALF_LIFE)
        ours["Gaussian NB, aware"] = DriftAware(NaiveBayes(gaussian=True))
    ours["evolving NB"] = EvolvingNaiveBayes()
    ours["evolving NB, exponential"] = EvolvingNaiveBayes(alpha=1 / WINDOW)
    return {"no change": NoChange(), **ours, **_river(kind)}


def _river(kind: str) -> dict[str, Any]:
    from river.naive_bayes import BernoulliNB, GaussianNB
    from river.tree import HoeffdingTreeClassifier

    return {"river NB": GaussianNB() if kind == "numbers" else BernoulliNB(), "river tree": HoeffdingTreeClassifier()}


def memories(kind: str) -> dict[str, Any]:
    """Naive Bayes with windows of several lengths, and with all rows."""
    return {f"{rows:,} rows": NaiveBayes(window=rows) for rows in MEMORIES} | {"all rows": NaiveBayes()}


def stream_of(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Rows and labels in the order of the file: numbers, or codes where all columns are categories."""
    data = load(name)
    if data.options["numeric"]:
        X = np.column_stack([data.X[column].to_numpy() for column in data.options["numeric"]])
        return X.astype(float), data.y, "numbers"
    codes = [np.unique(cells.to_numpy(), return_inverse=True)[1] for cells in data.X.columns]
    return np.column_stack(codes).astype(np.uint8), data.y, "codes"


def run(
    name: str, chosen: Callable[[str], dict[str, Any]], n_rows: int | None, progress: Callable[[str], None]
) -> Prequential:
    """One stream, all models."""
    X, y, kind = stream_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of others
        return prequential(chosen(kind), X, y, n_rows=n_rows)
