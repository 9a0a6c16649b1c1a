"""What is run: streams, models, and the errors and pseudo-classes that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from tanager import EvolvingNaiveBayes, NaiveBayes, generate
from tanager.evaluate import Table

SEEDS = 20  # of the streams of irises
FEWER_SEEDS = 10  # of all others
LENGTHS = (1_000, 2_000, 5_000, 20_000)  # of the streams of irises
ROWS = 20_000  # of all others
LATE = 5_000  # rows at the end of a stream whose errors are counted apart
CHUNK = 100  # rows that naive Bayes answers before it learns them

KINDS = ("setosa", "versicolor", "virginica")


def irises(joined: tuple[int, int], n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows drawn from the iris data, with replacement; two kinds are one class."""
    X, kinds = load_iris(return_X_y=True)
    drawn = np.random.default_rng(seed).integers(0, len(X), n_rows)
    return X[drawn], names(joined)[kinds[drawn]]


def names(joined: tuple[int, int]) -> np.ndarray:
    """The class of each kind."""
    together = " or ".join(KINDS[kind] for kind in joined)
    return np.array([together if kind in joined else name for kind, name in enumerate(KINDS)])


def evolved(X: np.ndarray, y: np.ndarray, **options: Any) -> tuple[EvolvingNaiveBayes, np.ndarray]:
    """An evolving model after a stream, and which rows it answered wrongly before it learned them."""
    model = EvolvingNaiveBayes(**options)
    proba = model.test_then_train(X, y)
    return model, model.classes_[proba.argmax(axis=1)] != y


def plain(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which rows Gaussian naive Bayes answers wrongly, in chunks that are answered and then learned.

    The first chunk, which it has nothing to go by, is left out of all figures.
    """
    model = NaiveBayes(gaussian=True).partial_fit(X[:CHUNK], y[:CHUNK], classes=np.unique(y))
    wrong = [np.ones(CHUNK, dtype=bool)]
    for start in range(CHUNK, len(X), CHUNK):
        part = slice(start, start + CHUNK)
        wrong.append(model.predict(X[part]) != y[part])
        model.partial_fit(X[part], y[part])
    return np.concatenate(wrong)


# --- joined irises -------------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "eta 0.005": {"eta": 0.005},
    "max_error 0.15": {"max_error": 0.15},
    "unit start": {"scale": "unit"},
}


def iris_lines(n_seeds: int, lengths: tuple[int, ...], progress: Callable[[int, int, str], None]) -> Table:
    """A line for every pair of joined kinds, setting, length and seed."""
    X, kinds = load_iris(return_X_y=True)
    rows: list[list[Any]] = []
    pairs = list(combinations(range(3), 2))
    for at, joined in enumerate(pairs):
        for setting, options in SETTINGS.items():
            progress(at, len(pairs), f"{' + '.join(KINDS[kind] for kind in joined)}, {setting}")
            for n_rows in lengths:
                for seed in range(n_seeds):
                    model, wrong = evolved(*irises(joined, n_rows, seed), **options)
                    data = float((model.predict(X) != names(joined)[kinds]).mean())
                    pair = " + ".join(KINDS[kind] for kind in joined)
                    found = [float(wrong.mean()), float(wrong[-500:].mean()), data, len(model.pseudo_classes_)]
                    rows.append([pair, setting, n_rows, seed, *found])
    return Table(["joined", "setting", "n_rows", "seed", "whole", "last 500", "data", "pseudo_classes"], rows)


# --- streams that naive Bayes cannot learn, and streams that nobody can ---------------------------------------------


def streams() -> dict[str, Callable[[int], generate.Stream]]:
    """Streams by name, each for a seed."""
    moving = {"speed": 2e-3, "n_columns": 2, "spread": 0.7}
    return {
        "xor, spread 0.25": lambda seed: generate.xor(0.25, seed),
        "xor, spread 0.4": lambda seed: generate.xor(0.4, seed),
        "three moving clusters": lambda seed: generate.moving_gaussians(n_classes=3, random_state=seed, **moving),
        "two classes of two moving clusters": lambda seed: generate.moving_gaussians(
            n_clusters=2, random_state=seed, **moving
        ),
        "overlap, best error 0.05": lambda seed: generate.overlap(0.05, random_state=seed),
        "overlap, best error 0.2": lambda seed: generate.overlap(0.2, random_state=seed),
        "overlap, best error 0.35": lambda seed: generate.overlap(0.35, random_state=seed),
    }


MODELS: dict[str, dict[str, Any]] = {
    "evolving": {},
    "evolving, alpha 0.01": {"alpha": 0.01},
    "evolving, window 500": {"window": 500},
}


def stream_lines(n_seeds: int, n_rows: int, progress: Callable[[int, int, str], None]) -> Table:
    """A line for every stream, model and seed."""
    rows: list[list[Any]] = []
    for at, (name, stream) in enumerate(streams().items()):
        progress(at, len(streams()), name)
        for seed in range(n_seeds):
            X, y = stream(seed).take(n_rows)
            best = _best_error(stream(seed), X)
            for model, wrong, n_pseudo, most in _all_models(X, y):
                late = float(wrong[-LATE:].mean())
                rows.append([name, model, seed, float(wrong[CHUNK:].mean()), late, best, n_pseudo, most])
    return Table(["stream", "model", "seed", "whole", "late", "best", "pseudo_classes", "most"], rows)


def _best_error(stream: generate.Stream, X: np.ndarray) -> float | None:
    """The error of the best possible answers at the end, where the model is known and stands still."""
    posterior = stream.posterior(X[-LATE:]) if not stream.drifts and "moving" not in repr(stream) else None
    return None if posterior is None else float(1 - posterior.max(axis=1).mean())


def _all_models(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray, int, int]]:
    """Name, wrong answers, pseudo-classes at the end, and most of one class at any time."""
    yield "NaiveBayes(gaussian=True)", plain(X, y), len(np.unique(y)), 1
    for name, options in MODELS.items():
        model, wrong = evolved(X, y, **options)
        state = model._kernel.state()
        yield name, wrong, len(model.pseudo_classes_), int(state["change_active"].max(initial=1))


# --- what the source says besides: the minimum, equation (8) to the letter, and pseudo-classes that are known ---------

CHOICES: dict[str, dict[str, Any]] = {
    "product": {},
    "minimum": {"join": "min"},
    "product, alpha 0.01": {"alpha": 0.01},
    "product, alpha 0.01, constant step from N(0, 1)": {"alpha": 0.01, "step": "constant", "scale": "unit"},
}


def choice_lines(n_seeds: int, n_rows: int, progress: Callable[[int, int, str], None]) -> Table:
    """A line for every stream, choice and seed."""
    chosen = {name: streams()[name] for name in ("xor, spread 0.25", "xor, spread 0.4", "three moving clusters")}
    rows: list[list[Any]] = []
    for at, name in enumerate(["irises, setosa + versicolor", *chosen]):
        progress(at, 1 + len(chosen), name)
        for seed in range(n_seeds):
            X, y = chosen[name](seed).take(n_rows) if name in chosen else irises((0, 1), n_rows, seed)
            for choice, options in CHOICES.items():
                model, wrong = evolved(X, y, **options)
                late = float(wrong[-LATE:].mean())
                rows.append([name, choice, seed, float(wrong.mean()), late, len(model.pseudo_classes_)])
    return Table(["stream", "model", "seed", "whole", "late", "pseudo_classes"], rows)


def given_lines() -> Table:
    """Errors over all irises where the kinds are given as pseudo-classes, and where they are not known."""
    X, kinds = load_iris(return_X_y=True)
    rows: list[list[Any]] = []
    for joined in combinations(range(3), 2):
        y = names(joined)[kinds]
        models = {
            "NaiveBayes(gaussian=True)": NaiveBayes(gaussian=True).fit(X, y),
            "given kinds": EvolvingNaiveBayes().fit(X, y, pseudo_classes=kinds),
            "given kinds, minimum": EvolvingNaiveBayes(join="min").fit(X, y, pseudo_classes=kinds),
        }
        pair = " + ".join(KINDS[kind] for kind in joined)
        rows += [[pair, name, float((model.predict(X) != y).mean())] for name, model in models.items()]
    return Table(["joined", "model", "error"], rows)
