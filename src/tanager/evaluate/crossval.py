"""Cross-validation: every classifier predicts rows that it was not trained on.

All of tanager's classifiers that encode the columns alike share one count of the training rows. Kinds, values and cut
points are learned inside the fold, from its training rows alone; where nothing has to be learned about columns, a fold
is left out by subtracting its counts. Classifiers of scikit-learn are fitted as they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.counts.block import Block
from tanager.encoding.typing import Estimator, LabelsLike, TableLike
from tanager.errors import Interrupted, OptionError
from tanager.estimator import clone
from tanager.evaluate.checkpoint import Checkpoint
from tanager.evaluate.fold_runner import Record, SharedCountsGroup, fold_record
from tanager.evaluate.plan import EvaluationPlan, Folds, Holdout, make_folds, make_plan, order_of
from tanager.evaluate.results import Results
from tanager.evaluate.run import Progress, run
from tanager.evaluate.time_limit import TimeLimit
from tanager.learning.counts_classifier import CountsClassifier
from tanager.progress import reported_parts

SoFar = Callable[[Results], object]

_WAY_OUT = 'Compare with folds that follow the rows (fold_order="forward"; --folds forward).'


def cross_validate(
    models: Mapping[str, Estimator],
    X: TableLike,
    y: LabelsLike,
    *,
    folds: int = 10,
    fold_order: str = "random",
    repeats: int = 1,
    seed: int = 1,
    costs: ArrayLike | None = None,
    name: str = "data",
    n_jobs: int = -1,
    progress: Progress | bool | None = None,
    resume: str | Path | None = None,
    timing: bool = True,
    time_limit: float | TimeLimit | None = None,
    so_far: SoFar | None = None,
) -> Results:
    """Accuracy, log loss and all other measures of classifiers on rows that they were not trained on.

    Parameters
    ----------
    models : dict of name to classifier
        Of tanager or of scikit-learn; they are cloned, never changed.
    X, y : table and labels
        Any table that a classifier takes. Rows without a label are left out.
    folds : int, default=10
        How many folds the rows are dealt out to; random ones are stratified.
    fold_order : {"random", "blocked", "forward"}, default="random"
        Random folds flatter where neighbouring rows are alike, as in the order of time; a note in the results says so.
        ``"blocked"`` keeps neighbours in one fold. ``"forward"`` learns from rows before the fold alone: the rows are
        cut into ``folds`` + 1 blocks, and the first is not answered.
    repeats : int, default=1
        How often the rows are dealt out anew.
    seed : int, default=1
        Repetition r is shuffled with seed + r.
    costs : array of shape (n_classes, n_classes), default=None
        ``costs[true, predicted]``: the class of least expected cost is then predicted, and the cost is measured too.
    name : str, default="data"
        The name of the data set in the results.
    n_jobs : int, default=-1
        Processes that share the folds; -1 uses all cores. Short runs stay in this process.
    progress : bool or callable, default=None
        True shows the folds that are done and a forecast of the time left: a bar in a terminal, a line in a notebook,
        and a line every ten seconds elsewhere. A callable gets the number of finished folds, the number of all folds,
        and what is being done.
    resume : path, default=None
        A file that finished folds are appended to. Folds that it already holds, of the same data, classifier and
        options, are not run again.
    timing : bool, default=True
        Measure how long each classifier takes to fit all rows and to predict them, one classifier after the other.
    time_limit : float or TimeLimit, default=None
        Seconds. Cheap classifiers are then run first, and those that would not be done in time are left out, with a
        note in the results. Times of slow classifiers are taken from the folds. For ``progress`` a fold counts once for
        each group of classifiers that are run together.
    so_far : callable, default=None
        Called with the ``Results`` of the classifiers whose folds are all done, whenever there are more of them. What
        it raises, or ``progress``, ends the evaluation.

    Returns
    -------
    Results
        One record per classifier, repetition and fold.

    Raises
    ------
    Interrupted
        After Ctrl-C. It is a ``KeyboardInterrupt`` whose ``results`` are those of the classifiers that were done, or of
        the folds that all of them had done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.evaluate import cross_validate
    >>> X, y = load_iris(return_X_y=True)
    >>> results = cross_validate({"nb": NaiveBayes(), "aode": AODE()}, X, y, timing=False)
    >>> print(results.summary(["accuracy"]))
    dataset  classifier  folds  accuracy      sd
    data     nb             10    0.9200  0.0878
    data     aode           10    0.9133  0.0834
    """
    return cross_validate_all(
        models,
        {name: (X, y)},
        folds=folds,
        fold_order=fold_order,
        repeats=repeats,
        seed=seed,
        costs=costs,
        n_jobs=n_jobs,
        progress=progress,
        resume=resume,
        timing=timing,
        time_limit=time_limit,
        so_far=so_far,
    )


def cross_validate_all(
    models: Mapping[str, Estimator] | Callable[[Any], Mapping[str, Estimator]],
    datasets: Mapping[str, Any],
    *,
    folds: int = 10,
    fold_order: str = "random",
    repeats: int = 1,
    seed: int = 1,
    costs: ArrayLike | None = None,
    n_jobs: int = -1,
    progress: Progress | bool | None = None,
    resume: str | Path | None = None,
    timing: bool = True,
    time_limit: float | TimeLimit | None = None,
    so_far: SoFar | None = None,
) -> Results:
    """``cross_validate`` over several data sets.

    Parameters
    ----------
    models : dict of name to classifier, or callable
        A function makes the classifiers for one data set, for instance ``lambda data: {"aode": AODE(**data.options)}``.
    datasets : dict of name to (X, y) or Dataset
        Tables with their labels, or data sets of ``tanager.datasets``.
    folds : int, default=10
        How many folds there are; this and all other options are as in ``cross_validate``.
    fold_order : {"random", "blocked", "forward"}, default="random"
        How rows are dealt out to folds.
    repeats : int, default=1
        How often the rows are dealt out anew.
    seed : int, default=1
        Repetition r is shuffled with seed + r.
    costs : array of shape (n_classes, n_classes), default=None
        ``costs[true, predicted]``, of all data sets alike.
    n_jobs : int, default=-1
        Processes that share the folds; -1 uses all cores.
    progress : bool or callable, default=None
        True shows the folds of all data sets that are done.
    resume : path, default=None
        A file that finished folds are appended to, and that they are taken from.
    timing : bool, default=True
        Measure how long each classifier takes.
    time_limit : float or TimeLimit, default=None
        Seconds for all data sets together. A classifier is left out on all of them or on none.
    so_far : callable, default=None
        Called with the ``Results`` so far, as in ``cross_validate``.

    Returns
    -------
    Results
        One record per data set, classifier, repetition and fold.

    Examples
    --------
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.datasets import load
    >>> from tanager.evaluate import cross_validate_all
    >>> sets = {name: load(name) for name in ("iris", "wine")}
    >>> models = {"nb": NaiveBayes(), "aode": AODE()}
    >>> results = cross_validate_all(models, sets, folds=3, timing=False, n_jobs=1)
    >>> print(results.by_dataset("log_loss"))
    dataset      nb    aode
    iris     0.1742  0.1438
    wine     0.0591  0.0594
    """
    _check_repeats(repeats)
    if not isinstance(datasets, Mapping) or not datasets:
        raise OptionError("datasets must be a dict of names and pairs (X, y), with at least one of them.")
    splits = make_folds(folds, fold_order, seed, repeats)
    plans = [make_plan(name, models, data, splits, repeats * folds, costs) for name, data in datasets.items()]
    return _results(plans, n_jobs, progress, resume, timing, time_limit, so_far)


def holdout(
    models: Mapping[str, Estimator],
    X: TableLike,
    y: LabelsLike,
    *,
    share: float = 0.3,
    repeats: int = 1,
    seed: int = 1,
    costs: ArrayLike | None = None,
    name: str = "data",
    n_jobs: int = -1,
    progress: Progress | bool | None = None,
    timing: bool = True,
) -> Results:
    """Train on one part of the rows and test on the other.

    One learning run for each classifier, where ``cross_validate`` takes ten: for tables so large that a single test
    part says enough, or for classifiers that are slow.

    Parameters
    ----------
    models : dict of name to classifier
        Of tanager or of scikit-learn; they are cloned, never changed.
    X, y : table and labels
        Any table that a classifier takes. Rows without a label are left out.
    share : float, default=0.3
        How much of the rows of each class is held out.
    repeats, seed : int, default=1
        How often the rows are parted anew; repetition r is shuffled with seed + r.
    costs : array of shape (n_classes, n_classes), default=None
        ``costs[true, predicted]``, as in ``cross_validate``.
    name : str, default="data"
        The name of the data set in the results.
    n_jobs : int, default=-1
        Processes that share the repetitions; -1 uses all cores.
    progress : bool or callable, default=None
        True shows the repetitions that are done; a callable is called as in ``cross_validate``.
    timing : bool, default=True
        Measure how long each classifier takes, as in ``cross_validate``.

    Returns
    -------
    Results
        One record per classifier and repetition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.evaluate import holdout
    >>> results = holdout({"nb": NaiveBayes(), "aode": AODE()}, *load_iris(return_X_y=True), repeats=5, timing=False)
    >>> print(results.summary(["log_loss"]))
    dataset  classifier  folds  log_loss
    data     nb              5    0.2312
    data     aode            5    0.2026
    """
    _check_repeats(repeats)
    plan = make_plan(name, models, (X, y), Holdout(share, seed), repeats, costs)
    return _results([plan], n_jobs, progress, None, timing)


def _results(
    plans: list[EvaluationPlan],
    n_jobs: int,
    progress: Progress | bool | None,
    resume: Any,
    timing: bool,
    time_limit: float | TimeLimit | None = None,
    so_far: SoFar | None = None,
) -> Results:
    limit = (
        time_limit if isinstance(time_limit, TimeLimit) else TimeLimit(math.inf if time_limit is None else time_limit)
    )
    tell = None if so_far is None else lambda done: so_far(Results(done))
    with reported_parts(progress, "comparing", lambda: (limit.elapsed(), limit.seconds_left())) as report:
        try:
            records = run(plans, n_jobs, report, Checkpoint(resume), timing=timing, limit=limit, so_far=tell)
        except Interrupted as stop:
            raise Interrupted(Results(stop.results, [_interrupted(plans, stop.results)])) from None
    notes = [
        f"{name!r} was left out on {plan.name!r}: its counts would need more than its max_memory={model.max_memory!r}."
        for plan in plans
        for name, model in plan.models.items()
        if name not in limit.left_out
        and not any(record["dataset"] == plan.name and record["classifier"] == name for record in records)
    ]
    return Results(records, [*notes, *limit.notes(), *_about_order(plans)])


def _about_order(plans: list[EvaluationPlan]) -> list[str]:
    """What the order of rows means for results: where it flatters, and where folds that follow it leave out classes."""
    said = {}
    for plan in plans:
        order, at_random = order_of(plan.data), isinstance(plan.splits, Folds | Holdout)
        matters = at_random != (order.kind == "class")  # which random folds deal out evenly
        said[plan.name] = order.sentence(_WAY_OUT) if matters else ""
    return [f"{name}: {sentence}" for name, sentence in said.items() if sentence]


def _interrupted(plans: list[EvaluationPlan], records: list[Record]) -> str:
    """What the results of an evaluation that was ended are missing."""
    names = {name for plan in plans for name in plan.models}
    done = {record["classifier"] for record in records}
    if done < names:
        return f"interrupted: {len(done)} of {len(names)} classifiers were done."
    parts = len({(record["dataset"], record["repeat"], record["fold"]) for record in records})
    return f"interrupted: {parts} of {sum(plan.n_parts for plan in plans)} folds were done by all classifiers."


def _check_repeats(repeats: object) -> None:
    if isinstance(repeats, bool) or not isinstance(repeats, int | np.integer) or repeats < 1:
        raise OptionError(f"repeats={repeats!r}: give a whole number of at least 1.")


def leave_one_out(
    models: Mapping[str, CountsClassifier],
    X: TableLike,
    y: LabelsLike,
    *,
    name: str = "data",
    parts: int = 1,
    timing: bool = False,
) -> Results:
    """Every row is predicted as if it alone had not been learned: exact, and as fast as one pass of prediction.

    Cut points and structure stay those of all rows; see ``leave_one_out`` of the classifiers. With several ``parts``
    the rows are dealt out to stratified parts of one size, which are measured apart: then differences between
    classifiers can be tested, as those of folds. With ``timing``, records say how long learning and answering took.

    Parameters
    ----------
    models : dict of name to classifier
        Those that count; others are refused.
    X, y : table and labels
        Any table that a classifier takes. Rows without a label are left out.
    name : str
        The name of the data set in the results.
    parts : int, default=1
        How many parts are measured apart.
    timing : bool, default=False
        Whether to measure times.

    Returns
    -------
    Results
        One record per classifier and part.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import AODE, NaiveBayes
    >>> from tanager.evaluate import leave_one_out
    >>> results = leave_one_out({"nb": NaiveBayes(), "aode": AODE()}, *load_iris(return_X_y=True), parts=10)
    >>> print(results.compare(measure="accuracy"))
    classifier  accuracy  difference      t       p  verdict
    nb            0.9467           -      -       -  baseline
    aode          0.9333     -0.0133  -1.06  0.3172
    """
    for key, model in models.items():
        if not isinstance(model, CountsClassifier):
            raise OptionError(
                f"{key!r} is not a classifier that counts, so single rows cannot be left out. "
                "Use cross_validate with as many folds as there are rows."
            )
    splits = Folds(parts, 1) if parts > 1 else Holdout(0.5, 1)
    plan = make_plan(name, models, (X, y), splits, parts, None)
    records: dict[str, list[Record]] = {}

    def add_records(key: str, leave_out: Callable[[], np.ndarray], start: float) -> None:
        learned = time.perf_counter()
        proba = leave_out()
        seconds = {"fit_seconds": learned - start, "predict_seconds": time.perf_counter() - learned} if timing else {}
        own = models[key].cost_matrix
        records[key] = [
            fold_record(plan, key, part, rows, proba[rows], own, n_train=len(proba) - 1) | seconds
            for part, rows in enumerate(_parts(plan, parts))
        ]

    for group in plan.groups:
        shared = SharedCountsGroup({key: plan.models[key] for key in group}, plan.data)
        with shared.without(np.zeros(len(plan.data.labels), dtype=bool), group) as (codes, attached):
            for key, model in attached.items():
                start = time.perf_counter()
                model.scorer_  # noqa: B018  (learns the structure)
                add_records(key, partial(model.leave_out, Block(codes, plan.data.labels)), start)
    for key in plan.fitted:
        start = time.perf_counter()
        model = clone(models[key]).fit(plan.data.X, plan.data.labels)
        add_records(key, partial(model.leave_one_out, plan.data.X, plan.data.labels), start)
    return Results([record for key in models if key in records for record in records[key]], _about_order([plan]))


def _parts(plan: EvaluationPlan, n_parts: int) -> Iterator[np.ndarray]:
    """The rows that are measured together, as booleans."""
    labels = plan.data.labels
    for part in range(n_parts):
        yield plan.splits.test(labels, part) if n_parts > 1 else np.ones(len(labels), dtype=bool)
