"""The first rows of a stream, kept until the kinds of columns and the cut points can be fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.encoding import Encoder, Schema
from tanager.encoding.chunks import n_rows, own_copy, rows_of_dicts, stack
from tanager.encoding.codes import widened
from tanager.encoding.kinds import settled
from tanager.encoding.matching import Told, aligned
from tanager.encoding.tables import Table, read_table
from tanager.errors import DataError, warn_user
from tanager.learning.batch import Batch


class WarmUp:
    """The first rows of a stream, as they came.

    Until there are enough of them, cut points are provisional: they come from the first ``stage`` rows and are learned
    again whenever the rows have doubled. ``counted`` says how many rows the provisional model holds.
    """

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self._labels = np.array([], dtype=np.uint16)
        self._weights = np.array([])
        self._single: list[tuple[dict[str, Any], int]] = []  # rows that came one by one, and their class codes
        self.times: np.ndarray | None = None
        self.n_rows = 0
        self.counted = 0
        self.stage = 0
        self._told: Told = set()
        self._table: Table | None = None  # all rows when they were last read as one
        self._trial: tuple[int, Encoder, np.ndarray] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The rows; all else can be made again."""
        return self.__dict__ | {"_table": None, "_trial": None}

    def append(self, batch: Batch) -> None:
        """Keep more rows."""
        rows = n_rows(batch.X)
        if self.n_rows and (batch.times is None) != (self.times is None):
            raise DataError("some rows came with times and some without. Give times to all rows, or to none.")
        if self.times is None or batch.times is None:
            self.times = batch.times
        else:
            self.times = np.concatenate([self.times, batch.times])
        self._join_single()
        self._chunks.append(own_copy(batch.X))
        self._labels = np.concatenate([self._labels, widened(batch.labels)])
        weights = np.ones(rows) if batch.weights is None else batch.weights
        self._weights = np.concatenate([self._weights, weights])
        self.n_rows += rows

    def aligned(self, X: Any, name: str) -> Any:
        """A table of more rows with the columns of the first ones, in their order; by place where it has no names."""
        first = self._chunks[0] if self._chunks else None
        known = None if first is None or rows_of_dicts(first) else read_table(first).names
        return X if known is None else aligned(X, known, name, self._told)

    def append_counted(self, row: dict[str, Any], label: int) -> None:
        """Keep one labelled row of weight 1 and without a time, which the provisional model holds already."""
        self.append_row(row, label)
        self.counted = self.n_rows

    def append_row(self, row: dict[str, Any], label: int) -> None:
        """Keep such a row, which is yet to be counted."""
        self._single.append((row, label))
        self.n_rows += 1

    def _join_single(self) -> None:
        if self._single:
            self._chunks.append([row for row, _ in self._single])
            labels = np.array([label for _, label in self._single], dtype=np.uint16)
            self._labels = np.concatenate([self._labels, labels])
            self._weights = np.concatenate([self._weights, np.ones(len(labels))])
            self._single = []

    def note_trial(self, encoder: Encoder, table: Table, classes: np.ndarray) -> None:
        """Columns as the first rows show them, which were asked for to tell whether they can be fixed.

        Where they cannot, the same columns are the provisional ones.
        """
        self._trial = table.n_rows, encoder, classes
        if table.n_rows == self.n_rows:
            self._table = table

    def take_trial(self, n_first: int, classes: np.ndarray) -> Encoder | None:
        """The columns that were learned from so many first rows already; given once, because an encoder grows."""
        if self._trial is None or self._trial[0] != n_first or self._trial[2] is not classes:
            return None
        encoder, self._trial = self._trial[1], None
        return encoder

    def read(self) -> Table:
        """All rows, read as one table; once, until more of them come."""
        if self._table is None or self._table.n_rows != self.n_rows:
            self._table = read_table(self.X)
        return self._table

    @property
    def labels(self) -> np.ndarray:
        """The class codes of all rows."""
        self._join_single()
        return self._labels

    @property
    def all_weights(self) -> np.ndarray:
        """The weights of all rows."""
        self._join_single()
        return self._weights

    @property
    def X(self) -> Any:
        """All rows as one table."""
        self._join_single()
        self._chunks = [stack(self._chunks)]
        return self._chunks[0]

    @property
    def batch(self) -> Batch:
        """All rows; weights are None where all are 1."""
        weights = None if (self.all_weights == 1.0).all() else self.all_weights
        return Batch(self.X, self.labels, weights, self.times)

    def first(self, n: int) -> Batch:
        """The first rows; where these are all, as the table that ``read`` gives."""
        batch = self.batch
        return batch.part(0, n) if n < self.n_rows else Batch(self.read(), batch.labels, batch.weights, batch.times)

    @property
    def latest(self) -> float | None:
        """The latest time of rows that count; None where they have no times."""
        counted = (self.labels != 65535) & (self.all_weights > 0)
        return None if self.times is None else float(self.times[counted].max(initial=-np.inf))

    @property
    def doubled_stage(self) -> int:
        """The largest power of two of rows that are there."""
        return 1 << (self.n_rows.bit_length() - 1)

    def move_classes(self, places: np.ndarray) -> None:
        """Class codes have moved: code c is now places[c]. The provisional counts are made anew."""
        known = self.labels != 65535
        self.labels[known] = places[self.labels[known]]


def warn_of_useless(schema: Schema, bins: Any, n_first: int) -> None:
    """Say which number columns have one bin for good, because the first rows show no cut point."""
    numbers = [column for column in schema.columns if column.kind == "numeric" and not column.by_value]
    lost = [column.name for column in numbers if column.n_values == 1 and not settled(column)]
    if not lost:
        return
    names = ", ".join(map(repr, lost[:5])) + (", ..." if len(lost) > 5 else "")
    one = len(lost) == 1
    has, tells = (f"column {names} has", "tells") if one else (f"columns {names} have", "tell")
    if bins in ("mdl", "refined"):
        why = f"bins={bins!r} finds no cut point in the first {n_first:,} rows"
        way_out = 'Leave out bins=, give bins="frequency", or let cut points follow the stream with recut="grid"'
    else:
        why = f"the first {n_first:,} rows show no cut point in {'it' if one else 'them'}"
        way_out = f"Give cut points, such as bins={{{lost[0]!r}: [0, 10]}}"
    warn_user(f"{has} one bin from now on and {tells} nothing: {why}. {way_out}.")
