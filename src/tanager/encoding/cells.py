"""From codes back to cells: what could stand in a column instead of what does."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, inf, nextafter

from tanager.encoding.categories import cell_number, codec
from tanager.encoding.schema import Column, Value

MISSING = -1


def other_cells(column: Column, cell: object) -> dict[int, Value]:
    """For every code that a cell does not have, a cell that has it: in a bin, the one that is nearest.

    A continuous column has no codes, and what stands for all other values (``max_values``) is no cell.

    >>> other_cells(Column("sky", "categorical", ("sun", "rain", "snow")), "rain")
    {0: 'sun', 2: 'snow'}
    >>> other_cells(Column("age", "numeric", cuts=(18.0, 65.0)), 70)
    {0: 18.0, 1: 65.0}
    """
    if column.kind == "continuous":
        return {}
    now = codec(column).code(cell, MISSING, "ignore")
    found = _cells(column, cell, now)
    return {code: value for code, value in found.items() if code != now}


def _cells(column: Column, cell: object, now: int) -> dict[int, Value]:
    if column.kind == "numeric" and not column.by_value:
        number = cell_number(cell, column.name)
        ends = [-inf, *column.cuts, inf]
        return {code: _number_in(low, high, number) for code, (low, high) in enumerate(pairwise(ends))}
    if column.kind == "ordinal":
        places = [0, *(ceil(cut) for cut in column.cuts), len(column.values)]
        # Below the present code the last value of a bin is nearest, above it the first.
        return {
            code: column.values[last - 1 if code < now else first]
            for code, (first, last) in enumerate(pairwise(places))
        }
    return dict(enumerate(column.values if column.by_value else range(column.n_codes)))


def _number_in(low: float, high: float, near: float) -> float:
    """The number in (low, high] that is nearest to another; for a missing one (NaN), a number of the bin."""
    first = nextafter(low, inf)
    if near == near:
        return min(max(near, first), high)
    if low == -inf:
        return 0.0 if high == inf else high
    return first if high == inf else low + (high - low) / 2
