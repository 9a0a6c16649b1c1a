"""Memory before it is used: sizes of stores, and budgets that people can read and write."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tanager.errors import MemoryBudgetError, OptionError, is_number

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def as_bytes(budget: int | float | str | None) -> float:
    """A budget as a number of bytes; None is no limit.

    >>> as_bytes("1.5 GB")
    1500000000.0
    """
    if budget is None:
        return float("inf")
    if isinstance(budget, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([kKmMgGtT]?[bB]?)\s*", budget)
        unit = match and match[2].upper()
        if match and unit is not None:
            return float(match[1]) * _UNITS[unit if unit.endswith("B") or not unit else unit + "B"]
    elif is_number(budget) and budget > 0:
        return float(budget)
    raise OptionError(f"max_memory={budget!r} is not a size; give a number of bytes or text such as '2 GB', or None.")


def readable(n_bytes: float) -> str:
    """A size as people write it.

    >>> readable(35_120_000_000)
    '35 GB'
    """
    units = ["bytes", "KB", "MB", "GB", "TB"]
    while n_bytes >= 1000 and len(units) > 1:
        n_bytes /= 1000
        units.pop(0)
    unit = units[0]
    return f"{n_bytes:.2g} {unit}" if n_bytes < 10 and unit != "bytes" else f"{n_bytes:.0f} {unit}"


def check_budget(needed: float, budget: int | float | str | None, what: str, way_out: str) -> None:
    """Refuse, before anything is allocated, what would need more than the budget."""
    limit = as_bytes(budget)
    if needed > limit:
        raise MemoryBudgetError(f"{what} needs {readable(needed)}, the budget is {readable(limit)}. {way_out}")


def sums_of_products(numbers: Sequence[float], most: int) -> list[float]:
    """The sums of the products of all sets of 0, 1, ..., ``most`` of the numbers."""
    sums = [1.0] + [0.0] * most
    for number in numbers:
        for size in range(most, 0, -1):
            sums[size] += number * sums[size - 1]
    return sums
