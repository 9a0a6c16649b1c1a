"""A labelled table read whole, for methods that need several passes over the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tanager.errors import DataError
from tanager.files.learn import _no_nan, _refuse_one_class, as_labels, feature_columns, own_values
from tanager.files.source import Source
from tanager.learning.counts_classifier import CountsClassifier


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
    categorical: Any = None,
    max_cells: int | None = None,
) -> LabelledTable:
    """All labelled rows of a file, with the columns that ``learn`` would use; ``max_cells`` as in ``Source.read``."""
    drop = list(drop)
    columns = feature_columns(source, target, drop)
    table = source.read([*columns, target], max_cells=max_cells)
    table = table.filter(pc.is_valid(_no_nan(table[target])))
    if table.num_rows == 0:
        raise DataError(f"{source.name}: no row has a label in column {target!r}. At least one row needs a class.")
    _refuse_one_class(source, target, table[target])
    own = own_values(table, columns, CountsClassifier(categorical=categorical))
    dropped = dict.fromkeys(drop, "asked for") | dict.fromkeys(own, "every row has its own value")
    X = table.select([name for name in columns if name not in own])
    if not X.num_columns:
        raise DataError(f"{source.name}: no column is left to learn from. Every row has its own value in {own[0]!r}.")
    options = {
        kind: kept
        for kind, names in source.options.items()
        if (kept := [name for name in names if name in X.column_names])
    }
    return LabelledTable(X, as_labels(table[target], target), options, dropped)
