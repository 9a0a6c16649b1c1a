"""The skeleton by independence tests, in the three phases of Cheng, Bell and Liu: draft, thicken, thin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from typing import Any, NamedTuple

from tanager.counts.sample import Information
from tanager.networks import graph
from tanager.structure.constraints import Edge
from tanager.structure.cut_sets import greedy_cut
from tanager.structure.independence_tests import Test
from tanager.structure.learner import Task

MAX_EXHAUSTIVE = 12  # neighbours, up to which all subsets are tried: 4096 tests for one pair


class Attempt(NamedTuple):
    """The outcome for a pair: a set that separates it or, if none was found, the test that came closest."""

    separated: bool
    given: frozenset[int]
    information: Information
    note: str = ""


class Skeleton:
    """Edges between nodes, in the order in which they were added, and the mutual information of every pair.

    Parameters
    ----------
    task : Task
        Computes the information for tests, holds the constraints and records the steps.
    test : Threshold, GSquared or Pearson
        Decides on independence.
    max_cond : int
        The largest number of variables that a test conditions on.
    """

    def __init__(self, task: Task, test: Test, max_cond: int) -> None:
        self.task = task
        self.test = test
        self.max_cond = max_cond
        self.edges: dict[Edge, None] = {}
        self.neighbours: list[set[int]] = [set() for _ in range(task.n_nodes)]
        nodes = range(task.n_nodes)
        self._separation = task.sample.separation(
            task.nodes, task.given, task.rules.allowed_arcs, test.figures, max_cond
        )
        task.tick("comparing pairs", 0, task.n_nodes * (task.n_nodes - 1) // 2)
        self.pairs: dict[Edge, Information] = dict(zip(combinations(nodes, 2), task.ask_pairs(), strict=True))
        self._weights = [[0.0] * task.n_nodes for _ in nodes]
        for (a, b), information in self.pairs.items():
            self._weights[a][b] = self._weights[b][a] = information.value

    def pair(self, a: int, b: int) -> Information:
        """The mutual information of two nodes, not conditioned on any other."""
        return self.pairs[(a, b) if a < b else (b, a)]

    def weight(self, a: int, b: int) -> float:
        """Its value in nats."""
        return self._weights[a][b]

    def dependent(self) -> list[Edge]:
        """The dependent pairs that the constraints allow to join, strongest first."""
        found = [pair for pair, information in self.pairs.items() if not self.test.independent(information)]
        return sorted(filter(self._possible, found), key=lambda pair: (-self.weight(*pair), pair))

    def _possible(self, pair: Edge) -> bool:
        possible = self.task.rules.possible(*pair)
        if not possible:
            self.task.note("draft", "refuse", pair, self.weight(*pair), note="forbidden both ways", directed=False)
        return possible

    def join(self, a: int, b: int) -> None:
        """Add an edge."""
        self.edges[a, b] = None
        self.neighbours[a].add(b)
        self.neighbours[b].add(a)
        self._separation.join(a, b)

    def part(self, a: int, b: int) -> None:
        """Remove an edge."""
        del self.edges[a, b]
        self.neighbours[a].discard(b)
        self.neighbours[b].discard(a)
        self._separation.part(a, b)

    def between(self, a: int, b: int) -> set[int]:
        """The nodes on paths from a to b, other than the edge itself.

        Only these can separate the pair: a node on no path blocks nothing, and conditioning on it costs rows.
        """
        return set(self._separation.between(a, b))

    def removable(self, what: str) -> Iterator[Edge]:
        """All edges except required ones, in the order in which they were added.

        A copy of the list, as edges are removed on the way.
        """
        required = {frozenset(arc) for arc in self.task.rules.required}
        edges = [edge for edge in self.edges if frozenset(edge) not in required]
        for at, edge in enumerate(edges):
            self.task.tick(what, at, len(edges))
            yield edge

    def ask(self, a: int, b: int, given: Iterable[int]) -> Attempt:
        """Do one test."""
        given = frozenset(given)
        information = self.task.ask(a, b, given)
        return Attempt(self.test.independent(information), given, information)

    def too_many(self, a: int, b: int) -> Attempt:
        """The outcome if a test would have to condition on too many variables: the pair counts as not separated."""
        return Attempt(False, frozenset(), self.pair(a, b), f"a test would have more than {self.max_cond} conditions")

    def note(self, phase: str, action: str, edge: Edge, attempt: Attempt | None = None, *, directed: bool) -> None:
        """Add a step to the trace, with the test behind it."""
        if not self.task.traced:
            return
        attempt = attempt or Attempt(False, frozenset(), self.pair(*edge))
        words = attempt.note or self.test.text(attempt.information)
        value = self.test.strength(attempt.information)
        self.task.note(phase, action, edge, value, given=attempt.given, note=words, directed=directed)


class OpenSkeleton(Skeleton):
    """The skeleton if no order is known (CBL2), and the sets that separated pairs."""

    def __init__(self, task: Task, test: Test, max_cond: int) -> None:
        super().__init__(task, test, max_cond)
        self._n_tests = 0  # of the kernels
        self.cuts: dict[Edge, frozenset[int]] = {
            pair: frozenset() for pair, information in self.pairs.items() if test.independent(information)
        }

    def draft(self) -> list[Edge]:
        """Join the dependent pairs that no path connects yet; returns the others."""
        later = []
        for u, v in self.task.rules.required:
            self.join(min(u, v), max(u, v))
            self.task.note("draft", "add", (u, v), self.weight(u, v), note="required")
        part = [min(graph.reachable(self.neighbours, [a])) for a in range(self.task.n_nodes)]  # of the graph, of each
        for a, b in self.dependent():
            if part[a] == part[b]:
                later.append((a, b))
            else:
                self.join(a, b)
                part = [part[a] if own == part[b] else own for own in part]
                self.note("draft", "add", (a, b), directed=False)
        return [(a, b) for a, b in later if b not in self.neighbours[a]]

    def thicken(self, later: list[Edge]) -> None:
        """Join the remaining pairs that no set of nodes on the paths between them separates."""
        for at, (a, b) in enumerate(later):
            self.task.tick("thickening", at, len(later))
            attempt = self.separate_by_neighbours(a, b)
            if not attempt.separated:
                self.join(a, b)
            self.note("thicken", "skip" if attempt.separated else "add", (a, b), attempt, directed=False)

    def thin(self) -> None:
        """Remove edges whose ends can be separated, now that all edges are present.

        In the draft and while thickening, paths were still missing: nodes that separate a pair may have been
        unreachable.
        """
        for a, b in self.removable("thinning"):
            attempt = self._found(a, b, self._separation.by_neighbours(a, b, False, False))
            if attempt is not None:
                self._settle(a, b, attempt)

    def thin_more(self, exhaustive: bool) -> None:
        """Try again with the neighbours' neighbours, if one end has three or more neighbours besides the other.

        Among many neighbours there can be several colliders, and dropping nodes one at a time can then fail. The wider
        set also blocks the paths that such colliders open.
        """
        for a, b in self.removable("thinning once more"):
            crowded = max(len(self.neighbours[a]), len(self.neighbours[b])) > 3
            attempt = self._found(a, b, self._separation.by_neighbours(a, b, False, True)) if crowded else None
            if attempt is not None:
                if exhaustive and not attempt.separated:
                    attempt = self.separate_exhaustively(a, b, self.between(a, b))
                self._settle(a, b, attempt)

    def _settle(self, a: int, b: int, attempt: Attempt) -> None:
        if attempt.separated:
            self.part(a, b)
        self.note("thin", "remove" if attempt.separated else "keep", (a, b), attempt, directed=False)

    def recheck(self) -> None:
        """Search again for separating sets of pairs with a common neighbour, in the graph as it is now.

        Sets that were found while edges were missing may contain a collider by mistake, which would hide it when edges
        are oriented.
        """
        for a, b in [pair for pair, cut in self.cuts.items() if cut]:
            if b not in self.neighbours[a] and self.neighbours[a] & self.neighbours[b]:
                self.separate_by_neighbours(a, b)

    # --- can a pair be separated? ------------------------------------------------------------------------------------

    def separate_by_neighbours(self, a: int, b: int) -> Attempt:
        """Try the neighbours of one end on paths to the other, except known children; then those of the other end.

        Conditioning on a collider opens a path. So of a set that does not separate, the node without which the least
        information is left is taken for a collider and dropped, until dropping increases the information.
        """
        attempt = self._found(a, b, self._separation.by_neighbours(a, b, True, False))
        assert attempt is not None
        return attempt

    def _found(self, a: int, b: int, found: tuple[Any, ...] | None) -> Attempt | None:
        """What the kernels say about a pair; None where nothing lies between the two."""
        self.task.n_tests += self._separation.n_tests - self._n_tests
        self._n_tests = self._separation.n_tests
        if found is None:
            return None
        separated, too_many, given, figures = found
        if too_many:
            return self.too_many(a, b)
        attempt = Attempt(separated, frozenset(given), Information(*figures))
        return self._separated(a, b, attempt) if separated else attempt

    def separate_exhaustively(self, a: int, b: int, between: set[int]) -> Attempt:
        """Try all subsets of the neighbours of either end that lie on paths to the other, small sets first."""
        sides = [sorted(self.neighbours[end] & between) for end in (a, b)]
        sides = [side for side in sides if len(side) <= MAX_EXHAUSTIVE]
        sizes = range(1, min(self.max_cond, max(map(len, sides), default=0)) + 1)
        sets = dict.fromkeys(chain.from_iterable(combinations(side, size) for size in sizes for side in sides))
        attempts = []
        for given in sets:
            attempts.append(self.ask(a, b, given))
            if attempts[-1].separated:
                return self._separated(a, b, attempts[-1])
        return min(attempts, key=lambda attempt: attempt.information.value, default=self.too_many(a, b))

    def _separated(self, a: int, b: int, attempt: Attempt) -> Attempt:
        self.cuts[min(a, b), max(a, b)] = attempt.given
        return attempt


class OrderedSkeleton(Skeleton):
    """The skeleton if an order is known, causes before effects (CBL1): every edge is an arc along it."""

    def __init__(
        self, task: Task, test: Test, max_cond: int, order: list[int], max_parents: int | None, shrink: bool = False
    ) -> None:
        super().__init__(task, test, max_cond)
        self.shrink = shrink
        self.place = {node: place for place, node in enumerate(order)}
        self.max_parents = task.n_nodes if max_parents is None else max_parents
        self.parents: list[set[int]] = [set() for _ in order]

    def draft(self) -> list[Edge]:
        """Join the dependent pairs that no open path connects yet; returns the others."""
        for u, v in self.task.rules.required:
            self.join(u, v)
            self.task.note("draft", "add", (u, v), self.weight(u, v), note="required")
        later = []
        arcs = [arc if self.place[arc[0]] < self.place[arc[1]] else arc[::-1] for arc in self.dependent()]
        for a, b in arcs:
            if not self.task.rules.allowed(a, b):
                self.task.note("draft", "refuse", (a, b), self.weight(a, b), note="forbidden")
            elif graph.d_connected(self.parents, a, b):
                later.append((a, b))
            else:
                self._add("draft", a, b)
        return [(a, b) for a, b in later if a not in self.parents[b]]

    def thicken(self, later: list[Edge]) -> None:
        """Join the remaining pairs that the parents of the later node do not separate.

        With an order this one set is enough: given its parents, a node is independent of all other earlier nodes.
        """
        for at, (a, b) in enumerate(later):
            self.task.tick("thickening", at, len(later))
            attempt = self.separate(a, b, self.cut(a, b))
            if attempt.separated:
                self.note("thicken", "skip", (a, b), attempt, directed=True)
            else:
                self._add("thicken", a, b, attempt)

    def thin(self) -> None:
        """Remove arcs whose ends the other parents separate, now that all arcs are present."""
        for a, b in self.removable("thinning"):
            given = self.cut(a, b)
            if given:
                attempt = self.separate(a, b, given)
                if attempt.separated:
                    self.part(a, b)
                self.note("thin", "remove" if attempt.separated else "keep", (a, b), attempt, directed=True)

    def cut(self, a: int, b: int) -> set[int]:
        """The other parents of the later node that lie on paths to the earlier; or fewer nodes, if there are such."""
        own = self.parents[b] & self.between(a, b)
        fewer = greedy_cut(self.parents, a, b) if self.shrink and own else None
        return own if fewer is None or len(fewer) >= len(own) else fewer

    def separate(self, a: int, b: int, given: set[int]) -> Attempt:
        """Do one test, unless it would condition on too many variables."""
        return self.too_many(a, b) if len(given) > self.max_cond else self.ask(a, b, given)

    def join(self, a: int, b: int) -> None:
        """Add an arc."""
        super().join(a, b)
        self.parents[b].add(a)

    def part(self, a: int, b: int) -> None:
        """Remove an arc."""
        super().part(a, b)
        self.parents[b].discard(a)

    def _add(self, phase: str, a: int, b: int, attempt: Attempt | None = None) -> None:
        if len(self.parents[b]) < self.max_parents:
            self.join(a, b)
            self.note(phase, "add", (a, b), attempt, directed=True)
        else:
            full = f"{self.task.rules.names[b]} has {self.max_parents} parents already"
            self.task.note(phase, "refuse", (a, b), self.weight(a, b), note=full)
