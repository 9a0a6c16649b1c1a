"""Entries of the log: labelled rows, checked before they are written, and learned once they are on disk.

A model learns an entry in the same steps whether it has just arrived or is read back after a crash, so that both give
the same model to the last bit. For the same reason a replay does not join entries into larger batches; that would gain
nothing, since a row learned by itself takes no longer than its share of a batch of a thousand.

A model whose answers keep the structure of an earlier one (``refresh``) depends on when that was asked for. So the log
has an entry for the first choice, and later ones are made at once when they are due, not when somebody asks.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from tanager.encoding import encode_labels
from tanager.encoding.tables import read_table
from tanager.encoding.validation import check_lengths, check_times, check_weights, refuse_fractions
from tanager.errors import DataError, SchemaMismatch, TanagerError, nearest
from tanager.learning.classifier import Classifier
from tanager.scoring.decision import check_costs, class_factors, class_priors
from tanager.service.keys import RequestKey
from tanager.service.messages import Label
from tanager.service.model_queries import check_row_times, classes_of, fixed_schema, rows_until_fixed

FEW_ROWS = 32  # up to here rows are checked and learned one by one, which is quicker than making a table of them
SLICE_ROWS = 500  # rows learned at once; predictions take the model's lock between slices
PAUSE = 0.0002  # seconds between slices: a thread that takes a lock again at once lets no other thread have it
_CELL_TYPES = {str, int, float, bool, type(None)}
_LABEL_TYPES = {str, int, float, bool}


class LogEntry(msgspec.Struct, array_like=True):
    """Rows with their labels and, where given, weights, times, and the key of the request.

    Cells and labels are of any type here: ``check_entry`` refuses what cannot be learned, and what is read back from
    the log was checked before it was written, so decoding need not check it again.
    """

    rows: list[dict[str, Any]]
    labels: list[Any]
    weights: list[float] | None = None
    times: list[float] | None = None
    key: RequestKey | None = None  # entries of earlier versions have none
    chosen: bool = False  # the model has chosen a structure, at the latest just before these rows

    @classmethod
    def choice(cls) -> LogEntry:
        """The entry for a choice: no rows."""
        return cls([], [], chosen=True)

    @property
    def is_choice(self) -> bool:
        """Whether it stands for a choice alone."""
        return self.chosen and not self.rows


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(LogEntry)


def encode_entry(entry: LogEntry) -> bytes:
    """An entry as MessagePack; text, numbers, booleans and None come back as they were."""
    try:
        return _encoder.encode(entry)
    except (OverflowError, UnicodeEncodeError, TypeError) as error:
        raise DataError(f"the rows cannot be stored: {error}. Use numbers of 64 bits and valid text.") from None


def decode_entry(payload: bytes) -> LogEntry:
    """The entry in these bytes."""
    return _decoder.decode(payload)


def n_rows(payload: bytes) -> int:
    """How many rows the entry in these bytes has."""
    return len(_decoder.decode(payload).rows)


# --- before an entry is written -------------------------------------------------------------------------------------


def check_entry(model: Classifier, entry: LogEntry) -> None:
    """Refuse what the model could not learn; the model is not changed.

    Everything must be refused here: an entry that is in the log cannot be taken back.
    """
    if not entry.rows:
        raise DataError("there are no rows to learn. Send at least one.")
    _check_cells(entry.rows)
    check_lengths(len(entry.rows), entry.labels)
    weights = check_weights(entry.weights, len(entry.rows))
    times = check_times(entry.times, len(entry.rows))
    _check_labels(model, entry.labels)
    if fixed_schema(model) is not None:
        _check_columns(model, entry.rows)
    else:
        table = read_table(entry.rows)
        for i in range(table.n_columns):
            table.column(i)
    if weights is None or weights.any():  # rows without weight teach only their classes, whatever their times
        counted = times if weights is None or times is None else times[weights > 0]
        check_row_times(model, counted, len(entry.rows))


def _check_cells(rows: Sequence[object]) -> None:
    for r, row in enumerate(rows):
        if type(row) is not dict:
            raise DataError(f"row {r} is a {type(row).__name__}; a row is a dict of column names and cells.")
        if not _CELL_TYPES.issuperset(map(type, row.values())):
            name, cell = next((name, cell) for name, cell in row.items() if type(cell) not in _CELL_TYPES)
            raise DataError(
                f"column {name!r}, row {r}: {cell!r} is a {type(cell).__name__}; a cell is text, a number, a boolean "
                "or missing."
            )


def _check_labels(model: Classifier, labels: list[Any]) -> None:
    for r, label in enumerate(labels):
        if type(label) not in _LABEL_TYPES or (type(label) is float and not math.isfinite(label)):
            raise DataError(f"row {r}: {label!r} is not a class. A label is text, a whole number or a boolean.")
    known = classes_of(model)
    if not known:
        refuse_fractions(encode_labels(labels)[1])
    elif not set(labels).issubset(known):
        _check_new_classes(model, labels, known)


def _check_new_classes(model: Classifier, labels: list[Any], known: list[Label]) -> None:
    """New classes can be learned, unless an option of the model names each class and would have no value for them."""
    classes = model.classes_with(labels)
    _refuse_other_types(labels, known)
    check_costs(getattr(model, "cost_matrix", None), classes)
    class_priors(getattr(model, "priors", None), classes)
    weight = getattr(model, "class_weight", None)
    class_factors(None if isinstance(weight, str) else weight, classes, np.zeros(len(classes)))


def _refuse_other_types(labels: list[Any], known: list[Label]) -> None:
    """Text among numbers, or a number among text, is a mistake rather than a new class."""
    texts = {isinstance(label, str) for label in known}
    for r, label in enumerate(labels):
        if isinstance(label, str) not in texts:
            found = "text" if isinstance(label, str) else "not text"
            raise DataError(f"row {r}: the label {label!r} is {found}, unlike the classes {known[:5]}.")


def _check_columns(model: Classifier, rows: list[dict[str, Any]]) -> None:
    encoder = model.encoder_
    for r, row in enumerate(rows):
        if new := encoder.new_names(row):
            hint = nearest(new[0], encoder.schema.names)
            raise SchemaMismatch(f"row {r} has a column {new[0]!r}, which the model does not know.{hint}")
    if len(rows) > FEW_ROWS:
        table = _as_table(model, rows)
        encoder.encode(table)
        encoder.continuous_values(table)
        return
    for row in rows:
        encoder.encode_row(row)
        encoder.continuous_row(row)


def _as_table(model: Classifier, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with all column names in the first of them, so that columns are found by name and not by position."""
    schema = fixed_schema(model)
    return rows if schema is None else [dict.fromkeys(schema.learned_names) | rows[0], *rows[1:]]


# --- once an entry is on disk ---------------------------------------------------------------------------------------


def learn_entry(model: Classifier, entry: LogEntry, lock: threading.RLock) -> None:
    """Let the model learn an entry, slice by slice; the lock is free between slices."""
    start, n = 0, len(entry.rows)
    while start < n:
        with lock:
            stop = min(n, start + _slice_rows(model))
            _learn_slice(model, entry, slice(start, stop))
            if model.has_chosen:
                choose(model)
        start = stop
        if start < n:
            time.sleep(PAUSE)


def choose(model: Classifier) -> None:
    """Let the model choose what is due. Where it cannot, answers say why."""
    with contextlib.suppress(TanagerError):
        model.choose()


def _slice_rows(model: Classifier) -> int:
    """How many rows to learn next.

    The warm-up ends with the slice that completes it. All rows of that slice would take part in choosing cut points, so
    a slice must not go beyond the warm-up, or the model would depend on where slices happen to end.
    """
    return SLICE_ROWS if fixed_schema(model) is not None else min(SLICE_ROWS, rows_until_fixed(model))


def _learn_slice(model: Classifier, entry: LogEntry, part: slice) -> None:
    rows, labels = entry.rows[part], entry.labels[part]
    weights, times = (None if given is None else given[part] for given in (entry.weights, entry.times))
    # By the size of the entry, not of the slice: the last slice of a long entry must take the same way as the others.
    if len(entry.rows) > FEW_ROWS or fixed_schema(model) is None:
        model.partial_fit(_as_table(model, rows), labels, sample_weight=weights, times=times)
        return
    for r, row in enumerate(rows):
        model.learn_one(row, labels[r], 1.0 if weights is None else weights[r], None if times is None else times[r])
