"""Rows of a table for models to which the order of rows matters: no class and no column is known before its first row.

Rows go together as far as nothing new comes, so that a table teaches what its rows teach one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.encoding.chunks import rows_of_dicts, take_rows
from tanager.encoding.values import is_missing
from tanager.errors import DataError, counted_from
from tanager.learning.batch import Batch
from tanager.learning.first_rows import rows_to_stage

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier


def learn_in_order(model: Classifier, X: Any, labels: np.ndarray, batch: Batch) -> None:
    """Learn a table that was checked, its rows as they came; ``labels`` are those as they came."""
    done = 0
    while done < len(labels):
        rest = Batch(take_rows(X, done, len(labels)), batch.labels[done:], *_from(batch, done))
        n = _rows_together(model, rest, labels[done:].tolist())
        part, own = rest.part(0, n), labels[done : done + n]
        if not all(map(is_missing, own.tolist())):
            codes, classes = model.label_codes(own)
            try:
                model._learn_together(Batch(part.X, codes, part.weights, part.times), classes)
            except DataError as error:
                raise counted_from(error, done) from None
        done += n


def _from(batch: Batch, start: int) -> list[np.ndarray | None]:
    return [None if cells is None else cells[start:] for cells in (batch.weights, batch.times)]


def _rows_together(model: Classifier, rows: Batch, labels: list[Any]) -> int:
    """How many rows there are up to one with which something new comes, or the columns are looked at again."""
    if not model.columns_fixed:
        counted = np.flatnonzero(rows.counted)
        left = rows_to_stage(model)
        return len(labels) if len(counted) < left else int(counted[left - 1]) + 1
    known = set(model.class_codes)
    new = (label for label in dict.fromkeys(labels[1:]) if label not in known and not is_missing(label))
    n = min((labels.index(label, 1) for label in new if label != labels[0]), default=len(labels))
    if rows_of_dicts(rows.X):
        names = {*model.encoder_.schema.known_names, *rows.X[0]}
        n = next((r for r, row in enumerate(rows.X[:n]) if not names.issuperset(row)), n)
    return _rows_until_cut(model, rows.part(0, n))


def _rows_until_cut(model: Classifier, rows: Batch) -> int:
    """How many of these rows there are up to one that a column is cut by, which goes by itself."""
    until = model.encoder_.rows_until_cut(rows.X, rows.counted.astype(float), type(model).__name__)
    return len(rows.labels) if until is None else max(1, until)
