"""Explanations for the service: why rows get their answers, what would turn them, and which columns matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tanager.encoding.values import plain
from tanager.errors import DataError
from tanager.learning.changes import Change, nearest_changes
from tanager.learning.classifier import Classifier
from tanager.learning.importance import Importance, importance
from tanager.learning.nomogram import Nomogram, nomogram
from tanager.service.messages import (
    ChangeInfo,
    ColumnEffect,
    ColumnImportance,
    ExplainedRow,
    ExplainRequest,
    ExplainResponse,
    ImportanceRequest,
    ImportanceResponse,
    NomogramAxis,
    NomogramRequest,
    NomogramResponse,
    Row,
    WhatIf,
)
from tanager.service.models import ServedModel
from tanager.service.rows import RequestRows, refuse_many

MOST_EXPLAINED = 1000  # rows of one request: predictions wait meanwhile
MOST_TRIED = 20_000  # rows that the model is asked for, of all rows of a request together, to find changes
MOST_ANSWERED = 500_000  # answers that importance may ask for: one for each row, and one more for each of its columns

T = TypeVar("T")


def explain_rows(served: ServedModel, rows: RequestRows, request: ExplainRequest) -> ExplainResponse:
    """Explain all rows of a request, by the model as it is now."""

    def look(model: Any, X: list[Row]) -> list[ExplainedRow]:
        return [_row(own) for own in model.explain_rows(X, request.answer, request.against).to_dicts()]

    with served.store.lock:
        found, X, told = _asked(served, rows, "explained", look)
        if request.what_if is not None:
            for row, entry in zip(X, found, strict=True):
                entry.changes = _changes(served.model, row, request.what_if, MOST_TRIED // len(X))
        return ExplainResponse(served.name, served.store.sequence, found, told)


def column_importance(served: ServedModel, rows: RequestRows, request: ImportanceRequest) -> ImportanceResponse:
    """How much each column matters, by the rows of a request and the model as it is now."""

    def look(model: Any, X: list[Row]) -> Importance:
        return importance(model, X, request.labels, request.weights, learned=request.learned)

    with served.store.lock:
        refuse_many("rows", rows.rows, max(1, MOST_ANSWERED // (len(served.schema()) + 1)))
        found, _, told = _asked(served, rows, "answered", look)
        numbers = (found.increase, found.error, found.low, found.high)
        columns = [
            ColumnImportance(name, *line)
            for name, *line in zip(found.columns, *(own.tolist() for own in numbers), strict=True)
        ]
        return ImportanceResponse(
            served.name, served.store.sequence, found.log_loss, found.n_rows, found.confidence, columns, told
        )


def nomogram_of(served: ServedModel, request: NomogramRequest) -> NomogramResponse:
    """What every value adds, by the model as it is now."""

    def look(model: Any, X: list[Row]) -> Nomogram:
        return nomogram(model, X[0], request.answer, request.against)

    with served.store.lock:
        found, _, told = _asked(served, RequestRows([request.row or {}], single=True), "answered", look)
        axes = [
            NomogramAxis(
                axis.column,
                [plain(value) for value in axis.values],
                [_number(point) for point in axis.points],
                {name: plain(value) for name, value in axis.given.items()},
                axis.at,
            )
            for axis in found.axes
        ]
        ends = _number(found.prior), _number(found.total)
        return NomogramResponse(
            served.name, served.store.sequence, plain(found.answer), plain(found.against), *ends, axes, told
        )


def _asked(
    served: ServedModel, rows: RequestRows, doing: str, look: Callable[[Any, list[Row]], T]
) -> tuple[T, list[Row], list[str]]:
    """What a look at the model says of rows, the rows as it saw them, and what is to be told about them."""
    model, schema = served.model, served.schema()
    rows, told = rows.of(schema, doing)
    unseen_values, unseen = model.encoder_.unseen_values, getattr(model, "unseen", "ignore")
    unseen_values.quiet = True
    unseen_values.take_recent()  # of rows that were learned or answered
    X = rows.dicts()
    try:
        found = look(model, X)
    except DataError:
        rows.check_cells(schema, unseen)  # names the cell where it can
        raise
    return found, X, told + unseen_values.take_recent(unseen)


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
