"""SPODE: one super-parent for all columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import check_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.learning.selection import SELECTIONS, best_by_rows, one_dependence_sums
from tanager.scoring.forms import Form, SumOfProducts, naive


@dataclass(eq=False, repr=False, kw_only=True)
class SPODE(CountsClassifier):
    """One super-parent: every column depends on the class and on the same other column.

    Parameters
    ----------
    super_parent : str, int, "loo", "resub" or "mi", default="loo"
        The column; or how to choose it: by the sum of leave-one-out (or plain) probabilities of the true class over the
        rows, or by what it tells about the class. Over more than 1e9 / (columns² classes) rows the sum is that of so
        many, spread over all classes, and chosen by what they are.
    min_count : float, default=0.0
        Where the value of the super-parent was seen less often than this, naive Bayes answers, as where it is missing.

    Attributes
    ----------
    super_parent_ : str
        The column chosen.

    Examples
    --------
    P(play, sun) P(no | play, sun) = 3/8 3/4 against P(stay, sun) P(no | stay, sun) = 1/8 1/2, that is 9 to 2:

    >>> from tanager import SPODE
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = SPODE(super_parent="x0").fit(X, ["play", "play", "stay", "stay"])
    >>> model.predict_proba([["sun", "no"]]).round(4)
    array([[0.8182, 0.1818]])
    """

    super_parent: Any = "loo"
    min_count: float = 0.0

    def check_options(self) -> None:
        super().check_options()
        check_number("min_count", self.min_count, "a number of rows")

    def _needs_rows(self) -> bool:
        return self.super_parent in ("loo", "resub")

    def _adaptive(self) -> bool:
        return self.super_parent in SELECTIONS

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        def sums(rows: KeptRows, leave_out: bool) -> np.ndarray:
            return one_dependence_sums(self, counts, rows, self.min_count, leave_out=leave_out)

        best = best_by_rows(self, self.super_parent, sums, counts, rows)
        self.super_parent_ = counts.schema.names[best]
        return SumOfProducts(((best,),), (1.0,), self.min_count, naive(counts.n_features))
