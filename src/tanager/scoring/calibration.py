"""Calibration: a classifier is as sure as left-out rows say that it may be.

    P(y | x)  proportional to  q(y | x)^t e^(b_y)

with q the answers as they are. A power t below 1 makes answers less sure (naive Bayes, which counts evidence twice),
one above 1 surer (averages). Offsets b, which add up to 0, move all rows towards some classes. Both maximise the
likelihood of the classes of rows that q had not learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import saved
from tanager.counts.block import Block, Query
from tanager.scoring.decision import posterior
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, explain_rows
from tanager.scoring.newton import least
from tanager.scoring.scorer import Scorer

if TYPE_CHECKING:
    from tanager.scoring.view import View

TINY = 1e-300  # stands for a probability of zero in logarithms
LEAST_POWER = 0.01  # answers that are worse than none become even, not turned round
MOST_POWER = 1000.0  # answers that hardly differ are not made sure, however often they were right
TIED = 1e-10  # log-odds below this are rounding, and say nothing
ROWS_FOR_OFFSETS = 1000  # fewer rows, or fewer than ROWS_PER_CLASS for each class, say nothing about single classes
ROWS_PER_CLASS = 100
PENALTY = 1.0  # times the squares of the offsets, against the sum of the log losses


@dataclass(frozen=True)
class Calibration:
    """What left-out rows say about how sure answers may be.

    Attributes
    ----------
    power : float
        The exponent t of all probabilities.
    offsets : tuple of float
        Per class, added to log probabilities; all 0 where rows are few.
    how : str
        "leave-one-out", or "folds" where the classifier chooses something by the rows.
    n_rows : int
        How many left-out rows there were.
    log_loss, log_loss_before : float
        Of these rows with the calibration and without it.
    error, error_before : float
        Expected calibration error of these rows, with and without.
    """

    power: float
    offsets: tuple[float, ...]
    how: str
    n_rows: int
    log_loss: float
    log_loss_before: float
    error: float
    error_before: float

    @classmethod
    def fit(cls, proba: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, how: str) -> Calibration:
        """The calibration for these answers (rows, classes) to rows that were left out."""
        w = np.ones(len(labels)) if weights is None else weights
        with_offsets = float(w.sum()) >= max(ROWS_FOR_OFFSETS, ROWS_PER_CLASS * proba.shape[1])
        power, offsets = fit_power(np.log(np.maximum(proba, TINY)), labels, w, offsets=with_offsets)
        after = calibrated(proba, power, offsets)
        losses = [_log_loss(p, labels, w) for p in (after, proba)]
        errors = [calibration_of(reliability_bins(p, labels, w)) for p in (after, proba)]
        return cls(power, tuple(offsets.tolist()), how, len(labels), *losses, *errors)

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a model file."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"offsets": list(self.offsets)}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], n_classes: int) -> Calibration:
        """What ``to_plain`` gave."""
        figures = ("log_loss", "log_loss_before", "error", "error_before")
        expected = {
            "power": saved.number(1.0 / saved.LARGEST),
            "offsets": saved.items(saved.number(), n_classes),
            "how": saved.text(),
            "n_rows": saved.whole(),
            **dict.fromkeys(figures, saved.figure()),
        }
        return cls(**saved.read("figures of its calibration", data, expected))


def fit_power(
    log_q: np.ndarray, labels: np.ndarray, weights: np.ndarray, *, offsets: bool = False
) -> tuple[float, np.ndarray]:
    """The power and offsets that make left-out rows most likely; without ``offsets`` these are 0.

    One row more, spread evenly over all of them and over the classes, is added: however often answers were right, they
    are never quite sure. What is maximised is concave.

    Examples
    --------
    Nine of ten rows are answered correctly, with a probability of 0.6. Half a row of each class more makes that 9.5 of
    11: 0.6^t : 0.4^t = 9.5 : 1.5, and t = log(19 / 3) / log 1.5.

    >>> log_q = np.log([[0.6, 0.4]] * 10)
    >>> power, _ = fit_power(log_q, np.array([0] * 9 + [1]), np.ones(10))
    >>> round(power, 4)
    4.5524
    """
    n_rows, k = log_q.shape
    total = float(weights.sum())
    if k < 2 or total <= 0.0:
        return 1.0, np.zeros(k)
    log_q = log_q - log_q.max(axis=1, keepdims=True)
    log_q[log_q > -TIED] = 0.0
    target = np.zeros((n_rows, k))
    target[np.arange(n_rows), labels] = weights
    target += (weights / (total * k))[:, None]  # one row, spread over all rows and classes
    mass = target.sum(axis=1)
    lean = (target * log_q).sum()
    wanted = target.sum(axis=0)
    penalty = PENALTY if offsets else 0.0

    def shares(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of all classes, and the log of their sum before they were divided by it."""
        z = at[0] * log_q + at[1:] if offsets else at[0] * log_q
        top = z.max(axis=1, keepdims=True)
        p = np.exp(z - top)
        sums = p.sum(axis=1, keepdims=True)
        return p / sums, (np.log(sums) + top)[:, 0]

    def loss(at: np.ndarray) -> float:
        gained = at[0] * lean + (at[1:] @ wanted if offsets else 0.0)
        return float(mass @ shares(at)[1] - gained + penalty * (at[1:] @ at[1:]))

    def slope(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, _ = shares(at)
        own = p * mass[:, None]
        mean = (p * log_q).sum(axis=1, keepdims=True)
        spread = own * (log_q - mean)
        of_power, second = (own * log_q).sum() - lean, (spread * log_q).sum()
        if not offsets:
            return np.array([of_power]), np.array([[second]])
        gradient = np.concatenate([[of_power], own.sum(axis=0) - wanted + 2.0 * penalty * at[1:]])
        curve = np.empty((k + 1, k + 1))
        curve[0, 0], curve[0, 1:] = second, spread.sum(axis=0)
        curve[1:, 0] = curve[0, 1:]
        curve[1:, 1:] = np.diag(own.sum(axis=0) + 2.0 * penalty) - own.T @ p
        return gradient, curve

    start = np.concatenate([[1.0], np.zeros(k if offsets else 0)])
    lower = np.concatenate([[LEAST_POWER], np.full(len(start) - 1, -np.inf)])
    found = least(start, loss, slope, lower=lower)
    return min(float(found[0]), MOST_POWER), found[1:] - found[1:].mean() if offsets else np.zeros(k)


def calibrated(proba: np.ndarray, power: float, offsets: np.ndarray) -> np.ndarray:
    """Probabilities with a power and offsets."""
    return posterior(power * np.log(np.maximum(proba, TINY)) + offsets)


class Calibrated:
    """Answers of another scorer, as sure as a calibration says. Factors of the classes are laid on afterwards."""

    compiled = None

    def __init__(self, inner: Scorer, calibration: Calibration, view: View) -> None:
        self.inner, self.calibration, self.view = inner, calibration, view

    def offsets(self) -> np.ndarray:
        """What is added to log probabilities to the power: factors of the classes count as they are, once."""
        offsets = np.array(self.calibration.offsets)
        return offsets + (1.0 - self.calibration.power) * log_factors(self.view)

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or, up to what all classes share, logs of the joint."""
        joint = self.calibration.power * self.inner.score(query, log_joint=True, n_jobs=n_jobs) + self.offsets()
        return joint if log_joint else posterior(joint)

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each left out. The calibration, a number or a few, stays that of all rows."""
        return calibrated(self.inner.leave_one_out(block, n_jobs=n_jobs), self.calibration.power, self.offsets())

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Every part to the power; the offsets belong to the prior."""
        prior, parts = self.inner.explain(query, answer, against)
        power, offsets = self.calibration.power, self.offsets()
        own = float(offsets[answer] - offsets[against])
        return power * prior + own, [(column, parents, power * value) for column, parents, value in parts]

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows."""
        prior, columns = explain_rows(self.inner, query, answer, against)
        power, offsets = self.calibration.power, self.offsets()
        return power * prior + offsets[answer] - offsets[against], power * columns


def log_factors(view: View) -> np.ndarray:
    """Logs of the factors of the classes; 0 where there are none, and where a class is ruled out anyway."""
    factors = np.array(view.factors) if len(view.factors) else np.ones(view.counts.n_classes)
    return np.log(np.where(factors > 0.0, factors, 1.0))


def _log_loss(proba: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    own = np.maximum(proba[np.arange(len(labels)), labels], 1e-15)
    return float(-(weights @ np.log(own)) / max(float(weights.sum()), TINY))


def reliability_bins(proba: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_bins: int = 15) -> np.ndarray:
    """Weight, sum of confidences and weight of correct answers in bins of confidence of equal width."""
    confidence, right = proba.max(axis=1, initial=0.0), proba.argmax(axis=1) == labels
    place = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    return np.array([np.bincount(place, weights * part, minlength=n_bins) for part in (1.0, confidence, right)])


def calibration_of(bins: Any) -> float:
    """Expected calibration error: the mean distance between confidence and accuracy over bins, weighted by rows."""
    rows, confidence, correct = np.asarray(bins, dtype=float)
    return float(np.abs(confidence - correct).sum() / rows.sum()) if rows.sum() > 0 else float("nan")
