"""SPODE: one super-parent for all columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.learning.averaged import AveragedClassifier, naive
from tanager.learning.rows import Rows
from tanager.learning.selection import SELECTIONS, best_by_rows
from tanager.scoring.forms import Form, SumOfProducts


@dataclass(eq=False, repr=False, kw_only=True)
class SPODE(AveragedClassifier):
    """One super-parent: every column depends on the class and on the same other column.

    Parameters
    ----------
    super_parent : str, int, "loo", "resub" or "mi", default="loo"
        The column; or how to choose it: by the sum of leave-one-out (or plain) probabilities of the true class over the
        rows, or by what it tells about the class.

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

    def _needs_rows(self) -> bool:
        return self.super_parent in ("loo", "resub")

    def _adaptive(self) -> bool:
        return self.super_parent in SELECTIONS

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        def form(s: int) -> SumOfProducts:
            return SumOfProducts(((s,),), (1.0,), 0.0, naive(counts.n_features))

        best = best_by_rows(self, self.super_parent, form, counts, rows)
        self.super_parent_ = counts.schema.names[best]
        return form(best)
