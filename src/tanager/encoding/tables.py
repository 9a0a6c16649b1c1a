"""Any table as named columns of cells: NumPy arrays, lists, dicts here; pandas, polars and Arrow in ``frames``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.encoding import frames
from tanager.encoding.arrays import read_array, read_objects
from tanager.encoding.schema import refuse_duplicates
from tanager.encoding.values import Categories, Cells, Numbers
from tanager.errors import DataError

CODE_TYPES = tuple(np.dtype(kind) for kind in ("uint8", "uint16", "int8", "int16"))


class Table:
    """Columns that are read when asked for, once each.

    ``names`` is None when the source has none (arrays, lists of lists). ``codes`` is the array itself when the cells
    are codes already: uint8 or uint16, the largest value missing. ``gaps`` is for rows that are dicts: a name that is
    absent is missing.
    """

    def __init__(
        self,
        names: Sequence[str] | None,
        n_rows: int,
        readers: Sequence[Callable[[], Cells]],
        codes: np.ndarray | None = None,
        *,
        gaps: bool = False,
    ) -> None:
        self.gaps = gaps
        self.names = None if names is None else tuple(names)
        self.n_rows = n_rows
        self.readers = readers
        self.codes = codes
        self._cells: dict[int, Cells] = {}
        if self.names is not None:
            refuse_duplicates(self.names)
        if not self.readers:
            raise DataError(
                f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required. "
                "A table needs a column."
            )
        if n_rows == 0:
            raise DataError(
                f"Found array with 0 sample(s) (shape=(0, {self.n_columns})) while a minimum of 1 is required. "
                "A table needs a row."
            )

    @cached_property
    def limits(self) -> np.ndarray:
        """One more than the largest code of each column, for an array of codes."""
        return code_limits(self.codes)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.readers)

    def column(self, i: int) -> Cells:
        """The cells of a column; with i = -1 those of one that is absent."""
        if i < 0:
            return Categories([], np.full(self.n_rows, -1, dtype=np.int32))
        if i not in self._cells:
            self._cells[i] = self.readers[i]()
        return self._cells[i]

    def part(self, start: int, stop: int) -> Table:
        """Rows start..stop-1; columns are still read once, as a whole."""
        rows = slice(start, stop)
        if self.codes is not None:
            return _from_codes(self.codes[rows], self.names)
        readers = [partial(self._some, i, rows) for i in range(self.n_columns)]
        return Table(self.names, stop - start, readers, gaps=self.gaps)

    def _some(self, i: int, rows: slice) -> Cells:
        return self.column(i).take(rows)


def code_limits(codes: np.ndarray | None) -> np.ndarray:
    """One more than the largest code of each column, missing cells left out."""
    assert codes is not None
    limits = np.empty(codes.shape[1], dtype=codes.dtype)
    _kernels.code_limits(codes, limits)
    return limits


def read_table(X: Any) -> Table:
    """Any table: pandas, polars, Arrow, a 2-D array, a list of rows (sequences or dicts), a dict of columns."""
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ndarray):
        return _from_array(X)
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise DataError("X is a sparse matrix; a dense table is required. Pass X.toarray().")
    if frames.is_pandas(X):
        return _from_readers(*frames.pandas_columns(X))
    if hasattr(X, "__arrow_c_stream__"):
        return _from_readers(*frames.arrow_columns(X))
    if isinstance(X, Mapping):
        return _from_mapping(X)
    if hasattr(X, "__array__"):
        return _from_array(np.asarray(X))
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise DataError(f"X is a {type(X).__name__}, whose rows are not there yet. Pass X.collect().")
    if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
        raise DataError(_expected_2d(f"a {type(X).__name__}"))
    return _from_rows(list(X))


def row_of_frame(row: Any) -> Any:
    """A row of a pandas frame, such as ``X.iloc[0]``: a dict where it names its cells, else a list; others as is."""
    if not frames.is_pandas(row) or row.ndim != 1 or not hasattr(row, "items"):
        return row
    named = all(isinstance(name, str) for name in row.index)
    return dict(row.items()) if named else row.tolist()


def frame_names(X: Any) -> list[str] | None:
    """The names of the columns of a frame (pandas, polars, Arrow) where all of them are text; None for other tables."""
    if frames.is_pandas(X) and X.ndim == 2:
        names = list(X.columns)
    elif hasattr(X, "__arrow_c_stream__"):
        names = list(getattr(X, "column_names", None) or X.columns)
    else:
        return None
    n_texts = sum(isinstance(name, str) for name in names)
    if 0 < n_texts < len(names):
        raise DataError(
            f"the columns have names of different types, {names[:5]}: some are text, others not. "
            "Use X.columns = X.columns.astype(str)."
        )
    return [str(name) for name in names] if n_texts else None


def _from_readers(names: Sequence[object], n_rows: int, readers: Sequence[Callable[[], Cells]]) -> Table:
    """Names are used only when all of them are text, as in scikit-learn."""
    texts = [name for name in names if isinstance(name, str)]
    return Table(texts if len(texts) == len(names) else None, n_rows, readers)


def _from_array(X: np.ndarray) -> Table:
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: X has complex numbers. Pass their parts as two columns.")
    if X.dtype.names is not None:
        return _from_mapping({name: X[name] for name in X.dtype.names})
    if X.ndim != 2:
        raise DataError(_expected_2d(f"{X.ndim}D array"))
    if X.dtype in CODE_TYPES:
        return _from_codes(X)
    columns = np.asfortranarray(X)  # columns are read one by one, so each should be contiguous
    return Table(None, len(X), [partial(read_array, columns[:, i], f"x{i}") for i in range(X.shape[1])])


def code_table(X: np.ndarray, names: Sequence[str]) -> Table:
    """An array of codes as a table whose columns have these names."""
    return _from_codes(X, names)


def _from_codes(X: np.ndarray, names: Sequence[str] | None = None) -> Table:
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    codes = X.view(X.dtype.str.replace("i", "u"))
    if X.dtype.kind == "i" and X.size and (lowest := X.min()) < -1:
        row, column = np.argwhere(lowest == X)[0]
        name = f"x{column}" if names is None else names[column]
        raise DataError(f"column {name!r}, row {row}: {lowest} is not a code. Codes start at 0; -1 marks missing.")
    return Table(names, len(X), _CodeReaders(codes), codes)


class _CodeReaders(Sequence[Callable[[], Cells]]):
    """What reads the columns of an array of codes; made when it is asked for, which it mostly is not."""

    def __init__(self, codes: np.ndarray) -> None:
        self._codes = codes

    def __len__(self) -> int:
        return self._codes.shape[1]

    def __getitem__(self, i: Any) -> Any:
        return partial(_code_numbers, self._codes[:, i])


def _code_numbers(codes: np.ndarray) -> Cells:
    return Numbers(np.where(codes == np.iinfo(codes.dtype).max, np.nan, codes), "codes")


def read_column(cells: Any, name: str) -> Cells:
    """One column of any kind: an array, a pandas, polars or Arrow column, a sequence of objects, or cells already."""
    if isinstance(cells, Numbers | Categories):
        return cells
    if isinstance(cells, np.ndarray):
        return read_array(cells, name)
    if frames.is_pandas(cells):
        return frames.read_series(cells, name)
    if frames.is_arrow(cells):
        return frames.read_arrow(cells, name)
    return read_objects(cells if isinstance(cells, list | tuple) else list(cells), name)


def _from_mapping(columns: Mapping[str, Any]) -> Table:
    _refuse_other_names(columns)
    lengths = [(_length(cells, name), name) for name, cells in columns.items()]
    for n_rows, name in lengths:
        if n_rows != lengths[0][0]:
            raise DataError(f"column {name!r} has {n_rows} rows, column {lengths[0][1]!r} has {lengths[0][0]}.")
    readers = [partial(read_column, cells, name) for name, cells in columns.items()]
    return Table(list(columns), lengths[0][0] if lengths else 0, readers)


def _length(cells: Any, name: str) -> int:
    if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
        raise DataError(
            f"column {name!r} is {cells!r}, not a column of cells. A dict stands for a table of columns here; "
            "for one row pass a list with the dict in it."
        )
    return len(cells)


def _from_rows(rows: list[Any]) -> Table:
    kinds = set(map(type, rows))
    if rows and all(issubclass(kind, Mapping) for kind in kinds):
        names = list(dict.fromkeys(chain.from_iterable(rows)))
        _refuse_other_names(dict.fromkeys(names))
        cells = _DictCells(rows, names)
        return Table(names, len(rows), [partial(cells.column, i) for i in range(len(names))], gaps=True)
    for kind in kinds:
        if issubclass(kind, str | bytes | Mapping) or not hasattr(kind, "__len__"):
            r = next(r for r, row in enumerate(rows) if type(row) is kind)
            raise DataError(_expected_2d(f"1D array: row {r} is {rows[r]!r}"))
    if len(set(map(len, rows))) > 1:
        r = next(r for r, row in enumerate(rows) if len(row) != len(rows[0]))
        raise DataError(f"row {r} has {len(rows[r])} cells, row 0 has {len(rows[0])}. Give all rows the same length.")
    columns = list(zip(*rows, strict=True)) if rows else [()]
    return Table(None, len(rows), [partial(read_objects, cells, f"x{i}") for i, cells in enumerate(columns)])


class _DictCells:
    """The cells of rows that are dicts: those that are floats are read for all columns at once."""

    def __init__(self, rows: list[Mapping[str, Any]], names: list[str]) -> None:
        self._rows, self._names = rows, names

    @cached_property
    def _floats(self) -> tuple[np.ndarray, list[bool]]:
        numbers = np.empty((len(self._rows), len(self._names)), order="F")
        return numbers, _kernels.float_columns(self._rows, self._names, numbers)

    def column(self, i: int) -> Cells:
        numbers, sound = self._floats
        if sound[i]:
            return Numbers(numbers[:, i])
        return read_objects([row.get(self._names[i]) for row in self._rows], self._names[i])


def _refuse_other_names(columns: Mapping[Any, Any]) -> None:
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"column names must be text, found {name!r} ({type(name).__name__}). Use {str(name)!r}.")


def _expected_2d(found: str) -> str:
    return (
        f"Expected 2D array, got {found} instead. Reshape your data: X.reshape(-1, 1) if it is one column, "
        "X.reshape(1, -1) if it is one row."
    )
