"""Chow and Liu's tree: the best network in which every variable has at most one parent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tanager.errors import OptionError, is_number
from tanager.structure.constraints import Constraints
from tanager.structure.learner import LearnedNetwork, Learner, Task


@dataclass(frozen=True, kw_only=True, repr=False)
class ChowLiu(Learner):
    """The tree of largest likelihood: edges in the order of their mutual information, as long as they close no cycle.

    A good first look at a table: one test per pair, and no search. Given the class, this is the tree of TAN.

    Parameters
    ----------
    threshold : float, default=0.0
        Edges with at most this much mutual information (in nats) are left out; the result may then be a forest.
    required
        They are added first.
    forbidden
        Such an arc points the other way, or is left out.

    Notes
    -----
    The root of each tree is its first variable, unless the constraints exclude it. Takes O(n_rows n²).

    References
    ----------
    Chow and Liu, Approximating discrete probability distributions with dependence trees (1968).

    Examples
    --------
    >>> from tanager import ChowLiu, learn_network
    >>> rows = [["sun", "dry", "calm"], ["sun", "dry", "wind"], ["rain", "wet", "calm"], ["rain", "wet", "wind"]]
    >>> learn_network(rows, learner=ChowLiu()).network.arcs
    [('x0', 'x1')]
    """

    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not is_number(self.threshold, 0):
            raise OptionError(f"threshold={self.threshold!r}: give a number of at least 0, in nats.")

    def _learn(self, task: Task) -> LearnedNetwork:
        pairs, values = [*combinations(range(task.n_nodes), 2)], np.array([found.value for found in task.ask_pairs()])
        forest = Forest(task.n_nodes, task.rules)
        for u, v in task.rules.required:
            forest.require(u, v)
            task.note("tree", "add", (u, v), float(values[pairs.index((min(u, v), max(u, v)))]), note="required")
        for place in np.argsort(-values, kind="stable").tolist():
            u, v = pairs[place]
            if values[place] > self.threshold and forest.tree[u] is not forest.tree[v]:
                self._take(task, forest, u, v, float(values[place]))
        parents = forest.parents([tree.roots[0] for tree in forest.trees()])
        return task.learned(parents, _open(forest, parents))

    def _take(self, task: Task, forest: Forest, u: int, v: int, value: float) -> None:
        joined = forest.join(u, v)
        note = f"I = {value:.4f}" if joined else "the constraints forbid both directions"
        task.note("tree", "add" if joined else "refuse", (u, v), value, note=note, directed=False)


@dataclass
class Tree:
    """The nodes of a tree, and those that can be its root such that no arc has a forbidden direction."""

    nodes: list[int]
    roots: list[int]  # possible roots, in ascending order


class Forest:
    """Trees that are joined one edge at a time."""

    def __init__(self, n: int, rules: Constraints) -> None:
        self.rules = rules
        self.tree = [Tree([i], [i]) for i in range(n)]  # of every node
        self.neighbours: list[list[int]] = [[] for _ in range(n)]

    def join(self, u: int, v: int, turn: bool = True) -> bool:
        """Join two trees by the edge u - v if the result still has a possible root; ``turn``: v may be the parent."""
        ours, theirs = self.tree[u], self.tree[v]
        roots: list[int] = []
        if self.rules.allowed(u, v) and v in theirs.roots:
            roots += ours.roots
        if turn and self.rules.allowed(v, u) and u in ours.roots:
            roots += theirs.roots
        if roots:
            whole = Tree(ours.nodes + theirs.nodes, sorted(roots))
            for i in whole.nodes:
                self.tree[i] = whole
            self.neighbours[u].append(v)
            self.neighbours[v].append(u)
        return bool(roots)

    def require(self, u: int, v: int) -> None:
        """Add a required arc; an error if no tree can have all required arcs."""
        names = self.rules.names
        if self.tree[u] is self.tree[v]:
            raise OptionError(
                f"the required arcs join {names[u]!r} and {names[v]!r} by two paths; in a tree there is at most one. "
                "Leave one of them out."
            )
        if not self.join(u, v, turn=False):
            raise OptionError(
                f"{names[v]!r} has two required parents; in a tree every variable has at most one. Leave one out."
            )

    def trees(self) -> list[Tree]:
        """All trees, each once, by their first node."""
        return list({id(tree): tree for tree in self.tree}.values())

    def parents(self, roots: list[int]) -> list[set[int]]:
        """The parents of every node if the trees have these roots."""
        parents: list[set[int]] = [set() for _ in self.tree]
        queue = list(roots)
        for u in queue:
            for v in self.neighbours[u]:
                if v not in parents[u]:
                    parents[v] = {u}
                    queue.append(v)
        return parents


def _open(forest: Forest, parents: list[set[int]]) -> list[tuple[int, int]]:
    """The arcs that would be reversed if their tree had another of its possible roots."""
    free: set[int] = set()  # the children of these arcs
    for root in (root for tree in forest.trees() for root in tree.roots):
        while parents[root] and root not in free:
            free.add(root)
            (root,) = parents[root]
    return [(u, v) for v in sorted(free) for u in parents[v]]
