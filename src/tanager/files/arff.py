"""ARFF, the file format of Weka: a header that declares every column, then dense or sparse rows.

Nominal columns have exactly the declared values; strings and dates are read as text.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO

import pyarrow as pa

from tanager.errors import DataError
from tanager.files.input_file import InputFile
from tanager.files.source import NUMBER, TEXT, Source, open_dictionaries

LINES = 65536  # parsed at a time
NUMBERS = ("numeric", "real", "integer")
QUOTED = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?!\s*['"])[^,]*)"""
CELL = re.compile(rf"\s*{QUOTED}\s*(,|$)")
SPARSE = re.compile(rf"\s*(\d+)\s+{QUOTED}\s*(?:,|$)")
ATTRIBUTE = re.compile(r"""@attribute\s+("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s{]+)\s*(.*)""", re.IGNORECASE)


Lines = Generator[str, None, None]


@dataclass(frozen=True)
class Attribute:
    """A column: numbers, nominal values, or (values None) any text."""

    name: str
    number: bool = False
    values: tuple[str, ...] | None = None

    @property
    def default(self) -> str:
        """The value of a cell that a sparse row leaves out."""
        return "0" if self.number or not self.values else self.values[0]


class Arff(Source):
    """An ARFF file."""

    def __init__(self, file: InputFile, missing: Sequence[str]) -> None:
        self._file = file
        self._missing = frozenset(missing)
        lines = self._lines(file.open())
        with contextlib.nullcontext() if file.stdin else contextlib.closing(lines), file.gzip_errors():
            self._attributes, self._header_lines = self._header(lines)
        self._rest = lines if file.stdin else None  # standard input cannot be opened again
        super().__init__(file.name, file.size, [attribute.name for attribute in self._attributes])
        self.repeatable = not file.stdin
        nominal = [a.name for a in self._attributes if a.values is not None]
        numbers = [a.name for a in self._attributes if a.number]
        self.options = {kind: names for kind, names in (("categorical", nominal), ("numeric", numbers)) if names}

    @property
    def done(self) -> float | None:
        return self._file.done

    def _open(self) -> Lines:
        """The lines after the header."""
        lines, self._rest = self._rest, None
        if lines is None:
            lines = self._lines(self._file.open())
            next(islice(lines, self._header_lines - 1, None))
        return lines

    def _lines(self, stream: IO[bytes]) -> Lines:
        with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
            try:
                yield from text
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                raise DataError(
                    f"{self._file.name}: the byte 0x{byte:02x} is not UTF-8 text. Save the file as UTF-8."
                ) from None

    def _header(self, lines: Iterator[str]) -> tuple[list[Attribute], int]:
        attributes: list[Attribute] = []
        for n_lines, line in enumerate(lines, 1):
            word = line.split(None, 1)[0].lower() if line.strip() else "%"
            if word == "@data":
                return attributes, n_lines
            if word == "@attribute":
                attributes.append(_attribute(line.strip(), f"{self._file.name}, line {n_lines:,}"))
            elif not word.startswith("%") and word != "@relation":
                raise DataError(
                    f"{self._file.name}, line {n_lines:,}: {line.strip()[:60]!r} is not valid in an ARFF header. "
                    "Expected @relation, @attribute or @data."
                )
        raise DataError(f"{self._file.name} has no @data line. Is it a complete ARFF file?")

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        line = self._header_lines
        with contextlib.closing(self._open()) as lines, self._file.gzip_errors():
            while block := list(islice(lines, LINES)):
                rows = [
                    (at, row) for at, text in enumerate(block, line + 1) if (row := self._row(text, at)) is not None
                ]
                line += len(block)
                if rows:
                    yield self._table(rows, columns)

    def _row(self, text: str, line: int) -> list[str] | None:
        text = text.strip()
        if not text or text.startswith("%"):
            return None
        if text.startswith("{"):
            return self._sparse(text, line)
        row = split(text)
        if row is None or len(row) != len(self.columns):
            found = "an unclosed quote" if row is None else f"{len(row):,} cells"
            raise DataError(
                f"{self.name}, line {line:,}: found {found}, expected {len(self.columns):,} cells, one for each "
                "attribute. Quote cells that contain commas; if the file ends here, it is truncated."
            )
        return row

    def _sparse(self, text: str, line: int) -> list[str]:
        """A row in braces: index and value of the cells that are not 0 (numeric) or the first value (nominal)."""
        row = [attribute.default for attribute in self._attributes]
        at, cells = 0, text[1:-1].strip()
        while at < len(cells):
            match = SPARSE.match(cells, at)
            if match is None or int(match[1]) >= len(row) or not text.endswith("}"):
                raise DataError(
                    f"{self.name}, line {line:,}: {text[:60]!r} is not a sparse row. Expected indices from 0 to "
                    f"{len(row) - 1} and values in braces, such as {{1 5.1, 3 red}}."
                )
            row[int(match[1])] = unquote(match[2].strip())
            at = match.end()
        return row

    def _table(self, rows: list[tuple[int, list[str]]], columns: list[str]) -> pa.Table:
        arrays, fields = [], []
        for name in columns:
            i = self.columns.index(name)
            attribute = self._attributes[i]
            missing = self._missing - (set(attribute.values or ()) - {"?"})
            cells = [None if row[i] in missing else row[i] for _, row in rows]
            arrays.append(self._array(attribute, cells, lambda at: rows[at][0]))
            fields.append(pa.field(name, arrays[-1].type))
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        text = [name for name in columns if self._attributes[self.columns.index(name)].values is None]
        return open_dictionaries(table, text)

    def _array(self, attribute: Attribute, cells: list[str | None], line_of: Callable[[int], int]) -> pa.Array:
        if attribute.number and self.kinds.get(attribute.name) != TEXT:
            return pa.array(self._convert(attribute, cells, float, line_of, "not a number"), NUMBER)
        if attribute.values is None or attribute.number or self.kinds.get(attribute.name) == NUMBER:
            return pa.array(cells, pa.string()).dictionary_encode()
        places = {value: v for v, value in enumerate(attribute.values)}
        codes = self._convert(attribute, cells, places.__getitem__, line_of, "not among the declared values")
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(attribute.values, pa.string()))

    def _convert(
        self,
        attribute: Attribute,
        cells: list[str | None],
        convert: Callable[[str], float],
        line_of: Callable[[int], int],
        what: str,
    ) -> list[float | None]:
        try:
            return [None if cell is None else convert(cell) for cell in cells]
        except (KeyError, ValueError):
            at, cell = next((at, cell) for at, cell in enumerate(cells) if cell is not None and _fails(convert, cell))
            raise DataError(
                f"{self.name}, line {line_of(at):,}, column {attribute.name!r}: {cell!r} is {what}. "
                "Correct the cell, or the @attribute line."
            ) from None


def _fails(convert: Callable[[str], float], cell: str) -> bool:
    try:
        convert(cell)
    except (KeyError, ValueError):
        return True
    return False


def _attribute(line: str, place: str) -> Attribute:
    match = ATTRIBUTE.fullmatch(line)
    name, kind = (unquote(match[1]), match[2].strip()) if match else ("", "")
    word = kind.split(None, 1)[0].lower() if kind else ""
    if kind.startswith("{"):
        values = split(kind[1:].partition("}")[0] if "'" not in kind and '"' not in kind else kind[1 : kind.rfind("}")])
        if values is not None and kind.rstrip().endswith("}"):
            return Attribute(name, values=tuple(dict.fromkeys(values)))
    elif word in NUMBERS:
        return Attribute(name, number=True)
    elif word in ("string", "date"):
        return Attribute(name)
    raise DataError(
        f"{place}: {line[:60]!r} is not a valid declaration. Expected @attribute, a name, and numeric, string, date or "
        "nominal values in braces."
    )


def split(text: str) -> list[str] | None:
    """Comma-separated cells without their quotes; None where a quote is not closed.

    >>> split("5.1, 'a, b' ,?")
    ['5.1', 'a, b', '?']
    """
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    cells, at = [], 0
    while True:
        match = CELL.match(text, at)
        if match is None:
            return None
        cells.append(unquote(match[1].strip()))
        at = match.end()
        if not match[2]:
            return cells


def unquote(text: str) -> str:
    """Remove the quotes around a text, and the backslashes that escape characters in it."""
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
