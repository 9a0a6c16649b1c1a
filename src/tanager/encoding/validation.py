"""Validation of labels, weights and times. Messages contain the phrases that scikit-learn's estimator checks expect."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeGuard

import numpy as np

from tanager.encoding.frames import is_arrow, is_pandas
from tanager.errors import DataError, is_number, warn_user


def one_dimensional(y: Any) -> Any:
    """Labels as one column. A table of one column is accepted with scikit-learn's warning, a wider one is an error."""
    if isinstance(y, str):
        raise DataError(f"y={y!r} is text, and y takes the labels of all rows. Give the column: y = table.pop({y!r}).")
    if not isinstance(y, list | tuple) and not is_pandas(y) and not is_arrow(y):
        y = np.asarray(y)
    try:  # np.ndim would copy the cells of an Arrow array.
        n_dimensions = 1 if is_arrow(y) and not hasattr(y, "shape") else np.ndim(y)
    except ValueError:
        raise DataError("y holds lists, or text that is not UTF-8. A label must be text or a whole number.") from None
    if n_dimensions == 2 and np.shape(y)[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn_user(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
        )
        return np.asarray(y).ravel()
    if n_dimensions != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {np.shape(y)} instead.")
    if isinstance(y, np.ndarray):
        refuse_fractions(y)
    return y


def column_name(y: Any) -> str | None:
    """The name of a column of labels, where it has one (pandas, polars)."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def refuse_fractions(labels: np.ndarray) -> None:
    """Raise DataError for numbers with fractions: they cannot be classes."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels))[np.isfinite(labels)].any():
        raise DataError(
            "Unknown label type: continuous. y holds numbers with fractions; classes must be text, booleans or "
            "whole numbers. Cut y into classes first, or use a regressor."
        )


def check_lengths(m: int, y: Any) -> None:
    """Raise DataError unless there is one label per row."""
    if len(y) != m:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {m} rows, y has {len(y)} labels. "
            "Give each row a label."
        )


MOST_WEIGHT = 1e100  # so that sums of weights, and weights times the scale of what fades, stay finite


def check_weights(sample_weight: Any, m: int) -> np.ndarray | None:
    """Row weights as floats, or None where all are 1."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight contains a value that is not a number. Give one number for each row.") from None
    if weights.ndim == 0:
        weights = np.full(m, float(weights))
    if weights.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if len(weights) != m:
        raise DataError(f"sample_weight.shape == ({len(weights)},), expected ({m},): one weight for each row.")
    bad = np.flatnonzero(~((weights >= 0) & (weights <= MOST_WEIGHT)))
    if len(bad):
        weight = float(weights[bad[0]])
        rule = "finite and not negative" if not 0 <= weight < np.inf else f"at most {MOST_WEIGHT:g}"
        raise DataError(f"sample_weight, row {bad[0]}: {weight}; weights must be {rule}. Nothing was learned.")
    return None if (weights == 1.0).all() else np.ascontiguousarray(weights)


def is_weight(value: object) -> TypeGuard[float]:
    """Whether a value can be the weight of a row."""
    if type(value) is float:
        return 0.0 <= value <= MOST_WEIGHT
    return is_number(value, 0) and value <= MOST_WEIGHT


def check_times(times: Any, m: int) -> np.ndarray | None:
    """Times of rows in seconds: numbers as they are, dates as seconds since 1970 (UTC unless they have a time zone).

    >>> import numpy as np
    >>> check_times(np.array(["1970-01-01T00:01", "1970-01-02"], dtype="datetime64[s]"), 2).tolist()
    [60.0, 86400.0]
    """
    if times is None:
        return None
    given = np.asarray(times)
    if given.ndim == 0:
        given = np.full(m, given)
    try:
        seconds = _seconds(given)
    except (TypeError, ValueError):
        raise DataError("times contains something other than numbers and dates. Give one time for each row.") from None
    if seconds.shape != (m,):
        raise DataError(f"times has shape {seconds.shape}, expected ({m},): one time for each row.")
    bad = np.flatnonzero(~np.isfinite(seconds))
    if len(bad):
        raise DataError(f"times, row {bad[0]}: {given[bad[0]]!r} is not a valid time. Every row needs a time.")
    return seconds


def _seconds(given: np.ndarray) -> np.ndarray:
    if given.dtype.kind in "iuf":
        return np.ascontiguousarray(given, dtype=np.float64)
    if given.dtype.kind == "O":  # NumPy has no time zones, so zoned datetimes are converted one by one
        zoned = [t.timestamp() if isinstance(t, datetime) and t.tzinfo is not None else t for t in given.tolist()]
        if all(t is None or isinstance(t, int | float) for t in zoned):
            return np.array([np.nan if t is None else t for t in zoned], dtype=np.float64)
        given = np.array(zoned, dtype="datetime64[us]")
    dates = given.astype("datetime64[us]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / 1e6)
