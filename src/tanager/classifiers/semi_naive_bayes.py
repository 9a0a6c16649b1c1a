"""SemiNaiveBayes: naive Bayes in which single values of different columns are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.errors import ModelFileError, OptionError, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, naive
from tanager.scoring.joined_values import JoinedPair, JoinedValues, joined_pairs
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View


@dataclass(eq=False, repr=False, kw_only=True)
class SemiNaiveBayes(CountsClassifier):
    """Naive Bayes in which pairs of values that tell something else together than apart are read as one value.

    Joins values, not whole columns: "pregnant" and "male" need a count of their own, other values of the two columns do
    not. Finds out from the pair counts alone, so it learns in streams and merges as naive Bayes does.

    Parameters
    ----------
    reliability : float, default=0.5
        Values are joined where the difference is real with at least this probability, by Chebyshev's inequality.

    Attributes
    ----------
    joined_ : tuple
        The joined values, as ((column, value), (column, value)), the most reliable first.

    Notes
    -----
    Kononenko (1991). O(rows columns²) to count; then O(values²) to choose, and O(columns) to answer a row.

    Examples
    --------
    Either column alone says nothing:

    >>> from tanager import SemiNaiveBayes
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]] * 5
    >>> model = SemiNaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> model.joined_
    ((('x0', 'sun'), ('x1', 'warm')), (('x0', 'rain'), ('x1', 'cold')))
    >>> model.predict_proba([["sun", "warm"]])  # (5 + 1) / (10 + 4) against (0 + 1) / (10 + 4)
    array([[0.85714286, 0.14285714]])
    """

    reliability: float = 0.5

    def check_options(self) -> None:
        super().check_options()
        if not (is_number(self.reliability, 0) and self.reliability < 1):
            raise OptionError(f"reliability={self.reliability!r}: give a probability below 1, such as 0.5.")

    def _adaptive(self) -> bool:
        return True

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything. ``classes`` are known beforehand; ``target`` is what the class is called."""
        self._joined: list[JoinedPair] = []
        return super().start(classes, target)

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        self._joined[:] = joined_pairs(counts, self.reliability)  # in place: the scorer reads this list
        return naive(counts.n_features)

    def _scorer(self, view: View) -> Scorer:
        return JoinedValues(view, self._joined)

    @property
    def joined_(self) -> tuple[tuple[tuple[str, Any], tuple[str, Any]], ...]:
        """The joined values."""
        columns = self.view_.counts.schema.columns
        return tuple(
            ((columns[i].name, columns[i].describe(v)), (columns[j].name, columns[j].describe(w)))
            for i, v, j, w in self._joined
        )

    def _choice(self) -> dict[str, Any]:
        return {"joined": [list(pair) for pair in self._joined]}

    def _take_choice(self, data: dict[str, Any]) -> None:
        n_values = self.counts_.schema.n_values
        column, code = saved.whole(0, len(n_values) - 1), saved.whole(0, 65535)
        pairs = saved.items(saved.row(column, code, column, code))
        self._joined[:] = [JoinedPair(*pair) for pair in saved.field("joined values", data, "joined", pairs)]
        ends = [(end, value) for i, v, j, w in self._joined for end, value in ((i, v), (j, w))]
        if len(set(ends)) < len(ends) or any(i >= j for i, _, j, _ in self._joined):
            raise ModelFileError("a value is joined twice, or with one of its own column")
        if any(value >= n_values[i] for i, value in ends):
            raise ModelFileError("a value is joined that its column does not have")
