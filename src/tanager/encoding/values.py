"""The cells of one column, from any kind of table: either numbers, or an index into distinct values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.encoding.iso_dates import read_date, read_dates
from tanager.encoding.marks import is_mark, worth_a_word
from tanager.encoding.schema import Value
from tanager.errors import DataError

DATE_TYPES = (date, time, timedelta, np.datetime64, np.timedelta64)
NAMES = {str: "text", bool: "booleans"}
DATES, DATES_AS_TEXT, TIMES, DURATIONS = "dates and times", "dates as text", "times of day", "durations"


@dataclass(frozen=True)
class Numbers:
    """A column of numbers: any integer or float array, NaN = missing. ``marks``: text that stood for missing ones."""

    values: np.ndarray
    what: str = "numbers"
    marks: tuple[str, ...] = ()

    def take(self, keep: np.ndarray | slice) -> Numbers:
        """Some of the rows."""
        return Numbers(self.values[keep], self.what, self.marks)

    @property
    def are_dates(self) -> bool:
        """Whether the numbers are points in time, in seconds since 1970."""
        return self.what in (DATES, DATES_AS_TEXT)

    @property
    def are_times(self) -> bool:
        """Whether the numbers are dates, times of day or durations, in seconds."""
        return self.are_dates or self.what in (TIMES, DURATIONS)

    def floats(self, name: str) -> np.ndarray:
        """The numbers as float64."""
        return self.values.astype(np.float64, copy=False)

    @cached_property
    def whole(self) -> np.ndarray | None:
        """The numbers that are not missing as integers, or None when one is infinite or has a fraction."""
        if self.values.dtype.kind in "iu":
            return self.values
        # Most float columns have a fraction in their first rows, which spares a pass over all of them.
        if self.has_fractions:
            return None
        return self.values[~np.isnan(self.values)].astype(np.int64)

    @cached_property
    def has_fractions(self) -> bool:
        """Whether a number is not whole, infinite, or beyond 2**53, where floats skip integers."""
        return self.values.dtype.kind == "f" and _kernels.has_fractions(self.values.astype(np.float64, copy=False))

    @property
    def all_missing(self) -> bool:
        """Whether there is no number."""
        if self.values.dtype.kind != "f" or (len(self.values) and self.values[0] == self.values[0]):
            return False
        return bool(np.isnan(self.values).all())

    def n_distinct_whole(self, most: int) -> int | None:
        """How many distinct whole numbers; None when not all are whole, or when there are more than ``most``."""
        # The first rows settle most columns, without an index of all distinct numbers.
        if self.whole is None or len(np.unique(self.whole[:10_000])) > most:
            return None
        n = len(self.categories.values)
        return n if n <= most else None

    @cached_property
    def categories(self) -> Categories:
        """Each distinct number as a value of its own."""
        if self.whole is not None:
            distinct, place = index_whole(self.whole)
        else:
            distinct, place = np.unique(self.values[~np.isnan(self.values)], return_inverse=True)
        if len(place) == len(self.values):
            index = place.astype(np.int32, copy=False)
        else:
            index = np.full(len(self.values), -1, dtype=np.int32)
            index[~np.isnan(self.values)] = place
        return Categories([plain(value) for value in distinct.tolist()], index, self.what, exact=False)


@dataclass(frozen=True)
class Categories:
    """A column of values: ``values[index[r]]`` is the cell of row r, and index -1 is missing.

    ``declared``: the table itself names all values. ``exact``: every value occurs, in order of first appearance.
    ``marks``: text that stood for missing cells, and is no value.
    """

    values: list[Value]
    index: np.ndarray
    what: str = "text"
    declared: bool = False
    exact: bool = True
    marks: tuple[str, ...] = ()

    @property
    def categories(self) -> Categories:
        """Itself: the counterpart of ``Numbers.categories``."""
        return self

    def take(self, keep: np.ndarray | slice) -> Categories:
        """Some of the rows."""
        return replace(self, index=self.index[keep], exact=False)

    @cached_property
    def in_order(self) -> Categories:
        """The same cells, with only the values that occur, in order of first appearance."""
        if self.exact:
            return self
        order = _first_seen(self.index, len(self.values))
        if np.array_equal(order, np.arange(len(self.values))):
            return replace(self, exact=True)
        table = np.full(len(self.values) + 1, -1, dtype=np.int32)
        table[order] = np.arange(len(order))
        return replace(self, values=[self.values[v] for v in order.tolist()], index=table[self.index], exact=True)

    @property
    def may_be_dates(self) -> bool:
        """Whether the first cell is a date in text, or a mark of a missing one; most text is told by it."""
        head = self.index[:1] if len(self.index) and self.index[0] >= 0 else self.index[self.index >= 0][:1]
        first = [self.values[v] for v in head.tolist()]
        return all(isinstance(value, str) and read_date(value) is not None for value in first)

    @cached_property
    def dates(self) -> tuple[np.ndarray, int | None]:
        """The cells as dates, in seconds, NaN for missing ones; and the first row that is no date, if there is one."""
        seconds, wrong = read_dates(self.values)
        return np.append(seconds, np.nan)[self.index], self.first_row(wrong)

    @property
    def date_marks(self) -> tuple[str, ...]:
        """Text that stands for missing cells, where all other is dates."""
        gone = self.index[np.isnan(self.dates[0]) & (self.index >= 0)]  # few, where most are dates
        return worth_a_word(self.values[v] for v in dict.fromkeys(gone.tolist()))

    def first_row(self, wanted: np.ndarray) -> int | None:
        """The first row that has one of the wanted values (a mask over ``values``); None when no row has."""
        if not wanted.any():
            return None
        rows = np.flatnonzero(np.append(wanted, False)[self.index])
        return int(rows[0]) if len(rows) else None

    def floats(self, name: str) -> np.ndarray:
        """The values as numbers, NaN for missing ones and their marks. Text is parsed; other text raises DataError."""
        table = np.full(len(self.values) + 1, np.nan)
        wrong = np.zeros(len(self.values), dtype=bool)
        for v, value in enumerate(self.values):
            try:
                table[v] = number(value)
            except (TypeError, ValueError):
                wrong[v] = not is_mark(value)
        if (row := self.first_row(wrong)) is not None:
            raise DataError(not_a_number(name, row, self.values[self.index[row]]))
        return np.asarray(table[self.index])


class DateText(Categories):
    """Text that is dates throughout: points in time, and the text itself for those who ask for it.

    An index of a million different texts takes ten times as long as reading them as dates.
    """

    _seconds: np.ndarray
    _marks: tuple[str, ...]
    _read_text: Callable[[], Categories]

    def __init__(self, seconds: np.ndarray, marks: tuple[str, ...], read_text: Callable[[], Categories]) -> None:
        self.__dict__.update(
            _seconds=seconds, _marks=marks, _read_text=read_text
        )  # fields of a frozen class are set so

    @cached_property
    def categories(self) -> Categories:
        """The text."""
        return self._read_text()

    @property
    def values(self) -> list[Value]:
        return self.categories.values

    @property
    def index(self) -> np.ndarray:
        return self.categories.index

    @property
    def exact(self) -> bool:
        return self.categories.exact

    @property
    def in_order(self) -> Categories:
        return self.categories.in_order

    def take(self, keep: np.ndarray | slice) -> Categories:
        return DateText(self._seconds[keep], self._marks, lambda: self.categories.take(keep))

    may_be_dates = True

    @property
    def dates(self) -> tuple[np.ndarray, int | None]:
        return self._seconds, None

    @property
    def date_marks(self) -> tuple[str, ...]:
        return self._marks


Cells = Numbers | Categories


def not_a_number(name: str, row: int | None, value: object) -> str:
    """The error message for text in a numeric column."""
    place = f"column {name!r}" if row is None else f"column {name!r}, row {row}"
    return (
        f"{place}: {value!r} is not a number, and the column is numeric. "
        f"Mark missing values with None or NaN, or fit with categorical=[{name!r}]."
    )


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas.NA are missing."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal to itself
        return type(value).__name__ == "NAType"


def plain(value: object) -> Value:
    """Text, a number or a boolean as Python's own type; dates become seconds, anything else (a tuple) text."""
    if isinstance(value, DATE_TYPES):
        value = number(value)
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | str):
        return value if type(value) in (bool, str) else str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | Decimal):
        x = float(value)
        return int(x) if x.is_integer() else x
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def number(value: Any) -> float:
    """A cell as a number; dates are seconds since 1970, UTC unless they say otherwise, to the microsecond."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return number(datetime(value.year, value.month, value.day))
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
        ).total_seconds()
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf if value > 0 else -math.inf


def seconds(times: np.ndarray) -> np.ndarray:
    """A datetime64 or timedelta64 array as seconds; NaT becomes NaN."""
    ticks = times.astype(f"{times.dtype.kind}8[us]").astype(np.int64)
    return np.where(np.isnat(times), np.nan, ticks / 1e6)


def from_distinct(values: list[Any], index: np.ndarray, declared: bool = False, exact: bool = True) -> Categories:
    """Categories from distinct objects; those that become the same plain value share one code."""
    kinds = set(map(type, values))
    what = NAMES.get(kinds.pop(), "mixed values") if len(kinds) == 1 else "mixed values"
    if what != "mixed values":
        return Categories(values, index, what, declared, exact)
    plains = [plain(value) for value in values]
    distinct = list(dict.fromkeys(plains))
    if len(distinct) < len(plains):
        places = {value: v for v, value in enumerate(distinct)}
        index = np.array([*(places[value] for value in plains), -1], dtype=np.int32)[index]
    return Categories(distinct, index, what, declared, exact)


def index_whole(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct integers in ascending order, and the place of each row's integer among them."""
    if len(whole) == 0:
        return whole, whole
    whole = np.ascontiguousarray(whole)
    for code_type in (np.uint8, np.uint16):
        out = np.empty(len(whole), dtype=code_type)
        distances = np.array(_kernels.index_whole(whole, out))
        if len(distances):
            smallest = whole[:1] - distances[out[:1]].astype(whole.dtype)
            return smallest + distances.astype(whole.dtype), out
    return np.unique(whole, return_inverse=True)


def _first_seen(index: np.ndarray, n_values: int) -> np.ndarray:
    """Which values occur, in order of first appearance."""
    # Most columns show all their values early, so ever longer heads are looked at.
    size = 256
    while True:
        head = index[:size]
        first = np.full(n_values + 1, len(head))  # row of each value; behind them, of what is missing
        first[head[::-1]] = np.arange(len(head) - 1, -1, -1)  # of rows with one value the last to be written counts
        seen = first[:-1] < len(head)
        if size >= len(index) or seen.all():
            values = np.flatnonzero(seen)
            return values[np.argsort(first[values])]
        size *= 16
