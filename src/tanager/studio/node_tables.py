"""The table of a node for people: every number with the counts behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.errors import DataError, OptionError, TanagerError
from tanager.networks.data import Count, counter
from tanager.networks.network import Network
from tanager.studio.document import Document, LockedRow
from tanager.studio.models import SMOOTHING, model_of, network_of, target_of
from tanager.studio.session import Session

MOST_ROWS = 200  # of a table that are shown at once


def node_table(session: Session, name: str, first: int = 0) -> dict[str, Any]:
    """The rows of P(name | parents), those with most rows of data first; ``first`` is the place to begin at."""
    network = network_of(session)
    parents, values = network.parents(name), network.values(name)
    cells = network.tables[name].reshape(-1, len(values))
    counts = _counts(session, network, name)
    by_place = None if counts is None else counts.reshape(-1, len(values))
    locked = {_key(network, name, row.given): row for row in session.document.locked.get(name, ())}
    # Locked rows first, then by how many rows are behind them.
    totals = np.zeros(len(cells)) if by_place is None else by_place.sum(axis=1)
    free = np.ones(len(cells), dtype=bool)
    free[list(locked)] = False
    order = np.lexsort((-totals, free))
    shape = network.shape(name)[:-1]
    rows = []
    for at in order[first : first + MOST_ROWS].tolist():
        places = np.unravel_index(at, shape) if shape else ()
        given = [network.values(parent)[int(v)] for parent, v in zip(parents, places, strict=True)]
        rows.append(
            {
                "given": [_plain(value) for value in given],
                "probabilities": cells[at],
                "counts": None if by_place is None else by_place[at],
                "total": None if by_place is None else float(totals[at]),
                "locked": at in locked,
            }
        )
    return {
        "name": name,
        "parents": list(parents),
        "values": [_plain(value) for value in values],
        "rows": rows,
        "first": first,
        "n_rows": len(cells),
        "editable": session.has_rows,
    }


def _counts(session: Session, network: Network, name: str) -> np.ndarray | None:
    try:
        return _counter(session, network)(*network.parents(name), name)
    except TanagerError:  # the counts of a model file do not hold this family
        return None


def _counter(session: Session, network: Network) -> Count:
    if session.has_rows:
        return counter(network, session.prepared.sample)
    return counter(network, model_of(session).counts_, target_of(session))


def _key(network: Network, name: str, given: Sequence[object]) -> int:
    """The place of a row in the table of a node."""
    shape = network.shape(name)[:-1]
    codes = [network.code(parent, value) for parent, value in zip(network.parents(name), given, strict=True)]
    return int(np.ravel_multi_index(codes, shape)) if shape else 0


def _plain(value: object) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)


def trace(session: Session, name: str, given: Sequence[object]) -> list[dict[str, Any]]:
    """How the numbers of a row came about: the counts with no parent, with the first, and so on.

    Smoothing pulls each step towards the one before it, the more the fewer rows there are.
    """
    network, target = network_of(session), target_of(session)
    if not session.has_rows:
        raise OptionError("the rows behind a model file are not here.")
    _check_given(network, name, given)
    by_name = dict(zip(network.parents(name), given, strict=True))
    ordered = sorted(by_name, key=lambda parent: parent != target)  # the class is never dropped
    steps = []
    for size in range(1 if target in by_name else 0, len(ordered) + 1):
        known = ordered[:size]
        family = Network(
            {other: network.values(other) for other in (*known, name)}, [(parent, name) for parent in known]
        )
        at = tuple(network.code(parent, by_name[parent]) for parent in known)
        cells = session.prepared.sample.count(*known, name)[at]
        table = family.estimate(session.prepared.sample, SMOOTHING, target=target).tables[name][at]
        steps.append(
            {
                "given": [[parent, _plain(by_name[parent])] for parent in known],
                "counts": cells,
                "total": float(cells.sum()),
                "probabilities": table,
            }
        )
    return steps


def _check_given(network: Network, name: str, given: Sequence[object]) -> None:
    if len(given) != len(network.parents(name)):
        raise DataError(f"{network.family(name)} needs {len(network.parents(name))} values, got {len(given)}.")


def with_row(document: Document, network: Network, name: str, row: LockedRow) -> dict[str, tuple[LockedRow, ...]]:
    """The locked rows of a document with one more, which replaces the one for the same values."""
    network.checked_rows({name: {row.given: row.probabilities}})
    return without_row(document, network, name, row.given, keep=(row,))


def without_row(
    document: Document,
    network: Network,
    name: str,
    given: Sequence[object],
    keep: tuple[LockedRow, ...] = (),
) -> dict[str, tuple[LockedRow, ...]]:
    """The locked rows of a document without the one for these values."""
    _check_given(network, name, given)
    at = _key(network, name, given)
    rest = tuple(row for row in document.locked.get(name, ()) if _key(network, name, row.given) != at) + keep
    others = {other: rows for other, rows in document.locked.items() if other != name}
    return {**others, name: rest} if rest else others
