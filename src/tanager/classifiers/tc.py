"""TC: all networks with at most two parents beside the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import OptionError, is_number
from tanager.learning.gaussian_option import two_parents
from tanager.learning.rows import KeptRows
from tanager.learning.voting import OrderedCollection, Sets
from tanager.scoring.forms import ParentSet


@dataclass(eq=False, repr=False, kw_only=True)
class TC(OrderedCollection):
    """All networks in which every column has at most two earlier columns as parents, voting at once.

    Earlier is meant in an order of the columns. The probabilities of all these networks are added up in one step. It
    learns more than FANC and SPC from many rows, and takes more: it counts all triples of values, and a prediction
    costs O(columns³). For few columns.

    Parameters
    ----------
    order_weights : tuple of three numbers or None, default=None
        Weights of parent sets with none, one and two columns, each divided by how many there are; None sums them as
        they are, so that pairs of parents dominate for late columns.
    weights : dict, default=None
        Prior knowledge, as for FANC: ``{(child, parent): weight}``, with ``(parent, parent)`` for two parents and None
        for the class alone. They multiply ``order_weights``.

    Examples
    --------
    One parent set for the first column, two for the second, four for the third. The answer is 3/4 6/4 12/4 against
    1/4 3/4 7/4, that is 216 to 21:

    >>> from tanager import TC
    >>> X = [["sun", "no", "hot"], ["sun", "no", "hot"], ["rain", "yes", "cold"], ["rain", "yes", "cold"]]
    >>> model = TC().fit(X, ["play", "play", "stay", "stay"])
    >>> model.n_networks_
    8
    >>> model.predict_proba(X[:1]).round(4)
    array([[0.9114, 0.0886]])
    """

    order = 3
    order_weights: Sequence[float] | None = None

    def _sets(self, counts: JointCounts, order: list[int], rows: KeptRows | None) -> Sets:
        sets: Sets = []
        for place, i in enumerate(order):
            for size in range(3):
                found = list(combinations(order[:place], size))
                weight = 1.0 if self.order_weights is None else float(self.order_weights[size]) / max(len(found), 1)
                sets += [(i, parents, weight) for parents in found]
        return sets

    def _parent_sets(self, schema: Schema) -> list[ParentSet]:
        return two_parents(schema)

    def check_options(self) -> None:
        super().check_options()
        given = self.order_weights
        if given is not None and (len(given) != 3 or not all(is_number(w, 0) for w in given) or not given[0]):
            raise OptionError(f"order_weights={given!r}: give three numbers of at least 0, the first above 0.")
