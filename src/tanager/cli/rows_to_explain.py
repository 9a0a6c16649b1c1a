"""The rows that ``tanager explain`` is asked about: JSON, or rows of a data file by their numbers."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tanager.cli.reading import open_for
from tanager.cli.screen import Screen, listed
from tanager.errors import DataError, OptionError, nearest


@dataclass(frozen=True)
class Places:
    """Numbers of rows, from 1: ranges with both ends, in ascending order."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, text: str) -> Places:
        """From text.

        >>> Places.read("17, 1-3").ranges
        ((1, 3), (17, 17))
        """
        found = []
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()):
                raise OptionError(f"--rows {text}: write numbers and ranges, for example 107 or 1-10,17.")
            found.append((int(first), int(last) if dash else int(first)))
        if any(first < 1 or last < first for first, last in found):
            raise OptionError(f"--rows {text}: rows are counted from 1, and a range goes up, as in 1-10.")
        return cls(tuple(sorted(found)))

    @property
    def single(self) -> int | None:
        """The number, where it is a single one."""
        (first, last), *more = self.ranges
        return first if first == last and not more else None

    def within(self, before: int, n_rows: int) -> list[int]:
        """The places in a chunk of so many rows, with so many before it."""
        inside = range(before + 1, before + n_rows + 1)
        return [r - before - 1 for r in inside if any(first <= r <= last for first, last in self.ranges)]


def rows_of_file(model: Any, data: str, places: Places | None, reading: dict[str, Any]) -> tuple[list[int], Any]:
    """Rows of a data file as an Arrow table, and their numbers from 1 after the header; None takes all."""
    import pyarrow as pa

    from tanager.encoding.arrow_columns import arrow_column

    source = open_for(model, data, **reading)
    names = source.columns_of(model)
    before, numbers, chunks = 0, list[int](), list[Any]()
    last = None if places is None else max(end for _, end in places.ranges)
    for chunk in source.chunks(columns=names):
        own = list(range(chunk.num_rows)) if places is None else places.within(before, chunk.num_rows)
        if own:
            numbers += [before + r + 1 for r in own]
            chunks.append(chunk.take(arrow_column(own)))
        before += chunk.num_rows
        if last is not None and before >= last:
            break
    if last is not None and last > before:
        raise DataError(f"{source.name} has {before:,} rows; there is no row {last:,}.")
    if not chunks:
        raise DataError(f"{source.name} has no rows to explain.")
    return numbers, pa.concat_tables(chunks, promote_options="permissive")


def is_data_file(text: str) -> bool:
    """Whether this is the path of a file that holds a table, and not a row as JSON."""
    return not text.lstrip().startswith(("{", "[")) and Path(text).suffix != ".json" and Path(text).is_file()


def row_from_json(text: str) -> dict[str, Any]:
    """A row from JSON: inline, in a file, or on stdin."""
    place = "the row"
    if text == "-":
        place, text = "<stdin>", sys.stdin.read()
    elif not text.lstrip().startswith(("{", "[")):
        place = text
        if not Path(text).is_file():
            raise OptionError(
                f"{text!r} is neither a file nor JSON. Write the row as '{{\"column\": value, ...}}', or take rows of "
                "a data file with --data FILE --rows N."
            )
        text = Path(text).read_text(encoding="utf-8")
    try:
        cells = json.loads(text)
    except ValueError as error:
        raise DataError(f"{place} is not valid JSON: {error}. Write it as '{{\"column\": value, ...}}'.") from None
    if isinstance(cells, list) and len(cells) == 1:
        cells = cells[0]
    if not isinstance(cells, dict):
        raise DataError(f"{place} is not a JSON object. Write it as '{{\"column\": value, ...}}'.")
    return cells


def known_cells(screen: Screen, model: Any, cells: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row that the model has columns for, with a note on others; a row that has none is refused."""
    known = model.encoder_.schema.learned_names
    if cells and not set(cells) & set(known):
        hints = nearest(next(iter(cells)), known) or f" Its columns are {listed(known)}."
        raise DataError(f"the model has none of the columns of this row, such as {next(iter(cells))!r}.{hints}")
    for name in cells:
        if name not in known and name != model.target_name_:
            free = [other for other in known if other not in cells]
            screen.note(f"ignored {name!r}, which is not a column of the model.{nearest(name, free)}")
    return {name: cell for name, cell in cells.items() if name in known}
