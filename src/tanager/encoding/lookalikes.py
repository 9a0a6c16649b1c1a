"""Text that looks like numbers or dates, and is learned as text: a word on it, as nobody means that."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice

from tanager.encoding.marks import is_mark
from tanager.errors import first_few

ENOUGH = 20  # fewer distinct values do well as categories, whatever they look like
MOST = 1000  # of the values are looked at
ODD = 0.05  # so many of the values may be something else
LOOKS_LIKE = "; looks like "  # in the reason of a column, before what it looks like

_COMMA = re.compile(r"[-+]?\d+,\d+", re.ASCII)
_DATE = re.compile(r"(?:\d{1,2}([./-])\d{1,2}\1\d{4}|\d{4}([./-])\d{1,2}\2\d{1,2})(?:[T ]\d{1,2}:\d\d.*)?", re.ASCII)
_DIGITS = re.compile(r"[-+]?\d+", re.ASCII)


def lookalike(values: Sequence[object], is_number: Callable[[object], bool]) -> str:
    """What the values of a text column look like, for the reason of its kind; empty where that is text.

    >>> lookalike([*map(str, range(30)), "many"], str.isdigit)
    "; looks like numbers but for 'many'"
    >>> lookalike([f"{day}.4.2024" for day in range(1, 31)], str.isdigit)
    "; looks like dates such as '1.4.2024'"
    >>> lookalike([f"{day}.4.2024" for day in range(1, 31)] + [f"2024-05-{day}" for day in range(10, 31)], str.isdigit)
    "; looks like dates such as '1.4.2024' and '2024-05-10'"
    >>> lookalike([f"{euros},50" for euros in range(30)], str.isdigit)
    "; looks like numbers with a decimal comma such as '0,50'"
    """
    values = values[:MOST]
    if len(values) < ENOUGH:
        return ""
    shapes: dict[str, Callable[[object], object]] = {
        "numbers": is_number,
        "numbers with a decimal comma": lambda value: _COMMA.fullmatch(str(value).strip()),
        "dates": lambda value: _DATE.fullmatch(str(value).strip()),
    }
    for name, fits in shapes.items():
        most = int(ODD * len(values))
        others = [*islice((value for value in values if not fits(value) and not is_mark(value)), most + 1)]
        if len(others) > most or any(_DIGITS.fullmatch(str(value).strip()) for value in others):
            continue  # the latter are keys, with leading zeros or too long for a number
        if others:
            return f"{LOOKS_LIKE}{name} but for {first_few([repr(value) for value in others])}"
        if name != "numbers":
            fitting: dict[str, str] = {}
            for value in filter(fits, values):
                fitting.setdefault(_written(value), repr(value))
            return f"{LOOKS_LIKE}{name} such as {' and '.join([*fitting.values()][:2])}"
    return ""


def _written(value: object) -> str:
    """In which way a date is written: what separates its parts, and whether the year comes first."""
    found = _DATE.fullmatch(str(value).strip())
    return "" if found is None else f"{found[1] or ''} {found[2] or ''}"


def looks_told(reason: str) -> str:
    """What the reason of a column says that it looks like; empty where it says nothing.

    >>> looks_told("text; looks like dates such as '1.4.2024'; 2,000 distinct, the 999 most frequent kept")
    "looks like dates such as '1.4.2024'"
    """
    told = reason.partition(LOOKS_LIKE)[2]
    return f"{LOOKS_LIKE[2:]}{told.partition('; ')[0]}" if told else ""
