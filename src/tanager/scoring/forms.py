"""The two ways to combine families of counts, and a view that answers with them.

A classifier says which families and which of the two ways; it neither counts nor loops over rows.

    product of sums   P(y, x) = P(y | pa_y) prod_i sum_{pa in PA_i} w P(x_i | y, pa)
    sum of products   P(y, x) = sum_s w P(y, x_s) prod_{j not in s} P(x_j | y, x_s)  over s seen often enough

The members of a sum can also be taken in turn: naive Bayes first, then one after the other, with an answer after each.
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
COMPILE_SECONDS = 2e-8  # that a cell takes to compile, about
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

    def build(self, plan: _kernels.ScoringPlan) -> None:
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

    def build(self, plan: _kernels.ScoringPlan) -> None:
        """Tell the kernels."""
        plan.sum(self.members, self.weight, self.min_count)


@dataclass(frozen=True)
class InTurn(SumOfProducts):
    """The members of a sum one after the other, in the order given, with naive Bayes before them all.

    There is an answer after every step. ``mix`` says how it comes about: the mean of "joint" probabilities or of
    "posterior" ones, naive Bayes included; or "replace": naive Bayes until the first member is in, then the mean of the
    members. At most ``limit`` members are heard (-1: all), and no more once the same class was ahead of all others by
    more than ``margin`` in log-odds twice in a row. Members that do not speak for a row cost no step.
    """

    mix: str = "joint"
    limit: int = -1
    margin: float = math.inf


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
        self._plans: list[_kernels.ScoringPlan] = []  # the last is our own, those before answer where it cannot
        self._plan = self._plan_of(self.form)
        self.n_cells, self.n_reads = self._plan.n_cells(), self._plan.n_reads()
        self._compiled: _kernels.Compiled | None = None
        self._compiled_naive: _kernels.Compiled | None = None  # of a form in turn: what it begins with
        self._compiled_version = -1

    def _plan_of(self, form: Form) -> _kernels.ScoringPlan:
        assert self.layout is not None
        estimate = self.estimate
        first = estimate.at_first if isinstance(estimate, BackOff) else -1.0
        plan = _kernels.ScoringPlan(
            self.layout, estimate.kind, estimate.strength, self.unit, self.smooth_unseen, self.fast, first
        )
        form.build(plan)
        plan.classes(self.priors, self.factor)
        if isinstance(form, SumOfProducts) and form.otherwise is not None:
            plan.otherwise(self._plan_of(form.otherwise))
        if isinstance(form, InTurn):
            self._naive = self._plan_of(ProductOfSums.one_each([()] * self.counts.n_features))
            plan.staged(self._naive, form.mix, form.limit, form.margin)
        self._plans.append(plan)
        return plan

    def __getstate__(self) -> dict[str, Any]:
        """What the view was made of, and whether it still fits; the kernels' side is made again."""
        kernels = ("layout", "_plan", "_plans", "_naive", "_compiled", "_compiled_naive")
        made = (*kernels, "n_cells", "n_reads", "_compiled_version")
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
    def plan(self) -> _kernels.ScoringPlan:
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
        tables = self._tables(len(codes))
        if tables is None:
            self.plan.score(codes, out, log_joint, n_jobs=n_jobs)
        elif isinstance(self.form, InTurn):
            run = self.run(codes)
            run.advance(n_jobs=n_jobs)
            run.answer(out, log_joint)
        else:
            tables.score(codes, out, log_joint, n_jobs)
            self._answer_silent(codes, out, log_joint, n_jobs=n_jobs)
        return out

    def _tables(self, n_rows: int, may_compile: bool = True) -> _kernels.Compiled | None:
        """Compiled tables, where they are current or worth making for so many rows."""
        if self._compiled_version == self.counts.version:
            return self._compiled
        if not may_compile or not self._worth_compiling(self.n_cells, n_rows):
            return None
        self._compiled, self._compiled_version = self.plan.compile(), self.counts.version
        if isinstance(self.form, InTurn):
            self._compiled_naive = self._naive.compile()
        return self._compiled

    @property
    def compile_seconds(self) -> float:
        """How long it would take to compile tables, about; 0 where they are current, infinite where they never are."""
        if self._compiled_version == self.counts.version:
            return 0.0
        return self.n_cells * COMPILE_SECONDS if self.n_cells < COMPILED_LIMIT else math.inf

    def run(
        self, codes: np.ndarray, *, limit: int | None = None, margin: float | None = None, may_compile: bool = True
    ) -> _kernels.Run:
        """Rows that are to hear the members of a form in turn, step by step or under a clock.

        ``limit`` and ``margin`` are those of the form unless given. A single row, and with ``may_compile=False`` any
        number of rows, waits for no tables.
        """
        tables = self._tables(len(codes), may_compile) if len(codes) > 1 else None
        both = None if tables is None or self._compiled_naive is None else (tables, self._compiled_naive)
        return self.plan.run(codes, both, limit, margin)

    def judge(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        judged: np.ndarray,
        *,
        leave_out: bool = True,
        begin: int = 0,
        seconds: float | None = None,
        n_jobs: int = 1,
    ) -> int:
        """Judge every member of a form in turn, alone and together with those before it, by the rows from ``begin`` on.

        To ``judged``, of shape (6, members + 1), are added: the weight of the rows that went wrong, of the probability
        of their true class, and of all rows; for naive Bayes and each member alone, then for the first 0, 1, ...
        members of a row. With ``leave_out`` each row is answered as if it had never been counted. Returns the row to
        go on with: with ``seconds`` not all rows may be done, but at least one is.
        """
        nanoseconds = -1 if seconds is None else int(min(max(seconds, 0.0), 1e9) * 1e9)
        return self.plan.validate_members(
            codes, labels, weights, judged, leave_out, self.unit, begin, nanoseconds, n_jobs
        )

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
        if weights is None and not isinstance(self.form, InTurn) and self._compiles_left_out(codes, labels):
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
        judged: np.ndarray | None = None,
        keep: float = 1.0,
    ) -> int:
        """Answer each row from the rows before it, then learn it. Returns the rows done before something new came.

        With ``answered`` (codes of as many rows) these are answered instead. Between answer and learning, all counts
        fade by ``fade[r]``. After row r the next ``gone[r]`` rows of the queue leave the counts: the queue holds rows
        learned earlier, oldest first, and then the rows given here. Its raw weights are written by this call and are
        right for ``counts.halvings`` as it is afterwards. The members of a form in turn are judged by each row with a
        label before it is learned, as ``judge`` does, and what was ``judged`` before fades by ``keep``.
        """
        counts = self.counts
        done, scale, halved = self.plan.stream(
            codes, labels, weights, out, counts.scale, answered, fade, queue, gone, judged, keep
        )
        counts.scale, self.unit = scale, scale
        counts.halvings += halved
        counts.version += 1
        return done
