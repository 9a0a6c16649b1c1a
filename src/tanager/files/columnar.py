"""Parquet and Arrow (Feather) files: batches are read as they are stored, text as dictionaries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tanager.errors import DataError
from tanager.files.input_file import InputFile
from tanager.files.source import NUMBER, ROWS, TEXT, Source, every, open_dictionaries

PARTS = 32  # row groups or batches that a sample is taken from


class Columnar(Source):
    """What Parquet and Arrow files have in common: typed columns and a known number of rows."""

    def __init__(self, file: InputFile, schema: pa.Schema, n_rows: int | None) -> None:
        with arrow_errors(file.name):
            names = schema.names  # which need not be UTF-8
        super().__init__(file.name, file.size, names)
        self.schema = schema
        self.n_rows = n_rows
        self._rows_done = 0
        self.repeatable = not file.stdin

    @property
    def done(self) -> float | None:
        return self._rows_done / self.n_rows if self.n_rows else None

    def _batches(self, columns: list[str], parts: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The rows of some parts (row groups or batches), as they are stored."""
        raise NotImplementedError

    def _n_parts(self) -> int:
        raise NotImplementedError

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        self._rows_done = 0
        with arrow_errors(self.name):
            for batch in self._batches(columns, range(self._n_parts())):
                self._rows_done += batch.num_rows
                yield self._plain(batch, columns)

    def _sample(self, columns: list[str], n_rows: int) -> Iterator[pa.Table]:
        """Evenly spaced parts; an equal share of rows from each."""
        n = self._n_parts()
        parts = sorted(set(np.linspace(0, n - 1, min(n, PARTS)).astype(int).tolist())) if n else []
        share = -(-n_rows // max(1, len(parts)))
        with arrow_errors(self.name):
            for part in parts:
                tables = [self._plain(batch, columns) for batch in self._batches(columns, [part])]
                n = sum(table.num_rows for table in tables)
                yield from (every(table, max(1, n // share)) for table in tables)

    def _plain(self, batch: pa.RecordBatch, columns: list[str]) -> pa.Table:
        """Text as open dictionaries, and columns of the requested kinds. Of a damaged batch nothing is read."""
        batch.validate(full=True)  # Arrow trusts offsets and places in dictionaries, and would read other memory
        return open_dictionaries(pa.table({name: self._cells(batch.column(name), name) for name in columns}))

    def _cells(self, column: pa.Array, name: str) -> pa.Array:
        text, wanted = _is_text(column.type), self.kinds.get(name)
        if wanted == NUMBER and text:
            return self._numbers(column, name)
        if wanted == TEXT and not text:
            return column.cast(pa.string()).dictionary_encode()
        return column.cast(TEXT) if text else column

    def _numbers(self, column: pa.Array, name: str) -> pa.Array:
        try:
            return column.cast(pa.string()).cast(NUMBER)
        except pa.ArrowInvalid:
            raise DataError(
                f"{self.name}, column {name!r} contains text that is not a number. "
                f"Read the column as text with categorical=[{name!r}] (--categorical {name})."
            ) from None


class Parquet(Columnar):
    """A Parquet file; its parts are row groups."""

    def __init__(self, file: InputFile) -> None:
        with arrow_errors(file.name):
            data = stored_bytes(file)
            schema = pq.read_schema(data)
            text = [field.name for field in schema if _is_text(field.type)]
            self._file = pq.ParquetFile(data, read_dictionary=text)
        super().__init__(file, schema, self._file.metadata.num_rows)

    def _n_parts(self) -> int:
        return int(self._file.num_row_groups)

    def _batches(self, columns: list[str], parts: Sequence[int]) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = self._file.iter_batches(ROWS, list(parts), columns)
        return batches


class Arrow(Columnar):
    """An Arrow file; its parts are record batches."""

    def __init__(self, file: InputFile) -> None:
        with arrow_errors(file.name):
            data = stored_bytes(file)
            self._file = pa.ipc.open_file(data)
            # The footer does not hold the number of rows; reading one column is enough to count them.
            narrow = pa.ipc.open_file(data, options=pa.ipc.IpcReadOptions(included_fields=[0]))
            n_rows = sum(narrow.get_batch(i).num_rows for i in range(narrow.num_record_batches))
        super().__init__(file, self._file.schema, n_rows)

    def _n_parts(self) -> int:
        return int(self._file.num_record_batches)

    def _batches(self, columns: list[str], parts: Sequence[int]) -> Iterator[pa.RecordBatch]:
        return (self._file.get_batch(i).select(columns) for i in parts)


class ArrowStream(Columnar):
    """The Arrow streaming format: read from beginning to end, so a sample is the first rows."""

    def __init__(self, file: InputFile) -> None:
        with arrow_errors(file.name):
            self._data = stored_bytes(file)
            schema = pa.ipc.open_stream(self._data).schema
        super().__init__(file, schema, None)

    def _n_parts(self) -> int:
        return 1

    def _batches(self, columns: list[str], parts: Sequence[int]) -> Iterator[pa.RecordBatch]:
        self._data.seek(0)
        return (batch.select(columns) for batch in pa.ipc.open_stream(self._data))

    def _sample(self, columns: list[str], n_rows: int) -> Iterator[pa.Table]:
        return Source._sample(self, columns, n_rows)


def stored_bytes(file: InputFile) -> pa.NativeFile:
    """A memory map of the file; standard input is read into memory."""
    return pa.BufferReader(file.open().read()) if file.stdin else pa.memory_map(str(file.path))


@contextlib.contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """Turn Arrow's errors into a DataError of one sentence, with the name of the file."""
    try:
        yield
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None  # Arrow looks for Ctrl-C by itself while it reads
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        what = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise DataError(f"{name} cannot be read: {what}. Check that the file is complete, and its format=.") from None


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
