"""Number columns that are described by a normal distribution per class add their log densities to the answer."""

from __future__ import annotations

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.counts.moments import Moments
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, differences, explain_rows
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View


def normalised(log_joint: np.ndarray) -> np.ndarray:
    """Probabilities of the classes from logs of the joint, row by row."""
    proba = np.array(log_joint, order="C")
    _kernels.posteriors(proba)
    return proba


class Gaussian:
    """Answers of another scorer and of Gaussian columns, whose numbers come with the rows."""

    def __init__(self, inner: Scorer, moments: Moments, counts: JointCounts) -> None:
        self.inner, self.moments, self.counts = inner, moments, counts

    @property
    def compiled(self) -> View | None:
        """The view of the columns with codes; whoever uses it adds the densities (``Moments.stream``)."""
        return self.inner.compiled

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints."""
        ratios, highest = self.moments.log_ratios(_numbers(query))
        joint = self.inner.score(query, log_joint=True, n_jobs=n_jobs) + ratios
        return joint + highest[:, None] if log_joint else normalised(joint)

    def score_row(self, codes: RowOfCodes, numbers: np.ndarray) -> list[float]:
        """``score`` of one row."""
        if isinstance(self.inner, View):
            proba = self.moments.posterior(numbers, self.inner.plan.one(codes, True))
            if proba is not None:
                return proba
        answer: list[float] = self.score(Query(row_array(codes)[None, :], numbers[None, :]))[0].tolist()
        return answer

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each taken out of counts and moments."""
        proba = self.inner.leave_one_out(block, n_jobs=n_jobs)
        left_out = block.labels, np.ones(len(block)) if block.weights is None else block.weights
        with np.errstate(divide="ignore"):
            return normalised(np.log(proba) + self.moments.log_ratios(_numbers(block.query), left_out)[0])

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """The log density of each Gaussian column is a part of its own."""
        prior, parts = self.inner.explain(query, answer, against)
        numbers = _numbers(query)
        columns = [i for i, column in enumerate(self.counts.schema.columns) if column.kind == "continuous"]
        for at, i in enumerate(columns):
            alone = np.full((1, len(columns)), np.nan)
            alone[0, at] = numbers[0, at]
            if np.isnan(alone[0, at]):
                continue
            density = self.moments.log_ratios(alone)[0][0]
            parts.append((i, (), float(density[answer] - density[against])))
        return prior, parts

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows; a missing number adds nothing."""
        prior, columns = explain_rows(self.inner, query, answer, against)
        numbers = _numbers(query)
        continuous = [i for i, column in enumerate(self.counts.schema.columns) if column.kind == "continuous"]
        for at, i in enumerate(continuous):
            alone = np.full_like(numbers, np.nan)
            alone[:, at] = numbers[:, at]
            columns[:, i] += differences(self.moments.log_ratios(alone)[0], answer, against)
        return prior, columns


def _numbers(query: Query) -> np.ndarray:
    assert query.numbers is not None  # the encoder brings them where there are Gaussian columns
    return query.numbers
