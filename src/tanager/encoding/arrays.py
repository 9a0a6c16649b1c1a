"""NumPy arrays and sequences of Python objects as the cells of a column."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, time
from decimal import Decimal

import numpy as np

from tanager import _kernels
from tanager.encoding.many_dates import read_texts
from tanager.encoding.values import (
    DATE_TYPES,
    DATES,
    DURATIONS,
    TIMES,
    Categories,
    Cells,
    Numbers,
    from_distinct,
    is_missing,
    number,
    seconds,
)
from tanager.errors import DataError

HUGE = "whole numbers beyond 2**53"


def read_array(cells: np.ndarray, name: str) -> Cells:
    """One column of an array of any type."""
    kind = cells.dtype.kind
    if kind in "iuf":
        return Numbers(np.ascontiguousarray(cells, dtype=cells.dtype.newbyteorder("=")))
    if kind == "b":
        return Categories([False, True], cells.astype(np.int32), "booleans", exact=False)
    if kind in "mM":
        return Numbers(seconds(cells), DATES if kind == "M" else DURATIONS)
    if kind in "US":
        texts = cells.tolist()
        return read_texts(texts, texts[0] if texts else None, lambda: index_objects(texts, name))
    if kind == "O":
        return read_objects(cells, name)
    raise DataError(f"column {name!r}: cells of type {cells.dtype} are not supported. Convert them to text or numbers.")


def read_objects(cells: Sequence[object] | np.ndarray, name: str) -> Cells:
    """Python objects: numbers or dates when all cells that are not missing are such, otherwise categories."""
    first = next((cell for cell in cells if not is_missing(cell)), None)
    if not (_is_number(type(first)) or isinstance(first, DATE_TYPES)):
        return read_texts(cells, first, lambda: index_objects(cells, name))
    kinds = {kind for kind in set(map(type, cells)) if kind.__name__ not in ("NoneType", "NAType", "NaTType")}
    if all(_is_number(kind) for kind in kinds):
        return _numbers(cells, kinds, name)
    if all(issubclass(kind, DATE_TYPES) for kind in kinds):
        return Numbers(np.array([np.nan if is_missing(cell) else number(cell) for cell in cells]), _what(kinds))
    return index_objects(cells, name)


def _what(kinds: set[type]) -> str:
    """Dates, times of day or durations; of several, what has least of a meaning."""
    for own, what in ((date | np.datetime64, DATES), (time, TIMES)):
        if all(issubclass(kind, own) for kind in kinds):
            return what
    return DURATIONS


def _is_number(kind: type) -> bool:
    return issubclass(kind, numbers.Real | Decimal) and not issubclass(kind, bool)


def _numbers(cells: Sequence[object] | np.ndarray, kinds: set[type], name: str) -> Cells:
    """Numbers; whole ones that floats would round together are values that have nothing in common."""
    if all(issubclass(kind, numbers.Integral) for kind in kinds):
        try:
            return Numbers(np.array(cells, dtype=np.int64))
        except (TypeError, OverflowError):  # a cell is missing, or does not fit into 64 bits
            floats = _floats(cells)
        values = index_objects(cells, name) if may_round(floats) else None
        rounded = values is not None and len(values.values) > len(np.unique(floats[~np.isnan(floats)]))
        return replace(values, what=HUGE) if values is not None and rounded else Numbers(floats)
    return Numbers(_floats(cells))


def may_round(floats: np.ndarray) -> bool:
    """Whether whole numbers that have become floats are so large that they may have been rounded; NaN is missing."""
    return bool(np.abs(floats).max(initial=0.0, where=~np.isnan(floats)) > 2**53)


def _floats(cells: Sequence[object] | np.ndarray) -> np.ndarray:
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, OverflowError):  # NumPy converts None to NaN, but not pandas.NA; floats end at 1e308
        return np.array([np.nan if is_missing(cell) else number(cell) for cell in cells])


def index_objects(cells: Sequence[object] | np.ndarray, name: str) -> Categories:
    """Any Python objects as categories."""
    index = np.empty(len(cells), dtype=np.int32)
    try:
        values = _kernels.index_objects(cells, index, is_missing)
    except TypeError:
        raise DataError(_unhashable(cells, name)) from None
    return from_distinct(values, index)


def _unhashable(cells: Sequence[object] | np.ndarray, name: str) -> str:
    for row, cell in enumerate(cells):
        try:
            hash(cell)
        except TypeError:
            return f"column {name!r}, row {row}: {cell!r} is a {type(cell).__name__}; a cell must be text or a number."
    return f"column {name!r}: a cell cannot be compared with the others. Convert the column to text."
