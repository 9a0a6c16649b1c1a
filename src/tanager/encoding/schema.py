"""Schema and Column: names, values, cut points and how missing cells are marked, as immutable plain data."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from tanager.encoding.display import schema_html, schema_text
from tanager.errors import DataError, check_option, nearest
from tanager.listed import Listed, names_in

APPEARED = "appeared in the stream"  # why a column is there that came after the first rows
KINDS = ("categorical", "ordinal", "numeric", "codes", "continuous")
DATE_PARTS = ("date", "since", "year", "month", "day", "weekday", "hour")  # see ``tanager.encoding.dates``

Value = str | int | float | bool

_FIELDS: dict[str, tuple[type, ...]] = {  # as they are in files
    "name": (str,),
    "kind": (str,),
    "values": (str, int, float, bool),
    "cuts": (int, float),
    "closed": (bool,),
    "other": (bool,),
    "reason": (str,),
    "n_codes": (int,),
    "cut_after": (int,),
    "part": (str,),
    "source": (str,),
}


class _Other:
    """Stands for all values beyond ``max_values`` of a column; a singleton, equal to nothing else."""

    def __repr__(self) -> str:
        return "<other>"

    def __reduce__(self) -> str:
        return "OTHER"


OTHER = _Other()


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, and how a cell becomes a code, the small whole number that it is counted by.

    Parameters
    ----------
    name : str
        What the column is called.
    kind : {"categorical", "ordinal", "numeric", "codes", "continuous"}
        *categorical*: the code is the position in ``values``. *ordinal*: the code is the number of ``cuts`` below that
        position, so neighbours in the order share a code. *numeric*: the code is the number of ``cuts`` below the cell.
        *codes*: the cell is its own code. *continuous*: no code, the number itself is used. With ``cut_after``, a
        numeric column has codes as a categorical one has.
    values : tuple
        Text, whole numbers, floats and booleans in the order of their codes, or in their own where they have one. As
        in every Python dict, ``1``, ``1.0`` and ``True`` are one value.
    cuts : tuple of float
        In ascending order. Bins are open on the left and closed on the right.
    closed : bool
        The values were declared: all of them count, seen or not, and a new one is treated as missing.
    other : bool
        One more code, the last, stands for all values that are not in ``values``.
    reason : str
        Why the column has this kind, for people to read; not part of equality.
    n_codes : int
        How many codes a column of kind "codes" has.
    cut_after : int
        Of a column in a stream whose first rows have too few different numbers to cut them: each number has a code
        of its own, and once there are so many of them the column is cut. 0: it never will be.
    part : str
        Of a column of dates: which part of them it holds, such as "month"; "date" for the points in time themselves,
        in seconds since 1970. Empty elsewhere.
    source : str
        The column of the table that it is a part of, where that has another name. Empty elsewhere.

    Examples
    --------
    >>> Column("age", "numeric", cuts=(18.0, 65.0)).n_values
    3
    """

    name: str
    kind: str
    values: tuple[Value, ...] = ()
    cuts: tuple[float, ...] = ()
    closed: bool = False
    other: bool = False
    reason: str = field(default="", compare=False)
    n_codes: int = 0
    cut_after: int = 0
    part: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check_option("kind", self.kind, KINDS)
        if self.part:
            check_part(self.part)
        if any(not a < b for a, b in pairwise(self.cuts)):
            raise DataError(f"column {self.name!r}: cut points must be in ascending order, got {list(self.cuts)}.")
        if self.kind == "ordinal" and self.cuts and not 0 <= self.cuts[0] <= self.cuts[-1] < len(self.values) - 1:
            raise DataError(f"column {self.name!r}: cut points {list(self.cuts)} lie outside the order of its values.")
        if len(set(self.values)) != len(self.values):
            raise DataError(f"column {self.name!r}: duplicate values in {list(self.values)}. Give each once.")
        if self.cut_after and not (self.by_value and all(map(is_number, self.values))):
            raise DataError(f"column {self.name!r} is to be cut later, and not all of its values are numbers.")

    def with_cuts(self, cuts: tuple[float, ...]) -> Column:
        """The same column with other cut points; nothing is checked anew.

        Parameters
        ----------
        cuts : tuple of float
            Cut points, in ascending order.

        Returns
        -------
        Column
            A column of its own; this one stays as it is.
        """
        column = object.__new__(type(self))
        column.__dict__.update(self.__dict__)
        column.__dict__["cuts"] = cuts
        return column

    @property
    def table_name(self) -> str:
        """The name of the column in the table."""
        return self.source or self.name

    @property
    def by_value(self) -> bool:
        """Whether every value is counted by itself, as categories are, and numbers that are not cut into bins yet."""
        return self.kind == "categorical" or (self.kind == "numeric" and self.cut_after > 0)

    @property
    def n_values(self) -> int:
        """How many codes a cell can have, missing left out. A continuous column has none."""
        if self.by_value:
            return len(self.values) + self.other
        if self.kind in ("numeric", "ordinal"):
            return len(self.cuts) + 1
        return self.n_codes

    def describe(self, code: int) -> object:
        """What a code stands for: the value itself, or a bin as text.

        Parameters
        ----------
        code : int
            The code of a cell.

        Returns
        -------
        object
            A value, or text.

        Examples
        --------
        >>> Column("age", "numeric", cuts=(18.0, 65.0)).describe(1)
        '(18, 65]'
        """
        if self.by_value:
            return self.values[code] if code < len(self.values) else OTHER
        if self.kind == "ordinal":
            return self._values_of(code)
        if self.kind == "numeric":
            low = "-inf" if code == 0 else self.shown_cut(code - 1)
            return f"({low}, {self.shown_cut(code)}]" if code < len(self.cuts) else f"({low}, inf)"
        return code

    def shown_cut(self, i: int) -> str:
        """A cut point for people to read: of dates, a date.

        Parameters
        ----------
        i : int
            Which of the cut points.

        Returns
        -------
        str
            A number, or a date.
        """
        return shown_date(self.cuts[i]) if self.part == "date" else f"{self.cuts[i]:g}"

    def _values_of(self, code: int) -> object:
        """The values that share a code: the only one, or the first and the last as text."""
        ends = [0, *(ceil(t) for t in self.cuts), len(self.values)]
        first, last = self.values[ends[code]], self.values[ends[code + 1] - 1]
        return first if ends[code + 1] - ends[code] == 1 else f"{first} to {last}"

    @property
    def summary(self) -> str:
        """How many codes there are, and the first few values or cut points.

        >>> Column("sky", "categorical", ("sun", "rain")).summary
        "2: 'sun', 'rain'"
        """
        return _abridged(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; fields with nothing in them are left out.

        Returns
        -------
        dict
            Names and values of its fields.
        """
        data: dict[str, Any] = {"name": self.name, "kind": self.kind}
        for key in ("values", "cuts"):
            if getattr(self, key):
                data[key] = list(getattr(self, key))
        for key in ("closed", "other", "reason", "n_codes", "cut_after", "part", "source"):
            if getattr(self, key):
                data[key] = getattr(self, key)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Column:
        """The column that ``to_dict`` wrote. Raises DataError where a field is of another type.

        Parameters
        ----------
        data : dict
            What ``to_dict`` gave.

        Returns
        -------
        Column
            The column.
        """
        for key, kinds in _FIELDS.items():
            found = data.get(key, ()) if key in ("values", "cuts") else [data[key]] if key in data else []
            if not isinstance(found, list | tuple) or not all(type(item) in kinds for item in found):
                words = " or ".join(kind.__name__ for kind in kinds)
                raise DataError(f"column {data.get('name')!r}: {key} must be {words}, got {data[key]!r}.")
        sizes = [data.get(key, 0) for key in ("n_codes", "cut_after")]
        if min(sizes) < 0 or not all(map(math.isfinite, data.get("cuts", ()))):
            raise DataError(f"column {data.get('name')!r}: a number of codes, or a cut point, means nothing.")
        lists = {key: tuple(data[key]) for key in ("values", "cuts") if key in data}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class LeftOut:
    """A column of a table that is not learned: its name, its place among all columns of the table, and why."""

    name: str
    place: int
    reason: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LeftOut:
        """What ``to_dict`` of a schema wrote. Raises DataError where a field is of another type."""
        kinds = {"name": str, "place": int, "reason": str}
        if set(data) != set(kinds) or any(type(data[key]) is not kind for key, kind in kinds.items()):
            raise DataError(f"a column that is left out has a name, a place and a reason, got {dict(data)!r}.")
        return cls(**data)


@dataclass(frozen=True)
class Schema(Listed):
    """What is known about the columns of a table: their order, kinds, values and cut points, and which are left out.

    Learned by an ``Encoder`` or a classifier (``schema_``), or written down and given to one as ``schema=``.

    Parameters
    ----------
    columns : sequence of Column
        What is learned, in order.
    left_out : sequence of LeftOut
        Columns of the table that are not learned. Not part of equality: counts do not depend on them.

    Examples
    --------
    >>> schema = Schema((Column("sky", "categorical", ("sun", "rain")), Column("age", "numeric", cuts=(18.0, 65.0))))
    >>> schema.n_values
    array([2, 3])
    >>> print(schema)
    column  kind         values or cut points
    sky     categorical  2: 'sun', 'rain'
    age     numeric      3: 18, 65
    """

    unlisted = names_in("""
        described known_names learned_names places sources table_names width with_all
    """)

    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        refuse_duplicates([*self.names, *(gone.name for gone in self.left_out)] if self.left_out else self.names)
        if self.left_out:
            self._check_left_out()

    def _check_left_out(self) -> None:
        object.__setattr__(self, "left_out", tuple(sorted(self.left_out, key=lambda gone: gone.place)))
        places = [gone.place for gone in self.left_out]
        if len(set(places)) < len(places) or any(not 0 <= at < self.width for at in places):
            raise DataError(f"columns are left out at the places {places}, and the table has {self.width} columns.")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def described(self) -> tuple[tuple[object, ...], ...]:
        """What the codes of every column stand for: searches make a sample for each part of the rows."""
        return tuple(tuple(map(column.describe, range(column.n_values))) for column in self.columns)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The column of the table that each column is learned from: its own name, or that of the dates it is of."""
        return tuple(column.table_name for column in self.columns)

    @cached_property
    def learned_names(self) -> tuple[str, ...]:
        """The names of the columns of the table that are learned from, each once, in order."""
        return tuple(dict.fromkeys(self.sources))

    @property
    def width(self) -> int:
        """How many columns the table has, those that are left out among them."""
        return len(self.learned_names) + len(self.left_out)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Where each column is in a table without names: the places of columns that are left out are skipped."""
        gone = {column.place for column in self.left_out}
        free = (place for place in range(self.width) if place not in gone)
        place_of = dict(zip(self.learned_names, free, strict=True))
        return tuple(place_of[source] for source in self.sources)

    @cached_property
    def table_names(self) -> tuple[str, ...]:
        """The names of all columns of the table, those that are left out among them, in order."""
        by_place = dict(zip(self.places, self.sources, strict=True)) | {gone.place: gone.name for gone in self.left_out}
        return tuple(by_place[place] for place in range(self.width))

    @cached_property
    def known_names(self) -> frozenset[str]:
        """Names that a table may have: those of the columns, and of those that are left out."""
        return frozenset(self.table_names)

    @cached_property
    def n_values(self) -> np.ndarray:
        """Number of codes per column."""
        sizes = np.array([column.n_values for column in self.columns], dtype=np.int64)
        sizes.flags.writeable = False
        return sizes

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """The position of a column.

        Parameters
        ----------
        name : str
            The name of a column.

        Returns
        -------
        int
            Its place, from 0.
        """
        return self._places[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._places

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, key: str | int) -> Column:
        return self.columns[self.index(key) if isinstance(key, str) else key]

    def with_columns(self, changed: Mapping[int, Column]) -> Schema:
        """The same schema with some columns replaced; so it takes in new values.

        Parameters
        ----------
        changed : dict of place to Column
            The columns to replace.

        Returns
        -------
        Schema
            A new schema.
        """
        columns, sizes = list(self.columns), self.n_values.copy()
        for i, column in changed.items():
            columns[i], sizes[i] = column, column.n_values
        sizes.flags.writeable = False
        # What is known already is not found out again, which matters where there are hundreds of columns.
        if any(column.name != self.columns[i].name for i, column in changed.items()):
            new = Schema(tuple(columns), self.left_out)
        else:
            new = object.__new__(Schema)
            new.__dict__.update(columns=tuple(columns), left_out=self.left_out, names=self.names)
        new.__dict__["n_values"] = sizes
        return new

    def __deepcopy__(self, memo: dict[int, object]) -> Schema:
        """Itself: nothing in it ever changes."""
        return self

    def with_all(self, columns: Iterable[Column]) -> Schema:
        """Other columns in place of these, or more of them; what is left out stays so.

        Parameters
        ----------
        columns : iterable of Column
            All columns.

        Returns
        -------
        Schema
            A new schema.
        """
        return Schema(tuple(columns), self.left_out)

    def change(self, name: str, **fields: Any) -> Schema:
        """The same schema with other fields of one column, which may be one that is left out: it is learned then.

        Parameters
        ----------
        name : str
            The column.
        **fields : object
            Fields of ``Column``, such as ``kind``, ``values`` or ``cuts``.

        Returns
        -------
        Schema
            A new schema.

        Examples
        --------
        >>> schema = Schema((Column("age", "numeric", cuts=(18.0, 65.0)),), (LeftOut("id", 0, "row numbers"),))
        >>> print(schema.change("age", cuts=(50.0,)).change("id", kind="categorical", values=(1, 2, 3)))
        column  kind         values or cut points  reason
        id      categorical  3: 1, 2, 3            changed by hand
        age     numeric      2: 50                 changed by hand
        """
        fields = {"reason": "changed by hand"} | fields
        if name in self:
            other = fields.get("kind", self[name].kind) != self[name].kind  # whose values and cut points mean nothing
            of_dates = {"part": self[name].part, "source": self[name].source}
            changed = Column(name, **{**of_dates, **fields}) if other else replace(self[name], **fields)
            return self.with_columns({self.index(name): changed})
        back = self._left_out_column(name)
        column = Column(name, **{"kind": "categorical", **fields})
        at = next((i for i, place in enumerate(self.places) if place > back.place), len(self))
        rest = tuple(gone for gone in self.left_out if gone is not back)
        return Schema((*self.columns[:at], column, *self.columns[at:]), rest)

    def without(self, *names: str, reason: str = "left out by hand") -> Schema:
        """The same schema with some columns left out.

        Parameters
        ----------
        *names : str
            The columns to leave out.
        reason : str, default="left out by hand"
            Why, for people to read.

        Returns
        -------
        Schema
            A new schema.

        Examples
        --------
        >>> schema = Schema((Column("id", "categorical", ("a", "b")), Column("age", "numeric", cuts=(18.0,))))
        >>> schema.without("id").names
        ('age',)
        """
        for name in names:
            if name not in self:
                raise DataError(f"there is no column {name!r} to leave out.{nearest(name, self.names)}")
        rest = tuple(column for column in self.columns if column.name not in names)
        places = {self.sources[i]: self.places[i] for i in map(self.index, names)}
        still = {column.table_name for column in rest}  # of dates, other parts may stay
        gone = tuple(LeftOut(source, place, reason) for source, place in places.items() if source not in still)
        return Schema(rest, self.left_out + gone)

    def _left_out_column(self, name: str) -> LeftOut:
        for gone in self.left_out:
            if gone.name == name:
                return gone
        raise DataError(f"there is no column {name!r} to change.{nearest(name, self.table_names)}")

    def close(self) -> Schema:
        """The same schema, final: values that it does not have will be treated as missing, and no column is cut later.

        Returns
        -------
        Schema
            A new schema.
        """
        return self.with_all(_closed(column) for column in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON.

        Returns
        -------
        dict
            Its columns, as ``Column.to_dict`` gives them, and those that are left out.
        """
        data: dict[str, Any] = {"columns": [column.to_dict() for column in self.columns]}
        return data | ({"left_out": [vars(gone) for gone in self.left_out]} if self.left_out else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The schema that ``to_dict`` wrote.

        Parameters
        ----------
        data : dict
            What ``to_dict`` gave.

        Returns
        -------
        Schema
            The schema.
        """
        gone = tuple(LeftOut.from_dict(column) for column in data.get("left_out", ()))
        return cls(tuple(Column.from_dict(column) for column in data["columns"]), gone)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file, for people to read and change, and for ``schema=`` of other models.

        Parameters
        ----------
        path : path
            The file.
        """
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=1, ensure_ascii=False)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema that ``save`` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Schema
            The schema.
        """
        with open(path, encoding="utf-8") as file:
            try:
                return cls.from_dict(json.load(file))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                if isinstance(error, DataError):
                    raise
                raise DataError(f"{str(path)!r} holds no schema. Write one with schema.save(path).") from None

    def __repr__(self) -> str:
        return schema_text(self)

    def _repr_html_(self) -> str:
        return schema_html(self)

    def __str__(self) -> str:
        head = ("column", "kind", "values or cut points", "reason")
        cells = [(c.name, c.kind, _abridged(c), c.reason) for c in self.columns]
        placed = list(zip(self.places, cells, strict=True))
        placed += [(gone.place, (gone.name, "left out", "", gone.reason)) for gone in self.left_out]
        rows = [head, *(row for _, row in sorted(placed, key=lambda own: own[0]))]
        if not any(reason for *_, reason in rows[1:]):
            rows = [(*row[:3], "") for row in rows]
        widths = [max(len(row[part]) for row in rows) for part in range(4)]
        return "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def check_part(part: str) -> None:
    """Raise DataError for what is no part of a date."""
    name, _, day = part.partition(" ")
    try:
        if name not in DATE_PARTS or (day and (name != "since" or date.fromisoformat(day).isoformat() != day)):
            raise ValueError
    except ValueError:
        raise DataError(f"{part!r} is no part of a date; expected one of {', '.join(DATE_PARTS)}.") from None


def shown_date(second: float) -> str:
    """A point in time for people to read: the day, and the time where it is not midnight.

    >>> shown_date(86400.0), shown_date(1717165800.0)
    ('1970-01-02', '2024-05-31 14:30')
    """
    if not abs(second) < 1e13:
        return f"{second:g}"
    text = str(np.datetime64(round(second), "s")).replace("T", " ")
    return text.removesuffix(":00").removesuffix(" 00:00")


def is_number(value: object) -> bool:
    """Whether a plain value is a number; a boolean is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _closed(column: Column) -> Column:
    values = () if column.kind == "numeric" else column.values
    return replace(column, values=values, closed=True, cut_after=0)


def _abridged(column: Column, most: int = 6) -> str:
    """`3: 'a', 'b', 'c'`: how many codes, and the first few values or cut points."""
    if column.kind not in ("categorical", "ordinal", "numeric"):
        return str(column.n_values or "")
    if column.by_value:
        shown = [repr(value) for value in column.values]
    elif column.kind == "ordinal":
        shown = [repr(column.describe(code)) for code in range(column.n_values)]
    else:
        shown = [column.shown_cut(i) for i in range(len(column.cuts))]
    text = ", ".join(shown[:most]) + (", ..." if len(shown) > most else "") + (", <other>" if column.other else "")
    return f"{column.n_values}: {text}" if text else str(column.n_values)


def refuse_duplicates(names: Iterable[str]) -> None:
    """Raise DataError where two columns have the same name."""
    names = list(names)
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        listed = ", ".join(repr(name) for name in twice)
        raise DataError(
            f"column names must be unique: {listed} is the name of more than one column. Rename or drop the duplicates."
        )
