"""Prequential evaluation: every row of a stream is first answered, then learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tanager.encoding.labels import sort_key
from tanager.errors import DataError, OptionError, TanagerError
from tanager.evaluate.curves import Prequential, rows_learned
from tanager.evaluate.late import Arrived, Late, Step
from tanager.evaluate.learners import Learner, Rows, learner_of
from tanager.evaluate.measures import SMALLEST
from tanager.evaluate.running import Report, Running, Scored
from tanager.evaluate.sources import Flow, Labels, Wanted, open_stream
from tanager.scoring.decision import TIE, check_costs

Progress = Callable[[int, float | None], object]

BLOCK = 16384  # rows that are handed to the models at once
REPORTS = 200  # about as many, unless it is said how many
_GROWING = np.array([m * 10**e for e in range(15) for m in (1, 2)])  # rows between two reports


def prequential(
    models: Any,
    stream: Any,
    y: Any = None,
    *,
    target: str | None = None,
    n_rows: int | None = None,
    every: int | None = None,
    fade: float = 0.999,
    window: int = 1000,
    delay: int = 0,
    batch: int = 1,
    times: Any = None,
    classes: Iterable[Any] | None = None,
    cost_matrix: Any = None,
    drop: Iterable[str] = (),
    progress: Progress | None = None,
) -> Prequential:
    """How well models answer the rows of a stream, each before they learn it.

    All models see the rows in one pass, and no more than a block of rows is held at any time. The answers are those of
    ``predict_proba_one`` and ``learn_one`` in turn, whatever the blocks; classifiers of tanager run compiled.

    Parameters
    ----------
    models : classifier, list of them, or dict of name to classifier
        Of tanager; of river, or anything with ``learn_one`` and ``predict_proba_one``; of scikit-learn where it has
        ``partial_fit`` (with ``batch``). They learn in place: a fitted one goes on learning, and afterwards each has
        learned the whole stream.
    stream, y
        A table and its labels; a frame, with ``target``; the path of a file of any size (or what ``open_table`` makes
        of it), with ``target``; an iterable of dicts, with ``target``, or of pairs of a dict and its class; or a
        generator of ``tanager.generate``, with ``n_rows``. Rows without a label are answered, but not scored.
    target : str
        The column with the classes.
    n_rows : int, default=None
        Stop after so many rows.
    every : int, default=None
        Report the measures after each so many rows. None is about 200 times, evenly over the stream.
    fade : float, default=0.999
        Factor per row by which old rows fade in the ``fading`` measures.
    window : int, default=1000
        Rows of the ``window`` measures.
    delay : int, default=0
        Labels that come late: a row is learned when so many further rows have been answered.
    batch : int, default=1
        Answer so many rows before they are learned, together: quicker by far, and coarser.
    times : str or array, default=None
        When each row happened, for models that forget by time: a column, which is then not learned, or an array.
    classes : labels, default=None
        All classes, where the stream does not tell them beforehand, as files and dicts do not.
    cost_matrix : array of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``, in the sorted order of the classes: answers are then those of least expected
        cost, and the cost is measured.
    drop : names of columns
        Not to be learned, for frames, files and dicts.
    progress : callable, default=None
        Called with the rows so far and the fraction of the stream (None when unknown).

    Notes
    -----
    The most probable class is the answer; ties go to the class of which more labels have come so far. Before anything
    was learned the answer is even over the classes that are known beforehand; where none are, it is wrong, with a
    probability of 1/2. A class that a model does not know yet has a probability of 0, which counts as 1e-15.

    Examples
    --------
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.evaluate import prequential
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]] * 25
    >>> y = ["play", "play", "stay", "stay"] * 25
    >>> result = prequential([NaiveBayes(), AODE()], X, y, every=50)
    >>> result.rows.tolist()
    [50, 100]
    >>> result.curve("AODE").tolist()
    [0.96, 0.98]
    """
    named = _named(models)
    _check(n_rows=n_rows, every=every, window=window, batch=batch)
    if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or delay < 0:
        raise OptionError(f"delay={delay!r}: give the number of rows after which a label comes, 0 or more.")
    if not 0 < fade <= 1:
        raise OptionError(f"fade={fade!r} must be above 0 and at most 1.")
    flow = open_stream(stream, Wanted(y, target, n_rows, times, list(drop)), named.values())
    known = flow.classes if classes is None else classes
    seen = _Classes(known)
    costs = {name: _costs(name, model, cost_matrix, seen) for name, model in named.items()}
    racers = [
        _Racer(name, learner_of(name, model, None if known is None else seen.labels, batch), costs[name], fade, window)
        for name, model in named.items()
    ]
    began = {name: rows_learned(model) for name, model in named.items()}
    reports = _run(racers, flow, seen, Late(delay, batch), Arrived(delay, batch), every, progress)
    return Prequential(
        named,
        np.array(reports),
        {racer.name: racer.history for racer in racers},
        classes=seen.labels,
        seconds={racer.name: racer.seconds for racer in racers},
        began=began,
        drifts=flow.drifts,
        dropped=flow.dropped,
        fade=fade,
        window=window,
        costs=any(matrix is not None for matrix in costs.values()),
    )


def _run(
    racers: Sequence[_Racer],
    flow: Flow,
    seen: _Classes,
    late: Late,
    arrived: Arrived,
    every: int | None,
    progress: Progress | None,
) -> list[int]:
    """Lead all models through the stream, and say after which rows they were measured."""
    reports = _Reports(every, flow.n_rows)
    start = 0
    for X, y, times in flow.blocks(max(1, BLOCK // late.batch) * late.batch):
        rows = Rows(X, y.plain, times, flow.names)
        labels = seen.codes(y)
        arrived.add(labels)
        steps = list(late.steps(rows))
        stop = start + len(rows)
        points = reports.between(start, stop)
        for racer in racers:
            racer.run(steps, labels, start, points, seen, arrived)
        reports.add(points, [racer.history for racer in racers])
        start = stop
        if progress is not None:
            progress(start, flow.done())
    if start == 0:
        raise DataError("the stream has no rows. At least one row is needed.")
    ended = start in reports.rows
    for racer in racers:
        racer.end(list(late.rest()), start, last=ended)
    return reports.rows if ended else [*reports.rows, start]


class _Reports:
    """After which rows the measures are taken.

    Where neither ``every`` nor the length of the stream is known, after each row at first, and more and more rarely:
    each distance is a multiple of the one before, so that early reports can be thinned out.
    """

    def __init__(self, every: int | None, n_rows: int | None) -> None:
        self.every = every if every is not None or n_rows is None else _round_step(n_rows)
        self.rows: list[int] = []

    def between(self, start: int, stop: int) -> list[int]:
        """Those after row number ``start``, up to ``stop``."""
        rows = np.arange(start + 1, stop + 1)
        return list(rows[rows % self._step(rows) == 0].tolist())

    def add(self, points: Sequence[int], histories: Sequence[list[Any]]) -> None:
        """Note that these were taken, and let go of what has become too fine, here and in the histories."""
        self.rows += points
        if self.every is not None or not points:
            return
        keep = [at for at, row in enumerate(self.rows) if row % self._step(points[-1]) == 0]
        if len(keep) < len(self.rows):
            for kept in (self.rows, *histories):
                kept[:] = [kept[at] for at in keep]

    def _step(self, row: Any) -> Any:
        if self.every is not None:
            return self.every
        return _GROWING[np.searchsorted(_GROWING * 1.5 * REPORTS, row)]


def _round_step(n_rows: int) -> int:
    """1, 2 or 5 times a power of ten, so that there are about 200 reports."""
    step = 1
    while n_rows / step > 1.5 * REPORTS:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


class _Classes:
    """Class codes in the order in which the classes were declared or have come."""

    def __init__(self, known: Iterable[Any] | None) -> None:
        self.labels = [] if known is None else sorted(known, key=sort_key)
        self.n_declared = len(self.labels)
        self._places = {label: c for c, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def place(self, label: Any) -> int:
        """The code of a class, which may be new."""
        if label not in self._places:
            self._places[label] = len(self.labels)
            self.labels.append(label)
        return self._places[label]

    def sorted(self) -> np.ndarray:
        """The codes in the order of their labels."""
        return np.array(sorted(range(len(self.labels)), key=lambda c: sort_key(self.labels[c])), dtype=np.int64)

    def codes(self, y: Labels) -> np.ndarray:
        """The codes of the labels of some rows, -1 where missing."""
        labels = y.classes.tolist()
        there = np.flatnonzero(np.bincount(y.codes[~y.missing], minlength=len(labels))).tolist()
        new = [c for c in there if labels[c] not in self._places]
        for c in sorted(new, key=lambda c: int(np.argmax(y.codes == c))):  # as they come, whatever the blocks
            self.place(labels[c])
        table = np.full(1 + np.iinfo(y.codes.dtype).max, -1)
        table[there] = [self._places[labels[c]] for c in there]
        return table[y.codes]


class _Racer:
    """One model on its way along the stream, with its measures so far."""

    def __init__(self, name: str, learner: Learner, costs: np.ndarray | None, fade: float, window: int) -> None:
        self.name, self.learner, self.costs = name, learner, costs
        self.running = Running(fade, window)
        self.history: list[Report] = []
        self.seconds = 0.0

    def run(
        self,
        steps: Sequence[Step],
        labels: np.ndarray,
        start: int,
        points: Sequence[int],
        seen: _Classes,
        arrived: Arrived,
    ) -> None:
        """Answer and learn a block of rows, and measure at these points of the stream."""
        parts = [self._step(step, start) for step in steps]
        proba = _placed(parts, seen)
        answers, own = _decide(proba, labels, self.costs, start, seen, arrived)
        scored = np.flatnonzero(labels >= 0)
        labels, answers = labels[scored], answers[scored]
        cost = np.zeros(len(scored)) if self.costs is None else self.costs[labels, answers]
        rows = Scored(labels, answers, -np.log(np.maximum(own[scored], SMALLEST)), cost)
        done = 0
        for at in np.searchsorted(scored, np.array(points) - start).tolist():
            self.running.add(rows.part(done, at))
            self.history.append(self.running.report())
            done = at
        self.running.add(rows.part(done, len(rows)))

    def _step(self, step: Step, start: int) -> tuple[list[Any], np.ndarray]:
        """Do one step; the classes that the model knows, and the answers."""
        begin = time.perf_counter()
        try:
            if step.in_turn and step.asked is not None and step.learned is not None:
                proba = self.learner.answer_and_learn(step.asked, step.learned)
                return self.learner.classes(), proba
            proba = np.zeros((0, 0)) if step.asked is None else self.learner.answer(step.asked)
            classes = self.learner.classes() if step.asked is not None else []
            if step.learned is not None:
                self.learner.learn(step.learned)
            return classes, proba
        except TanagerError as error:
            raise type(error)(f"{self.name}, in the {BLOCK:,} rows from row {start:,} on: {error}") from None
        finally:
            self.seconds += time.perf_counter() - begin

    def end(self, steps: Sequence[Step], start: int, *, last: bool) -> None:
        """Learn what is left, and measure once more where the last row was no point of measure."""
        for step in steps:
            self._step(step, start)
        if not last:
            self.history.append(self.running.report())


def _placed(parts: Sequence[tuple[list[Any], np.ndarray]], seen: _Classes) -> np.ndarray:
    """Answers of a block side by side: one row per class, in the order of all classes, one column per answer."""
    places = [[seen.place(label) for label in classes] for classes, _ in parts]
    out = np.zeros((max(1, len(seen)), sum(len(proba) for _, proba in parts)))
    done = 0
    for own, (_, proba) in zip(places, parts, strict=True):
        out[own, done : done + len(proba)] = proba.T
        done += len(proba)
    return out


def _decide(
    proba: np.ndarray, labels: np.ndarray, costs: np.ndarray | None, start: int, seen: _Classes, arrived: Arrived
) -> tuple[np.ndarray, np.ndarray]:
    """The answers as class codes (-1 for none), and the probability that each gave to the true class."""
    if costs is not None and len(seen) > len(costs):
        raise DataError(f"the class {seen.labels[len(costs)]!r} has come, of which the costs say nothing.")
    blank = np.flatnonzero(proba.max(axis=0) == 0)
    if len(blank) and seen.n_declared:
        proba[: seen.n_declared, blank] = 1.0 / seen.n_declared
    own = proba[labels, np.arange(len(labels))]
    gain = proba if costs is None else -(costs.T @ proba)
    near = gain >= gain.max(axis=0) - TIE * (1.0 if costs is None else max(1.0, float(np.abs(costs).max())))
    answers = np.zeros(len(labels), dtype=np.int64)
    for c, these in enumerate(near):
        answers[these] = c
    ties = np.flatnonzero(near.sum(axis=0) > 1)
    if len(ties):
        order = seen.sorted()
        counts = np.where(near[:, ties], arrived.counts(start + ties, len(near)), -1.0)
        answers[ties] = order[counts[order].argmax(axis=0)]
    if len(blank) and not seen.n_declared:
        answers[blank], own[blank] = -1, 0.5
    return answers, own


def _costs(name: str, model: Any, cost_matrix: Any, seen: _Classes) -> np.ndarray | None:
    """The costs that decide: those asked for, else the model's own."""
    given = getattr(model, "cost_matrix", None) if cost_matrix is None else cost_matrix
    if given is None:
        return None
    if not seen.n_declared:
        raise OptionError(
            f"{name} answers by costs, whose order is that of the classes, and this stream does not tell all classes "
            "beforehand. Give them as classes=[...]."
        )
    return check_costs(given, np.array(seen.labels))


def _named(models: Any) -> dict[str, Any]:
    """Models with names: given ones, or those of their classes."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        named = {}
        for model in models if isinstance(models, list | tuple) else [models]:
            name, n = type(model).__name__, 1
            while name in named:
                n += 1
                name = f"{type(model).__name__} {n}"
            named[name] = model
    if not named:
        raise OptionError("there is no model. Give one, a list, or a dict of names and models.")
    if len({id(model) for model in named.values()}) < len(named):
        raise OptionError("the same model is given twice, and would learn every row twice. Make a second one.")
    return named


def _check(**options: Any) -> None:
    """Numbers of rows: whole and at least 1, or None where that has a meaning."""
    for name, value in options.items():
        if value is None and name in ("n_rows", "every"):
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise OptionError(f"{name}={value!r}: give a whole number of rows of at least 1.")
