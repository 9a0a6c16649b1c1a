"""Cross-validation: every classifier is asked about rows that it has not learned.

All of tanager's classifiers that see the columns alike share one count of the learned rows. Kinds, values and cut
points are learned inside the fold, from its learned rows alone; where nothing has to be learned about columns, a fold
is left out by subtracting its counts. Classifiers of scikit-learn are fitted as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tanager.counts.block import Block
from tanager.errors import OptionError
from tanager.evaluate.ledger import Ledger
from tanager.evaluate.plan import Folds, Holdout, Plan, make_plan
from tanager.evaluate.results import Results
from tanager.evaluate.run import Progress, run
from tanager.evaluate.work import Counted, Record, record
from tanager.learning.counts_classifier import CountsClassifier


def cross_validate(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 1,
    costs: Any = None,
    name: str = "data",
    n_jobs: int = -1,
    progress: Progress | None = None,
    resume: str | Path | None = None,
    timing: bool = True,
) -> Results:
    """Accuracy, log loss and all other measures of classifiers on rows that they have not learned.

    Parameters
    ----------
    models : dict of name to classifier
        Of tanager or of scikit-learn; they are cloned, never changed.
    X, y : table and labels
        Any table that a classifier takes. Rows without a label are left out.
    folds, repeats, seed : int
        ``repeats`` times stratified ``folds``-fold cross-validation; repetition r is shuffled with seed + r.
    costs : array of shape (n_classes, n_classes), default=None
        ``costs[true, predicted]``: answers are then those of least expected cost, and the cost is measured as well.
    name : str
        What the data set is called in the results.
    n_jobs : int, default=-1
        Processes that share the folds; -1 uses all cores. Short work stays in this process.
    progress : callable, default=None
        Called with the number of finished folds, of all folds, and a few words.
    resume : path, default=None
        A file that finished folds are added to. Folds that it holds already, of the same data, classifier and options,
        are not run again.
    timing : bool, default=True
        Measure how long each classifier takes to learn all rows and to answer for them, one after the other.

    Returns
    -------
    Results
        One line per classifier, repetition and fold.

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
        repeats=repeats,
        seed=seed,
        costs=costs,
        n_jobs=n_jobs,
        progress=progress,
        resume=resume,
        timing=timing,
    )


def cross_validate_all(
    models: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
    datasets: Mapping[str, Any],
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 1,
    costs: Any = None,
    n_jobs: int = -1,
    progress: Progress | None = None,
    resume: str | Path | None = None,
    timing: bool = True,
) -> Results:
    """``cross_validate`` over several data sets.

    ``datasets`` maps names to pairs (X, y) or to ``tanager.datasets.Dataset``; ``models`` may be a function that makes
    the classifiers for one data set, for instance ``lambda data: {"aode": AODE(**data.options)}``.
    """
    _check_repeats(repeats)
    if not isinstance(datasets, Mapping) or not datasets:
        raise OptionError("datasets must be a dict of names and pairs (X, y), with at least one of them.")
    splits = Folds(folds, seed)
    plans = [make_plan(name, models, data, splits, repeats * folds, costs) for name, data in datasets.items()]
    return _results(plans, n_jobs, progress, resume, timing)


def holdout(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    share: float = 0.3,
    repeats: int = 1,
    seed: int = 1,
    costs: Any = None,
    name: str = "data",
    n_jobs: int = -1,
    progress: Progress | None = None,
    timing: bool = True,
) -> Results:
    """Learn one part of the rows and ask about the other; ``share`` of the rows of each class is held out."""
    _check_repeats(repeats)
    plan = make_plan(name, models, (X, y), Holdout(share, seed), repeats, costs)
    return _results([plan], n_jobs, progress, None, timing)


def _results(plans: list[Plan], n_jobs: int, progress: Progress | None, resume: Any, timing: bool) -> Results:
    records = run(plans, n_jobs, progress, Ledger(resume), timing=timing)
    notes = [
        f"{name!r} was left out on {plan.name!r}: its counts would need more than its max_memory={model.max_memory!r}."
        for plan in plans
        for name, model in plan.models.items()
        if not any(record["dataset"] == plan.name and record["classifier"] == name for record in records)
    ]
    return Results(records, notes)


def _check_repeats(repeats: object) -> None:
    if isinstance(repeats, bool) or not isinstance(repeats, int | np.integer) or repeats < 1:
        raise OptionError(f"repeats={repeats!r}: give a whole number of at least 1.")


def leave_one_out(models: Mapping[str, CountsClassifier], X: Any, y: Any, *, name: str = "data") -> Results:
    """Every row is asked as if it alone had not been learned: exact, and as quick as one pass of prediction.

    Cut points and structure stay those of all rows, see ``leave_one_out`` of the classifiers.
    """
    for key, model in models.items():
        if not isinstance(model, CountsClassifier):
            raise OptionError(
                f"{key!r} is no classifier of tanager, so rows cannot be taken out of its counts. "
                "Use cross_validate with as many folds as there are rows."
            )
    plan = make_plan(name, models, (X, y), Holdout(0.5, 1), 1, None)
    records: dict[str, Record] = {}

    def note(key: str, proba: np.ndarray) -> None:
        rows = np.ones(len(proba), dtype=bool)
        records[key] = record(plan, key, 0, rows, proba, models[key].cost_matrix, n_train=len(proba) - 1)

    for group in plan.groups:
        counted = Counted({key: plan.models[key] for key in group}, plan.data)
        with counted.without(np.zeros(len(plan.data.labels), dtype=bool), group) as (codes, attached):
            for key, model in attached.items():
                note(key, model.leave_out(Block(codes, plan.data.labels)))
    for key in plan.fitted:
        model = clone(models[key]).fit(plan.data.X, plan.data.labels)
        note(key, model.leave_one_out(plan.data.X, plan.data.labels))
    return Results([records[key] for key in models if key in records])
