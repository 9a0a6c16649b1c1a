"""TreeAverage: naive Bayes times the lifts along a tree, averaged over all trees of the columns."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tanager import _kernels, saved
from tanager.counts.block import Block, Query
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.scoring.explain import PartList
from tanager.scoring.scorer import AnswersRows
from tanager.scoring.view import View


class TreeAverage(AnswersRows):
    """The average over all tree-augmented networks, weighed by their posterior probability.

    A tree-augmented network is naive Bayes times the lift P(x_u, x_v | y) / (P(x_u | y) P(x_v | y)) of every edge of
    its tree; so the average is naive Bayes, which the view answers, times the average of products of lifts. Lifts
    follow the counts. How probable trees are is a structure: ``log_weights``, the log of the Bayes factor for an edge
    of every two columns (zeros on the diagonal), are those of the counts when this was made, unless they are given.
    """

    compiled = None

    def __init__(
        self,
        naive: View,
        ess: float,
        most_range: float = math.inf,
        log_weights: np.ndarray | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.naive, self.ess, self.most_range = naive, ess, most_range
        counts = naive.counts
        if log_weights is None:
            log_weights = np.empty((counts.n_features, counts.n_features))
            _kernels.tree_weights(counts.store, log_weights, ess, counts.scale, n_jobs)
        self.log_weights = log_weights

    @classmethod
    def from_arrays(cls, naive: View, ess: float, most_range: float, arrays: Mapping[str, np.ndarray]) -> TreeAverage:
        """What ``to_arrays`` gave, checked."""
        n = naive.counts.n_features
        weights = saved.field("probabilities of its trees", arrays, "trees-log_weights", saved.array("f8", n, n))
        return cls(naive, ess, most_range, weights)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """What a model file needs where the counts have changed since this was made."""
        return {"trees-log_weights": self.log_weights}

    def _log_sums(self, rows: Query | Block, n_jobs: int) -> np.ndarray:
        """The log of the sum over all trees, up to what all classes share; the rows of a block are left out."""
        counts, view = self.naive.counts, self.naive
        out = np.empty((len(rows), counts.n_classes))
        labels, weights = (rows.labels, rows.weights) if isinstance(rows, Block) else (None, None)
        _kernels.tree_sums(
            counts.store,
            self.log_weights,
            rows.codes,
            out,
            self.ess,
            counts.scale,
            self.most_range,
            view.smooth_unseen,
            labels,
            weights,
            n_jobs,
        )
        return out

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors, or logs of the joint."""
        logs = self.naive.score(query, log_joint=True, n_jobs=n_jobs) + self._log_sums(query, n_jobs)
        return logs if log_joint else _posterior(logs)

    def answer_row(self, codes: RowOfCodes) -> list[float]:
        """``score`` of one row: a stream asks for one after the other."""
        naive = np.array(self.naive.plan.one(codes, True))
        logs = naive + self._log_sums(Query(row_array(codes)[None, :]), 1)[0]
        odds = np.exp(logs - np.maximum.reduce(logs))  # as _posterior; to reduce one axis of two takes twice as long
        posterior: list[float] = (odds / np.add.reduce(odds)).tolist()
        return posterior

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors; a row that is left out does not count for the probability of the trees, either."""
        naive = self.naive.leave_one_out(block, log_joint=True, n_jobs=n_jobs)
        return _posterior(naive + self._log_sums(block, n_jobs))

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Naive Bayes, and what the average over trees adds to it, shared out exactly.

        Columns are taken out of the sum over trees one by one, the last first: each adds the log of the sum of its
        edges to those that are left (edges that already hold the way through columns taken out before). Inside such a
        sum, each edge has its share by the logarithmic mean, as the terms of any sum have.
        """
        prior, parts = self.naive.explain(query, answer, against)
        (log_sum, share), (log_other, other) = (self._steps(query, c) for c in (answer, against))
        for u, difference in enumerate((log_sum - log_other).tolist()):
            ours, theirs = math.exp(min(difference, 0.0)), math.exp(min(-difference, 0.0))
            mean = (ours - theirs) / difference if abs(difference) > 1e-9 else 0.5 * (ours + theirs)
            shared = (share[u] * ours - other[u] * theirs) / mean
            parts += [(u, (int(v),), float(shared[v])) for v in np.flatnonzero(share[u] + other[u])]
        return prior, parts

    def _steps(self, query: Query, c: int) -> tuple[np.ndarray, np.ndarray]:
        """For one row and class: the log of the sum of each column as it is taken out, and its shares by column."""
        counts, n = self.naive.counts, self.naive.counts.n_features
        log_sum, shares = np.empty((1, n)), np.empty((n, n))
        prior = self.ess, counts.scale, self.most_range, self.naive.smooth_unseen
        _kernels.tree_steps(counts.store, self.log_weights, query.codes, c, log_sum, shares, *prior)
        return log_sum[0], shares


def _posterior(logs: np.ndarray) -> np.ndarray:
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
