"""HNB: hidden naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.estimates import Estimate, MEstimate
from tanager.counts.joint import JointCounts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.structure.measures import conditional_information


@dataclass(eq=False, repr=False, kw_only=True)
class HNB(CountsClassifier):
    """Hidden naive Bayes: each column has a hidden parent, the mixture of all other columns.

    The mixture weighs a column by what it tells about the child given the class. Choose it like WAODE, where columns
    depend on each other unequally.

    Parameters
    ----------
    smoothing
        None is ``MEstimate(1)``, as published.

    Notes
    -----
    Zhang, Jiang and Su (2005). P(y, x) ~ P(y) prod_i sum_{j != i} W_ij P(x_i | y, x_j).

    Examples
    --------
    Either column alone says nothing here. Given the other one, P(sun | play, warm) = (1 + 1/2) / 2, and 1/4 for stay:

    >>> from tanager import HNB
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]]
    >>> HNB().fit(X, ["play", "play", "stay", "stay"]).predict_proba([["sun", "warm"]])
    array([[0.9, 0.1]])
    """

    default_bins = "refined"
    smoothing: float | Estimate | None = None

    default_estimate = MEstimate(1.0)

    def _adaptive(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        information = conditional_information(counts).copy()
        np.fill_diagonal(information, 0.0)
        total = information.sum(axis=1)
        alone = total <= 0  # nothing to mix: the class alone
        np.fill_diagonal(information, alone)  # so that such a column has a place
        child, parent = np.nonzero(information)
        weight = information[child, parent] / np.where(alone, 1.0, total)[child]
        sets: list[ParentSet] = [*((j,) for j in range(len(total))), ()]
        own = np.where(child == parent, len(total), parent)
        parents = tuple(map(sets.__getitem__, own.tolist()))
        return ProductOfSums(tuple(child.tolist()), parents, tuple(weight.tolist()))
