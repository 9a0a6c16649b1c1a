"""Measures of one fold, and means, medians and sums over several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager.evaluate.measures import calibration_of

HIGHER = ("accuracy", "auc")  # higher is better; of all other measures, lower

Record = Mapping[str, Any]
Number = TypeVar("Number", float, np.ndarray)


def value_of(record: Record, measure: str) -> float:
    """A measure of one fold; NaN where the fold has none."""
    if measure == "error":
        return 1.0 - value_of(record, "accuracy")
    if measure == "calibration_error":
        return calibration_of(record["reliability"]) if record.get("reliability") else float("nan")
    value = record.get(measure)
    return float("nan") if value is None else float(value)


def values_of(folds: Iterable[Record], measure: str) -> NDArray[np.float64]:
    """A measure of all folds that have it."""
    values: NDArray[np.float64] = np.array([value_of(record, measure) for record in folds])
    return values[~np.isnan(values)]


def mean_of(folds: Iterable[Record], measure: str) -> float:
    """The mean over the folds; of the calibration error, that of all folds pooled."""
    if measure == "calibration_error":
        some = [record for record in folds if record.get("reliability")]
        return calibration_of(bins_of(some)) if some else float("nan")
    values = values_of(folds, measure)
    return float(values.mean()) if len(values) else float("nan")


def bins_of(folds: Sequence[Record]) -> NDArray[np.float64]:
    """The reliability bins of all folds together."""
    bins: NDArray[np.float64] = np.sum([record["reliability"] for record in folds], axis=0)
    return bins


def median_of(folds: Iterable[Record], name: str) -> float:
    """The median over the folds."""
    values = values_of(folds, name)
    return float(np.median(values)) if len(values) else float("nan")


def as_loss(value: Number, measure: str) -> Number:
    """The measure such that lower is better; applied twice it gives the measure back."""
    return 1.0 - value if measure in HIGHER else value


def ratio_of(folds: Iterable[Record]) -> float:
    """Test rows over training rows."""
    folds = list(folds)
    return float(sum(record["n_test"] for record in folds) / sum(record["n_train"] for record in folds))
