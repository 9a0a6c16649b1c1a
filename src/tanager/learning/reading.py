"""Reading: a table, labels and single rows as they came are checked, and matched with the columns that are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.align import as_label_array
from tanager.encoding.chunks import n_rows, rows_of_dicts
from tanager.encoding.tables import Table, frame_names, read_table, row_of_frame
from tanager.encoding.validation import check_lengths, check_times, check_weights, column_name, one_dimensional
from tanager.errors import DataError, SchemaMismatch, warn_user
from tanager.learning.batch import Batch

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier


def read_rows(model: Classifier, X: Any, y: Any, sample_weight: Any, times: Any) -> tuple[Batch, np.ndarray]:
    """Checked rows, and all classes, some of them perhaps new; nothing is changed but the names that are noted."""
    if y is None:
        raise DataError(f"This {type(model).__name__} estimator requires y to be passed, but the target y is None.")
    table = model.validate_table(X, reset="n_features_in_" not in model.__dict__)
    model.target_name_ = model.target_name_ or column_name(y)
    y = one_dimensional(y)
    check_lengths(table.n_rows, y)
    weights, seconds = check_weights(sample_weight, table.n_rows), check_times(times, table.n_rows)
    labels, classes = model.label_codes(y)
    model._warn_of_unlabelled(int(np.count_nonzero(labels == np.iinfo(labels.dtype).max)))
    return Batch(table, labels, weights, seconds), classes


def labels_all(X: Any, y: Any) -> bool:
    """Whether labels are as many as rows; False where they cannot be counted."""
    return hasattr(y, "__len__") and len(y) == n_rows(X)


def validated(model: Classifier, X: Any, *, reset: bool) -> Table:
    """The table, sound in itself. Number and names of its columns are noted (``reset``) or checked."""
    table = read_table(X)
    if not isinstance(X, Mapping) and not rows_of_dicts(X):
        names = frame_names(X)
        if reset:
            model.n_features_in_ = table.n_columns
            model.__dict__.pop("feature_names_in_", None)
            if names is not None:
                model.feature_names_in_ = np.array(names, dtype=object)
        else:
            _check_columns(model, names, table.n_columns)
    return table


def _check_columns(model: Classifier, names: list[str] | None, n_columns: int) -> None:
    """Refuse an array of another width, in words that scikit-learn's checks prescribe; names are matched later."""
    name = type(model).__name__
    known: np.ndarray | None = model.__dict__.get("feature_names_in_")
    if names is not None and (known is not None or _learned_names(model)):
        return
    if known is not None:
        warn_user(f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning)
    elif names is not None:
        warn_user(f"X has feature names, but {name} was fitted without feature names", UserWarning)
    n_expected = model.__dict__.get("n_features_in_", n_columns)
    if n_columns != n_expected:
        raise SchemaMismatch(f"X has {n_columns} features, but {name} is expecting {n_expected} features as input.")


def _learned_names(model: Classifier) -> bool:
    """Whether columns were learned by name without a frame: from dicts of columns, or from rows that are dicts."""
    names = model.encoder_.schema.table_names if model.knows_columns else ()
    return names != tuple(f"x{i}" for i in range(len(names)))


def as_labels(y: Any) -> np.ndarray:
    """Labels as they came, as an array."""
    y = one_dimensional(y)
    y = y.to_pylist() if hasattr(y, "to_pylist") else y  # an Arrow column, whose own way to NumPy imports pandas
    return as_label_array(y) if isinstance(y, list | tuple) else np.asarray(y)


def check_row(row: Any, place: str) -> Mapping[str, Any]:
    """A row as a dict; a row of a pandas frame (``X.iloc[0]``) is one, too, and anything else is refused."""
    if type(row) is dict or isinstance(row, Mapping):
        return row
    named = row_of_frame(row)
    if not isinstance(named, Mapping):
        raise DataError(f"{place} takes a dict of column names and values, got {type(row).__name__}.")
    return named
