"""A labelled table read whole, for methods that need several passes over the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tanager.encoding import Encoder
from tanager.errors import DataError
from tanager.files.learn import _no_nan, _refuse_one_class, as_labels, feature_columns
from tanager.files.source import Source


class LabelledTable(NamedTuple):
    """A table of features with its labels, as ``read_labelled`` gives it.

    Parameters
    ----------
    X : pyarrow.Table
        The columns to learn from.
    y : array or column
        The label of every row.
    options : dict
        Kinds of columns that the file declares (ARFF), to be passed to a classifier: ``AODE(**table.options)``.
    dropped : dict of str to str
        The columns that were left out, and why.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.files import open_table, read_labelled
    >>> kinds = "@attribute sky {sun,rain}\\n@attribute wind numeric\\n@attribute class {play,stay}\\n"
    >>> with tempfile.NamedTemporaryFile("w", suffix=".arff") as file:
    ...     _ = file.write("@relation weather\\n" + kinds + "@data\\nsun,1.5,play\\nrain,3.0,stay\\n")
    ...     file.flush()
    ...     table = read_labelled(open_table(file.name), "class")
    >>> table.X.column_names, table.options
    (['sky', 'wind'], {'categorical': ['sky'], 'numeric': ['wind']})
    """

    X: pa.Table
    y: Any
    options: dict[str, list[str]]
    dropped: dict[str, str]


def read_labelled(
    source: Source,
    target: str,
    *,
    drop: Iterable[str] = (),
    max_cells: int | None = None,
    **kinds: Any,
) -> LabelledTable:
    """All labelled rows of a file, with the columns that ``learn`` would use.

    For methods that go over the rows several times, such as ``tanager.evaluate.cross_validate``.

    Parameters
    ----------
    source : Source
        From ``open_table``.
    target : str
        The column with the classes. Rows without a label are left out.
    drop : names of columns
        Not to be read. Columns that ``fit`` leaves out of any table are dropped too.
    max_cells : int, default=None
        A larger table is refused as soon as that is known; None reads any.
    **kinds
        Options of an ``Encoder`` such as ``keep`` and ``categorical``. Columns that they name are not dropped.

    Returns
    -------
    LabelledTable
        The columns, the labels, options for a classifier, and what was dropped.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.files import open_table, read_labelled
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("id,sky,class\\n1,sun,play\\n2,rain,stay\\n3,rain,\\n")
    ...     file.flush()
    ...     table = read_labelled(open_table(file.name), "class", drop=["id"])
    >>> table.X.to_pydict(), table.y.to_pylist()  # the last row has no label
    ({'sky': ['sun', 'rain']}, ['play', 'stay'])
    >>> table.dropped
    {'id': 'asked for'}
    """
    drop = list(drop)
    columns = feature_columns(source, target, drop)
    table = source.read([*columns, target], max_cells=max_cells)
    table = table.filter(pc.is_valid(_no_nan(table[target])))
    if table.num_rows == 0:
        raise DataError(f"{source.name}: no row has a label in column {target!r}. At least one row needs a class.")
    _refuse_one_class(source, target, table[target])
    own = {
        gone.name: gone.reason
        for gone in Encoder(**_declared(source, columns, kinds)).leaves_out(table.select(columns))
    }
    dropped = dict.fromkeys(drop, "asked for") | own
    X = table.select([name for name in columns if name not in own])
    options = {
        kind: kept
        for kind, names in source.options.items()
        if (kept := [name for name in names if name in X.column_names])
    }
    return LabelledTable(X, as_labels(table[target], target), options, dropped)


def _declared(source: Source, columns: list[str], kinds: dict[str, Any]) -> dict[str, Any]:
    """Options of an encoder: kinds that the file declares for these columns, where none are given."""
    given = {kind: names for kind, names in kinds.items() if names}
    if {"categorical", "numeric"} & set(given):
        return given
    return {kind: [name for name in names if name in columns] for kind, names in source.options.items()} | given
