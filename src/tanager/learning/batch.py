"""A batch of rows as they came, before they are encoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.encoding.chunks import rows_at, take_rows


@dataclass(frozen=True)
class Batch:
    """Rows as they came: a table of any type, class codes, and weights and times where there are some."""

    X: Any
    labels: np.ndarray
    weights: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def counted(self) -> np.ndarray:
        """Which rows count: those with a label and a weight above zero."""
        which: np.ndarray = self.labels != np.iinfo(self.labels.dtype).max
        return which if self.weights is None else which & (self.weights > 0)

    def only_counted(self) -> Batch:
        """The rows that count."""
        if self.counted.all():
            return self
        places = np.flatnonzero(self.counted)
        weights, times = (None if cells is None else cells[places] for cells in (self.weights, self.times))
        return Batch(rows_at(self.X, places), self.labels[places], weights, times)

    def part(self, start: int, stop: int) -> Batch:
        """Rows start..stop-1."""
        weights, times = (None if cells is None else cells[start:stop] for cells in (self.weights, self.times))
        return Batch(take_rows(self.X, start, stop), self.labels[start:stop], weights, times)


@dataclass(frozen=True)
class StreamPart:
    """Rows of a stream that are answered and then learned; with late labels other rows (``answered``) are answered."""

    X: Any
    y: np.ndarray  # labels as they came
    weights: np.ndarray | None = None
    times: np.ndarray | None = None
    answered: Any = None

    def __len__(self) -> int:
        return len(self.y)

    def part(self, start: int, stop: int) -> StreamPart:
        """Rows start..stop-1."""
        weights, times = (None if cells is None else cells[start:stop] for cells in (self.weights, self.times))
        answered = None if self.answered is None else take_rows(self.answered, start, stop)
        return StreamPart(take_rows(self.X, start, stop), self.y[start:stop], weights, times, answered)

    @property
    def to_answer(self) -> Any:
        """The table that is to be answered."""
        return self.X if self.answered is None else self.answered
