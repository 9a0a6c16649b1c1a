"""Several classifiers over one store of counts: count once, as wide as any of them needs, and ask each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes
from tanager.encoding import Schema
from tanager.errors import MemoryBudgetError
from tanager.learning.counts_classifier import CountsClassifier


def within_budget(model: CountsClassifier, schema: Schema, n_classes: int) -> bool:
    """Whether what a classifier counts is within its own budget."""
    try:
        shape = model.counts_shape(schema)
    except MemoryBudgetError:  # too much even to be listed
        return False
    return JointCounts.estimate_bytes(schema.n_values, n_classes, **shape) <= as_bytes(model.max_memory)


def joint_shape(models: Iterable[CountsClassifier], schema: Schema) -> dict[str, Any]:
    """Options of JointCounts that hold what each of these classifiers needs."""
    shapes = [model.counts_shape(schema) for model in models]
    families = sorted({family for shape in shapes for family in shape.get("families", ())})
    anchors = sorted({anchor for shape in shapes for anchor in shape.get("anchors", ())})
    order = max(shape["order"] for shape in shapes)
    return {"order": order, "anchors": () if order == 3 else tuple(anchors), "families": families}
