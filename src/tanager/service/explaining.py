"""Explanations for the service: why rows get their answers, and what would turn them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tanager.encoding.values import plain
from tanager.errors import DataError
from tanager.learning.changes import Change, nearest_changes
from tanager.learning.classifier import Classifier
from tanager.service.messages import (
    ChangeInfo,
    ColumnEffect,
    ExplainedRow,
    ExplainRequest,
    ExplainResponse,
    Row,
    WhatIf,
)
from tanager.service.models import ServedModel
from tanager.service.rows import RequestRows

MOST_EXPLAINED = 1000  # rows of one request: predictions wait meanwhile
MOST_TRIED = 20_000  # rows that the model is asked for, of all rows of a request together, to find changes


def explain_rows(served: ServedModel, rows: RequestRows, request: ExplainRequest) -> ExplainResponse:
    """Explain all rows of a request, by the model as it is now."""
    with served.store.lock:
        model, schema = served.model, served.schema()
        rows, told = rows.of(schema, "explained")
        unseen_values, unseen = model.encoder_.unseen_values, getattr(model, "unseen", "ignore")
        unseen_values.quiet = True
        unseen_values.take_recent()  # of rows that were learned or answered
        X = rows.dicts()
        try:
            found = [_row(own) for own in model.explain_rows(X, request.answer, request.against).to_dicts()]
        except DataError:
            rows.check_cells(schema, unseen)  # names the cell where it can
            raise
        told += unseen_values.take_recent(unseen)
        if request.what_if is not None:
            for row, entry in zip(X, found, strict=True):
                entry.changes = _changes(model, row, request.what_if, MOST_TRIED // len(X))
        return ExplainResponse(served.name, served.store.sequence, found, told)


def _row(entry: Mapping[str, Any]) -> ExplainedRow:
    columns = [ColumnEffect(own["column"], plain(own["value"]), _number(own["log_odds"])) for own in entry["columns"]]
    return ExplainedRow(
        answer=entry["answer"],
        against=entry["against"],
        probability=entry["probability"],
        log_odds=_number(entry["log_odds"]),
        prior=_number(entry["prior"]),
        columns=columns,
    )


def _changes(model: Classifier, row: Row, asked: WhatIf, max_rows: int) -> list[ChangeInfo]:
    """What would turn the answer of a row; nothing where it is what is wanted."""
    if asked.wanted is not None and model.predict([row]).tolist()[0] == asked.wanted:
        return []
    options = {name: getattr(asked, name) for name in ("columns", "fixed", "costs", "max_columns")}
    return [_change(own) for own in nearest_changes(model, row, asked.wanted, max_rows=max(1, max_rows), **options)]


def _change(own: Change) -> ChangeInfo:
    values: Row = {name: plain(cell) for name, cell in own.values.items()}
    return ChangeInfo(values, own.shown, own.answer, own.probability, own.gain, own.cost)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
