"""pandas, polars and Arrow columns as cells. Each library is imported only when such a table arrives.

Columns that declare their values keep all of them: pandas categories, Arrow dictionaries, polars Enum. A polars
Categorical declares nothing: its dictionary is shared by all columns, so only the values that occur count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from tanager.encoding.arrays import may_round, read_array, read_objects
from tanager.encoding.arrow_columns import arrow_scalar
from tanager.encoding.many_dates import read_text
from tanager.encoding.values import (
    DATES,
    DURATIONS,
    TIMES,
    Categories,
    Cells,
    Numbers,
    from_distinct,
    is_missing,
    seconds,
)
from tanager.errors import DataError

OPEN = b"tanager: open"  # metadata of a field whose dictionary holds the values so far, and does not declare them all

SMALL = 2**18  # cells of a frame that may be copied as a whole

Columns = tuple[Sequence[object], int, Sequence[Callable[[], Cells]]]


def is_pandas(X: object) -> bool:
    """A pandas frame, series or index, found without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame | pandas.Series | pandas.Index)


def is_arrow(X: object) -> bool:
    """Whether it supports the Arrow C data interface (pyarrow, polars)."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def pandas_columns(X: Any) -> Columns:
    """Names, number of rows and readers of a pandas frame."""
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got a pandas {type(X).__name__} instead. Reshape your data: pass X.to_frame().T if it "
            "is one row (or take a table of one row, as table.iloc[[0]] does), X.to_frame() if it is one column."
        )
    columns = _FrameColumns(X)
    return list(X.columns), len(X), [partial(columns.read, i, str(name)) for i, name in enumerate(X.columns)]


class _FrameColumns:
    """The columns of a pandas frame, made when asked for: a series takes longer to make than a few rows to read.

    Those of a small frame with one type of number are read from one array.
    """

    def __init__(self, X: Any) -> None:
        self._frame = X

    @cached_property
    def _array(self) -> np.ndarray | None:
        X = self._frame
        if X.size > SMALL:  # an array may be a copy
            return None
        kinds = set(X.dtypes)
        one = kinds.pop() if len(kinds) == 1 else None
        return X.to_numpy() if isinstance(one, np.dtype) and one.kind in "iuf" else None

    def read(self, i: int, name: str) -> Cells:
        """The cells of column i."""
        if self._array is None:
            return read_series(self._frame.iloc[:, i], name)
        return read_array(self._array[:, i], name)


def read_series(series: Any, name: str) -> Cells:
    """One pandas column of any dtype."""
    dtype = series.dtype
    if type(dtype).__name__ == "CategoricalDtype":
        codes = np.asarray(series.cat.codes if hasattr(series, "cat") else series.codes)
        return from_distinct(list(dtype.categories), codes.astype(np.int32), declared=True, exact=False)
    if isinstance(dtype, np.dtype):
        return read_array(series.to_numpy(), name)
    if dtype.kind in "iuf":  # nullable numbers
        if not series.hasnans:
            return Numbers(series.to_numpy(dtype=dtype.numpy_dtype))
        floats = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if dtype.kind != "f" and may_round(floats):
            return read_objects(series.to_numpy(dtype=object), name)
        return Numbers(floats)
    if dtype.kind == "M" and hasattr(dtype, "tz"):
        return Numbers(seconds(series.to_numpy(dtype="datetime64[us]")), DATES)
    if hasattr(series.array, "__arrow_array__") and type(dtype).__name__ in ("StringDtype", "ArrowDtype"):
        return read_arrow(series.array.__arrow_array__(), name)
    return read_objects(series.to_numpy(dtype=object), name)


def arrow_columns(X: Any) -> Columns:
    """Names, number of rows and readers of anything that streams Arrow batches."""
    import pyarrow as pa

    try:
        table = X if isinstance(X, pa.Table) else pa.table(X)  # which imports pandas, to see whether X is a frame of it
    except (pa.ArrowInvalid, TypeError):
        raise DataError(
            f"Expected 2D array, got a {type(X).__name__} of one column instead. Reshape your data: pass a frame."
        ) from None
    readers = [
        partial(_read_chunks, table.column(i), field.name, _declares(field)) for i, field in enumerate(table.schema)
    ]
    return table.column_names, table.num_rows, readers


def read_arrow(column: Any, name: str) -> Cells:
    """One Arrow array, chunked or not, or a polars series."""
    import pyarrow as pa

    declares = not str(getattr(column, "dtype", "")).startswith("Categorical")  # polars, see _declares
    if not isinstance(column, pa.ChunkedArray | pa.Array):
        column = pa.chunked_array(column)
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    return _read_chunks(column, name, declares)


def _declares(field: Any) -> bool:
    """Whether the dictionary of a field declares all values of its column.

    That of a polars Categorical is shared by all columns, and that of a chunk of a file holds the values so far.
    """
    return not any(key.startswith((b"_PL_CATEGORICAL", OPEN)) for key in field.metadata or {})


def _read_chunks(column: Any, name: str, declares: bool) -> Cells:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _read_dictionary(column, declares, exact=False)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if column.null_count == 0:
            return Numbers(numbers_of(column))
        floats = numbers_with_gaps(column)
        if pa.types.is_integer(kind) and may_round(floats):
            return read_objects(column.to_pylist(), name)
        return Numbers(floats)
    if pa.types.is_decimal(kind):
        return Numbers(numbers_with_gaps(column.cast(pa.float64())))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind):
        return Numbers(seconds(column.to_numpy()), DURATIONS if pa.types.is_duration(kind) else DATES)
    if pa.types.is_time(kind):
        ticks = column.cast(pa.time64("us")).cast(pa.int64()).to_numpy()
        return Numbers(ticks / 1e6, TIMES)
    if pa.types.is_null(kind):
        return Categories([], np.full(len(column), -1, dtype=np.int32))
    if pa.types.is_nested(kind):
        raise DataError(f"column {name!r} has cells of type {kind}; a cell must be text or a number. Flatten it first.")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return read_text(column, lambda: _read_dictionary(column.dictionary_encode()))
    return _read_dictionary(column.dictionary_encode())


def _read_dictionary(column: Any, declared: bool = False, exact: bool = True) -> Categories:
    """Chunks of dictionary codes; chunks may bring dictionaries of their own."""
    values: list[object] = []
    places: dict[object, int] = {}
    parts: list[np.ndarray] = []
    last = None
    for chunk in column.chunks:
        if last is None or not chunk.dictionary.equals(last):
            last = chunk.dictionary
            table = _join(_entries(last), values, places)
        parts.append(_indices(chunk, table))
    index = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    return from_distinct(values, index, declared, exact)


def _entries(dictionary: Any) -> list[object]:
    """The entries of a dictionary, None for missing ones. Only floats can be NaN; checking all text would be slow."""
    import pyarrow as pa

    entries: list[object] = dictionary.to_pylist()
    return [None if is_missing(e) else e for e in entries] if pa.types.is_floating(dictionary.type) else entries


def _join(dictionary: list[object], values: list[object], places: dict[object, int]) -> np.ndarray | None:
    """The position of each entry of a chunk's dictionary in the values of the column, which grow; None if unchanged."""
    own = dict(zip(dictionary, range(len(dictionary)), strict=True))
    if not values and len(own) == len(dictionary) and None not in own:  # the first dictionary, most often the only one
        values.extend(dictionary)
        places.update(own)
        return None
    for value in dictionary:
        if value is not None and value not in places:
            places[value] = len(values)
            values.append(value)
    table = np.array([-1 if value is None else places[value] for value in dictionary] + [-1], dtype=np.int32)
    return None if np.array_equal(table[:-1], np.arange(len(dictionary))) else table


def numbers_of(column: Any) -> np.ndarray:
    """The numbers of an Arrow array or column without gaps. Arrow's own ``to_numpy`` would import pandas."""
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    if len(chunks) == 1:
        return np.from_dlpack(chunks[0])
    return np.concatenate([np.from_dlpack(chunk) for chunk in chunks]) if chunks else column.to_numpy()


def numbers_with_gaps(column: Any) -> np.ndarray:
    """The same where cells may be missing, which are NaN."""
    import pyarrow as pa

    kind = column.type if column.type in (pa.float32(), pa.float64()) else pa.float64()
    return numbers_of(column.cast(kind, safe=False).fill_null(arrow_scalar(np.nan, kind)))


def _indices(chunk: Any, table: np.ndarray | None) -> np.ndarray:
    codes = chunk.indices
    if codes.null_count:
        import pyarrow as pa

        codes = codes.cast(pa.int32()).fill_null(arrow_scalar(-1, pa.int32()))
    index = numbers_of(codes).astype(np.int32, copy=False)
    return np.asarray(index if table is None else table[index])
