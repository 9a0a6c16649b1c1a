"""Voted collections: exponentially many networks over the columns, summed in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tanager.classifiers.base import CountsClassifier
from tanager.classifiers.choose import best_by_rows
from tanager.classifiers.forms import Form, ParentSet, ProductOfSums
from tanager.classifiers.rows import Rows
from tanager.counts.joint import JointCounts, place_of
from tanager.encoding import Schema
from tanager.errors import OptionError, check_option
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
class _Ordered(VotingMixin, CountsClassifier):
    """What collections share: an order of the columns, in which parents come before their children."""

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


@dataclass(eq=False, repr=False, kw_only=True)
class FANC(_Ordered):
    """All forest-augmented networks that agree with one order of the columns, voting: n! networks at once.

    Each column has the class alone, or the class and one earlier column as parents. As cheap as AODE, often sharper;
    the order of columns matters somewhat.

    Parameters
    ----------
    max_parents_from : int or None, default=None
        Only the first so many columns of the order serve as parents; 0 is naive Bayes.
    weights : dict, default=None
        ``{(child, parent): weight}``, with parent None for the class alone; 1 where nothing is said, 0 forbids. This is
        prior knowledge: the collection with the product of the weights as the prior of a network.
    column_order : {"given", "ig_sum", "ig_class", "mi", "random"} or list of columns, default="given"
        Which columns come first.

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
    weights: Any = None

    def _check_options(self) -> None:
        super()._check_options()
        limit = self.max_parents_from
        if limit is not None and (not isinstance(limit, int | np.integer) or isinstance(limit, bool) or limit < 0):
            raise OptionError(f"max_parents_from={limit!r}: give a number of columns of at least 0, or None.")

    def _sets(self, counts: JointCounts, order: list[int], rows: Rows | None) -> Sets:
        first = order if self.max_parents_from is None else order[: self.max_parents_from]
        sets: Sets = []
        for place, i in enumerate(order):
            sets += [(i, (), 1.0), *((i, (j,), 1.0) for j in first[:place])]
        return _weighted(sets, self.weights, counts)


def _weighted(sets: Sets, weights: Mapping[Any, float] | None, counts: JointCounts) -> Sets:
    """The sets with given weights; refused where a weight is negative or for arcs that are not in the collection."""
    if weights is None:
        return sets
    known = {(child, parents): at for at, (child, parents, _) in enumerate(sets)}
    out = list(sets)
    for (child, parent), weight in weights.items():
        i = counts.column(child)
        parents = () if parent is None else (counts.column(parent),)
        if (i, parents) not in known:
            raise OptionError(
                f"weights[{child!r}, {parent!r}]: {parent!r} does not come before {child!r} in the order of columns."
            )
        if not np.isfinite(weight) or weight < 0:
            raise OptionError(f"weights[{child!r}, {parent!r}]={weight!r}: weights must be finite and not negative.")
        out[known[i, parents]] = (i, parents, float(weight))
    for i in {child for child, _, weight in out}:
        if not any(weight > 0 for child, _, weight in out if child == i):
            raise OptionError(
                f"weights: all parent sets of {counts.schema.names[i]!r} have weight 0; leave one above 0."
            )
    return out


@dataclass(eq=False, repr=False, kw_only=True)
class SPC(_Ordered):
    """A collection in which one super-parent may join every parent set: 2^(n-1) (n-1)! networks at once.

    Parameters
    ----------
    super_parent : str, int, "mi", "refined" or None, default=None
        The column; None takes the first of the order, "mi" the one that tells most about the class, "refined" (SPCr)
        the one that gives the true classes of the rows the largest sum of probabilities.
    select : {"loo", "resub"}, default="loo"
        How "refined" looks at the rows: each left out, or (as published) not.

    Attributes
    ----------
    super_parent_ : str
        The column chosen.
    """

    super_parent: Any = None
    select: str = "loo"

    def _check_options(self) -> None:
        super()._check_options()
        check_option("select", self.select, ("loo", "resub"))

    def _needs_rows(self) -> bool:
        return isinstance(self.super_parent, str) and self.super_parent == "refined"

    def _adaptive(self) -> bool:
        return super()._adaptive() or self._chosen()

    def _chosen(self) -> bool:
        return isinstance(self.super_parent, str) and self.super_parent in ("refined", "mi")

    def _shape(self, schema: Schema) -> dict[str, Any]:
        if self._adaptive() or (self.super_parent is None and not self._given_order()):
            return {"order": 3}
        return {"order": 2, "anchors": (place_of(schema, 0 if self.super_parent is None else self.super_parent),)}

    def _sets(self, counts: JointCounts, order: list[int], rows: Rows | None) -> Sets:
        how = self.select if self._needs_rows() else self.super_parent
        best = order[0] if how is None else best_by_rows(self, how, lambda s: collect(_spc(s, order)), counts, rows)
        self.super_parent_ = counts.schema.names[best]
        return _spc(best, order)


def _spc(s: int, order: Sequence[int]) -> Sets:
    """Parent sets with super-parent s, which goes first."""
    sets: Sets = [(s, (), 1.0)]
    others = [i for i in order if i != s]
    for place, i in enumerate(others):
        sets += [(i, (), 1.0), (i, (s,), 1.0)]
        for j in others[:place]:
            sets += [(i, (j,), 1.0), (i, (s, j), 1.0)]
    return sets


@dataclass(eq=False, repr=False, kw_only=True)
class TC(_Ordered):
    """All networks in which every column has at most two earlier columns as parents, voting at once.

    The richest collection here: counts triples, and a prediction costs O(columns³). For few columns and many rows.

    Parameters
    ----------
    order_weights : tuple of three numbers or None, default=None
        Weights of parent sets with none, one and two columns, each divided by how many there are; None sums them as
        they are, so that pairs of parents dominate for late columns.
    """

    order = 3
    order_weights: Any = None

    def _sets(self, counts: JointCounts, order: list[int], rows: Rows | None) -> Sets:
        sets: Sets = []
        for place, i in enumerate(order):
            for size in range(3):
                found = list(combinations(order[:place], size))
                weight = 1.0 if self.order_weights is None else float(self.order_weights[size]) / max(len(found), 1)
                sets += [(i, parents, weight) for parents in found]
        return sets

    def _check_options(self) -> None:
        super()._check_options()
        given = self.order_weights
        if given is not None and (len(given) != 3 or not all(np.isfinite(w) and w >= 0 for w in given) or not given[0]):
            raise OptionError(f"order_weights={given!r}: give three numbers of at least 0, the first above 0.")


@dataclass(eq=False, repr=False)
class Collection(VotingMixin, CountsClassifier):
    """Any collection: for every column the parent sets that vote, each with a weight.

    Parameters
    ----------
    parent_sets : dict
        ``{child: [parents, ...]}`` with every parents a list of columns; ``[]`` is the class alone. Columns that are
        not named have the class alone. Every set contains the class: one without it would not be neutral in a sum but
        flatten the answer, so None (no class) is refused.
    weights : dict, default=None
        ``{child: [weight, ...]}`` in the same order.

    Examples
    --------
    >>> from tanager import Collection
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = Collection({"x1": [[], ["x0"]]}).fit(X, ["play", "play", "stay", "stay"])
    >>> model.n_networks_
    2
    """

    parent_sets: Any = None
    weights: Any = None

    def _resolve(self, schema: Schema) -> Sets:
        given = dict(self.parent_sets or {})
        weights = dict(self.weights or {})
        sets: Sets = []

        children = {place_of(schema, child): child for child in given}
        for i in range(len(schema.columns)):
            own = list(given[children[i]]) if i in children else [[]]
            ws = list(weights.get(children.get(i), [1.0] * len(own)))
            name = schema.names[i]
            if len(ws) != len(own) or any(not np.isfinite(w) or w < 0 for w in ws) or not any(w > 0 for w in ws):
                raise OptionError(f"weights of {name!r}: give {len(own)} numbers of at least 0, one of them above 0.")
            for parents, weight in zip(own, ws, strict=True):
                if parents is None:
                    raise OptionError(
                        f"parent_sets of {name!r}: a set without the class is refused, because in a sum it is not "
                        "neutral but flattens the answer. Use [] for the class alone."
                    )
                sets.append((i, tuple(place_of(schema, parent) for parent in parents), float(weight)))
        _refuse_cycles(sets, schema)
        return sets

    def _shape(self, schema: Schema) -> dict[str, Any]:
        sets = self._resolve(schema)
        return {"order": 1 if all(not p for _, p, _ in sets) else 2, "families": collect(sets).families()}

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        return collect(self._resolve(counts.schema))


def _refuse_cycles(sets: Sets, schema: Schema) -> None:
    """Some order of the columns must put every parent before its child."""
    parents: dict[int, set[int]] = {}
    for child, members, _ in sets:
        parents.setdefault(child, set()).update(members)
    while parents:
        free = [child for child, before in parents.items() if not before & parents.keys()]
        if not free:
            names = ", ".join(repr(schema.names[i]) for i in sorted(parents))
            raise OptionError(f"parent_sets: no order of the columns puts parents first; see the columns {names}.")
        for child in free:
            del parents[child]
