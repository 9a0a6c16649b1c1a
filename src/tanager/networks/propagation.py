"""Networks on junction trees: evidence in, the marginals of variables and families out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tanager.errors import MemoryBudgetError
from tanager.networks import graph, inference
from tanager.networks import junction_tree as jt
from tanager.networks.evidence import Evidence
from tanager.networks.inference import Factor

if TYPE_CHECKING:
    from tanager.networks.network import Network

# Up to here one tree for any evidence is quick, and need not be compiled anew when other variables are observed.
QUICK_CELLS = 100_000


class Junction:
    """The tables of some variables of a network on a tree, with known values inserted: ready for further evidence."""

    def __init__(self, network: Network, members: Iterable[int], known: Mapping[int, int]) -> None:
        self.network = network
        self.known = dict(known)
        self.sizes = inference.sizes_of(network)
        self.members = tuple(members)
        network.require_tables(network.names[i] for i in self.members)
        parents = network.parent_indices
        scopes = tuple(tuple(j for j in (*parents[i], i) if j not in self.known) for i in self.members)
        self.tree = jt.compile_tree(scopes, self.sizes)
        self._scopes = scopes
        self._made: tuple[list[np.ndarray], float] | None = None

    def potentials(self) -> tuple[list[np.ndarray], float]:
        """The logs of all tables, by clique, and of what is known throughout. Computed once; to be copied."""
        if self._made is None:
            check_cells(self.tree, len(self.members))
            factors: list[Factor] = [
                (scope, inference.log_table(self.network, i, self.known))
                for i, scope in zip(self.members, self._scopes, strict=True)
            ]
            constant = sum(max(float(logs), jt.IMPOSSIBLE) for scope, logs in factors if not scope)
            self._made = jt.potentials(self.tree, factors, self.sizes), constant
        return self._made

    def tables(self, evidence: Evidence) -> tuple[list[np.ndarray], float]:
        """New tables with the evidence inserted, and the log of what it says about values known throughout."""
        kept, constant = self.potentials()
        tables = [table.copy() for table in kept]
        for i, code in evidence.known.items():
            if i not in self.known:
                jt.multiply(self.tree, tables, i, jt.certain(self.sizes[i], code))
        for i, logs in evidence.soft.items():
            if i not in self.known:
                jt.multiply(self.tree, tables, i, np.maximum(logs, jt.IMPOSSIBLE))
        return tables, constant + max(evidence.constant(self.known), jt.IMPOSSIBLE)

    def propagate(self, evidence: Evidence) -> Beliefs | None:
        """The marginals of all cliques given the evidence; None where it has probability 0."""
        tables, constant = self.tables(evidence)
        shares, total = jt.pass_up(self.tree, tables)
        total += constant
        return Beliefs(self, jt.pass_down(self.tree, shares), total) if total > jt.IMPOSSIBLE / 2 else None


def check_cells(tree: jt.Tree, n_variables: int) -> None:
    """Raise before anything is allocated."""
    if tree.n_cells > inference.MAX_CELLS:
        raise MemoryBudgetError(
            f"{n_variables} variables at once need tables of {tree.n_cells:.3g} cells; the limit is "
            f"{inference.MAX_CELLS:,}. Give more evidence, ask for fewer variables (names), one at a time (posterior), "
            "or count rows of sample(n)."
        )


class Beliefs(NamedTuple):
    """What follows from evidence."""

    junction: Junction
    cells: list[np.ndarray]  # P(clique | evidence)
    log_evidence: float  # log P(evidence)

    def marginal(self, i: int) -> np.ndarray:
        """P(variable | evidence)."""
        junction = self.junction
        if i in junction.known:
            return np.asarray(np.arange(junction.sizes[i]) == junction.known[i], dtype=float)
        sums = self._sums(junction.tree.smallest[i], [i])
        return np.asarray(sums / sums.sum())

    def family(self, i: int) -> np.ndarray:
        """P(variable and its parents | evidence), with the axes of its table."""
        junction = self.junction
        axes = (*junction.network.parent_indices[i], i)
        free = [j for j in axes if j not in junction.known]
        out = np.zeros([junction.sizes[j] for j in axes])
        at = tuple(junction.known.get(j, slice(None)) for j in axes)
        out[at] = self._sums(junction.tree.homes[junction.members.index(i)], free) if free else 1.0
        return out

    def _sums(self, c: int, kept: Sequence[int]) -> np.ndarray:
        """P(kept variables | evidence) from a clique that has them all, one axis each in this order."""
        scope = self.junction.tree.cliques[c].scope
        sums = np.add.reduce(self.cells[c], axis=tuple(axis for axis, j in enumerate(scope) if j not in kept))
        order = sorted(kept)  # as cliques are
        return np.asarray(sums.transpose([order.index(j) for j in kept]))


def propagated(network: Network, evidence: Evidence, wanted: Iterable[int]) -> Beliefs:
    """The marginals given the evidence, on a tree that has all wanted variables; an error if it cannot be."""
    beliefs = junction_for(network, evidence, wanted).propagate(evidence)
    if beliefs is None:
        raise evidence.impossible(network)
    return beliefs


def junction_for(network: Network, evidence: Evidence, wanted: Iterable[int]) -> Junction:
    """The tree of the whole network if that is quick, else one of what is needed, with the evidence inserted."""
    whole = network.junction
    if whole is not None:
        return whole
    needed = sorted(graph.reachable(network.parent_indices, [*wanted, *evidence.variables]))
    return Junction(network, needed, {**inference.single_values(inference.sizes_of(network)), **evidence.known})


def whole_junction(network: Network) -> Junction | None:
    """The tree of all variables; None if that is not quick, or a table is missing."""
    if len(network.tables) < len(network) or 0 in inference.sizes_of(network):
        return None
    junction = Junction(network, range(len(network)), inference.single_values(inference.sizes_of(network)))
    return junction if junction.tree.n_cells <= QUICK_CELLS else None


def marginals(network: Network, evidence: Evidence, wanted: Sequence[int]) -> dict[str, np.ndarray]:
    """P(variable | evidence) of each wanted variable."""
    beliefs = propagated(network, evidence, wanted)
    return {network.names[i]: beliefs.marginal(i) for i in wanted}


def log_evidence(network: Network, evidence: Evidence) -> float:
    """log P(evidence); minus infinity for what cannot be."""
    beliefs = junction_for(network, evidence, ()).propagate(evidence)
    return beliefs.log_evidence if beliefs else -np.inf
