"""Who is asked and who is learned when: row by row or in batches, at once or with labels that come late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tanager.encoding.chunks import stack, take_rows
from tanager.evaluate.learners import Rows


class Step(NamedTuple):
    """Rows to answer and rows to learn, either of which may be None.

    With both and ``in_turn``: the first is answered, the first is learned, the second is answered, and so on.
    """

    asked: Rows | None
    learned: Rows | None
    in_turn: bool = False


class Late:
    """Turns blocks of a stream into steps; rows whose label has not come yet wait here.

    Parameters
    ----------
    delay : int
        A row is learned when so many further rows have been answered.
    batch : int
        So many rows are answered before any of them is learned.
    """

    def __init__(self, delay: int, batch: int) -> None:
        self.delay, self.batch = delay, batch
        self._waiting: Rows | None = None

    def steps(self, block: Rows) -> Iterator[Step]:
        """What to do with the next rows of the stream; blocks hold whole batches, but for the last."""
        if self.batch == 1:
            yield from self._in_turn(block)
            return
        for start in range(0, len(block), self.batch):
            asked = _part(block, start, min(start + self.batch, len(block)))
            yield Step(asked, self._due(asked, self.delay))

    def _in_turn(self, block: Rows) -> Iterator[Step]:
        if self.delay == 0:
            yield Step(block, block, in_turn=True)
            return
        first = min(len(block), self.delay - (0 if self._waiting is None else len(self._waiting)))
        if first:  # no label has come yet
            asked = _part(block, 0, first)
            self._due(asked, self.delay)
            yield Step(asked, None)
        if first < len(block):
            asked = _part(block, first, len(block))
            yield Step(asked, self._due(asked, self.delay), in_turn=True)

    def rest(self) -> Iterator[Step]:
        """After the last row: the labels that have not come yet come now."""
        if self._waiting is not None and len(self._waiting):
            yield Step(None, self._waiting)

    def _due(self, new: Rows, delay: int) -> Rows | None:
        """Let rows wait, and take out those that have waited long enough."""
        if delay == 0:
            return new
        pool = new if self._waiting is None else _stacked(self._waiting, new)
        due = max(0, len(pool) - delay)
        self._waiting = _part(pool, due, len(pool))
        return _part(pool, 0, due) if due else None


def _part(rows: Rows, start: int, stop: int) -> Rows:
    times = None if rows.times is None else rows.times[start:stop]
    return Rows(take_rows(rows.X, start, stop), rows.y[start:stop], times, rows.names)


def _stacked(first: Rows, second: Rows) -> Rows:
    if not len(first):
        return second
    times = None if first.times is None else np.concatenate([first.times, second.times])
    return Rows(stack([first.X, second.X]), np.concatenate([first.y, second.y]), times, second.names)


class Arrived:
    """How many labels of each class have come before a row is answered; only rows that are a tie ask for it."""

    def __init__(self, delay: int, batch: int) -> None:
        self.delay, self.batch = delay, batch
        self._labels = np.array([], dtype=np.int64)  # of the last rows
        self._before = np.array([], dtype=np.int64)  # rows of each class before these
        self._start = 0  # the number of the first of them

    def add(self, labels: np.ndarray) -> None:
        """The class codes of the next block, -1 where missing."""
        keep = self.delay + self.batch
        gone, self._labels = self._labels[:-keep], self._labels[-keep:]
        counts = np.bincount(gone[gone >= 0])
        size = max(len(counts), len(self._before))
        self._before = np.pad(self._before, (0, size - len(self._before)))
        self._before[: len(counts)] += counts
        self._start += len(gone)
        self._labels = np.concatenate([self._labels, labels])

    def counts(self, rows: np.ndarray, k: int) -> np.ndarray:
        """One row per class, one column for each of these row numbers."""
        come = np.maximum(rows // self.batch * self.batch - self.delay, 0) - self._start
        out = np.zeros((k, len(rows)))
        out[: len(self._before)] = self._before[:, None]
        for c in range(k):
            out[c] += np.searchsorted(np.flatnonzero(self._labels == c), come)
        return out
