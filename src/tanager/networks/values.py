"""Names and values as plain data, and as words that a file format allows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from tanager.encoding.schema import OTHER
from tanager.errors import DataError


def values_to_plain(values: Iterable[object]) -> list[Any]:
    """Values for JSON: text, numbers and booleans unchanged, null for OTHER (all other values), the rest as text."""
    return [None if v is OTHER else v if isinstance(v, str | int | float) else str(v) for v in values]


def values_from_plain(data: Iterable[Any]) -> list[object]:
    """The values that ``values_to_plain`` wrote."""
    values = [OTHER if v is None else v for v in data]
    if not all(v is OTHER or isinstance(v, str | int | float) for v in values):
        raise DataError("values must be text, numbers or booleans.")
    return values


def note(data: object) -> str:
    """Plain data as one line of JSON without an equals sign, which some readers take for the end of a name."""
    return json.dumps(data).replace("=", "\\u003d")


def words(texts: Iterable[object], legal: Callable[[str], str], fold: Callable[[str], str] = str) -> list[str]:
    """Each text as the format allows it, all different after folding: a number is appended to duplicates.

    >>> words(["a b", "a_b"], lambda text: text.replace(" ", "_"))
    ['a_b', 'a_b_2']
    """
    out: list[str] = []
    taken: set[str] = set()
    for text in texts:
        word = candidate = legal(str(text))
        number = 1
        while fold(candidate) in taken:
            number += 1
            candidate = f"{word}_{number}"
        taken.add(fold(candidate))
        out.append(candidate)
    return out
