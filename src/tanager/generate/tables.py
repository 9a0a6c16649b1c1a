"""Cells of a stream as Python values and as Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.generate.sources import MISSING, Column


def python_values(cells: np.ndarray, column: Column) -> list[Any]:
    """The values of a column; None where they are missing."""
    if column.values is None:
        return [None if cell != cell else cell for cell in cells.tolist()]
    values = dict(enumerate(column.values))
    return [values.get(code) for code in cells.tolist()]


def arrow_table(
    X: np.ndarray, y: np.ndarray, columns: Sequence[Column], classes: Sequence[object], class_name: str
) -> Any:
    """Rows and their classes as an Arrow table; the class is the last column."""
    import pyarrow as pa

    cells = [_arrow_cells(X[:, i], column) for i, column in enumerate(columns)]
    return pa.table(
        [*cells, _arrow_values(classes).take(pa.array(y))], [*(column.name for column in columns), class_name]
    )


def _arrow_cells(cells: np.ndarray, column: Column) -> Any:
    """Cells as an Arrow array, with nulls where they are missing."""
    import pyarrow as pa

    if column.values is None:
        return pa.array(cells, from_pandas=True)  # NaN is null
    return _arrow_values(column.values).take(pa.array(cells, mask=cells == MISSING))


def _arrow_values(values: Sequence[Any]) -> Any:
    """Values as an Arrow array; as text if they have several types."""
    import pyarrow as pa

    return pa.array(values if len({type(value) for value in values}) == 1 else [str(value) for value in values])
