"""What averaged dependence estimators share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.errors import OptionError, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.forms import ProductOfSums, SumOfProducts


def naive(n: int) -> ProductOfSums:
    """Naive Bayes over n columns: the answer where no super-parent can speak."""
    return ProductOfSums.one_each(((),) * n)


def one_dependence(weights: np.ndarray, min_count: float) -> SumOfProducts:
    """One member per column, with weights."""
    n = len(weights)
    return SumOfProducts(tuple((i,) for i in range(n)), tuple(float(w) for w in weights), min_count, naive(n))


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedClassifier(CountsClassifier):
    """What averaged estimators share: super-parents must have been seen often enough.

    Parameters
    ----------
    min_count : float, default=1.0
        A value serves as a super-parent when it was seen at least that often.
    """

    min_count: float = 1.0

    def _check_options(self) -> None:
        super()._check_options()
        if not is_number(self.min_count, 0):
            raise OptionError(f"min_count={self.min_count!r}: give a number of rows of at least 0.")
