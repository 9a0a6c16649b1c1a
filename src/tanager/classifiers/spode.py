"""SPODE: one super-parent for all columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import check_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.learning.search_rows import weight_of_search
from tanager.learning.selection import SELECTIONS, Sums, best_by_rows, one_dependence_sums, super_parent_lead
from tanager.learning.structure_change import Lead
from tanager.scoring.forms import Form, SumOfProducts, naive


@dataclass(eq=False, repr=False, kw_only=True)
class SPODE(CountsClassifier):
    """Super-parent one-dependence estimator: every column depends on the class and on the same other column.

    That column is the super-parent. AODE is the mean over all super-parents, and usually better; choose this one where
    a single network must do, or where it is known which column matters to all others.

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
        The column that all others depend on.

    Examples
    --------
    P(play, sun) P(no | play, sun) = 3/8 3/4 against P(stay, sun) P(no | stay, sun) = 1/8 1/2, that is 9 to 2:

    >>> from tanager import SPODE
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = SPODE(super_parent="x0").fit(X, ["play", "play", "stay", "stay"])
    >>> model.predict_proba([["sun", "no"]]).round(4)
    array([[0.8182, 0.1818]])
    """

    super_parent: str | int = "loo"
    min_count: float = 0.0

    def check_options(self) -> None:
        super().check_options()
        check_number("min_count", self.min_count, "a number of rows")

    def _needs_rows(self) -> bool:
        return self.super_parent in ("loo", "resub")

    def _adaptive(self) -> bool:
        return self.super_parent in SELECTIONS

    @property
    def super_parent_(self) -> str:
        """The column that all others depend on."""
        form = self.structure_
        assert isinstance(form, SumOfProducts)
        return self.counts_.schema.names[form.members[0][0]]

    def _compares_structures(self) -> bool:
        return True

    def _lead(self, new: Form, old: Form, counts: JointCounts, rows: KeptRows | None) -> Lead:
        assert isinstance(new, SumOfProducts)
        assert isinstance(old, SumOfProducts)

        def sums(leave_out: bool) -> tuple[np.ndarray, float]:
            assert rows is not None
            steps = counts.n_features**2 * counts.n_classes
            return self._sums(counts)(rows, leave_out), weight_of_search(rows, steps)

        return super_parent_lead(str(self.super_parent), new.members[0][0], old.members[0][0], counts, sums)

    def _sums(self, counts: JointCounts) -> Sums:
        return lambda rows, leave_out: one_dependence_sums(self, counts, rows, self.min_count, leave_out=leave_out)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        best = best_by_rows(self, self.super_parent, self._sums(counts), counts, rows)
        return SumOfProducts(((best,),), (1.0,), self.min_count, naive(counts.n_features))
