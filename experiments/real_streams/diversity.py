"""What further ladders of HalfLives bring, and what they cost, on the streams by which its settings were chosen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.real_streams.rivals import LEAST, Rows, real, river_stream, taken
from tanager import AODE, DriftAware, HalfLives
from tanager.evaluate import Table
from tanager.streams.ladder import Said
from tanager.streams.pool import Pool

VARIANTS: dict[str, dict[str, Any]] = {
    "one ladder": {},
    "subspaces=1": {"subspaces": 1},
    "subspaces=2": {"subspaces": 2},
    "subspaces=4": {"subspaces": 4},
    "more_bins=(5, 20)": {"more_bins": (5, 20)},
    "more_bins=(5, 20), subspaces=2": {"more_bins": (5, 20), "subspaces": 2},
    "lag=1": {"lag": 1},
}
WATCHED = "and a member that is DriftAware"


def _made(name: str, **options: Any) -> Callable[[], Rows]:
    return taken(lambda: river_stream(name, **options))


STREAMS: dict[str, Callable[[], Rows]] = {
    "weather": real("weather"),
    "outdoor": real("outdoor"),
    "sea": _made("SEA", variant=1, seed=5, noise=0.1),
    "hyperplane": _made("Hyperplane", seed=5, n_features=10, n_drift_features=3, mag_change=0.001),
    "rbf, moving": _made(
        "RandomRBFDrift", seed_model=5, seed_sample=5, n_classes=4, n_features=8, n_centroids=20, change_speed=0.002,
        n_drift_centroids=20,
    ),
    "rbf": _made("RandomRBF", seed_model=5, seed_sample=5, n_classes=4, n_features=8, n_centroids=20),
    "agrawal": _made("Agrawal", classification_function=3, seed=5),
    "sine": _made("Sine", classification_function=1, seed=5),
    "led": _made("LEDDrift", seed=5, noise_percentage=0.1, irrelevant_features=True, n_drift_features=3),
}  # fmt: skip


def table(
    base: AODE | None,
    progress: Callable[..., object],
    variants: Sequence[str] = (*VARIANTS, WATCHED),
    n_rows: int | None = None,
) -> Table:
    """Mean log loss and accuracy of every variant over all streams, and its time as a multiple of one ladder's.

    ``n_rows``: of each stream the first so many.
    """
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in variants}
    for at, (stream, read) in enumerate(STREAMS.items()):
        X, y = (part[:n_rows] for part in read())
        for name in variants:
            progress(at, len(STREAMS), f"{stream}, {name}")
            model = Watched(base) if name == WATCHED else HalfLives(base, **VARIANTS[name])
            found[name].append(_figures(model, X, y))
    first = np.array(found["one ladder"])
    lines = []
    for name, figures in found.items():
        loss, accuracy, seconds = np.array(figures).T
        better = int((loss < first[:, 0] - 1e-9).sum())
        lines.append((name, loss.mean(), accuracy.mean(), better, float(np.median(seconds / first[:, 2]))))
    heads = ["HalfLives", "log loss", "accuracy", f"better log loss, of {len(STREAMS)}", "time"]
    return Table(heads, lines, {"log loss": ".4f", "accuracy": ".4f", "time": ".1f"})


class Watched:
    """One ladder and a DriftAware classifier beside it, mixed as the members of a ladder are."""

    def __init__(self, base: AODE | None) -> None:
        self._ladder, self._aware, self._said = HalfLives(base), DriftAware(base or AODE()), list[Said]()
        mix = self._ladder._mix

        def listen(said: Said, weights: np.ndarray | None) -> np.ndarray:
            self._said.append(said)
            return mix(said, weights)

        self._ladder.__dict__["_mix"] = listen

    def test_then_train(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Answer every row from the rows before it, then learn it; one column per class."""
        self._ladder.test_then_train(X, y)
        aware = self._aware.test_then_train(X, y)
        self.classes_ = self._ladder.classes_
        out, pool, done = np.zeros(aware.shape), Pool("stacking", len(self._ladder.half_lives) + 1), 0
        for said in self._said:
            rows, columns = slice(done, done + len(said)), np.searchsorted(self.classes_, said.classes)
            if len(columns):
                answers = np.concatenate([said.answers, aware[rows, None][:, :, columns]], axis=1)
                out[rows, columns], _ = pool.learn(np.ascontiguousarray(answers), None, said.labels, None)
            else:
                out[rows] = 1 / len(self.classes_)
            done = rows.stop
        return out


def _figures(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    start = time.thread_time()
    proba = model.test_then_train(X, y)
    seconds = time.thread_time() - start
    codes = np.searchsorted(model.classes_, y)
    loss = -np.log(np.maximum(proba[np.arange(len(y)), codes], LEAST)).mean()
    return float(loss), float((proba.argmax(axis=1) == codes).mean()), seconds
