"""What stands in tables for a missing cell, written as text; the same for files and for tables in memory."""

from __future__ import annotations

from collections.abc import Iterable

from tanager.errors import first_few

MARKS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")
MARKED = "; missing where it says "  # in the reason of a column, before the marks that it has

_MARKS = frozenset(MARKS)


def is_mark(value: object) -> bool:
    """Whether a cell is text that stands for a missing one, among numbers or dates; elsewhere it may be a value.

    >>> is_mark("?"), is_mark(" "), is_mark("none"), is_mark(None)
    (True, True, False, False)
    """
    return isinstance(value, str) and value.strip() in _MARKS


def worth_a_word(values: Iterable[object]) -> tuple[str, ...]:
    """The marks among values, but for blank ones, of which nobody expects anything else."""
    return tuple(value for value in values if isinstance(value, str) and is_mark(value) and value.strip())


def marked(reason: str, marks: Iterable[str]) -> str:
    """The reason of a column that has such marks."""
    return reason + MARKED + first_few([repr(mark) for mark in marks])


def marks_told(reason: str) -> str:
    """The marks that the reason of a column speaks of; empty where it has none."""
    return reason.partition(MARKED)[2].partition(";")[0]
