"""Edits of what is decided about columns, and what else in a document has to follow them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from tanager.errors import OptionError, nearest
from tanager.studio.document import Arc, ColumnChoices, Constraints, Document
from tanager.studio.prepared import Loaded, Prepared

MAX_ORDER = 100  # values of a column that a person brings into an order

Value = str | int | float | bool


def is_automatic(columns: ColumnChoices, name: str) -> bool:
    """Whether nothing about a column was decided by hand."""
    return not any(name in own for own in (columns.categorical, columns.numeric, columns.ordinal, columns.cuts))


def automatic(columns: ColumnChoices, name: str) -> ColumnChoices:
    """All that was decided by hand about a column is taken back, but for leaving it out."""
    return replace(
        columns,
        categorical=_without(columns.categorical, name),
        numeric=_without(columns.numeric, name),
        ordinal={key: own for key, own in columns.ordinal.items() if key != name},
        cuts={key: own for key, own in columns.cuts.items() if key != name},
    )


def with_cuts(columns: ColumnChoices, name: str, cuts: Sequence[float]) -> ColumnChoices:
    """Cut points by hand; of an ordinal column they lie between positions in its order."""
    if any(not math.isfinite(t) for t in cuts) or any(not a < b for a, b in pairwise(cuts)):
        raise OptionError(f"column {name!r}: cut points must be ascending numbers, got {list(cuts)}.")
    order = columns.ordinal.get(name)
    if order is not None and any(not 0 <= t < len(order) - 1 for t in cuts):
        raise OptionError(f"column {name!r}: a cut point lies outside the order of its values.")
    return replace(columns, cuts=columns.cuts | {name: tuple(float(t) for t in cuts)})


def with_kind(columns: ColumnChoices, name: str, kind: str, order: Sequence[Value] = ()) -> ColumnChoices:
    """Another kind; "ordinal" with the order of the values."""
    columns = automatic(columns, name)
    if kind == "categorical":
        return replace(columns, categorical=(*columns.categorical, name))
    if kind == "numeric":
        return replace(columns, numeric=(*columns.numeric, name))
    if not 2 <= len(order) <= MAX_ORDER:
        raise OptionError(f"column {name!r}: an order has 2 to {MAX_ORDER} values, this has {len(order):,}.")
    return replace(columns, ordinal=columns.ordinal | {name: tuple(order)})


def with_left_out(columns: ColumnChoices, names: Iterable[str]) -> ColumnChoices:
    """These columns are not used."""
    return replace(columns, left_out=tuple(dict.fromkeys([*columns.left_out, *names])))


def with_taken_in(columns: ColumnChoices, names: Iterable[str]) -> ColumnChoices:
    """These columns are used again."""
    back = set(names)
    return replace(columns, left_out=tuple(name for name in columns.left_out if name not in back))


def check_names(loaded: Loaded, names: Iterable[str]) -> None:
    """Refuse what is no column of the table."""
    known = loaded.X.column_names
    for name in names:
        if name not in known:
            raise OptionError(f"the table has no column {name!r}.{nearest(name, known)}")


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)


# --- what follows -----------------------------------------------------------------------------------------------------


def following(document: Document, before: Prepared, after: Prepared) -> tuple[Document, list[str]]:
    """The document without what speaks of columns or values that are not there any more, and sentences that say so."""
    known = {*after.values}
    changed = {name for name, values in after.values.items() if before.values.get(name) != values}
    notes = []

    def there(arcs: Iterable[Arc]) -> tuple[Arc, ...]:
        return tuple(arc for arc in arcs if known.issuperset(arc))

    arcs = None if document.arcs is None else there(document.arcs)
    if n_gone := len(document.arcs or ()) - len(arcs or ()):
        notes.append(f"{_counted(n_gone, 'arc')} of the network went with it.")
    locked = {}
    for child, rows in document.locked.items():
        family = {child, *(parent for parent, own in document.arcs or () if own == child)}
        if family <= known and not family & changed:
            locked[child] = rows
    if n_gone := sum(map(len, document.locked.values())) - sum(map(len, locked.values())):
        notes.append(f"{_counted(n_gone, 'row')} of tables that you had set went with it: the values are others now.")
    old = document.constraints
    tiers = tuple(tuple(name for name in tier if name in known) for tier in old.tiers)
    constraints = Constraints(there(old.required), there(old.forbidden), tuple(tier for tier in tiers if tier))
    learned = None if document.learned is None else there(document.learned)
    undirected = there(document.undirected)
    changes: dict[str, Any] = {"arcs": arcs, "learned": learned, "undirected": undirected, "locked": locked}
    return replace(document, **changes, constraints=constraints), notes


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n > 1 else ''}"
