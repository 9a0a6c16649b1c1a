"""PDAGSearch: greedy search for what surrounds the class, over graphs in which some edges have no direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tanager.errors import OptionError, check_option
from tanager.networks import graph
from tanager.structure.families import ROUNDING, Families, check_score
from tanager.structure.independence_tests import Test
from tanager.structure.learner import LearnedNetwork, Learner, Task


@dataclass(frozen=True, kw_only=True, repr=False)
class PDAGSearch(Learner):
    """Greedy search over partially directed graphs around the class: parents, siblings and children of the class.

    A sibling is joined to the class by an edge without a direction, as both directions give the same answers. So the
    search visits many networks at once, and does not take the wrong turn that the direction of a first arc can be. What
    has no influence on the class is not searched: columns are joined to each other only where both are parents of a
    common child, one of them the class. Choose it for classification with ``GeneralNetwork``, where ``HillClimb``
    spends its moves on arcs that answers do not depend on.

    Parameters
    ----------
    score : "bdeu", "k2", "bic", "aic" or "ll", default="bdeu"
        The score to maximise.
    max_parents : int or None, default=3
        The largest number of parents, not counting the class.
    ess : float, default=1.0
        Equivalent sample size of ``"bdeu"``.
    start : "empty" or "naive", default="empty"
        Where to begin: with no edge, or with every column a sibling of the class, as in naive Bayes.
    test : Threshold, GSquared, Pearson or None, default=None
        If given, what is joined must be dependent by this test, too, given the other parents.
    required
        None are taken: use ``HillClimb`` for these.
    forbidden
        A sibling is a child in the end, so its arc from the class must be allowed.

    Notes
    -----
    Acid, de Campos and Castellano (2005). Each step tries O(n) edges at the class and O(n) for every child or sibling;
    families are scored once. Missing cells are imputed by the most common value. In ``GeneralNetwork`` the class is a
    root by default, and has no parents; ``class_root=False`` lets the search find them.

    Examples
    --------
    The class is certain from the first two columns together, which have nothing to do with each other: they meet in it.

    >>> from tanager import PDAGSearch, learn_network
    >>> rows = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 5
    >>> learned = learn_network(rows, [a & b for a, b, _ in rows], PDAGSearch())
    >>> learned.network.arcs
    [('x0', 'class'), ('x1', 'class')]
    >>> print(learned.trace())
    search
      class - x0   added: bdeu +7.0091 to -106.9693
      x1 -> class  added: bdeu +13.5010 to -93.4683; meets x0
    2 arcs after 12 tests
    """

    score: str = "bdeu"
    max_parents: int | None = 3
    ess: float = 1.0
    start: str = "empty"
    test: Test | None = None

    def __post_init__(self) -> None:
        check_score(self.score, self.ess, self.max_parents)
        check_option("start", self.start, ("empty", "naive"))
        if self.required:
            raise OptionError("PDAGSearch takes no required arcs. Use HillClimb(required=...).")

    def _learn(self, task: Task) -> LearnedNetwork:
        if task.target is None or task.target not in task.nodes:
            raise OptionError(
                "PDAGSearch looks for what surrounds the class, and there is no class among these variables. Use it "
                "with GeneralNetwork, or with learn_network and y or target=; use HillClimb otherwise."
            )
        search = Search(task, self)
        plain = not (task.traced or task.progress or self.test) and search.class_is_root
        around = search.by_kernels() if plain else search.climb(search.start())
        return task.learned(
            around.parents, [(around.target, i) for i in around.siblings if task.rules.allowed(i, around.target)]
        )


@dataclass(frozen=True)
class Around:
    """The class and what surrounds it, as the network in which siblings are children of the class.

    This says it all. Where the class has no parents, a child with no other parent is a sibling: its edge can be turned.
    The class never has a single parent, which would be a sibling, and a column has parents only if the class is one.
    """

    target: int
    parents: tuple[frozenset[int], ...]

    @property
    def class_parents(self) -> frozenset[int]:
        """The parents of the class: none, or two or more."""
        return self.parents[self.target]

    @property
    def siblings(self) -> list[int]:
        """The columns joined to the class by an edge without a direction."""
        lone = frozenset([self.target])
        return [] if self.class_parents else [i for i, own in enumerate(self.parents) if own == lone]

    @property
    def below(self) -> list[int]:
        """The siblings and children of the class."""
        return [i for i, own in enumerate(self.parents) if self.target in own]

    @property
    def apart(self) -> list[int]:
        """The columns that are not joined to the class."""
        return [i for i, own in enumerate(self.parents) if not own and i not in self.class_parents and i != self.target]

    def changed(self, families: dict[int, frozenset[int]]) -> Around:
        """What surrounds the class if these nodes have other parents."""
        return Around(self.target, tuple(families.get(i, own) for i, own in enumerate(self.parents)))


@dataclass(slots=True, eq=False)
class Move:
    """A change: what is done to which edge, the new parents of the nodes that change, and words for the trace."""

    action: str
    arc: tuple[int, int]
    families: dict[int, frozenset[int]]
    given: frozenset[int] = frozenset()  # what a test of the edge conditions on
    directed: bool = True
    note: str = ""
    gain: float | None = None  # in score, once it is known


@dataclass
class Search:
    """The moves of a search, what they gain, and the climb itself."""

    task: Task
    options: PDAGSearch
    known: dict[tuple[int, frozenset[int]], float] = field(default_factory=dict)  # the scores of families
    joins: dict[tuple[int, frozenset[int]], list[Move]] = field(default_factory=dict)  # by the child and its parents

    def __post_init__(self) -> None:
        task = self.task
        assert task.target is not None
        self.target = task.nodes.index(task.target)
        self.families = Families(task, self.options.score, self.options.ess)
        self.most = task.n_nodes if self.options.max_parents is None else self.options.max_parents

    def start(self) -> Around:
        """No edge, or every column a sibling."""
        empty = Around(self.target, (frozenset(),) * self.task.n_nodes)
        if self.options.start == "empty":
            return empty
        own = frozenset([self.target])
        return empty.changed({i: own for i in empty.apart if self.task.rules.allowed(self.target, i)})

    @property
    def class_is_root(self) -> bool:
        """Whether no arc may lead to the class."""
        return not any(line[self.target] for line in self.task.rules.allowed_arcs)

    def by_kernels(self) -> Around:
        """What a climb finds around a class that is a root; nothing is written down."""
        parents = self.families.climb(
            self.options.max_parents, target=self.target, all_joined=self.options.start == "naive"
        )
        return Around(self.target, tuple(map(frozenset, parents)))

    def climb(self, around: Around) -> Around:
        """Make the move that gains most until none does."""
        self._score([dict(enumerate(around.parents))])
        score = sum(self.known[family] for family in enumerate(around.parents))
        while True:
            moves = list(self.moves(around))
            gains = self._gains(around, moves)
            chosen = self._best(moves, gains, ROUNDING * max(abs(score), 1))
            if chosen is None:
                return around
            move, gain = moves[chosen], float(gains[chosen])
            score += gain
            words = f"{self.options.score} {gain:+.4f} to {score:.4f}" + (f"; {move.note}" if move.note else "")
            self.task.note("search", move.action, move.arc, gain, note=words, directed=move.directed)
            self.task.tick("searching", len(self.task.steps))
            around = around.changed(move.families)

    def _best(self, moves: Sequence[Move], gains: np.ndarray, rounding: float) -> int | None:
        """The first of the moves that gain most, up to rounding, and that the test allows."""
        left = gains > rounding
        while left.any():
            chosen = int(np.argmax(left & (gains >= gains[left].max() - rounding)))
            if self._dependent(moves[chosen]):
                return chosen
            left[chosen] = False
        return None

    def _dependent(self, move: Move) -> bool:
        test = self.options.test
        return test is None or move.action != "add" or not test.independent(self.task.ask(*move.arc, move.given))

    def _gains(self, around: Around, moves: Sequence[Move]) -> np.ndarray:
        new = [move for move in moves if move.gain is None]
        self._score([move.families for move in new])
        for move in new:
            changes = move.families.items()
            move.gain = sum(self.known[i, own] - self.known[i, around.parents[i]] for i, own in changes)
        return np.array([move.gain for move in moves], float)

    def _score(self, changes: Sequence[dict[int, frozenset[int]]]) -> None:
        """Score all families that are new, those of one node together."""
        wanted: dict[int, dict[frozenset[int], None]] = {}
        for families in changes:
            for i, own in families.items():
                if (i, own) not in self.known:
                    wanted.setdefault(i, {})[own] = None
        for i, sets in wanted.items():
            self.known.update(zip([(i, own) for own in sets], self.families.scores(i, [*sets]).tolist(), strict=True))

    # --- the moves, in the order in which ties are broken -------------------------------------------------------------

    def moves(self, around: Around) -> Iterator[Move]:
        """All legal moves."""
        yield from self._join_class(around)
        yield from self._join_columns(around)
        yield from self._leave_class(around)
        yield from self._leave_columns(around)

    def _join_class(self, around: Around) -> Iterator[Move]:
        y, own, allowed = around.target, around.class_parents, self.task.rules.allowed
        lone = frozenset([y])
        for x in around.apart:
            if own and len(own) < self.most and allowed(x, y):
                yield Move("add", (x, y), {y: own | {x}}, own)
            if allowed(y, x):
                yield Move("add", (y, x), {x: lone}, directed=bool(own))
        for x in around.apart if self.most >= 2 else ():
            for z in around.siblings:  # x -> class <- z; the other siblings become children
                if allowed(x, y) and allowed(z, y):
                    note = f"meets {self.task.rules.names[z]}"
                    yield Move("add", (x, y), {y: frozenset([x, z]), z: frozenset()}, frozenset([z]), note=note)

    def _join_columns(self, around: Around) -> Iterator[Move]:
        children = graph.turned(around.parents)
        for c in around.below:
            if len(around.parents[c]) <= self.most:  # the class is one of them, and is not counted
                under = graph.reachable(children, [c])
                yield from (move for move in self._joins(c, around.parents[c]) if move.arc[0] not in under)

    def _joins(self, c: int, own: frozenset[int]) -> list[Move]:
        """The columns that may become parents of another one, cycles apart; made once, as they are many."""
        if (c, own) not in self.joins:
            free = [x for x in range(self.task.n_nodes) if x not in own and self.task.rules.allowed(x, c)]
            self.joins[c, own] = [Move("add", (x, c), {c: own | {x}}, own) for x in free]
        return self.joins[c, own]

    def _leave_class(self, around: Around) -> Iterator[Move]:
        y, own, names = around.target, around.class_parents, self.task.rules.names
        for x in sorted(own):
            rest = own - {x}
            if len(rest) > 1:
                yield Move("remove", (x, y), {y: rest})
            else:  # a single parent is a sibling
                (z,) = rest
                if self.task.rules.allowed(y, z):
                    turned = {y: frozenset[int](), z: frozenset([y])}
                    yield Move("remove", (x, y), turned, note=f"{names[z]} is a sibling")
        for x in around.below:
            if len(around.parents[x]) == 1:
                yield Move("remove", (y, x), {x: frozenset()}, directed=bool(own))

    def _leave_columns(self, around: Around) -> Iterator[Move]:
        for c in around.below:
            own = around.parents[c]
            for x in sorted(own - {around.target}):
                sibling = len(own) == 2 and not around.class_parents
                note = f"{self.task.rules.names[c]} is a sibling" if sibling else ""
                yield Move("remove", (x, c), {c: own - {x}}, note=note)
