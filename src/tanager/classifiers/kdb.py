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
    """k-dependence Bayes: every column depends on the class and on up to k columns that tell more about the class.

    Of the columns that tell more about the class, each column gets those as parents that tell most about it given the
    class. The larger k, the more rows it needs; 2 is good from some ten thousand rows on. Learning goes over the rows
    twice: it counts pairs to choose parents, then each column with its parents. Therefore the rows are kept, in a byte
    or two per cell; with ``refresh=float("inf")`` parents are chosen once, for the first answer, and no rows are kept
    from then on.

    Parameters
    ----------
    k : int, default=2
        Most parents beside the class; 0 is naive Bayes.
    threshold : float, default=0.0
        Only columns that tell more than this about a column given the class, in nats, become its parents; 0 takes k of
        them where there are as many.
    smoothing : float, Estimate, "learned" or None, default="learned"
        "learned": where a combination of values of the parents is rare, probabilities lean on those with fewer parents,
        as much as makes left-out rows most probable. None is ``BackOff(1)``, the same for all columns. Or another
        estimate, or a number that is added to every count.

    Attributes
    ----------
    parents_ : dict
        The parents of every column beside the class, most informative first.

    Notes
    -----
    Sahami (1996). Where a parent is missing in a row to answer, only the parents before it are used.

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
