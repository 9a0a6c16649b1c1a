"""Scorer: how answers are made.

The innermost scorer is a ``View``: a form over the counts. Others are laid around it where an option asks for them:
``Subsumption`` leaves values out first, ``Marginal`` sums missing values out, ``Gaussian`` adds densities of number
columns per class, ``ProductOfDensities`` and ``SumOfDensities`` those per class and values of parents,
``Discriminative`` answers with other parameters, ``TreeAverage`` multiplies by a sum over trees, ``Calibrated``, the
outermost, makes answers as sure as they may be. A lazy rule or a tree of classifiers is one more scorer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tanager.counts.block import Block, Query
from tanager.encoding.typing import RowOfCodes
from tanager.scoring.explain import PartList

if TYPE_CHECKING:
    from tanager.scoring.view import View


class Scorer(Protocol):
    """What every scorer can do."""

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities, or logs of the joint, one row per row and one column per class."""
        ...

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities of learned rows, each as if it alone had not been learned."""
        ...

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """For one row: log-odds of the prior, and of every column with its parents."""
        ...

    @property
    def compiled(self) -> View | None:
        """The view that gives the same answers in the kernels, row after row; None where there is more to do."""
        ...


class AnswersRows:
    """What a scorer inherits that knows a short way for single rows, although no form says all that it does."""

    def answer_row(self, codes: RowOfCodes) -> list[float] | None:
        """Posterior probabilities of one encoded row, as ``score`` gives them; None where it takes the long way."""
        raise NotImplementedError
