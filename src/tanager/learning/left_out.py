"""Wrapper search over products: learned rows, each answered as if it had not been learned, factor by factor.

Naive Bayes, a tree or joined columns are products of factors, so their logs add up. What a change of the structure does
to all left-out answers is then a difference of two factors, worked out once for rows with the same values; kernels go
through the rows for every change that a search considers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, SchemaMismatch, check_option, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.decision import class_priors, posterior, preference
from tanager.scoring.forms import Form, ProductOfSums, form_columns
from tanager.scoring.ranking import mean_pair_area
from tanager.scoring.view import View

CRITERIA = ("accuracy", "log_loss", "auc")
EMPTY = ProductOfSums((), (), ())
TINY = 1e-300  # stands for a probability of zero in logarithms

Quality = tuple[float, float]  # the criterion, larger is better; and the mean probability of the true class, for ties


def check_search(criterion: str, min_gain: float) -> None:
    """Refuse options of a search that mean nothing."""
    check_option("criterion", criterion, CRITERIA)
    if not is_number(min_gain, 0):
        raise OptionError(f"min_gain={min_gain!r}: give a gain of at least 0.")


class Part(Protocol):
    """What a search adds or takes away: a factor of a product, or a column in one of its roles."""

    def __neg__(self) -> Self:
        """What undoes it."""
        ...


P = TypeVar("P", bound=Part)
P_contra = TypeVar("P_contra", bound=Part, contravariant=True)


class LeftOutAnswers(Protocol[P_contra]):
    """The answers to all learned rows, each left out, and how good they would be after a change."""

    def quality(self) -> Quality:
        """How good the answers are as things stand."""
        ...

    def qualities(self, changes: Sequence[Sequence[P_contra]], *, ties: bool = False) -> list[Quality]:
        """How good the answers would be after each of these changes."""
        ...

    def make(self, change: Sequence[P_contra]) -> None:
        """Make a change."""
        ...

    def start_again(self) -> None:
        """Back to how it began."""
        ...


@dataclass(frozen=True, eq=False)
class Factor:
    """What multiplies the joint probability of every learned row, left out, as logs. Rows alike share a line."""

    lines: np.ndarray
    table: np.ndarray

    @property
    def of_rows(self) -> np.ndarray:
        """One number per row and class."""
        return self.table[self.lines]

    def __neg__(self) -> Factor:
        """What undoes it."""
        return Factor(self.lines, -self.table)


Change = Sequence[Factor]  # factors that a step of a search multiplies by


class LeftOut:
    """The learned rows, each answered by a product of factors as if it had not been learned.

    It begins with the classes alone, or with another product. A row of weight two is two rows, one of them left out.
    """

    def __init__(
        self, model: CountsClassifier, rows: KeptRows | None, criterion: str = "accuracy", start: ProductOfSums = EMPTY
    ) -> None:
        if rows is None:
            name = type(model).__name__
            raise SchemaMismatch(f"{name} looks at the rows again, and counts alone do not hold them. Use fit.")
        self._model, self._criterion = model, criterion
        block = rows.block
        self.labels, self.weights = block.labels, block.weights
        self._once = block.weighing(None if block.weights is None else np.minimum(block.weights, 1.0))
        self._known: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}  # rows that are alike, by columns
        self._columns: dict[int, np.ndarray] = {}
        self._total = max(rows.weight, TINY)
        self._preference = preference(model.counts_.class_counts).tolist()
        self._prior = self._log_joint(self._view(EMPTY), self._once)
        self._start = self.joint = self._log_joint(self._view(start), self._once)

    def start_again(self) -> None:
        """Back to the product that it began with."""
        self.joint = self._start

    def times_seen(self, i: int) -> np.ndarray:
        """How often the value of each row in a column was learned, less the row itself; -1 where it is missing."""
        counts, cells = self._model.counts_, self._cells(i)
        seen = np.append(counts.joint(i).sum(axis=0), 0.0)[cells]
        own = 1.0 if self._once.weights is None else self._once.weights
        return np.where(cells < int(counts.schema.n_values[i]), seen - own, -1.0)

    def not_left_out(self, form: ProductOfSums) -> np.ndarray:
        """Logs of the joint of all rows as they were learned."""
        joint = self._view(form).score(self._once.query, log_joint=True, n_jobs=self._model.n_threads)
        return np.maximum(joint, np.log(TINY))

    def factor(self, form: Form, over: Sequence[Factor] = (), counts: JointCounts | None = None) -> Factor:
        """What a form makes of some columns, over P(y), and over factors that look at some of the same columns.

        ``counts`` are given where those of the model lack a family.
        """
        rows = self._once
        view = self._view(form, counts)
        if rows.weights is None:
            columns = tuple(sorted(form_columns(form)))
            if columns not in self._known:
                self._known[columns] = self._distinct(columns)
            lines, which = self._known[columns]
        else:  # what is left of a cell depends on the weight of the row
            lines = which = np.arange(len(rows), dtype=np.int32)
        table = self._log_joint(view, rows.part(which)) - self._prior[which]
        for factor in over:
            table -= factor.table[factor.lines[which]]
        return Factor(lines, table)

    def _view(self, form: Form, counts: JointCounts | None = None) -> View:
        """Without class weights: they multiply the odds of whatever is chosen."""
        model = self._model
        return View(
            model.counts_ if counts is None else counts,
            form,
            model.estimate,
            smooth_unseen=model.unseen == "smooth",
            priors=class_priors(model.priors, model.classes_),
        )

    def _log_joint(self, view: View, rows: Block) -> np.ndarray:
        joint = view.leave_one_out(rows, log_joint=True, n_jobs=self._model.n_threads)
        return np.maximum(joint, np.log(TINY))

    def _distinct(self, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Rows that differ in the class or one of these columns: which of them each row is, and where they are."""
        place, size, m = self._cells(-1), len(self._preference), len(self.labels)
        for i in columns:
            n_values = int(self._model.counts_.schema.n_values[i]) + 1  # missing and unseen come last
            if size * n_values >= 2**31:
                place = place.astype(np.int64)
            place, size = place * n_values + self._cells(i), size * n_values
            if size > 8 * m + 1000:
                place = np.unique(place, return_inverse=True)[1].astype(np.int32)
                size = int(place.max(initial=-1)) + 1
        first = np.full(size, -1, dtype=np.int32)
        first[place[::-1]] = np.arange(m - 1, -1, -1, dtype=np.int32)
        lines = np.cumsum(first >= 0, dtype=np.int32) - 1
        return lines[place], first[first >= 0]

    def _cells(self, i: int) -> np.ndarray:
        """The codes of a column, or (-1) the labels, one after the other."""
        if i not in self._columns:
            if i < 0:
                self._columns[i] = self.labels.astype(np.int32)
            else:
                n_values = int(self._model.counts_.schema.n_values[i])
                self._columns[i] = np.minimum(self._once.codes[:, i], n_values).astype(np.int32)
        return self._columns[i]

    # --- looking, and changing ----------------------------------------------------------------------------------

    def quality(self) -> Quality:
        """How good the answers are as things stand."""
        return self.qualities([()])[0]

    def qualities(self, changes: Sequence[Change], *, ties: bool = False) -> list[Quality]:
        """How good the answers would be after each of these changes.

        By accuracy, the probability of the true class is worked out for the best of them, or with ``ties`` for all.
        """
        if self._criterion == "auc":
            return [self._ranking(change) for change in changes]
        if self._criterion == "log_loss":
            sums = self._sums(changes, probabilities=True)
            return [(round(log, 12), 0.0) for log in (sums[:, 2] / self._total).tolist()]
        right = 1.0 - self._sums(changes, probabilities=False)[:, 0] / self._total
        best = np.flatnonzero(ties | (right == right.max(initial=0.0)))  # accuracy alone needs no exponentials
        own = np.zeros(len(changes))
        own[best] = self._sums([changes[q] for q in best.tolist()], probabilities=True)[:, 1] / self._total
        return [(r, round(p, 12)) for r, p in zip(right.tolist(), own.tolist(), strict=True)]

    def _sums(self, changes: Sequence[Change], *, probabilities: bool) -> np.ndarray:
        out = np.zeros((len(changes), 3))
        factors = {id(factor): factor for change in changes for factor in change}
        places = {key: place for place, key in enumerate(factors)}
        _kernels.score_changes(
            self.joint,
            self.labels,
            self.weights,
            self._preference,
            [(factor.lines, factor.table) for factor in factors.values()],
            [[places[id(factor)] for factor in change] for change in changes],
            out,
            probabilities,
            self._model.n_threads,
        )
        return out

    def _ranking(self, change: Change) -> Quality:
        proba = posterior(self._changed(change))
        weights = np.ones(len(proba)) if self.weights is None else self.weights
        ranked = mean_pair_area(self.labels, proba, weights)
        return (0.0 if np.isnan(ranked) else round(ranked, 12)), 0.0

    def _changed(self, change: Change) -> np.ndarray:
        return sum((factor.of_rows for factor in change), self.joint)

    def make(self, change: Change) -> None:
        """Make a change."""
        self.joint = self._changed(change)


def best_change(left_out: LeftOutAnswers[P], changes: Sequence[Sequence[P]]) -> tuple[int, Quality]:
    """The place of the best change, the first of equals, and how good the answers would be."""
    qualities = left_out.qualities(changes)
    best = max(range(len(changes)), key=lambda q: (qualities[q], -q))
    return best, qualities[best]
