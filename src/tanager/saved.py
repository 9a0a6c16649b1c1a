"""What every field of a model file must be: its kind, its range and its length, said once where it is read.

A ``Kind`` turns what a file holds into what is used, and knows in words what it takes. Kinds are put together from
small ones, so that a part says in one table what it expects of all its fields:

>>> step = row(text("add", "remove"), whole(0, 9), number(0.0, 1.0))
>>> read("steps of its search", {"steps": [["add", 3, 0.5]]}, {"steps": items(step)})
{'steps': (('add', 3, 0.5),)}
>>> read("steps of its search", {"steps": [["add", 3, -0.5]]}, {"steps": items(step)})
Traceback (most recent call last):
tanager.errors.ModelFileError: the steps of its search hold -0.5 at steps[0][2], expected a number from 0 to 1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.errors import MOST, ModelFileError, is_number, is_whole

LARGEST = 1e150  # of numbers that answers are made from: a product of two is still finite
FINITE = float(np.finfo(float).max)
# Counts and moments of rows that fade are multiplied by a scale, which is brought back near 1 where it has grown large.
SMALLEST_SCALE, LARGEST_SCALE = 0.5, 2.0**334
_SHOWN = 60  # characters of what was found


@dataclass(frozen=True)
class Kind:
    """What a field may hold: in words, and as a function that gives the field as it is used, or raises."""

    words: str
    take: Callable[[Any], Any]


class Unfit(Exception):
    """A field, or a part of it at some place, is not what was expected."""

    def __init__(self, found: str, expected: str, place: str = "") -> None:
        super().__init__(found, expected, place)
        self.found, self.expected, self.place = found, expected, place


def read(what: str, data: Any, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The fields of this part of a file, each of its kind. Raises ModelFileError that says which one is not."""
    if not isinstance(data, Mapping):
        raise ModelFileError(f"the {what} are {_shown(data)}, expected {', '.join(kinds)} by name")
    missing = [name for name in kinds if name not in data]
    if missing:
        raise ModelFileError(f"the {what} have no {missing[0]}")
    return {name: _field(what, name, data[name], kind) for name, kind in kinds.items()}


def field(what: str, data: Any, name: str, kind: Kind) -> Any:
    """One field of a part of a file."""
    return read(what, data, {name: kind})[name]


def _field(what: str, name: str, found: Any, kind: Kind) -> Any:
    try:
        return kind.take(found)
    except Unfit as unfit:
        at = f"{name}{unfit.place}"
        raise ModelFileError(f"the {what} hold {unfit.found} at {at}, expected {unfit.expected}") from None


# --- plain data --------------------------------------------------------------------------------------------------


def _of(words: str, sound: Callable[[Any], bool], use: Callable[[Any], Any] = lambda found: found) -> Kind:
    def take(found: Any) -> Any:
        if not sound(found):
            raise Unfit(_shown(found), words)
        return use(found)

    return Kind(words, take)


def number(least: float = -LARGEST, most: float = LARGEST) -> Kind:
    """A finite number in a range."""
    return _of(f"a number from {least:g} to {most:g}", lambda x: is_number(x, least) and x <= most, float)


def figure() -> Kind:
    """A number that is shown and not computed with: it may be infinite, or none at all (NaN)."""
    return _of("a number", lambda x: isinstance(x, float) or is_number(x), float)


def whole(least: int = 0, most: int = MOST) -> Kind:
    """A whole number in a range."""
    limit = "" if most == MOST else f" and at most {most}"
    return _of(f"a whole number of at least {least}{limit}", lambda x: is_whole(x, least) and x <= most, int)


def text(*known: str) -> Kind:
    """Text, or one of a few words."""
    words = "one of " + ", ".join(map(repr, known)) if known else "text"
    return _of(words, lambda x: isinstance(x, str) and (not known or x in known))


def flag() -> Kind:
    """True or False."""
    return _of("true or false", lambda x: isinstance(x, bool))


def anything() -> Kind:
    """What is looked at elsewhere."""
    return _of("anything", lambda found: True)


def maybe(kind: Kind) -> Kind:
    """This kind, or nothing (null in the file)."""
    return Kind(f"{kind.words}, or null", lambda found: None if found is None else kind.take(found))


def items(kind: Kind, n: int | None = None, *, distinct: bool = False) -> Kind:
    """A list of one kind: so many, or any number of them; where asked for, none of them twice."""
    words = f"a list of {'' if n is None else f'{n} times '}{kind.words}"

    def take(found: Any) -> tuple[Any, ...]:
        if not isinstance(found, list | tuple) or (n is not None and len(found) != n):
            raise Unfit(_shown(found), words)
        taken = tuple(_inside(at, item, kind) for at, item in enumerate(found))
        if distinct and len(set(taken)) < len(taken):
            raise Unfit(_shown(found), f"{words}, none of them twice")
        return taken

    return Kind(words, take)


def row(*kinds: Kind) -> Kind:
    """A list of fixed length, with a kind for each place."""
    words = f"[{', '.join(kind.words for kind in kinds)}]"

    def take(found: Any) -> tuple[Any, ...]:
        if not isinstance(found, list | tuple) or len(found) != len(kinds):
            raise Unfit(_shown(found), words)
        return tuple(_inside(at, item, kind) for at, (item, kind) in enumerate(zip(found, kinds, strict=True)))

    return Kind(words, take)


def record(kinds: Mapping[str, Kind]) -> Kind:
    """Named fields, each of its kind; what else there is stays as it is."""
    words = f"fields {', '.join(kinds)}"

    def take(found: Any) -> dict[str, Any]:
        if not isinstance(found, Mapping) or not kinds.keys() <= found.keys():
            raise Unfit(_shown(found), words)
        return dict(found) | {name: _inside(name, found[name], kind) for name, kind in kinds.items()}

    return Kind(words, take)


def _inside(at: int | str, found: Any, kind: Kind) -> Any:
    try:
        return kind.take(found)
    except Unfit as unfit:
        raise Unfit(unfit.found, unfit.expected, f"[{at}]{unfit.place}") from None


# --- arrays ------------------------------------------------------------------------------------------------------


def array(types: str, *shape: int | None, least: float = -LARGEST, most: float = LARGEST, gaps: bool = False) -> Kind:
    """An array of one of these types (as in "u1 u2") and of this shape (None: any length), its cells in a range.

    NaN is refused, or with ``gaps`` a missing number.
    """
    known = [np.dtype(name) for name in types.split()]
    lengths = ", ".join("any" if n is None else str(n) for n in shape)
    words = f"{' or '.join(map(str, known))} of shape ({lengths})"
    span = f"{words} with cells from {least:g} to {most:g}"

    def take(found: Any) -> np.ndarray:
        fits = isinstance(found, np.ndarray) and found.dtype in known and found.ndim == len(shape)
        if not fits or not all(n is None or n == own for n, own in zip(shape, found.shape, strict=True)):
            raise Unfit(_shown(found), words)
        if found.size:
            # fmin and fmax leave out NaN
            low, high = (np.fmin.reduce, np.fmax.reduce) if gaps else (np.min, np.max)
            lowest, highest = low(found, axis=None), high(found, axis=None)
            empty = gaps and np.isnan(lowest)
            if not empty and not (least <= lowest and highest <= most):
                raise Unfit(f"cells from {lowest:g} to {highest:g}", span)
        return np.asarray(found, order="C")

    return Kind(words, take)


def numbers(*shape: int | None, gaps: bool = False) -> Kind:
    """An array of any finite numbers, such as cells of a table, which answers do not multiply."""
    return array("f8", *shape, least=-FINITE, most=FINITE, gaps=gaps)


def _shown(found: Any) -> str:
    """What was found, in a few words."""
    if isinstance(found, np.ndarray):
        return f"{found.dtype} of shape {found.shape}"
    try:
        words = repr(found)
    except ValueError:  # a whole number with thousands of digits
        words = "a very large number"
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}..."
