"""Densities of number columns that their moments determine: the normal one, Poisson's and the exponential one.

The last two have one number, the mean: counts of what happens at a constant rate, and the time between two such events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError, check_option

DENSITIES = ("normal", "poisson", "exponential")  # the places are the kernel's codes


def check_density(density: Any) -> None:
    """Refuse an option that names no density: give one for all number columns, or a dict by name."""
    if isinstance(density, Mapping):
        for name, own in density.items():
            check_option(f"density[{name!r}]", own, DENSITIES)
    elif isinstance(density, str):
        check_option("density", density, DENSITIES)
    else:
        raise OptionError(
            f'density={density!r}: give "normal", "poisson" or "exponential", or a dict such as {{"calls": "poisson"}}.'
        )


def density_of(density: Any, name: str) -> str:
    """The density of a column."""
    return str(density.get(name, "normal") if isinstance(density, Mapping) else density)


def is_plain(density: Any) -> bool:
    """Whether all number columns are normal."""
    return all(own == "normal" for own in density.values()) if isinstance(density, Mapping) else density == "normal"


def check_support(name: str, numbers: np.ndarray, density: str) -> None:
    """Refuse numbers that a density cannot have. Those that are not finite are missing, and may be there."""
    wrong = np.isfinite(numbers) & (numbers < 0)
    if density == "poisson":
        wrong |= np.isfinite(numbers) & (numbers != np.floor(numbers))
    if density == "normal" or not wrong.any():
        return
    row = int(wrong.argmax())
    what = "whole numbers of at least 0" if density == "poisson" else "numbers of at least 0"
    raise DataError(
        f"column {name!r}, row {row}: {numbers[row]:g} cannot be where density is {density!r}, which is for {what}. "
        'Leave the cell empty, or use density="normal" for this column.'
    )
