"""Hill climbing: the arc to add, remove or reverse that gains most, again and again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tanager.networks import graph
from tanager.structure.constraints import Edge
from tanager.structure.families import ROUNDING, Families, check_score
from tanager.structure.learner import Learned, Learner, Step, Task, check_whole

MOVES = ("add", "remove", "reverse")  # where two gain the same, the earlier kind is made


@dataclass(frozen=True, kw_only=True, repr=False)
class HillClimb(Learner):
    """The network that no single change makes better: greedy search by a score.

    Choose it for prediction, where all arcs matter together, and where rows are plenty: all it needs of them are scores
    of families, each counted once. What it finds is a hill, not the highest; ``tabu`` and ``restarts`` look further.

    Parameters
    ----------
    score : "bic", "aic", "bdeu", "k2" or "ll", default="bic"
        What is climbed.
    max_parents : int or None, default=3
        At most so many parents; those that are given are not counted.
    ess : float, default=1.0
        Equivalent sample size of ``"bdeu"``.
    tabu : int, default=0
        How many of the last changes must not be undone, so that the search can leave a hill. 0 stops on the first.
    patience : int, default=10
        With ``tabu``: after so many changes without a new best network the search stops.
    restarts : int, default=0
        How often to start again from the best network so far, with as many random changes as there are variables.
    random_state : int, RandomState or None, default=0
        For restarts.
    required, forbidden : sequences of (parent, child)
        Arcs that must, or must not, be there.
    tiers : sequence of sequences of names
        No arc from a later tier to an earlier one.

    Notes
    -----
    After a change only the gains into the changed variables are worked out again: O(n) families. Missing cells are
    taken as the most common value, as scores over different rows cannot be compared.

    Examples
    --------
    >>> from tanager import HillClimb, learn_network
    >>> rows = [[a, b, a & b] for a in (0, 1) for b in (0, 1)] * 5
    >>> learned = learn_network(rows, learner=HillClimb())
    >>> learned.network.arcs
    [('x0', 'x2'), ('x1', 'x2')]
    """

    score: str = "bic"
    max_parents: int | None = 3
    ess: float = 1.0
    tabu: int = 0
    patience: int = 10
    restarts: int = 0
    random_state: int | np.random.RandomState | None = 0

    def __post_init__(self) -> None:
        check_score(self.score, self.ess, self.max_parents)
        for name in ("tabu", "patience", "restarts"):
            check_whole(name, getattr(self, name))

    def _learn(self, task: Task) -> Learned:
        task.rules.check_limit(self.max_parents)
        climb = Climb(task, Families(task, self.score, self.ess), self.max_parents)
        best = climb.up(climb.start(task.rules.required_parents()), self.tabu, self.patience)
        generator = check_random_state(self.random_state)
        for _ in range(self.restarts):
            found = climb.up(climb.shaken(best, generator), self.tabu, self.patience)
            best = found if found.score > best.score + climb.rounding(best.score) else best
        task.steps += best.steps
        return task.learned(best.parents, climb.open_arcs(best.parents))


class Move(NamedTuple):
    """A change of one arc (parent, child)."""

    kind: int  # in MOVES
    parent: int
    child: int

    @property
    def undone(self) -> Move:
        """The move that takes it back."""
        if MOVES[self.kind] == "reverse":
            return Move(self.kind, self.child, self.parent)
        return Move(1 - self.kind, self.parent, self.child)


class State(NamedTuple):
    """Where a search stands, and how it came there."""

    parents: list[set[int]]
    gains: np.ndarray  # [u, v]: what the family of v gains when u joins its parents or leaves them
    families: np.ndarray  # the score of every family
    steps: list[Step]

    @property
    def score(self) -> float:
        """Of the whole network."""
        return float(self.families.sum())

    def copy(self) -> State:
        """One that can be changed on its own."""
        return State([set(own) for own in self.parents], self.gains.copy(), self.families.copy(), list(self.steps))


class Climb:
    """The moves of a search: which are allowed, what they gain, and the way up.

    Moves are tables with an axis for the kind of move, the parent and the child of the arc.
    """

    def __init__(self, task: Task, families: Families, max_parents: int | None) -> None:
        n = task.n_nodes
        self.task = task
        self.families = families
        self.most = n if max_parents is None else max_parents
        self.allowed = np.array([[task.rules.allowed(u, v) for v in range(n)] for u in range(n)], bool).reshape(n, n)
        self.required = np.zeros((n, n), bool)
        for arc in task.rules.required:
            self.required[arc] = True

    def start(self, parents: list[set[int]]) -> State:
        """A state with all its gains worked out."""
        n = self.task.n_nodes
        state = State([set(own) for own in parents], np.zeros((n, n)), np.zeros(n), [])
        for child in range(n):
            self.task.tick("scoring families", child, n)
            self._refresh(state, child)
        return state

    def up(self, state: State, tabu: int, patience: int) -> State:
        """Climb until nothing gains or, with tabu, until patience is at an end; gives the best state on the way."""
        best = state.copy()
        recent: deque[Move] = deque(maxlen=tabu)
        idle = 0
        while idle < max(patience, 1):
            gains = self._gains(state, recent, best.score)
            top, rounding = gains.max(initial=-np.inf), self.rounding(state.score)
            if top == -np.inf or (top <= rounding and not tabu):
                break
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
        """By how much scores may differ that are equal in exact arithmetic."""
        return ROUNDING * max(abs(score), 1)

    def open_arcs(self, parents: list[set[int]]) -> list[Edge]:
        """The arcs that neither the data nor the constraints direct."""
        free = graph.cpdag(parents).neighbours
        return [(u, v) for v, own in enumerate(parents) for u in sorted(own & free[v]) if self._reversible[u, v]]

    @property
    def _reversible(self) -> np.ndarray:
        return self.allowed.T & ~self.required

    def _gains(self, state: State, recent: deque[Move], best: float) -> np.ndarray:
        """What every move gains; -inf where it is not legal, or takes back a recent one without a new best."""
        gains = np.where(self._legal(state.parents), self._worth(state), -np.inf)
        for move in recent:
            if state.score + gains[move] <= best + self.rounding(best):
                gains[move] = -np.inf
        return gains

    def _worth(self, state: State) -> np.ndarray:
        """What every move gains, legal or not: reversing is removing and adding."""
        return np.stack([state.gains, state.gains, state.gains + state.gains.T])

    def _legal(self, parents: list[set[int]]) -> np.ndarray:
        """Which moves keep to the constraints, to the most parents, and close no cycle."""
        arcs = np.zeros_like(self.allowed)
        for v, own in enumerate(parents):
            arcs[list(own), v] = True
        leads = _leads(parents)
        room = arcs.sum(0) < self.most
        add = self.allowed & ~arcs & ~leads.T & room
        remove = arcs & ~self.required
        detours = arcs @ leads.astype(np.float32) > 1.5  # besides the arc itself
        reverse = arcs & self._reversible & room[:, None] & ~detours
        return np.stack([add, remove, reverse])

    def _make(self, state: State, move: Move, gain: float, why: str = "") -> None:
        """Change the arc, and work the gains of the families out that it changes."""
        kind, u, v = MOVES[move.kind], move.parent, move.child
        state.parents[v] ^= {u}
        if kind == "reverse":
            state.parents[u].add(v)
            self._refresh(state, u)
        self._refresh(state, v)
        names = self.task.rules.names
        score = f"{why}{self.families.kind} {gain:+.4f} to {state.score:.4f}"
        state.steps.append(Step("search", kind, (names[u], names[v]), gain, note=score))
        self.task.tick("climbing", len(state.steps))

    def _refresh(self, state: State, child: int) -> None:
        """Score the family of a node as it is, and with one parent more or less."""
        own = state.parents[child]
        more = np.flatnonzero(self.allowed[:, child]).tolist() if len(own) < self.most else []
        changes = sorted(own | set(more))
        now, *others = self.families.scores(child, [own, *(own ^ {u} for u in changes)])
        state.families[child] = now
        state.gains[changes, child] = np.array(others) - now


def _leads(parents: list[set[int]]) -> np.ndarray:
    """Whether an arc or more, or none, lead from u to v."""
    leads = np.eye(len(parents), dtype=bool)
    for v in graph.topological(parents) or []:
        for u in parents[v]:
            leads[:, v] |= leads[:, u]
    return leads
