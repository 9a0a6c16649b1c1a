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
    """The feature columns, the labels, the options that the file declares, and the dropped columns with reasons."""

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
    """All labelled rows of a file, with the columns that ``learn`` would use; ``max_cells`` as in ``Source.read``.

    Columns that ``fit`` leaves out are dropped, but for those that ``kinds`` name: options of an ``Encoder`` such as
    ``keep`` and ``categorical``.
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
