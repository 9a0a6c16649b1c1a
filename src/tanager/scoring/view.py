"""View: a form bound to counts, which answers rows. The innermost scorer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.counts.estimates import BackOff, Estimate, LearnedBackOff
from tanager.counts.forgetting import Steps
from tanager.counts.joint import JointCounts
from tanager.scoring.explain import PartList, explain_row
from tanager.scoring.explain_rows import Explained, explain_view
from tanager.scoring.forms import Form, ParentSet, ProductOfSums, StagedSum, SumOfProducts

Queue = tuple[np.ndarray, np.ndarray, np.ndarray]  # codes, labels and raw weights of rows that will leave the counts
COMPILE_SECONDS = 2e-8  # that a cell takes to compile, about
COMPILED_LIMIT = 2**24  # cells of compiled tables (128 MB) beyond which rows are answered straight from the counts
PAIRS_SHORTER = 10  # so many cells of members with one super-parent are worked out while one is compiled, about
PAIRS_LIMIT = 2**18  # cells up to which that holds: beyond, the counts leave the cache from row to row
SUMS_ONCE = 32  # so many of these, or of sums over parents, while one is compiled in tables that are asked only once


class View:
    """A form bound to counts: scores rows straight from the counts, or from compiled tables for batches.

    The tables are made again only when the counts have changed. ``factors`` weigh the classes, and ``priors`` take the
    place of the estimated ones; both are in the order of the classes, and empty where nothing is given.
    """

    def __init__(
        self,
        counts: JointCounts,
        form: Form,
        estimate: Estimate,
        *,
        smooth_unseen: bool = False,
        priors: Sequence[float] = (),
        factors: Sequence[float] = (),
        fast: bool = True,
        strengths: list[list[float]] | None = None,
    ) -> None:
        self.counts, self.form, self.estimate = counts, form, estimate
        self.smooth_unseen, self.fast = smooth_unseen, fast
        self.priors, self.factors = list(priors), list(factors)
        self.unit = counts.scale
        self.form_version = counts.version  # of the counts that the form was chosen for
        self._bind(strengths)

    def _bind(self, strengths: list[list[float]] | None) -> None:
        """Make the kernels' side of the view; strengths that are not given are learned when they are first needed."""
        self.layout: _kernels.Store | None = self.counts.store
        self._plans: list[_kernels.ScoringPlan] = []  # the last is our own, those before answer where it cannot
        self._plan = self._plan_of(self.form)
        self._tables: _kernels.Compiled | None = None
        self._naive_tables: _kernels.Compiled | None = None  # of a staged sum: what it begins with
        self._tables_version = -1
        self._half = False  # only one half of the counts of pairs is up to date, see ``stream_on``
        self.has_strengths = not self.learned
        if strengths is not None:
            self.take_strengths(strengths)

    @cached_property
    def n_cells(self) -> float:
        """Cells that compiled tables have."""
        return self._plan.n_cells()

    @cached_property
    def n_reads(self) -> float:
        """Cells of these that a row reads."""
        return self._plan.n_reads()

    @property
    def learned(self) -> bool:
        """Whether the estimate has strengths that are learned from the counts."""
        return isinstance(self.estimate, LearnedBackOff)

    def renew(self) -> None:
        """Learn strengths again, from the counts as they will be when the next row is answered."""
        if self.learned:
            self.has_strengths, self._tables_version = False, -1

    def given_strengths(self) -> list[list[float]] | None:
        """The strengths of all plans, or None where they were not learned yet; see ``take_strengths``."""
        return [plan.strengths() for plan in self._plans] if self.learned and self.has_strengths else None

    def take_strengths(self, strengths: list[list[float]]) -> None:
        """Answer with strengths that a view of the same form has learned."""
        for plan, own in zip(self._plans, strengths, strict=True):
            plan.set_strengths(own)
        self.has_strengths, self._tables_version = True, -1

    @property
    def strengths(self) -> dict[tuple[int, ParentSet], tuple[float, ...]]:
        """The learned strengths of every family: with none, one, two, ... of its parents."""
        numbers = iter(self.plan.strengths())
        return {
            (child, tuple(parents)): tuple(next(numbers) for _ in range(len(parents) + 1))
            for child, parents in self.plan.terms()
        }

    def _plan_of(self, form: Form) -> _kernels.ScoringPlan:
        assert self.layout is not None
        estimate = self.estimate
        first = estimate.at_first if isinstance(estimate, BackOff) else -1.0
        prior = estimate.prior if isinstance(estimate, LearnedBackOff) else 0.0
        plan = _kernels.ScoringPlan(
            self.layout, estimate.kind, estimate.strength, self.unit, self.smooth_unseen, self.fast, first, prior
        )
        form.build(plan)
        plan.classes(self.priors, self.factors)
        if isinstance(form, SumOfProducts) and form.otherwise is not None:
            plan.otherwise(self._plan_of(form.otherwise))
        if isinstance(form, StagedSum):
            self._naive = self._plan_of(ProductOfSums.one_each([()] * self.counts.n_features))
            plan.staged(self._naive, form.mix, form.limit, form.margin)
        self._plans.append(plan)
        return plan

    def __getstate__(self) -> dict[str, Any]:
        """What the view was made of, and whether it still fits; the kernels' side is made again."""
        kernels = ("layout", "_plan", "_plans", "_naive", "_tables", "_naive_tables", "_term_places")
        made = (*kernels, "n_cells", "n_reads", "_tables_version", "has_strengths")
        state = {name: value for name, value in self.__dict__.items() if name not in made}
        return state | {"valid": self.valid, "strengths": self.given_strengths() if self.valid else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        valid, strengths = state.pop("valid"), state.pop("strengths", None)
        self.__dict__.update(state)
        if valid:
            self._bind(strengths)
        else:
            self.layout = None

    def with_form(self, form: Form) -> View:
        """Another form over the same counts, all else alike."""
        return self._copy(form, fast=self.fast)

    def in_terms(self) -> View:
        """The same form with every P(x_i | y, parents) as a term of its own (``term``); slower."""
        return self._copy(self.form, fast=False)

    def over(self, counts: JointCounts, factors: Sequence[float] | None = None) -> View:
        """The same form over other counts, all else alike; or with these factors of the classes and no given priors."""
        if factors is None:
            return self._copy(self.form, fast=self.fast, counts=counts)
        smooth = self.smooth_unseen
        return View(counts, self.form, self.estimate, smooth_unseen=smooth, factors=factors, fast=self.fast)

    def _copy(self, form: Form, *, fast: bool, counts: JointCounts | None = None) -> View:
        return View(
            self.counts if counts is None else counts,
            form,
            self.estimate,
            smooth_unseen=self.smooth_unseen,
            priors=self.priors,
            factors=self.factors,
            fast=fast,
            strengths=self.given_strengths() if form is self.form and counts is None else None,
        )

    @property
    def valid(self) -> bool:
        """Whether the counts still have the layout that this view was made for."""
        return self.counts.store is self.layout

    @property
    def plan(self) -> _kernels.ScoringPlan:
        """The kernels' side; it follows the counts as they fade, and has strengths where these are learned."""
        if self.unit != self.counts.scale:
            self.unit = self.counts.scale
            self._plan.rescale(self.unit)
        if not self.has_strengths:
            self.learn_strengths()
        return self._plan

    def learn_strengths(self) -> None:
        """Learn strengths from the counts as they are, where that is due."""
        if not self.has_strengths:
            for plan in self._plans:
                _kernels.learn_strengths(plan)
            self.has_strengths = True

    def weigh_classes(self, factors: Sequence[float]) -> None:
        """Set the factors of the classes; empty for none."""
        if list(factors) != self.factors:
            self.factors = list(factors)
            for plan in self._plans:
                plan.classes(self.priors, self.factors)
            self._tables_version = -1

    @property
    def compiled(self) -> View | None:
        """The view whose kernels give the same answers row after row: this one."""
        return self

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1, may_compile: bool = True) -> np.ndarray:
        """Posterior probabilities, or logs of the joint, one row per row and one column per class.

        ``may_compile=False`` is for counts that change before they are asked again.
        """
        codes = query.codes
        out = np.empty((len(codes), self.counts.n_classes))
        if len(codes) == 1:
            self.plan.score(codes, out, log_joint)
            return out
        tables = None if self.plan.beats_tables(len(codes)) else self._current_tables(len(codes), may_compile)
        if tables is None:
            self.plan.score(codes, out, log_joint, n_jobs=n_jobs)
        elif isinstance(self.form, StagedSum):
            run = self.run(codes)
            run.advance(n_jobs=n_jobs)
            run.answer(out, log_joint)
        else:
            tables.score(codes, out, log_joint, n_jobs)
            self._answer_unanswered(codes, out, log_joint, n_jobs=n_jobs)
        return out

    def score_once(self, query: Query, *, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities by a view that is not asked again: few rows are not worth tables of large sums."""
        return self.score(query, n_jobs=n_jobs, may_compile=self._worth_once(self.n_cells, len(query.codes)))

    def _current_tables(self, n_rows: int, may_compile: bool = True) -> _kernels.Compiled | None:
        """Compiled tables, where they are current or worth making for so many rows."""
        if self._tables_version == self.counts.version:
            return self._tables
        if not may_compile or not self._worth_compiling(self.n_cells, n_rows):
            return None
        self._tables, self._tables_version = self.plan.compile(), self.counts.version
        if isinstance(self.form, StagedSum):
            self._naive_tables = self._naive.compile()
        return self._tables

    @property
    def compile_seconds(self) -> float:
        """How long it would take to compile tables, about; 0 where they are current, infinite where they never are."""
        if self._tables_version == self.counts.version:
            return 0.0
        return self.n_cells * COMPILE_SECONDS if self.n_cells < COMPILED_LIMIT else math.inf

    def run(
        self, codes: np.ndarray, *, limit: int | None = None, margin: float | None = None, may_compile: bool = True
    ) -> _kernels.Run:
        """Rows on their way through the members of a staged sum, stage by stage or under a clock.

        ``limit`` and ``margin`` are those of the form unless given. A single row, and with ``may_compile=False`` any
        number of rows, waits for no tables.
        """
        tables = self._current_tables(len(codes), may_compile) if len(codes) > 1 else None
        both = None if tables is None or self._naive_tables is None else (tables, self._naive_tables)
        return _kernels.Run(self.plan, codes, both, limit, margin)

    def validate(
        self,
        block: Block,
        scores: np.ndarray,
        *,
        leave_out: bool = True,
        begin: int = 0,
        seconds: float | None = None,
        n_jobs: int = 1,
        judged: str = "both",
        joints: _kernels.KeptJoints | None = None,
    ) -> int:
        """Validate each member of a staged sum, alone and together with those before it, by the rows from ``begin`` on.

        To ``scores``, of shape (6, members + 1), are added: the weight of the rows that went wrong, of the probability
        of their true class, and of all rows; for naive Bayes and each member alone, then for the first 0, 1, ...
        members of a row. With ``leave_out`` each row is answered as if it had never been counted; of a row that weighs
        more than 1, which stands for several, one is left out. Returns the row to go on with: with ``seconds`` not all
        rows may be done, but at least one is. ``judged="alone"`` or "together" may leave the other three lines as they
        are, which is quicker; and ``joints`` hands what members alone have found on to the same rows by members
        together, in whatever order.
        """
        nanoseconds = -1 if seconds is None else int(min(max(seconds, 0.0), 1e9) * 1e9)
        rows = block.codes, block.labels, block.weights
        return _kernels.validate_members(
            self.plan, *rows, scores, leave_out, self.unit, begin, nanoseconds, n_jobs, judged, joints
        )

    def _worth_compiling(self, n_cells: float, n_rows: int) -> bool:
        """Making a cell costs about as much as working it out once for a row, or more where there is a short cut."""
        shorter = PAIRS_SHORTER if self._adds_pairs(n_cells) else 1
        return n_cells < COMPILED_LIMIT and n_rows * self.n_reads >= shorter * n_cells

    def _adds_pairs(self, n_cells: float) -> bool:
        """Whether the form is a sum of members with one super-parent, with a short cut."""
        form = self.form  # whose members all have as many super-parents
        pairs = type(form) is SumOfProducts and len(form.members) > 0 and len(form.members[0]) == 1
        return pairs and not self.learned and n_cells <= PAIRS_LIMIT

    def _worth_once(self, n_cells: float, n_rows: int) -> bool:
        """Whether tables are worth it that are not asked again: those of large sums take many rows."""
        form = self.form
        sums = isinstance(form, ProductOfSums) and len(form.child) > 4 * self.counts.n_features
        large = (sums and not self.learned) or self._adds_pairs(n_cells)
        return not large or n_rows * self.n_reads >= SUMS_ONCE * n_cells

    def _answer_unanswered(
        self, codes: np.ndarray, out: np.ndarray, log_joint: bool, labels: np.ndarray | None = None, n_jobs: int = 1
    ) -> None:
        """Rows that no compiled member can answer are answered straight from the counts."""
        missed = np.isnan(out[:, 0])
        if missed.any():
            rest = np.empty((int(missed.sum()), self.counts.n_classes))
            own = None if labels is None else labels[missed]
            self.plan.score(codes[missed], rest, log_joint, own, None, self.unit, n_jobs)
            out[missed] = rest

    def leave_one_out(self, block: Block, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior (or log of the joint) of each row as if it had never been counted."""
        codes, labels = block.codes, block.labels
        out = np.empty((len(codes), self.counts.n_classes))
        if block.weights is None and not isinstance(self.form, StagedSum) and self._compiles_left_out(codes, labels):
            self.plan.compile(leave_out=True).score(codes, out, log_joint, n_jobs, labels)
            self._answer_unanswered(codes, out, log_joint, labels, n_jobs)
            return out
        self.plan.score(codes, out, log_joint, labels, block.weights, self.unit, n_jobs)
        return out

    def right_in_folds(self, block: Block, dealt: np.ndarray, *, n_jobs: int = 1) -> float:
        """The weight of rows, ``dealt`` (folds, rows), answered correctly by a view of the rows of all other folds.

        The counts must be empty, and are again in the end.
        """
        return _kernels.right_in_folds(self.plan, block.codes, block.labels, np.ascontiguousarray(dealt), n_jobs)

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Log-odds of the prior, and those of every column and parent set, for one row."""
        return explain_row(self.in_terms(), query, answer, against)

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """Log-odds of the prior and of every column, for many rows and pairs of classes."""
        return explain_view(self, query, answer, against)

    def _compiles_left_out(self, codes: np.ndarray, labels: np.ndarray) -> bool:
        """Whether a cell less one row can be worked out beforehand, and is worth it.

        Members with several super-parents are read one by one for all rows: tables of all of them are never worth it.
        """
        constant = self.estimate.kind in ("lidstone", "m", "bdeu") and self.estimate.strength > 0 and not self.priors
        known = len(labels) > 1 and int(labels.max()) < self.counts.n_classes
        if not known or self.plan.beats_tables(len(codes), True):
            return False
        members = self.form.members if type(self.form) is SumOfProducts else ()
        wide = self.estimate.kind != "bdeu" and any(1 < len(member) <= 3 for member in members)
        if not constant or wide:
            return False
        n_cells = self.plan.n_cells(leave_out=True)
        return self._worth_compiling(n_cells, len(codes)) and self._worth_once(n_cells, len(codes))

    def term(self, child: int, parents: ParentSet, rows: Query | Block) -> np.ndarray:
        """P(child | class, parents) for every row and class, NaN where one of them is missing.

        The rows of a block, which were learned, are left out.
        """
        out = np.empty((len(rows), self.counts.n_classes))
        labels, weights = (rows.labels, rows.weights) if isinstance(rows, Block) else (None, None)
        self.plan.term(self._term_places[child, tuple(parents)], rows.codes, out, labels, weights, self.unit)
        return out

    @cached_property
    def _term_places(self) -> dict[tuple[int, ParentSet], int]:
        """Of the terms of the plan, by child and parents; there may be thousands, which are asked about one by one."""
        return {(child, tuple(parents)): place for place, (child, parents) in enumerate(self._plan.terms())}

    def stream(
        self,
        block: Block,
        out: np.ndarray,
        steps: Steps,
        *,
        answered: np.ndarray | None = None,
        queue: Queue | None = None,
        scores: np.ndarray | None = None,
        keep: float = 1.0,
        judged: np.ndarray | None = None,
    ) -> int:
        """Answer each row from the rows before it, then learn it. Returns the rows done before something new came.

        With ``answered`` (codes of as many rows) these are answered instead. Between answer and learning, all counts
        fade by ``steps.fade``. After row r the next ``steps.gone[r]`` rows of the queue leave the counts: the queue
        holds rows learned earlier, oldest first, and then the rows given here. Its raw weights are written by this call
        and are right for ``counts.halvings`` as it is afterwards. The members of a staged sum are validated by each row
        with a label before it is learned, as ``validate`` does, and earlier ``scores`` fade by ``keep``. ``judged``
        (rows, classes) gets what each row that is learned was given before, 0 where it has no label.
        """
        counts = self.counts
        counts.make_sure_of_room(block.codes)
        rows = block.codes, block.labels, block.weights
        done, scale, halved, self._half = _kernels.stream(
            self.plan,
            *rows,
            out,
            counts.scale,
            answered,
            steps.fade,
            queue,
            steps.gone,
            scores,
            keep,
            judged,
            False,
            self._half,
        )
        counts.scale, self.unit = scale, scale
        counts.halvings += halved
        counts.version += 1
        return done

    def stream_on(
        self, block: Block, out: np.ndarray, answered: np.ndarray | None = None, judged: np.ndarray | None = None
    ) -> int:
        """As ``stream`` without steps, for many short blocks: ``settle`` must be called before anybody else reads.

        Until then only half of the counts of pairs is kept up to date, where no more is read here.
        """
        counts = self.counts
        counts.make_sure_of_room(block.codes)
        done, counts.scale, halved, self._half = _kernels.stream(
            self.plan,
            block.codes,
            block.labels,
            block.weights,
            out,
            counts.scale,
            answered,
            judged=judged,
            keeps_half=True,
            stale=self._half,
        )
        self.unit = counts.scale
        counts.halvings += halved
        counts.version += 1
        return done

    @property
    def lags_behind(self) -> bool:
        """Whether only half of the counts of pairs is up to date, after ``stream_on``."""
        return self._half

    def went_on(self, lags_behind: bool) -> None:
        """A kernel has learned rows by our plan, as ``stream_on`` does."""
        self._half = lags_behind
        self.counts.version += 1

    def settle(self) -> None:
        """Bring all counts of pairs up to date, after ``stream_on``."""
        if self._half:
            _kernels.mirror_pairs(self.counts.store)
            self._half = False
