"""Number columns cut, or as normal distributions given class and parents: ``python -m benchmarks.gaussian_columns``.

Log loss and error by five-fold cross-validation on generated data and on scikit-learn's own, then the time of answers
beside scikit-learn's GaussianNB. This is the data that the strength of shrinking was chosen on.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from tanager import AODE, FANC, SPC, TAN, NaiveBayes, generate
from tanager.errors import DataWarning

MODELS = {
    "NB": NaiveBayes(),
    "NB, gaussian": NaiveBayes(gaussian=True),
    "AODE": AODE(),
    "AODE, gaussian": AODE(gaussian=True),
    "TAN": TAN(),
    "TAN, gaussian": TAN(gaussian=True),
    "FANC": FANC(),
    "FANC, gaussian": FANC(gaussian=True),
}


def correlated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, each one normal distribution of eight columns with its own correlations."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = np.empty((n, 8))
    for c in range(3):
        mix = rng.normal(size=(8, 8)) / np.sqrt(8) + 0.5 * np.eye(8)
        X[y == c] = rng.normal(size=((y == c).sum(), 8)) @ mix + 0.7 * rng.normal(size=8)
    return X, y


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The data sets by name."""
    clusters = generate.gaussians(n_columns=6, n_classes=3, n_clusters=2, random_state=4).take(600)
    X, y = correlated(600, 2)
    made = make_classification(500, 12, n_informative=6, n_classes=3, random_state=0)
    return {
        "correlated, 600 rows": correlated(600, 0),
        "correlated, 120 rows": correlated(120, 7),
        "correlated, exp(x)": (np.exp(1.5 * X), y),
        "two clusters per class": (np.asarray(clusters[0], dtype=float), np.asarray(clusters[1])),
        "make_classification": made,
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }


def validated(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Log loss and error of five folds."""
    loss, wrong = 0.0, 0.0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        proba = model.fit(X[train], y[train]).predict_proba(X[test])
        own = proba[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
        loss -= float(np.log(np.maximum(own, 1e-12)).sum())
        wrong += float((model.classes_[proba.argmax(axis=1)] != y[test]).sum())
    return loss / len(y), wrong / len(y)


def print_quality() -> None:
    """One line per data set: log loss and error in percent."""
    print("| data | " + " | ".join(MODELS) + " |\n| --- |" + " --- |" * len(MODELS))
    for name, (X, y) in data().items():
        found = [validated(model, X, y) for model in MODELS.values()]
        print(f"| {name} | " + " | ".join(f"{loss:.3f} / {100 * wrong:.1f}" for loss, wrong in found) + " |")


def _seconds(model: Any, X: np.ndarray) -> float:
    rounds = []
    for _ in range(5):
        start = time.process_time()
        model.predict_proba(X)
        rounds.append(time.process_time() - start)
    return min(rounds)


def print_speed() -> None:
    """Answers to 20,000 rows of 20 numbers, three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000)
    X = rng.normal(size=(20_000, 20)) + 0.5 * y[:, None] * rng.normal(size=20)
    peer = _seconds(GaussianNB().fit(X, y), X)
    for model in (
        NaiveBayes(gaussian=True),
        TAN(gaussian=True),
        AODE(gaussian=True),
        FANC(gaussian=True),
        SPC(gaussian=True),
    ):
        own = _seconds(model.fit(X, y), X)
        print(f"{model}: {len(y) / own:,.0f} rows/s, {own / peer:.1f} times GaussianNB's time")


if __name__ == "__main__":
    warnings.simplefilter("ignore", DataWarning)
    print_quality()
    print_speed()
