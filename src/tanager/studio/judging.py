"""How well a document answers its rows, each left out in its turn; two of these tell what a change costs or gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.counts.block import Block
from tanager.encoding.schema import Schema
from tanager.evaluate import Interval, LeftOutFigures
from tanager.evaluate.forecast import TableSize, fold_seconds
from tanager.evaluate.measures import SMALLEST
from tanager.learning.shared_counts import within_budget
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
    if model.reads_numbers:
        proba = np.asarray(
            model.fit_table(prepared.X, prepared.y, prepared.target).leave_one_out(prepared.X, prepared.y)
        )
    else:
        codes, labels, schema = prepared.codes, prepared.labels, prepared.schema
        model.fit_codes(codes, labels, schema, prepared.classes, target=prepared.target)
        proba = np.asarray(model.leave_out(Block(codes, labels)))
    right = model.decide(proba) == model.classes_[prepared.labels]
    own = proba[np.arange(len(proba)), prepared.labels]
    return Judgement(name, LeftOutFigures(proba, right, -np.log(np.maximum(own, SMALLEST))))


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
