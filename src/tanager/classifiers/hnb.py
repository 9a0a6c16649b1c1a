"""HNB: hidden naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

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
        linked = information != 0.0
        weight = (information / np.where(alone, 1.0, total)[:, None])[linked]
        child, parents = _mixtures(len(total), linked.tobytes())
        return ProductOfSums.of_pairs(child, parents, tuple(weight.tolist()))


@lru_cache(maxsize=4)  # a stream and its folds ask for the same again and again
def _mixtures(n: int, linked_: bytes) -> tuple[tuple[int, ...], tuple[ParentSet, ...]]:
    """The terms of all columns: children, and the parent of each; a column that is linked to itself has none."""
    child, parent = np.nonzero(np.frombuffer(linked_, dtype=bool).reshape(n, n))
    sets: list[ParentSet] = [*((j,) for j in range(n)), ()]
    own = np.where(child == parent, n, parent)
    return tuple(child.tolist()), tuple(map(sets.__getitem__, own.tolist()))
