"""What classifiers with one network share."""

from __future__ import annotations

from typing import Any

from tanager.encoding import Schema
from tanager.errors import OptionError
from tanager.networks.network import Network
from tanager.scoring.forms import ProductOfSums


class SingleNetworkMixin:
    """Shows the one network behind a classifier."""

    @property
    def parents_(self: Any) -> dict[str, tuple[str, ...]]:
        """The parents, beside the class, of every column that depends on the class."""
        self._ready()
        form = self._structure(fresh=True).form
        names = self.counts_.schema.names
        return {names[i]: tuple(names[j] for j in p) for i, p in zip(form.child, form.parents, strict=True)}

    @property
    def network_(self: Any) -> Network:
        """The class and all columns that answers depend on, with tables.

        Parameters by conditional likelihood are turned into tables that give the same answers to rows without gaps.
        Where no tables can (``fit_by="weights"`` with parents that do not depend on each other), there are arcs alone.
        """
        self._ready()
        form = self._structure(fresh=True).form
        gaussian = [column.name for column in self.counts_.schema.columns if column.kind == "continuous"]
        if gaussian:
            raise OptionError(
                f"column {gaussian[0]!r} is Gaussian, and a network has tables alone. Leave out gaussian= to cut "
                "numbers into bins."
            )
        target = self._class_name()
        network = as_network(form, self.counts_.schema, self.classes_.tolist(), target)
        if getattr(self, "fit_by", "likelihood") != "likelihood":
            return network.with_tables(self._network_tables(target))
        return network.estimate(self.counts_, self._estimate(), target=target)

    @property
    def blanket_(self: Any) -> tuple[str, ...]:
        """The columns in the Markov blanket of the class: all that answers depend on."""
        self._ready()
        form = self._structure(fresh=True).form
        return tuple(self.counts_.schema.names[i] for i in sorted(form_columns(form)))


def form_columns(form: ProductOfSums) -> set[int]:
    """The columns that a form reads."""
    return {*form.child, *form.class_parents, *(i for parents in form.parents for i in parents)}


def as_network(form: ProductOfSums, schema: Schema, classes: list[Any], target: str) -> Network:
    """The network of a form with one term per column: the class first, without tables."""
    families = dict(zip(form.child, form.parents, strict=True)) | dict(form.free)
    used = sorted({*families, *form.class_parents, *(j for parents in families.values() for j in parents)})
    names = schema.names
    variables = {target: classes}
    variables |= {names[i]: [schema[i].describe(v) for v in range(schema[i].n_values)] for i in used}
    arcs = [(names[j], target) for j in form.class_parents]
    for i, parents in families.items():
        arcs += [(target, names[i])] if i in form.child else []
        arcs += [(names[j], names[i]) for j in parents]
    return Network(variables, arcs)
