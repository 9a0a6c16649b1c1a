"""Smoothing: the estimators that turn counts into probabilities, as small values to give to a classifier.

Each turns a count ``num`` out of ``den`` with ``r`` outcomes into a probability. The kernels do the arithmetic; these
classes hold the names and strengths, and validate them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tanager.errors import OptionError, is_number

WEAKEST, STRONGEST = 1e-100, 1e100  # of strengths that are not 0: a count divided by one, or times one, is finite


def _check_strength(place: str, strength: object) -> None:
    if not is_number(strength, 0) or (strength and not WEAKEST <= strength <= STRONGEST):
        raise OptionError(
            f"{place}: the strength must be a finite number of at least 0, and from {WEAKEST:g} to {STRONGEST:g} "
            "where it is not 0."
        )


@dataclass(frozen=True)
class Estimate:
    """Base class of the estimators; ``kind`` is the name that the kernels use."""

    kind: ClassVar[str]
    strength: float

    def __post_init__(self) -> None:
        _check_strength(f"{type(self).__name__}({self.strength!r})", self.strength)


@dataclass(frozen=True)
class Lidstone(Estimate):
    """Add a number to every count: 1 is Laplace's rule, 0 takes the counts as they are (maximum likelihood).

    A value that ``num`` of ``den`` rows have, in a column of r values, gets ``(num + a) / (den + a r)``. With 0, where
    there are no such rows at all, it gets ``1 / r``.

    Parameters
    ----------
    strength : float, default=1.0
        The pseudo-count a.

    Examples
    --------
    >>> from tanager import Lidstone, NaiveBayes
    >>> X, y = [["sun"], ["sun"], ["rain"]], ["play", "play", "stay"]
    >>> NaiveBayes(smoothing=Lidstone(0)).fit(X, y).predict_proba([["sun"]])
    array([[1., 0.]])
    """

    kind = "lidstone"
    strength: float = 1.0


@dataclass(frozen=True)
class MEstimate(Estimate):
    """The m-estimate: M rows are imagined in addition, spread evenly over the values of the column.

    A value that ``num`` of ``den`` rows have, in a column of r values, gets the probability
    ``(num + M / r) / (den + M)``. Rows are those of one class and, where the column has parents, of one combination of
    their values.

    Parameters
    ----------
    strength : float, default=1.0
        How many rows are imagined: M.

    Examples
    --------
    >>> from tanager import MEstimate, WAODE
    >>> WAODE(smoothing=MEstimate(2)).smoothing
    MEstimate(strength=2)
    """

    kind = "m"
    strength: float = 1.0


@dataclass(frozen=True)
class BDeu(Estimate):
    """The prior of the BDeu score: imagined rows (the equivalent sample size) are spread evenly over a whole table.

    A table P(column | parents) has r values of the column for each of q combinations of its parents' values. A value
    that ``num`` of the ``den`` rows with one combination have gets ``(num + ess / (r q)) / (den + ess / q)``.

    Parameters
    ----------
    strength : float, default=1.0
        The equivalent sample size ess.

    Examples
    --------
    >>> from tanager import TAN, BDeu
    >>> TAN(smoothing=BDeu(10), criterion="bdeu").smoothing
    BDeu(strength=10)
    """

    kind = "bdeu"
    strength: float = 1.0


@dataclass(frozen=True)
class PriorCounts(Estimate):
    """Shrink P(value | parents) towards P(value): as if N0 more rows had the values of the whole table.

    A value that ``num`` of ``den`` rows have gets ``(num + N0 p0) / (den + N0)``, with p0 its share of all rows. This
    is the smoothing of TAN^s (Friedman, Geiger and Goldszmidt). P(value) itself stays as counted, unless one of the
    values never occurs; then it follows Laplace's rule. The probability of a class together with a value of a
    super-parent (a column that all others depend on) shrinks towards the product of their two probabilities.

    Parameters
    ----------
    strength : float, default=5.0
        How many rows are imagined: N0.

    Examples
    --------
    >>> from tanager import TAN, PriorCounts
    >>> TAN(smoothing=PriorCounts()).smoothing
    PriorCounts(strength=5.0)
    """

    kind = "prior"
    strength: float = 5.0


@dataclass(frozen=True)
class BackOff(Estimate):
    """Back-off: where rows with the same values of all parents are few, those with fewer parents have their say.

    A value that ``num`` of ``den`` rows have gets ``(num + M p) / (den + M)``, with p the same estimate without the
    last parent, and at the end of the chain ``1 / r`` for a column of r values. So a combination of parents that never
    occurred is answered as without its last parent. The class is never dropped.

    Parameters
    ----------
    strength : float, default=1.0
        How many rows are imagined: M.
    first : float or None, default=None
        M where the class is the only parent; None: the same. Columns with several parents need a larger M, which at
        that first level would smooth too much.

    Examples
    --------
    >>> from tanager import KDB, BackOff
    >>> KDB(smoothing=BackOff(5, first=1)).smoothing
    BackOff(strength=5, first=1)
    """

    kind = "backoff"
    strength: float = 1.0
    first: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None:
            _check_strength(f"BackOff(first={self.first!r})", self.first)

    @property
    def at_first(self) -> float:
        """How many rows are imagined where the class is the only parent."""
        return self.strength if self.first is None else self.first


@dataclass(frozen=True)
class LearnedBackOff(Estimate):
    """``BackOff`` whose strengths are learned from the counts: one for every column and number of parents.

    A value that ``num`` of ``den`` rows have gets ``(num + c p) / (den + c)``, with p the same estimate without the
    last parent, down to ``1 / r``; the class is never dropped. The strengths c, between 1e-3 and 1e6, are those under
    which the rows are most probable when each is left out in turn. Where parents tell much about a column its strengths
    are small, and what is known without the last parent matters little; elsewhere they are large.

    A weight of two is two rows, of which one is left out. Of a count below one, as fading leaves them, all is left out:
    which rows are in it is not known any more. ``predict`` learns the strengths for the counts as they are; in a
    stream they are learned again when a structure would be.

    Parameters
    ----------
    strength : float, default=1.0
        Where the search begins: strengths about which the counts tell nothing stay there. It is also that of P(y),
        which is not searched for.
    prior : float, default=0.0
        Holds strengths to it: ``prior / 2 (log c - log strength)^2`` is taken off the log likelihood. Without it (0),
        where the few rows of a class all have one value, the strength falls to its least, and another value that comes
        later is taken for impossible.

    Examples
    --------
    >>> from tanager import KDB, LearnedBackOff
    >>> KDB(smoothing=LearnedBackOff(2, prior=0.5)).smoothing
    LearnedBackOff(strength=2, prior=0.5)
    """

    kind = "learned"
    strength: float = 1.0
    prior: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.prior, 0):
            raise OptionError(f"LearnedBackOff(prior={self.prior!r}): the prior must be a finite number of at least 0.")


ESTIMATES: dict[str, type[Estimate]] = {
    cls.kind: cls for cls in (Lidstone, MEstimate, BDeu, PriorCounts, BackOff, LearnedBackOff)
}


LEARNED = LearnedBackOff(2.0, prior=0.5)  # the prior that did best on development data; see docs/smoothing.md


def as_estimate(smoothing: object) -> Estimate:
    """The estimator for a ``smoothing`` option: a number is Lidstone's pseudo-count, "learned" a learned back-off.

    >>> as_estimate(1)
    Lidstone(strength=1.0)
    """
    if isinstance(smoothing, Estimate):
        return smoothing
    if type(smoothing) is float:  # asked for with every view
        return _lidstone(smoothing)
    if isinstance(smoothing, str) and smoothing == "learned":
        return LEARNED
    if isinstance(smoothing, bool | np.bool_) or not isinstance(smoothing, int | float | np.integer | np.floating):
        names = ", ".join(cls.__name__ for cls in ESTIMATES.values())
        raise OptionError(
            f"smoothing={smoothing!r} is not an option; give a number of at least 0, 'learned', or one of {names}."
        )
    _check_strength(f"smoothing={smoothing!r}", smoothing)
    return Lidstone(float(smoothing))


@lru_cache(maxsize=16)
def _lidstone(strength: float) -> Lidstone:
    _check_strength(f"smoothing={strength!r}", strength)
    return Lidstone(strength)
