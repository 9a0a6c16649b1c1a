"""Exceptions and warnings. A message names the place, what was found, what was expected and what to do.

TanagerError
├── DataError (also ValueError)           the table or the labels cannot be used as they are
│   └── SchemaMismatch                    a table, counts or a model with other columns than expected
├── OptionError (also ValueError)         an option has an invalid value
├── MemoryBudgetError (also MemoryError)  the estimate is above max_memory; nothing was allocated
└── ModelFileError (also ValueError)      a file is damaged, not a model file, or from a newer version

DataWarning (a UserWarning)               some rows or cells were ignored, and learning continued
Interrupted (a KeyboardInterrupt)         Ctrl-C during an evaluation; it holds what was done until then
"""

from __future__ import annotations

import difflib
import math
import numbers
import os
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, TypeGuard

MOST = 2**53  # of whole numbers; floats skip some beyond it


class TanagerError(Exception):
    """Base class of the errors that tanager raises deliberately."""


class DataError(TanagerError, ValueError):
    """The table or the labels cannot be used as they are.

    Examples
    --------
    >>> from tanager import AODE
    >>> AODE().fit([["sun"], ["rain"]], [None, None])
    Traceback (most recent call last):
    tanager.errors.DataError: y has no label: every entry is missing. At least one row needs a class.
    """


class SchemaMismatch(DataError):
    """A table, counts or a model with other columns than expected.

    Examples
    --------
    >>> from tanager import Encoder
    >>> Encoder().fit({"sky": ["sun", "rain"]}).transform({"skye": ["sun"]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tanager.errors.SchemaMismatch: X has none of the 1 columns that Encoder was fitted on: ...
    """


class OptionError(TanagerError, ValueError):
    """An option has an invalid value.

    Examples
    --------
    >>> from tanager import AODE
    >>> AODE(warm_up=0).fit([["sun"]], ["play"])
    Traceback (most recent call last):
    tanager.errors.OptionError: warm_up=0: give a number of rows of at least 1.
    """


class MemoryBudgetError(TanagerError, MemoryError):
    """The estimate of memory is above ``max_memory``; nothing was allocated.

    Examples
    --------
    >>> from tanager import AODE, MemoryBudgetError
    >>> try:
    ...     AODE(max_memory="1 kB").fit([[f"v{i % 50}"] * 2 for i in range(100)], ["a", "b"] * 50)
    ... except MemoryBudgetError:
    ...     print("too large")
    too large
    """


class ModelFileError(TanagerError, ValueError):
    """A file is damaged, not a model file, or from a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import ModelFileError, load
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         load(file.name)
    ...     except ModelFileError:
    ...         print("no model")
    no model
    """


class DataWarning(UserWarning):
    """Some rows or cells were ignored, and learning continued.

    Examples
    --------
    >>> import warnings
    >>> from tanager import AODE
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = AODE().fit([["sun"], ["rain"], ["sun"]], ["play", "stay", None])
    >>> told[0].message
    DataWarning('1 row has no label and is left out.')
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an evaluation; ``results`` has what was done until then.

    Parameters
    ----------
    results : object
        As the evaluation would have returned them.

    Examples
    --------
    >>> from tanager.errors import Interrupted
    >>> try:
    ...     raise Interrupted("the table so far")  # as cross_validate and prequential do after Ctrl-C
    ... except KeyboardInterrupt as stop:
    ...     print(stop.results)
    the table so far
    """

    def __init__(self, results: Any) -> None:
        super().__init__("interrupted; what was done until then is in its results")
        self.results = results


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn_user(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the line of the caller that lies outside of this package, and of scikit-learn, which may lie between."""
    depth, frame = 1, sys._getframe(1)
    while _between(frame) and frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth + 1)


class ToldOnce:
    """What is said several times inside, as by several models about one table, is said once, at the end."""

    def __enter__(self) -> None:
        self._caught = warnings.catch_warnings(record=True)
        self._told: list[warnings.WarningMessage] = self._caught.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *_error: object) -> None:
        self._caught.__exit__(None, None, None)
        for text, category in dict.fromkeys((str(one.message), one.category) for one in self._told):
            warn_user(text, category)


def _between(frame: FrameType) -> bool:
    """Whether a frame is no line of a user: ours, or of a package that calls us for them."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return frame.f_code.co_filename.startswith(_HERE) or package in ("sklearn", "joblib")


def first_few(texts: Sequence[str], most: int = 5) -> str:
    """The first of some texts, with commas between them, and dots where there are more."""
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


def nearest(word: object, known: Iterable[object]) -> str:
    """`` Did you mean 'x'?`` for a likely typo, else an empty string; to be appended to a sentence."""
    match = difflib.get_close_matches(str(word), [str(option) for option in known], n=1)
    return f" Did you mean {match[0]!r}?" if match else ""


def counted_from(error: TanagerError, start: int) -> TanagerError:
    """The same error, with the row that it names counted from the beginning of a stream: ``start`` rows came before.

    >>> counted_from(DataError("column 'a', row 7: 'x' is no number."), 1000)
    DataError("column 'a', row 1007: 'x' is no number.")
    """
    return type(error)(re.sub(r"\brow (\d+)", lambda found: f"row {int(found[1]) + start}", str(error), count=1))


def is_number(value: object, least: float = -math.inf) -> TypeGuard[float]:
    """Whether a value is a finite number of at least ``least``."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and least <= float(value) < math.inf
    except OverflowError:  # of a whole number that is larger than all floats
        return False


def check_option(name: str, value: object, known: Iterable[object]) -> None:
    """Raise OptionError for a value that is not among the known ones, and suggest the nearest."""
    known = tuple(known)
    if type(value) is str and value in known:  # most are; a generator takes several times as long
        return
    if not any(value is option or (type(value) is type(option) and value == option) for option in known):
        options = ", ".join(repr(option) for option in known)
        raise OptionError(f"{name}={value!r} is not an option; choose one of {options}.{nearest(value, known)}")


def check_number(name: str, value: object, what: str = "a number", least: float = 0.0) -> None:
    """Refuse an option that is no finite number of at least that much."""
    if not is_number(value, least):
        raise OptionError(f"{name}={value!r}: give {what} of at least {least:g}.")


def check_whole(name: str, value: object, least: int = 0, *, or_none: bool = False) -> None:
    """Refuse an option that is no whole number of at least so much."""
    if not is_whole(value, least) and not (or_none and value is None):
        raise OptionError(f"{name}={value!r}: give a whole number of at least {least}{', or None' if or_none else ''}.")


def is_whole(value: object, least: int = 0) -> TypeGuard[int]:
    """Whether a value is a whole number of at least ``least``, and not beyond what floats can count."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and least <= int(value) <= MOST
