"""Dates in many texts at once, by Arrow: what ``iso_dates`` reads one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tanager.encoding.arrow_columns import arrow_column, arrow_scalar
from tanager.encoding.iso_dates import read_date
from tanager.encoding.marks import MARKS, worth_a_word
from tanager.encoding.values import Categories, DateText

MANY = 1000  # texts, which are worth a look at all of them together
MANY_OBJECTS = 10_000  # which are worth an Arrow array as well

_YEAR_1 = -62_135_596_800.0  # where the calendar of ``iso_dates`` begins
_NEVER = np.iinfo(np.int64).min


def read_text(texts: Any, read: Callable[[], Categories]) -> Categories:
    """Text in an Arrow array. Many dates are read as such, and as text only where somebody asks for that."""
    found = dates_of(texts) if len(texts) >= MANY else None
    return read() if found is None else DateText(*found, read)


def read_texts(cells: Sequence[object] | np.ndarray, first: object, read: Callable[[], Categories]) -> Categories:
    """The same for objects, of which the first that is not missing is given."""
    if len(cells) < MANY_OBJECTS or not isinstance(first, str) or read_date(first) is None:
        return read()
    import pyarrow as pa

    try:
        texts = pa.array(cells, pa.string(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # not all is text
        return read()
    return read_text(texts, read)


def dates_of(texts: Any) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Points in time of an Arrow array of text, NaN for missing cells and their marks; and which marks there are.

    None where not all is dates, or where some are written in a way that ``iso_dates`` had better read.

    >>> import pyarrow as pa
    >>> dates_of(pa.array(["1970-01-02", None, "?", "1970-01-01 00:01:00.5"]))
    (array([8.64e+04,      nan,      nan, 6.05e+01]), ('?',))
    >>> dates_of(pa.array(["1970-01-02", "soon"]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    first = next((str(text) for text in texts[:1000] if text.is_valid), "")
    if read_date(first) is None:  # most text is no date, which spares the rest
        return None
    found = _seconds(texts)
    if found is not None:
        return found, ()
    marks = pc.is_in(texts, value_set=arrow_column(MARKS).cast(texts.type))
    found = _seconds(pc.if_else(marks, pa.nulls(1, texts.type)[0], texts))
    return None if found is None else (found, worth_a_word(pc.unique(texts.filter(marks)).to_pylist()))


def _seconds(texts: Any) -> np.ndarray | None:
    import pyarrow as pa

    from tanager.encoding.frames import numbers_of

    for zone in (None, "UTC"):  # text without a zone, or all of it with one
        try:
            ticks = texts.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
        if _has_hours_alone(texts, zone):
            return None
        ints = numbers_of(ticks.cast(pa.int64()).fill_null(arrow_scalar(_NEVER, pa.int64())))
        seconds = np.where(ints == _NEVER, np.nan, ints / 1e6)
        return None if np.fmin.reduce(seconds, initial=0.0) < _YEAR_1 else seconds
    return None


def _has_hours_alone(texts: Any, zone: str | None) -> bool:
    """Whether some text has an hour and no minutes, which is a date for Arrow alone."""
    import pyarrow.compute as pc

    if zone is None:
        found = pc.any(pc.equal(pc.binary_length(texts), arrow_scalar(13)))
    else:
        found = pc.any(pc.not_equal(pc.utf8_slice_codeunits(texts, 13, 14), arrow_scalar(":")))
    return bool(found.as_py())
