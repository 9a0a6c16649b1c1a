"""Values of two columns that are read as one, in naive Bayes: Kononenko's semi-naive answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.scoring.decision import posterior
from tanager.scoring.explain import PartList
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.scorer import AnswersRows
from tanager.scoring.view import View

Columns = tuple[int, int]
MOST_VIEWS = 1000  # pairs of columns whose views are kept for single rows
CELLS_AT_ONCE = 1_000_000  # of pairs of values, over all classes


class JoinedPair(NamedTuple):
    """Value v of column i and value w of column j, by code."""

    i: int
    v: int
    j: int
    w: int


class JoinedValues(AnswersRows):
    """Naive answers in which P(x_i, x_j | y) takes the place of P(x_i | y) P(x_j | y) where a row has both values.

    The pairs belong to who made this scorer, and may change.
    """

    compiled = None

    def __init__(self, view: View, pairs: Sequence[JoinedPair]) -> None:
        self.view, self.pairs = view, pairs
        self._views: dict[Columns, tuple[View, View]] = {}  # that read two columns together and apart
        self._grouped: tuple[list[JoinedPair], dict[Columns, set[tuple[int, int]]]] = [], {}

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints."""
        if self.view.estimate.strength <= 0:
            out = np.empty((len(query), self.view.counts.n_classes))
            for rows, view in self._by_pairs(query.codes):
                out[rows] = view.score(query.part(rows), log_joint=log_joint)
            return out
        joint = self.view.score(query, log_joint=True, n_jobs=n_jobs)
        for rows, together, apart in self._changed(query.codes):
            asked = query.part(rows)
            joint[rows] += together.score(asked, log_joint=True) - apart.score(asked, log_joint=True)
        return joint if log_joint else _answers(joint)

    def answer_row(self, codes: RowOfCodes) -> list[float]:
        """``score`` of one row: a stream asks for one after the other."""
        if self.view.learned or self.view.estimate.strength <= 0:
            answer: list[float] = self.score(Query(row_array(codes)[None, :]))[0].tolist()
            return answer
        cells = codes if isinstance(codes, bytes) else codes.tolist()
        found = [
            self._both(columns)
            for columns, values in self._by_columns().items()
            if (cells[columns[0]], cells[columns[1]]) in values
        ]
        plan = self.view.plan
        return plan.one_changed(codes, [view.plan for view, _ in found], [view.plan for _, view in found])

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each left out; which values are joined stays."""
        if self.view.estimate.strength <= 0:
            out = np.empty((len(block), self.view.counts.n_classes))
            for rows, view in self._by_pairs(block.codes):
                out[rows] = view.leave_one_out(block.part(rows))
            return out
        joint = self.view.leave_one_out(block, log_joint=True, n_jobs=n_jobs)
        for rows, together, apart in self._changed(block.codes):
            asked = block.part(rows)
            joint[rows] += together.leave_one_out(asked, log_joint=True) - apart.leave_one_out(asked, log_joint=True)
        return _answers(joint)

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """As naive Bayes, and what it adds that two values are read as one."""
        if self.view.estimate.strength <= 0:
            ((_, view),) = self._by_pairs(query.codes)
            return view.explain(query, answer, against)
        prior, parts = self.view.explain(query, answer, against)
        for _, together, apart in self._changed(query.codes):
            assert isinstance(together.form, ProductOfSums)
            gain = (together.score(query, log_joint=True) - apart.score(query, log_joint=True))[0]
            i, j = together.form.joined[0]
            parts.append((j, (i,), float(gain[answer] - gain[against])))
        return prior, parts

    def _by_pairs(self, codes: np.ndarray) -> list[tuple[np.ndarray, View]]:
        """Rows with the same joined values, and the view that answers them: no quotient of zeros without smoothing."""
        n, pairs = codes.shape[1], self.pairs
        if not pairs:
            return [(np.arange(len(codes)), self.view)]
        has = np.array([(codes[:, p.i] == p.v) & (codes[:, p.j] == p.w) for p in pairs]).reshape(len(pairs), len(codes))
        found, which = np.unique(has, axis=1, return_inverse=True)
        out = []
        for q, flags in enumerate(found.T):
            blocks = [(pair.i, pair.j) for pair, own in zip(pairs, flags, strict=True) if own]
            out.append((np.flatnonzero(which.ravel() == q), self._with_blocks(blocks, n)))
        return out

    def _with_blocks(self, blocks: Iterable[Columns], n: int) -> View:
        """Naive Bayes in which some of the n columns are joined two by two."""
        alone = {*range(n)}.difference(*blocks)
        return self.view.with_form(_of(*sorted([*blocks, *((i,) for i in alone)])))

    def _both(self, columns: Columns) -> tuple[View, View]:
        """Views that read two columns together and apart; kept, as they follow the counts."""
        found = self._views.get(columns)
        if found is None:
            if len(self._views) >= MOST_VIEWS:
                self._views = {}
            i, j = columns
            found = self._views[columns] = self.view.with_form(_of((i, j))), self.view.with_form(_of((i,), (j,)))
        return found

    def _changed(self, codes: np.ndarray) -> list[tuple[np.ndarray, View, View]]:
        """Rows with joined values, by pairs of columns: where they are, and views that read them together and apart."""
        found = []
        for (i, j), values in self._by_columns().items():
            rows = np.flatnonzero(np.any([(codes[:, i] == v) & (codes[:, j] == w) for v, w in values], axis=0))
            if len(rows):
                found.append((rows, *self._both((i, j))))
        return found

    def _by_columns(self) -> dict[Columns, set[tuple[int, int]]]:
        """The joined values of every two columns."""
        if self._grouped[0] != self.pairs:
            groups: dict[Columns, set[tuple[int, int]]] = {}
            for i, v, j, w in self.pairs:
                groups.setdefault((i, j), set()).add((v, w))
            self._grouped = list(self.pairs), groups
        return self._grouped[1]


def _of(*blocks: tuple[int, ...]) -> ProductOfSums:
    return ProductOfSums.of_blocks(blocks)


def _answers(joint: np.ndarray) -> np.ndarray:
    return posterior(np.maximum(joint, -1e300))


def joined_pairs(counts: JointCounts, reliability: float) -> list[JoinedPair]:
    """Pairs of values that are read as one, the most reliable first; a value is joined once.

    The difference between P(y | v, w) and what naive Bayes makes of v and w, P(y | v) P(y | w) / P(y), is at least the
    error of an estimate from N(v, w) rows with a probability of 1 - 1 / (4 difference² N(v, w)) (Chebyshev).
    """
    prior = counts.class_counts / max(counts.class_counts.sum(), 1e-300)
    of_class = prior[:, None, None]
    seen = np.where(of_class > 0, of_class, 1.0)  # where a class is not, its shares are 0
    column, code, slot = _all_values(counts)
    alone = _shares(np.moveaxis(counts.singles[slot] / counts.scale, -1, 0))
    found = [np.zeros((3, 0))]  # how sure, and the places of both values
    step = max(1, CELLS_AT_ONCE // max(1, len(column) * counts.n_classes))
    for start in range(0, len(column), step):  # some values, with all values of later columns
        own = np.arange(start, min(start + step, len(column)))
        later = np.flatnonzero(column > column[start])
        cells = np.moveaxis(counts.pairs[np.ix_(slot[own], slot[later])] / counts.scale, -1, 0)
        total = cells.sum(axis=0)
        n = np.where(column[own, None] < column[later], total, 0.0)
        together, apart = cells / np.where(total > 0, total, 1.0), alone[:, own, None] * alone[:, None, later] / seen
        difference = (of_class * np.abs(together - apart)).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sure = np.where(n > 0, 1.0 - 1.0 / (4.0 * difference**2 * n), -np.inf)
        v, w = np.nonzero(sure >= reliability)
        found.append(np.stack([sure[v, w].round(12), own[v], later[w]]))
    sure, first, second = np.concatenate(found, axis=1)
    order = np.lexsort((second, first, -sure))  # places go up by column, then by code
    used: set[int] = set()
    chosen = []
    for a, b in zip(first[order].astype(int).tolist(), second[order].astype(int).tolist(), strict=True):
        if a not in used and b not in used:
            chosen.append(JoinedPair(int(column[a]), int(code[a]), int(column[b]), int(code[b])))
            used |= {a, b}
    return chosen


def _all_values(counts: JointCounts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every value of every column: the column, its code, and its slot in the tables of counts."""
    n_values = counts.schema.n_values
    column = np.repeat(np.arange(counts.n_features), n_values)
    code = np.arange(len(column)) - (np.cumsum(n_values) - n_values)[column]
    return column, code, counts.offsets[column] + code


def _shares(cells: np.ndarray) -> np.ndarray:
    """P(y | values), the class first; 0 where nothing was seen."""
    total = cells.sum(axis=0)
    shares: np.ndarray = cells / np.where(total > 0, total, 1.0)
    return shares
