"""Hill climbing: add, remove or reverse the arc that improves the score most, until none does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.sample import SCORES
from tanager.errors import OptionError, check_whole, is_number
from tanager.structure.climb import Climb, open_arcs
from tanager.structure.conditional_climb import ConditionalClimb
from tanager.structure.families import Families, check_score
from tanager.structure.learner import LearnedNetwork, Learner, Task
from tanager.structure.orders import generator_of

CONDITIONAL = "cll"  # the score that is not a sum over families


@dataclass(frozen=True, kw_only=True, repr=False)
class HillClimb(Learner):
    """Greedy search by a score: a network that no change of a single arc improves.

    Choose it for prediction, where the network as a whole matters, and for many rows: all it needs are scores of
    variables with their parents, each counted once. The result is a local optimum; ``tabu`` and ``restarts`` search
    further.

    Parameters
    ----------
    score : "bic", "aic", "bdeu", "k2", "ll" or "cll", default="bic"
        The score to maximise. ``"cll"``, for small tables, is the log-likelihood of the class given all other columns,
        less a penalty: what a classifier is after. It is no sum over families, so every move looks at all rows.
    max_parents : int or None, default=3
        The largest number of parents, not counting those that are given.
    ess : float, default=1.0
        Equivalent sample size of ``"bdeu"``, and of the probabilities behind ``"cll"``.
    penalty : float or None, default=None
        With ``"cll"``: what every free parameter costs. None: half the log of the rows, as in BIC.
    tabu : int, default=0
        The number of last changes that must not be undone, so that the search can leave a local optimum. 0: stop at the
        first optimum.
    patience : int, default=10
        With ``tabu``: stop after this many changes without a new best network.
    restarts : int, default=0
        How often to restart from the best network so far, after as many random changes as there are variables.
    random_state : int, RandomState or None, default=0
        For restarts.

    Notes
    -----
    After a change only the families of the changed variables are scored again: O(n) families. Missing cells are imputed
    by the most common value, as scores over different rows cannot be compared. With ``"cll"`` (Grossman and Domingos,
    2004) all O(n²) moves are scored again over all rows that differ: 1,000 rows of 10 columns take a fraction of a
    second. The class is that of the classifier, or y of ``learn_network``.

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
    penalty: float | None = None
    tabu: int = 0
    patience: int = 10
    restarts: int = 0
    random_state: int | np.random.RandomState | None = 0

    def __post_init__(self) -> None:
        check_score(self.score, self.ess, self.max_parents, (*SCORES, CONDITIONAL))
        if self.penalty is not None and self.score != CONDITIONAL:
            raise OptionError(f'penalty={self.penalty!r} is for score="cll"; {self.score!r} has its own. Leave it out.')
        if self.penalty is not None and not is_number(self.penalty, 0):
            raise OptionError(
                f"penalty={self.penalty!r}: give a number of at least 0, or None for half the log of the rows."
            )
        for name in ("tabu", "patience", "restarts"):
            check_whole(name, getattr(self, name))

    def _learn(self, task: Task) -> LearnedNetwork:
        task.rules.check_limit(self.max_parents)
        if not (task.traced or task.progress or self.tabu or self.restarts or self.score == CONDITIONAL):
            return self._untraced(task)
        climb = self._climb(task)
        best = climb.up(climb.start(task.rules.required_parents()), self.tabu, self.patience)
        generator = generator_of(self.random_state)
        for _ in range(self.restarts):
            found = climb.up(climb.shaken(best, generator), self.tabu, self.patience)
            best = found if found.score > best.score + climb.rounding(best.score) else best
        task.steps += best.steps
        return task.learned(best.parents, open_arcs(best.parents, task.rules))

    def _untraced(self, task: Task) -> LearnedNetwork:
        """The same by the kernels, which know the usual options and write nothing down."""
        parents = Families(task, self.score, self.ess).climb(self.max_parents)
        return task.learned(parents, open_arcs(parents, task.rules))

    def _climb(self, task: Task) -> Climb:
        if self.score == CONDITIONAL:
            return ConditionalClimb(task, self.ess, self.penalty, self.max_parents)
        return Climb(task, Families(task, self.score, self.ess), self.max_parents)
