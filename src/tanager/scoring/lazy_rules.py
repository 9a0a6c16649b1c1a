"""Lazy Bayesian rules: naive Bayes over the learned rows that share some values with the row to answer.

The kernel finds the values (``src/kernels/lazy_rules.hpp``). Rows with the same rule are answered together, by a view
of the counts of the rows that pass it, in which the tested columns count as missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.counts.estimates import BackOff, Estimate
from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.errors import DataError
from tanager.scoring.explain import PartList
from tanager.scoring.scorer import AnswersRows
from tanager.scoring.view import View

_NOTHING = 1e-9  # less weight than this is rounding
_FEW = 1 / 8  # of the rows: as many more are appended, while more of them begin anew
_VIEWS = 100  # of rules that answered single rows, at most,
_VIEWS_BYTES = 16e6  # and what their counts may take


class Rows(Protocol):
    """Who keeps the learned rows."""

    @property
    def block(self) -> Block:
        """All rows that count, with what they weigh now."""
        ...

    @property
    def changes(self) -> int:
        """How often rows have left, or faded, or have got other codes."""
        ...

    def __len__(self) -> int: ...

    def since(self, first: int) -> Block:
        """``block`` of the rows from one on."""
        ...


@dataclass(frozen=True)
class RuleSearch:
    """How rules are searched for; see ``LBR``."""

    significance: float
    min_errors: float
    max_tests: int | None


@dataclass(frozen=True)
class FoundRule:
    """The columns that are tested for a row, the weight of the learned rows that pass, and naive Bayes over these."""

    columns: tuple[int, ...]
    n_rows: float
    view: View


class LazyRules(AnswersRows):
    """Answers by lazy Bayesian rules. ``view`` is naive Bayes over all rows, which answers where there is no rule."""

    compiled = None  # rules are found for each row

    def __init__(self, view: View, rows: Rows, search: RuleSearch, max_memory: Any) -> None:
        self.view, self.rows, self.search, self.max_memory = view, rows, search, max_memory
        self._rules: _RulesOfRows | None = None
        self._made_for: tuple[int, float] | None = None
        self._kept: tuple[Any, ...] | None = None  # what is the same as long as rows are but appended

    def __getstate__(self) -> dict[str, Any]:
        """Without the kernel and its cache, which are made again."""
        return self.__dict__ | {"_rules": None, "_made_for": None, "_kept": None}

    def _current(self) -> _RulesOfRows:
        """The search over the rows as they are now. It follows rows that come; where others leave, it begins anew."""
        counts = self.view.counts
        now = (counts.version, counts.scale)
        if self._rules is None or self._made_for != now:
            kept = (self.rows, self.rows.changes, counts.scale, counts.schema, counts.n_classes)
            if self._rules is None or self._kept != kept or not self._rules.append():
                self._rules = _RulesOfRows(self.rows, self.view, self.search, self._cache_bytes())
            self._made_for, self._kept = now, kept
        return self._rules

    def _cache_bytes(self) -> float:
        """What max_memory leaves beside the counts and the kernel's copies of the rows."""
        rows = len(self.rows.block) * (self.view.counts.n_features * 8 + 32)
        return max(as_bytes(self.max_memory) - self.view.counts.nbytes - rows, 0.0)

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities, or logs of the joint, each row by naive Bayes over the rows that pass its rule."""
        if len(query) == 1 and not log_joint:
            return np.array([self._current().answer_row(query.codes[0], n_jobs)])
        rules = self._current()
        out = np.empty((len(query), self.view.counts.n_classes))
        for tested, which in rules.groups(query.codes, n_jobs):
            part = query.codes[which]
            if tested.any():
                out[which] = rules.view_of(part[0], tested).score(_masked(part, tested), log_joint=log_joint)
            else:
                out[which] = self.view.score(Query(part), log_joint=log_joint, n_jobs=n_jobs)
        return out

    def answer_row(self, codes: RowOfCodes) -> list[float]:
        """``score`` of one row, by the shortest way."""
        return self._current().answer_row(row_array(codes))

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities; the rule, too, is found without the row. So nothing of the cache serves another."""
        out = np.empty((len(block), self.view.counts.n_classes))
        rows = self.rows.block
        for r in range(len(block)):
            rest = _without(rows, block.part(slice(r, r + 1)), r)
            counts = _counted(self.view.counts, rest)
            alone = LazyRules(self.view.over(counts, self.view.factors), _Kept(rest), self.search, self.max_memory)
            out[r] = alone.score(Query(block.codes[r : r + 1]), n_jobs=n_jobs)[0]
        return out

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Log-odds of the classes among the rows that pass the rule, and those of the columns that are not tested."""
        rule = self.rule(query)
        tested = np.isin(np.arange(query.codes.shape[1]), rule.columns)
        return rule.view.explain(_masked(query.codes, tested), answer, against)

    def rule(self, query: Query) -> FoundRule:
        """The rule for one row."""
        ((_, rule),) = self.rules(query)
        return rule

    def rules(self, query: Query, n_jobs: int = 1) -> list[tuple[np.ndarray, FoundRule]]:
        """The rules for some rows, each with the rows that it answers."""
        rules, found = self._current(), []
        for tested, which in rules.groups(query.codes, n_jobs):
            view = rules.view_of(query.codes[which[0]], tested) if tested.any() else self.view
            found.append((which, FoundRule(tuple(np.flatnonzero(tested).tolist()), view.counts.n_rows, view)))
        return found

    @property
    def n_cached(self) -> int:
        """How many sets of tests the cache holds."""
        return self._current().kernel.n_cached

    @property
    def n_evaluated(self) -> int:
        """How many sets of tests were worked out since the rows last changed."""
        return self._current().kernel.n_evaluated


@dataclass(frozen=True)
class _Kept:
    block: Block
    changes: int = 0

    def __len__(self) -> int:
        return len(self.block)

    def since(self, first: int) -> Block:
        return self.block.part(slice(first, None))


class _RulesOfRows:
    """The search over some rows, and naive Bayes over those that pass a rule."""

    def __init__(self, rows: Rows, view: View, search: RuleSearch, max_bytes: float) -> None:
        estimate, counts, block = view.estimate, view.counts, rows.block
        self.view, self.whole, self.given, self.n_given = view, counts, rows, len(block)
        self.kernel = _kernels.LazyRules(
            block.codes,
            block.labels,
            block.weights,
            counts.schema.n_values.tolist(),
            counts.n_classes,
            estimate.kind,
            estimate.strength,
            _at_first(estimate),
            search.significance,
            search.min_errors,
            search.max_tests,
            max_bytes,
        )
        self._rows: Block | None = None
        self._views: dict[bytes, tuple[View, int]] = {}  # that have answered single rows, and how many rows they know
        self._lock = Lock()  # tables of one row may be answered side by side

    def append(self) -> bool:
        """Let in rows that have come since; False where they are too many for that, or the search cannot follow."""
        n = len(self.given)
        if n - self.n_given > _FEW * self.n_given:
            return False
        new = self.given.since(self.n_given)
        if not self.kernel.append(new.codes, new.labels, new.weights):
            return False
        self.n_given, self._rows = n, None
        return True

    @property
    def rows(self) -> Block:
        """The rows, those that are alike once."""
        if self._rows is None:
            block, first = self.given.block, self.kernel.first
            self._rows = Block(block.codes[first], block.labels[first], self.kernel.weights)
        return self._rows

    def answer_row(self, codes: np.ndarray, n_jobs: int = 1) -> list[float]:
        """The probabilities of one row."""
        tested = np.zeros((1, len(codes)), dtype=np.uint8)
        self.kernel.find(codes[None, :], tested, n_jobs)
        if not tested.any():
            return self.view.plan.one(codes)
        mask, masked = tested[0].view(bool), codes.copy()
        masked[mask] = np.iinfo(codes.dtype).max
        if self.view.priors or self.view.factors:  # which change with the counts of all rows
            return self.view_of(codes, mask).plan.one(masked)
        with self._lock:
            return self._row_view(codes, mask).plan.one(masked)

    def _row_view(self, row: np.ndarray, tested: np.ndarray) -> View:
        """``view_of``; one that was made before counts the rows that have come since."""
        values = np.where(tested, row, np.int64(-1))
        key = values.tobytes()
        view, n_known = self._views.pop(key, (None, 0))
        if view is None:
            view = self.view_of(row, tested)
            most = min(_VIEWS, 1 + int(_VIEWS_BYTES / max(1, view.counts.nbytes)))
            while len(self._views) >= most:
                del self._views[next(iter(self._views))]  # the one used longest ago
        elif n_known < self.n_given:
            which = self.kernel.passing_since(values.tolist(), n_known)
            if len(which):
                new = self.given.since(n_known).part(which - n_known)
                view.counts.learn_rows(new.codes, new.labels, new.weights)
        self._views[key] = view, self.n_given
        return view

    def groups(self, codes: np.ndarray, n_jobs: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
        """Which columns are tested, and the rows that this is so for, with the same values in these columns."""
        tested = np.zeros(codes.shape, dtype=np.uint8)
        self.kernel.find(codes, tested, n_jobs)
        values = np.where(tested, codes, np.iinfo(codes.dtype).max)
        keys: dict[bytes, list[int]] = {}
        for r, key in enumerate(map(bytes, np.ascontiguousarray(values))):
            keys.setdefault(key, []).append(r)
        return [(tested[own[0]].astype(bool), np.array(own)) for own in keys.values()]

    def view_of(self, row: np.ndarray, tested: np.ndarray) -> View:
        """Naive Bayes over the rows that share the tested values of this row."""
        passing = self.kernel.passing(np.where(tested, row.astype(np.int64), -1).tolist())
        return self.view.over(_counted(self.whole, self.rows.part(passing)), self._factors())

    def _factors(self) -> list[float]:
        """Factors of the classes. Given priors correct the answer by how they differ from the learned ones.

        They cannot take the place of the shares among the rows that pass, which are other shares.
        """
        view = self.view
        factors = np.array(view.factors or [1.0] * self.whole.n_classes)
        if view.priors:
            nothing = np.full((1, self.whole.n_features), np.iinfo(np.uint8).max, dtype=np.uint8)
            learned = View(self.whole, view.form, view.estimate).score(Query(nothing))[0]
            factors = factors * np.divide(view.priors, learned, out=np.zeros(len(learned)), where=learned > 0)
        elif not view.factors:
            return []
        return [float(factor) for factor in factors]


def _at_first(estimate: Estimate) -> float:
    return estimate.at_first if isinstance(estimate, BackOff) else -1.0


def _masked(codes: np.ndarray, tested: np.ndarray) -> Query:
    """The rows without the values of the tested columns."""
    return Query(np.where(tested, np.iinfo(codes.dtype).max, codes).astype(codes.dtype))


def _counted(like: JointCounts, rows: Block) -> JointCounts:
    """Counts of these rows, each column with the class."""
    counts = JointCounts(like.schema, like.classes, order=1, spare=like.spare)
    counts.update(rows.codes, rows.labels, rows.weights)
    return counts


def _without(rows: Block, row: Block, number: int) -> Block:
    """The rows less one that was learned; where several are alike, the one of nearest weight goes first."""
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights.copy()
    rest = 1.0 if row.weights is None else float(row.weights[0])
    alike = (rows.codes == row.codes).all(axis=1) & (rows.labels == row.labels[0])
    nearest = np.argsort(np.abs(weights[alike] - rest), kind="stable")
    for at in np.flatnonzero(alike)[nearest].tolist():
        taken = min(rest, float(weights[at]))
        weights[at] -= taken
        rest -= taken
    if rest > _NOTHING:
        raise DataError(f"row {number} was never learned with this class and weight, and cannot be left out.")
    return rows.weighing(weights).part(weights > _NOTHING)
