"""The interface of all structure learners, their result, and the trace of the steps that led to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, groupby
from typing import Any

from tanager.counts.sample import Information, Sample
from tanager.docstrings import complete_when_read
from tanager.errors import OptionError
from tanager.listed import Listed, names_in
from tanager.networks.network import Arc, Network
from tanager.structure.constraints import Constraints
from tanager.structure.independence_tests import brief

Progress = Callable[
    [str, int, int | None], None
]  # what is being done, how much is done, and of how much (None if unknown)

SECONDS_BETWEEN_PROGRESS = 0.05
DONE = {
    "add": "added",
    "remove": "removed",
    "keep": "kept",
    "skip": "left out",
    "orient": "directed",
    "reverse": "reversed",
    "refuse": "refused",
}


@dataclass(frozen=True)
class Step:
    """One step of a learner, readable by people."""

    phase: str  # "tree", "draft", "thicken", "thin", "orient", "extend", "limit", "search"
    action: str  # one of DONE
    arc: Arc
    value: float  # the information, or the gain in score
    given: tuple[str, ...] = ()  # the variables that were conditioned on
    note: str = ""  # why
    directed: bool = True  # whether the arc had a direction yet

    def __str__(self) -> str:
        return f"{self.edge}  {self.words}"

    @property
    def edge(self) -> str:
        """The arc, as ``a -> b`` or ``a - b``."""
        return f"{self.arc[0]} {'->' if self.directed else '-'} {self.arc[1]}"

    @property
    def words(self) -> str:
        """What was done and why."""
        given = f" given {', '.join(self.given)}" if self.given else ""
        return f"{DONE[self.action]}{given}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True)
class LearnedNetwork:
    """The result of a structure learner: a network without tables, the steps, and the arcs without a direction.

    ``print(learned.trace())`` shows what was done; ``steps`` and ``to_dicts()`` hold the same for programs.
    """

    network: Network
    steps: tuple[Step, ...] = field(default=(), repr=False)
    undirected: tuple[Arc, ...] = ()  # arcs of the network whose direction the data do not determine
    n_tests: int = 0  # including those that were answered from the cache

    def trace(self) -> str:
        """The steps of each phase as text, one line each."""
        lines = []
        for phase, group in groupby(self.steps, key=lambda step: step.phase):
            steps = list(group)
            width = min(max(len(step.edge) for step in steps), 50)
            lines += [phase, *(f"  {step.edge:<{width}}  {step.words}" for step in steps)]
        free = ", ".join(f"{u} - {v}" for u, v in self.undirected)
        asked = f" after {self.n_tests} tests" if self.n_tests else ""
        lines.append(f"{len(self.network.arcs)} arcs{asked}" + (f"; the data do not direct {free}" if free else ""))
        return "\n".join(lines)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The steps as plain dicts, one each."""
        return [asdict(step) for step in self.steps]


@dataclass
class Task:
    """One run of a learner: the constraints, access to the sample, and the steps so far.

    Nodes are numbered 0, 1, ... in the order of the table, or as they were given.
    """

    sample: Sample
    nodes: tuple[int, ...]
    given: tuple[int, ...]
    root: int | None  # as a position in the sample
    rules: Constraints
    progress: Progress | None = None
    target: int | None = None  # the class, as a position in the sample
    traced: bool = True  # whether steps are written down; words take longer than tests
    steps: list[Step] = field(default_factory=list)
    n_tests: int = 0
    _last_progress: float = 0.0

    @property
    def n_nodes(self) -> int:
        """The number of variables of the network."""
        return len(self.nodes)

    def ask(self, a: int, b: int, given: Iterable[int] = ()) -> Information:
        """The mutual information of two nodes given other nodes, and given those that every test conditions on."""
        self.n_tests += 1
        nodes = self.nodes
        return self.sample.information_at(nodes[a], nodes[b], frozenset((*(nodes[c] for c in given), *self.given)))

    def ask_pairs(self) -> list[Information]:
        """The mutual information of every two nodes, given what every test conditions on."""
        self.n_tests += self.n_nodes * (self.n_nodes - 1) // 2
        return self.sample.pair_informations(self.nodes, self.given)

    def note(
        self,
        phase: str,
        action: str,
        arc: tuple[int, int],
        value: float,
        *,
        given: Collection[int] = (),
        note: str = "",
        directed: bool = True,
    ) -> None:
        """Add a step to the trace."""
        if self.traced:
            names = self.rules.names
            cut = tuple(names[c] for c in sorted(given))
            self.steps.append(Step(phase, action, (names[arc[0]], names[arc[1]]), value, cut, note, directed))

    def tick(self, what: str, done: int, of: int | None = None) -> None:
        """Report progress, but not more often than a person can read."""
        if self.progress is not None and time.monotonic() - self._last_progress >= SECONDS_BETWEEN_PROGRESS:
            self._last_progress = time.monotonic()
            self.progress(what, done, of)

    def learned(self, parents: Sequence[Collection[int]], undirected: Iterable[tuple[int, int]] = ()) -> LearnedNetwork:
        """The network over the names of the sample."""
        names = self.rules.names
        values = {name: self.sample.values[i] for name, i in zip(names, self.nodes, strict=True)}
        network = Network.of_parents(values, [sorted(own) for own in parents])
        free = tuple((names[u], names[v]) for u, v in undirected)
        return LearnedNetwork(network, tuple(self.steps), free, self.n_tests)


@dataclass(frozen=True, kw_only=True, repr=False)
class Learner(Listed):
    """Base of the structure learners: frozen options, and the method ``learn``.

    Parameters
    ----------
    required : sequence of (parent, child)
        Arcs that must be in the network.
    forbidden : sequence of (parent, child)
        Arcs that must not be in the network.
    tiers : sequence of sequences of names
        No arc leads from a later tier to an earlier one. Variables in no tier are unconstrained.
    """

    unlisted = names_in("named_variables required_alone")

    required: Sequence[Arc] = ()
    forbidden: Sequence[Arc] = ()
    tiers: Sequence[Sequence[str]] = ()

    __repr__ = brief

    def __init_subclass__(cls) -> None:
        complete_when_read(cls)

    def learn(
        self,
        sample: Sample,
        *,
        nodes: Sequence[int] | None = None,
        given: Sequence[int] = (),
        root: int | None = None,
        target: int | None = None,
        progress: Progress | None = None,
        traced: bool = True,
    ) -> LearnedNetwork:
        """Learn a network over the nodes (by default all variables except ``given``).

        The order of the nodes breaks ties: the class of a general network is best put first. ``given`` variables are
        conditioned on in every test and are parents in every family, without being nodes: the class of an augmented
        network. ``root`` comes before all others and is never a child: the class of a general network. ``target`` is
        the class, for learners that look for what tells most about it; by default the root, or what is given. Without
        ``traced`` the steps of CBL, HillClimb and PDAGSearch are not written down: so classifiers learn, as words take
        longer than tests.

        Parameters
        ----------
        sample : Sample
            Rows to learn from.
        nodes : sequence of int, default=None
            Places of the variables to learn a network over. None: all but ``given``.
        given : sequence of int, default=()
            Places of variables that are parents of all others, such as the class.
        root : int, default=None
            The place of a variable without parents.
        target : int, default=None
            The place of the class.
        progress : callable, default=None
            Called with what is being done, how much is done, and of how much.
        traced : bool, default=True
            Whether steps are written down.

        Returns
        -------
        LearnedNetwork
            The network, and the steps that led to it.
        """
        return self._learn(self._task(sample, nodes, given, root, target, progress, traced))

    def named_variables(self) -> set[str]:
        """Those that constraints name, or an order of the variables."""
        order = getattr(self, "order", None)
        ordered = () if order is None or isinstance(order, str) else order
        return {*chain.from_iterable((*self.required, *self.forbidden, *self.tiers)), *ordered}

    def required_alone(self, sample: Sample, nodes: Sequence[int]) -> LearnedNetwork:
        """The network of the required arcs, where there are too few rows to learn others."""
        task = self._task(sample, nodes)
        return task.learned(task.rules.required_parents())

    def _task(
        self,
        sample: Sample,
        nodes: Sequence[int] | None,
        given: Sequence[int] = (),
        root: int | None = None,
        target: int | None = None,
        progress: Progress | None = None,
        traced: bool = True,
    ) -> Task:
        """What is to be learned, with the constraints checked."""
        given = tuple(sample.index(i) for i in given)
        chosen = dict.fromkeys(range(len(sample.names)) if nodes is None else map(sample.index, nodes))
        own = tuple(i for i in chosen if i not in given)
        if root is not None and sample.index(root) not in own:
            raise OptionError(f"the root {sample.names[sample.index(root)]!r} is not among the nodes.")
        root = None if root is None else sample.index(root)
        constraints = {"required": self.required, "forbidden": self.forbidden, "tiers": self.tiers}
        rules = Constraints(sample, own, given=given, root=root, **constraints)
        target = (root if root is not None else next(iter(given), None)) if target is None else sample.index(target)
        return Task(sample, own, given, root, rules, progress, target, traced)

    def _learn(self, task: Task) -> LearnedNetwork:
        """What each learner implements."""
        raise NotImplementedError
