"""Ordinal columns: values with an order, of which neighbours are brought together where the class asks for no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tanager.encoding.schema import Column, Value
from tanager.encoding.values import Categories, Cells, plain
from tanager.errors import DataError, OptionError

FindCuts = Callable[[np.ndarray], np.ndarray]


def given_orders(ordinal: object) -> dict[object, tuple[Value, ...] | None]:
    """The option: for each column the order of its values, or None where the table itself knows it."""
    if ordinal is None:
        return {}
    if isinstance(ordinal, Mapping):
        return {column: _order(column, values) for column, values in ordinal.items()}
    if isinstance(ordinal, str | int):
        return {ordinal: None}
    if isinstance(ordinal, Sequence) and all(isinstance(column, str | int) for column in ordinal):
        return dict.fromkeys(ordinal)
    raise OptionError(f'ordinal={ordinal!r}: give the order of each column, such as {{"size": ["S", "M", "L"]}}.')


def _order(column: object, values: Any) -> tuple[Value, ...] | None:
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise OptionError(f'ordinal[{column!r}]={values!r}: give the values in their order, such as ["S", "M", "L"].')
    order = tuple(plain(value) for value in values)
    if len(set(order)) < max(len(order), 2):
        raise OptionError(f"ordinal[{column!r}]={list(order)}: give at least two values, each of them once.")
    return order


def order_of(name: str, order: tuple[Value, ...] | None, cells: Categories) -> tuple[Value, ...]:
    """The order of the values: as given, or as the table declares it."""
    if order is not None:
        return order
    if cells.declared and len(cells.values) > 1:
        return tuple(cells.values)
    shown = ", ".join(repr(value) for value in cells.values[:5])
    raise OptionError(
        f"ordinal: the order of column {name!r} is not known; its values are {shown or 'all missing'}. "
        f"Give it: ordinal={{{name!r}: [...]}}, smallest first."
    )


def ordinal_column(
    name: str, order: tuple[Value, ...] | None, cells: Cells, how: Sequence[object] | None, find: FindCuts
) -> Column:
    """Learn a column: ``how`` holds the values after which it is cut, or ``find`` finds cut points of positions."""
    categories = cells.categories
    values = order_of(name, order, categories)
    reason = "order declared by the table" if order is None else "order given"
    if how is not None:
        return Column(name, "ordinal", values, _after(name, values, how), closed=True, reason="cut points given")
    cuts = find(_ranks(name, values, categories))
    return Column(name, "ordinal", values, tuple(cuts.tolist()), closed=True, reason=reason)


def _ranks(name: str, order: tuple[Value, ...], cells: Categories) -> np.ndarray:
    """The position of every cell in the order, NaN for missing ones."""
    place = {value: float(rank) for rank, value in enumerate(order)}
    table = np.array([*(place.get(value, np.nan) for value in cells.values), np.nan])
    row = cells.first_row(np.isnan(table[:-1]))
    if row is not None:
        value = cells.values[cells.index[row]]
        raise DataError(
            f"column {name!r}, row {row}: {value!r} is not in its order, which is given as {list(order)!r}. "
            "Add it to ordinal= where it belongs."
        )
    return np.asarray(table[cells.index])


def _after(name: str, order: tuple[Value, ...], values: Sequence[object]) -> tuple[float, ...]:
    """Cut points after these values of the order."""
    for value in values:
        if value not in order[:-1]:
            raise OptionError(
                f"bins[{name!r}]={list(values)!r}: an ordinal column is cut after values of its order, but not after "
                f"the last. {value!r} is not among {list(order[:-1])!r}."
            )
    return tuple(sorted(order.index(value) + 0.5 for value in set(values)))


def cut_after(column: Column) -> list[Value]:
    """The values of an ordinal column after which it is cut."""
    return [column.values[int(t)] for t in column.cuts]
