"""Prequential evaluation: every row of a stream is first predicted, then learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tanager.errors import DataError, DataWarning, Interrupted, OptionError, warn_user
from tanager.evaluate.adapters import StreamRows, adapter_for
from tanager.evaluate.baselines import BASELINES, BaselineRun
from tanager.evaluate.label_delay import ArrivedLabels, DelayedLabels, PrequentialStep
from tanager.evaluate.model_run import BLOCK, ClassIndex, ModelRun
from tanager.evaluate.prequential_results import PrequentialResults, rows_learned
from tanager.evaluate.report_schedule import ReportSchedule
from tanager.evaluate.stream_measures import Report
from tanager.evaluate.stream_sources import StreamOptions, StreamReader, open_stream
from tanager.progress import reported_rows
from tanager.scoring.decision import check_costs

Progress = Callable[[int, float | None], None]


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
    progress: Progress | bool | None = None,
) -> PrequentialResults:
    """How well models predict the rows of a stream, each row before it is learned (test-then-train).

    All models see the rows in one pass, and only one block of rows is held in memory at a time. The predictions are
    those of ``predict_proba_one`` and ``learn_one`` called in turn; classifiers of tanager run compiled.

    Parameters
    ----------
    models : classifier, list of them, or dict of name to classifier
        Of tanager; of river, or anything with ``learn_one`` and ``predict_proba_one``; of scikit-learn if it has
        ``partial_fit`` (with ``batch``). Models learn in place: a fitted one continues to learn, and afterwards each
        has learned the whole stream.
    stream, y : table and labels; or a frame, path, iterable or Stream alone
        A table and its labels; a frame, with ``target``; the path of a file of any size (or what ``open_table`` makes
        of it), with ``target``; an iterable of dicts, with ``target``, or of pairs of a dict and its class; or a
        generator of ``tanager.generate``, with ``n_rows``. Rows without a label are predicted, but not scored.
    target : str or None, default=None
        The column with the classes.
    n_rows : int, default=None
        Stop after this many rows.
    every : int, default=None
        Report the measures every so many rows. None: about 200 times, evenly over the stream.
    fade : float, default=0.999
        Factor per row by which the weight of old rows decreases in the ``fading`` measures.
    window : int, default=1000
        Rows of the ``window`` measures.
    delay : int, default=0
        Labels arrive late: a row is learned after this many further rows have been predicted.
    batch : int, default=1
        Predict this many rows before they are learned together: much faster, and coarser.
    times : str or array, default=None
        The time of each row, for models that forget by time: an array, or the name of a column, which is then not
        learned.
    classes : labels, default=None
        All classes, for streams that do not list them in advance: files and dicts.
    cost_matrix : array of shape (n_classes, n_classes), default=None
        ``cost_matrix[true, predicted]``, in the sorted order of the classes: the class of least expected cost is then
        predicted, and the cost is measured.
    drop : iterable of str, default=()
        Columns that are not learned, for frames, files and dicts.
    progress : bool or callable, default=None
        True shows rows, rows per second and the time left: a bar in a terminal, a line in a notebook, and a line every
        ten seconds elsewhere. A callable gets the rows so far and the fraction of the stream (None when unknown).

    Returns
    -------
    PrequentialResults
        The measures at each report, and the models.

    Raises
    ------
    Interrupted
        After Ctrl-C. It is a ``KeyboardInterrupt`` whose ``results`` end with the last report before it.

    Notes
    -----
    The most probable class is predicted; ties go to the class with more labels so far. Before anything was learned the
    prediction is uniform over the classes that are known in advance; if none are, it counts as wrong, with a
    probability of 1/2 for the true class. A class that a model does not know yet has a probability of 0, which counts
    as 1e-15.

    Beside the models stand two that look at labels alone, as far as these have arrived: one answers with the last
    label ("no change"), one with the most frequent ("majority"). Kappa-temporal is what a model adds to the former:
    its accuracy, where that of "no change" is 0 and 1 is 1.

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
    run = _begin(
        models,
        stream,
        y,
        target=target,
        n_rows=n_rows,
        every=every,
        fade=fade,
        window=window,
        delay=delay,
        batch=batch,
        times=times,
        classes=classes,
        cost_matrix=cost_matrix,
        drop=drop,
    )
    try:
        with reported_rows(progress, "evaluating") as report:
            for _ in run.blocks(BLOCK, report):
                pass
    except KeyboardInterrupt:
        if not run.schedule.rows:
            raise
        run.cut()
        raise Interrupted(run.results()) from None
    return run.results()


def prequential_steps(
    models: Any, stream: Any, y: Any = None, *, rows: int = BLOCK, **options: Any
) -> Iterator[PrequentialResults]:
    """The same as ``prequential``, with the results so far after every ``rows`` rows, to look at while it runs.

    Between two steps nothing runs: stop, wait, or look at the models, which are in ``results.models``. The results of a
    step end with the last report; the last step has those of ``prequential``. Options are those of ``prequential``, but
    for ``progress``.

    Parameters
    ----------
    models : classifier, list of them, or dict of name to classifier
        As in ``prequential``.
    stream : table, path, iterable or Stream
        As in ``prequential``.
    y : labels or None, default=None
        The classes, where the stream does not have them.
    rows : int, default=16,384
        Rows of a step.
    **options : any
        As in ``prequential``.

    Returns
    -------
    iterator of PrequentialResults
        One for each step, but for those before the first report.

    Examples
    --------
    >>> from tanager import NaiveBayes
    >>> from tanager.evaluate import prequential_steps
    >>> X, y = [["sun"], ["rain"]] * 50, ["play", "stay"] * 50
    >>> for result in prequential_steps(NaiveBayes(), X, y, rows=40, every=20):
    ...     print(result.rows.tolist(), result.curve()[-1].round(3))
    [20, 40] 0.975
    [20, 40, 60, 80] 0.988
    [20, 40, 60, 80, 100] 0.99
    """
    _check(rows=rows)
    run = _begin(models, stream, y, **options)
    return _looked_at(run, rows)


def _looked_at(run: _Run, rows: int) -> Iterator[PrequentialResults]:
    """The results after every so many rows; a step that ends before the first report has none yet."""
    last = -1
    for _ in run.blocks(rows):
        if run.schedule.rows:
            last = run.schedule.rows[-1]
            yield run.results()
    if run.schedule.rows[-1] != last:
        yield run.results()


def _begin(
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
) -> _Run:
    """Check all options, and get ready to run."""
    named = _named(models)
    _check(n_rows=n_rows, every=every, window=window, batch=batch)
    if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or delay < 0:
        raise OptionError(f"delay={delay!r}: give the number of rows after which a label arrives, 0 or more.")
    if not 0 < fade <= 1:
        raise OptionError(f"fade={fade!r} must be above 0 and at most 1.")
    reader = open_stream(stream, StreamOptions(y, target, n_rows, times, list(drop)), named.values())
    known = reader.classes if classes is None else classes
    index = ClassIndex(known)
    costs = {name: _costs(name, model, cost_matrix, index) for name, model in named.items()}
    declared = None if known is None else index.labels
    runs = [
        ModelRun(name, adapter_for(name, model, declared, batch), costs[name], fade, window)
        for name, model in named.items()
    ]
    _warn_of_delay(named, delay)
    shared = None if cost_matrix is None else check_costs(cost_matrix, np.array(index.labels))
    baselines = [BaselineRun(name, shared, fade, window) for name in BASELINES]
    return _Run(named, runs, baselines, reader, index, DelayedLabels(delay, batch), ArrivedLabels(delay, batch), every)


class _Run:
    """Several models on their way along a stream."""

    def __init__(
        self,
        models: Mapping[str, Any],
        runs: Sequence[ModelRun],
        baselines: Sequence[BaselineRun],
        reader: StreamReader,
        classes: ClassIndex,
        delayed: DelayedLabels,
        arrived: ArrivedLabels,
        every: int | None,
    ) -> None:
        self.models, self.runs, self.reader, self.classes = models, runs, reader, classes
        self.baselines = baselines
        self.delayed, self.arrived = delayed, arrived
        self.schedule = ReportSchedule(every, reader.n_rows)
        self.n_before = {name: rows_learned(model) for name, model in models.items()}

    def blocks(self, size: int, progress: Progress | None = None) -> Iterator[int]:
        """Run all models along the stream, with a rest after every so many rows; gives the rows so far.

        ``progress`` is told of the rows that all models have done, also between two rests.
        """
        batch, start, done_before = self.delayed.batch, 0, 0.0
        for X, y, times in self.reader.blocks(max(1, size // batch) * batch):
            rows = StreamRows(X, y.plain, times, self.reader.names, start)
            labels = self.classes.codes(y)
            self.arrived.add(labels)
            done_after, through = self._fraction(start + len(rows)), 0
            try:
                for through in self._in_turns(list(self.delayed.steps(rows))):
                    if progress is not None:
                        part = through / len(rows)
                        fraction = None if done_after is None else done_before + (done_after - done_before) * part
                        progress(start + through, fraction)
            except KeyboardInterrupt:
                self._score(labels[:through], start)
                raise
            self._score(labels, start)
            start, done_before = start + len(rows), done_after or 0.0
            yield start
        if start == 0:
            raise DataError("the stream has no rows. At least one row is needed.")
        self._end(start)

    def _in_turns(self, steps: Sequence[PrequentialStep]) -> Iterator[int]:
        """Let the model that is furthest behind do a part of its rows, again and again; gives the rows done by all.

        So what is told of progress moves with the slowest of them, which takes most of the time.
        """
        turns = [run.run(steps) for run in self.runs]
        n_rows = sum(step.n_rows for step in steps)
        done = [0] * len(turns)
        while min(done) < n_rows:
            behind = done.index(min(done))
            before, done[behind] = min(done), next(turns[behind])
            if min(done) > before:
                yield min(done)

    def _fraction(self, n_rows: int) -> float | None:
        """How much of the stream these rows are, the last of which has just been read; None where nobody knows."""
        done = self.reader.done()
        return done if done is not None or self.reader.n_rows is None else n_rows / self.reader.n_rows

    def _score(self, labels: np.ndarray, start: int) -> None:
        """Measure the answers to the rows with these labels."""
        points = self.schedule.between(start, start + len(labels))
        for run in self.runs:
            run.score(labels, start, points, self.classes, self.arrived)
        for baseline in self.baselines:
            baseline.score(labels, start, points, self.classes, self.arrived)
        self.schedule.add(points, self._histories())

    def _histories(self) -> list[list[Report]]:
        return [run.history for run in self.runs] + [baseline.history for baseline in self.baselines]

    def _end(self, start: int) -> None:
        """Learn rows whose labels are late, and report once more unless the last row was reported already."""
        reported = start in self.schedule.rows
        for run in self.runs:
            run.end(list(self.delayed.rest()), reported=reported)
        for baseline in self.baselines:
            baseline.end(reported=reported)
        if not reported:
            self.schedule.rows.append(start)

    def cut(self) -> None:
        """After an interrupt: forget reports that not all models have made."""
        for history in self._histories():
            del history[len(self.schedule.rows) :]

    def results(self) -> PrequentialResults:
        """The measures so far."""
        return PrequentialResults(
            self.models,
            np.array(self.schedule.rows),
            {run.name: run.history for run in self.runs},
            baselines={run.name: run.history for run in self.baselines},
            classes=self.classes.labels,
            seconds={run.name: run.seconds for run in self.runs},
            n_before=self.n_before,
            drifts=self.reader.drifts,
            dropped=self.reader.dropped,
            fade=self.runs[0].measures.fade,
            window=self.runs[0].measures.window,
            costs=any(run.costs is not None for run in self.runs),
        )


def _costs(name: str, model: Any, cost_matrix: Any, classes: ClassIndex) -> np.ndarray | None:
    """The costs that are given, else those of the model itself."""
    given = getattr(model, "cost_matrix", None) if cost_matrix is None else cost_matrix
    if given is None:
        return None
    if not classes.n_declared:
        raise OptionError(
            f"{name} has a cost matrix, whose rows are in the order of all classes, and this stream does not list its "
            "classes in advance. Give them as classes=[...]."
        )
    return check_costs(given, np.array(classes.labels))


def _warn_of_delay(models: Mapping[str, Any], delay: int) -> None:
    """Models that have last labels as columns should learn rows with those that they were answered with."""
    for name, model in models.items():
        if getattr(model, "lag", 0) and getattr(model, "delay", delay) != delay:
            kind = type(model).__name__
            warn_user(
                f"{name} learns rows as if labels came {model.delay} rows late, and here they come {delay} rows late. "
                f"Give {kind}(lag={model.lag}, delay={delay}).",
                DataWarning,
            )


def _named(models: Any) -> dict[str, Any]:
    """Models by name: the given names, or those of their types."""
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
        raise OptionError("no model is given. Give a model, a list of models, or a dict of names and models.")
    if len({id(model) for model in named.values()}) < len(named):
        raise OptionError("the same model is given twice, and would learn every row twice. Give two instances.")
    return named


def _check(**options: Any) -> None:
    """Numbers of rows must be whole and at least 1, or None for those that are optional."""
    for name, value in options.items():
        if value is None and name in ("n_rows", "every"):
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise OptionError(f"{name}={value!r}: give a whole number of rows of at least 1.")
