"""How the raw cells of a column become slots: its values, one for new values where these are smoothed, then missing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tanager.encoding import Column, Schema
from tanager.encoding.categories import codec
from tanager.encoding.schema import Value
from tanager.encoding.values import DATES, DURATIONS
from tanager.errors import OptionError


@dataclass(frozen=True)
class Reading:
    """How one column is read.

    Attributes
    ----------
    name : str
    kind : {"values", "bins", "codes", "number"}
        *values* are looked up in ``slots``, *bins* are counted by ``cuts`` below the cell, *codes* are their own slots,
        and a *number* is used as it is.
    missing, unseen : int
        The slots of a missing cell, which is the last, and of one that is none of the values.
    slots : dict
        The slot of every value.
    cuts : tuple of float
    n_codes : int
    dates : bool
        Whether the numbers stand for dates and times, in seconds.
    """

    name: str
    kind: str
    missing: int
    unseen: int
    slots: dict[Value, int] = field(default_factory=dict)
    cuts: tuple[float, ...] = ()
    n_codes: int = 0
    dates: bool = False

    @property
    def is_text(self) -> bool:
        """Whether cells are text. Numbers among them are spelled as Python spells them."""
        return any(isinstance(value, str) for value in self.slots)

    @property
    def words(self) -> dict[str, int]:
        """The slot of every value of a column of text."""
        return {str(value): slot for value, slot in self.slots.items()}

    @property
    def missing_word(self) -> str:
        """What a missing cell of text is written as: nothing, or a word that is none of the values."""
        word = ""
        while word in self.words:
            word += "?"
        return word

    @property
    def n_slots(self) -> int:
        """How many slots there are."""
        return self.missing + 1


def readings(schema: Schema, *, smooth_unseen: bool) -> list[Reading]:
    """How every column is read, in order."""
    return [_reading(column, smooth_unseen) for column in schema.columns]


def _reading(column: Column, smooth: bool) -> Reading:
    missing = column.n_values + smooth
    unseen = column.n_values if smooth else missing
    dates = column.reason in (DATES, DURATIONS) or column.part == "date"
    if column.part not in ("", "date"):
        raise OptionError(
            f"column {column.name!r} is a part of the dates in {column.source!r}, which is not exported. Give the "
            "parts as columns of the table, and fit again."
        )
    if column.kind == "numeric" and not column.by_value:
        return Reading(column.name, "bins", missing, missing, cuts=column.cuts, dates=dates)
    if column.kind == "continuous":
        return Reading(column.name, "number", missing, missing, dates=dates)
    if column.kind == "codes":
        return Reading(column.name, "codes", missing, unseen, n_codes=column.n_codes)
    if column.other:
        unseen = len(column.values)
    find = codec(column).find
    slots = {value: find(value, -1) for value in column.values}
    reading = Reading(column.name, "values", missing, unseen, slots)
    _refuse_doubles(reading)
    return reading


def _refuse_doubles(reading: Reading) -> None:
    """Values that become one and the same outside of Python."""
    spelled = [str(value) if reading.is_text else float(value) for value in reading.slots]
    if len(set(spelled)) < len(spelled):
        twice = next(value for value, own in zip(reading.slots, spelled, strict=True) if spelled.count(own) > 1)
        raise OptionError(
            f"column {reading.name!r} has {twice!r} and another value that is the same as "
            f"{'text' if reading.is_text else 'a float'}. Give the column as text of one spelling, and fit again."
        )


def thresholds(reading: Reading) -> tuple[np.ndarray, np.ndarray]:
    """Ascending numbers t, and slots: a number x has slots[i] where i of the t are at least x; NaN has slots[0].

    A value v among categories is the range from the next smaller float (not included) up to v. The last t is infinite,
    so that no number but NaN has nothing above it.
    """
    if reading.kind == "bins":
        ends = [*reading.cuts, np.inf]
        own = list(range(len(ends)))
    else:
        values = sorted((float(value), slot) for value, slot in reading.slots.items())
        ends, own = [], []
        for value, slot in values:
            below = float(np.nextafter(value, -np.inf))
            if below < value and not (ends and ends[-1] == below):
                ends.append(below)
                own.append(reading.unseen)
            ends.append(value)
            own.append(slot)
        if not ends or ends[-1] < np.inf:
            ends.append(np.inf)
            own.append(reading.unseen)
    return np.array(ends), np.array([reading.missing, *own[::-1]])
