"""Codecs: how each kind of column turns cells into codes, a whole column or one cell at a time.

Codecs are immutable. A new value gives a new codec, so that a table with an invalid cell can be rejected after some of
its columns were read, and nothing has changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import dropwhile
from typing import Any

import numpy as np

from tanager import _kernels, errors
from tanager.encoding import bins
from tanager.encoding.dates import cells_of, date_cell, part_cell
from tanager.encoding.kinds import as_written, reads_as_number, with_numbers
from tanager.encoding.marks import is_mark
from tanager.encoding.schema import Column, Value, is_number
from tanager.encoding.unseen import Unseen
from tanager.encoding.values import Categories, Cells, DateText, Numbers, is_missing, not_a_number, number, plain

UNSEEN = ("ignore", "smooth", "error", "as learned")
NUMBER = frozenset({int, float, bool})

NOT_FOUND = -1


class Codec:
    """Turns the cells of one column into codes. The base class serves continuous columns, whose codes are all missing.

    ``find(value, default)`` is the fast path for one cell: its code, or the default when the value is missing, unseen
    or of an unexpected type; ``code`` then handles these cases.
    """

    find: Callable[[object, int], int]
    tells_unseen = False  # whether a value that training did not have is worth a word

    def __init__(self, column: Column) -> None:
        self.column = column
        self.find = lambda value, default: default

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        """Write the codes of a whole column; values of a category that were never seen, if there are any."""
        out[:] = np.iinfo(out.dtype).max
        return None

    def code(self, value: object, missing: int, unseen: str) -> int:
        """The code of one cell that ``find`` did not find."""
        return missing

    def is_gap(self, value: object) -> bool:
        """Whether a cell that ``find`` did not find is a missing one."""
        return is_missing(value)

    def table(self) -> object:
        """What a kernel needs to look up single cells: a dict, cut points, True for no code, None to call ``find``."""
        return None

    def grown(self, cells: Cells, max_values: int) -> Codec:
        """A codec that includes the new values of a column; itself when there are none."""
        return self

    def with_value(self, value: object, max_values: int) -> Codec:
        """A codec that includes this value; itself when the value is missing or cannot be added."""
        return self

    def with_limit(self, n_codes: int) -> Codec:
        """A codec for that many codes of an array of codes; itself when it has as many."""
        return self

    def row_of_cut(self, cells: Cells) -> int | None:
        """The row that brings the last number that it takes to cut a column; None where it is not cut by these."""
        return None

    def floats(self, cells: Cells) -> np.ndarray:
        """The cells as numbers, NaN for missing."""
        return cells.floats(self.column.name)

    def number(self, value: object) -> float:
        """One cell as a number, NaN for missing."""
        return value if type(value) is float else cell_number(value, self.column.name)

    def refuses(self, unseen: str) -> bool:
        """Whether an unknown value is an error. Learning takes new values in, or, of a closed column, as missing."""
        return unseen == "error" or (unseen == "as learned" and not self.column.closed)

    def _unseen_code(self, unseen: str, missing: int) -> int:
        return self.column.n_values if unseen == "smooth" else missing

    def _warn_closed(self, value: object) -> None:
        name = self.column.name
        errors.warn_user(
            f"column {name!r}: {value!r} is not among the declared values and is treated as missing.",
            errors.DataWarning,
        )


class Vocabulary(Codec):
    """Categorical columns: the code is the position of the value.

    >>> sky = Vocabulary(Column("sky", "categorical", ("sun", "rain")))
    >>> sky.find("rain", -1), sky.find("snow", -1)
    (1, -1)
    """

    tells_unseen = True

    def __init__(self, column: Column) -> None:
        self.column = column
        self.lookup: dict[object, int] = {value: v for v, value in enumerate(column.values)}
        self.find = self.lookup.get

    def table(self) -> object:
        return self.lookup

    def is_gap(self, value: object) -> bool:
        return is_missing(value) or (is_mark(value) and self._of_numbers)

    @cached_property
    def _of_numbers(self) -> bool:
        """Whether "?" and the like stand for a missing cell, unless they are a value already: among numbers they do.

        The first value tells, because it stays the first: so chunks and single rows are treated alike.
        """
        return not self.column.closed and all(map(_is_like_a_number, self.column.values[:1] or ("",)))

    def places(self, values: Sequence[Value]) -> np.ndarray:
        """The code of each value; the code of "other", or NOT_FOUND, for unknown ones."""
        default = len(self.column.values) if self.column.other else NOT_FOUND
        return np.array([self.lookup.get(value, default) for value in values], dtype=np.int64)

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        categories = cells.categories
        places = self.places(categories.values)
        missing = int(np.iinfo(out.dtype).max)
        unknown = np.flatnonzero(places == NOT_FOUND)
        found = self._unknown_places(categories, places, unknown, unseen, missing) if len(unknown) else None
        _kernels.recode(categories.index, np.append(places, missing).astype(out.dtype), out)
        return found

    def _unknown_places(
        self, categories: Categories, places: np.ndarray, unknown: np.ndarray, unseen: str, missing: int
    ) -> Unseen | None:
        """Write the codes of values that are not known, or refuse them; those that were never seen and do occur."""
        if unseen != "as learned":
            places[unknown] = [self._as_written(categories.values[v]) for v in unknown.tolist()]
        gaps = [v for v in unknown.tolist() if places[v] == NOT_FOUND and self.is_gap(categories.values[v])]
        places[gaps] = missing
        new = places == NOT_FOUND
        if self.refuses(unseen) and (row := categories.first_row(new)) is not None:
            raise errors.DataError(not_seen(self.column, categories.values[categories.index[row]], row))
        places[new] = self._unseen_code(unseen, missing)
        return _unseen(categories, new)

    def code(self, value: object, missing: int, unseen: str) -> int:
        if is_missing(value):
            return missing
        place = int(self.places([checked(value, self.column.name)])[0])
        if place == NOT_FOUND and unseen != "as learned":
            place = self._as_written(plain(value))
        if place == NOT_FOUND and self.is_gap(value):
            return missing
        if place == NOT_FOUND and self.refuses(unseen):
            raise errors.DataError(not_seen(self.column, value, None))
        return self._unseen_code(unseen, missing) if place == NOT_FOUND else place

    def _as_written(self, value: Value) -> int:
        """The code of a value that is written like a known one of another type: '3' like 3, 'true' like True.

        For answers alone: which values are told apart is decided by learning.
        """
        return self._written.get(as_written(value), NOT_FOUND)

    @cached_property
    def _written(self) -> dict[str, int]:
        """Known values as they are written; of two that are written alike, the first."""
        return {as_written(value): self.lookup[value] for value in reversed(self.column.values)}

    def grown(self, cells: Cells, max_values: int) -> Codec:
        new = self._new_values(self._categories(cells))
        return self._with(new, max_values) if new else self

    def _categories(self, cells: Cells) -> Categories:
        return cells.categories

    def _new_values(self, categories: Categories) -> list[Value]:
        """Values that are not known yet, in order of appearance."""
        if not np.any(self.places(categories.values) == NOT_FOUND):
            return []
        values = categories.in_order.values
        new = [values[v] for v in np.flatnonzero(self.places(values) == NOT_FOUND)]
        among_numbers = self._of_numbers if self.column.values else all(map(_is_like_a_number, new[:1]))
        return [value for value in new if not is_mark(value)] if among_numbers else new

    def row_of_cut(self, cells: Cells) -> int | None:
        if not self.column.cut_after:
            return None
        categories = self._categories(cells)
        numbers = _leading_numbers(self._new_values(categories))
        more = max(1, self.column.cut_after - len(self.column.values))
        if len(numbers) < more:
            return None
        return categories.first_row(np.array([value == numbers[more - 1] for value in categories.values]))

    def with_value(self, value: object, max_values: int) -> Codec:
        if is_missing(value) or self.places([checked(value, self.column.name)])[0] != NOT_FOUND or self.is_gap(value):
            return self
        return self._with([plain(value)], max_values)

    def _with(self, new: list[Value], max_values: int) -> Codec:
        if self.column.closed:
            if new:
                self._warn_closed(new[0])
            return self
        if self.column.cut_after:
            numbers = _leading_numbers(new)
            column = with_numbers(self.column, numbers)
            if not column.cut_after or len(numbers) == len(new):
                return codec(column)  # of dates, too: whoever holds this one asks for its column
            # Text among numbers: these are categories, and stay so.
            return Vocabulary(replace(column, kind="categorical", cut_after=0))._with(new[len(numbers) :], max_values)
        # The last code is reserved for "other", so that a column never has more than max_values codes.
        room = max(max_values - 1 - len(self.column.values), 0)
        column = replace(self.column, values=self.column.values + tuple(new[:room]), other=len(new) > room)
        if column.other and not self.column.other:
            self._warn_full(max_values)
        return Vocabulary(column)

    def _warn_full(self, max_values: int) -> None:
        name = self.column.name
        numbers = f" If it holds numbers, give numeric=[{name!r}]." if all(map(is_number, self.column.values)) else ""
        errors.warn_user(
            f"column {name!r} has had {max_values - 1:,} different values; all further ones count as one, <other>. "
            f"Leave the column out, or raise max_values.{numbers}",
            errors.DataWarning,
        )


class SingleNumbers(Vocabulary):
    """Numeric columns that are yet to be cut: the code is the position of the number.

    >>> rain = SingleNumbers(Column("rain", "numeric", (0, 0.5), cut_after=101))
    >>> rain.find(0.5, -1), rain.find(0.25, -1), rain.code("0.5", -1, "ignore")
    (1, -1, 1)
    """

    tells_unseen = False  # of a number nobody expects that it was seen before

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        super().encode(self._categories(cells), out, unseen)
        return None

    def _categories(self, cells: Cells) -> Categories:
        return cells.categories if isinstance(cells, Numbers) else Numbers(cells.floats(self.column.name)).categories

    def code(self, value: object, missing: int, unseen: str) -> int:
        return super().code(cell_number(value, self.column.name), missing, unseen)

    def with_value(self, value: object, max_values: int) -> Codec:
        return super().with_value(cell_number(value, self.column.name), max_values)

    def refuses(self, unseen: str) -> bool:
        """Of a number nobody expects that it was seen before."""
        return unseen == "as learned" and not self.column.closed


class AwaitedNumbers(SingleNumbers):
    """Columns of floats that were all missing so far: numbers, unless text comes first.

    >>> size = AwaitedNumbers(Column("size", "numeric", cut_after=100))
    >>> size.with_value(0.5, 1000).column.kind, size.with_value("S", 1000).column.kind
    ('numeric', 'categorical')
    """

    def _categories(self, cells: Cells) -> Categories:
        values = [] if isinstance(cells, Numbers) else cells.categories.in_order.values
        first = next((value for value in values if not is_mark(value)), 0.0)
        return super()._categories(cells) if _is_like_a_number(first) else cells.categories

    def _new_values(self, categories: Categories) -> list[Value]:
        return [*dropwhile(is_mark, super()._new_values(categories))]

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        Vocabulary.encode(self, cells.categories, out, unseen)
        return None

    def code(self, value: object, missing: int, unseen: str) -> int:
        return Vocabulary.code(self, value, missing, unseen)

    def with_value(self, value: object, max_values: int) -> Codec:
        text = not is_missing(value) and not _is_like_a_number(checked(value, self.column.name))
        if is_mark(value) or not text:
            return super().with_value(value, max_values)
        return Vocabulary.with_value(self, value, max_values)


class Ordered(Vocabulary):
    """Ordinal columns: the code is the number of cut points below the position of the value in its order.

    >>> size = Ordered(Column("size", "ordinal", ("S", "M", "L"), cuts=(1.5,), closed=True))
    >>> size.find("S", -1), size.find("M", -1), size.find("L", -1)
    (0, 0, 1)
    """

    def __init__(self, column: Column) -> None:
        super().__init__(column)
        self.lookup = {value: bisect_left(column.cuts, rank) for rank, value in enumerate(column.values)}
        self.find = self.lookup.get


class Bins(Codec):
    """Numeric columns: the code is the number of cut points below the cell."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.cuts = np.array(column.cuts, dtype=np.float64)
        cuts = column.cuts

        def find(value: Any, default: int) -> int:
            # NaN differs from itself. Other types (NumPy's, dates, text) are left to ``code``, which converts them.
            # bisect on a tuple of a few cut points is several times as fast as a call into NumPy.
            return bisect_left(cuts, value) if type(value) in NUMBER and value == value else default

        self.find = find

    def table(self) -> object:
        return list(self.column.cuts)

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        bins.cut(cells.floats(self.column.name), self.cuts, out)
        return None

    def code(self, value: object, missing: int, unseen: str) -> int:
        x = cell_number(value, self.column.name)
        return missing if x != x else bisect_left(self.column.cuts, x)


class Continuous(Codec):
    """Columns that stay numbers: their codes are missing."""

    def table(self) -> object:
        return True


class OwnCodes(Codec):
    """Columns that are codes already: the cell is its own code; -1 and the largest value of its type mean missing."""

    def __init__(self, column: Column) -> None:
        self.column = column
        known = range(column.n_codes)

        def find(value: object, default: int) -> int:
            return value if type(value) is int and value in known else default

        self.find = find

    def _whole(self, cells: Cells) -> np.ndarray:
        """The cells as integers, -1 for missing."""
        x = cells.floats(self.column.name)
        x = np.where(np.isnan(x), -1.0, x)
        wrong = np.flatnonzero((x != np.rint(x)) | (x < -1) | (x > 65534))
        if len(wrong):
            raise errors.DataError(not_a_code(self.column.name, x[wrong[0]], int(wrong[0])))
        return x.astype(np.int64)

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        whole = self._whole(cells)
        new = np.flatnonzero(whole >= self.column.n_codes)
        if self.refuses(unseen) and len(new):
            raise errors.DataError(not_seen(self.column, int(whole[new[0]]), int(new[0])))
        missing = int(np.iinfo(out.dtype).max)
        whole[new] = self._unseen_code(unseen, missing)
        whole[whole == -1] = missing
        out[:] = whole
        return None

    def code(self, value: object, missing: int, unseen: str) -> int:
        x = cell_number(value, self.column.name)
        if x != x or x == -1:
            return missing
        if x != int(x) or not 0 <= x <= 65534:
            raise errors.DataError(not_a_code(self.column.name, x, None))
        if x < self.column.n_codes:
            return int(x)
        if self.refuses(unseen):
            raise errors.DataError(not_seen(self.column, int(x), None))
        return self._unseen_code(unseen, missing)

    def grown(self, cells: Cells, max_values: int) -> Codec:
        return self.with_limit(int(self._whole(cells).max(initial=-1)) + 1)

    def with_value(self, value: object, max_values: int) -> Codec:
        code = self.code(value, 65535, "ignore") if is_missing(value) else int(number(value))
        return self if code in (-1, 65535) else self.with_limit(code + 1)

    def with_limit(self, n_codes: int) -> Codec:
        if n_codes <= self.column.n_codes:
            return self
        if self.column.closed:
            self._warn_closed(n_codes - 1)
            return self
        return OwnCodes(replace(self.column, n_codes=n_codes))


class OfDates(Codec):
    """Columns of dates: cells become points in time, and then the part of them that the column holds.

    >>> month = codec(Column("sold month", "categorical", ("January", "February"), part="month", source="sold"))
    >>> month.find("1970-02-01", -1), month.code("", 255, "ignore")
    (1, 255)
    """

    def __init__(self, column: Column, inner: Codec) -> None:
        self.column, self.inner = column, inner
        self.tells_unseen = inner.tells_unseen

        def find(value: Any, default: int) -> int:
            try:
                return inner.find(self._part(value), default)
            except errors.DataError:  # ``code`` says it again where it matters
                return default

        self.find = find

    def is_gap(self, value: object) -> bool:
        return is_missing(value) or is_mark(value)

    def _parts(self, cells: Cells) -> Cells:
        return cells_of(self.column, cells)

    def _part(self, value: object) -> Value:
        return part_cell(date_cell(value, self.column.table_name), self.column.part)

    def _grown(self, inner: Codec) -> Codec:
        return self if inner is self.inner else codec(inner.column)

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        return self.inner.encode(self._parts(cells), out, unseen)

    def code(self, value: object, missing: int, unseen: str) -> int:
        return self.inner.code(self._part(value), missing, unseen)

    def floats(self, cells: Cells) -> np.ndarray:
        return self.inner.floats(self._parts(cells))

    def number(self, value: object) -> float:
        return self.inner.number(self._part(value))

    def grown(self, cells: Cells, max_values: int) -> Codec:
        return self._grown(self.inner.grown(self._parts(cells), max_values))

    def with_value(self, value: object, max_values: int) -> Codec:
        return self._grown(self.inner.with_value(self._part(value), max_values))

    def row_of_cut(self, cells: Cells) -> int | None:
        return self.inner.row_of_cut(self._parts(cells))


class Unsettled(Codec):
    """A column that held numbers or dates so far, of which a few further rows decide: other text is missing until then.

    >>> size = unsettled(codec(Column("size", "numeric", cuts=(2.5,))))
    >>> size.code("3", 255, "ignore"), size.code("unknown", 255, "ignore")
    (1, 255)
    """

    def __init__(self, inner: Codec) -> None:
        self.column, self.inner, self.find = inner.column, inner, inner.find
        self.tells_unseen = inner.tells_unseen

    def _fits(self, value: object) -> bool:
        """Whether a cell is what the column holds, or missing."""
        try:
            if self.column.part:
                date_cell(value, self.column.table_name)
            else:
                cell_number(value, self.column.name)
        except errors.DataError:
            return False
        return True

    def _fitting(self, cells: Cells) -> Cells:
        if isinstance(cells, Numbers) or (self.column.part and isinstance(cells, DateText)):
            return cells
        odd = np.array([not self._fits(value) for value in cells.values], dtype=bool)
        if not odd.any():
            return cells
        index = np.where(np.append(odd, False)[cells.index], -1, cells.index).astype(cells.index.dtype)
        return Categories(cells.values, index, cells.what, exact=False)

    def _or_missing(self, value: object) -> object:
        return value if self._fits(value) else None

    def is_gap(self, value: object) -> bool:
        return self.inner.is_gap(self._or_missing(value))

    def table(self) -> object:
        return self.inner.table()

    def encode(self, cells: Cells, out: np.ndarray, unseen: str) -> Unseen | None:
        return self.inner.encode(self._fitting(cells), out, unseen)

    def code(self, value: object, missing: int, unseen: str) -> int:
        return self.inner.code(self._or_missing(value), missing, unseen)

    def floats(self, cells: Cells) -> np.ndarray:
        return self.inner.floats(self._fitting(cells))

    def number(self, value: object) -> float:
        return self.inner.number(self._or_missing(value))

    def grown(self, cells: Cells, max_values: int) -> Codec:
        return self._grown(self.inner.grown(self._fitting(cells), max_values))

    def with_value(self, value: object, max_values: int) -> Codec:
        return self._grown(self.inner.with_value(self._or_missing(value), max_values))

    def row_of_cut(self, cells: Cells) -> int | None:
        return self.inner.row_of_cut(self._fitting(cells))

    def _grown(self, inner: Codec) -> Codec:
        return self if inner is self.inner else unsettled(inner)


def unsettled(made: Codec) -> Codec:
    """The same codec, for a column of which further rows may show that it holds no numbers or dates after all."""
    holds_numbers = made.column.part or made.column.kind in ("numeric", "continuous")
    return Unsettled(made) if holds_numbers and not isinstance(made, Unsettled) else made


CODECS: dict[str, type[Codec]] = {
    "categorical": Vocabulary,
    "ordinal": Ordered,
    "numeric": Bins,
    "codes": OwnCodes,
    "continuous": Continuous,
}


def codec(column: Column) -> Codec:
    """The codec for a column of any kind."""
    made = CODECS[column.kind]
    if column.kind == "numeric" and column.by_value:
        made = SingleNumbers if column.values or column.part else AwaitedNumbers
    return OfDates(column, made(column)) if column.part else made(column)


def _unseen(categories: Categories, unknown: np.ndarray) -> Unseen | None:
    """The values that are marked as unknown, as far as they occur; None where none does."""
    if not unknown.any():
        return None
    cells = categories.index[np.append(unknown, False)[categories.index]]
    return Unseen([categories.values[v] for v in np.unique(cells).tolist()], len(cells)) if len(cells) else None


def _leading_numbers(values: list[Value]) -> list[Value]:
    """The values before the first that is no number."""
    return values[: next((v for v, value in enumerate(values) if not is_number(value)), len(values))]


def _is_like_a_number(value: Value) -> bool:
    return reads_as_number(value) if isinstance(value, str) else is_number(value)


def checked(value: object, name: str) -> Value:
    """A cell as a plain value; lists, dicts and the like raise DataError."""
    try:
        hash(value)
    except TypeError:
        kind = type(value).__name__
        raise errors.DataError(f"column {name!r}: {value!r} is a {kind}; a cell must be text or a number.") from None
    return plain(value)


def cell_number(value: object, name: str) -> float:
    """A cell as a number, NaN for missing."""
    if is_missing(value) or is_mark(value):
        return float("nan")
    try:
        return number(value)
    except (TypeError, ValueError):
        raise errors.DataError(not_a_number(name, None, value)) from None


def not_seen(column: Column, value: object, row: int | None, most: int = 8) -> str:
    """The error message for a value that was not seen in training."""
    place = f"column {column.name!r}" if row is None else f"column {column.name!r}, row {row}"
    if column.kind == "codes":
        seen = f"codes 0 to {column.n_codes - 1}" if column.n_codes else "nothing"
    else:
        shown = sorted(repr(v) for v in column.values)
        seen = ", ".join(shown[:most]) + (", ..." if len(shown) > most else "") or "nothing"
    return (
        f"{place}: {value!r} was not seen in training (seen: {seen}). "
        f'Use unseen="ignore" to treat it as missing, or unseen="smooth" to give it a count of zero.'
    )


def not_a_code(name: str, value: float, row: int | None) -> str:
    """The error message for a number that cannot be a code."""
    place = f"column {name!r}" if row is None else f"column {name!r}, row {row}"
    return f"{place}: {value:g} is not a code. Codes are integers from 0 to 65534, and -1 for missing."
