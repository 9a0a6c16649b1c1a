"""Exact inference by variable elimination: prune, insert the evidence, sum out the rest one variable at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tanager.errors import DataError, MemoryBudgetError
from tanager.networks import graph
from tanager.networks.evidence import Evidence

if TYPE_CHECKING:
    from tanager.networks.network import Network

MAX_CELLS = 10_000_000

Scope = tuple[int, ...]
Cost = tuple[int, int, int]  # of eliminating a variable: edges filled in, cells of its table, its number
Factor = tuple[Scope, np.ndarray]  # its variables, one axis each; logs, so that products do not underflow


def posterior(network: Network, query: Sequence[int], evidence: Evidence) -> np.ndarray:
    """P(query | evidence), one axis per query variable."""
    if len(set(query)) < len(query):
        raise DataError("a variable is named twice. Name each variable once.")
    sizes = sizes_of(network)
    known = {**single_values(sizes), **evidence.known}
    free = tuple(i for i in query if i not in known)
    factors = relevant_factors(network, free, evidence, known)
    _check_size(network, query, [free], sizes)
    shares = _shares(_product(sum_out(network, factors, free, query, sizes), free, sizes), network, evidence)
    for axis, i in enumerate(query):
        if i in known:  # all probability is on the known value
            certain = np.arange(sizes[i]) == known[i]
            shares = np.expand_dims(shares, axis) * certain.reshape(-1, *[1] * (shares.ndim - axis))
    return shares


def sizes_of(network: Network) -> tuple[int, ...]:
    """The number of values of each variable."""
    return tuple(len(network.values(name)) for name in network)


def single_values(sizes: Sequence[int]) -> dict[int, int]:
    """Variables with a single value are known as well; they would only add axes of length 1."""
    return {i: 0 for i, size in enumerate(sizes) if size == 1}


def sum_out(
    network: Network, factors: list[Factor], keep: Scope, query: Iterable[int], sizes: Sequence[int]
) -> list[Factor]:
    """Factors over the variables to keep alone, whose product is the sum of the given product over all others."""
    steps = elimination_order([scope for scope, _ in factors], keep, sizes)
    _check_size(network, query, [scope for _, scope in steps], sizes)
    for variable, scope in steps:
        touching = [factor for factor in factors if variable in factor[0]]
        rest = tuple(i for i in scope if i != variable)
        factors = [factor for factor in factors if variable not in factor[0]]
        factors.append((rest, _log_sum(_product(touching, (variable, *rest), sizes))))
    return factors


def elimination_order(scopes: Iterable[Scope], keep: Collection[int], sizes: Sequence[int]) -> list[tuple[int, Scope]]:
    """The variables to sum out, in order, each with the scope of its table; those with the fewest fill-in edges first.

    Min-fill: finding the best order is NP-hard, and this greedy rule is close to it on real networks. Ties go to the
    smaller table, then to the smaller number. All variables of the scopes are summed out except those to keep.
    """
    scopes = [*scopes, tuple(keep)]
    joined = _interaction(scopes, len(sizes))

    def cost(v: int) -> Cost:
        around = joined[v]
        fill = sum(len(around - joined[a]) - 1 for a in around) // 2  # -1: a itself
        return fill, prod(sizes[i] for i in (v, *around)), v

    costs = {v: cost(v) for v in sorted({i for scope in scopes for i in scope} - set(keep))}
    waiting = list(costs.values())  # a heap, in which what is no longer true is passed over
    heapify(waiting)
    steps = []
    while waiting:
        fill, _, v = least = heappop(waiting)
        if costs.get(v) != least:
            continue
        del costs[v]
        around = joined[v]
        steps.append((v, tuple(sorted({v} | around))))
        # Eliminating v changes only the costs of its neighbours and, where edges are filled in, of their neighbours.
        changed = {a: _without(costs[a], joined[a] - around, sizes[v]) for a in around & costs.keys()}
        for a in around:
            joined[a] |= around
            joined[a] -= {a, v}
        if fill:
            changed = {u: cost(u) for u in around.union(*(joined[a] for a in around)) & costs.keys()}
        costs |= changed
        for new in changed.values():
            heappush(waiting, new)
    return steps


def _without(cost: Cost, far: Collection[int], size: int) -> Cost:
    """The cost of a node once a neighbour is gone whose own neighbours are all joined.

    A node with a thousand neighbours would be slow to look at anew after each of them. ``far`` has the neighbours of
    the node that are none of the one that is gone, and the latter itself.
    """
    fill, cells, own = cost
    return fill - (len(far) - 1), cells // size, own


def _interaction(scopes: Iterable[Scope], n: int) -> list[set[int]]:
    """Which variables share a scope."""
    joined: list[set[int]] = [set() for _ in range(n)]
    for scope in scopes:
        for i in scope:
            joined[i].update(scope)
            joined[i].discard(i)
    return joined


def relevant_factors(network: Network, free: Scope, evidence: Evidence, known: Mapping[int, int]) -> list[Factor]:
    """The tables that matter for the free variables, with the known values inserted, and the soft evidence.

    A node without a queried or known descendant sums to one (it is barren). A table that no chain of shared variables
    connects with the free ones is a constant factor of all their values (it is d-separated), and cancels out.
    """
    parents = network.parent_indices
    relevant = sorted(graph.reachable(parents, [*free, *evidence.variables]))
    scopes = {i: tuple(j for j in (*parents[i], i) if j not in known) for i in relevant}
    near = graph.reachable(_interaction(scopes.values(), len(parents)), free)
    needed = [i for i in relevant if not scopes[i] or scopes[i][0] in near]
    network.require_tables(network.names[i] for i in needed)
    soft: list[Factor] = [((i,), logs) for i, logs in evidence.soft.items() if i in near and i not in known]
    soft.append(((), np.array(evidence.constant(known))))
    return [*((scopes[i], log_table(network, i, known)) for i in needed), *soft]


def log_table(network: Network, i: int, known: Mapping[int, int]) -> np.ndarray:
    """The logs of a table, without the axes of known variables."""
    at = tuple(known.get(j, slice(None)) for j in (*network.parent_indices[i], i))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(network.tables[network.names[i]][at]))


def _product(factors: Iterable[Factor], scope: Scope, sizes: Sequence[int]) -> np.ndarray:
    """The sum of logs over a scope that contains all variables of the factors."""
    total = np.zeros([sizes[i] for i in scope])
    for own, logs in factors:
        places = sorted(range(len(own)), key=lambda axis: scope.index(own[axis]))
        total += logs.transpose(places).reshape([sizes[i] if i in own else 1 for i in scope])
    return total


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """log(sum(exp)) along the first axis."""
    top = logs.max(axis=0)
    top = np.where(np.isneginf(top), 0.0, top)  # all impossible: avoid -inf minus -inf
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=0)) + top)


def _shares(logs: np.ndarray, network: Network, evidence: Evidence) -> np.ndarray:
    """Probabilities from logs up to a constant."""
    top = logs.max()
    if np.isneginf(top):
        raise evidence.impossible(network)
    cells = np.exp(logs - top)
    return np.asarray(cells / cells.sum())


def _check_size(network: Network, query: Iterable[int], scopes: Iterable[Scope], sizes: Sequence[int]) -> None:
    """Raise before anything is allocated."""
    largest = max(scopes, key=lambda scope: prod(sizes[i] for i in scope), default=())
    cells = prod(sizes[i] for i in largest)
    if cells > MAX_CELLS:
        listed = ", ".join(network.names[i] for i in query)
        raise MemoryBudgetError(
            f"the posterior of {listed} needs a table of {cells:.3g} cells over {len(largest)} variables; the limit is "
            f"{MAX_CELLS:,}. Give more evidence, fewer variables at once, or count rows of sample(n)."
        )
