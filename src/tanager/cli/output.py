"""Files that a command writes: whole or not at all, and never over their own input."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tanager.errors import OptionError
from tanager.writing import whole_file

FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def check_output(path: str, *inputs: str | None) -> None:
    """Refuse, before the work begins, a name that cannot be written or that would replace an input."""
    if path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise OptionError(f"cannot write {path!r}: this is a folder. Name a file in it.")
    if not target.absolute().parent.is_dir():
        raise OptionError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}. Make it first.")
    if not os.access(target.absolute().parent, os.W_OK):
        raise OptionError(f"cannot write {path!r}: the folder {str(target.parent)!r} may not be written to.")
    for name in inputs:
        if name is not None and target.exists() and os.path.exists(name) and os.path.samefile(target, name):
            raise OptionError(f"writing {path!r} would replace the file that is read. Choose another name with -o.")


@contextlib.contextmanager
def written(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when all is written and leaves no trace otherwise; ``-`` is stdout."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(path) as file:
        yield file


def table_format(path: str) -> str:
    """csv, tsv, parquet or jsonl, by the ending of a name; stdout is csv."""
    if path == "-":
        return "csv"
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise OptionError(f"cannot write {path!r}: the ending says no format. Use one of {', '.join(FORMATS)}.")
    return FORMATS[ending]


class TableWriter:
    """Writes Arrow tables of one schema, one after the other, in any of the formats."""

    def __init__(self, file: BinaryIO, format: str) -> None:
        self.file, self.format = file, format
        self._parquet: Any = None
        self._begun = False

    def write(self, table: Any) -> None:
        """Add the rows of a table."""
        if self.format == "parquet":
            self._write_parquet(table)
        elif self.format == "jsonl":
            lines = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
            self.file.write("".join(f"{line}\n" for line in lines).encode())
        else:
            self._write_text(table, "," if self.format == "csv" else "\t")
        self._begun = True

    def _write_parquet(self, table: Any) -> None:
        from pyarrow import parquet

        if self._parquet is None:
            self._parquet = parquet.ParquetWriter(self.file, table.schema)
        self._parquet.write_table(table)

    def _write_text(self, table: Any, delimiter: str) -> None:
        if not self._begun:  # Arrow would quote every name
            head = io.StringIO()
            csv.writer(head, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
            self.file.write(head.getvalue().encode())
        self.file.write(_text(table, delimiter))

    def close(self) -> None:
        """Finish the file; Parquet has its contents at the end."""
        if self._parquet is not None:
            self._parquet.close()


def _text(table: Any, delimiter: str) -> bytes:
    """Lines of cells. Arrow quotes all text or, where no cell needs it, none."""
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    for style in ("none", "needed"):
        lines = pa.BufferOutputStream()
        with contextlib.suppress(pa.ArrowInvalid):
            write_csv(table, lines, WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style))
            break
    return lines.getvalue().to_pybytes()
