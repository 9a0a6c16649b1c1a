"""A first look at the names in a text file: a wrong one is told before anything large is imported."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any, NamedTuple

from tanager.cli.reading import check_columns, target_column
from tanager.delimiters import sniff_delimiter

EXTENSIONS = (".csv", ".tsv", ".txt")
MOST = 1_000_000  # bytes of a header line; a longer one is left to the reader of the whole file


class Header(NamedTuple):
    """What a file is called, and its columns."""

    name: str
    columns: list[str]


def read_header(path: str, delimiter: str | None = None) -> Header | None:
    """The header of a plain text file; None where a first look is not enough to be sure of it."""
    if not path.lower().endswith(EXTENSIONS):
        return None
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            line = file.readline(MOST)
    except (OSError, UnicodeDecodeError):
        return None
    if not line.endswith("\n") or not line.strip() or line.count('"') % 2 or "\0" in line:
        return None
    delimiter = delimiter or sniff_delimiter(line)
    if len(delimiter) != 1:
        return None
    return Header(path, [name.strip() for name in next(csv.reader([line], delimiter=delimiter))])


def check_header(path: str, target: str | None, given: Mapping[str, Any]) -> None:
    """Raise DataError where a first look shows that columns of these names are not there; ``given`` are the options."""
    plain = given["format"] in (None, "csv", "tsv") and given["encoding"].lower() in ("utf-8", "utf8")
    header = read_header(path, given["delimiter"]) if plain else None
    if header is not None:
        check_columns(header, given["drop"], " (--drop)")
        target_column(header, target)
