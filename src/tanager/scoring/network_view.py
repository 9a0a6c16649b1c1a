"""The network behind a form."""

from __future__ import annotations

from typing import Any

from tanager.encoding import Schema
from tanager.networks.network import Network
from tanager.scoring.forms import ProductOfSums


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
