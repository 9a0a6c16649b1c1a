"""What a stream gives to whoever looks at its labels alone: classifiers to beat, and what a model adds to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.evaluate.label_delay import ArrivedLabels
from tanager.evaluate.model_run import ClassIndex
from tanager.evaluate.stream_measures import Report, ScoredRows, StreamMeasures

NO_CHANGE, MAJORITY = "no change", "majority"
BASELINES = (NO_CHANGE, MAJORITY)


class BaselineRun:
    """A classifier that knows only the labels that have arrived: it answers with the last, or the most frequent one.

    Before the first label it answers as models do that have learned nothing: with the first of the classes that are
    known in advance, else with none, which counts as wrong. Its log loss is none: it gives no probabilities.
    """

    def __init__(self, name: str, costs: np.ndarray | None, fade: float, window: int) -> None:
        self.name, self.costs = name, costs
        self.measures = StreamMeasures(fade, window)
        self.history: list[Report] = []

    def score(
        self, labels: np.ndarray, start: int, points: Sequence[int], classes: ClassIndex, arrived: ArrivedLabels
    ) -> None:
        """Answer a block of rows (class codes, -1 where missing), and report the measures after these rows."""
        scored = np.flatnonzero(labels >= 0)
        true, predicted = labels[scored], self._predicted(start + scored, classes, arrived)
        nothing = np.full(len(true), np.nan)
        cost = nothing if self.costs is None else self.costs[true, np.maximum(predicted, 0)]
        rows = ScoredRows(true, predicted, nothing, cost)
        done = 0
        for at in np.searchsorted(scored, np.array(points) - start).tolist():
            self.measures.add(rows.part(done, at))
            self.history.append(self.measures.report())
            done = at
        self.measures.add(rows.part(done, len(rows)))

    def _predicted(self, rows: np.ndarray, classes: ClassIndex, arrived: ArrivedLabels) -> np.ndarray:
        order = classes.sorted()
        blank = int(order[order < classes.n_declared][0]) if classes.n_declared else -1  # as for models
        if self.name == NO_CHANGE:
            last = arrived.last(rows)
            return np.where(last < 0, blank, last)
        counts = arrived.counts(rows, len(classes))[order]
        found: np.ndarray = np.where(counts.any(axis=0), order[counts.argmax(axis=0)], blank)
        return found

    def end(self, *, reported: bool) -> None:
        """Report once more unless the last row was reported already."""
        if not reported:
            self.history.append(self.measures.report())


def kappa_temporal(accuracy: np.ndarray, no_change: np.ndarray) -> np.ndarray:
    """Accuracy between that of answering with the last label (0) and 1; NaN where the last label is always right.

    >>> kappa_temporal(np.array([0.9, 0.7]), np.array([0.8, 0.8])).round(3)
    array([ 0.5, -0.5])
    """
    better: np.ndarray = np.full(len(accuracy), np.nan)
    np.divide(accuracy - no_change, 1 - no_change, out=better, where=no_change < 1)
    return better
