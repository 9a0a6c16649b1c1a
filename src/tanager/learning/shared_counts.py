"""Several classifiers over one store of counts: count once, as wide as any of them needs, and ask each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tanager.counts.joint import JointCounts
from tanager.encoding import Encoder, Schema
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import Rows


def joint_shape(models: Iterable[CountsClassifier], schema: Schema) -> dict[str, Any]:
    """Options of JointCounts that hold what each of these classifiers needs."""
    shapes = [model._shape(schema) for model in models]
    families = sorted({family for shape in shapes for family in shape.get("families", ())})
    anchors = sorted({anchor for shape in shapes for anchor in shape.get("anchors", ())})
    order = max(shape["order"] for shape in shapes)
    return {"order": order, "anchors": () if order == 3 else tuple(anchors), "families": families}


def attach(model: CountsClassifier, counts: JointCounts, encoder: Encoder, rows: Rows | None) -> CountsClassifier:
    """Let a classifier answer from counts (and, where it looks at rows, from rows) that others use as well."""
    model._start()
    model.classes_, model.counts_, model.encoder_ = counts.classes, counts, encoder
    model._attach_rows(rows)
    return model
