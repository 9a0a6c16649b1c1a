"""Orientation of a skeleton: colliders from the separating sets, then what follows from them, without a cycle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import combinations

from tanager.networks import graph
from tanager.structure.constraints import Edge
from tanager.structure.learner import Task

SeparatingSets = Mapping[Edge, Collection[int]]  # by (smaller, larger) node


class Orientation:
    """Directs edges one by one; no arc is ever reversed, and none closes a cycle.

    Tests can contradict each other when rows are few. So decisions are made in the order of the strength of the
    dependences, and a later one that conflicts with an earlier one is refused and noted in the trace.

    Parameters
    ----------
    task : Task
        Holds the constraints and records the steps.
    neighbours : list of sets
        The skeleton.
    weight : callable
        The mutual information of the two ends of an edge.
    """

    def __init__(self, task: Task, neighbours: list[set[int]], weight: Callable[[int, int], float]) -> None:
        self.task = task
        self.weight = weight
        self.joined = [set(own) for own in neighbours]
        self.free = [set(own) for own in neighbours]  # the neighbours by edges without a direction
        self.parents: list[set[int]] = [set() for _ in neighbours]
        # The ancestors of every node as the bits of an integer: whether an arc would close a cycle is asked for every
        # edge and rule, and one shift answers it.
        self.above = [0] * len(neighbours)

    def direct(self, cuts: SeparatingSets) -> list[Edge]:
        """Orient by constraints, colliders and implications; returns the edges that are left, strongest first."""
        self.force()
        self.colliders(cuts)
        self.follow()
        return sorted(
            ((u, v) for u, own in enumerate(self.free) for v in own if u < v), key=lambda e: (-self.weight(*e), e)
        )

    def force(self) -> None:
        """Required arcs first, then edges with one allowed direction; an edge that has none is dropped."""
        for u, v in self.task.rules.required:
            self.set(u, v, "required")
        allowed = self.task.rules.allowed
        one_way = [(u, v) for u, own in enumerate(self.free) for v in own if not allowed(v, u)]
        for u, v in sorted(one_way, key=lambda e: (-self.weight(*e), e)):
            if not self.set(u, v, "the only allowed direction"):
                _part(self.free, u, v)
                _part(self.joined, u, v)

    def colliders(self, cuts: SeparatingSets) -> None:
        """x -> z <- y if x and y are not joined and were separated by a set without z; strong dependences first."""
        names = self.task.rules.names
        for strength, (x, y), z in self._triples(cuts):
            for u, other in ((x, y), (y, x)):
                if u in self.parents[z]:
                    continue
                self.set(u, z, partial(_meets, names, other, cuts[x, y]) if self.task.traced else "", strength)

    def _triples(self, cuts: SeparatingSets) -> list[tuple[float, Edge, int]]:
        found = []
        for z, around in enumerate(self.joined):
            near = sorted(around)
            strength = {x: self.weight(x, z) for x in near}
            for x, y in combinations(near, 2):
                cut = cuts.get((x, y))
                if cut is not None and y not in self.joined[x] and z not in cut:
                    found.append((min(strength[x], strength[y]), (x, y), z))
        return sorted(found, key=lambda triple: (-triple[0], triple[2], triple[1]))

    def follow(self) -> None:
        """Direct what the directions so far imply, until nothing more follows.

        Meek's first three rules, the second for paths of any length.

        x -> z - y with x and y not joined makes z -> y, or z would be a collider; x - y beside a directed path from x
        to y makes x -> y, or there would be a cycle. And x - y with two edges x - u -> y and x - v -> y makes x -> y if
        u and v are not joined: with y -> x, both u -> x and v -> x would follow, and x would be a collider.
        """
        before = None
        while before != (before := sum(map(len, self.free))):
            for z, own in enumerate(self.free):
                for y in sorted(own):
                    self._imply(z, y)

    def _imply(self, z: int, y: int) -> None:
        names = self.task.rules.names
        if self._leads(z, y):
            self.set(z, y, "along a directed path")
        elif not self._leads(y, z) and (behind := self.parents[z] - self.joined[y]):
            self.set(z, y, f"else it would meet {names[min(behind)]} in {names[z]}")
        elif not self._leads(y, z) and (two := self._apart(self.free[z] & self.parents[y])):
            self.set(z, y, f"else {names[two[0]]} would meet {names[two[1]]} in {names[z]}")

    def _apart(self, nodes: set[int]) -> Edge | None:
        """The first two of these nodes that are not joined."""
        return next(((u, v) for u, v in combinations(sorted(nodes), 2) if v not in self.joined[u]), None)

    def _leads(self, u: int, v: int) -> bool:
        return bool(self.above[v] >> u & 1)

    def set(
        self, u: int, v: int, why: str | Callable[[], str], value: float | None = None, phase: str = "orient"
    ) -> bool:
        """Direct u -> v, unless it has the other direction already, is not allowed, or would close a cycle."""
        if u in self.parents[v]:
            return True
        refusal = self._refusal(u, v)
        if self.task.traced:
            reason = why if isinstance(why, str) else why()
            note, action = (f"{reason}; but {refusal}", "refuse") if refusal else (reason, "orient")
            self.task.note(phase, action, (u, v), self.weight(u, v) if value is None else value, note=note)
        if not refusal:
            _part(self.free, u, v)
            self.parents[v].add(u)
            more = self.above[u] | 1 << u  # u and its ancestors are now ancestors of v and of all its descendants
            self.above = [own | more if w == v or own >> v & 1 else own for w, own in enumerate(self.above)]
        return not refusal

    def _refusal(self, u: int, v: int) -> str:
        if v in self.parents[u]:
            return "it has the other direction already"
        if not self.task.rules.allowed(u, v):
            return "that direction is not allowed"
        if self._leads(v, u):
            found = (graph.path(graph.turned(self.parents), v, u) or []) if self.task.traced else []
            return "it would close a cycle with " + " -> ".join(self.task.rules.names[i] for i in found)
        return ""

    def extend(self, left: list[Edge], how: str) -> None:
        """Direct the edges that are left: along the order of the table or, with ``"pdag"``, without a new collider.

        If no extension without a new collider exists, the order of the table decides.
        """
        whole = graph.extension(graph.Partial(self.parents, self.free)) if how == "pdag" else None
        for u, v in left:
            if whole is not None:
                self.set(*((u, v) if u in whole[v] else (v, u)), "as no collider is known there", phase="extend")
            else:
                ahead = not self._leads(v, u)
                why = "by the order of the table" if ahead else "against the order of the table, which closes a cycle"
                self.set(*((u, v) if ahead else (v, u)), why, phase="extend")

    def limit(self, max_parents: int) -> None:
        """Remove the weakest arcs of nodes with too many parents; required ones stay."""
        for v, own in enumerate(self.parents):
            spare = sorted(own - self.task.rules.required_parents()[v], key=lambda u: (self.weight(u, v), -u))
            for u in spare[: max(len(own) - max_parents, 0)]:
                own.discard(u)
                note = f"{max_parents} parents at most"
                self.task.note("limit", "remove", (u, v), self.weight(u, v), note=note)


def _part(lists: list[set[int]], u: int, v: int) -> None:
    lists[u].discard(v)
    lists[v].discard(u)


def _meets(names: Sequence[str], other: int, cut: Collection[int]) -> str:
    given = ", ".join(names[c] for c in sorted(cut))
    return f"meets {names[other]}, independent of it" + (f" given {given}" if given else "")
