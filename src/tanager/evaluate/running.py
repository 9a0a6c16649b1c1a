"""Measures that run along a stream: over all rows so far, over fading rows, and over the last rows.

Everything is read from a few sums: per class how often it was true, answered, and both; and sums of losses. Sums are
added, faded and taken away, so a stretch of rows costs a few array operations, however long it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

WAYS = ("whole", "fading", "window")  # over all rows so far; old rows fade; over the last rows
MEASURES = ("accuracy", "kappa", "log_loss", "cost")
TRUE, ANSWERED, RIGHT = range(3)
ROWS, LOG_LOSS, COST = range(3)
STRETCH = 65536  # rows after which sums are brought up to date at the latest


class Scored:
    """Rows that were answered and have a label: class codes (an answer of -1 is none), and the losses of each."""

    def __init__(self, labels: np.ndarray, answers: np.ndarray, log_loss: np.ndarray, cost: np.ndarray) -> None:
        self.labels, self.answers, self.log_loss, self.cost = labels, answers, log_loss, cost

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, start: int, stop: int) -> Scored:
        """Some of the rows, as a view."""
        some = slice(start, stop)
        return Scored(self.labels[some], self.answers[some], self.log_loss[some], self.cost[some])


def joined(parts: Sequence[Scored]) -> Scored:
    """Rows one after the other."""
    fields = ("labels", "answers", "log_loss", "cost")
    return Scored(*(np.concatenate([getattr(part, field) for part in parts]) for field in fields))


class Sums:
    """What all measures are read from.

    ``classes[what, c]`` with what = true, answered, right; ``losses`` are the rows and the sums of log loss and cost.
    """

    def __init__(self) -> None:
        self.classes = np.zeros((3, 0))
        self.losses = np.zeros(3)

    def add(self, rows: Scored, weights: np.ndarray | None = None, factor: float = 1.0) -> None:
        """Multiply all sums by a factor, then add these rows."""
        if len(rows) == 0:
            return
        k = 1 + int(max(rows.labels.max(), rows.answers.max()))
        if k > self.classes.shape[1]:
            self.classes = np.hstack([self.classes, np.zeros((3, k - self.classes.shape[1]))])
        if factor != 1.0:
            self.classes *= factor
            self.losses *= factor
        hits = np.where(rows.answers == rows.labels, rows.labels + 1, 0)  # 0 stands for nothing
        for what, codes in ((TRUE, rows.labels + 1), (ANSWERED, rows.answers + 1), (RIGHT, hits)):
            self.classes[what, :k] += np.bincount(codes, weights, minlength=k + 1)[1:]
        if weights is None:
            self.losses += (len(rows), rows.log_loss.sum(), rows.cost.sum())
        else:
            self.losses += (weights.sum(), weights @ rows.log_loss, weights @ rows.cost)

    def values(self) -> tuple[list[float], np.ndarray]:
        """The MEASURES, and recall of every class; NaN where there is nothing to measure."""
        n, log_loss, cost = self.losses.tolist()
        true, answered, right = self.classes
        recall = np.divide(right, true, out=np.full(len(true), np.nan), where=true > 0)
        if n == 0:
            return [np.nan] * len(MEASURES), recall
        observed, expected = float(right.sum()) / n, float(true @ answered) / n**2
        kappa = (observed - expected) / (1 - expected) if expected < 1 else np.nan
        return [observed, kappa, log_loss / n, cost / n], recall


class Report(NamedTuple):
    """All measures after some row: ``values[way, measure]``, and ``recall[way, class]``."""

    values: np.ndarray
    recall: np.ndarray

    def value(self, measure: str, way: str) -> float:
        """One of them by name."""
        return float(self.values[WAYS.index(way), MEASURES.index(measure)])


class Running:
    """The measures of one model along a stream, in all three ways.

    Rows are added in any pieces; sums are brought up to date at each ``report`` and every ``STRETCH`` rows, counted
    from the start, so that the numbers do not depend on the pieces.
    """

    def __init__(self, fade: float, window: int) -> None:
        self.fade, self.window = fade, window
        self.whole, self.fading = Sums(), Sums()
        self._waiting: list[Scored] = []
        self._n_waiting = 0
        self._last: list[Scored] = []  # at least the last rows, in stretches
        self._powers = fade ** np.arange(STRETCH - 1, -1, -1.0)  # the newest row counts fully

    def add(self, rows: Scored) -> None:
        """Take in rows that follow the ones before."""
        while len(rows):
            room = STRETCH - self._n_waiting
            self._waiting.append(rows.part(0, room))
            self._n_waiting += len(self._waiting[-1])
            rows = rows.part(room, len(rows))
            if self._n_waiting == STRETCH:
                self._settle()

    def _settle(self) -> None:
        if not self._n_waiting:
            return
        rows, n = joined(self._waiting), self._n_waiting
        self._waiting, self._n_waiting = [], 0
        self.whole.add(rows)
        self.fading.add(rows, self._powers[STRETCH - n :], self.fade**n)
        self._last.append(rows.part(max(0, n - self.window), n))
        spare = sum(map(len, self._last)) - self.window
        while spare >= len(self._last[0]) and len(self._last) > 1:
            spare -= len(self._last.pop(0))

    def report(self) -> Report:
        """All measures after the rows so far."""
        self._settle()
        last = Sums()
        if self._last:
            self._last = [joined(self._last)]
            rows = self._last[0]
            last.add(rows.part(max(0, len(rows) - self.window), len(rows)))
        values, recalls = zip(*(sums.values() for sums in (self.whole, self.fading, last)), strict=True)
        recall = np.full((len(WAYS), len(recalls[0])), np.nan)
        for way, own in enumerate(recalls):
            recall[way, : len(own)] = own
        return Report(np.array(values), recall)


def named(measure: str, way: str) -> str:
    """What a measure is called when it is taken over all rows, fading ones or the last ones."""
    return measure if way == "whole" else f"{way}_{measure}"
