"""Prequential evaluation: every row of a stream is first predicted, then learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError
from tanager.evaluate.adapters import StreamRows, adapter_for
from tanager.evaluate.label_delay import ArrivedLabels, DelayedLabels
from tanager.evaluate.model_run import BLOCK, ClassIndex, ModelRun
from tanager.evaluate.prequential_results import PrequentialResults, rows_learned
from tanager.evaluate.report_schedule import ReportSchedule
from tanager.evaluate.stream_sources import StreamOptions, StreamReader, open_stream
from tanager.scoring.decision import check_costs

Progress = Callable[[int, float | None], object]


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
    stream, y
        A table and its labels; a frame, with ``target``; the path of a file of any size (or what ``open_table`` makes
        of it), with ``target``; an iterable of dicts, with ``target``, or of pairs of a dict and its class; or a
        generator of ``tanager.generate``, with ``n_rows``. Rows without a label are predicted, but not scored.
    target : str
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
    drop : names of columns
        Columns that are not learned, for frames, files and dicts.
    progress : callable, default=None
        Called with the rows so far and the fraction of the stream (None when unknown).

    Notes
    -----
    The most probable class is predicted; ties go to the class with more labels so far. Before anything was learned the
    prediction is uniform over the classes that are known in advance; if none are, it counts as wrong, with a
    probability of 1/2 for the true class. A class that a model does not know yet has a probability of 0, which counts
    as 1e-15.

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
    n_before = {name: rows_learned(model) for name, model in named.items()}
    reports = _run(runs, reader, index, DelayedLabels(delay, batch), ArrivedLabels(delay, batch), every, progress)
    return PrequentialResults(
        named,
        np.array(reports),
        {run.name: run.history for run in runs},
        classes=index.labels,
        seconds={run.name: run.seconds for run in runs},
        n_before=n_before,
        drifts=reader.drifts,
        dropped=reader.dropped,
        fade=fade,
        window=window,
        costs=any(matrix is not None for matrix in costs.values()),
    )


def _run(
    runs: Sequence[ModelRun],
    reader: StreamReader,
    classes: ClassIndex,
    delayed: DelayedLabels,
    arrived: ArrivedLabels,
    every: int | None,
    progress: Progress | None,
) -> list[int]:
    """Run all models along the stream; returns the rows after which the measures were reported."""
    schedule = ReportSchedule(every, reader.n_rows)
    start = 0
    for X, y, times in reader.blocks(max(1, BLOCK // delayed.batch) * delayed.batch):
        rows = StreamRows(X, y.plain, times, reader.names)
        labels = classes.codes(y)
        arrived.add(labels)
        steps = list(delayed.steps(rows))
        stop = start + len(rows)
        points = schedule.between(start, stop)
        for run in runs:
            run.run(steps, labels, start, points, classes, arrived)
        schedule.add(points, [run.history for run in runs])
        start = stop
        if progress is not None:
            progress(start, reader.done())
    if start == 0:
        raise DataError("the stream has no rows. At least one row is needed.")
    reported = start in schedule.rows
    for run in runs:
        run.end(list(delayed.rest()), start, reported=reported)
    return schedule.rows if reported else [*schedule.rows, start]


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
