"""Voted collections: exponentially many networks over the columns, summed in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.network_view import n_networks_of
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.structure.orders import column_order

Sets = list[tuple[int, ParentSet, float]]  # child, parents, weight


def collect(sets: Sets) -> ProductOfSums:
    """A product of sums over these parent sets."""
    return ProductOfSums(tuple(s[0] for s in sets), tuple(s[1] for s in sets), tuple(float(s[2]) for s in sets))


@dataclass(eq=False, repr=False, kw_only=True)
class OrderedCollection(CountsClassifier):
    """What collections share: an order of the columns, in which parents come before their children.

    Parameters
    ----------
    column_order : {"given", "ig_sum", "ig_class", "mi", "random"} or list of columns, default="given"
        Which columns come first.
    random_state : int, default=None
        For a random order.
    """

    column_order: Any = "given"
    random_state: Any = None

    n_networks_ = property(n_networks_of)

    def _sets(self, counts: JointCounts, order: list[int], rows: KeptRows | None) -> Sets:
        raise NotImplementedError

    def _adaptive(self) -> bool:
        return isinstance(self.column_order, str) and self.column_order not in ("given", "random")

    def _given_order(self) -> bool:
        return isinstance(self.column_order, str) and self.column_order == "given"

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return collect(self._sets(counts, column_order(counts, self.column_order, self.random_state), rows))
