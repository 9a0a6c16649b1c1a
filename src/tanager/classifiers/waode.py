"""WAODE: AODE with weighted super-parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.estimates import Estimate, MEstimate
from tanager.counts.joint import JointCounts
from tanager.errors import check_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, one_dependence
from tanager.structure.measures import class_information


@dataclass(eq=False, repr=False, kw_only=True)
class WAODE(CountsClassifier):
    """AODE with every super-parent weighted by what it tells about the class.

    Choose it over AODE when some columns carry no information. The weights follow the counts.

    Parameters
    ----------
    smoothing
        None is ``MEstimate(1)``, as published.
    min_count : float, default=1.0
        A value serves as a super-parent when it was seen at least that often.

    Examples
    --------
    A constant column says nothing, so its super-parent has no weight; left is (2 + 1/4) / 5 against (0 + 1/4) / 5:

    >>> from tanager import WAODE
    >>> X = [["sun", "calm"], ["sun", "calm"], ["rain", "calm"], ["rain", "calm"]]
    >>> WAODE().fit(X, ["play", "play", "stay", "stay"]).predict_proba([["sun", "calm"]])
    array([[0.9, 0.1]])
    """

    smoothing: float | Estimate | None = None
    default_bins = "refined"
    min_count: float = 1.0

    default_estimate = MEstimate(1.0)

    def check_options(self) -> None:
        super().check_options()
        check_number("min_count", self.min_count, "a number of rows")

    def _adaptive(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        weights = class_information(counts)
        return one_dependence((weights if weights.any() else np.ones(counts.n_features)).tolist(), self.min_count)
