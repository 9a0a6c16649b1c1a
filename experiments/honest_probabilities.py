"""What ``calibrate`` and ``BestOf`` do on development data: log loss and error over five folds.

    TANAGER_DATA=FOLDER python -m experiments.honest_probabilities calibrate
    TANAGER_DATA=FOLDER python -m experiments.honest_probabilities best_of
    TANAGER_DATA=FOLDER python -m experiments.honest_probabilities factor_weights

prints a line per data set and the means. Defaults were chosen on these twelve sets; no other page reports on them as a
test of those defaults. Cut points are learned inside every fold.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from experiments.common import ENTROPY
from tanager import A2DE, AODE, FAN, FANC, HNB, KDB, TAN, WAODE, BestOf, DataWarning, NaiveBayes
from tanager.datasets import load
from tanager.evaluate import calibration_error

SETS = [
    "australian",
    "breast-cancer",
    "cmc",
    "diabetes",
    "glass",
    "heart-c",
    "led",
    "lymph",
    "segment",
    "vowel",
    "yeast",
    "nursery",
]
Figures = dict[str, tuple[float, float, float, float]]  # log loss, error, calibration error, seconds of learning


def folds(name: str) -> list[tuple[Any, Any, Any, Any]]:
    """Rows to learn, their classes, rows to answer, theirs."""
    data = load(name)
    y = np.asarray(data.y)
    split = StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    return [(_rows(data.X, a), y[a], _rows(data.X, b), y[b]) for a, b in split]


def _rows(X: Any, which: np.ndarray) -> Any:
    return X.iloc[which] if hasattr(X, "iloc") else X.take(which) if hasattr(X, "take") else X[which]


def measured(name: str, models: dict[str, Any]) -> Figures:
    """The figures of every model, over all folds of a data set."""
    found: dict[str, list[tuple[float, float, float, float]]] = {key: [] for key in models}
    for X, y, Q, truth in folds(name):
        for key, model in models.items():
            start = time.process_time()
            fitted = clone(model).set_params(**ENTROPY).fit(X, y)
            spent = time.process_time() - start
            proba = fitted.predict_proba(Q)
            codes = np.array(
                [fitted.classes_.tolist().index(c) if c in fitted.classes_ else -1 for c in truth.tolist()]
            )
            own = np.where(codes >= 0, proba[np.arange(len(Q)), codes], 0.0)
            wrong = float((proba.argmax(axis=1) != codes).mean())
            known = codes >= 0
            error = calibration_error(codes[known], proba[known])
            found[key].append((float(-np.log(np.maximum(own, 1e-15)).mean()), wrong, error, spent))
    return {key: tuple(np.mean(values, axis=0)) for key, values in found.items()}


def report(models: dict[str, Any], sets: list[str]) -> None:
    """A line per data set: log loss and error of every model; then means, and how often each has the least."""
    print(f"{'':<16}" + "".join(f"{key:>24}" for key in models), flush=True)
    everything = []
    for name in sets:
        figures = measured(name, models)
        everything.append([figures[key] for key in models])
        cells = (f"{f[0]:.4f} {f[1]:.4f} {f[2]:.3f}".rjust(24) for f in figures.values())
        print(f"{name:<16}" + "".join(cells), flush=True)
    table = np.array(everything)
    for what, line in (
        ("mean", table.mean(axis=0)[:, :3]),
        ("seconds of a fit", table.mean(axis=0)[:, 3:]),
    ):
        print(f"{what:<16}" + "".join(" ".join(f"{v:.4f}" for v in cell).rjust(24) for cell in line))
    ratio = np.exp(np.log(table[:, :, 0] / table[:, :1, 0]).mean(axis=0))
    print(f"{'ratio of loss':<16}" + "".join(f"{v:.4f}".rjust(24) for v in ratio))


def calibrate() -> dict[str, Any]:
    """Classifiers without and with calibration, side by side."""
    plain = {"nb": NaiveBayes(), "tan": TAN(), "aode": AODE(), "waode": WAODE(), "kdb": KDB(), "a2de": A2DE()}
    return {
        key: model
        for name, own in plain.items()
        for key, model in ((name, own), (f"{name} calibrated", clone(own).set_params(calibrate=True)))
    }


def best_of() -> dict[str, Any]:
    """BestOf beside its candidates."""
    return {
        "AODE": AODE(),
        "BestOf": BestOf(),
        "BestOf pool=log": BestOf(pool="log"),
        "BestOf pool=linear": BestOf(pool="linear"),
        "BestOf calibrated": BestOf(calibrate=True),
        "NaiveBayes": NaiveBayes(),
        "TAN": TAN(),
        "FAN": FAN(),
        "WAODE": WAODE(),
        "HNB": HNB(),
        "FANC": FANC(),
        "A2DE": A2DE(),
        "KDB": KDB(),
    }


def factor_weights() -> dict[str, Any]:
    """Naive Bayes and TAN as counted, with weights, and with weights by left-out rows."""
    ways = ("likelihood", "weights", "factor_weights")
    return {f"{kind.__name__} {way}": kind(fit_by=way) for kind in (NaiveBayes, TAN) for way in ways}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "calibrate": calibrate,
    "best_of": best_of,
    "factor_weights": factor_weights,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    part, *chosen = sys.argv[1:] or ["calibrate"]
    report(PARTS[part](), chosen or SETS)
