"""How long classifiers take to learn all rows and to answer for them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from tanager.errors import MemoryBudgetError
from tanager.evaluate.plan import Plan
from tanager.evaluate.work import Record
from tanager.learning.counts_classifier import CountsClassifier

Times = dict[tuple[str, str], dict[str, float]]  # by data set and classifier

_RUNS, _SECONDS = 5, 0.25


def own_times(plans: Sequence[Plan], tell: Callable[[str], None]) -> Times:
    """The seconds of every classifier of tanager, one after the other.

    Medians of five runs, or of fewer where these take longer than a quarter of a second together.
    """
    times: Times = {}
    for plan in plans:
        for name, model in plan.models.items():
            if isinstance(model, CountsClassifier):
                tell(f"timing {name} on {plan.name}")
                times[plan.name, name] = _alone(model, plan)
    return times


def _alone(model: Any, plan: Plan) -> dict[str, float]:
    fits: list[float] = []
    answers: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(fits) < _RUNS and (not fits or time.perf_counter() < end):
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
    """The records with these times; those of scikit-learn's classifiers come from the folds, scaled to all rows."""
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
