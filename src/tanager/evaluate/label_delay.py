"""When rows of a stream are predicted and learned: row by row or in batches, with labels that may arrive late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tanager.encoding.chunks import stack, take_rows
from tanager.evaluate.adapters import StreamRows


class PrequentialStep(NamedTuple):
    """Rows to predict and rows to learn, either of which may be None.

    With both and ``interleaved``: the first row is predicted, the first is learned, the second is predicted, and so on.
    """

    test: StreamRows | None
    train: StreamRows | None
    interleaved: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows are predicted, or learned where none is predicted."""
        rows = self.train if self.test is None else self.test
        return 0 if rows is None else len(rows)

    @property
    def divisible(self) -> bool:
        """Whether it may be done in parts: unlike a batch, all of which is predicted before it is learned."""
        return self.interleaved or self.test is None or self.train is None

    def rows(self, start: int, stop: int) -> PrequentialStep | None:
        """Some rows of a step that is divisible; None beyond its end."""
        if start == 0 and stop >= self.n_rows:
            return self
        if start >= self.n_rows:
            return None
        test, train = (None if rows is None else _part(rows, start, min(stop, len(rows))) for rows in self[:2])
        return PrequentialStep(test, test if self.train is self.test else train, self.interleaved)


class DelayedLabels:
    """Turns blocks of a stream into steps, and holds back the rows whose label has not arrived yet.

    Parameters
    ----------
    delay : int
        A row is learned after this many further rows have been predicted.
    batch : int
        This many rows are predicted before any of them is learned.
    """

    def __init__(self, delay: int, batch: int) -> None:
        self.delay, self.batch = delay, batch
        self._pending: StreamRows | None = None

    def steps(self, block: StreamRows) -> Iterator[PrequentialStep]:
        """The steps for the next rows of the stream. Blocks hold whole batches, except for the last one."""
        if self.batch == 1:
            yield from self._row_by_row(block)
            return
        for start in range(0, len(block), self.batch):
            test = _part(block, start, min(start + self.batch, len(block)))
            yield PrequentialStep(test, self._due(test, self.delay))

    def _row_by_row(self, block: StreamRows) -> Iterator[PrequentialStep]:
        if self.delay == 0:
            yield PrequentialStep(block, block, interleaved=True)
            return
        first = min(len(block), self.delay - (0 if self._pending is None else len(self._pending)))
        if first:  # no label has arrived yet
            test = _part(block, 0, first)
            self._due(test, self.delay)
            yield PrequentialStep(test, None)
        if first < len(block):
            test = _part(block, first, len(block))
            yield PrequentialStep(test, self._due(test, self.delay), interleaved=True)

    def rest(self) -> Iterator[PrequentialStep]:
        """After the last row: the labels that are still missing arrive."""
        if self._pending is not None and len(self._pending):
            yield PrequentialStep(None, self._pending)

    def _due(self, new: StreamRows, delay: int) -> StreamRows | None:
        """Hold these rows back, and release those whose label arrives now."""
        if delay == 0:
            return new
        pool = new if self._pending is None else _stacked(self._pending, new)
        due = max(0, len(pool) - delay)
        self._pending = _part(pool, due, len(pool))
        return _part(pool, 0, due) if due else None


def _part(rows: StreamRows, start: int, stop: int) -> StreamRows:
    times = None if rows.times is None else rows.times[start:stop]
    return StreamRows(take_rows(rows.X, start, stop), rows.y[start:stop], times, rows.names, rows.at + start)


def _stacked(first: StreamRows, second: StreamRows) -> StreamRows:
    if not len(first):
        return second
    times = None if first.times is None or second.times is None else np.concatenate([first.times, second.times])
    return StreamRows(stack([first.X, second.X]), np.concatenate([first.y, second.y]), times, second.names, first.at)


class ArrivedLabels:
    """The labels that have arrived before a row is predicted: how many of each class, and which was the last."""

    def __init__(self, delay: int, batch: int) -> None:
        self.delay, self.batch = delay, batch
        self._labels = np.array([], dtype=np.int64)  # of the last rows
        self._before = np.array([], dtype=np.int64)  # rows of each class before these
        self._start = 0  # the number of the first of them
        self._last_before = -1  # the last label before these

    def add(self, labels: np.ndarray) -> None:
        """Add the class codes of the next block, -1 where missing."""
        keep = self.delay + self.batch
        gone, self._labels = self._labels[:-keep], self._labels[-keep:]
        known = gone[gone >= 0]
        counts = np.bincount(known)
        if len(known):
            self._last_before = int(known[-1])
        size = max(len(counts), len(self._before))
        self._before = np.pad(self._before, (0, size - len(self._before)))
        self._before[: len(counts)] += counts
        self._start += len(gone)
        self._labels = np.concatenate([self._labels, labels])

    def counts(self, rows: np.ndarray, k: int) -> np.ndarray:
        """One row per class, one column for each of these row numbers."""
        arrived = self._arrived(rows)
        out = np.zeros((k, len(rows)))
        out[: len(self._before)] = self._before[:, None]
        for c in range(k):
            out[c] += np.searchsorted(np.flatnonzero(self._labels == c), arrived)
        return out

    def last(self, rows: np.ndarray) -> np.ndarray:
        """The code of the last label before each of these row numbers; -1 before the first."""
        places = np.flatnonzero(self._labels >= 0)
        codes = np.append(self._labels[places], self._last_before)  # whose last one is also before the first
        return np.asarray(codes[np.searchsorted(places, self._arrived(rows)) - 1])

    def _arrived(self, rows: np.ndarray) -> np.ndarray:
        """How many of the labels that are held have arrived before each of these rows."""
        return np.asarray(np.maximum(rows // self.batch * self.batch - self.delay, 0) - self._start)
