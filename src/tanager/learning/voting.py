"""Voted collections: exponentially many networks over the columns, summed in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.encoding import Columns, Schema
from tanager.errors import OptionError, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.gaussian_option import one_parent
from tanager.learning.network_view import n_networks_of
from tanager.learning.rows import KeptRows
from tanager.learning.selection import column_place
from tanager.listed import names_in
from tanager.scoring.forms import Form, ParentSet, ProductOfSums
from tanager.structure.orders import column_order, generator_of

Sets = list[tuple[int, ParentSet, float]]  # child, parents, weight


def collect(sets: Sets) -> ProductOfSums:
    """A product of sums over these parent sets."""
    child, parents, weight = zip(*sets, strict=True) if sets else ((), (), ())  # there may be hundred thousands
    return ProductOfSums(child, parents, tuple(map(float, weight)))


def weighted(sets: Sets, weights: Mapping[Any, float] | None, schema: Schema, *, strict: bool = True) -> Sets:
    """The sets times given weights; refused where a weight is negative or for sets that are not in the collection.

    Without ``strict``, weights of such sets are passed over: another super-parent may have them.
    """
    if weights is None:
        return sets
    if not isinstance(weights, Mapping):
        raise OptionError(f"weights={weights!r}: give a dict from (child, parents) to a weight, or None.")
    known = {(child, frozenset(parents)): at for at, (child, parents, _) in enumerate(sets)}
    out = list(sets)
    for arc, weight in weights.items():
        child, parents = _named_set(arc, schema)
        at = known.get((child, frozenset(parents)))
        if at is None and not strict:
            continue
        if at is None:
            raise OptionError(f"weights[{arc[0]!r}, {arc[1]!r}]: {_why_not(child, parents, sets, schema)}")
        if not is_number(weight, 0):
            raise OptionError(f"weights[{arc[0]!r}, {arc[1]!r}]={weight!r}: weights must be finite and not negative.")
        out[at] = (*sets[at][:2], sets[at][2] * float(weight))
    for i in {child for child, _, _ in out} if strict else ():
        if not any(weight > 0 for child, _, weight in out if child == i):
            raise OptionError(f"weights: all parent sets of {schema.names[i]!r} have weight 0; leave one above 0.")
    return out


def _named_set(arc: Any, schema: Schema) -> tuple[int, ParentSet]:
    """The child and the parents that a key of ``weights`` names."""
    if not isinstance(arc, tuple) or len(arc) != 2:
        raise OptionError(
            f"weights: {arc!r} is no arc; give (child, parent), (child, (parent, parent)) for two of them, or "
            "(child, None) for the class alone."
        )
    child, parents = arc
    names = () if parents is None else parents if isinstance(parents, tuple) else (parents,)
    return column_place("weights", child, schema), tuple(column_place("weights", name, schema) for name in names)


def _why_not(child: int, parents: ParentSet, sets: Sets, schema: Schema) -> str:
    """Why a collection has no such set."""
    before = {j for i, some, _ in sets if i == child for j in some}
    late = [schema.names[j] for j in parents if j not in before]
    if late:
        return f"{late[0]!r} does not come before {schema.names[child]!r} in the order of columns."
    return "this collection has no such set of parents. Collection takes any."


@dataclass(eq=False, repr=False, kw_only=True)
class OrderedCollection(CountsClassifier):
    """What collections share: an order of the columns, in which parents come before their children.

    Parameters
    ----------
    weights : dict, default=None
        What is known beforehand about parents: ``{(child, parent): weight}``, or ``(child, (parent, parent))`` for two
        of them, where None stands for the class alone. A weight of 0 forbids these parents, one above 1 makes them more
        likely; 1 is taken where nothing is said. A network counts by the product of the weights of its arcs.
    """

    unlisted = names_in("given_order")

    column_order: str | Columns = "given"
    default_bins = "refined"
    weights: Mapping[tuple[Any, Any], float] | None = None
    random_state: int | None = None
    gaussian: bool | Columns = False
    ddof: int = 0

    n_networks_ = property(n_networks_of)

    def check_options(self) -> None:
        super().check_options()
        generator_of(self.random_state)  # refuses what is none, also where it is not used

    def _sets(self, counts: JointCounts, order: list[int], rows: KeptRows | None) -> Sets:
        raise NotImplementedError

    def _parent_sets(self, schema: Schema) -> list[ParentSet]:
        return one_parent(schema)

    def _adaptive(self) -> bool:
        return isinstance(self.column_order, str) and self.column_order not in ("given", "random")

    def given_order(self) -> bool:
        return isinstance(self.column_order, str) and self.column_order == "given"

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        sets = self._sets(counts, column_order(counts, self.column_order, self.random_state), rows)
        return collect(weighted(sets, self.weights, counts.schema))


def refuse_cycles(sets: Sets, schema: Schema) -> None:
    """Refuse parent sets for which no order of the columns puts every parent before its child."""
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
