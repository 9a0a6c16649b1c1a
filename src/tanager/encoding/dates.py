"""Columns of dates: how cells become points in time, and which parts of a date are columns of their own.

A point in time is a number: seconds since 1970, in UTC. Dates without a time zone are taken as they are written. How
dates are written in text says ``iso_dates``.

==========  =========================================================================================================
part        what it is
==========  =========================================================================================================
date        the point in time itself: a number
since       days since the first day that was learned, or since a given one ("since 2024-01-01"): a number
year        a number
month       one of twelve names
day         of the month, 1 to 31: categories
weekday     one of seven names
hour        0 to 23: categories
==========  =========================================================================================================

"parts" stands for date, month, weekday and, where not all times are midnight, hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from tanager.encoding.iso_dates import read_date
from tanager.encoding.marks import is_mark, worth_a_word
from tanager.encoding.schema import DATE_PARTS, Column, Value, check_part
from tanager.encoding.values import DATES, DATES_AS_TEXT, Categories, Cells, Numbers, is_missing, number
from tanager.errors import DataError, OptionError

DatesOption = str | Sequence[str] | Mapping[Any, str | Sequence[str]] | None

DAY = 86400.0
PARTS = ("date", "month", "weekday", "hour")  # what "parts" stands for
NUMBERS = ("date", "since", "year")  # parts that are numbers, however few they are
NAMED: dict[str, tuple[Value, ...]] = {  # all values of other parts
    "month": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    "day": tuple(range(1, 32)),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(range(24)),
}
_FAR = 1e13  # seconds; beyond, NumPy's calendar ends
_FIRST = date(1970, 1, 1).toordinal()


def dates_in_text(cells: Categories) -> Numbers | None:
    """The cells as points in time, where all of their text is dates; None where it is not, or where it is blank."""
    present = cells.index[cells.index >= 0][:1]
    if not all(_may_be_date(cells.values[v]) for v in present.tolist()):  # most text is no date, which spares the rest
        return None
    seconds, wrong = cells.moments
    numbers = seconds[cells.index]
    if cells.first_row(wrong) is not None or np.isnan(numbers).all():
        return None
    return Numbers(numbers, DATES_AS_TEXT, worth_a_word(cells.in_order.values))


def holds_dates(cells: Cells) -> bool:
    """Whether all cells are dates, as objects or as text."""
    return cells.are_dates if isinstance(cells, Numbers) else dates_in_text(cells) is not None


def _may_be_date(value: Value) -> bool:
    return isinstance(value, str) and read_date(value) is not None


def is_date(value: object) -> bool:
    """Whether a cell is a date, as an object or as text."""
    if isinstance(value, str):
        return not is_mark(value) and read_date(value) is not None
    return isinstance(value, date | np.datetime64)


def date_cells(cells: Cells, name: str) -> Numbers:
    """The cells of a column of dates as points in time; numbers are taken for seconds. Other text is refused."""
    if isinstance(cells, Numbers):
        return cells
    seconds, wrong = cells.moments
    if (row := cells.first_row(wrong)) is not None:
        raise DataError(not_a_date(name, row, cells.values[cells.index[row]]))
    return Numbers(seconds[cells.index], DATES)


def date_cell(value: object, name: str) -> float:
    """One cell of a column of dates as a point in time, NaN for missing."""
    if is_missing(value):
        return float("nan")
    if isinstance(value, str | bool):
        second = read_date(value) if isinstance(value, str) else None
    else:
        try:
            second = number(value)
        except (TypeError, ValueError):
            second = None
    if second is None:
        raise DataError(not_a_date(name, None, value))
    return second


def not_a_date(name: str, row: int | None, value: object) -> str:
    """The error message for a cell that is no date in a column of dates."""
    place = f"column {name!r}" if row is None else f"column {name!r}, row {row}"
    return (
        f"{place}: {value!r} is not a date, and the column holds dates. Write dates as 2024-05-31 or "
        f"2024-05-31T14:30, mark missing ones with None, or fit with categorical=[{name!r}]."
    )


# --- parts ----------------------------------------------------------------------------------------------------------


def part_name(source: str, part: str) -> str:
    """What the column of a part is called.

    >>> part_name("sold", "since 2024-01-01"), part_name("sold", "date")
    ('sold since', 'sold')
    """
    return source if part == "date" else f"{source} {part.partition(' ')[0]}"


def may_be_part(name: object, sources: Sequence[str]) -> bool:
    """Whether a name could be that of a part of one of these columns."""
    source, _, part = str(name).rpartition(" ")
    return part in DATE_PARTS and part != "date" and source in sources


def part_cells(cells: Numbers, part: str) -> Cells:
    """The part of every date, from points in time."""
    if part == "date":
        return cells
    seconds = cells.values.astype(np.float64, copy=False)
    if part.startswith("since"):
        return Numbers((seconds - origin(part)) / DAY, DATES)
    known = np.abs(seconds) < _FAR  # false for NaN
    days = np.floor(np.where(known, seconds, 0.0) / DAY).astype(np.int64)
    if part == "year":
        years = days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970
        return Numbers(np.where(known, years, np.nan), "years")
    place = _places(np.where(known, seconds, 0.0), days, part)
    return Categories(list(NAMED[part]), np.where(known, place, -1).astype(np.int32), part, declared=True, exact=False)


def _places(seconds: np.ndarray, days: np.ndarray, part: str) -> np.ndarray:
    """Which of the named values a part has."""
    if part == "weekday":
        return np.asarray((days + 3) % 7)  # the first day of 1970 was a Thursday
    if part == "hour":
        return np.clip((seconds - days * DAY) // 3600, 0, 23)
    dates = days.astype("M8[D]")
    months = dates.astype("M8[M]")
    return np.asarray(months.astype(np.int64) % 12 if part == "month" else (dates - months.astype("M8[D]")).astype(int))


def cells_of(column: Column, cells: Cells) -> Cells:
    """What a column is made of, from the cells of its table: of dates, a part of them; else the cells themselves."""
    return part_cells(date_cells(cells, column.table_name), column.part) if column.part else cells


def part_cell(second: float, part: str) -> Value:
    """The part of one date, from its point in time; NaN where that is missing or beyond the calendar."""
    if part == "date" or second != second:
        return second
    if part.startswith("since"):
        return (second - origin(part)) / DAY
    day = second // DAY
    if part == "weekday" and abs(second) < _FAR:
        return NAMED[part][int(day + 3) % 7]
    if part == "hour" and abs(second) < _FAR:
        return int(min(max((second - day * DAY) // 3600, 0), 23))
    try:
        found = date.fromordinal(_FIRST + int(day))
    except (ValueError, OverflowError):  # beyond the years 1 to 9999
        cells = part_cells(Numbers(np.array([second])), part).categories
        return cells.values[cells.index[0]] if cells.index[0] >= 0 else float("nan")
    return found.year if part == "year" else found.day if part == "day" else NAMED["month"][found.month - 1]


def origin(part: str) -> float:
    """The day that "since ..." counts from, as a point in time; 1970 where it names none."""
    return read_date(part.partition(" ")[2]) or 0.0


def settled_parts(parts: Sequence[str], cells: Numbers) -> list[str]:
    """Parts as they are learned from these dates: "since" names the first day, and "parts" are written out."""
    seconds = cells.values[np.isfinite(cells.values)] if cells.values.dtype.kind == "f" else cells.values
    found: list[str] = []
    for part in parts:
        if part == "since" and len(seconds):
            part = f"since {np.datetime64(int(np.floor(seconds.min() / DAY)), 'D')}"
        wanted = PARTS if part == "parts" else (part,)
        found += [own for own in wanted if part != "parts" or own != "hour" or bool(np.any(seconds % DAY))]
    return list(dict.fromkeys(found))


# --- the option -----------------------------------------------------------------------------------------------------


def given_parts(dates: Any) -> tuple[tuple[str, ...], dict[object, tuple[str, ...]]]:
    """What the option ``dates`` says: parts of all columns of dates, and those of columns that it names.

    >>> given_parts({"sold": "month"}), given_parts(["month", "hour"])
    ((('date',), {'sold': ('month',)}), (('month', 'hour'), {}))
    """
    if dates is None:
        return ("date",), {}
    if isinstance(dates, Mapping):
        return ("date",), {name: _checked(parts, f"dates[{name!r}]") for name, parts in dates.items()}
    return _checked(dates, "dates"), {}


def _checked(parts: Any, option: str) -> tuple[str, ...]:
    listed = (parts,) if isinstance(parts, str) else tuple(parts) if isinstance(parts, list | tuple) else ()
    try:
        if not listed:
            raise DataError("")
        for part in listed:
            if part != "parts":
                check_part(part)
    except (DataError, TypeError):
        raise OptionError(
            f'{option}={parts!r}: give "parts", or some of {", ".join(DATE_PARTS)} ("since 2024-01-01" counts days '
            "from that day); a dict gives them for each column."
        ) from None
    return listed
