"""Source: a table in a file, read as a sequence of Arrow tables in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tanager.encoding.arrow_columns import arrow_column
from tanager.encoding.frames import OPEN
from tanager.encoding.marks import MARKS
from tanager.encoding.matching import there
from tanager.errors import DataError, OptionError, SchemaMismatch, nearest

MISSING = MARKS
ROWS = 65536 * 4
TEXT = pa.dictionary(pa.int32(), pa.string())
NUMBER = pa.float64()


class Source:
    """A table that is read in chunks; returned by ``open_table``.

    Parameters
    ----------
    name : str
        The path as it was written, or ``<stdin>``.
    size : int or None
        Size of the file in bytes; None where it is not known.
    columns : sequence of str
        Their names, in the order of the file; all different.

    Attributes
    ----------
    name : str
        The path as it was written, or ``<stdin>``.
    columns : tuple of str
        Their names, in the order of the file.
    n_rows : int or None
        Where the file format stores it.
    size : int or None
        Size of the file in bytes.
    repeatable : bool
        Whether it can be read more than once; standard input cannot.
    options : dict
        ``{"categorical": [...], "numeric": [...]}`` where the file itself declares kinds (ARFF), else empty.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.files import open_table
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("sky,code\\n" + "sun,1\\nrain,2\\n" * 3)
    ...     file.flush()
    ...     source = open_table(file.name).force(categorical=["code"])  # no numbers, though they look like some
    ...     for table in source.chunks(rows=4):
    ...         print(table.num_rows, table["code"].to_pylist())
    4 ['1', '2', '1', '2']
    2 ['1', '2']
    >>> source.columns, source.repeatable
    (('sky', 'code'), True)
    """

    n_rows: int | None = None
    repeatable: bool = True

    def __init__(self, name: str, size: int | None, columns: Sequence[str]) -> None:
        self.name = name
        self.size = size
        self.columns = tuple(columns)
        self.options: dict[str, list[str]] = {}
        self.kinds: dict[str, pa.DataType] = {}  # requested by the caller or by a model
        _check_names(name, self.columns)

    @property
    def done(self) -> float | None:
        """The fraction read so far in the current pass; None when unknown."""
        raise NotImplementedError

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """The rows, in tables of any length."""
        raise NotImplementedError

    def _sample(self, columns: list[str], n_rows: int) -> Iterator[pa.Table]:
        """Rows from all over the file; here its first ones, for formats that are read from beginning to end."""
        for table in self._tables(columns):
            yield table
            n_rows -= table.num_rows
            if n_rows <= 0:
                return

    def chunks(self, columns: Iterable[str] | None = None, rows: int | None = ROWS) -> Iterator[pa.Table]:
        """Tables of ``rows`` rows, the last one shorter, in file order; None takes the blocks as they are parsed.

        Parameters
        ----------
        columns : iterable of str or None, default=None
            The columns to read; None reads all.
        rows : int or None, default=262,144
            Rows of a table.

        Returns
        -------
        iterator of pyarrow.Table
            Read from the file as they are asked for.
        """
        tables = self._tables(self._wanted(columns))
        return tables if rows is None else rechunk(tables, rows)

    def read(self, columns: Iterable[str] | None = None, *, max_cells: int | None = None) -> pa.Table:
        """All rows as one table; one of more than ``max_cells`` is refused as soon as that is known.

        Parameters
        ----------
        columns : iterable of str or None, default=None
            The columns to read; None reads all.
        max_cells : int or None, default=None
            Rows times columns; None reads any number.

        Returns
        -------
        pyarrow.Table
            With at least one row.
        """
        tables, n_cells = [], 0
        for table in self._tables(self._wanted(columns)):
            n_cells += table.num_rows * table.num_columns
            if max_cells is not None and n_cells > max_cells:
                raise DataError(
                    f"{self.name} has more than {max_cells:,} cells, the most that is read. Take a part of it."
                )
            tables.append(table)
        if not tables:
            raise self._no_rows()
        return pa.concat_tables(tables)

    def sample(self, n_rows: int, columns: Iterable[str] | None = None) -> pa.Table:
        """About ``n_rows`` rows, spread evenly over the file where it allows random access, else its first rows.

        Parameters
        ----------
        n_rows : int
            How many rows are wanted.
        columns : iterable of str or None, default=None
            The columns to read; None reads all.

        Returns
        -------
        pyarrow.Table
            With at least one row.
        """
        parts = list(self._sample(self._wanted(columns), n_rows))
        if not parts:
            raise self._no_rows()
        return pa.concat_tables(parts)

    def force(self, *, categorical: Iterable[str] = (), numeric: Iterable[str] = ()) -> Source:
        """Read these columns as text, or as numbers, instead of detecting which.

        Parameters
        ----------
        categorical : iterable of str, default=()
            Columns to read as text.
        numeric : iterable of str, default=()
            Columns to read as numbers.

        Returns
        -------
        Source
            Itself.
        """
        for option, names, kind in (("categorical", categorical, TEXT), ("numeric", numeric, NUMBER)):
            for name in names:
                if name not in self.columns:
                    raise OptionError(f"{option}: {self.name} has no column {name!r}.{nearest(name, self.columns)}")
                if self.kinds.setdefault(name, kind) != kind:
                    raise OptionError(f"column {name!r} is requested as both categorical and numeric. Choose one.")
        return self

    def match(self, model: Any) -> Source:
        """Read the columns and the target as the model learned them: text as text, numbers as numbers.

        Parameters
        ----------
        model : classifier
            A fitted one.

        Returns
        -------
        Source
            Itself.
        """
        kinds = {column.table_name: _learned_kind(column) for column in model.encoder_.schema.columns}
        if getattr(model, "target_name_", None) is not None:
            kinds[model.target_name_] = _kind_of_values(model.classes_.tolist())
        self.kinds |= {name: kind for name, kind in kinds.items() if kind is not None and name in self.columns}
        return self

    def columns_of(self, model: Any) -> list[str]:
        """The columns of a fitted model that the file has; the others are missing values. None of them is an error.

        Parameters
        ----------
        model : classifier
            A fitted one.

        Returns
        -------
        list of str
            Names of columns.
        """
        return there(self.columns, model.encoder_.schema, "the model", self.name)

    def _wanted(self, columns: Iterable[str] | None) -> list[str]:
        wanted = list(self.columns if columns is None else columns)
        for name in wanted:
            if name not in self.columns:
                raise SchemaMismatch(f"{self.name} has no column {name!r}.{nearest(name, self.columns)}")
        return wanted

    def _no_rows(self) -> DataError:
        return DataError(f"{self.name} has a header but no rows. At least one row is needed.")

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f", {self.n_rows:,} rows"
        return f"<{type(self).__name__} {self.name!r}: {len(self.columns)} columns{rows}>"


def rechunk(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of ``rows`` rows each, without copying."""
    if rows < 1:
        raise OptionError(f"rows={rows!r} must be at least 1.")
    waiting: list[pa.Table] = []
    n = 0
    for table in tables:
        waiting.append(table)
        n += table.num_rows
        if n < rows:
            continue
        whole, start = pa.concat_tables(waiting), 0
        while n - start >= rows:
            yield whole.slice(start, rows)
            start += rows
        waiting, n = [whole.slice(start)], n - start
    if n:
        yield pa.concat_tables(waiting)


def every(table: pa.Table, step: int, start: int = 0) -> pa.Table:
    """Every ``step``-th row of a table."""
    if step == 1:
        return table
    keep = np.zeros(table.num_rows, dtype=bool)
    keep[start::step] = True
    return table.filter(arrow_column(keep))


def open_dictionaries(table: pa.Table, names: Sequence[str] | None = None) -> pa.Table:
    """The same table, its dictionaries (or those of ``names``) marked as not declaring all values of their columns."""
    fields = [
        field.with_metadata({OPEN: b""})
        if pa.types.is_dictionary(field.type) and (names is None or field.name in names)
        else field
        for field in table.schema
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def _check_names(name: str, columns: Sequence[str]) -> None:
    if not columns:
        raise DataError(f"{name} has no columns.")
    first: dict[str, int] = {}
    for i, column in enumerate(columns, start=1):
        if not column.strip():
            raise DataError(f"{name}: column {i} of {len(columns)} has no name. Name it in the header.")
        if first.setdefault(column, i) < i:
            raise DataError(f"{name}: columns {first[column]} and {i} are both named {column!r}. Rename one of them.")


def _learned_kind(column: Any) -> pa.DataType | None:
    if column.part:
        return TEXT  # as dates are written
    return _kind_of_values(column.values) if column.kind in ("categorical", "ordinal") else NUMBER


def _kind_of_values(values: Sequence[object]) -> pa.DataType | None:
    """How a file must be read so that these values match; None where it does not matter."""
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return TEXT
    return NUMBER if kinds and kinds <= {int, float} else None
