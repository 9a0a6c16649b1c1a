"""The option ``gaussian`` where number columns have parents: as a parent a column is its bin, as a child a density."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.context_moments import ContextMoments
from tanager.encoding import Schema
from tanager.encoding.dates import may_be_part
from tanager.errors import OptionError, nearest
from tanager.scoring.densities import ProductOfDensities, SumOfDensities
from tanager.scoring.forms import ParentSet, SumOfProducts
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


def check_gaussian(gaussian: Any, others: Mapping[str, bool]) -> None:
    """Refuse what is no choice of columns, and other options (given or not) that need codes of all columns."""
    if not isinstance(gaussian, bool | str | int | np.integer | list | tuple):
        raise OptionError(f"gaussian={gaussian!r}: give True for all number columns, or a list of columns.")
    for option in (name for name, given in others.items() if given and gaussian is not False):
        raise OptionError(
            f"gaussian and {option} do not go together: what that needs is not learned of Gaussian columns. Leave one "
            "of them out."
        )


def check_named(gaussian: Any, names: Sequence[str]) -> None:
    """Refuse columns that a table does not have, in the words of the option."""
    for name in [] if isinstance(gaussian, bool) else as_list(gaussian):
        if not may_be_part(name, names):
            _place(name, names)


def chosen(gaussian: Any) -> bool | list[Any]:
    """The option as an encoder takes it: all columns of numbers or none, or a list."""
    return gaussian if isinstance(gaussian, bool) else as_list(gaussian)


def cut_as_well(options: dict[str, Any], gaussian: Any) -> dict[str, Any]:
    """Options of the encoder under which the columns that are named hold numbers, and are cut."""
    if isinstance(gaussian, bool):
        return options
    return options | {"numeric": [*as_list(options.get("numeric")), *as_list(gaussian)]}


def gaussian_columns(gaussian: Any, schema: Schema) -> list[int]:
    """The places of the columns that the option stands for."""
    numbers = [i for i, column in enumerate(schema.columns) if column.kind == "numeric"]
    if isinstance(gaussian, bool):
        return numbers if gaussian else []
    places = sorted({_place(_name(name, schema), schema.names) for name in as_list(gaussian)})
    for i in places:
        if i not in numbers:
            raise OptionError(
                f"gaussian: column {schema.names[i]!r} is {schema.columns[i].kind}, and only numbers have a normal "
                "distribution. Leave it out."
            )
    return places


def _name(key: Any, schema: Schema) -> Any:
    """The name of a column that may be given by its place in the table, where those that are left out count."""
    by_place = isinstance(key, int | np.integer) and not isinstance(key, bool) and -schema.width <= key < schema.width
    return schema.table_names[key] if by_place else key


def _place(name: Any, names: Sequence[str]) -> int:
    if isinstance(name, str) and name in names:
        return list(names).index(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and -len(names) <= name < len(names):
        return int(name) % len(names)
    raise OptionError(f"gaussian: X has no column {name!r} (it has {len(names)}).{nearest(name, names)}")


def as_list(columns: Any) -> list[Any]:
    """Columns as a list: none, one of them, or several."""
    if columns is None:
        return []
    return [columns] if isinstance(columns, str | int | np.integer) else list(columns)


def one_parent(schema: Schema) -> list[ParentSet]:
    """Every column as the only parent."""
    return [(i,) for i in range(len(schema))]


def two_parents(schema: Schema, among: Iterable[int] | None = None) -> list[ParentSet]:
    """One or two columns as parents; of two, one is ``among`` these columns where they are given."""
    pairs = combinations(range(len(schema)), 2)
    some = None if among is None else set(among)
    return [*one_parent(schema), *(pair for pair in pairs if some is None or some & set(pair))]


def with_densities(model: CountsClassifier, view: View) -> Scorer:
    """The view itself, or the scorer of its form with densities in place of the Gaussian columns."""
    moments = model.memory.moments
    if not isinstance(moments, ContextMoments):
        return view
    made = SumOfDensities if isinstance(view.form, SumOfProducts) else ProductOfDensities
    return made(view, moments)
