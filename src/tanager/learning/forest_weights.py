"""Weights on factors: how much each of many factors is worth, by the rows that it has not learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager import _kernels
from tanager.learning.bounded_search import Bends, Function, Point, smallest, start_at

PENALTIES = (1.0, 0.1, 0.01, 0.001, 0.0001)  # on the way from equal weights to free ones
_DOUBT = 0.5  # standard errors by which the best penalty must be better than a stronger one
_FEW = 20  # rows below which all factors weigh the same
_STEPS = 40  # of the search for one penalty
_FIRST_STEPS = 5  # of them, after which a penalty is given up that has made the answers worse
_GAIN = 1e-4  # share of the loss below which a step is the last


@dataclass(frozen=True)
class LeftOutTerms:
    """What each factor says about each class of some rows that it has not learned, as logs in steps of ``unit``.

    ``steps`` is int8 (blocks, factors, classes, rows of a block); of two classes there is the second alone, as the
    other is its negative.
    """

    steps: np.ndarray
    unit: float
    labels: np.ndarray  # uint16 (rows,)
    weights: np.ndarray  # float32 (rows,)
    n_classes: int

    ROWS = 64  # of a block

    @classmethod
    def room(cls, n_rows: int, n_factors: int, n_classes: int) -> np.ndarray:
        """An array for the steps."""
        sides = 1 if n_classes == 2 else n_classes
        return np.empty((-(-n_rows // cls.ROWS), n_factors, sides, cls.ROWS), dtype=np.int8)

    @property
    def n_factors(self) -> int:
        """Factors."""
        return self.steps.shape[1]

    def together(self) -> np.ndarray:
        """The sum over all factors, (classes, rows)."""
        sums = self.steps.sum(axis=1, dtype=np.int32) * self.unit
        logs = sums.transpose(1, 0, 2).reshape(sums.shape[1], -1)[:, : len(self.labels)]
        return np.concatenate([-logs, logs]) if self.n_classes == 2 else logs

    def loss(self, factors: np.ndarray, fixed: np.ndarray, slopes: np.ndarray | None = None) -> float:
        """The weighted log loss where the log of every class is the weighted sum of factors, and something fixed."""
        return self._loss(factors, fixed, slopes, None)

    def losses(self, factors: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """The same for each row."""
        out = np.empty(len(self.labels))
        self._loss(factors, fixed, None, out)
        return out * self.weights

    def _loss(self, factors: np.ndarray, fixed: np.ndarray, *out: np.ndarray | None) -> float:
        rows = self.labels, self.weights
        return _kernels.factor_loss(self.steps, self.n_classes, self.unit, *rows, factors, fixed, *out)


@dataclass(frozen=True)
class FactorWeights:
    """The weight of every factor and of the log prior; the penalty that was chosen (None: all weigh the same)."""

    factors: np.ndarray
    prior: float
    penalty: float | None


class _LogLinear:
    """log P(class) is the weighted sum of the factors and of the log prior (the last weight)."""

    def __init__(self, log_prior: np.ndarray) -> None:
        self.log_prior = log_prior - log_prior.mean()

    def losses(self, w: np.ndarray, rows: LeftOutTerms) -> np.ndarray:
        """The weighted log loss of each row."""
        return rows.losses(np.ascontiguousarray(w[:-1]), w[-1] * self.log_prior)

    def scale(self, halves: Sequence[LeftOutTerms], n_members: int) -> float:
        """The one weight for all factors that is best, with a mild pull towards the average of the members."""
        from scipy.optimize import minimize_scalar

        logs = np.concatenate([half.together() for half in halves], axis=1) / n_members
        labels = np.concatenate([half.labels for half in halves]).astype(np.intp)
        weights = np.concatenate([half.weights for half in halves])
        own = labels, np.arange(len(labels))

        def loss(log_scale: float) -> float:
            z = np.exp(log_scale) * logs + self.log_prior[:, None]
            z -= z.max(axis=0)
            mine = z[own] - np.log(np.exp(z).sum(axis=0))
            return float(-(mine @ weights) + 0.5 * log_scale**2)

        return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x)) / n_members

    def loss(self, rows: Sequence[LeftOutTerms]) -> Function:
        """The loss over some rows, and its slope in the weights."""

        def loss_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
            loss, slope, slopes = 0.0, np.zeros(len(w)), np.empty(len(w) - 1 + len(self.log_prior))
            factors, fixed = np.ascontiguousarray(w[:-1]), w[-1] * self.log_prior
            for own in rows:
                loss += own.loss(factors, fixed, slopes)
                slope[:-1] += slopes[: len(factors)]
                slope[-1] += slopes[len(factors) :] @ self.log_prior
            return loss, slope

        return loss_and_slope


class _Search:
    """The search for weights of at least zero of the smallest loss over some rows, pulled towards the centre.

    Under one penalty after the other: what is known of the loss alone, at its last point and of its second derivatives,
    is known under all.
    """

    def __init__(self, loss: Function, start: np.ndarray, centre: np.ndarray, bends: Bends) -> None:
        self.loss, self.centre, self.bends = loss, centre, bends
        self.point = start_at(loss, start)

    def go(self, penalty: float, steps: int) -> None:
        """Make some steps under a penalty."""
        strength = penalty * (len(self.centre) - 1)

        def pulled(w: np.ndarray) -> tuple[float, np.ndarray]:
            point = Point(w, *self.loss(w)).pulled(strength, self.centre)
            return point.value, point.slope

        bends = self.bends.stiffer(2 * strength)
        found = smallest(pulled, self.point.pulled(strength, self.centre), bends, steps, _GAIN)
        self.point, self.bends = found.pulled(-strength, self.centre), bends.stiffer(-2 * strength)


def factor_weights(halves: tuple[LeftOutTerms, LeftOutTerms], log_prior: np.ndarray, n_members: int) -> FactorWeights:
    """Weights of the largest conditional likelihood of rows that the factors have not learned.

    Equal weights, of the best common size, are where the search starts and what it is pulled towards; how strongly is
    chosen by answering each half of the rows with weights from the other half. ``n_members`` is how many sets of
    factors there are, each of which describes a row as a whole.
    """
    n_rows, n_factors = [len(half.labels) for half in halves], halves[0].n_factors
    if not n_factors or not sum(n_rows):
        return FactorWeights(np.zeros(n_factors), 1.0, None)
    model = _LogLinear(log_prior)
    centre = np.full(n_factors + 1, model.scale(halves, n_members))
    centre[-1] = 1.0
    if sum(n_rows) < _FEW or not all(n_rows):
        return FactorWeights(centre[:-1], 1.0, None)
    searches = [_Search(model.loss([half]), centre, centre, Bends()) for half in halves]

    def left_out() -> np.ndarray:
        first, second = (search.point.at for search in searches)
        return np.concatenate([model.losses(second, halves[0]), model.losses(first, halves[1])])

    path, losses = [centre], [left_out()]
    for penalty in PENALTIES:
        for search in searches:
            search.go(penalty / 2, _FIRST_STEPS)
        found = left_out()
        going_on = [own for own in searches if not own.point.last]
        if going_on and found.sum() <= losses[-1].sum():
            for search in going_on:
                search.go(penalty / 2, _STEPS - _FIRST_STEPS)
            found = left_out()
        if found.sum() > losses[-1].sum():
            break
        path.append((searches[0].point.at + searches[1].point.at) / 2)
        losses.append(found)
    best = _safe_choice(losses)
    if best == 0:
        return FactorWeights(centre[:-1], 1.0, None)
    bends = searches[0].bends.of_twice(searches[1].bends)
    search = _Search(model.loss(halves), path[best], centre, bends)
    search.go(PENALTIES[best - 1], _STEPS)
    weights = search.point.at
    return FactorWeights(weights[:-1], float(weights[-1]), PENALTIES[best - 1])


def _safe_choice(losses: Sequence[np.ndarray]) -> int:
    """The first choice that is not clearly worse than the best: with few rows the best is so by chance."""
    best = losses[int(np.argmin([own.sum() for own in losses]))]
    gaps = (own - best for own in losses)
    return next(i for i, gap in enumerate(gaps) if gap.sum() <= _DOUBT * np.sqrt(len(gap)) * gap.std())
