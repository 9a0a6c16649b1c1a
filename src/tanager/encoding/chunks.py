"""Chunks of a table, of whatever type: their length, some of their rows, several put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from tanager.encoding.frames import is_arrow, is_pandas
from tanager.encoding.tables import Table, code_table, read_table
from tanager.errors import DataError


def n_rows(X: Any) -> int:
    """Number of rows of any table."""
    if (type(X) is list and X and type(X[0]) is dict) or (is_pandas(X) and X.ndim == 2 and X.size):
        return len(X)
    return read_table(X).n_rows


def take_rows(X: Any, start: int, stop: int) -> Any:
    """Rows start..stop-1, in the type of the table."""
    if is_pandas(X):
        return X.iloc[start:stop]
    if isinstance(X, Mapping):
        return {name: column[start:stop] for name, column in X.items()}
    if is_arrow(X) and hasattr(X, "slice"):  # polars, Arrow
        return X.slice(start, stop - start)
    if hasattr(X, "part"):  # a Table that was read already
        return X.part(start, min(stop, X.n_rows))
    return X[start:stop]


def rows_at(X: Any, places: np.ndarray) -> Any:
    """The rows at these places, in the type of the table.

    >>> rows_at([["a"], ["b"], ["c"]], np.array([2, 0]))
    [['c'], ['a']]
    """
    if isinstance(X, np.ndarray):
        return X[places]
    if is_pandas(X):
        return X.iloc[places]
    if isinstance(X, Mapping):
        return {name: rows_at(column, places) for name, column in X.items()}
    if is_arrow(X):
        return X.take(places) if hasattr(X, "take") else X[places]  # Arrow; polars
    return [X[int(at)] for at in places]


def rows_of_dicts(X: Any) -> bool:
    """Whether a table is a list of dicts, one per row; their names may come and go."""
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def own_copy(X: Any) -> Any:
    """A table that stays as it is when the caller changes theirs; frames of Arrow and polars never change."""
    if isinstance(X, np.ndarray) or is_pandas(X):
        return X.copy()
    if isinstance(X, Mapping):
        return {name: copy(column) for name, column in X.items()}
    if isinstance(X, list | tuple):
        return [copy(row) for row in X]
    return X


@contextmanager
def _one_type(error: type[Exception]) -> Iterator[None]:
    """Frames of other columns, or of columns of other types, are not put together."""
    try:
        yield
    except error:
        raise DataError(
            "the first chunks of a stream have other columns, or columns of other types; until cut points are fixed "
            "they must be alike. Convert them alike, or give a schema."
        ) from None


def stack(chunks: Sequence[Any]) -> Any:
    """Chunks of one type as one table.

    >>> stack([[[1, 2]], [[3, 4]]])
    [[1, 2], [3, 4]]
    """
    first = chunks[0]
    if len(chunks) == 1:
        return first
    kinds = {np.ndarray if isinstance(chunk, np.ndarray) else type(chunk) for chunk in chunks}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(
            f"the first chunks of a stream came as {names}; until cut points are fixed they must be of one type. "
            "Convert them alike, or give a schema."
        )
    if isinstance(first, np.ndarray):
        return np.concatenate(chunks)
    if isinstance(first, Table) and first.codes is not None and first.names is not None:
        return code_table(np.concatenate([chunk.codes for chunk in chunks]), first.names)
    if isinstance(first, Mapping):
        return {name: _stacked_column([chunk[name] for chunk in chunks]) for name in first}
    if is_pandas(first):
        import pandas as pd

        with _one_type(pd.errors.InvalidIndexError):
            return pd.concat(chunks, ignore_index=True)
    if is_arrow(first):
        if type(first).__module__.startswith("polars"):
            import polars as pl

            with _one_type(pl.exceptions.PolarsError):
                return pl.concat(chunks)
        import pyarrow as pa

        tables = [chunk if isinstance(chunk, pa.Table) else pa.table(chunk) for chunk in chunks]
        with _one_type(pa.ArrowException):
            # A stream stacks one row after the other; a column that a chunk lacks has no type there.
            return pa.concat_tables(tables, promote_options="default").combine_chunks()
    return [row for chunk in chunks for row in chunk]


def _stacked_column(parts: Sequence[Any]) -> Any:
    """Parts of a column, one after the other; arrays of one type stay an array."""
    if all(isinstance(part, np.ndarray) and part.dtype == parts[0].dtype for part in parts):
        return np.concatenate(parts)
    return [cell for part in parts for cell in part]
