"""One model on its way along a stream: its predictions, decisions and measures."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tanager.encoding.labels import sort_key
from tanager.errors import DataError, TanagerError, counted_from
from tanager.evaluate.adapters import Adapter, StreamRows
from tanager.evaluate.label_delay import ArrivedLabels, PrequentialStep
from tanager.evaluate.measures import SMALLEST
from tanager.evaluate.stream_measures import Report, ScoredRows, StreamMeasures
from tanager.evaluate.stream_sources import Labels
from tanager.scoring.decision import TIE

BLOCK = 16384  # rows of the stream that are read at once
FIRST_SLICE, SLICE_SECONDS = 64, 0.1  # rows that a model gets at once: some, then as many as take so long


class ClassIndex:
    """Class codes in the order in which the classes were declared or first occurred."""

    def __init__(self, known: Iterable[Any] | None) -> None:
        self.labels = [] if known is None else sorted(known, key=sort_key)
        self.n_declared = len(self.labels)
        self._codes = {label: c for c, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def code(self, label: Any) -> int:
        """The code of a class, which may be new."""
        if label not in self._codes:
            self._codes[label] = len(self.labels)
            self.labels.append(label)
        return self._codes[label]

    def sorted(self) -> np.ndarray:
        """The codes in the order of their labels."""
        return np.array(sorted(range(len(self.labels)), key=lambda c: sort_key(self.labels[c])), dtype=np.int64)

    def codes(self, y: Labels) -> np.ndarray:
        """The codes of the labels of some rows, -1 where missing."""
        labels = y.classes.tolist()
        present = np.flatnonzero(np.bincount(y.codes[~y.missing], minlength=len(labels))).tolist()
        new = [c for c in present if labels[c] not in self._codes]
        # By first occurrence, not by code: the result must not depend on how the stream is cut into blocks.
        for c in sorted(new, key=lambda c: int(np.argmax(y.codes == c))):
            self.code(labels[c])
        table = np.full(1 + np.iinfo(y.codes.dtype).max, -1)
        table[present] = [self._codes[labels[c]] for c in present]
        return np.asarray(table[y.codes])


class ModelRun:
    """One model on its way along the stream, with its measures so far."""

    def __init__(self, name: str, adapter: Adapter, costs: np.ndarray | None, fade: float, window: int) -> None:
        self.name, self.adapter, self.costs = name, adapter, costs
        self.measures = StreamMeasures(fade, window)
        self.history: list[Report] = []
        self.seconds = 0.0
        self._slice = FIRST_SLICE
        self._answers: list[tuple[list[Any], np.ndarray]] = []  # to the rows of the present block

    def run(self, steps: Sequence[PrequentialStep]) -> Iterator[int]:
        """Predict and learn a block of rows, part by part; gives the rows of the block that are done after each."""
        self._answers, done = [], 0
        for step in steps:
            for part in self._sliced(step):
                self._answers.append(self._step(part))
                done += part.n_rows
                yield done

    def score(
        self, labels: np.ndarray, start: int, points: Sequence[int], classes: ClassIndex, arrived: ArrivedLabels
    ) -> None:
        """Measure the answers to the rows of a block, and report the measures after these rows.

        ``labels`` may be those of the first rows alone, where the others are not done.
        """
        proba = _side_by_side(self._answers, classes)[:, : len(labels)]
        predicted, own = _decide(proba, labels, self.costs, start, classes, arrived)
        scored = np.flatnonzero(labels >= 0)
        labels, predicted = labels[scored], predicted[scored]
        cost = np.zeros(len(scored)) if self.costs is None else self.costs[labels, predicted]
        rows = ScoredRows(labels, predicted, -np.log(np.maximum(own[scored], SMALLEST)), cost)
        done = 0
        for at in np.searchsorted(scored, np.array(points) - start).tolist():
            self.measures.add(rows.part(done, at))
            self.history.append(self.measures.report())
            done = at
        self.measures.add(rows.part(done, len(rows)))

    def _sliced(self, step: PrequentialStep) -> Iterator[PrequentialStep]:
        """A step in parts that take a moment each: between them Ctrl-C is heard, and progress is shown."""
        if not step.divisible:
            yield step
            return
        at = 0
        while (part := step.rows(at, at + self._slice)) is not None:
            n_rows, before = self._slice, self.seconds
            yield part
            rate = n_rows / max(self.seconds - before, 1e-9)
            self._slice = int(min(2 * n_rows, max(1.0, rate * SLICE_SECONDS), BLOCK))
            at += n_rows

    def _step(self, step: PrequentialStep) -> tuple[list[Any], np.ndarray]:
        """Do one step; returns the classes that the model knew, and its predictions."""
        begin = time.perf_counter()
        try:
            if step.interleaved and step.test is not None and step.train is not None:
                proba = self.adapter.test_then_train(step.test, step.train)
                return self.adapter.classes(), proba
            proba = np.zeros((0, 0)) if step.test is None else self.adapter.predict(step.test)
            classes = self.adapter.classes() if step.test is not None else []
            if step.train is not None:
                self.adapter.learn(step.train)
            return classes, proba
        except TanagerError as error:
            own = counted_from(error, self._refused(step, error).at)
            raise type(own)(f"{self.name}: {own}") from None
        finally:
            self.seconds += time.perf_counter() - begin

    def _refused(self, step: PrequentialStep, error: TanagerError) -> StreamRows:
        """The rows of a step among which one cannot be used: those to predict, or those to learn."""
        if step.test is None or step.train is None:
            rows = step.train if step.test is None else step.test
            assert rows is not None
            return rows
        try:
            self.adapter.predict(step.test)
        except TanagerError as again:
            if str(again) == str(error):
                return step.test
        return step.train

    def end(self, steps: Sequence[PrequentialStep], *, reported: bool) -> None:
        """Learn the rows that are left, and report once more unless the last row was reported already."""
        for step in steps:
            for part in self._sliced(step):
                self._step(part)
        if not reported:
            self.history.append(self.measures.report())


def _side_by_side(parts: Sequence[tuple[list[Any], np.ndarray]], classes: ClassIndex) -> np.ndarray:
    """The predictions of a block: one row per class, in the order of all classes, one column per row of the stream."""
    codes = [[classes.code(label) for label in own] for own, _ in parts]
    out = np.zeros((max(1, len(classes)), sum(len(proba) for _, proba in parts)))
    done = 0
    for own, (_, proba) in zip(codes, parts, strict=True):
        out[own, done : done + len(proba)] = proba.T
        done += len(proba)
    return out


def _decide(
    proba: np.ndarray,
    labels: np.ndarray,
    costs: np.ndarray | None,
    start: int,
    classes: ClassIndex,
    arrived: ArrivedLabels,
) -> tuple[np.ndarray, np.ndarray]:
    """The predicted class codes (-1 for none), and the probability that each row gave to its true class."""
    if costs is not None and len(classes) > len(costs):
        raise DataError(
            f"the class {classes.labels[len(costs)]!r} occurred, and cost_matrix has no row for it. List all classes "
            "in classes=[...], and give a cost for each of them."
        )
    blank = np.flatnonzero(proba.max(axis=0) == 0)  # rows that came before anything was learned
    if len(blank) and classes.n_declared:
        proba[: classes.n_declared, blank] = 1.0 / classes.n_declared
    own = proba[labels, np.arange(len(labels))]
    gain = proba if costs is None else -(costs.T @ proba)
    near = gain >= gain.max(axis=0) - TIE * (1.0 if costs is None else max(1.0, float(np.abs(costs).max())))
    predicted = np.zeros(len(labels), dtype=np.int64)
    for c, these in enumerate(near):
        predicted[these] = c
    ties = np.flatnonzero(near.sum(axis=0) > 1)
    if len(ties):
        order = classes.sorted()
        counts = np.where(near[:, ties], arrived.counts(start + ties, len(near)), -1.0)
        predicted[ties] = order[counts[order].argmax(axis=0)]
    if len(blank) and not classes.n_declared:
        predicted[blank], own[blank] = -1, 0.5
    return predicted, own
