"""Dates in text, as ISO 8601 writes them: 2024-05-31, 2024-05-31 14:30, 2024-05-31T14:30:00.25+02:00.

They become seconds since 1970, in UTC; without a time zone they are taken as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from tanager.encoding.marks import is_mark

MANY = 64  # texts, from which on they are read together
_TIME = r"[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
_ISO = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:({_TIME})(?: ?(Z|[+-]\d\d(?::?\d\d)?))?)?", re.ASCII)
_SHAPES = {10: "dddd-dd-dd", 16: "dddd-dd-ddTdd:dd", 19: "dddd-dd-ddTdd:dd:dd"}  # which are read together
_WEIGHTS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))  # where year, month, day, hour, minute, second are


def read_date(text: str) -> float | None:
    """A date in text as seconds since 1970; NaN for blank text and other marks of missing, None where it is no date.

    >>> read_date("1970-01-02"), read_date("1970-01-01T02:00+02:00"), read_date("2024-02-30"), read_date(" ")
    (86400.0, 0.0, None, nan)
    """
    text = text.strip()
    if is_mark(text):
        return float("nan")
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat("".join(piece or "" for piece in found.groups()))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):  # no such day, hour or zone
        return None


def read_dates(values: Sequence[object]) -> tuple[np.ndarray, np.ndarray]:
    """Values as seconds since 1970, NaN for marks of missing, and which are no dates; numbers are seconds already.

    >>> read_dates(["1970-01-02", "", "soon", 60])
    (array([8.64e+04,      nan,      nan, 6.00e+01]), array([False, False,  True, False]))
    """
    seconds, wrong = np.full(len(values), np.nan), np.ones(len(values), dtype=bool)
    if len(values) >= MANY and all(type(value) is str for value in values):
        _read_together(np.array(values), seconds, wrong)
    for v in np.flatnonzero(wrong).tolist():
        value = values[v]
        if isinstance(value, str):
            second = read_date(value)
        else:
            second = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        if second is not None:
            seconds[v], wrong[v] = second, False
    return seconds, wrong


def _read_together(texts: np.ndarray, seconds: np.ndarray, wrong: np.ndarray) -> None:
    """Write the seconds of all texts of the usual shapes, and that these are dates; others stay as they are."""
    lengths = np.char.str_len(texts)
    for length, shape in _SHAPES.items():
        rows = np.flatnonzero(lengths == length)
        if len(rows):
            letters = np.ascontiguousarray(texts[rows].astype(f"U{length}")).view(np.uint32).reshape(-1, length)
            good, found = _of_shape(letters, shape)
            seconds[rows[good]], wrong[rows[good]] = found[good], False


def _of_shape(letters: np.ndarray, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of letters have a shape and are a moment that there is, and its seconds."""
    good = np.ones(len(letters), dtype=bool)
    for at, letter in enumerate(shape):
        column = letters[:, at]
        if letter == "d":
            good &= (column >= ord("0")) & (column <= ord("9"))
        else:
            good &= (column == ord(letter)) | ((letter == "T") & (column == ord(" ")))
    digits = np.where(good[:, None], letters, ord("0")).astype(np.int64) - ord("0")
    fields = [_number(digits[:, start:stop]) for start, stop in _WEIGHTS if stop <= len(shape)]
    year, month, day = fields[:3]
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    first = months.astype("M8[M]").astype("M8[D]")
    length = ((months + 1).astype("M8[M]").astype("M8[D]") - first).astype(np.int64)
    good &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)
    found = (first.astype(np.int64) + day - 1) * 86400
    for own, most, unit in zip(fields[3:], (24, 60, 60), (3600, 60, 1), strict=False):
        good &= own < most
        found = found + own * unit
    return good, found.astype(np.float64)


def _number(digits: np.ndarray) -> np.ndarray:
    number = np.zeros(len(digits), dtype=np.int64)
    for at in range(digits.shape[1]):
        number = number * 10 + digits[:, at]
    return number
