"""The family of errors. Each message names the place, what was found, what was expected and the way out.

TanagerError
├── DataError (also ValueError)           the table or the labels cannot be used as they are
│   └── SchemaMismatch                    a table, counts or a model over other columns than expected
├── OptionError (also ValueError)         an option has a value that means nothing
├── MemoryBudgetError (also MemoryError)  the estimate is above max_memory; nothing was allocated
└── ModelFileError (also ValueError)      a model file is damaged, foreign or from a newer version

DataWarning (a UserWarning)               something was left out, and learning went on
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable


class TanagerError(Exception):
    """Base of all errors that tanager raises on purpose."""


class DataError(TanagerError, ValueError):
    """The table or the labels cannot be used as they are."""


class SchemaMismatch(DataError):
    """A table, counts or a model over other columns than expected."""


class OptionError(TanagerError, ValueError):
    """An option has a value that means nothing."""


class MemoryBudgetError(TanagerError, MemoryError):
    """The estimate of memory is above ``max_memory``; nothing was allocated."""


class ModelFileError(TanagerError, ValueError):
    """A model file is damaged, foreign or from a newer version."""


class DataWarning(UserWarning):
    """Something was left out, and learning went on."""


def nearest(word: object, known: Iterable[object]) -> str:
    """`` Did you mean 'x'?`` for a slip of the pen, else an empty string; made to be put at the end of a sentence."""
    match = difflib.get_close_matches(str(word), [str(option) for option in known], n=1)
    return f" Did you mean {match[0]!r}?" if match else ""


def is_number(value: object, least: float = -math.inf) -> bool:
    """Whether an option is a finite number of at least that much."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and least <= float(value) < math.inf


def check_option(name: str, value: object, known: Iterable[object]) -> None:
    """Refuse a value of an option that is none of the known ones, and name the nearest."""
    known = tuple(known)
    if not any(value is option or (type(value) is type(option) and value == option) for option in known):
        options = ", ".join(repr(option) for option in known)
        raise OptionError(f"{name}={value!r} is not an option; choose one of {options}.{nearest(value, known)}")


def check_number(name: str, value: object, what: str = "a number", least: float = 0.0) -> None:
    """Refuse an option that is no finite number of at least that much."""
    if not is_number(value, least):
        raise OptionError(f"{name}={value!r}: give {what} of at least {least:g}.")
