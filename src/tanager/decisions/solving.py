"""The best policies: decision after decision, the last one first, each the best for the policies that follow it.

Lauritzen and Nilsson, Representing and solving decision problems with limited information (2001). A decision without
a policy is made at random, so that every combination of what may be known has a value, also those that the best
policies never lead to. With no forgetting, one pass from the last decision to the first is exact; so it is with
limited memory where the diagram is soluble. Otherwise passes are repeated until nothing changes.

Pairs of probabilities and utilities are summed out in any order here: only decisions have to be taken one after the
other. An elimination of all variables in one strong order (Jensen) would give the same, with larger tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tanager.decisions.elimination import Factor, expect
from tanager.decisions.order import remembered
from tanager.decisions.policy import Policy, Solution, one_hot
from tanager.errors import DataError
from tanager.networks import graph
from tanager.networks.inference import Scope

if TYPE_CHECKING:
    from tanager.decisions.diagram import DecisionNetwork

LARGEST = 1e150  # of utilities: products of two are still finite
TIE = 1e-12  # of the largest utility: options closer than this are a tie
MOST_ROUNDS = 1000


@dataclass
class Rule:
    """Which option is chosen for each combination of some variables; -1 where a combination is impossible."""

    scope: Scope
    choices: np.ndarray
    gains: np.ndarray  # the expected utility of each option, along the last axis
    possible: np.ndarray


@dataclass
class Problem:
    """A diagram as numbers: nodes are indices of its network, then come the utilities."""

    diagram: DecisionNetwork
    evidence: dict[int, int]
    rules: dict[int, Rule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        network = self.diagram.network
        self.sizes = [len(network.values(name)) for name in network]
        self.n = len(network)
        self.decisions = [network.index(name) for name in self.diagram.decisions]
        tables = self.diagram.tables
        own = {network.index(name): tables[name] for name in self.diagram.chance}
        self.chance: dict[int, Factor] = {
            i: self._sliced((*network.parent_indices[i], i), cells) for i, cells in own.items()
        }
        self.utility_parents = [tuple(map(network.index, self.diagram.parents(u))) for u in self.diagram.utilities]
        self.utilities = [
            self._sliced(parents, tables[name])
            for name, parents in zip(self.diagram.utilities, self.utility_parents, strict=True)
        ]
        self.scale = max([1e-300, *(float(np.abs(cells).max()) for _, cells in self.utilities if cells.size)])

    def _sliced(self, scope: Scope, cells: np.ndarray) -> Factor:
        """A table without the axes of what is known."""
        at = tuple(self.evidence.get(i, slice(None)) for i in scope)
        return tuple(i for i in scope if i not in self.evidence), np.asarray(cells[at])

    @property
    def free(self) -> list[int]:
        """The decisions that are still to be made."""
        return [d for d in self.decisions if d not in self.evidence]

    def parents(self, information: Mapping[int, Scope]) -> list[Scope]:
        """The parents of all nodes, utilities last; those of decisions are given."""
        network = self.diagram.network
        lists = [network.parent_indices[i] if i in self.chance else information.get(i, ()) for i in range(self.n)]
        return [*lists, *self.utility_parents]

    def utilities_after(self, parents: Sequence[Scope], d: int) -> set[int]:
        """The utilities that a decision can change."""
        return {u for u in graph.reachable(graph.turned(parents), [d]) if u >= self.n}

    def requisite(self, parents: Sequence[Scope], d: int, known: Scope) -> Scope:
        """Of what is known at a decision, all that can make a difference: the rest is d-separated from utilities."""
        after = self.utilities_after(parents, d)
        given = {*known, d, *self.evidence}
        return tuple(i for i in known if after & graph.d_connected_to(parents, i, given - {i}))

    def values(self, d: int | None, scope: Scope) -> tuple[np.ndarray, np.ndarray]:
        """Probability and expected utility of each combination of a scope and each option of a decision, if given.

        All decisions but this one follow their rules; those without a rule are made at random.
        """
        keep = scope if d is None else (*scope, d)
        rules = {i: self._rule_factor(i) for i in self.rules if i != d and i not in self.evidence}
        informed = {i: tuple(j for j in factor[0] if j != i) for i, factor in rules.items()}
        used = {i for u in self.utility_parents for i in u} | {*keep, *self.evidence}
        needed = graph.reachable(self.parents(informed), used)  # all others sum to one
        phis = [f for i, f in (*self.chance.items(), *rules.items()) if i in needed]
        return expect(phis, self.utilities, keep, self.sizes)

    def _rule_factor(self, d: int) -> Factor:
        rule = self.rules[d]
        scope = (*rule.scope, d)
        return self._sliced(scope, one_hot(rule.choices, self.sizes[d]))

    def improve(self, d: int, scope: Scope) -> bool:
        """The best rule for a decision, given the rules of the others; whether it has changed."""
        probability, gains = self.values(d, scope)
        possible = probability[..., 0] > 0
        best = best_options(gains, TIE * self.scale)
        old = self.rules.get(d)
        if old is None:
            self.rules[d] = Rule(scope, np.where(possible, best, -1), gains, possible)
            return True
        rise = gains.max(axis=-1) - np.take_along_axis(gains, np.maximum(old.choices, 0)[..., None], axis=-1)[..., 0]
        better = possible & (rise > 1e3 * TIE * self.scale)  # else rounding could go on for ever
        choices = np.where(better, best, old.choices)
        seen = possible[..., None]
        self.rules[d] = Rule(scope, choices, np.where(seen, gains, old.gains), possible | old.possible)
        return bool(better.any())


def best_options(gains: np.ndarray, tie: float) -> np.ndarray:
    """The best option along the last axis; of those as good, the first."""
    return np.argmax(gains >= gains.max(axis=-1, keepdims=True) - tie, axis=-1)


# --- solving ----------------------------------------------------------------------------------------------------------


def solve(diagram: DecisionNetwork, *, limited_memory: bool, evidence: Mapping[str, object]) -> Solution:
    """The best policies of a diagram."""
    diagram.require_tables()
    problem = _given(diagram, evidence)
    certain, rounds = _update_policies(problem) if limited_memory else _solve_exactly(problem)
    order = diagram.network.order() if limited_memory else diagram.order
    utility = problem.values(None, ())[1]
    made = {
        name: _policy(problem, name, limited_memory) for name in order if diagram.network.index(name) in problem.rules
    }
    return Solution(float(utility), made, certain, rounds, dict(evidence))


def _solve_exactly(problem: Problem) -> tuple[bool, int]:
    index = problem.diagram.network.index
    known = remembered(problem.diagram, problem.diagram.order)
    for name in reversed(problem.diagram.order):
        d = index(name)
        if d in problem.evidence:
            continue
        # Earlier decisions are known here, so that it does not matter how they were made: as if at random.
        parents = problem.parents({i: rule.scope for i, rule in problem.rules.items()})
        own = tuple(i for i in map(index, known[name]) if i not in problem.evidence)
        problem.improve(d, problem.requisite(parents, d, own))
    return True, 1


def _update_policies(problem: Problem) -> tuple[bool, int]:
    """Single policy updating: one pass where the diagram is soluble, else as many as change something."""
    information = _reduced(problem)
    order = _soluble_order(problem, information)
    if order is not None:
        for d in order:
            problem.improve(d, information[d])
        return True, 1
    index = problem.diagram.network.index
    late_first = [d for d in map(index, reversed(problem.diagram.network.order())) if d in information]
    rounds = 1
    while rounds < MOST_ROUNDS:
        changes = [problem.improve(d, information[d]) for d in late_first]
        if not any(changes):
            break
        rounds += 1
    return False, rounds


def _reduced(problem: Problem) -> dict[int, Scope]:
    """What is known at each decision, without what can make no difference (the minimal reduction)."""
    parents = problem.diagram.network.parent_indices
    known = {d: tuple(i for i in parents[d] if i not in problem.evidence) for d in problem.free}
    while True:
        smaller = {d: problem.requisite(problem.parents(known), d, own) for d, own in known.items()}
        changed = next((d for d in known if smaller[d] != known[d]), None)
        if changed is None:
            return known
        known[changed] = smaller[changed]  # one at a time: it changes what matters to the others


def _soluble_order(problem: Problem, information: Mapping[int, Scope]) -> list[int] | None:
    """An order in which the best policy of each decision depends on no policy that comes later; None without one."""
    parents = problem.parents(information)
    order: list[int] = []
    left = list(information)
    while left:
        d = next((d for d in left if _extremal(problem, parents, d, left, information)), None)
        if d is None:
            return None
        order.append(d)
        left.remove(d)
    return order


def _extremal(
    problem: Problem, parents: Sequence[Scope], d: int, left: Iterable[int], information: Mapping[int, Scope]
) -> bool:
    """Whether the utilities after a decision, given what is known at it, do not depend on how others are made."""
    family = {d, *information[d]}
    others = {i for other in left if other != d for i in (other, *information[other])} - family
    given = family | set(problem.evidence)
    return not any(others & graph.d_connected_to(parents, u, given) for u in problem.utilities_after(parents, d))


# --- evidence, policies and their value -------------------------------------------------------------------------------


def _given(diagram: DecisionNetwork, evidence: Mapping[str, object]) -> Problem:
    """The problem with what is known; an error for what is impossible."""
    problem = Problem(diagram, _checked_evidence(diagram, evidence))
    if evidence and not problem.values(None, ())[0] > 0:
        listed = ", ".join(f"{name} = {value}" for name, value in evidence.items())
        raise DataError(f"the evidence {listed} has probability 0 in this diagram. Check it.")
    return problem


def _checked_evidence(diagram: DecisionNetwork, evidence: Mapping[str, object]) -> dict[int, int]:
    """Codes of what is known; an error for what a decision yet to be made can change."""
    codes = {diagram.index(name): diagram.network.code(name, value) for name, value in evidence.items()}
    for name in evidence:
        if name in diagram.decisions:
            continue
        changing = [d for d in diagram.network.ancestors(name) if d in diagram.decisions and d not in evidence]
        if changing:
            raise DataError(
                f"{name!r} cannot be known before the decision {changing[0]!r}, which can change it. Give the option "
                f"that was chosen as well: evidence={{{changing[0]!r}: ..., {name!r}: ...}}."
            )
    return codes


def evaluate(
    diagram: DecisionNetwork, policies: Solution | Mapping[str, Policy], evidence: Mapping[str, object]
) -> float:
    """The expected utility of following some policies."""
    diagram.require_tables()
    problem = _given(diagram, evidence)
    for d in problem.free:
        name = diagram.network.names[d]
        if name not in policies:
            raise DataError(
                f"there is no policy for the decision {name!r}. Give one for each, or an option as evidence."
            )
        problem.rules[d] = _rule(diagram, policies[name])
    return float(problem.values(None, ())[1])


def _rule(diagram: DecisionNetwork, policy: Policy) -> Rule:
    name = policy.decision
    if policy.options != diagram.values(name):
        raise DataError(f"the policy for {name!r} has other options than the diagram.")
    for other, values in policy.known.items():
        if diagram.values(other) != values:
            raise DataError(f"the policy for {name!r} knows {other!r} with other values than the diagram.")
        if name in diagram.network.ancestors(other):
            raise DataError(f"the policy for {name!r} knows {other!r}, which comes after it.")
    scope = tuple(diagram.index(other) for other in policy.known)
    return Rule(scope, policy.choices, policy.gains, policy.probabilities > 0)


def _policy(problem: Problem, name: str, limited_memory: bool) -> Policy:
    """The rule of a decision with labels, and with what it gives where the policies lead to."""
    diagram, network = problem.diagram, problem.diagram.network
    d = network.index(name)
    rule = problem.rules[d]
    probability, gains = problem.values(d, rule.scope)
    probability = probability[..., 0] / probability[..., 0].sum()
    gains = np.where((probability > 0)[..., None], gains, rule.gains)
    gains = np.where(rule.possible[..., None], gains, np.nan)
    known = {network.names[i]: network.values(network.names[i]) for i in rule.scope}
    information = diagram.information(name, limited_memory=limited_memory)
    idle = tuple(other for other in information if other not in known and network.index(other) not in problem.evidence)
    return Policy(name, network.values(name), known, rule.choices, gains, probability, idle)
