"""Running measures of a stream: over all rows so far, with fading weights, and over a window of the last rows.

All measures are computed from a few sums: per class how often it was true, predicted, and both; and sums of losses. A
whole stretch of rows is added to the sums by a few array operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SPANS = ("whole", "fading", "window")  # all rows so far; all rows with fading weights; the last rows
MEASURES = ("accuracy", "kappa", "log_loss", "cost")
TRUE, PREDICTED, CORRECT = range(3)
ROWS, LOG_LOSS, COST = range(3)
STRETCH = 65536  # rows after which the sums are updated at the latest


class ScoredRows:
    """Rows with a label that were predicted: class codes (-1 where nothing was predicted), and the losses of each."""

    def __init__(self, labels: np.ndarray, predicted: np.ndarray, log_loss: np.ndarray, cost: np.ndarray) -> None:
        self.labels, self.predicted, self.log_loss, self.cost = labels, predicted, log_loss, cost

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, start: int, stop: int) -> ScoredRows:
        """Some of the rows, as a view."""
        some = slice(start, stop)
        return ScoredRows(self.labels[some], self.predicted[some], self.log_loss[some], self.cost[some])


def joined(parts: Sequence[ScoredRows]) -> ScoredRows:
    """Rows one after the other."""
    fields = ("labels", "predicted", "log_loss", "cost")
    return ScoredRows(*(np.concatenate([getattr(part, field) for part in parts]) for field in fields))


class MeasureSums:
    """The sums that all measures are computed from.

    ``classes[what, c]`` with what = true, predicted, correct; ``losses`` are the rows and the sums of log loss and
    cost.
    """

    def __init__(self) -> None:
        self.classes = np.zeros((3, 0))
        self.losses = np.zeros(3)

    def add(self, rows: ScoredRows, weights: np.ndarray | None = None, factor: float = 1.0) -> None:
        """Multiply all sums by a factor, then add these rows."""
        if len(rows) == 0:
            return
        k = 1 + int(max(rows.labels.max(), rows.predicted.max()))
        if k > self.classes.shape[1]:
            self.classes = np.hstack([self.classes, np.zeros((3, k - self.classes.shape[1]))])
        if factor != 1.0:
            self.classes *= factor
            self.losses *= factor
        hits = np.where(rows.predicted == rows.labels, rows.labels + 1, 0)  # bin 0 is dropped
        for what, codes in ((TRUE, rows.labels + 1), (PREDICTED, rows.predicted + 1), (CORRECT, hits)):
            self.classes[what, :k] += np.bincount(codes, weights, minlength=k + 1)[1:]
        if weights is None:
            self.losses += (len(rows), rows.log_loss.sum(), rows.cost.sum())
        else:
            self.losses += (weights.sum(), weights @ rows.log_loss, weights @ rows.cost)

    def values(self) -> tuple[list[float], np.ndarray]:
        """The MEASURES, and recall of every class; NaN where there is nothing to measure."""
        n, log_loss, cost = self.losses.tolist()
        true, predicted, correct = self.classes
        recall = np.divide(correct, true, out=np.full(len(true), np.nan), where=true > 0)
        if n == 0:
            return [np.nan] * len(MEASURES), recall
        observed, expected = float(correct.sum()) / n, float(true @ predicted) / n**2
        kappa = (observed - expected) / (1 - expected) if expected < 1 else np.nan
        return [observed, kappa, log_loss / n, cost / n], recall


class Report(NamedTuple):
    """All measures after some row: ``values[span, measure]``, and ``recall[span, class]``."""

    values: np.ndarray
    recall: np.ndarray

    def value(self, measure: str, span: str) -> float:
        """One of them by name."""
        return float(self.values[SPANS.index(span), MEASURES.index(measure)])


class StreamMeasures:
    """The measures of one model along a stream, over all three spans.

    Rows may be added in pieces of any size. The sums are updated at each ``report`` and every ``STRETCH`` rows, counted
    from the start, so that the figures do not depend on the sizes of the pieces.
    """

    def __init__(self, fade: float, window: int) -> None:
        self.fade, self.window = fade, window
        self.whole, self.fading = MeasureSums(), MeasureSums()
        self._waiting: list[ScoredRows] = []
        self._n_waiting = 0
        self._last: list[ScoredRows] = []  # at least the last rows, in stretches
        self._powers = fade ** np.arange(STRETCH - 1, -1, -1.0)  # the newest row counts fully

    def add(self, rows: ScoredRows) -> None:
        """Add the next rows of the stream."""
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
        last = MeasureSums()
        if self._last:
            self._last = [joined(self._last)]
            rows = self._last[0]
            last.add(rows.part(max(0, len(rows) - self.window), len(rows)))
        values, recalls = zip(*(sums.values() for sums in (self.whole, self.fading, last)), strict=True)
        recall = np.full((len(SPANS), len(recalls[0])), np.nan)
        for span, own in enumerate(recalls):
            recall[span, : len(own)] = own
        return Report(np.array(values), recall)


def named(measure: str, span: str) -> str:
    """The name of a measure over a span: ``accuracy``, ``fading_accuracy``, ``window_accuracy``."""
    return measure if span == "whole" else f"{span}_{measure}"
