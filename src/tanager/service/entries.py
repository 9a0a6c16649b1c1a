"""An entry of the log: labelled rows, checked before they are written, and taught to a model.

A model is always taught an entry in the same way, whether it has just arrived or comes from the log after a crash, so
that both give the same model to the last bit. So entries are not joined in a replay, either; it would gain nothing,
since a row that is learned by itself takes no longer than its share of a chunk of a thousand.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import msgspec
import numpy as np

from tanager.encoding import encode_labels
from tanager.encoding.tables import read_table
from tanager.encoding.validation import check_lengths, check_times, check_weights, refuse_fractions
from tanager.errors import DataError, SchemaMismatch, nearest
from tanager.learning.classifier import Classifier
from tanager.scoring.decision import check_costs, class_factors, class_priors

FEW = 32  # rows that are learned one by one
SLICE = 500  # rows that are learned at once; answers get their turn between slices
PAUSE = 0.0002  # seconds; a lock that is taken again at once lets nobody in
_CELLS = {str, int, float, bool, type(None)}
_LABELS = {str, int, float, bool}


class Entry(msgspec.Struct, array_like=True):
    """Rows with their labels and, where given, weights and times."""

    rows: list[dict[str, Any]]
    labels: list[Any]
    weights: list[float] | None = None
    times: list[float] | None = None


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Entry)


def pack(entry: Entry) -> bytes:
    """An entry as bytes; text, numbers, booleans and None come back as they were."""
    try:
        return _encoder.encode(entry)
    except (OverflowError, UnicodeEncodeError, TypeError) as error:
        raise DataError(f"the rows cannot be stored: {error}. Use numbers of 64 bits and valid text.") from None


def unpack(payload: bytes) -> Entry:
    """The entry in these bytes."""
    return _decoder.decode(payload)


# --- before it is written -----------------------------------------------------------------------------------------


def check(model: Classifier, entry: Entry) -> None:
    """Refuse what the model could not learn; nothing is changed."""
    if not entry.rows:
        raise DataError("there are no rows to learn. Send at least one.")
    _check_cells(entry.rows)
    check_lengths(len(entry.rows), entry.labels)
    weights = check_weights(entry.weights, len(entry.rows))
    times = check_times(entry.times, len(entry.rows))
    _check_labels(model, entry.labels)
    if _fixed(model):
        _check_columns(model, entry.rows)
    else:
        table = read_table(entry.rows)
        for i in range(table.n_columns):
            table.column(i)
    clock = getattr(model, "_clock", None)
    if clock is not None and (weights is None or weights.any()):
        clock.check(times if weights is None or times is None else times[weights > 0], len(entry.rows))


def _fixed(model: Classifier) -> bool:
    """Whether columns and their kinds are known for good."""
    return hasattr(model, "encoder_") and getattr(model, "_warm", None) is None


def _check_cells(rows: list[dict[str, Any]]) -> None:
    for r, row in enumerate(rows):
        if type(row) is not dict:
            raise DataError(f"row {r} is a {type(row).__name__}; a row is a dict of column names and cells.")
        if not _CELLS.issuperset(map(type, row.values())):
            name, cell = next((name, cell) for name, cell in row.items() if type(cell) not in _CELLS)
            raise DataError(
                f"column {name!r}, row {r}: {cell!r} is a {type(cell).__name__}; a cell is text, a number, a boolean "
                "or missing."
            )


def _check_labels(model: Classifier, labels: list[Any]) -> None:
    for r, label in enumerate(labels):
        if type(label) not in _LABELS or (type(label) is float and not math.isfinite(label)):
            raise DataError(f"row {r}: {label!r} is no class. A label is text, a whole number or a boolean.")
    known = model.class_codes if hasattr(model, "classes_") else {}
    if not known:
        refuse_fractions(encode_labels(labels)[1])
        return
    if known.keys() >= set(labels):
        return
    classes = model.classes_with(labels)
    _refuse_other_types(labels, list(known))
    check_costs(
        getattr(model, "cost_matrix", None), classes
    )  # options that name the classes would leave no way to answer
    class_priors(getattr(model, "priors", None), classes)
    weight = getattr(model, "class_weight", None)
    class_factors(None if isinstance(weight, str) else weight, classes, np.zeros(len(classes)))


def _refuse_other_types(labels: list[Any], known: list[Any]) -> None:
    """New classes are welcome; text among numbers is a slip."""
    texts = {isinstance(label, str) for label in known}
    for r, label in enumerate(labels):
        if isinstance(label, str) not in texts:
            is_text = "text" if isinstance(label, str) else "no text"
            raise DataError(f"row {r}: the label {label!r} is {is_text}, unlike the classes {known[:5]}.")


def _check_columns(model: Classifier, rows: list[dict[str, Any]]) -> None:
    encoder = model.encoder_
    for r, row in enumerate(rows):
        if new := encoder.new_names(row):
            hint = nearest(new[0], encoder.schema.names)
            raise SchemaMismatch(f"row {r} has a column {new[0]!r}, which the model does not know.{hint}")
    if len(rows) > FEW:
        table = _table(model, rows)
        encoder.transform(table)
        encoder.continuous_values(table)
        return
    for row in rows:
        encoder.encode_row(row)
        encoder.continuous_row(row)


def _table(model: Classifier, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with all names in the first of them, so that columns are found by name and not by place."""
    if not _fixed(model):
        return rows
    return [dict.fromkeys(model.encoder_.schema.names) | rows[0], *rows[1:]]


# --- when it lasts --------------------------------------------------------------------------------------------------


def teach(model: Classifier, entry: Entry, lock: threading.RLock) -> None:
    """Let the model learn an entry, in slices."""
    start, n = 0, len(entry.rows)
    while start < n:
        with lock:
            stop = min(n, start + _slice(model))
            _learn(model, entry, slice(start, stop))
        start = stop
        if start < n:
            time.sleep(PAUSE)


def _slice(model: Classifier) -> int:
    """How many rows next; kinds and cut points are fixed at the end of a slice, by all rows that are there."""
    if _fixed(model):
        return SLICE
    warm = getattr(model, "_warm", None)
    return max(1, min(SLICE, model.warm_up - (0 if warm is None else warm.n_rows)))


def _learn(model: Classifier, entry: Entry, part: slice) -> None:
    rows, labels = entry.rows[part], entry.labels[part]
    weights, times = (None if given is None else given[part] for given in (entry.weights, entry.times))
    if len(entry.rows) > FEW or not _fixed(model):
        model.partial_fit(_table(model, rows), labels, sample_weight=weights, times=times)
        return
    for r, row in enumerate(rows):
        model.learn_one(row, labels[r], 1.0 if weights is None else weights[r], None if times is None else times[r])
