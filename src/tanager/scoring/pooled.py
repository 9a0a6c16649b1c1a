"""Pooled: the answers of several scorers as one, by weights that left-out rows have given them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.counts.block import Block, Query
from tanager.scoring.decision import posterior
from tanager.scoring.explain import PartList, share_out
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View

SMALLEST = np.log(1e-9)  # no member rules a class out for the others of a logarithmic pool


class Pooled:
    """Members that answer together: the weighted mean of their probabilities ("linear"), or of their logs ("log").

    Factors of the classes are those of the view, and laid on at the end; members have none of their own.
    """

    compiled = None

    def __init__(self, members: Sequence[Scorer], weights: Sequence[float], how: str, view: View) -> None:
        self.members, self.weights, self.how, self.view = list(members), np.array(weights), how, view

    def pooled(self, log_p: np.ndarray) -> np.ndarray:
        """Logs of the pool, up to what all classes share, from logs (members, rows, classes)."""
        if self.how == "log":
            return np.asarray(np.tensordot(self.weights, np.maximum(log_p, SMALLEST), axes=1))
        with np.errstate(divide="ignore"):
            return np.log(np.tensordot(self.weights, np.exp(log_p), axes=1))

    def log_factors(self) -> np.ndarray:
        """Logs of the factors of the classes."""
        factors = self.view.factors
        with np.errstate(divide="ignore"):
            return np.log(np.array(factors)) if len(factors) else np.zeros(self.view.counts.n_classes)

    def finished(self, log_p: np.ndarray, log_joint: bool = False) -> np.ndarray:
        """Posteriors (or logs of the joint) of the pool, from logs (members, rows, classes) of its members."""
        with np.errstate(divide="ignore"):
            joint = self.pooled(log_p) + self.log_factors()
        return joint if log_joint else posterior(joint)

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or, up to what all classes share, logs of the joint."""
        return self.finished(np.array([_log_posterior(m, query, n_jobs) for m in self.members]), log_joint)

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each left out by every member; the weights stay."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array([m.leave_one_out(block, n_jobs=n_jobs) for m in self.members]))
        return self.finished(logs, log_joint=False)

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """The parts of all members by their weights; of a linear pool, each by its share in the answer."""
        pair = [answer, against]
        logs = np.array([_log_posterior(m, query)[0] for m in self.members])
        prior = float(np.subtract(*self.log_factors()[pair]))
        total: dict[tuple[int, tuple[int, ...]], float] = {}
        with np.errstate(divide="ignore"):
            own = np.log(self.weights)[:, None] + logs[:, pair]
        whole = np.logaddexp.reduce(own, axis=0)
        for member, weight, mine, log in zip(self.members, self.weights, own, logs, strict=True):
            first, parts = member.explain(query, answer, against)
            values = [first, *(value for _, _, value in parts)]
            if self.how == "log":
                clipped = np.maximum(log[pair], SMALLEST)
                lost = float(clipped[0] - clipped[1]) - sum(values)  # what a class is not ruled out by
                shared = [weight * (first + lost), *(weight * value for value in values[1:])]
            else:
                shared = share_out(values, mine, whole)
            prior += shared[0]
            for (column, parents, _), value in zip(parts, shared[1:], strict=True):
                total[column, parents] = total.get((column, parents), 0.0) + value
        return prior, [(column, parents, value) for (column, parents), value in total.items()]


def _log_posterior(scorer: Scorer, query: Query, n_jobs: int = 1) -> np.ndarray:
    joint = scorer.score(query, log_joint=True, n_jobs=n_jobs)
    top = joint - joint.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(top - np.log(np.exp(top).sum(axis=1, keepdims=True)))
