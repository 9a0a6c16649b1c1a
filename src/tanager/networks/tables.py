"""Checks of what a network is made of: the values of a variable, and the table of a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tanager.errors import DataError

LockedRows = Mapping[str, Mapping[tuple[object, ...], Sequence[float] | np.ndarray]]  # P(name | values of its parents)

TOLERANCE = 1e-6  # how far from one the probabilities of a context may sum


def checked_values(name: str, values: Sequence[object]) -> tuple[object, ...]:
    """The values of a variable as plain Python objects, all different."""
    if not isinstance(name, str):
        raise DataError(f"names of variables must be text; {name!r} is {type(name).__name__}. Use {str(name)!r}.")
    if isinstance(values, str):
        raise DataError(f"variable {name!r}: its values are given as one text {values!r}. Give a list of values.")
    own = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    twice = [value for i, value in enumerate(own) if value in own[:i]]
    if twice:
        raise DataError(f"variable {name!r}: the value {twice[0]!r} is given twice. Leave one out.")
    return own


def checked_table(table: Any, family: str, axes: Mapping[str, Sequence[object]]) -> np.ndarray:
    """A read-only copy of the table of a family.

    ``family`` is its name in errors; ``axes`` are the values of each parent, then those of the variable itself.
    """
    expected = tuple(len(values) for values in axes.values())
    try:
        cells = np.array(table, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"the table of {family} must be an array of numbers of shape {expected}.") from None
    if cells.shape != expected:
        listed = " x ".join(f"{size} ({axis})" for axis, size in zip(axes, expected, strict=True))
        raise DataError(f"the table of {family} has shape {cells.shape}, expected {expected}: {listed}.")
    if cells.size:
        _check_probabilities(cells, family, axes)
    cells.flags.writeable = False
    return cells


def _check_probabilities(cells: np.ndarray, family: str, axes: Mapping[str, Sequence[object]]) -> None:
    expected = f"the table of {family} must hold probabilities that sum to 1 along its last axis"
    if cells.min() < 0:
        raise DataError(f"{expected}; it holds {cells.min():g}.")
    sums = cells.sum(axis=-1)
    if not np.abs(sums - 1).max() <= TOLERANCE:
        worst = tuple(int(at) for at in np.unravel_index(np.argmax(np.abs(sums - 1)), sums.shape))
        parents = list(axes.items())[:-1]
        given = ", ".join(f"{parent} = {values[v]}" for (parent, values), v in zip(parents, worst, strict=True))
        context = f" given {given}" if given else ""
        raise DataError(f"{expected}; they sum to {sums[worst]:.9g}{context}.")
