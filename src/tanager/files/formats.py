"""open_table: detects the format of a file and opens it as a Source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tanager.errors import DataError, check_option
from tanager.files.arff import Arff
from tanager.files.columnar import Arrow, ArrowStream, Parquet
from tanager.files.delimited import Delimited
from tanager.files.input_file import InputFile
from tanager.files.source import MISSING, Source

EXTENSIONS = {
    "csv": (".csv", ".txt", ".data"),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "arff": (".arff",),
}
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}


def open_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    missing: Sequence[str] = MISSING,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    categorical: Iterable[str] = (),
    numeric: Iterable[str] = (),
) -> Source:
    """Open a table in a file, to be read in chunks or whole.

    Parameters
    ----------
    path : str or path
        CSV, TSV, Parquet, Arrow (Feather) or ARFF; text formats may be gzipped. "-" is standard input.
    format : {"csv", "tsv", "parquet", "arrow", "arff"}, default=None
        None detects it from the first bytes, then from the file extension; the default is CSV.
    missing : sequence of str
        Cells of text formats that mean *missing*; by default empty ones, ?, NA, N/A, n/a, #N/A, NaN, nan,
        null and NULL.
    delimiter : str, default=None
        The field separator; None takes the most frequent one of ``, ; tab |`` in the header.
    encoding : str, default="utf-8"
        Of CSV and TSV.
    categorical, numeric : sequence of str
        Columns to read as text, or as numbers, instead of detecting which.

    Returns
    -------
    Source
        Of which only the beginning was read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("sky,wind,class\\nsun,1.5,play\\nrain,?,stay\\n")
    ...     file.flush()
    ...     open_table(file.name).read().to_pylist()
    [{'sky': 'sun', 'wind': 1.5, 'class': 'play'}, {'sky': 'rain', 'wind': None, 'class': 'stay'}]
    """
    if format is not None:
        check_option("format", format, EXTENSIONS)
    file = InputFile(path)
    format = format or _format_of(file)
    if format in ("csv", "tsv"):
        source: Source = Delimited(file, delimiter or ("\t" if format == "tsv" else None), missing, encoding)
    elif format == "arff":
        source = Arff(file, missing)
    elif file.gzipped:
        raise DataError(
            f"{file.name}: {format} has its own compression, and is not read when gzipped. Use gunzip first."
        )
    elif format == "parquet":
        source = Parquet(file)
    else:
        source = Arrow(file) if file.peek(6) == b"ARROW1" else ArrowStream(file)
    return source.force(categorical=categorical, numeric=numeric)


def _format_of(file: InputFile) -> str:
    for magic, format in MAGIC.items():
        if file.peek(len(magic)) == magic:
            return format
    path = file.path.with_suffix("") if file.path.suffix == ".gz" else file.path
    return next((format for format, known in EXTENSIONS.items() if path.suffix.lower() in known), "csv")
