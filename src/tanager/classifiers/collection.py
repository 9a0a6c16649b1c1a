"""Collection: any parent sets, each with a weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.encoding import Columns, Schema
from tanager.errors import OptionError, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.network_view import n_networks_of
from tanager.learning.rows import KeptRows
from tanager.learning.selection import column_place
from tanager.learning.voting import Sets, collect, refuse_cycles
from tanager.scoring.forms import Form, ParentSet


@dataclass(eq=False, repr=False)
class Collection(CountsClassifier):
    """A vote of networks of your own: for every column, the sets of parents that it may have, each with a weight.

    Every choice of one set for each column is a network, and all of them vote: their probabilities are added up in one
    step. FANC, SPC and TC are collections of this kind; choose this one to write down another.

    Parameters
    ----------
    parent_sets : dict
        ``{child: [parents, ...]}`` with every parents a list of columns; ``[]`` is the class alone. Columns that are
        not named have the class alone. Every set contains the class: one without it would not be neutral in a sum but
        flatten the answer, so None (no class) is refused.
    weights : dict, default=None
        ``{child: [weight, ...]}`` in the same order.
    gaussian : bool or list of columns, default=False
        Number columns to describe by a normal distribution given the class and their parents; True takes all of them.
        As parents they are cut into bins.

    Examples
    --------
    >>> from tanager import Collection
    >>> X = [["sun", "no"], ["sun", "no"], ["rain", "yes"], ["rain", "no"]]
    >>> model = Collection({"x1": [[], ["x0"]]}).fit(X, ["play", "play", "stay", "stay"])
    >>> model.n_networks_
    2
    """

    parent_sets: Mapping[str | int, Sequence[Columns]] | None = None
    default_bins = "refined"
    weights: Mapping[str | int, Sequence[float]] | None = None
    gaussian: bool | Columns = False
    ddof: int = 0

    n_networks_ = property(n_networks_of)

    def _parent_sets(self, schema: Schema) -> list[ParentSet]:
        # A missing parent leaves those before it.
        return [p[:size] for _, p, _ in self._resolve(schema) for size in range(len(p) + 1)]

    def _resolve(self, schema: Schema) -> Sets:
        given = dict(self.parent_sets or {})
        weights: dict[Any, Sequence[float]] = dict(self.weights or {})
        sets: Sets = []

        def place(name: str | int) -> int:
            return column_place("parent_sets", name, schema)

        children = {place(child): child for child in given}
        for i in range(len(schema.columns)):
            own = list(given[children[i]]) if i in children else [[]]
            ws = list(weights.get(children.get(i), [1.0] * len(own)))
            name = schema.names[i]
            if len(ws) != len(own) or not all(is_number(w, 0) for w in ws) or not any(w > 0 for w in ws):
                raise OptionError(f"weights of {name!r}: give {len(own)} numbers of at least 0, one of them above 0.")
            for parents, weight in zip(own, ws, strict=True):
                if parents is None:
                    raise OptionError(
                        f"parent_sets of {name!r}: a set without the class is refused, because in a sum it is not "
                        "neutral but flattens the answer. Use [] for the class alone."
                    )
                members = tuple(place(parent) for parent in parents)
                if len(set(members)) < len(members):
                    raise OptionError(f"parent_sets of {name!r}: {list(parents)!r} names a column twice.")
                sets.append((i, members, float(weight)))
        refuse_cycles(sets, schema)
        return sets

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        sets = self._resolve(schema)
        return {"order": 1 if all(not p for _, p, _ in sets) else 2, "families": collect(sets).families()}

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return collect(self._resolve(counts.schema))
