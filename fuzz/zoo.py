"""Small models of every classifier, and how they are asked; built on the instances that the tests keep."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import registry

N_ROWS = 50


def models() -> list[Any]:
    """One instance of every classifier, unfitted, then others with options that change what is kept."""
    streaming = [build() for build in registry.STREAMING.values()]
    named = [registry.INSTANCES[name](5) for name in registry.OTHER_PATHS]
    forgetful = [registry.NaiveBayes(window=30), registry.TAN(decay=0.98), registry.AODE(warm_up=999)]
    forgetful += [registry.NaiveBayes(recut="grid", warm_up=20), registry.NaiveBayes(gaussian=True, window=40)]
    return [*registry.PLAIN, *streaming, *registry.WITH_OPTIONS, *named, *forgetful]


def fitted(at: int) -> Any:
    """A model of the list, fitted on a small table, or in the middle of a stream."""
    every = models()
    model = clone(every[at % len(every)])
    X, y = table()
    if at // len(every) % 2 == 0 and getattr(model, "recut", None) is None:
        return model.fit(X, y)
    if "warm_up" in model.get_params() and model.warm_up != 999:
        model.set_params(warm_up=30)
    return model.partial_fit(X, y)


def table(n_rows: int = N_ROWS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The rows that models are fitted on."""
    return registry.small_table(n_rows, seed)


def questions(rng: random.Random) -> np.ndarray:
    """A few rows as learned, and one of odd cells."""
    X, _ = table(4, rng.randrange(100))
    odd = [1e308, 99, "teal", -1, None]
    rng.shuffle(odd)
    X[-1] = [cell if i != 0 or not isinstance(cell, str) else None for i, cell in enumerate(odd)]
    return X


def check_answers(model: Any, proba: np.ndarray, n_rows: int) -> None:
    """Finite numbers, one for each class, that sum to one."""
    assert proba.shape == (n_rows, len(model.classes_)), proba.shape
    assert np.isfinite(proba).all(), proba
    assert (proba >= 0).all(), proba
    assert np.allclose(proba.sum(axis=1), 1.0, atol=1e-9), proba.sum(axis=1)
