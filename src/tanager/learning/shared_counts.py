"""Several classifiers over one store of counts: count once, as wide as any of them needs, and ask each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tanager.encoding import Schema
from tanager.learning.counts_classifier import CountsClassifier


def joint_shape(models: Iterable[CountsClassifier], schema: Schema) -> dict[str, Any]:
    """Options of JointCounts that hold what each of these classifiers needs."""
    shapes = [model.counts_shape(schema) for model in models]
    families = sorted({family for shape in shapes for family in shape.get("families", ())})
    anchors = sorted({anchor for shape in shapes for anchor in shape.get("anchors", ())})
    order = max(shape["order"] for shape in shapes)
    return {"order": order, "anchors": () if order == 3 else tuple(anchors), "families": families}
