"""Files that are written completely or not at all, and tables written in chunks."""

from __future__ import annotations

import contextlib
import csv
import errno
import gzip
import io
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tanager.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

GZIP_LEVEL = 6  # level 9 takes twenty times as long for files that are a tenth smaller
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv.gz": "csv.gz",
    ".tsv.gz": "tsv.gz",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when all is written and synced; after an error nothing is left of it.

    Other processes see the old file or the new one, never a part. A symbolic link stays a link, and the new file has
    the permissions of the old one.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        missing = str(target.parent)
        raise FileNotFoundError(f"cannot write {os.fspath(path)!r}: there is no folder {missing!r}. Make it first.")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {os.fspath(path)!r}: this is a folder. Name a file in it.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o7777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    with contextlib.suppress(OSError):  # the file is complete, and cannot be taken back any more
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that names made, changed or removed in it stay so after a power cut.

    Fails where it cannot be done: without it a synced file may be gone. Windows has no such call, and some network
    file systems answer that a folder cannot be synced (EINVAL); there names last by themselves.
    """
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def table_format(path: str) -> str:
    """The format of a table by the ending of its name: csv or tsv (.gz), parquet or jsonl; stdout is csv."""
    if path == "-":
        return "csv"
    name = Path(path).name.lower()
    ending = "".join(Path(name).suffixes[-2:]) if name.endswith(".gz") else Path(name).suffix
    if ending not in FORMATS:
        raise OptionError(f"cannot write {path!r}: unknown extension. Use one of {', '.join(FORMATS)}.")
    return FORMATS[ending]


class TableWriter:
    """Writes Arrow tables of one schema, one after the other, in any of the formats."""

    def __init__(self, file: BinaryIO, format: str) -> None:
        self.format = format.removesuffix(".gz")
        self._zipped = gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) if format.endswith(".gz") else None
        self.file: BinaryIO | gzip.GzipFile = self._zipped or file
        self._parquet: ParquetWriter | None = None
        self._begun = False

    def write(self, table: pa.Table) -> None:
        """Add the rows of a table."""
        if self.format == "parquet":
            self._write_parquet(table)
        elif self.format == "jsonl":
            lines = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
            self.file.write("".join(f"{line}\n" for line in lines).encode())
        else:
            self._write_text(table, "," if self.format == "csv" else "\t")
        self._begun = True

    def _write_parquet(self, table: pa.Table) -> None:
        from pyarrow import parquet

        if self._parquet is None:
            self._parquet = parquet.ParquetWriter(self.file, table.schema)
        self._parquet.write_table(table)

    def _write_text(self, table: pa.Table, delimiter: str) -> None:
        if not self._begun:  # Arrow would quote every name
            head = io.StringIO()
            csv.writer(head, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
            self.file.write(head.getvalue().encode())
        self.file.write(_text(table, delimiter))

    def close(self) -> None:
        """Finish the file; Parquet has its contents at the end."""
        if self._parquet is not None:
            self._parquet.close()
        if self._zipped is not None:
            self._zipped.close()


def _text(table: pa.Table, delimiter: str) -> bytes:
    """Lines of cells. Arrow quotes all text or, where no cell needs it, none."""
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    for style in ("none", "needed"):
        lines = pa.BufferOutputStream()
        with contextlib.suppress(pa.ArrowInvalid):
            write_csv(table, lines, WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style))
            break
    text: bytes = lines.getvalue().to_pybytes()
    return text
