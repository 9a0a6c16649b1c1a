"""Wrapper search over products: learned rows, each answered as if it had not been learned, factor by factor.

Naive Bayes, a tree or joined columns are products of factors, so their logs add up. What a change of the structure does
to all left-out answers is then a difference of two factors, worked out once for rows with the same values; kernels go
through the rows for every change that a search considers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Protocol, Self, TypeVar

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block
from tanager.counts.estimates import BDeu, Lidstone, MEstimate
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, SchemaMismatch, check_option, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.decision import class_priors, posterior, preference
from tanager.scoring.forms import Form, ProductOfSums
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

    def qualities(
        self, changes: Sequence[Sequence[P_contra]], *, ties: bool = False, above: float | None = None
    ) -> list[Quality]:
        """How good the answers would be after each of these changes.

        With ``above`` only the best one is asked for, and that only if its criterion is above this number: of the
        others it is said that they are worse, or not above it.
        """
        ...

    def make(self, change: Sequence[P_contra]) -> None:
        """Make a change."""
        ...

    def start_again(self) -> None:
        """Back to how it began."""
        ...


Factor = _kernels.Factor  # what multiplies the joint of every learned row, left out, as logs; rows alike share a line
Change = Sequence[Factor]  # factors that a step of a search multiplies by
Sets = list[range]  # of changes, whose factors stand one behind the other


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
        self._once = block.once
        self._columns = np.asfortranarray(block.codes)  # factors are made column by column
        self._total = max(rows.weight, TINY)
        self._preference = preference(model.counts_.class_counts).tolist()
        self._empty = self._view(EMPTY)
        self._prior = self._log_joint(self._empty, self._once)
        self._start = self.joint = self._joint_of(start)

    def _joint_of(self, start: ProductOfSums) -> np.ndarray:
        """Logs of the joint of a product. Columns that depend on the class alone are added up, a table for each."""
        alone = ProductOfSums.one_each([()] * len(start.child))
        if not self._is_plain() or replace(start, child=alone.child) != alone or not start.child:
            return self._log_joint(self._view(start), self._once)
        joint = self._prior.copy()
        for factor in self.factors([ProductOfSums((c,), ((),), (1.0,)) for c in start.child]):
            factor.add_to(joint)
        return joint

    def _is_plain(self) -> bool:
        """Whether rows were learned once each, and pseudo-counts are constant and positive: no log is beyond bounds."""
        estimate = self._model.estimate
        return (
            self._once.weights is None and isinstance(estimate, Lidstone | MEstimate | BDeu) and estimate.strength > 0
        )

    def start_again(self) -> None:
        """Back to the product that it began with."""
        self.joint = self._start

    def times_seen(self, i: int) -> np.ndarray:
        """How often the value of each row in a column was learned, less the row itself; -1 where it is missing."""
        counts = self._model.counts_
        n_values = int(counts.schema.n_values[i])
        cells = np.minimum(self._once.codes[:, i], n_values).astype(np.intp)
        seen = np.append(counts.joint(i).sum(axis=0), 0.0)[cells]
        own = 1.0 if self._once.weights is None else self._once.weights
        return np.where(cells < n_values, seen - own, -1.0)

    def not_left_out(self, form: ProductOfSums) -> np.ndarray:
        """Logs of the joint of all rows as they were learned."""
        joint = self._view(form).score(self._once.query, log_joint=True, n_jobs=self._model.n_threads)
        return np.maximum(joint, np.log(TINY))

    def log_joint(self, form: Form) -> np.ndarray:
        """Logs of the joint by another form."""
        return self._log_joint(self._view(form), self._once)

    def arc_factors(self, arcs: Sequence[tuple[int, int]], alone: Sequence[Factor]) -> list[Factor]:
        """What an arc does, P(x_c | y, x_s) in place of P(x_c | y), for pairs (s, c); the latter are in ``alone``."""
        if not arcs:
            return []
        view, rows = self._empty, self._once
        cells = self._columns, rows.labels, rows.weights
        return _kernels.arc_factors(view.plan, arcs, alone, *cells, self._prior, float(np.log(TINY)), view.unit)

    def factors(
        self, forms: Sequence[ProductOfSums], over: Sequence[Change] = (), counts: JointCounts | None = None
    ) -> list[Factor]:
        """What each form makes of some columns, over P(y), and over factors that look at some of the same columns.

        ``counts`` are given where those of the model lack a family.
        """
        if not forms:
            return []
        view, rows = self._empty if counts is None else self._view(EMPTY, counts), self._once
        products = [(form.child, form.parents, form.weight, form.only, form.joined) for form in forms]
        divisors = over or [()] * len(forms)
        cells = self._columns, rows.labels, rows.weights
        return _kernels.factors(view.plan, products, divisors, *cells, self._prior, float(np.log(TINY)), view.unit)

    def block_factors(self, blocks: Sequence[tuple[int, ...]], over: Sequence[Change] = ()) -> list[Factor]:
        """The same for columns that are one column together, counted from the rows: see ``counts_blocks``."""
        if not blocks:
            return []
        rows, divisors = self._once, over or [()] * len(blocks)
        cells = self._columns, rows.labels
        return _kernels.block_factors(self._empty.plan, blocks, divisors, *cells, self._prior, float(np.log(TINY)))

    def counts_blocks(self) -> np.ndarray | None:
        """Which columns can be in ``block_factors``: those without gaps. None where no column can.

        Rows must have been learned once each, and pseudo-counts be constant and positive.
        """
        rows = self._once
        if not self._is_plain():
            return None
        return np.asarray((rows.codes < self._model.counts_.schema.n_values).all(axis=0))

    @property
    def searches_by_kernel(self) -> bool:
        """Whether ``search_tree`` and ``search_blocks`` know the criterion."""
        return self._criterion != "auc"

    def search_tree(
        self, promising: Sequence[tuple[int, Sequence[int]]], *, by_super_parent: bool, min_gain: float
    ) -> list[int]:
        """The parent of every column, or -1: see ``_kernels.search_tree``."""
        view, rows = self._empty, self._once
        cells = self._columns, rows.labels, rows.weights, self._prior, float(np.log(TINY)), view.unit
        return _kernels.search_tree(
            view.plan, promising, by_super_parent, *cells, self.joint, self.weights, *self._search_options(min_gain)
        )

    def search_blocks(
        self,
        *,
        backward: bool,
        n_cells: Sequence[float],
        most_columns: int,
        most_cells: float,
        cached_bytes: int,
        min_gain: float,
    ) -> list[tuple[list[list[int]], float]]:
        """Steps that add, leave out or join columns: see ``_kernels.search_blocks``."""
        cells = self._columns, self._once.labels, self._prior, float(np.log(TINY)), self.joint
        options = self._search_options(min_gain)
        return _kernels.search_blocks(
            self._empty.plan, backward, n_cells, most_columns, most_cells, cached_bytes, *cells, *options
        )

    def _search_options(self, min_gain: float) -> tuple[list[int], float, bool, float, int]:
        return self._preference, self._total, self._criterion == "log_loss", min_gain, self._model.n_threads

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

    # --- looking, and changing ----------------------------------------------------------------------------------

    def quality(self) -> Quality:
        """How good the answers are as things stand."""
        return self.qualities([()])[0]

    def qualities(self, changes: Sequence[Change], *, ties: bool = False, above: float | None = None) -> list[Quality]:
        """How good the answers would be after each of these changes.

        By accuracy, the probability of the true class is worked out for the best of them, or with ``ties`` for all.
        With ``above`` the accuracy of the others is anything below that of the best, and no probability is worked out
        where even that is not above this number.
        """
        if self._criterion == "auc":
            return [self._ranking(change) for change in changes]
        factors, sets = list(chain.from_iterable(changes)), None
        sizes = list(map(len, changes))
        if sizes.count(1) < len(sizes):
            sets = [range(end - size, end) for end, size in zip(accumulate(sizes), sizes, strict=True)]
        if self._criterion == "log_loss":
            sums = self._sums(factors, sets, probabilities=True)
            return [(round(log, 12), 0.0) for log in (sums[:, 2] / self._total).tolist()]
        right, own = self._right(factors, sets, ties=ties, above=above)
        return list(zip(right.tolist(), own.tolist(), strict=True))

    def best(self, factors: list[Factor], above: float = -math.inf) -> tuple[int, Quality]:
        """``best_change`` where a change is one factor; a search may try thousands of them in every step."""
        if self._criterion != "accuracy":
            return best_change(self, [(factor,) for factor in factors], above)
        right, own = self._right(factors, None, ties=False, above=above)
        ahead = np.flatnonzero(right == right.max())
        place = int(ahead[np.argmax(own[ahead])])
        return place, (float(right[place]), float(own[place]))

    def _right(
        self, factors: list[Factor], sets: Sets | None, *, ties: bool, above: float | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The accuracy after each change, and the probabilities of the true class that decide among equals."""
        right = 1.0 - self._sums(factors, sets, probabilities=False, only_best=above is not None)[:, 0] / self._total
        own, most = np.zeros(len(right)), right.max(initial=0.0)
        if above is None or most > above:
            best = np.flatnonzero(ties | (right == most)).tolist()  # accuracy alone needs no exponentials
            chosen = ([factors[q] for q in best], None) if sets is None else (factors, [sets[q] for q in best])
            own[best] = [round(p, 12) for p in (self._sums(*chosen, probabilities=True)[:, 1] / self._total).tolist()]
        return right, own

    def _sums(
        self, factors: list[Factor], sets: Sets | None, *, probabilities: bool, only_best: bool = False
    ) -> np.ndarray:
        """What the kernels say of changes: each of the factors, or those at the places in each of the sets."""
        out = np.zeros((len(factors if sets is None else sets), 3))
        _kernels.score_changes(
            self.joint,
            self.labels,
            self.weights,
            self._preference,
            factors,
            sets,
            out,
            probabilities,
            self._model.n_threads,
            self._criterion == "log_loss",
            only_best,
        )
        return out

    def _ranking(self, change: Change) -> Quality:
        proba = posterior(self._changed(change))
        weights = np.ones(len(proba)) if self.weights is None else self.weights
        ranked = mean_pair_area(self.labels, proba, weights)
        return (0.0 if np.isnan(ranked) else round(ranked, 12)), 0.0

    def _changed(self, change: Change) -> np.ndarray:
        joint = self.joint.copy()
        for factor in change:
            factor.add_to(joint)
        return joint

    def make(self, change: Change) -> None:
        """Make a change."""
        self.joint = self._changed(change)


def best_change(
    left_out: LeftOutAnswers[P], changes: Sequence[Sequence[P]], above: float = -math.inf
) -> tuple[int, Quality]:
    """The place of the best change, the first of equals, and how good the answers would be.

    Which is best is not looked into where none has a criterion above a number.
    """
    qualities = left_out.qualities(changes, above=above)
    best = max(qualities)
    return qualities.index(best), best
