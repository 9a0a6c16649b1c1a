"""KDB: every column depends on the class and on at most k other columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tanager.counts.estimates import BackOff, Estimate
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.learning.structure_change import BITS, Lead, arcs_lead
from tanager.scoring.forms import Form, ProductOfSums
from tanager.structure.measures import conditional_information
from tanager.structure.orders import k_dependence


@dataclass(eq=False, repr=False, kw_only=True)
class KDB(CountsClassifier):
    """k-dependence Bayes: columns in order of information on the class, each with its k best earlier columns.

    The larger k, the more rows it needs; 2 is good from some ten thousand rows on. Learning takes two passes: pairs for
    the structure, then its families. Rows are kept (as codes) for the second pass, and for later choices; with
    ``refresh=float("inf")`` the structure is chosen once, at the first answer, and no rows are kept from then on.

    Parameters
    ----------
    k : int, default=2
        Most parents beside the class; 0 is naive Bayes.
    threshold : float, default=0.0
        Take only parents with more than this conditional information; 0 takes them all.
    smoothing : float, Estimate, "learned" or None, default="learned"
        Families fall back to fewer parents, as much as left-out rows ask for. None is ``BackOff(1)``, one for all.

    Attributes
    ----------
    parents_ : dict
        The parents of every column beside the class, most informative first.

    Notes
    -----
    Sahami (1996). A missing parent at prediction leaves the parents before it in that order.

    Examples
    --------
    P(warm | play, sun) = (1 + 1/2) / (1 + 1), where 1/2 is P(warm | play), the estimate without the parent:

    >>> from tanager import KDB, BackOff
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]]
    >>> model = KDB(k=1, smoothing=BackOff(1)).fit(X, ["play", "play", "stay", "stay"])
    >>> model.parents_
    {'x0': (), 'x1': ('x0',)}
    >>> model.predict_proba([["sun", "warm"]])
    array([[0.75, 0.25]])
    """

    default_bins = "refined"
    k: int = 2
    threshold: float = 0.0
    smoothing: float | Estimate | str | None = "learned"

    default_estimate = BackOff(1.0)
    may_choose_once: ClassVar[bool] = True

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)

    def check_options(self) -> None:
        super().check_options()
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or not 0 <= self.k <= 6:
            raise OptionError(f"k={self.k!r}: give a number of parents from 0 to 6.")
        if not is_number(self.threshold, 0):
            raise OptionError(f"threshold={self.threshold!r}: give an amount of information of at least 0.")

    def _needs_rows(self) -> bool:
        return self.k > 1

    def _adaptive(self) -> bool:
        return True

    def _compares_structures(self) -> bool:
        return True

    def _lead(self, new: Form, old: Form, counts: JointCounts, rows: KeptRows | None) -> Lead:
        return arcs_lead(BITS * conditional_information(counts), new, old, counts)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return ProductOfSums.one_each(k_dependence(counts, self.k, self.threshold))
