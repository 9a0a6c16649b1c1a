"""How well a document answers its rows, each left out in its turn; two of these tell what a change costs or gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.classifiers.network_classifier import NetworkClassifier
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.encoding.encoder import Encoder
from tanager.encoding.schema import Schema
from tanager.evaluate import Interval, LeftOutFigures
from tanager.evaluate.forecast import TableSize, fold_seconds
from tanager.evaluate.measures import SMALLEST
from tanager.learning.rows import KeptRows
from tanager.learning.shared_counts import joint_shape, within_budget
from tanager.studio.document import Document
from tanager.studio.models import classifier_class, unfitted
from tanager.studio.prepared import Prepared

PATIENCE = 0.6  # seconds, by forecast: what takes longer does not answer while a person drags


@dataclass(frozen=True, eq=False)
class Judgement:
    """By which classifier, and what it said of every row."""

    by: str
    answers: LeftOutFigures

    @property
    def figures(self) -> dict[str, Any]:
        """The means, for people."""
        own = self.answers
        return {"by": self.by, "accuracy": own.accuracy, "log_loss": own.log_loss, "rows": len(own.right)}

    def minus(self, other: Judgement) -> dict[str, Any]:
        """The differences to another judgement over the same rows, with 95 % intervals of paired differences."""
        found = self.answers.minus(other.answers)
        return {"accuracy": _plain(found.accuracy), "log_loss": _plain(found.log_loss)}


def _plain(interval: Interval) -> dict[str, float]:
    return {"difference": interval.difference, "low": interval.low, "high": interval.high}


def judge(prepared: Prepared, document: Document) -> Judgement:
    """Leave out all rows in turn, with the classifier of the document where it is quick enough."""
    name, model = _judging_model(prepared, document)
    if model.reads_numbers or isinstance(model, NetworkClassifier):
        model.fit_table(prepared.X, prepared.y, prepared.target)
        proba = np.asarray(model.leave_one_out(prepared.X, prepared.y))
    else:
        proba = np.asarray(_over_codes(model, prepared).leave_out(Block(prepared.codes, prepared.labels)))
    right = model.decide(proba) == model.classes_[prepared.labels]
    own = proba[np.arange(len(proba)), prepared.labels]
    return Judgement(name, LeftOutFigures(proba, right, -np.log(np.maximum(own, SMALLEST))))


def _over_codes(model: Any, prepared: Prepared) -> Any:
    """The classifier over the encoded rows, as ``fit_table`` makes it; but the table is not read again."""
    schema, block = prepared.schema.close(), Block(prepared.codes, prepared.labels)
    model.start()
    model.classes_ = prepared.classes  # their number decides how much some classifiers count
    counts = JointCounts(schema, prepared.classes, max_memory=None, **joint_shape([model], schema))
    counts.update(block.codes, block.labels)
    rows = KeptRows()
    if model.looks_at_rows:
        rows.append(block)
    return model.attach(counts, Encoder.from_schema(schema, given=True), rows)


def _judging_model(prepared: Prepared, document: Document) -> tuple[str, Any]:
    """The classifier of the document; or AODE, or naive Bayes, where that cannot leave rows out or takes too long."""
    schema, choice = prepared.schema, document.model
    if choice.name == "network" and document.arcs is not None:
        return "the network", unfitted(prepared, document)
    if choice.name != "network":
        model = unfitted(prepared, document)
        if model.can_leave_out and not model.flatters_left_out and _possible(model, prepared):
            return choice.name, model
    aode = classifier_class("AODE")(schema=schema)
    if _possible(aode, prepared):
        return "AODE", aode
    return "naive Bayes", classifier_class("NaiveBayes")(schema=schema)


def _possible(model: Any, prepared: Prepared) -> bool:
    """Whether it needs neither too much memory nor too much time."""
    model.start()
    model.classes_ = prepared.classes
    if not within_budget(model, prepared.schema, len(prepared.classes)):
        return False
    return fold_seconds(model, size_of(prepared.schema, prepared.loaded.n_rows, len(prepared.classes))) <= PATIENCE


def size_of(schema: Schema, n_rows: int, n_classes: int) -> TableSize:
    """The size of an encoded table, for forecasts."""
    n_values = int(schema.n_values.sum())
    n_numbers = sum(column.kind == "numeric" for column in schema.columns)
    return TableSize(n_rows, len(schema), n_values, n_classes, n_values, n_numbers)
