"""What a part of a table needs to know to do its work, and what an engine is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.counts.block import Block
from tanager.encoding import Schema
from tanager.estimator import clone
from tanager.learning.counts_classifier import CountsClassifier

MOST_DISTINCT = 20_000  # distinct cells of a column up to which the schema is exact

Rows = tuple[Any, Any, Any]  # X, y and sample_weight (or None) of some rows of a part
Work = Callable[[Iterable[Rows]], bytes]
Merge = Callable[[list[bytes]], bytes]
Engine = Callable[[Work, Merge], "bytes | None"]


@dataclass(frozen=True)
class Plan:
    """What a part needs to know: the model as it was asked for, and, for counting, columns and classes."""

    model: CountsClassifier
    target: str | None = None
    most: int = MOST_DISTINCT
    schema: Schema | None = None
    classes: np.ndarray | None = None
    named: bool = True
    weight: float | None = None  # of all rows with a label, by the first run
    apart: bool = False  # whether rows stay where they are, though the model would keep them

    def empty_model(self) -> CountsClassifier:
        """A model of its own that has counted nothing."""
        assert self.schema is not None
        model: CountsClassifier = clone(self.model)
        return model.fit_columns(self.schema, self.classes, self.target, named=self.named)

    def encoded(self, model: CountsClassifier, rows: Rows) -> Block:
        """Rows of a part in the codes of the plan."""
        X, y, weights = rows
        if self.classes is None:
            model.add_classes(model.classes_with(y))
        return model.known_rows(X, y, weights, unseen="ignore")

    def blocks(self, rows: Iterable[Rows]) -> Iterable[Block]:
        """The rows of a part, encoded."""
        model = self.empty_model()
        return (self.encoded(model, chunk) for chunk in filled(rows))


def filled(rows: Iterable[Rows]) -> Iterable[Rows]:
    """The chunks of a part that have a row."""
    return (chunk for chunk in rows if len(chunk[1]))
