"""How long classifiers take to fit all rows and to predict them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from tanager.errors import MemoryBudgetError, ToldOnce
from tanager.estimator import clone
from tanager.evaluate.fold_runner import Record
from tanager.evaluate.plan import EvaluationPlan
from tanager.learning.counts_classifier import CountsClassifier

Times = dict[tuple[str, str], dict[str, float]]  # by data set and classifier

_MAX_RUNS, _MAX_SECONDS = 5, 0.25


def own_times(plans: Sequence[EvaluationPlan], report: Callable[[str], None], quick: Callable[[str], bool]) -> Times:
    """The seconds that each quick classifier of tanager takes, measured one after the other.

    Medians of five runs, or of fewer if these take more than a quarter of a second together.
    """
    times: Times = {}
    with ToldOnce():
        for plan in plans:
            for name, model in plan.models.items():
                if isinstance(model, CountsClassifier) and quick(name):
                    report(f"timing {name} on {plan.name}")
                    times[plan.name, name] = _time_of(model, plan)
    return times


def _time_of(model: CountsClassifier, plan: EvaluationPlan) -> dict[str, float]:
    fits: list[float] = []
    answers: list[float] = []
    end = time.perf_counter() + _MAX_SECONDS
    while len(fits) < _MAX_RUNS and (not fits or time.perf_counter() < end):
        start = time.perf_counter()
        try:
            fitted = clone(model).fit(plan.data.X, plan.data.labels)
        except MemoryBudgetError:
            return {}
        middle = time.perf_counter()
        fitted.predict_proba(plan.data.X)
        fits.append(middle - start)
        answers.append(time.perf_counter() - middle)
    return {"fit_seconds": statistics.median(fits), "predict_seconds": statistics.median(answers)}


def with_times(records: Sequence[Record], times: Times) -> list[Record]:
    """The records with these times; those of all other classifiers come from the folds, scaled to all rows."""
    others: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        place = record["dataset"], record["classifier"]
        if place not in times and "fit_seconds" in record:
            others.setdefault(place, []).append(record)
    times = times | {place: _scaled(own) for place, own in others.items()}
    return [record | times.get((record["dataset"], record["classifier"]), {}) for record in records]


def _scaled(own: Sequence[Record]) -> dict[str, float]:
    rows = own[0]["n_train"] + own[0]["n_test"]
    fit = np.median([record["fit_seconds"] * rows / record["n_train"] for record in own])
    answer = np.median([record["predict_seconds"] * rows / record["n_test"] for record in own])
    return {"fit_seconds": float(fit), "predict_seconds": float(answer)}
