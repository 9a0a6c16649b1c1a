"""What is read from the records of one or several folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tanager.evaluate.measures import calibration_of

HIGHER = ("accuracy", "auc")  # higher is better; of all other measures, lower

Record = Mapping[str, Any]


def value_of(record: Record, measure: str) -> float:
    """A measure of one fold; NaN where the fold has none."""
    if measure == "error":
        return 1.0 - value_of(record, "accuracy")
    if measure == "calibration_error":
        return calibration_of(record["reliability"]) if record.get("reliability") else float("nan")
    value = record.get(measure)
    return float("nan") if value is None else float(value)


def values_of(folds: Iterable[Record], measure: str) -> np.ndarray:
    """A measure of all folds that have it."""
    values = np.array([value_of(record, measure) for record in folds])
    return values[~np.isnan(values)]


def mean_of(folds: Iterable[Record], measure: str) -> float:
    if measure == "calibration_error":
        some = [record for record in folds if record.get("reliability")]
        return calibration_of(bins_of(some)) if some else float("nan")
    values = values_of(folds, measure)
    return float(values.mean()) if len(values) else float("nan")


def bins_of(folds: Sequence[Record]) -> np.ndarray:
    return np.sum([record["reliability"] for record in folds], axis=0)


def median_of(folds: Iterable[Record], name: str) -> float:
    values = values_of(folds, name)
    return float(np.median(values)) if len(values) else float("nan")


def as_loss(value: Any, measure: str) -> Any:
    """Lower is better; done twice it gives the measure back."""
    return 1.0 - value if measure in HIGHER else value


def ratio_of(folds: Iterable[Record]) -> float:
    """Rows tested over rows learned."""
    folds = list(folds)
    return sum(record["n_test"] for record in folds) / sum(record["n_train"] for record in folds)
