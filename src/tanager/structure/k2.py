"""K2: greedy choice of parents along a known order of the variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.structure.constraints import node_order
from tanager.structure.families import ROUNDING, Families, check_score
from tanager.structure.learner import LearnedNetwork, Learner, Task


@dataclass(frozen=True, kw_only=True, repr=False)
class K2(Learner):
    """Greedy search along an order: each variable gets the best of the earlier ones as parents, one at a time.

    Choose it when an order of the variables is known and the network is for prediction. It is fast, as no cycle can
    arise. For the same by independence tests, see CBL with an order.

    Parameters
    ----------
    order : "given" or sequence of names, default="given"
        An order of the variables, causes before effects; ``"given"`` is that of the table.
    score : "k2", "bic", "aic", "bdeu" or "ll", default="k2"
        The score to maximise.
    max_parents : int or None, default=3
        The largest number of parents, not counting those that are given.
    ess : float, default=1.0
        Equivalent sample size of ``"bdeu"``.
    required
        They must agree with the order.
    tiers
        The order must agree with them.

    Notes
    -----
    O(n² max_parents) families. Missing cells are imputed by the most common value.

    References
    ----------
    Cooper and Herskovits, A Bayesian method for the induction of probabilistic networks from data (1992).

    Examples
    --------
    >>> from tanager import K2, learn_network
    >>> rows = [[a, b, a & b] for a in (0, 1) for b in (0, 1)] * 5
    >>> learn_network(rows, learner=K2()).network.arcs
    [('x0', 'x2'), ('x1', 'x2')]
    """

    order: str | Sequence[str] = "given"
    score: str = "k2"
    max_parents: int | None = 3
    ess: float = 1.0

    def __post_init__(self) -> None:
        check_score(self.score, self.ess, self.max_parents)

    def _learn(self, task: Task) -> LearnedNetwork:
        task.rules.check_limit(self.max_parents)
        order = node_order(self.order, task.sample, task.nodes, task.root, task.rules)
        families = Families(task, self.score, self.ess)
        parents = task.rules.required_parents()
        for at, child in enumerate(order):
            task.tick("looking for parents", at, len(order))
            self._grow(task, families, child, parents[child], sorted(order[:at]))
        return task.learned(parents)

    def _grow(self, task: Task, families: Families, child: int, parents: set[int], earlier: list[int]) -> None:
        """Add the parent that gains most, as long as there is a gain."""
        (now,) = families.scores(child, [parents])
        while self.max_parents is None or len(parents) < self.max_parents:
            free = [u for u in earlier if u not in parents and task.rules.allowed(u, child)]
            if not free:
                return
            gains = families.scores(child, [parents | {u} for u in free]) - now
            rounding = ROUNDING * max(abs(now), 1)
            if gains.max() <= rounding:
                return
            best = int(np.argmax(gains >= gains.max() - rounding))  # the first of equals
            parents.add(free[best])
            now += gains[best]
            task.note("search", "add", (free[best], child), float(gains[best]), note=f"gains {gains[best]:.4f}")
