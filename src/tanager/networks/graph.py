"""Graphs as lists of neighbours: entry i holds the parents, the children or the neighbours of node i.

Plain integers and sets, as learners call these functions for every pair of variables. Nothing here changes its input.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

Lists = Sequence[Collection[int]]


class Partial(NamedTuple):
    """A graph in which some edges have a direction: compelled arcs as parents, the others as neighbours."""

    parents: list[set[int]]
    neighbours: list[set[int]]


def turned(lists: Lists) -> list[list[int]]:
    """All arcs reversed: children from parents, or parents from children; in ascending order.

    >>> turned([[], [0], [0, 1]])
    [[1, 2], [2], []]
    """
    out: list[list[int]] = [[] for _ in lists]
    for node, others in enumerate(lists):
        for other in others:
            out[other].append(node)
    return out


def topological(parents: Lists) -> list[int] | None:
    """The nodes, each after its parents, smaller numbers first where there is a choice; None where there is a cycle.

    >>> topological([[2], [], [1]])
    [1, 2, 0]
    """
    children = turned(parents)
    waiting = [len(own) for own in parents]
    ready = [node for node, n in enumerate(waiting) if n == 0]
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return order if len(order) == len(parents) else None


def reachable(lists: Lists, starts: Iterable[int]) -> set[int]:
    """The nodes that can be reached, the starts among them: descendants along children, ancestors along parents."""
    seen = set(starts)
    stack = list(seen)
    while stack:
        for other in lists[stack.pop()]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def has_path(lists: Lists, u: int, v: int) -> bool:
    """Whether one or more steps lead from u to v, along children or neighbours.

    >>> has_path([[1], [2], []], 0, 2)
    True
    """
    seen: set[int] = set()
    stack = [u]
    while stack:
        for other in lists[stack.pop()]:
            if other == v:
                return True
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return False


def path(lists: Lists, u: int, v: int) -> list[int] | None:
    """A shortest path of one or more steps from u to v, both ends included; None where there is none."""
    came: dict[int, int] = {}
    queue = deque([u])
    while queue and v not in came:
        node = queue.popleft()
        for other in sorted(lists[node]):
            if other not in came:
                came[other] = node
                queue.append(other)
    if v not in came:
        return None
    steps = [v, came[v]]
    while steps[-1] != u:
        steps.append(came[steps[-1]])
    return steps[::-1]


def cycle(parents: Lists) -> list[int] | None:
    """A shortest cycle through the smallest node that is on one, its first node repeated at the end; None without one.

    >>> cycle([[2], [0], [1]])
    [0, 1, 2, 0]
    """
    children = turned(parents)
    return next((found for node in range(len(parents)) if (found := path(children, node, node))), None)


def d_connected(parents: Lists, a: int, b: int, given: Collection[int] = ()) -> bool:
    """Whether some path between a and b is open given others, so that they can be dependent (Bayes ball).

    >>> collider = [[], [], [0, 1]]
    >>> d_connected(collider, 0, 1), d_connected(collider, 0, 1, {2})
    (False, True)
    """
    return b not in given and b in d_connected_to(parents, a, given)


def d_connected_to(parents: Lists, a: int, given: Collection[int] = ()) -> set[int]:
    """All nodes that a is connected with by an open path given others; a among them, but none that is given."""
    given = frozenset(given)
    if a in given:
        return set()
    children = turned(parents)
    opens = reachable(parents, given)  # a collider lets through if it, or one of its descendants, is given
    stack, seen = [(a, True)], {(a, True)}  # True: reached from a child, or the start
    while stack:
        node, from_child = stack.pop()
        steps: list[tuple[int, bool]] = []
        if node not in given:
            steps += [(child, False) for child in children[node]]
        if node in opens if not from_child else node not in given:
            steps += [(parent, True) for parent in parents[node]]
        for step in steps:
            if step not in seen:
                seen.add(step)
                stack.append(step)
    return {node for node, _ in seen} - given


class Blocks:
    """The blocks of a graph: largest sets of nodes that stay connected, whichever one of them is removed.

    Any two edges of a block lie on a cycle, so that the nodes on paths between two nodes are those of the blocks on the
    way from one to the other. Found by one depth-first search; searching for the paths would take exponential time.
    """

    def __init__(self, neighbours: Lists) -> None:
        self.blocks: list[set[int]] = []
        self._of: list[list[int]] = [[] for _ in neighbours]  # the blocks of every node
        self._depth = [-1] * len(neighbours)
        for node in range(len(neighbours)):
            if self._depth[node] < 0:
                self._search(neighbours, node)

    def _search(self, neighbours: Lists, root: int) -> None:
        depth, path, waiting = self._depth, [root], [iter(neighbours[root])]
        depth[root] = 0
        lowest = [0]  # per node of the path: the smallest depth that its subtree has an edge to
        open_nodes: list[int] = []  # below the root, in no block yet
        starts = [0]  # where the subtrees of the path start there
        while path:
            fresh = next((node for node in waiting[-1] if self._is_fresh(node, lowest)), None)
            if fresh is not None:
                depth[fresh] = len(path)
                path.append(fresh)
                waiting.append(iter(neighbours[fresh]))
                lowest.append(len(path) - 2)
                starts.append(len(open_nodes))
                open_nodes.append(fresh)
                continue
            path.pop()
            waiting.pop()
            low, start = lowest.pop(), starts.pop()
            if not path:
                return
            lowest[-1] = min(lowest[-1], low)
            if low >= len(path) - 1:  # nothing below leads past the node above: the subtree and this node are a block
                self._add({path[-1], *open_nodes[start:]})
                del open_nodes[start:]

    def _is_fresh(self, node: int, lowest: list[int]) -> bool:
        seen = self._depth[node]
        if 0 <= seen < lowest[-1]:
            lowest[-1] = seen
        return seen < 0

    def _add(self, block: set[int]) -> None:
        for node in block:
            self._of[node].append(len(self.blocks))
        self.blocks.append(block)

    def shared(self, a: int, b: int) -> set[int] | None:
        """The block that both nodes belong to, if there is one."""
        return next((self.blocks[own] for own in self._of[a] if b in self.blocks[own]), None)

    def between(self, a: int, b: int) -> set[int]:
        """The nodes on paths between a and b that pass no node twice; without the two ends."""
        found = self.shared(a, b)
        return (self._on_the_way(a, b) if found is None else found) - {a, b}

    def _on_the_way(self, a: int, b: int) -> set[int]:
        """The nodes of all blocks on the one way from a to b; none where there is no way."""
        came: dict[int, int | None] = dict.fromkeys(self._of[a])
        queue = deque(came)
        while queue:
            block = queue.popleft()
            if b in self.blocks[block]:
                nodes = set[int]()
                at: int | None = block
                while at is not None:
                    nodes |= self.blocks[at]
                    at = came[at]
                return nodes
            for other in (other for node in self.blocks[block] for other in self._of[node]):
                if other not in came:
                    came[other] = block
                    queue.append(other)
        return set()


def nodes_between(neighbours: Lists, a: int, b: int) -> set[int]:
    """The nodes on paths between a and b that pass no node twice; without the two ends.

    >>> nodes_between([{1}, {0, 2, 3}, {1}, {1}], 0, 2)
    {1}
    """
    return Blocks(neighbours).between(a, b)


def skeleton(parents: Lists) -> list[set[int]]:
    """The neighbours of every node, whichever way the arcs point."""
    return [set(own) | set(below) for own, below in zip(parents, turned(parents), strict=True)]


def moral(parents: Lists) -> list[set[int]]:
    """The neighbours of every node after parents of a common child are joined and directions dropped."""
    joined = skeleton(parents)
    for own in parents:
        for u, v in combinations(own, 2):
            joined[u].add(v)
            joined[v].add(u)
    return joined


def v_structures(parents: Lists) -> set[tuple[int, int, int]]:
    """All (u, child, v), u < v, in which two parents of a child are not joined themselves."""
    joined = skeleton(parents)
    return {
        (u, child, v)
        for child, own in enumerate(parents)
        for u, v in combinations(sorted(own), 2)
        if v not in joined[u]
    }


def cpdag(parents: Lists) -> Partial:
    """The equivalence class of a network: arcs that have the same direction in all its members, and undirected edges.

    Chickering's labelling: an arc into y is settled by the arcs of y's latest parent x, which are settled before.

    >>> cpdag([[], [0], [0, 1], []])
    Partial(parents=[set(), set(), set(), set()], neighbours=[{1, 2}, {0, 2}, {0, 1}, set()])
    """
    order = topological(parents)
    if order is None:
        raise ValueError("the graph has a cycle")
    place = {node: at for at, node in enumerate(order)}
    compelled: list[set[int]] = [set() for _ in parents]
    for y in order:
        if parents[y]:
            own, x = set(parents[y]), max(parents[y], key=place.__getitem__)
            open_ended = compelled[x] - own or own - set(parents[x]) - {x}
            compelled[y] = own if open_ended else set(compelled[x])
    free = [set(own) - fixed for own, fixed in zip(parents, compelled, strict=True)]
    return Partial(compelled, skeleton(free))


def extension(partial: Partial) -> list[set[int]] | None:
    """Parents that keep all arcs, direct all other edges and make no new v-structure; None if that is impossible.

    Dor and Tarsi's algorithm: remove a sink whose undirected neighbours are joined to all its neighbours, the largest
    number first, so that arcs point from small to large where there is a choice.

    >>> extension(Partial([set(), set(), set()], [{1}, {0, 2}, {1}]))
    [set(), {0}, {1}]
    """
    parents = [set(own) for own in partial.parents]
    joined = [own | free for own, free in zip(skeleton(partial.parents), partial.neighbours, strict=True)]
    children = [set(own) for own in turned(partial.parents)]
    left = set(range(len(parents)))
    while left:
        sink = next((node for node in sorted(left, reverse=True) if _can_go(node, children, joined, partial)), None)
        if sink is None:
            return None
        left.remove(sink)
        parents[sink] |= joined[sink] & partial.neighbours[sink]
        for other in joined[sink]:
            joined[other].remove(sink)
            children[other].discard(sink)
    return parents


def _can_go(node: int, children: list[set[int]], joined: list[set[int]], partial: Partial) -> bool:
    """Whether all undirected edges of a node can be pointed at it."""
    others = joined[node]
    return not children[node] and all(others <= joined[v] | {v} for v in others & partial.neighbours[node])


def hamming(ours: Partial, theirs: Partial) -> int:
    """Structural Hamming distance: the pairs that differ in being joined, in direction, or in having a direction."""
    return sum(_mark(ours, u, v) != _mark(theirs, u, v) for u, v in combinations(range(len(ours.parents)), 2))


def _mark(graph: Partial, u: int, v: int) -> tuple[bool, bool, bool]:
    return u in graph.parents[v], v in graph.parents[u], v in graph.neighbours[u]
