"""open_table: a file of any format as a Source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tanager.errors import DataError, check_option
from tanager.files.arff import Arff
from tanager.files.columnar import Arrow, ArrowStream, Parquet
from tanager.files.delimited import Delimited
from tanager.files.places import Place
from tanager.files.source import MISSING, Source

ENDINGS = {
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
    """A table in a file, to be read in chunks or as a whole.

    Parameters
    ----------
    path : str or path
        CSV, TSV, Parquet, Arrow (Feather) or ARFF; text formats may be gzipped. "-" is standard input.
    format : {"csv", "tsv", "parquet", "arrow", "arff"}, default=None
        None tells by the first bytes, then by the ending; what says nothing is CSV.
    missing : sequence of str
        Cells of text formats that mean *missing*; by default empty ones, ?, NA, N/A, NaN, nan, null and NULL.
    delimiter : str, default=None
        What separates cells; None finds out which of ``, ; tab |`` the header has most of.
    encoding : str, default="utf-8"
        Of CSV and TSV.
    categorical, numeric : sequence of str
        Columns to read as text, or as numbers, whatever they look like.

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
        check_option("format", format, ENDINGS)
    place = Place(path)
    format = format or _format_of(place)
    if format in ("csv", "tsv"):
        source: Source = Delimited(place, delimiter or ("\t" if format == "tsv" else None), missing, encoding)
    elif format == "arff":
        source = Arff(place, missing)
    elif place.gzipped:
        raise DataError(f"{place.name} is gzipped, which {format} files compress by themselves. Unpack it (gunzip).")
    elif format == "parquet":
        source = Parquet(place)
    else:
        source = Arrow(place) if place.peek(6) == b"ARROW1" else ArrowStream(place)
    return source.force(categorical=categorical, numeric=numeric)


def _format_of(place: Place) -> str:
    for magic, format in MAGIC.items():
        if place.peek(len(magic)) == magic:
            return format
    ending = place.path.with_suffix("").suffix if place.path.suffix == ".gz" else place.path.suffix
    return next((format for format, endings in ENDINGS.items() if ending.lower() in endings), "csv")
