"""RowsOrTables: classifiers that average over all sets of some columns, from tables of all sets or from the rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np

from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.encoding.typing import Label, Time
from tanager.errors import ModelFileError, SchemaMismatch
from tanager.learning.answering import Current
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.memory import Memory
from tanager.learning.rows import KeptRows
from tanager.learning.sets_of_columns import SetsOfColumns
from tanager.scoring.forms import Form, averaged
from tanager.scoring.scorer import Scorer
from tanager.scoring.sum_over_rows import SumOverRows
from tanager.scoring.view import View


class RowsOrTables(CountsClassifier):
    """A classifier whose sets of columns are counted in tables beforehand, or in the kept rows as answers are asked.

    Which of the two is decided when the columns are known, and again where more rows have come: tables are then made
    from the rows, and these are kept no longer. Answers are the same. Where rows answer, the counts are those of pairs,
    and their view is AODE, which answers where no two values of a row were seen together.
    """

    _by_rows = cast("bool | None", None)  # whether rows answer; None as long as nothing was learned

    # --- what a subclass says -----------------------------------------------------------------------------------

    min_count: float
    lazy: bool | None

    def _rows_would_do(self) -> bool:
        """Whether the options allow for answers from rows."""
        raise NotImplementedError

    def _sets(self, schema: Schema) -> SetsOfColumns:
        """The sets of columns that are counted together."""
        raise NotImplementedError

    def _all_sets(self, n_features: int) -> Form:
        """The form that reads tables of all sets."""
        raise NotImplementedError

    # --- the choice ---------------------------------------------------------------------------------------------

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """All sets, or pairs where rows answer."""
        sets = self._sets(schema)
        by_rows = self._chooses_rows(sets) if self._by_rows is None else self._by_rows
        if self._by_rows is None or not by_rows:
            self._check_sets(sets, by_rows)
        return {"order": 2} if by_rows else self._table_shape(schema)

    def _table_shape(self, schema: Schema) -> dict[str, Any]:
        return self._sets(schema).shape()

    def _chooses_rows(self, sets: SetsOfColumns, n_rows: int = 0) -> bool:
        """Whether to keep so many rows in place of tables."""
        if self.lazy is not None or not self._rows_would_do():
            return bool(self.lazy) and self._rows_would_do()
        return sets.prefers_rows(n_rows) or (sets.answers_quickly(n_rows) and not sets.tables_fit(self.max_memory))

    def _check_sets(self, sets: SetsOfColumns, by_rows: bool) -> None:
        """Refuse what takes too much memory. Where rows come to be too many, they stay if tables are too large."""
        if by_rows:
            sets.check_answer(self.max_memory)
        else:
            sets.check_tables(self.max_memory)

    def start(self, classes: np.ndarray | None = None, target: str | None = None) -> Self:
        """Forget everything; see ``Classifier.start``."""
        self._by_rows = None
        return super().start(classes, target)

    def _start_model(self) -> None:
        sets = self._sets(self.encoder_.schema)
        self._by_rows = self._chooses_rows(sets)
        self._check_sets(sets, self._by_rows)
        super()._start_model()

    def _counts_given(self, counts: JointCounts) -> None:
        """Rows answer where the counts do not hold the sets, and rows will do."""
        wide = self._sets(counts.schema).widest > 3
        held = bool(counts.families) if wide else counts.order == 3
        if held or not (wide or self.lazy):  # pairs are all that there is to count of two columns
            held = counts.holds(**self._table_shape(counts.schema))
        self._by_rows = self.lazy is not False and self._rows_would_do() and not held

    # --- rows that are kept -------------------------------------------------------------------------------------

    @property
    def looks_at_rows(self) -> bool:
        """Whether rows may be looked at again; which columns there are decides."""
        return self._keeps_rows() or (self.lazy is not False and self._rows_would_do())

    def _needs_rows(self) -> bool:
        return bool(self._by_rows)

    def _adaptive(self) -> bool:
        return False

    def _rows_come(self, block: Block) -> None:
        super()._rows_come(block)
        self._follow_rows(len(block))

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float = 1.0, time: Time | None = None) -> Self:
        """Learn one row; see ``CountsClassifier.learn_one``."""
        super().learn_one(row, y, sample_weight, time)
        self._follow_rows()
        return self

    def _answers(self, *, fresh: bool) -> Current:
        self._follow_rows()
        return super()._answers(fresh=fresh)

    def _follow_rows(self, n_new: int = 0) -> None:
        """Make tables where rows have become too many to answer quickly; they stay where tables are too large."""
        if not self._by_rows or self._memory is None or self._memory.rows is None:
            return
        sets = self._sets(self._memory.counts.schema)
        if self._chooses_rows(sets, len(self._memory.rows) + n_new):
            return
        if not sets.tables_fit(self.max_memory):
            return
        self._by_rows = False
        self._memory = self._in_tables(self._memory)
        self._answering.forget()

    def _in_tables(self, memory: Memory) -> Memory:
        """What a memory with rows holds, in tables of all sets."""
        old, rows = memory.counts, memory.rows
        assert rows is not None
        shape = self._table_shape(old.schema)
        counts = JointCounts(old.schema, old.classes, max_memory=self.max_memory, spare=old.spare, **shape)
        counts.take_scale(old)
        if len(rows):
            block = rows.block
            counts.update(block.codes, block.labels, block.weights, n_jobs=self.n_threads)
        counts.version = old.version + 1
        new = copy.copy(memory)
        new.counts, new.rows = counts, rows if self.calibrate or memory.window is not None else None
        return new

    def _merge(self, other: Self) -> None:
        if self._by_rows and not other._by_rows:
            self._by_rows, self._memory = False, self._in_tables(self._learned)
        elif other._by_rows and not self._by_rows:
            other = copy.copy(other)
            other._memory = self._in_tables(other._learned)
        super()._merge(other)

    def _columns_added(self, n_new: int, wider: dict[str, Any]) -> None:
        super()._columns_added(n_new, self.counts_shape(self.encoder_.schema))

    # --- answers and files --------------------------------------------------------------------------------------

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if not self._by_rows:
            return self._all_sets(counts.n_features)
        if rows is None:
            counts.require(type(self).__name__, **self._table_shape(counts.schema))
            raise SchemaMismatch(
                "lazy=True looks at the rows for every answer, and counts alone do not hold them. Use fit."
            )
        return averaged(counts.n_features, 1, self.min_count)

    def _scorer(self, view: View) -> Scorer:
        if not self._by_rows:
            return super()._scorer(view)
        rows = self._learned.rows
        assert rows is not None
        return SumOverRows(view, rows, self._sets(view.counts.schema).widest - 1, self.min_count)

    def _take_model_state(self, state: dict[str, Any]) -> None:
        super()._take_model_state(state)
        rows, counts = self._learned.rows, self.counts_
        if self._by_rows and rows is not None:
            found = np.zeros(counts.n_classes)
            if len(rows):
                found += np.bincount(rows.part("labels"), rows.raw / rows.scale, counts.n_classes)
            if not np.allclose(found, counts.class_counts, rtol=1e-6, atol=1e-6):
                raise ModelFileError("it holds neither tables of all sets of columns nor the rows behind its counts")
