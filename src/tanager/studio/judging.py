"""How well a document answers its rows, each left out in its turn; two of these tell what a change costs or gains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tanager.classifiers.network_classifier import NetworkClassifier
from tanager.counts.block import Block
from tanager.encoding.schema import Schema
from tanager.evaluate.forecast import TableSize, fold_seconds
from tanager.learning.shared_counts import within_budget
from tanager.networks.network import Network
from tanager.scoring.decision import decide
from tanager.studio.document import Document
from tanager.studio.models import classifier_class, unfitted
from tanager.studio.prepared import Prepared

PATIENCE = 0.6  # seconds, by forecast: what takes longer does not answer while a person drags
SMALLEST = 1e-15  # smaller probabilities count as this in log loss
NORMAL = 1.959963984540054  # standard errors of a 95 % interval


@dataclass(frozen=True, eq=False)
class Judgement:
    """By which classifier, and for every row whether it was right, and its log loss in nats."""

    by: str
    right: np.ndarray
    losses: np.ndarray

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The means, for people."""
        return {
            "by": self.by,
            "accuracy": float(self.right.mean()),
            "log_loss": float(self.losses.mean()),
            "rows": len(self.right),
        }

    def minus(self, other: Judgement) -> dict[str, Any]:
        """The differences to another judgement over the same rows, with 95 % intervals of paired differences."""
        accuracy = self.right.astype(float) - other.right
        return {"accuracy": _interval(accuracy), "log_loss": _interval(self.losses - other.losses)}


def _interval(differences: np.ndarray) -> dict[str, float]:
    mean = float(differences.mean())
    margin = NORMAL * float(differences.std(ddof=1)) / len(differences) ** 0.5 if len(differences) > 1 else float("inf")
    return {"difference": mean, "low": mean - margin, "high": mean + margin}


def judge(prepared: Prepared, document: Document) -> Judgement:
    """Leave out all rows in turn, with the classifier of the document where it is quick enough."""
    name, model = _judging_model(prepared, document)
    model.fit_table(prepared.X, prepared.y, prepared.target)
    if model.reads_numbers:
        proba = np.asarray(model.leave_one_out(prepared.X, prepared.y))
    else:
        proba = np.asarray(model.leave_out(Block(prepared.codes, prepared.labels)))
    labels = prepared.labels.astype(np.intp)
    right = decide(proba, model.class_count_, None) == labels
    own = proba[np.arange(len(labels)), labels]
    return Judgement(name, right, -np.log(np.maximum(own, SMALLEST)))


def _judging_model(prepared: Prepared, document: Document) -> tuple[str, Any]:
    """The classifier of the document; or AODE, or naive Bayes, where that cannot leave rows out or takes too long."""
    schema, choice = prepared.schema, document.model
    if choice.name == "network" and document.arcs is not None:
        network = Network(prepared.values, document.arcs)
        return "the network", NetworkClassifier(network, prepared.target, schema=schema)
    if choice.name != "network":
        model = unfitted(prepared, document)
        if model.can_leave_out and not model.flatters_left_out and _quick(model, prepared):
            return choice.name, model
    aode = classifier_class("AODE")(schema=schema)
    if within_budget(aode, schema, len(prepared.classes)) and _quick(aode, prepared):
        return "AODE", aode
    return "naive Bayes", classifier_class("NaiveBayes")(schema=schema)


def _quick(model: Any, prepared: Prepared) -> bool:
    return fold_seconds(model, size_of(prepared.schema, prepared.loaded.n_rows, len(prepared.classes))) <= PATIENCE


def size_of(schema: Schema, n_rows: int, n_classes: int) -> TableSize:
    """The size of an encoded table, for forecasts."""
    n_values = int(schema.n_values.sum())
    n_numbers = sum(column.kind == "numeric" for column in schema.columns)
    return TableSize(n_rows, len(schema), n_values, n_classes, n_values, n_numbers)
