"""Scores of families (a variable with its parents) for score-based search."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tanager.counts.sample import SCORES
from tanager.errors import OptionError, check_option, check_whole, is_number
from tanager.structure.learner import Task

ROUNDING = 1e-11  # of a score: sums that are equal in exact arithmetic differ by less


def check_score(score: str, ess: float, max_parents: int | None, known: Sequence[str] = SCORES) -> None:
    """Check the options of a score-based search."""
    check_option("score", score, known)
    if not is_number(ess, 0) or ess == 0:
        raise OptionError(f"ess={ess!r}: give a number above 0.")
    if max_parents is not None:
        check_whole("max_parents", max_parents)


class Families:
    """Scores of a node with its parents, including those that are given in every family.

    Missing cells are imputed by the most common value: scores over different rows cannot be compared.
    """

    def __init__(self, task: Task, score: str, ess: float) -> None:
        self.task = task
        self.kind = score
        self.ess = ess
        self.sample = task.sample.filled()

    def scores(self, child: int, parent_sets: Sequence[Collection[int]]) -> np.ndarray:
        """The scores of one node with several sets of parents, counted together."""
        self.task.n_tests += len(parent_sets)
        nodes, given = self.task.nodes, self.task.given
        families = [(*(nodes[p] for p in sorted(own)), *given) for own in parent_sets]
        return self.sample.scores(self.kind, nodes[child], families, self.ess)

    def climb(self, max_parents: int | None, *, target: int | None = None, all_joined: bool = False) -> list[list[int]]:
        """The parents that a greedy search finds, by the kernels, which write nothing down; see ``Sample.climb``."""
        rules, nodes, given = self.task.rules, self.task.nodes, self.task.given
        parents, n_scored = self.sample.climb(
            self.kind,
            float(self.ess),
            nodes,
            given,
            rules.allowed_arcs,
            rules.required,
            max_parents,
            ROUNDING,
            target=target,
            all_joined=all_joined,
        )
        self.task.n_tests += n_scored
        return parents
