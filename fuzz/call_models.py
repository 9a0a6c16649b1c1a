"""Which models call sequences are run on: every classifier, with options drawn for it; and how these forget."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from fuzz import zoo
from tanager import AODE, BackOff, BDeu, LearnedBackOff, Lidstone, MEstimate, NaiveBayes, PriorCounts
from tanager.counts.forgetting import as_decay, as_window
from tanager.learning.anytime import AnytimeClassifier
from tanager.learning.counts_classifier import CountsClassifier

# Options that a model gets beside its own, where it has them; most of the time one or two.
OPTIONS: dict[str, list[Any]] = {
    "smoothing": [0, 0.5, MEstimate(2), PriorCounts(), BDeu(), BackOff(), LearnedBackOff(), None],
    "unseen": ["smooth"],
    "missing": ["marginal", "mode"],
    "class_weight": ["balanced", {"low": 2.0}],
    "calibrate": [True],
    "window": [9, 25, "20 s"],
    "decay": [0.9, 12, "10 s"],
    "gaussian": [True, ["x0"]],
    "ddof": [1],
    "subsumption": [2],
    "fit_by": ["conditional_likelihood", "weights", "factor_weights"],
    "bins": ["width", "frequency", "mdl", "refined"],
    "recut": ["grid", "sketch"],
    "refresh": [1, 4, math.inf],
    "pool": ["log", "linear"],
    "warm_up": [8, 20],
    "n_jobs": [2],
}


def choose(rng: random.Random, models: list[Any]) -> Any:
    """A model of the list, unfitted, with other options now and then, and with kinds and cut points given or not."""
    model = clone(rng.choice(models))
    known = model.get_params(deep=False)
    mine = [name for name in OPTIONS if name in known]
    for name in rng.sample(mine, min(len(mine), rng.choice([0, 0, 1, 1, 2, 3]))):
        model.set_params(**{name: rng.choice(OPTIONS[name])})
    if "schema" in known and rng.random() < 0.6:
        model.set_params(schema=_schema_for(model))
    return model


_SCHEMAS: dict[bool, Any] = {}


def _schema_for(model: Any) -> Any:
    """Kinds and cut points of the usual rows; naive Bayes cuts no Gaussian columns."""
    dense = bool(getattr(model, "gaussian", False)) and isinstance(model, NaiveBayes)
    if dense not in _SCHEMAS:
        like = NaiveBayes(gaussian=True) if dense else AODE()
        _SCHEMAS[dense] = like.fit(*zoo.table(60, 1)).encoder_.schema
    return _SCHEMAS[dense]


def words(model: Any) -> str:
    """A model in few words; whether its columns were given."""
    given = getattr(model, "schema", None) is not None
    plain = clone(model).set_params(schema=None) if given else model
    return zoo.registry.name_of(plain) + (" with a schema" if given else "")


def names_classes(model: Any) -> bool:
    """Whether its options name classes, which then must be there."""
    named = [getattr(model, name, None) for name in ("priors", "class_weight", "thresholds", "cost_matrix")]
    return any(option is not None and not isinstance(option, str) for option in named)


def names_columns(model: Any) -> bool:
    """Whether its options name all columns, so that there may be no others."""
    return not isinstance(getattr(model, "member_order", ""), str)


def is_stream(model: Any) -> bool:
    """Whether it depends on the order of rows, and refuses what that forbids."""
    return not isinstance(model, CountsClassifier)


def follows_rows_alone(model: Any) -> bool:
    """Whether answers follow from the rows that are in a model and what they weigh, and from nothing else."""
    if is_stream(model) or isinstance(model, AnytimeClassifier):
        return False
    if model.recut is not None or model.refresh is not None:
        return False
    if getattr(model, "fit_by", "likelihood") != "likelihood":
        return False
    return model.decay is None or has_one_structure(model)


def tolerance(model: Any) -> float:
    """How far answers may be apart where sums have another order: a search for weights ends close to where it would."""
    return 1e-6 if getattr(model, "pool", None) or getattr(model, "calibrate", False) else 1e-9


def has_one_structure(model: Any) -> bool:
    """Whether nothing is chosen or searched for by the rows: answers are sums over them."""
    if model._adaptive() or model.calibrate or model.class_weight or getattr(model, "subsumption", None):
        return False
    return not isinstance(model.estimate, LearnedBackOff) and model.estimate != Lidstone(0.0)


@dataclass(frozen=True)
class Row:
    """A row that should be in the model: its place in the pool, and what it weighed when it came."""

    at: int
    weight: float
    time: float
    number: int = 0  # among all rows that were learned
    further: bool = False  # it brings a column that others do not have


class Forgetting:
    """What becomes of rows as others come and time passes: row by row, from the options alone."""

    def __init__(self, model: Any) -> None:
        counts = isinstance(model, CountsClassifier)
        self.decay = as_decay(model.decay) if counts else None
        self.window = as_window(model.window) if counts else None
        self.learned, self.now = 0, 0.0

    @property
    def timed(self) -> bool:
        """Whether rows come with times."""
        return bool(self.decay and self.decay.timed) or bool(self.window and self.window.seconds is not None)

    @property
    def by_rows(self) -> bool:
        """Whether further rows make others fade or leave."""
        return bool(self.decay and not self.decay.timed) or bool(self.window and self.window.seconds is None)

    def come(self, rows: list[Row], new: list[Row]) -> list[Row]:
        """The rows that are there after further ones."""
        for row in new:
            self.learned += 1
            rows = self.stay([*rows, replace(row, number=self.learned)], row.time)
        return rows

    def stay(self, rows: list[Row], now: float) -> list[Row]:
        """The rows that are still there at a time."""
        self.now = max(self.now, now)
        if self.window is None:
            return rows
        if self.window.seconds is None:
            return rows[-int(self.window.rows or 0) :]
        return [row for row in rows if row.time > self.now - self.window.seconds]

    def left(self, row: Row) -> float:
        """What a row weighs now."""
        if self.decay is None:
            return row.weight
        age = self.now - row.time if self.decay.timed else self.learned - row.number
        return row.weight * math.exp(self.decay.rate * age)

    def unlearned(self, rows: list[Row]) -> dict[str, Any]:
        """Weights and times by which rows are unlearned."""
        if self.window is not None and (self.decay is not None or len(rows) % 2):
            return {}  # whole rows, whatever they weigh now
        weights = {"sample_weight": np.array([row.weight for row in rows])}
        if self.decay is None:
            return {} if (weights["sample_weight"] == 1.0).all() and self.window is None else weights
        return weights | {"times": [row.time if self.decay.timed else float(row.number) for row in rows]}
