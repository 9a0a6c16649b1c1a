"""FANC: all forest-augmented networks that agree with one order of the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import OptionError
from tanager.learning.rows import KeptRows
from tanager.learning.voting import OrderedCollection, Sets


@dataclass(eq=False, repr=False, kw_only=True)
class FANC(OrderedCollection):
    """All forest-augmented networks that agree with one order of the columns, voting: n! networks at once.

    In each of these networks every column depends on the class alone, or on the class and one column before it in the
    order. Their probabilities are added up in one step, so it is as cheap as AODE, and often sharper; which columns
    come first matters somewhat.

    Parameters
    ----------
    max_parents_from : int or None, default=None
        Only the first so many columns of the order are parents of others; 0 is naive Bayes. None: all are.
    weights : dict, default=None
        What is known beforehand about parents: ``{(child, parent): weight}``, where the parent None stands for the
        class alone. A weight of 0 forbids this parent, one above 1 makes it more likely; 1 is taken where nothing is
        said. A network counts by the product of the weights of its arcs.

    Notes
    -----
    Bouckaert, equation (2). P(y, x) ~ P(y) prod_i ( P(x_i | y) + sum_{j < i} P(x_i | y, x_j) ).

    Examples
    --------
    >>> from tanager import FANC
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = FANC().fit(X, ["play", "play", "stay", "stay"])
    >>> model.predict(X).tolist(), model.n_networks_
    (['play', 'play', 'stay', 'stay'], 2)
    """

    max_parents_from: int | None = None

    def check_options(self) -> None:
        super().check_options()
        limit = self.max_parents_from
        if limit is not None and (not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0):
            raise OptionError(f"max_parents_from={limit!r}: give a number of columns of at least 0, or None.")

    def _sets(self, counts: JointCounts, order: list[int], rows: KeptRows | None) -> Sets:
        first = order if self.max_parents_from is None else order[: self.max_parents_from]
        sets: Sets = []
        for place, i in enumerate(order):
            sets += [(i, (), 1.0), *((i, (j,), 1.0) for j in first[:place])]
        return sets
