"""Small sets that separate two nodes of a network: greedily, the node that closes most of the open paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from tanager.networks import graph

MAX_STEPS = 2000  # of the search for paths, of which there can be exponentially many


class TooManyPaths(Exception):
    """There are too many paths to look at all of them."""


def greedy_cut(parents: graph.Lists, a: int, b: int) -> set[int] | None:
    """Nodes that close all paths between two nodes, other than the arc between them; None if the paths are too many.

    Each time the node is taken that closes most of the paths that are still open, the smallest of equals. A node that
    is taken may open paths on which it is a collider; these are counted from then on. A path that is open always
    has a node that closes it, as long as a is no descendant of b; so this ends.

    >>> greedy_cut([[], [0], [0], [1, 2], [3, 0]], 0, 4)  # 0 -> 1 -> 3, 0 -> 2 -> 3, 3 -> 4, 0 -> 4
    {3}
    """
    cut: set[int] = set()
    try:
        while closing := Counter(node for breakers in open_paths(parents, a, b, cut) for node in breakers):
            cut.add(min(closing, key=lambda node: (-closing[node], node)))
    except TooManyPaths:
        return None
    return cut


def open_paths(parents: graph.Lists, a: int, b: int, given: Collection[int] = ()) -> Iterator[list[int]]:
    """For every open path between a and b that passes no node twice, the nodes on it that would close it.

    The arc between a and b is no path here. Raises TooManyPaths after MAX_STEPS steps.
    """
    given = frozenset(given)
    children = graph.turned(parents)
    opens = graph.reachable(parents, given)  # colliders that let through
    useful = graph.nodes_between(graph.skeleton(parents), a, b) & graph.reachable(parents, {a, b} | given)
    steps = 0
    # A path as far as it goes: its nodes, whether it came to the last one along an arc, and what would close it. A
    # path turns round in a node, between two arcs that point at it, only where that is an open collider.
    stack: list[tuple[tuple[int, ...], bool, tuple[int, ...]]] = [((a,), False, ())]
    while stack:
        path, along, breakers = stack.pop()
        node = path[-1]
        for up, others in ((True, parents[node]), (False, children[node])):
            collider = along and up
            if node not in opens if collider else node in given:
                continue
            closed_by = breakers if collider or node == a else (*breakers, node)
            for other in others:
                if other == b and node != a:
                    yield list(closed_by)
                elif other in useful and other not in path:
                    steps += 1
                    if steps > MAX_STEPS:
                        raise TooManyPaths
                    stack.append(((*path, other), not up, closed_by))
