"""The first rows of a stream, kept until the kinds of columns and the cut points can be fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.encoding.chunks import n_rows, own_copy, stack
from tanager.errors import DataError
from tanager.learning.batch import Batch
from tanager.learning.rows import widened


class WarmUp:
    """The first rows of a stream, as they came.

    Until there are enough of them, cut points are provisional: they come from the first ``stage`` rows and are learned
    again whenever the rows have doubled. ``counted`` says how many rows the provisional model holds.
    """

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self.labels = np.array([], dtype=np.uint16)
        self.all_weights = np.array([])
        self.times: np.ndarray | None = None
        self.n_rows = 0
        self.counted = 0
        self.stage = 0

    def append(self, batch: Batch) -> None:
        """Keep more rows."""
        rows = n_rows(batch.X)
        if self.n_rows and (batch.times is None) != (self.times is None):
            raise DataError("some rows came with times and some without. Give times to all rows, or to none.")
        if self.times is None or batch.times is None:
            self.times = batch.times
        else:
            self.times = np.concatenate([self.times, batch.times])
        self._chunks.append(own_copy(batch.X))
        self.labels = np.concatenate([self.labels, widened(batch.labels)])
        weights = np.ones(rows) if batch.weights is None else batch.weights
        self.all_weights = np.concatenate([self.all_weights, weights])
        self.n_rows += rows

    @property
    def X(self) -> Any:
        """All rows as one table."""
        self._chunks = [stack(self._chunks)]
        return self._chunks[0]

    @property
    def batch(self) -> Batch:
        """All rows; weights are None where all are 1."""
        weights = None if (self.all_weights == 1.0).all() else self.all_weights
        return Batch(self.X, self.labels, weights, self.times)

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
