"""Averaged dependence estimators: SPODE, AODE, WAODE and A2DE."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tanager.classifiers.base import CountsClassifier
from tanager.classifiers.choose import SELECTIONS, best_by_rows
from tanager.classifiers.forms import Form, ProductOfSums, SumOfProducts
from tanager.classifiers.rows import Rows
from tanager.classifiers.subsumption import SubsumptionMixin
from tanager.counts.estimates import Estimate, MEstimate
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, is_number
from tanager.structure.measures import class_information


def naive(n: int) -> ProductOfSums:
    """Naive Bayes over n columns: the answer where no super-parent can speak."""
    return ProductOfSums.one_each(((),) * n)


def one_dependence(weights: np.ndarray, min_count: float) -> SumOfProducts:
    """One member per column, with weights."""
    n = len(weights)
    return SumOfProducts(tuple((i,) for i in range(n)), tuple(float(w) for w in weights), min_count, naive(n))


@dataclass(eq=False, repr=False, kw_only=True)
class _Averaged(CountsClassifier):
    """What averaged estimators share: super-parents must have been seen often enough."""

    min_count: float = 1.0

    def _check_options(self) -> None:
        super()._check_options()
        if not is_number(self.min_count, 0):
            raise OptionError(f"min_count={self.min_count!r}: give a number of rows of at least 0.")


@dataclass(eq=False, repr=False, kw_only=True)
class AODE(SubsumptionMixin, _Averaged):
    """Averaged one-dependence estimators: the mean over all columns as a parent of all others.

    The first classifier to try: no structure to choose, exact in streams, usually more accurate than naive Bayes and
    TAN, and well calibrated. It needs pairs of counts, so memory grows with the square of all values.

    Parameters
    ----------
    min_count : float, default=1.0
        A value serves as a super-parent when it was seen at least that often. Where none does, naive Bayes answers.
    subsumption : float or None, default=None
        AODEsr: leave out, row by row, values that only repeat another value of the row, judged on values seen more
        often than this (50 is customary).

    Notes
    -----
    Webb, Boughton and Wang (2005). Learning O(rows columns²), a prediction O(columns²).

    Examples
    --------
    >>> from tanager import AODE
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> AODE().fit(X, ["play", "play", "stay", "stay"]).predict_proba([["sun", "no"]]).round(4)
    array([[0.7941, 0.2059]])
    """

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        return one_dependence(np.ones(counts.n_features), self.min_count)


@dataclass(eq=False, repr=False, kw_only=True)
class WAODE(_Averaged):
    """AODE with every super-parent weighted by what it tells about the class.

    Choose it over AODE when some columns carry no information. The weights follow the counts.

    Parameters
    ----------
    smoothing : default=None
        ``MEstimate(1)``, as published; see CountsClassifier for the other options.
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

    published = MEstimate(1.0)

    def _adaptive(self) -> bool:
        return True

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        weights = class_information(counts)
        return one_dependence(weights if weights.any() else np.ones(counts.n_features), self.min_count)


@dataclass(eq=False, repr=False, kw_only=True)
class SPODE(_Averaged):
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


@dataclass(eq=False, repr=False, kw_only=True)
class A2DE(_Averaged):
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
