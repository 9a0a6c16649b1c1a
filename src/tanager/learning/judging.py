"""Judging candidates by rows that they have not learned: what it costs, and when one is better than another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.held_out import HeldOut, chooses_by_rows

MIN_ROWS = 500  # a candidate that cannot be judged by so many is not tried
MARGIN = 0.5  # standard errors of the paired difference by which the best must be better than one that comes first
SEARCH_STEPS = 60  # passes over the rows that a search for parameters takes, about

FEW_CLASSES = 16
NOTHING = np.zeros((0, 0))


@dataclass(frozen=True)
class Work:
    """Cells of counts that judging a candidate reads or writes: once, and for every row that is asked about."""

    once: float
    per_row: float

    def total(self, n_rows: float) -> float:
        """With so many rows asked about."""
        return self.once + self.per_row * n_rows


def forecast(model: CountsClassifier, counts: JointCounts, n_rows: float, n_folds: int) -> Work:
    """What judging a candidate costs, by rows, columns, values and classes.

    A network reads one family per column for a row, an average of one-dependence estimators one per pair of columns,
    one of two-dependence estimators one per triple. Folds make a structure from all pairs of values; a search goes
    through the rows again and again. Wider counts are counted first.
    """
    schema, k = counts.schema, counts.n_classes
    n, values = len(schema), float(schema.n_values.sum())
    shape = model.counts_shape(schema)
    order = int(shape["order"])
    per_row = k * (n * math.log2(n + 2) if reads_one_family(model) else n**2 if order <= 2 else n**3 / 2)
    once = 0.0
    if order > 2 and counts.order < order:
        once += n_rows * n**3 / 6 + JointCounts.estimate_bytes(schema.n_values, k, order=order) / 8
    if chooses_by_rows(model):
        once += n_folds * values**2 * k
    if getattr(model, "fit_by", "likelihood") != "likelihood":
        once += n_folds * SEARCH_STEPS * n_rows * n * k
    return Work(once, per_row)


def reads_one_family(model: CountsClassifier) -> bool:
    """Whether an answer reads one family for every column: that of a single network."""
    return hasattr(type(model), "network_") or hasattr(type(model), "parents_")


def rows_within(work: Work, most: int, limit: float | None) -> int:
    """By how many rows, at most so many, a candidate can be judged within a limit of work."""
    if limit is None:
        return most
    return int(max(0.0, min(most, (limit - work.once) / work.per_row)))


@dataclass
class Judged:
    """A candidate, and what it answered to rows that it had not learned; NaN where it was not asked."""

    name: str
    n_rows: int = 0  # by which it is judged
    weight: float = 0.0  # in a pool
    note: str = ""
    proba: np.ndarray = field(default_factory=lambda: NOTHING)
    labels: np.ndarray = field(default_factory=lambda: NOTHING)
    weights: np.ndarray = field(default_factory=lambda: NOTHING)
    _asked_all: bool = False  # of the rows held out
    _total: float | None = None  # what the rows weigh that it was asked about
    _given: np.ndarray | None = None  # to the true class of every row
    _losses: dict[str, np.ndarray] = field(default_factory=dict)  # by every criterion that was asked for
    _means: dict[str, float] = field(default_factory=dict)

    @property
    def tried(self) -> bool:
        """Whether it has answered."""
        return len(self.proba) > 0

    def take(self, asked: np.ndarray, proba: np.ndarray, held: HeldOut, labels: np.ndarray) -> None:
        """Its answers to some of the rows held out, whose labels these are."""
        self._asked_all = len(asked) == len(held) and not math.isnan(float(proba.sum()))
        if self._asked_all:
            self.proba, self._total = proba, held.total
        else:
            self.proba, self._total = np.full((len(held), proba.shape[1]), np.nan), None
            self.proba[asked] = proba
        self.labels, self.weights = labels, held.weights
        self._given = None
        self._losses.clear()
        self._means.clear()

    def losses(self, criterion: str) -> np.ndarray:
        """What every row costs by a criterion; NaN where it was not asked."""
        if criterion not in self._losses:
            self._losses[criterion] = self._losses_by(criterion)
        return self._losses[criterion]

    def _losses_by(self, criterion: str) -> np.ndarray:
        if self._given is None:
            self._given = self.proba[np.arange(len(self.labels)), self.labels]
        own = self._given
        if criterion == "log_loss":
            return np.asarray(-np.log(np.maximum(own, 1e-15)))
        if criterion == "rmse":
            return np.asarray((1.0 - own) ** 2)
        wrong = (_largest(self.proba) > own).astype(float)  # a tie for the first place is right
        return wrong if self._asked_all else np.where(np.isnan(own), np.nan, wrong)

    def mean(self, criterion: str) -> float:
        """The mean loss by a criterion; infinite where it was not tried."""
        if not self.tried:
            return math.inf
        if criterion not in self._means:
            losses, weights = self.losses(criterion), self.weights
            if not self._asked_all:
                asked = ~np.isnan(losses)
                losses, weights = losses[asked], weights[asked]
            total = float(weights.sum()) if self._total is None else self._total
            self._means[criterion] = float(losses @ weights / max(total, 1e-300))
        return self._means[criterion]

    def rank(self, criterion: str) -> float:
        """For sorting, best first."""
        return self.mean(criterion)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        tried = self.tried
        return {
            "candidate": self.name,
            "accuracy": 1.0 - self.mean("accuracy") if tried else 0.0,
            "log_loss": self.mean("log_loss") if tried else 0.0,
            "rmse": math.sqrt(self.mean("rmse")) if tried else 0.0,
            "weight": self.weight,
            "rows": self.n_rows if tried else 0,
            "note": self.note,
        }


def _largest(proba: np.ndarray) -> np.ndarray:
    """Of every row; NumPy takes several times as long over rows of few classes."""
    few = proba.shape[1] <= FEW_CLASSES
    return reduce(np.maximum, proba.T) if few else np.asarray(proba.max(axis=1))


LINE = {  # of ``to_dict``, in a file
    "candidate": saved.text(),
    **dict.fromkeys(("accuracy", "log_loss", "rmse", "weight"), saved.figure()),
    "rows": saved.whole(),
    "note": saved.text(),
}


def preferred(lines: Sequence[Judged], criterion: str) -> int:
    """The place of the first candidate that is not clearly worse than the best; the first of all where none was tried.

    Clearly is by more than half a standard error of the difference, over the rows that both have answered: on few
    rows the best is often best by chance, and those that come first are those that are usually good.
    """
    tried = [place for place, line in enumerate(lines) if line.tried]
    if not tried:
        return 0
    best = min(tried, key=lambda place: (round(lines[place].mean(criterion), 12), place))
    rival = lines[best].losses(criterion)
    for place in tried:
        difference, weights = lines[place].losses(criterion) - rival, lines[place].weights
        both = ~np.isnan(difference)
        if not both.all():
            difference, weights = difference[both], weights[both]
        mean, error = mean_and_error(difference, weights)
        if mean <= MARGIN * error:
            return place
    return best


def mean_and_error(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error; a row of weight two is two rows.

    >>> mean_and_error(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    (2.0, 0.5773502691896257)
    """
    total = float(weights.sum())
    if total <= 0.0:
        return 0.0, 0.0
    mean = float(values @ weights) / total
    spread = float(weights @ (values - mean) ** 2) / max(total - 1.0, 1e-300) if total > 1.0 else 0.0
    return mean, math.sqrt(spread / total)
