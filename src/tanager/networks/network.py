"""Network: arcs over named variables, and the tables that make them a distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

Arc = tuple[str, str]  # parent, child


class Network:
    """A Bayesian network: variables with their values, arcs without a cycle, and tables where they are known.

    A network is a value: editing gives a new one.

    Parameters
    ----------
    variables : mapping from name to values
        In the order in which they are shown.
    arcs : iterable of (parent, child)
        No cycle.
    tables : mapping from name to array, default=None
        P(variable | parents): one axis per parent, in the order of ``parents(name)``, then the variable's own.
    """

    def __init__(
        self,
        variables: Mapping[str, Sequence[object]],
        arcs: Iterable[Arc] = (),
        tables: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._values = {name: tuple(values) for name, values in variables.items()}
        parents: dict[str, list[str]] = {name: [] for name in self._values}
        for parent, child in arcs:
            parents[child].append(parent)
        self._parents = {child: tuple(own) for child, own in parents.items()}
        self.tables = {name: np.asarray(table, dtype=float) for name, table in (tables or {}).items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self._values)

    def values(self, name: str) -> tuple[object, ...]:
        """The values of a variable."""
        return self._values[name]

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents of a variable, in the order of the axes of its table."""
        return self._parents[name]

    def children(self, name: str) -> tuple[str, ...]:
        """The children of a variable, in the order of the variables."""
        return tuple(child for child, own in self._parents.items() if name in own)

    @property
    def arcs(self) -> list[Arc]:
        """All arcs as (parent, child), by child in the order of the variables."""
        return [(parent, child) for child, own in self._parents.items() for parent in own]
