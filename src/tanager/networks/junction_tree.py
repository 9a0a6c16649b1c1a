"""The junction tree: cliques of variables, along which two passes of messages give the marginals of all at once.

A tree is compiled from scopes and sizes alone (``compile_tree``), so networks of one structure share it. The pass up,
from the leaves to the roots, works with logs; each clique leaves behind P(clique | what it shares with its parent), and
the pass down multiplies these shares. So nothing underflows, and no message is ever divided out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from tanager.networks.inference import Factor, Scope, elimination_order

# The log of 0. It is finite, so that no difference of two is NaN, and far below all that products of tables can reach.
IMPOSSIBLE = -1e280


class Clique(NamedTuple):
    """Variables that share a table, and how its messages are shaped. Axes are in the order of the variables."""

    scope: Scope
    shape: tuple[int, ...]
    parent: int  # its index; -1 for a root
    own: tuple[int, ...]  # the axes that the parent does not have
    down: tuple[int, ...]  # the shape of a message from the parent: own axes have length 1
    up: tuple[int, ...]  # the shape of a message to the parent, among its axes
    others: tuple[int, ...]  # the axes of the parent that this clique does not have


class Tree(NamedTuple):
    """Cliques, parents before their children. Several roots where the network is not connected."""

    cliques: tuple[Clique, ...]
    homes: tuple[int, ...]  # of each scope it was compiled for: a clique that contains it; -1 for none
    smallest: dict[int, int]  # of each variable: the smallest clique that contains it
    n_cells: int


@lru_cache(maxsize=64)
def compile_tree(scopes: tuple[Scope, ...], sizes: tuple[int, ...]) -> Tree:
    """The tree whose cliques are those of the min-fill order; each scope is in one of them.

    >>> [clique.scope for clique in compile_tree(((0,), (0, 1), (1, 2)), (2, 2, 2)).cliques]
    [(1, 2), (0, 1)]
    """
    found: list[set[int]] = []
    parents: list[int] = []
    at: dict[int, int] = {}  # of each variable: the clique at which it is summed out
    rank: dict[int, int] = {}
    for v, scope in reversed(elimination_order(scopes, (), sizes)):
        rest = [i for i in scope if i != v]
        near = at[max(rest, key=rank.__getitem__)] if rest else -1
        rank[v] = len(rank)
        if rest and len(found[near]) == len(rest):  # contained in the new one: one clique in place of two
            found[near].add(v)
            at[v] = near
        else:
            found.append(set(scope))
            parents.append(near)
            at[v] = len(found) - 1
    cliques = _shaped([tuple(sorted(clique)) for clique in found], parents, sizes)
    homes = tuple(at[max(scope, key=rank.__getitem__)] if scope else -1 for scope in scopes)
    by_size = sorted(range(len(cliques)), key=lambda c: -prod(cliques[c].shape))
    smallest = {i: c for c in by_size for i in cliques[c].scope}
    return Tree(cliques, homes, smallest, sum(prod(clique.shape) for clique in cliques))


def _shaped(scopes: Sequence[Scope], parents: Sequence[int], sizes: Sequence[int]) -> tuple[Clique, ...]:
    out = []
    for scope, parent in zip(scopes, parents, strict=True):
        above = scopes[parent] if parent >= 0 else ()
        out.append(
            Clique(
                scope,
                tuple(sizes[i] for i in scope),
                parent,
                tuple(axis for axis, i in enumerate(scope) if i not in above),
                among(scope, above, sizes),
                among(above, scope, sizes),
                tuple(axis for axis, i in enumerate(above) if i not in scope),
            )
        )
    return tuple(out)


def among(scope: Scope, kept: Scope, sizes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a table over the kept variables that is to be broadcast over a scope."""
    return tuple(sizes[i] if i in kept else 1 for i in scope)


def potentials(tree: Tree, factors: Sequence[Factor], sizes: Sequence[int]) -> list[np.ndarray]:
    """The sum of the logs of all factors that live in each clique; the factors are those the tree was compiled for."""
    out = [np.zeros(clique.shape) for clique in tree.cliques]
    for (scope, logs), home in zip(factors, tree.homes, strict=True):
        if home >= 0:
            axes = sorted(range(len(scope)), key=scope.__getitem__)
            shape = among(tree.cliques[home].scope, scope, sizes)
            out[home] += np.maximum(logs, IMPOSSIBLE).transpose(axes).reshape(shape)
    return out


def certain(size: int, code: int) -> np.ndarray:
    """The logs of evidence for one value."""
    logs = np.full(size, IMPOSSIBLE)
    logs[code] = 0.0
    return logs


def multiply(tree: Tree, tables: list[np.ndarray], i: int, logs: np.ndarray) -> None:
    """Multiply a factor of one variable in."""
    c = tree.smallest[i]
    tables[c] += logs.reshape([len(logs) if j == i else 1 for j in tree.cliques[c].scope])


def pass_up(tree: Tree, tables: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """P(clique | what it shares with its parent) for each clique, and the log of the sum of the whole product.

    The tables are changed on the way. Where all is impossible, shares are arbitrary; the pass down meets them with 0.
    """
    shares = list(tables)
    total = 0.0
    for c in range(len(tables) - 1, -1, -1):
        clique, logs = tree.cliques[c], tables[c]
        top = np.maximum.reduce(logs, axis=clique.own, keepdims=True)
        cells = np.exp(logs - top)
        sums = np.add.reduce(cells, axis=clique.own, keepdims=True)
        cells /= sums
        shares[c] = cells
        message = np.log(sums) + top
        if clique.parent < 0:
            total += message.item()
        else:
            tables[clique.parent] += message.reshape(clique.up)
    return shares, total


def pass_down(tree: Tree, shares: list[np.ndarray]) -> list[np.ndarray]:
    """The marginals of all cliques, from their shares; these are changed."""
    for cells, clique in zip(shares, tree.cliques, strict=True):
        if clique.parent >= 0:
            cells *= np.add.reduce(shares[clique.parent], axis=clique.others).reshape(clique.down)
    return shares


def pass_up_maxima(tree: Tree, tables: list[np.ndarray]) -> float:
    """The log of the largest product; leaves in each table its logs, less the largest given what the parent shares."""
    total = 0.0
    for c in range(len(tables) - 1, -1, -1):
        clique = tree.cliques[c]
        top = np.maximum.reduce(tables[c], axis=clique.own, keepdims=True)
        tables[c] -= top
        if clique.parent < 0:
            total += top.item()
        else:
            tables[clique.parent] += top.reshape(clique.up)
    return total


def pass_down_maxima(tree: Tree, tables: list[np.ndarray]) -> None:
    """Make each cell the log of the largest product in which it takes part, less that of the largest of all."""
    for logs, clique in zip(tables, tree.cliques, strict=True):
        if clique.parent >= 0:
            logs += np.maximum.reduce(tables[clique.parent], axis=clique.others).reshape(clique.down)
