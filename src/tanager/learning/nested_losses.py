"""NestedLosses: how well left-out rows are answered by every network of a nest, one column or one parent at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.block import Block
from tanager.learning.whole_sums import whole_sum
from tanager.scoring.decision import decide
from tanager.scoring.view import View

TINY = 1e-300  # for the log of what is impossible


@dataclass(frozen=True, eq=False)
class NestedLosses:
    """What rows add to the losses of nested networks, as whole numbers: any parts of a table give the same sums."""

    view: View  # with all columns and parents
    classes: View  # with none
    order: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    k: int
    loss: str
    n_rows: float  # the weight of all rows

    def __call__(self, rows: Block) -> np.ndarray:
        """(2, most parents, columns): one factor more for each column, and for each number of parents."""
        once = rows.once
        if once.weights is None:  # with weights, answers do not depend on how many rows are asked about at once
            once = once.weighing(np.ones(len(rows)))
        start = np.maximum(self.classes.leave_one_out(once, log_joint=True), np.log(TINY)).T
        joint = [start.copy() for _ in range(self.k + 1)]  # class by class: sums over few classes are quicker so
        lost = np.zeros((2, self.k + 1, len(self.order) + 1), dtype=np.int64)
        lost[:, :, 0] = self._lost(joint[0], rows)[:, None]
        for t, i in enumerate(self.order, start=1):
            factor = np.ones((len(rows), len(start)))
            for j in range(self.k + 1):
                if j <= len(self.parents[i]):  # a missing parent leaves the parents before it
                    term = self.view.term(i, self.parents[i][:j], once)
                    np.copyto(factor, term, where=~np.isnan(term))
                    change = np.log(np.maximum(factor, TINY)).T
                joint[j] += change
                lost[:, j, t] = self._lost(joint[j], rows)
        return lost

    def _lost(self, log_joint: np.ndarray, rows: Block) -> np.ndarray:
        proba = np.exp(log_joint - log_joint.max(axis=0))
        total = proba.sum(axis=0)
        if self.loss == "rmse":
            each = (1.0 - proba[rows.labels, np.arange(len(rows))] / total) ** 2
        else:
            proba = np.ascontiguousarray((proba / total).T)
            each = (decide(proba, self.view.counts.class_counts, None) != rows.labels).astype(float)
        return whole_sum(each, rows.weights, self.n_rows)
