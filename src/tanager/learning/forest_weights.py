"""Weights on factors: how much each of many factors is worth, by the rows that it has not learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar

PENALTIES = (2.5, 0.5, 0.1, 0.02)  # on the way from equal weights to free ones
_FEW = 20  # rows below which all factors weigh the same
_STEPS = 40  # of the search for one penalty


@dataclass(frozen=True)
class FactorWeights:
    """The weight of every factor and of the log prior; the penalty that was chosen (None: all weigh the same)."""

    factors: np.ndarray
    prior: float
    penalty: float | None


class _LogLinear:
    """log P(class) is the weighted sum of the factors; its loss over some rows, and the slope of that.

    ``terms`` is (factors, classes, rows); the last factor is the log prior.
    """

    def __init__(self, terms: np.ndarray, log_prior: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        self.n_factors, self.n_classes, self.n_rows = terms.shape
        self.terms = terms.reshape(self.n_factors, self.n_classes * self.n_rows)
        self.prior = np.repeat(log_prior - log_prior.mean(), self.n_rows).astype(np.float32)
        self.labels, self.weights = labels, weights.astype(np.float32)
        self.own = labels * self.n_rows + np.arange(self.n_rows)

    def logs(self, w: np.ndarray) -> np.ndarray:
        """Log posteriors, (classes, rows)."""
        z = w[:-1].astype(np.float32) @ self.terms + np.float32(w[-1]) * self.prior
        z = z.reshape(self.n_classes, self.n_rows)
        z -= z.max(axis=0)
        return z - np.log(np.exp(z).sum(axis=0))

    def losses(self, w: np.ndarray) -> np.ndarray:
        """The log loss of every row."""
        return -self.logs(w).ravel()[self.own]

    def scale(self, n_members: int) -> float:
        """The one weight for all factors that is best, with a mild pull towards the average of the members."""
        total = self.terms.sum(axis=0) / n_members

        def loss(log_scale: float) -> float:
            z = (np.exp(log_scale) * total + self.prior).reshape(self.n_classes, self.n_rows)
            z = z - z.max(axis=0)
            own = z.ravel()[self.own] - np.log(np.exp(z).sum(axis=0))
            return float(-(own * self.weights).sum(dtype=float) + 0.5 * log_scale**2)

        return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x)) / n_members

    def fitted(self, penalty: float, start: np.ndarray, centre: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        """Weights of at least zero of the smallest loss over some rows, pulled towards the centre."""
        weights = self.weights if rows is None else self.weights * rows
        strength = penalty * self.n_factors

        def loss_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
            logs = self.logs(w)
            loss = -(logs.ravel()[self.own] * weights).sum(dtype=float)
            gaps = np.exp(logs)
            gaps.ravel()[self.own] -= 1.0
            gaps *= weights
            slope = np.append(self.terms @ gaps.ravel(), gaps.ravel() @ self.prior).astype(float)
            away = w - centre
            return float(loss + strength * (away @ away)), slope + 2 * strength * away

        bounds = [(0.0, None)] * len(start)
        options = {"maxiter": _STEPS, "ftol": 1e-6}
        return np.asarray(
            minimize(loss_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        )


def factor_weights(
    terms: np.ndarray,
    log_prior: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    halves: np.ndarray,
    n_members: int,
) -> FactorWeights:
    """Weights of the largest conditional likelihood of rows that the factors have not learned.

    Equal weights, of the best common size, are where the search starts and what it is pulled towards; how strongly is
    chosen by answering each half of the rows with weights from the other half.

    Parameters
    ----------
    terms : float32 array of shape (factors, classes, rows)
        What each factor says about each class of each row, as logs.
    log_prior : array of shape (classes,)
    labels, weights, halves : arrays of shape (rows,)
        Class codes, weights, and which half (False or True) a row belongs to.
    n_members : int
        How many sets of factors there are, each of which describes a row as a whole.
    """
    if not terms.size:
        return FactorWeights(np.zeros(len(terms)), 1.0, None)
    model = _LogLinear(terms, log_prior, labels, weights)
    centre = np.full(len(terms) + 1, model.scale(n_members))
    centre[-1] = 1.0
    if len(labels) < _FEW or halves.all() or not halves.any():
        return FactorWeights(centre[:-1], 1.0, None)
    path, losses = [centre, centre], [float(model.losses(centre) @ weights)]
    for penalty in PENALTIES:
        path = [
            model.fitted(penalty / 2, start, centre, half) for start, half in zip(path, (halves, ~halves), strict=True)
        ]
        held_out = np.where(halves, model.losses(path[1]), model.losses(path[0]))
        losses.append(float(held_out @ weights))
        if losses[-1] > losses[-2]:
            break
    best = int(np.argmin(losses))
    found = centre
    for penalty in PENALTIES[:best]:
        found = model.fitted(penalty, found, centre, None)
    return FactorWeights(found[:-1], float(found[-1]), PENALTIES[best - 1] if best else None)
