"""Why a block of delimited text cannot be parsed: a slow second pass finds the line to name in the error.

Arrow's parser is fast and says little about what went wrong; it also counts from the beginning of a block. So the block
is read again by Python's csv module, which is slow but runs once per failure.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from tanager.errors import DataError
from tanager.files.source import NUMBER
from tanager.files.text_blocks import decode


@dataclass(frozen=True)
class Diagnosis:
    """What is expected of the blocks of one file."""

    name: str
    columns: Sequence[str]
    delimiter: str
    encoding: str
    missing: Sequence[str]
    kinds: Mapping[str, pa.DataType]  # of the columns that are read
    requested: frozenset[str]  # columns whose kind the caller asked for

    def raise_error(self, block: bytes, line: int) -> NoReturn:
        """Raise DataError for the first line of a block, which begins at ``line``, that cannot be read."""
        rows, lines = self._rows(block, line)
        wrong = [(at, name) for name in self.kinds if (at := self._first_not_a_number(name, rows)) is not None]
        if wrong:
            at, name = min(wrong)
            raise DataError(self._not_a_number(lines[at], name, rows[at][self.columns.index(name)]))
        raise DataError(f"{self.name}, lines {line:,} to {line + block.count(10):,}: the cells cannot be read.")

    def _rows(self, block: bytes, line: int) -> tuple[list[list[str]], list[int]]:
        """The rows of a block and their lines. A row with too few or too many cells is an error."""
        text = io.StringIO(decode(block, self.encoding, self.name, line), newline="")
        reader = csv.reader(text, delimiter=self.delimiter)
        n_newlines = block.count(b"\n")
        rows: list[list[str]] = []
        lines: list[int] = []
        try:
            for row in reader:
                if row:
                    rows.append(row)
                    lines.append(line + reader.line_num - 1)
                    cut_off = not block.endswith(b"\n") and reader.line_num > n_newlines
                    self._check_length(row, lines[-1], cut_off=cut_off)
        except csv.Error as error:
            raise DataError(f"{self.name}, line {line + reader.line_num - 1:,}: {error}.") from None
        return rows, lines

    def _check_length(self, row: list[str], line: int, *, cut_off: bool) -> None:
        if len(row) == len(self.columns):
            return
        cells = "1 cell" if len(row) == 1 else f"{len(row):,} cells"
        if len(row) < len(self.columns) and cut_off:
            way_out = "The file ends in the middle of a line: copy it again, or delete that line."
        else:
            way_out = f"Cells are separated by {self.delimiter!r}; put cells that contain it into double quotes."
        raise DataError(
            f"{self.name}, line {line:,}: found {cells}, expected {len(self.columns):,} as in the header. {way_out}"
        )

    def _first_not_a_number(self, name: str, rows: list[list[str]]) -> int | None:
        """The first row whose cell is not a number, in a numeric column."""
        if self.kinds[name] != NUMBER:
            return None
        i = self.columns.index(name)
        cells = pa.array([None if row[i] in self.missing else row[i].strip() for row in rows], pa.string())
        if _all_numbers(cells):
            return None
        low, high = 0, len(cells)  # the first bad cell is in cells[low:high]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _all_numbers(cells[low:middle]) else (low, middle)
        return low

    def _not_a_number(self, line: int, name: str, cell: str) -> str:
        why = "numeric= asks for numbers" if name in self.requested else "the sampled rows contain only numbers"
        return (
            f"{self.name}, line {line:,}, column {name!r}: {cell!r} is not a number ({why}). "
            f"Read the column as text with categorical=[{name!r}] (--categorical {quote(name)}), "
            f"or mark such cells as missing (--missing {quote(cell)})."
        )


def _all_numbers(cells: pa.Array) -> bool:
    """Whether Arrow converts all cells; its rules decide, not Python's, which accept more (1_000)."""
    try:
        pc.cast(cells, NUMBER)
    except pa.ArrowInvalid:
        return False
    return True
