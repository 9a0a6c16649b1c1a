"""Tables of any type with further columns, or with some of their columns alone.

Arrays and lists of lists, whose columns have no names, become dicts of columns, by the names that a model has for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tanager.encoding.arrow_columns import arrow_text
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.frames import is_arrow, is_pandas
from tanager.encoding.matching import with_columns_of
from tanager.encoding.tables import CODE_TYPES, code_table, read_table
from tanager.encoding.values import is_missing
from tanager.errors import SchemaMismatch
from tanager.learning.batch import StreamPart


def names_of(X: Any) -> tuple[str, ...]:
    """The names of the columns of any table: its own, or x0, x1, ..."""
    table = read_table(X)
    return table.names or tuple(f"x{i}" for i in range(table.n_columns))


def counts(rows: StreamPart, r: int) -> bool:
    """Whether a row has a label and a weight."""
    return not is_missing(rows.y[r]) and (rows.weights is None or rows.weights[r] > 0)


def names_of_counted(rows: StreamPart) -> tuple[str, ...]:
    """The names of the columns of rows; of dicts only those in rows that count, as others bring no column."""
    if not rows_of_dicts(rows.X):
        return names_of(rows.X)
    found: dict[str, None] = {}
    for r, row in enumerate(rows.X):
        if not found.keys() >= row.keys() and counts(rows, r):
            found |= dict.fromkeys(row)
    return tuple(found)


def with_columns(X: Any, further: Mapping[str, np.ndarray], known: Sequence[str] | None) -> Any:
    """The table with further columns of text (None: missing); ``known``: what a model calls the others, in order."""
    if rows_of_dicts(X):
        columns = list(further.items())
        return [{**row, **{name: cells[r] for name, cells in columns}} for r, row in enumerate(X)]
    X = _named(X, known)
    if isinstance(X, Mapping):
        return {**X, **further}
    if is_pandas(X):
        return X.assign(**further)
    if type(X).__module__.startswith("polars"):
        import polars as pl

        return X.with_columns([pl.Series(name, cells.tolist(), dtype=pl.String) for name, cells in further.items()])
    import pyarrow as pa

    table = X if isinstance(X, pa.Table) else pa.table(X)
    for name, cells in further.items():
        table = table.append_column(name, arrow_text(cells))
    return table


def only_columns(X: Any, names: Sequence[str], known: Sequence[str] | None, *, codes: bool = False) -> Any:
    """The table with these columns alone; ``known``: what a model calls all of them, in order.

    Columns of an array of codes become text, unless ``codes`` says that they stay what they are. A column that is not
    there is missing in all rows, of which others tell.
    """
    if rows_of_dicts(X):
        # A table needs a column: a row that has none of these has a gap in the first.
        return [{name: row[name] for name in names if name in row} or {names[0]: None} for row in X]
    if isinstance(X, np.ndarray) and X.ndim == 2 and known is not None and len(known) == X.shape[1]:
        places = {name: i for i, name in enumerate(known)}
        if codes and X.dtype in CODE_TYPES:
            return code_table(X[:, [places[name] for name in names]], names)
        return {name: _cells(X[:, places[name]]) for name in names}
    return with_columns_of(_named(X, known), names)


def _named(X: Any, known: Sequence[str] | None) -> Any:
    """A frame or a dict of columns, as it is, unless the model knows columns by their places; else such a dict."""
    if isinstance(X, Mapping) or is_pandas(X) or is_arrow(X):
        given = read_table(X).names
        by_place = known is not None and tuple(known) == tuple(f"x{i}" for i in range(len(known)))
        if given is not None and not (by_place and set(given).isdisjoint(known or ())):
            return X
        columns = list(X.values()) if isinstance(X, Mapping) else _columns(X)
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X) if hasattr(X, "__array__") else None
        if array is not None and array.dtype.names is not None:
            return _named({name: array[name] for name in array.dtype.names}, known)
        read_table(X if array is None else array)  # refuses what is no table
        columns = _transposed(X) if array is None else [_cells(array[:, i]) for i in range(array.shape[1])]
    if known is not None and len(known) != len(columns):
        raise SchemaMismatch(f"X has {len(columns)} features, but {len(known)} were learned.")
    return dict(zip(known or [f"x{i}" for i in range(len(columns))], columns, strict=True))


def _columns(X: Any) -> list[Any]:
    if is_pandas(X):
        return [X.iloc[:, i] for i in range(X.shape[1])]
    return [X[i] for i in range(len(read_table(X).readers))]


def _transposed(rows: Iterable[Any]) -> list[list[Any]]:
    return [list(cells) for cells in zip(*rows, strict=True)]


def _cells(column: np.ndarray) -> np.ndarray:
    """A column of an array; codes are values, whatever their size, which a column alone says by text."""
    if column.dtype not in CODE_TYPES:
        return column
    missing = -1 if column.dtype.kind == "i" else np.iinfo(column.dtype).max
    texts = column.astype(str).astype(object)
    texts[column == missing] = None
    return texts
