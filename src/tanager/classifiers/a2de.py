"""A2DE: the mean over all pairs of columns as parents of all others."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.counts.joint import JointCounts
from tanager.errors import check_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, averaged


@dataclass(eq=False, repr=False, kw_only=True)
class A2DE(CountsClassifier):
    """Averaged two-dependence estimators: the mean over all pairs of columns as parents of all others.

    It can learn more than AODE and needs more rows for it: choose it with many rows and few columns. It counts all
    triples of values, so memory grows with the cube of their number. It is ``ANDE(n=2)`` with other bins by default.

    Parameters
    ----------
    min_count : float, default=1.0
        Two columns are parents of all others in an answer only if their values in that row were seen together at least
        that often. Where no pair was, AODE answers.

    Examples
    --------
    All three pairs of columns say the same, 3/12 3/4 against 1/12 1/2:

    >>> from tanager import A2DE
    >>> X = [["sun", "no", "hot"], ["sun", "no", "hot"], ["rain", "yes", "cold"], ["rain", "yes", "cold"]]
    >>> A2DE().fit(X, ["play", "play", "stay", "stay"]).predict_proba(X[:1]).round(4)
    array([[0.8182, 0.1818]])
    """

    default_bins = "refined"
    min_count: float = 1.0

    order = 3

    def check_options(self) -> None:
        super().check_options()
        check_number("min_count", self.min_count, "a number of rows")

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return averaged(counts.n_features, 2, self.min_count)
