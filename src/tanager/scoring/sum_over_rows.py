"""Averages over all sets of columns, counted in the learned rows as rows to answer come.

The kernel (``src/kernels/sum_over_rows.hpp``) counts what a row needs by bit slices. So nothing is counted beforehand,
however many sets there are, and an answer takes longer the more rows were learned.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.scoring.explain import Factors, PartList, factors_of_members, shared_out
from tanager.scoring.view import View


class Rows(Protocol):
    """Who keeps the learned rows."""

    @property
    def block(self) -> Block:
        """All rows that count, with what they weigh now."""
        ...


class SumOverRows:
    """Answers by the average over all sets of ``size`` columns; where none is eligible, by sets of one column less.

    ``view`` answers where no pair of columns is eligible either. Estimates must have the same positive pseudo-counts in
    all contexts.
    """

    compiled = None  # what a row needs is counted when it comes

    def __init__(self, view: View, rows: Rows, size: int, min_count: float) -> None:
        self.view, self.rows, self.size, self.min_count = view, rows, size, min_count
        self._kernel: _kernels.SumOverRows | None = None
        self._made_for: tuple[int, float] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the kernel, which is made again."""
        return self.__dict__ | {"_kernel": None, "_made_for": None}

    def _current(self) -> _kernels.SumOverRows:
        """The kernel over the rows as they are now."""
        counts = self.view.counts
        now = (counts.version, counts.scale)
        if self._kernel is None or self._made_for != now:
            rows, estimate = self.rows.block, self.view.estimate
            self._kernel = _kernels.SumOverRows(
                rows.codes,
                rows.labels,
                rows.weights,
                counts.schema.n_values.tolist(),
                counts.n_classes,
                estimate.kind,
                estimate.strength,
                self.view.smooth_unseen,
            )
            self._made_for = now
        return self._kernel

    def _sizes(self) -> range:
        """How many columns the sets have, most first; none where there are no rows to look at."""
        return range(self.size, 1, -1) if self.view.counts.n_rows > 0 else range(0)

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities, or logs of the joint, one row per row and one column per class."""
        out, rest = self._answered(query.codes, None, log_joint, n_jobs)
        if rest.any():
            out[rest] = self.view.score(query.part(rest), log_joint=log_joint, n_jobs=n_jobs)
        return out

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities of learned rows, each as if it alone had not been learned."""
        out, rest = self._answered(block.codes, block, False, n_jobs)
        if rest.any():
            out[rest] = self.view.leave_one_out(block.part(rest), n_jobs=n_jobs)
        return out

    def _answered(
        self, codes: np.ndarray, left_out: Block | None, log_joint: bool, n_jobs: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The answers, and which rows have none: no set of two columns or more is eligible for them."""
        out = np.empty((len(codes), self.view.counts.n_classes))
        rest = np.ones(len(codes), dtype=bool)
        for size in self._sizes():
            if not rest.any():
                break
            some = np.empty((int(rest.sum()), out.shape[1]))
            labels = None if left_out is None else left_out.labels[rest]
            weights = None if left_out is None or left_out.weights is None else left_out.weights[rest]
            self._current().score(
                codes[rest],
                some,
                size,
                self.min_count,
                log_joint,
                self.view.priors,
                self.view.factors,
                labels,
                weights,
                n_jobs,
            )
            out[rest] = some
            rest = np.isnan(out[:, 0])
        return out, rest

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Log-odds of the prior, and those of every column and parent set, for one row."""
        with np.errstate(invalid="ignore"):
            joint = self.score(query, log_joint=True)[0]
            odds = float(joint[answer] - joint[against])
        if math.isnan(odds):  # given priors rule both classes out
            return odds, []
        for size in self._sizes():
            members = self._members(query, size)
            if members:
                parts = shared_out(members, [answer, against])
                return odds - sum(part[2] for part in parts), parts
        return self.view.explain(query, answer, against)

    def _members(self, query: Query, size: int) -> list[Factors]:
        """The factors of every eligible set of so many columns."""
        n, k = self.view.counts.n_features, self.view.counts.n_classes
        values = np.empty((math.comb(n, size), n + 1, k))
        self._current().parts(query.codes, values, size, self.min_count)
        return factors_of_members(
            (s, 1.0, own[n], [(j, own[j]) for j in range(n) if not np.isnan(own[j, 0])])
            for s, own in zip(combinations(range(n), size), values, strict=True)
            if not np.isnan(own[n, 0])
        )
