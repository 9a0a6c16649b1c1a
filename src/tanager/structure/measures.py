"""Mutual information of columns and the class, computed from counts. In nats.

All values are rounded to 12 decimals and never negative: numbers that are equal in exact arithmetic differ in the last
bit with the order of summation, and ties must not depend on that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache, wraps

import numpy as np

from tanager import _kernels
from tanager.counts.joint import JointCounts

# Indices into what pair_sums returns for columns i and j: the number of rows with both present, and the sums of
# N log N over the cells of the joint distributions named.
ROWS, IJY, IY, JY, Y, IJ = range(6)
J = 7

# Of the last counts that were asked about, and the version that they had: classifiers that share counts ask in turn.
_last: tuple[weakref.ref[JointCounts], int, dict[str, np.ndarray]] | None = None


def _remembered(measure: Callable[[JointCounts], np.ndarray]) -> Callable[[JointCounts], np.ndarray]:
    """What a measure says of the last counts is kept, and not to be written to."""

    @wraps(measure)
    def found(counts: JointCounts) -> np.ndarray:
        global _last
        last = _last  # another thread may put its own there at any time
        if last is None or last[0]() is not counts or last[1] != counts.version:
            last = _last = (weakref.ref(counts, _forget), counts.version, {})
        if measure.__name__ not in last[2]:
            numbers = measure(counts)
            numbers.flags.writeable = False
            last[2][measure.__name__] = numbers
        return last[2][measure.__name__]

    return found


def _forget(gone: weakref.ref[JointCounts]) -> None:
    global _last
    if _last is not None and _last[0] is gone:
        _last = None


@_remembered
def pair_sums(counts: JointCounts) -> np.ndarray:
    """Sums of N log N for every pair of columns, the raw material of all information measures (n, n, 8)."""
    return _kernels.pair_sums(counts.pairs, counts.offsets, counts.schema.n_values)


@_remembered
def conditional_information(counts: JointCounts) -> np.ndarray:
    """I(X_i; X_j | Y) for all pairs, over the rows with both present."""
    s = pair_sums(counts)
    return _per_row(s[..., IJY] + s[..., Y] - s[..., IY] - s[..., JY], s[..., ROWS])


@_remembered
def class_information_given(counts: JointCounts) -> np.ndarray:
    """I(X_i; Y | X_j): the information of column i (rows of the result) about the class, given column j."""
    s = pair_sums(counts)
    return _per_row(s[..., IJY] + s[..., J] - s[..., IJ] - s[..., JY], s[..., ROWS])


@_remembered
def class_information(counts: JointCounts) -> np.ndarray:
    """I(X_i; Y) for every column, over the rows with the column present."""
    n, k = counts.n_features, counts.n_classes
    column, slot, cell = _values_of(counts.schema.n_values.tobytes(), counts.offsets.tobytes(), k)
    table = counts.singles[slot] / counts.scale
    classes = np.bincount(cell, table.ravel(), minlength=n * k).reshape(n, k)
    joint = np.bincount(column, (_n_log_n(table).sum(axis=1) - _n_log_n(table.sum(axis=1))), minlength=n)
    rows = classes.sum(axis=1)
    return _per_row(joint + _n_log_n(rows) - _n_log_n(classes).sum(axis=1), rows)


@lru_cache(maxsize=4)  # a stream asks for the same again and again
def _values_of(n_values_: bytes, offsets_: bytes, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every value, all columns one after the other: its column and its slot, and that column with each class."""
    n_values, offsets = np.frombuffer(n_values_, dtype=np.int64), np.frombuffer(offsets_, dtype=np.int64)
    n = len(n_values)
    column = np.repeat(np.arange(n), n_values)
    slot = np.arange(len(column)) + (offsets[:n] - np.cumsum(n_values) + n_values)[column]
    return column, slot, (column[:, None] * k + np.arange(k)).ravel()


def _n_log_n(n: np.ndarray) -> np.ndarray:
    return n * np.log(np.where(n > 0, n, 1.0))


def _per_row(total: np.ndarray, rows: np.ndarray) -> np.ndarray:
    information = np.divide(total, rows, out=np.zeros_like(total), where=rows > 0)
    return np.asarray(np.maximum(np.round(information, 12), 0.0))
