"""Voted collections: exponentially many networks over the columns, summed in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import Rows
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.structure.orders import column_order

Sets = list[tuple[int, ParentSet, float]]  # child, parents, weight


def collect(sets: Sets) -> ProductOfSums:
    """A product of sums over these parent sets."""
    return ProductOfSums(tuple(s[0] for s in sets), tuple(s[1] for s in sets), tuple(float(s[2]) for s in sets))


class VotingMixin:
    """Says how many networks a collection sums over."""

    @property
    def n_networks_(self: Any) -> int:
        """How many networks vote."""
        self._ready()
        return self._structure(fresh=True).form.n_networks


@dataclass(eq=False, repr=False, kw_only=True)
class OrderedCollection(VotingMixin, CountsClassifier):
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

    def _sets(self, counts: JointCounts, order: list[int], rows: Rows | None) -> Sets:
        raise NotImplementedError

    def _adaptive(self) -> bool:
        return isinstance(self.column_order, str) and self.column_order not in ("given", "random")

    def _given_order(self) -> bool:
        return isinstance(self.column_order, str) and self.column_order == "given"

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        return collect(self._sets(counts, column_order(counts, self.column_order, self.random_state), rows))
