"""Tables, samples and counts in the codes of a network: columns by name, values in the order of the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.counts.sample import Sample
from tanager.encoding.tables import Table, read_table
from tanager.errors import SchemaMismatch, nearest

if TYPE_CHECKING:
    from tanager.networks.network import Network

Count = Callable[..., np.ndarray]  # of names: their joint counts, one axis each


def counter(network: Network, data: Any, target: str | None = None) -> Count:
    """A function for the joint counts of some variables in any kind of data, over the rows that have them all."""
    if isinstance(data, JointCounts):
        return _aligned(network, _joint(network, data, target))
    if isinstance(data, Sample):
        return _aligned(network, _Rows(data))
    return _aligned(network, _Rows(as_sample(network, data)))


class _Rows:
    """The names, values and counts of a sample."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.values = dict(zip(sample.names, sample.values, strict=True))

    def count(self, names: Sequence[str]) -> np.ndarray:
        return self.sample.count(*(self.sample.index(name) for name in names))


class _Joint:
    """The names, values and counts of joint counts, whose class has a name."""

    def __init__(self, counts: JointCounts, target: str) -> None:
        self.counts, self.target = counts, target
        columns = {c.name: tuple(c.describe(v) for v in range(c.n_values)) for c in counts.schema.columns}
        self.values = {**columns, target: tuple(counts.classes.tolist())}

    def count(self, names: Sequence[str]) -> np.ndarray:
        cells = self.counts.joint(*(name for name in names if name != self.target))
        return np.moveaxis(cells, 0, list(names).index(self.target)) if self.target in names else cells.sum(axis=0)


def _joint(network: Network, counts: JointCounts, target: str | None) -> _Joint:
    target = "class" if target is None else target
    if target not in network or target in counts.schema:
        raise SchemaMismatch(
            f"the class of these counts cannot be {target!r}, which is "
            f"{'one of their columns' if target in network else 'not a variable of the network'}. "
            "Name the variable with target=."
        )
    return _Joint(counts, target)


def _aligned(network: Network, source: _Rows | _Joint) -> Count:
    """Counts of the source, with the values of each axis in the network's order."""
    places: dict[str, np.ndarray | None] = {}

    def count(*names: str) -> np.ndarray:
        for name in names:
            if name not in places:
                places[name] = _places(network, name, _column(source.values, name))
        cells = source.count(names)
        for axis, name in enumerate(names):
            moves = places[name]
            if moves is not None:
                moved = np.zeros((*cells.shape[:axis], len(network.values(name)), *cells.shape[axis + 1 :]))
                np.add.at(np.moveaxis(moved, axis, 0), moves, np.moveaxis(cells, axis, 0))
                cells = moved
        return cells

    return count


def _column(columns: dict[str, Any], name: str) -> Any:
    if name not in columns:
        raise SchemaMismatch(
            f"the data have no column {name!r}, but the network has a variable of this name.{nearest(name, columns)}"
        )
    return columns[name]


def _places(network: Network, name: str, values: Sequence[object]) -> np.ndarray | None:
    """Where the network has each of these values; None where it has the same values in the same order."""
    if tuple(values) == network.values(name):
        return None
    return np.array([network.code(name, value) for value in values], dtype=np.intp)


def as_sample(network: Network, data: Any) -> Sample:
    """The rows of a sample or table as a sample over the network's variables, values in its order."""
    if isinstance(data, JointCounts):
        raise SchemaMismatch("joint counts do not contain rows. Give the table or a Sample.")
    columns = _sample_codes(network, data) if isinstance(data, Sample) else _table_codes(network, read_table(data))
    weights = data.weights if isinstance(data, Sample) else None
    most = max((len(network.values(name)) for name in network), default=0)
    kind = np.uint8 if most < 255 else np.uint16
    codes = np.empty((len(next(iter(columns), ())), len(network)), dtype=kind, order="F")
    for i, column in enumerate(columns):
        codes[:, i] = np.where(column < 0, np.iinfo(kind).max, column)
    return Sample(codes, [network.values(name) for name in network], network.names, weights)


def _sample_codes(network: Network, sample: Sample) -> list[np.ndarray]:
    """Each variable's codes in the network's order, -1 where missing."""
    out = []
    for name in network:
        i = sample.index(name)
        moves = _places(network, name, sample.values[i])
        places = np.arange(len(sample.values[i])) if moves is None else moves
        codes = np.minimum(sample.codes[:, i].astype(np.intp), len(places))
        out.append(np.append(places, -1)[codes])
    return out


def _table_codes(network: Network, table: Table) -> list[np.ndarray]:
    names = network.names if table.names is None and table.n_columns == len(network) else table.names or ()
    columns = {name: i for i, name in enumerate(names)}
    out = []
    for name in network:
        cells = table.column(_column(columns, name)).categories.in_order
        places = [network.code(name, value) for value in cells.values]
        out.append(np.array([*places, -1], dtype=np.intp)[cells.index])
    return out
