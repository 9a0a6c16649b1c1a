"""At the door: labels and weights are checked, in the words that scikit-learn's checks expect."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from tanager.encoding.frames import is_arrow, is_pandas
from tanager.errors import DataError


def one_dimensional(y: Any) -> Any:
    """Labels as one column; a table of one column is taken with scikit-learn's warning, anything wider is refused."""
    if not isinstance(y, list | tuple) and not is_pandas(y) and not is_arrow(y):
        y = np.asarray(y)
    n_dimensions = 1 if is_arrow(y) and not hasattr(y, "shape") else np.ndim(y)  # without looking at Arrow's cells
    if n_dimensions == 2 and np.shape(y)[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        return np.asarray(y).ravel()
    if n_dimensions != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {np.shape(y)} instead.")
    if isinstance(y, np.ndarray):
        refuse_fractions(y)
    return y


def column_name(y: Any) -> str | None:
    """What a column of labels is called, where it has a name (pandas, polars)."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def refuse_fractions(labels: np.ndarray) -> None:
    """Numbers with fractions are no classes."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels))[np.isfinite(labels)].any():
        raise DataError(
            "Unknown label type: continuous. y holds numbers with fractions; classes must be text, booleans or "
            "whole numbers. Cut y into classes first, or use a regressor."
        )


def check_lengths(m: int, y: Any) -> None:
    """As many labels as rows."""
    if len(y) != m:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {m} rows, y has {len(y)} labels. "
            "Give each row a label."
        )


def check_weights(sample_weight: Any, m: int) -> np.ndarray | None:
    """Row weights as floats, or None where all are 1."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight holds something that is no number; give one number for each row.") from None
    if weights.ndim == 0:
        weights = np.full(m, float(weights))
    if weights.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if len(weights) != m:
        raise DataError(f"sample_weight.shape == ({len(weights)},), expected ({m},): one weight for each row.")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        weight = float(weights[bad[0]])
        raise DataError(f"sample_weight, row {bad[0]}: {weight}; weights must be finite and not negative.")
    return None if (weights == 1.0).all() else np.ascontiguousarray(weights)
