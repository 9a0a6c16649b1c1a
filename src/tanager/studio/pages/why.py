"""Why: browse rows, wrong ones first; reasons in log-odds, the nomogram, other values, what would turn an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.encoding.schema import Column
from tanager.errors import OptionError, TanagerError
from tanager.learning.changes import nearest_changes
from tanager.learning.nomogram import nomogram
from tanager.scoring.explain import Explanation
from tanager.studio.actions import Actions
from tanager.studio.models import classifier_of, left_out_of
from tanager.studio.session import Session

actions = Actions("why")

MOST_CHANGES = 12  # that are listed
PAGE = 100  # rows of the list

Cell = str | int | float | bool | None


@dataclass(frozen=True, eq=False)
class Answers:
    """What the model says about every row when it has not seen it."""

    proba: np.ndarray
    actual: np.ndarray  # codes of the classes
    predicted: np.ndarray
    left_out: bool  # False: the model had to answer rows that it has seen

    @property
    def certainty(self) -> np.ndarray:
        """The probability of each answer."""
        sure: np.ndarray = np.take_along_axis(self.proba, self.predicted[:, None], axis=1)[:, 0]
        return sure

    @property
    def wrong(self) -> np.ndarray:
        missed: np.ndarray = self.predicted != self.actual
        return missed


@actions.add
def overview(session: Session) -> dict[str, Any]:
    """The model, its classes, its columns with what can be put into them, and how often it is right."""
    model = classifier_of(session)
    known = _answers(session, model) if session.has_rows else None
    return {
        "model": type(model).__name__,
        "classes": [str(label) for label in model.classes_.tolist()],
        "rows": 0 if known is None else len(known.actual),
        "wrong": 0 if known is None else int(known.wrong.sum()),
        "left_out": known is None or known.left_out,
        "columns": session.derive(("why columns", id(model)), lambda: (model, _columns(session, model)))[1],
    }


def _answers(session: Session, model: Any) -> Answers:
    return session.derive(("why answers", id(model)), lambda: (model, _left_out(session, model)))[1]


def _left_out(session: Session, model: Any) -> Answers:
    prepared, codes, left_out = session.prepared, model.class_codes, bool(model.can_leave_out)
    # A model that cannot (it depends on the order of rows, or forgets) has to answer rows that it has seen.
    proba = left_out_of(session) if left_out else np.asarray(model.predict_proba(prepared.X))
    actual = np.array([codes[label] for label in prepared.classes.tolist()])[prepared.labels]
    predicted = np.array([codes[label] for label in model.decide(proba).tolist()])
    return Answers(proba, actual, predicted, left_out)


def _columns(session: Session, model: Any) -> list[dict[str, Any]]:
    blanket = getattr(model, "blanket_", None)
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "values": list(column.values) if column.values else list(range(column.n_codes)),
            "cuts": list(column.cuts) if column.kind == "numeric" else [],
            "range": _range(session, column),
            "read": blanket is None or column.name in blanket,
        }
        for column in model.encoder_.schema.columns
    ]


def _range(session: Session, column: Column) -> tuple[float, float] | None:
    """From where to where a slider goes: over the numbers that there are, or around the cut points of a model file."""
    if column.kind not in ("numeric", "continuous"):
        return None
    if session.has_rows:
        ends = pc.min_max(session.prepared.X.column(column.name)).as_py()
        if all(isinstance(end, int | float) and math.isfinite(end) for end in ends.values()):
            return float(ends["min"]), float(ends["max"])
    if not column.cuts:
        return 0.0, 1.0
    room = (column.cuts[-1] - column.cuts[0]) / 2 or abs(column.cuts[0]) or 1.0
    return column.cuts[0] - room, column.cuts[-1] + room


# --- the list of rows -------------------------------------------------------------------------------------------


@actions.add
def rows(
    session: Session,
    only: Literal["all", "wrong", "right"] = "all",
    actual: int | None = None,
    predicted: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    search: str = "",
    start: int = 0,
) -> dict[str, Any]:
    """Rows that fit: wrong ones first, the surest first; then right ones, the least sure first."""
    known = _answers(session, classifier_of(session))
    sure, wrong = known.certainty, known.wrong
    keep = (sure >= low) & (sure <= high)
    if only != "all":
        keep &= wrong if only == "wrong" else ~wrong
    if actual is not None:
        keep &= known.actual == actual
    if predicted is not None:
        keep &= known.predicted == predicted
    if search.strip():
        keep &= _containing(session, search.strip())
    found = np.flatnonzero(keep)
    found = found[np.argsort(np.where(wrong[found], -1.0 - sure[found], sure[found]), kind="stable")]
    return {
        "n": len(found),
        "rows": [
            {
                "row": r,
                "actual": int(known.actual[r]),
                "predicted": int(known.predicted[r]),
                "certainty": float(sure[r]),
            }
            for r in found[max(0, start) : max(0, start) + PAGE].tolist()
        ],
    }


def _containing(session: Session, words: str) -> np.ndarray:
    """Rows with a text in a cell: "sun", or "sky = sun" for one column; or the row with a number: "17"."""
    X = session.prepared.X
    name, equals, value = (part.strip() for part in words.partition("="))
    if equals and name in X.column_names:
        return _cells_with(X.column(name), value, whole=True)
    found = np.zeros(X.num_rows, dtype=bool)
    for column in X.columns:
        found |= _cells_with(column, words, whole=False)
    if words.isdecimal() and int(words) < len(found):
        found[int(words)] = True
    return found


def _cells_with(column: pa.ChunkedArray, words: str, *, whole: bool) -> np.ndarray:
    try:
        text = pc.cast(column, pa.string())
    except pa.ArrowInvalid:
        return np.zeros(len(column), dtype=bool)
    if not whole:
        hits = pc.match_substring(text, words, ignore_case=True)
    elif pa.types.is_floating(column.type):
        hits = pc.is_in(text, pa.array([words, f"{words}.0"]))
    else:
        hits = pc.equal(text, words)
    found: np.ndarray = pc.fill_null(hits, False).to_numpy(zero_copy_only=False)
    return found


# --- one row ----------------------------------------------------------------------------------------------------


@actions.add
def why(
    session: Session,
    row: int | None = None,
    changes: dict[str, Cell] = {},  # noqa: B006
    answer: int | None = None,
    against: int | None = None,
    nomogram: bool = False,
) -> dict[str, Any]:
    """The answer for a row, with some cells changed: probabilities, reasons, and the nomogram if it is wanted."""
    model = classifier_of(session)
    cells, labels = _cells(session, model, row, changes), model.classes_.tolist()
    proba = np.asarray(model.predict_proba([cells]))
    pair = tuple(None if c is None else labels[_class(model, c)] for c in (answer, against))
    known = _answers(session, model) if session.has_rows and row is not None else None
    return {
        "cells": {name: _plain(value) for name, value in cells.items()},
        "probabilities": proba[0],
        "answer": model.class_codes[model.decide(proba).tolist()[0]],
        "actual": None if known is None else int(known.actual[row]),
        "left_out": None if known is None else known.proba[row],
        "reasons": _refusing(lambda: _reasons(model, cells, pair)),
        "nomogram": _refusing(lambda: _axes(model, cells, pair)) if nomogram else None,
    }


def _cells(session: Session, model: Any, row: int | None, changes: dict[str, Cell]) -> dict[str, Any]:
    """The row as it was read, or an empty one, with the changes."""
    names = model.encoder_.schema.names
    for name in changes:
        if name not in model.encoder_.schema:
            raise OptionError(f"the model has no column {name!r}.")
    cells: dict[str, Any] = dict.fromkeys(names)
    if row is not None:
        X = session.prepared.X
        if not 0 <= row < X.num_rows:
            raise OptionError(f"there are {X.num_rows} rows, and no row {row}.")
        cells |= {name: value for name, value in X.slice(row, 1).to_pylist()[0].items() if name in cells}
    return cells | changes


def _class(model: Any, code: int) -> int:
    if not 0 <= code < len(model.classes_):
        raise OptionError(f"there are {len(model.classes_)} classes, and no class number {code}.")
    return code


def _refusing(make: Any) -> dict[str, Any]:
    """What ``make`` gives, or the sentence that says why there is none."""
    try:
        made: dict[str, Any] = make()
        return made
    except TanagerError as error:
        return {"refused": str(error)}


def _reasons(model: Any, cells: dict[str, Any], pair: tuple[Any, ...]) -> dict[str, Any]:
    explain = getattr(model, "explain", None)
    found = None if explain is None else explain(cells, *pair)
    if not isinstance(found, Explanation):
        raise OptionError(f"the log-odds of {type(model).__name__} cannot be shared out over columns.")
    return {
        "answer": model.class_codes[found.answer],
        "against": model.class_codes[found.against],
        "log_odds": found.log_odds,
        "prior": found.prior,
        "columns": [
            {"name": name, "value": str(found.values[name]), "log_odds": value, "parents": _parents(found, name)}
            for name, value in found.columns.items()
        ],
        "where": [*found.path, *([found.rule] if found.rule else [])],
    }


def _parents(found: Explanation, name: str) -> list[str]:
    """The columns that a column was seen together with."""
    return list(dict.fromkeys(parent for part in found.parts if part.column == name for parent in part.parents))


def _axes(model: Any, cells: dict[str, Any], pair: tuple[Any, ...]) -> dict[str, Any]:
    found = nomogram(model, cells, *pair)
    return {
        "answer": model.class_codes[found.answer],
        "against": model.class_codes[found.against],
        "prior": found.prior,
        "total": found.total,
        "axes": [
            {
                "column": axis.column,
                "values": [str(value) for value in axis.values],
                "points": axis.points,
                "given": [(name, str(value)) for name, value in axis.given.items()],
                "at": axis.at,
            }
            for axis in found.axes
        ],
    }


@actions.add
def turning(
    session: Session,
    row: int | None = None,
    changes: dict[str, Cell] = {},  # noqa: B006
    wanted: int | None = None,
    fixed: list[str] = [],  # noqa: B006
    columns: int = 2,
) -> dict[str, Any]:
    """The nearest changes that turn the answer, of so many columns at most; some columns may have to stay."""
    model = classifier_of(session)
    cells = _cells(session, model, row, changes)
    label = None if wanted is None else model.classes_.tolist()[_class(model, wanted)]
    allowed = [name for name in model.encoder_.schema.names if name not in fixed]
    found = nearest_changes(model, cells, label, columns=allowed, max_columns=min(max(columns, 1), 3))
    return {
        "n": len(found),
        "changes": [
            {
                "values": change.values,
                "shown": change.shown,
                "answer": model.class_codes[change.answer],
                "probability": change.probability,
            }
            for change in found[:MOST_CHANGES]
        ],
    }


def _plain(value: Any) -> Cell:
    """A cell as the page can show it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
