"""Exact answers by variable elimination: prune, put in what is known, sum the rest out one variable at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tanager.errors import DataError, MemoryBudgetError
from tanager.networks import graph

if TYPE_CHECKING:
    from tanager.networks.network import Network

MOST_CELLS = 10_000_000

Scope = tuple[int, ...]
Factor = tuple[Scope, np.ndarray]  # its variables, one axis each; logs, so that no product underflows


def posterior(network: Network, asked: Sequence[int], evidence: Mapping[int, int]) -> np.ndarray:
    """P(asked | evidence), one axis per variable asked for."""
    if len(set(asked)) < len(asked):
        raise DataError("a variable is asked for twice. Name each once.")
    sizes = [len(network.values(name)) for name in network]
    known = {i: 0 for i, size in enumerate(sizes) if size == 1} | dict(evidence)
    free = tuple(i for i in asked if i not in known)
    factors = _factors(network, free, evidence, known)
    steps = elimination_order([scope for scope, _ in factors], free, sizes)
    _refuse_large(network, asked, [*(scope for _, scope in steps), free], sizes)
    for variable, scope in steps:
        touching = [factor for factor in factors if variable in factor[0]]
        rest = tuple(i for i in scope if i != variable)
        factors = [factor for factor in factors if variable not in factor[0]]
        factors.append((rest, _log_sum(_product(touching, (variable, *rest), sizes))))
    shares = _shares(_product(factors, free, sizes), network, evidence)
    for axis, i in enumerate(asked):
        if i in known:  # what is known is certain
            certain = np.arange(sizes[i]) == known[i]
            shares = np.expand_dims(shares, axis) * certain.reshape(-1, *[1] * (shares.ndim - axis))
    return shares


def elimination_order(scopes: Iterable[Scope], keep: Collection[int], sizes: Sequence[int]) -> list[tuple[int, Scope]]:
    """Which variable to sum out next, and over which scope: the one that joins fewest others anew (min-fill).

    Ties go to the smaller table, then to the smaller number. All variables of the scopes go but those to keep.
    """
    scopes = [*scopes, tuple(keep)]
    joined = _interaction(scopes, len(sizes))

    def cost(v: int) -> tuple[int, int, int]:
        fill = sum(b not in joined[a] for a, b in combinations(joined[v], 2))
        return fill, prod(sizes[i] for i in (v, *joined[v])), v

    costs = {v: cost(v) for v in sorted({i for scope in scopes for i in scope} - set(keep))}
    steps = []
    while costs:
        v = min(costs.values())[-1]
        del costs[v]
        around = joined[v]
        steps.append((v, tuple(sorted({v} | around))))
        for a in around:
            joined[a] |= around
            joined[a] -= {a, v}
        for u in around.union(*(joined[a] for a in around)) & costs.keys():
            costs[u] = cost(u)
    return steps


def _interaction(scopes: Iterable[Scope], n: int) -> list[set[int]]:
    """Which variables share a scope."""
    joined: list[set[int]] = [set() for _ in range(n)]
    for scope in scopes:
        for i in scope:
            joined[i].update(scope)
            joined[i].discard(i)
    return joined


def _factors(network: Network, free: Scope, evidence: Mapping[int, int], known: Mapping[int, int]) -> list[Factor]:
    """The tables that bear on the free variables, with what is known put in.

    A node without a descendant that is asked for or known sums to one (it is barren). What no chain of shared variables
    joins with the free ones is a factor that all their values have in common (they are d-separated).
    """
    parents = network._parents
    relevant = sorted(graph.reachable(parents, [*free, *evidence]))
    scopes = {i: tuple(j for j in (*parents[i], i) if j not in known) for i in relevant}
    near = graph.reachable(_interaction(scopes.values(), len(parents)), free)
    needed = [i for i in relevant if not scopes[i] or scopes[i][0] in near]
    network._require(network.names[i] for i in needed)
    return [(scopes[i], _log_table(network, i, known)) for i in needed]


def _log_table(network: Network, i: int, known: Mapping[int, int]) -> np.ndarray:
    """The logs of a table without the axes of what is known."""
    at = tuple(known.get(j, slice(None)) for j in (*network._parents[i], i))
    with np.errstate(divide="ignore"):
        return np.log(network.tables[network.names[i]][at])


def _product(factors: Iterable[Factor], scope: Scope, sizes: Sequence[int]) -> np.ndarray:
    """The sum of logs over a scope that has all variables of the factors."""
    total = np.zeros([sizes[i] for i in scope])
    for own, logs in factors:
        places = sorted(range(len(own)), key=lambda axis: scope.index(own[axis]))
        total += logs.transpose(places).reshape([sizes[i] if i in own else 1 for i in scope])
    return total


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """log(sum(exp)) along the first axis."""
    top = logs.max(axis=0)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - top).sum(axis=0)) + top


def _shares(logs: np.ndarray, network: Network, evidence: Mapping[int, int]) -> np.ndarray:
    """The probabilities behind logs that lack a common term."""
    top = logs.max()
    if np.isneginf(top):
        names = network.names
        listed = ", ".join(f"{names[i]} = {network.values(names[i])[v]}" for i, v in evidence.items())
        raise DataError(
            f"the evidence {listed} has the probability 0 in this network. Check it, or make tables without zeros: "
            "estimate(data, smoothing=1)."
        )
    cells = np.exp(logs - top)
    return np.asarray(cells / cells.sum())


def _refuse_large(network: Network, asked: Sequence[int], scopes: Iterable[Scope], sizes: Sequence[int]) -> None:
    """Say no before anything is allocated."""
    largest = max(scopes, key=lambda scope: prod(sizes[i] for i in scope))
    cells = prod(sizes[i] for i in largest)
    if cells > MOST_CELLS:
        listed = ", ".join(network.names[i] for i in asked)
        raise MemoryBudgetError(
            f"the posterior of {listed} needs a table of {cells:.3g} cells over {len(largest)} variables, at most "
            f"{MOST_CELLS:,} are made. Give more evidence, ask for fewer variables at once, or count rows of sample(n)."
        )
