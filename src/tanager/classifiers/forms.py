"""The two ways to combine families of counts, and a view that answers with them.

A classifier says which families and which of the two ways; it neither counts nor loops over rows.

    product of sums   P(y, x) = P(y | pa_y) prod_i sum_{pa in PA_i} w P(x_i | y, pa)
    sum of products   P(y, x) = sum_s w P(y, x_s) prod_{j not in s} P(x_j | y, x_s)  over s seen often enough
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.counts.estimates import BackOff, Estimate
from tanager.counts.joint import JointCounts

ParentSet = tuple[int, ...]
LeftOut = tuple[np.ndarray, np.ndarray | None]  # labels and weights of rows that are to be answered without themselves
Queue = tuple[np.ndarray, np.ndarray, np.ndarray]  # codes, labels and raw weights of rows that will leave the counts
COMPILED_LIMIT = 2**24  # cells of compiled tables (128 MB) beyond which rows are answered straight from the counts


@dataclass(frozen=True)
class ProductOfSums:
    """Every column has one or more parent sets (beside the class); their estimates are summed, the sums multiplied.

    Columns that are no child are not read. With ``class_parents``, P(y | these columns) takes the place of P(y).
    ``only`` says for every term which classes it speaks for (() for all): a multi-net has one term for each column
    and class. ``free`` are the families of a network that do not know the class; they matter only where a missing value
    is summed out.
    """

    child: tuple[int, ...]
    parents: tuple[ParentSet, ...]
    weight: tuple[float, ...]
    class_parents: ParentSet = ()
    only: tuple[tuple[int, ...], ...] = ()
    free: tuple[tuple[int, ParentSet], ...] = ()

    @classmethod
    def one_each(cls, parents: Iterable[ParentSet]) -> ProductOfSums:
        """A single network: one parent set per column."""
        parents = tuple(tuple(p) for p in parents)
        return cls(tuple(range(len(parents))), parents, (1.0,) * len(parents))

    @property
    def n_networks(self) -> int:
        """How many networks vote for a class: the product of the number of parent sets with a weight."""
        only = self.only or ((),) * len(self.child)
        voting = [t for t, weight in enumerate(self.weight) if weight > 0]
        classes = {c for classes in only for c in classes} or {0}
        return max(
            math.prod(Counter(self.child[t] for t in voting if not only[t] or c in only[t]).values()) for c in classes
        )

    def families(self) -> list[tuple[int, ...]]:
        """Families beyond pairs, with all their prefixes, as parents and child."""
        wide = {
            (*parents[:size], child)
            for child, parents in (*zip(self.child, self.parents, strict=True), *self.free)
            for size in range(2, len(parents) + 1)
        }
        wide |= {self.class_parents[:size] for size in range(3, len(self.class_parents) + 1)}
        return sorted(wide, key=lambda family: (len(family), family))

    def build(self, plan: _kernels.Plan) -> None:
        """Tell the kernels."""
        plan.product(self.child, self.parents, self.weight, self.class_parents, self.only, self.free)


@dataclass(frozen=True)
class SumOfProducts:
    """Members with super-parents on which all other columns depend; their joint probabilities are averaged.

    A member speaks for a row when its super-parents are present and were seen at least ``min_count`` times together.
    Where none speaks, ``otherwise`` answers.
    """

    members: tuple[ParentSet, ...]
    weight: tuple[float, ...]
    min_count: float
    otherwise: ProductOfSums | SumOfProducts | None = None

    def families(self) -> list[tuple[int, ...]]:
        """Members with two super-parents read triples; these are counted with order 3."""
        return []

    def build(self, plan: _kernels.Plan) -> None:
        """Tell the kernels."""
        plan.sum(self.members, self.weight, self.min_count)


Form = ProductOfSums | SumOfProducts


class View:
    """A form bound to counts: scores rows straight from the counts, or from compiled tables for batches.

    The tables are made again only when the counts have changed.
    """

    def __init__(
        self,
        counts: JointCounts,
        form: Form,
        estimate: Estimate,
        *,
        smooth_unseen: bool = False,
        priors: Sequence[float] = (),
        factor: Sequence[float] = (),
        fast: bool = True,
    ) -> None:
        self.counts, self.form, self.estimate = counts, form, estimate
        self.smooth_unseen, self.fast = smooth_unseen, fast
        self.priors, self.factor = list(priors), list(factor)
        self.unit = counts.scale
        self.form_version = counts.version  # of the counts that the form was chosen for
        self._bind()

    def _bind(self) -> None:
        """Make the kernels' side of the view."""
        self.layout: _kernels.Store | None = self.counts.store
        self._plans: list[_kernels.Plan] = []  # the last is our own, those before answer where it cannot
        self._plan = self._plan_of(self.form)
        self.n_cells, self.n_reads = self._plan.n_cells(), self._plan.n_reads()
        self._compiled: _kernels.Compiled | None = None
        self._compiled_version = -1

    def _plan_of(self, form: Form) -> _kernels.Plan:
        assert self.layout is not None
        estimate = self.estimate
        first = estimate.at_first if isinstance(estimate, BackOff) else -1.0
        plan = _kernels.Plan(
            self.layout, estimate.kind, estimate.strength, self.unit, self.smooth_unseen, self.fast, first
        )
        form.build(plan)
        plan.classes(self.priors, self.factor)
        if isinstance(form, SumOfProducts) and form.otherwise is not None:
            plan.otherwise(self._plan_of(form.otherwise))
        self._plans.append(plan)
        return plan

    def __getstate__(self) -> dict[str, Any]:
        """What the view was made of, and whether it still fits; the kernels' side is made again."""
        made = ("layout", "_plan", "_plans", "n_cells", "n_reads", "_compiled", "_compiled_version")
        state = {name: value for name, value in self.__dict__.items() if name not in made}
        return state | {"valid": self.valid}

    def __setstate__(self, state: dict[str, Any]) -> None:
        valid = state.pop("valid")
        self.__dict__.update(state)
        if valid:
            self._bind()
        else:
            self.layout = None

    def with_form(self, form: Form) -> View:
        """Another form over the same counts, all else alike."""
        return View(
            self.counts,
            form,
            self.estimate,
            smooth_unseen=self.smooth_unseen,
            priors=self.priors,
            factor=self.factor,
            fast=self.fast,
        )

    @property
    def valid(self) -> bool:
        """Whether the counts still have the layout that this view was made for."""
        return self.counts.store is self.layout

    @property
    def plan(self) -> _kernels.Plan:
        """The kernels' side; it follows the counts as they fade."""
        if self.unit != self.counts.scale:
            self.unit = self.counts.scale
            self._plan.rescale(self.unit)
        return self._plan

    def weigh_classes(self, factor: Sequence[float]) -> None:
        """Set the factors of the classes; empty for none."""
        if list(factor) != self.factor:
            self.factor = list(factor)
            for plan in self._plans:
                plan.classes(self.priors, self.factor)
            self._compiled_version = -1

    def score(self, codes: np.ndarray, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities, or logs of the joint, one row per row and one column per class."""
        out = np.empty((len(codes), self.counts.n_classes))
        if len(codes) == 1:
            self.plan.score(codes, out, log_joint)
            return out
        current = self._compiled_version == self.counts.version
        if not current and self._worth_compiling(self.n_cells, len(codes)):
            self._compiled, self._compiled_version, current = self.plan.compile(), self.counts.version, True
        if not current or self._compiled is None:
            self.plan.score(codes, out, log_joint, n_jobs=n_jobs)
            return out
        self._compiled.score(codes, out, log_joint, n_jobs)
        self._answer_silent(codes, out, log_joint, n_jobs=n_jobs)
        return out

    def _worth_compiling(self, n_cells: float, n_rows: int) -> bool:
        """Making a cell costs about as much as working it out once for a row."""
        return n_cells < COMPILED_LIMIT and n_rows * self.n_reads >= n_cells

    def _answer_silent(
        self, codes: np.ndarray, out: np.ndarray, log_joint: bool, labels: np.ndarray | None = None, n_jobs: int = 1
    ) -> None:
        """Rows that no compiled member can answer are answered straight from the counts."""
        silent = np.isnan(out[:, 0])
        if silent.any():
            rest = np.empty((int(silent.sum()), self.counts.n_classes))
            own = None if labels is None else labels[silent]
            self.plan.score(codes[silent], rest, log_joint, own, None, self.unit, n_jobs)
            out[silent] = rest

    def leave_one_out(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        log_joint: bool = False,
        n_jobs: int = 1,
    ) -> np.ndarray:
        """Posterior (or log of the joint) of each row as if it had never been counted."""
        out = np.empty((len(codes), self.counts.n_classes))
        if weights is None and self._compiles_left_out(codes, labels):
            self.plan.compile(leave_out=True).score(codes, out, log_joint, n_jobs, labels)
            self._answer_silent(codes, out, log_joint, labels, n_jobs)
            return out
        self.plan.score(codes, out, log_joint, labels, weights, self.unit, n_jobs)
        return out

    def _compiles_left_out(self, codes: np.ndarray, labels: np.ndarray) -> bool:
        """Whether a cell less one row can be worked out beforehand, and is worth it."""
        constant = self.estimate.kind in ("lidstone", "m", "bdeu") and self.estimate.strength > 0 and not self.priors
        known = len(labels) > 1 and int(labels.max()) < self.counts.n_classes
        return constant and known and self._worth_compiling(self.plan.n_cells(leave_out=True), len(codes))

    def term(
        self,
        child: int,
        parents: ParentSet,
        codes: np.ndarray,
        left_out: LeftOut | None = None,
    ) -> np.ndarray:
        """P(child | class, parents) for every row and class, NaN where one of them is missing."""
        out = np.empty((len(codes), self.counts.n_classes))
        labels, weights = left_out or (None, None)
        self.plan.term(self.plan.terms().index((child, list(parents))), codes, out, labels, weights, self.unit)
        return out

    def stream(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        out: np.ndarray,
        *,
        answered: np.ndarray | None = None,
        fade: np.ndarray | None = None,
        queue: Queue | None = None,
        gone: np.ndarray | None = None,
    ) -> int:
        """Answer each row from the rows before it, then learn it. Returns the rows done before something new came.

        With ``answered`` (codes of as many rows) these are answered instead. Between answer and learning, all counts
        fade by ``fade[r]``. After row r the next ``gone[r]`` rows of the queue leave the counts: the queue holds rows
        learned earlier, oldest first, and then the rows given here. Its raw weights are written by this call and are
        right for ``counts.halvings`` as it is afterwards.
        """
        counts = self.counts
        done, scale, halved = self.plan.stream(codes, labels, weights, out, counts.scale, answered, fade, queue, gone)
        counts.scale, self.unit = scale, scale
        counts.halvings += halved
        counts.version += 1
        return done
