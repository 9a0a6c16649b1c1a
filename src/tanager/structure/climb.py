"""The climb itself: which changes of one arc are legal, what they gain, and the way up."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tanager.networks import graph
from tanager.structure.constraints import Constraints, Edge
from tanager.structure.families import ROUNDING, Families
from tanager.structure.learner import Step, Task

MOVES = ("add", "remove", "reverse")  # of two moves with the same gain, the earlier kind is made


class Move(NamedTuple):
    """A change of one arc (parent, child)."""

    kind: int  # in MOVES
    parent: int
    child: int

    @property
    def undone(self) -> Move:
        """The move that undoes this one."""
        if MOVES[self.kind] == "reverse":
            return Move(self.kind, self.child, self.parent)
        return Move(1 - self.kind, self.parent, self.child)


class State(NamedTuple):
    """The state of a search, and the steps that led to it."""

    parents: list[set[int]]
    gains: np.ndarray  # [u, v]: what the family of v gains when u joins its parents or leaves them
    families: np.ndarray  # the score of every family
    steps: list[Step]

    @property
    def score(self) -> float:
        """The score of the whole network."""
        return float(self.families.sum())

    def copy(self) -> State:
        """An independent copy."""
        return State([set(own) for own in self.parents], self.gains.copy(), self.families.copy(), list(self.steps))


class Climb:
    """The moves of a search: which are legal, what they gain, and the climb itself.

    Moves are arrays with axes for the kind of move, the parent and the child of the arc.
    """

    def __init__(self, task: Task, families: Families, max_parents: int | None) -> None:
        n = task.n_nodes
        self.task = task
        self.families = families
        self.kind = families.kind
        self.max_parents = n if max_parents is None else max_parents
        self.allowed = np.array([[task.rules.allowed(u, v) for v in range(n)] for u in range(n)], bool).reshape(n, n)
        self.required = np.zeros((n, n), bool)
        for arc in task.rules.required:
            self.required[arc] = True

    def start(self, parents: list[set[int]]) -> State:
        """A state with the gains of all moves."""
        n = self.task.n_nodes
        state = State([set(own) for own in parents], np.zeros((n, n)), np.zeros(n), [])
        self._changed(state, range(n))
        return state

    def up(self, state: State, tabu: int, patience: int) -> State:
        """Climb until no move gains or, with tabu, until patience runs out; returns the best state on the way."""
        best = state.copy()
        recent: deque[Move] = deque(maxlen=tabu)
        idle = 0
        while idle < max(patience, 1):
            gains = self._gains(state, recent, best.score)
            top, rounding = gains.max(initial=-np.inf), self.rounding(state.score)
            if top == -np.inf or (top <= rounding and not tabu):
                break
            # The first of all moves that gain as much up to rounding: which of two equal sums is larger in the last bit
            # depends on the order of summation, and must not decide.
            move = Move(*(int(at) for at in np.argwhere(gains >= top - rounding)[0]))
            self._make(state, move, float(top))
            recent.append(move.undone)
            idle += 1
            if state.score > best.score + rounding:
                best, idle = state.copy(), 0
        return best

    def shaken(self, state: State, generator: np.random.RandomState) -> State:
        """The state after as many random moves as there are nodes."""
        state = state.copy()
        for _ in range(self.task.n_nodes):
            moves = np.argwhere(self._legal(state.parents))
            if len(moves):
                move = Move(*(int(at) for at in moves[generator.randint(len(moves))]))
                self._make(state, move, float(self._worth(state)[move]), "at random; ")
        return state

    def rounding(self, score: float) -> float:
        """The rounding error of a score: scores closer than this count as equal."""
        return ROUNDING * max(abs(score), 1)

    @property
    def _reversible(self) -> np.ndarray:
        return self.allowed.T & ~self.required

    def _gains(self, state: State, recent: deque[Move], best: float) -> np.ndarray:
        """The gain of every move; -inf if it is illegal, or undoes a recent one without reaching a new best."""
        gains = np.where(self._legal(state.parents), self._worth(state), -np.inf)
        for move in recent:
            if state.score + gains[move] <= best + self.rounding(best):
                gains[move] = -np.inf
        return gains

    def _worth(self, state: State) -> np.ndarray:
        """The gain of every move, legal or not: a reversal is a removal and an addition."""
        return np.stack([state.gains, state.gains, state.gains + state.gains.T])

    def _legal(self, parents: list[set[int]]) -> np.ndarray:
        """Which moves respect the constraints and the largest number of parents, and close no cycle."""
        arcs = np.zeros_like(self.allowed)
        for v, own in enumerate(parents):
            arcs[list(own), v] = True
        leads = _leads(parents)
        room = arcs.sum(0) < self.max_parents
        add = self.allowed & ~arcs & ~leads.T & room
        remove = arcs & ~self.required
        # [u, v]: how many children of u lead to v, v itself included. Reversing u -> v closes a cycle if there is
        # another directed path from u to v, that is if there are two or more. float32: BLAS multiplies it far faster
        # than bool.
        detours = arcs @ leads.astype(np.float32) > 1.5
        reverse = arcs & self._reversible & room[:, None] & ~detours
        return np.stack([add, remove, reverse])

    def _make(self, state: State, move: Move, gain: float, why: str = "") -> None:
        """Change the arc, and score the changed families again."""
        kind, u, v = MOVES[move.kind], move.parent, move.child
        state.parents[v] ^= {u}
        if kind == "reverse":
            state.parents[u].add(v)
        self._changed(state, [u, v] if kind == "reverse" else [v])
        names = self.task.rules.names
        score = f"{why}{self.kind} {gain:+.4f} to {state.score:.4f}"
        state.steps.append(Step("search", kind, (names[u], names[v]), gain, note=score))
        self.task.tick("climbing", len(state.steps))

    def _changed(self, state: State, nodes: Iterable[int]) -> None:
        """Score what has changed with the parents of some nodes."""
        for child in nodes:
            self.task.tick("scoring families", child, self.task.n_nodes)
            self._refresh(state, child)

    def _refresh(self, state: State, child: int) -> None:
        """Score the family of a node, and all families with one parent more or less."""
        own = state.parents[child]
        more = np.flatnonzero(self.allowed[:, child]).tolist() if len(own) < self.max_parents else []
        changes = sorted(own | set(more))
        now, *others = self.families.scores(child, [own, *(own ^ {u} for u in changes)])
        state.families[child] = now
        state.gains[changes, child] = np.array(others) - now


def open_arcs(parents: graph.Lists, rules: Constraints) -> list[Edge]:
    """The arcs whose direction neither the data nor the constraints determine."""
    free, required = graph.cpdag(parents).neighbours, set(rules.required)
    return [
        (u, v)
        for v, own in enumerate(parents)
        for u in sorted(free[v].intersection(own))
        if rules.allowed(v, u) and (u, v) not in required
    ]


def _leads(parents: list[set[int]]) -> np.ndarray:
    """[u, v]: whether a directed path leads from u to v, the empty path included."""
    leads = np.eye(len(parents), dtype=bool)
    for v in graph.topological(parents) or []:
        for u in parents[v]:
            leads[:, v] |= leads[:, u]
    return leads
