"""A2DE: the mean over all pairs of columns as parents of all others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.learning.averaged import AveragedClassifier, one_dependence
from tanager.learning.rows import Rows
from tanager.scoring.forms import Form, SumOfProducts


@dataclass(eq=False, repr=False, kw_only=True)
class A2DE(AveragedClassifier):
    """Averaged two-dependence estimators: the mean over all pairs of columns as parents of all others.

    Lower bias and higher variance than AODE: choose it with many rows and few columns. Counts triples.

    Parameters
    ----------
    min_count : float, default=1.0
        A pair of values serves as super-parents when it was seen at least that often; where none was, AODE answers.

    Examples
    --------
    All three pairs of columns say the same, 3/12 3/4 against 1/12 1/2:

    >>> from tanager import A2DE
    >>> X = [["sun", "no", "hot"], ["sun", "no", "hot"], ["rain", "yes", "cold"], ["rain", "yes", "cold"]]
    >>> A2DE().fit(X, ["play", "play", "stay", "stay"]).predict_proba(X[:1]).round(4)
    array([[0.8182, 0.1818]])
    """

    order = 3

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        n = counts.n_features
        single = one_dependence(np.ones(n), self.min_count)
        pairs = tuple(combinations(range(n), 2))
        return SumOfProducts(pairs, (1.0,) * len(pairs), self.min_count, single) if n > 2 else single
