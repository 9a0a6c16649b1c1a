"""Trees and forests over the columns: which column gets which parent."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.structure.measures import ROWS, conditional_information, pair_sums

Edge = tuple[int, int]
NO_PARENT = -1
EDGES_AT_ONCE = 2048  # most of the later ones are inside a tree by then


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of columns, in order; a stream asks for the same again and again."""
    i, j = np.triu_indices(n, 1)
    i.flags.writeable = j.flags.writeable = False
    return i, j


def heaviest_forest(weights: np.ndarray, *, positive: bool = False) -> list[Edge]:
    """Edges of a spanning tree of largest total weight, heaviest first; ties go to the smaller pair of columns.

    With ``positive`` only edges of positive weight are taken, which may leave a forest.

    >>> heaviest_forest(np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]]))
    [(0, 1), (0, 2)]
    """
    n = len(weights)
    i, j = _pairs(n)
    order = np.argsort(-weights[i, j], kind="stable")  # pairs are in order already
    if positive:
        order = order[weights[i, j][order] > 0]
    above = list(range(n))  # a column of the same tree; itself, where it stands for the tree
    edges: list[Edge] = []
    for start in range(0, len(order), EDGES_AT_ONCE):
        some = order[start : start + EDGES_AT_ONCE]
        if start:
            tree = np.array([_top(above, a) for a in range(n)])
            some = some[tree[i[some]] != tree[j[some]]]
        for a, b in zip(i[some].tolist(), j[some].tolist(), strict=True):
            top, other = _top(above, a), _top(above, b)
            if top != other:
                edges.append((a, b))
                above[other] = top
                if len(edges) == n - 1:
                    break
        if len(edges) == n - 1:
            break
    return edges


def _top(above: list[int], a: int) -> int:
    """The column that stands for the tree of column a; the way there is made shorter."""
    while above[a] != a:
        above[a] = above[above[a]]
        a = above[a]
    return a


def direct(edges: list[Edge], n: int, root_score: np.ndarray, root: int | None = None) -> list[int]:
    """Parent of every column (-1 for a root) if the root of each tree is its column of largest score.

    Ties go to the smaller column. ``root`` overrides the choice for its own tree.
    """
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    scores = root_score.tolist()
    starts = sorted(range(n), key=lambda i: (i != root, -scores[i], i))
    parents = [NO_PARENT] * n
    reached = [False] * n
    for start in starts:
        if reached[start]:
            continue
        reached[start] = True
        queue = [start]
        for a in queue:
            for b in neighbours[a]:
                if not reached[b]:
                    reached[b] = True
                    parents[b] = a
                    queue.append(b)
    return parents


def _free_parameters(counts: JointCounts) -> np.ndarray:
    return _free_of(counts.schema.n_values.tobytes(), counts.n_classes)


@lru_cache(maxsize=4)  # a stream asks for the same again and again
def _free_of(n_values_: bytes, n_classes: int) -> np.ndarray:
    free = np.maximum(np.frombuffer(n_values_, dtype=np.int64) - 1, 0).astype(float)
    found: np.ndarray = np.outer(free, free) * n_classes
    found.flags.writeable = False
    return found


def aic_gain(counts: JointCounts) -> np.ndarray:
    """The gain of an edge in log-likelihood, less its parameters."""
    return np.asarray(_rows(counts) * conditional_information(counts) - _free_parameters(counts))


def bic_gain(counts: JointCounts) -> np.ndarray:
    """The gain of an edge in log-likelihood, less half the log of the rows for each parameter."""
    rows = _rows(counts)
    penalty = 0.5 * np.log(np.maximum(rows, 1.0)) * _free_parameters(counts)
    return np.asarray(rows * conditional_information(counts) - penalty)


def g2_gain(counts: JointCounts, level: float = 0.05) -> np.ndarray:
    """1 - p of the G² test for conditional independence where it is below the level, else 0."""
    from scipy.special import chdtrc  # the tail of chi-squared

    df = _free_parameters(counts)
    p = np.where(df > 0, chdtrc(np.maximum(df, 1), 2 * _rows(counts) * conditional_information(counts)), 1.0)
    return np.where(p < level, np.round(1 - p, 12), 0.0)


def bdeu_gain(counts: JointCounts, ess: float = 1.0) -> np.ndarray:
    """The gain of an edge in the BDeu score of the family, over the rows with both columns present."""
    from scipy.special import gammaln

    n = counts.n_features
    gain = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            table = counts.joint(i, j)
            if not table.size:
                continue

            def score(cells: np.ndarray, alone: np.ndarray) -> float:  # family of `cells`, contexts `alone`
                prior, context = ess / cells.size, ess / alone.size
                inside = gammaln(cells + prior) - gammaln(prior)
                return float(inside.sum() + (gammaln(context) - gammaln(alone + context)).sum())

            gain[i, j] = score(table, table.sum(2)) - score(table.sum(1), table.sum((1, 2)))
    return np.round(gain + gain.T, 12)


def k2_gain(counts: JointCounts) -> np.ndarray:
    """[i, j]: the gain of the arc i -> j in the K2 score of column j, over the rows with both columns present.

    Not symmetric: with a uniform prior on each table of P(x_j | y, x_i), the two directions of an arc differ.
    """
    return _dirichlet_gain(counts, 1.0)


def jeffreys_gain(counts: JointCounts) -> np.ndarray:
    """[i, j]: as ``k2_gain``, with Jeffreys' prior, half a count in every cell."""
    return _dirichlet_gain(counts, 0.5)


def _dirichlet_gain(counts: JointCounts, prior: float) -> np.ndarray:
    from scipy.special import gammaln

    def score(cells: np.ndarray) -> float:  # contexts..., then the values of the child
        whole = cells.shape[-1] * prior
        contexts = gammaln(whole) - gammaln(cells.sum(-1) + whole)
        return float(contexts.sum() + (gammaln(cells + prior) - gammaln(prior)).sum())

    n = counts.n_features
    gain = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            table = counts.joint(i, j)  # y, x_i, x_j
            if table.size:
                gain[i, j] = score(table) - score(table.sum(1))
                gain[j, i] = score(table.swapaxes(1, 2)) - score(table.sum(2))
    return np.round(gain, 9)  # coarser than information: sums of lgamma over many rows have fewer digits to spare


def best_arcs(gains: np.ndarray) -> list[int]:
    """Parent of every column (-1 for none) if arcs i -> j are taken by their gains [i, j], as long as there is a gain.

    A column has one parent at most, and no arc closes a cycle; so the result is a forest. Ties go to the smaller pair.

    >>> best_arcs(np.array([[0, 3, 2], [4, 0, 1], [2, 1, 0]]))
    [1, -1, 0]
    """
    n = len(gains)
    parents, root = [NO_PARENT] * n, np.arange(n)
    i, j = np.nonzero(gains > 0)
    for at in np.lexsort((j, i, -gains[i, j])):
        a, b = int(i[at]), int(j[at])
        if parents[b] == NO_PARENT and root[a] != b:  # b is a root; a below it would close a cycle
            parents[b] = a
            root[root == b] = root[a]
    return parents


def grown_arcs(gains: np.ndarray) -> list[int]:
    """Parent of every column (-1 for the root) of a tree that grows from its best pair by gains [i, j] of arcs i -> j.

    The tree starts with the pair of largest gain and takes in one column after the other, by the largest gain of an arc
    between a column inside and one outside, in either direction; ties go to the smaller child, then to the smaller
    parent. The links are hung up in this order, against their arcs: i gets the parent j, unless i has one.

    >>> grown_arcs(np.array([[0, 3, 2], [4, 0, 1], [2, 1, 0]]))
    [-1, 0, 0]
    """
    n = len(gains)
    parents, inside = [NO_PARENT] * n, np.zeros(n, dtype=bool)
    allowed = ~np.eye(n, dtype=bool)
    for _ in range(n - 1):
        open_gains = np.where(allowed, gains, -np.inf).T  # [j, i]: ties go to the smaller child first
        j, i = divmod(int(np.argmax(open_gains)), n)
        child, parent = (i, j) if parents[i] == NO_PARENT else (j, i)
        parents[child] = parent
        inside[[i, j]] = True
        allowed = inside[:, None] != inside
    return parents


GAINS: dict[str, Callable[[JointCounts], np.ndarray]] = {
    "bic": bic_gain,
    "aic": aic_gain,
    "g2": g2_gain,
    "bdeu": bdeu_gain,
}  # those that do not depend on the direction of the edge


def _rows(counts: JointCounts) -> np.ndarray:
    return pair_sums(counts)[..., ROWS] / counts.scale
