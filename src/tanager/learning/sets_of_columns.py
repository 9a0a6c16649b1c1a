"""What it takes to count all sets of so many columns together: memory, and time by a forecast."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes, check_budget, readable, sums_of_products

TABLE_BYTES = 1000  # that a table takes beside its cells, about


@dataclass(frozen=True)
class SetsOfColumns:
    """All sets of up to ``widest`` columns; ``slots`` are the values of each column and one for missing.

    Seconds are those of a forecast. Tables take time for each of them, for each cell, which is memory that was never
    touched, and for each row and set. An answer from the rows takes time for each of the widest sets, and for each word
    of 64 rows that it looks at.
    """

    slots: tuple[int, ...]
    widest: int
    n_classes: int

    PER_TABLE: ClassVar[float] = 1.1e-5
    PER_CELL: ClassVar[float] = 2.5e-8
    PER_INCREMENT: ClassVar[float] = 1.5e-9
    PER_SET: ClassVar[float] = 2e-8
    PER_WORD: ClassVar[float] = 2e-10
    QUICK: ClassVar[tuple[float, float]] = (0.1, 5e-5)  # tables are quick that take so long, and so long for each row
    SLOWEST_ANSWER: ClassVar[float] = 0.01

    @property
    def _sizes(self) -> range:
        """Triples have tables of their own; every wider set is a family."""
        return range(4, self.widest + 1)

    @property
    def n_tables(self) -> int:
        """How many families there are."""
        return sum(math.comb(len(self.slots), size) for size in self._sizes)

    @property
    def n_cells(self) -> float:
        """Cells of all families."""
        cells = sums_of_products(self.slots, self.widest)
        return sum(cells[size] for size in self._sizes) * self.n_classes

    def shape(self) -> dict[str, Any]:
        """How wide to count: options of JointCounts."""
        if self.widest <= 3:
            return {"order": 3}
        sets: Iterator[tuple[int, ...]]
        sets = chain.from_iterable(combinations(range(len(self.slots)), size) for size in self._sizes)
        return {"order": 3, "families": tuple(sets)}

    @property
    def _table_bytes(self) -> float:
        n_values = np.array(self.slots) - 1
        triples = JointCounts.estimate_bytes(n_values, self.n_classes, order=3)
        return triples + self.n_cells * 8 + self.n_tables * TABLE_BYTES

    def tables_fit(self, max_memory: Any) -> bool:
        """Whether tables of all sets take no more than this."""
        return self.widest <= 3 or self._table_bytes <= as_bytes(max_memory)

    def check_tables(self, max_memory: Any) -> None:
        """Refuse what is too large before a list of all sets is made: there may be millions."""
        if self.widest <= 3:
            return
        n_values = np.array(self.slots) - 1
        check_budget(
            self._table_bytes,
            max_memory,
            f"counting all sets of {self.widest} of {len(self.slots):,} columns",
            f"Use {self._smaller(n_values, max_memory)}, fewer bins or columns, or raise max_memory.",
        )

    def _smaller(self, n_values: np.ndarray, max_memory: Any) -> str:
        """The largest number of super-parents whose counts fit, or as few as there can be, and what they take."""
        for n in (2, 1, 0):
            needed = JointCounts.estimate_bytes(n_values, self.n_classes, order=n + 1)
            if needed <= as_bytes(max_memory):
                break
        return f"ANDE(n={n}), which needs {readable(needed)}"

    def check_answer(self, max_memory: Any) -> None:
        """Refuse sets of which there are too many for one answer from the rows: it has a product for each."""
        needed = 8.0 * math.comb(len(self.slots), self.widest - 1) * self.n_classes
        what = f"an answer from rows, by all sets of {self.widest - 1} of {len(self.slots):,} columns,"
        check_budget(needed, max_memory, what, "Use a smaller n, fewer columns, or raise max_memory.")

    def tables_seconds(self, n_rows: int) -> float:
        """How long it takes to make tables of so many rows."""
        once = self.n_tables * self.PER_TABLE + self.n_cells * self.PER_CELL
        return once + n_rows * self.n_tables * self.PER_INCREMENT

    def answer_seconds(self, n_rows: int) -> float:
        """How long it takes to answer one row from so many rows."""
        n_words = n_rows / 64 + self.n_classes
        return math.comb(len(self.slots), self.widest) * (self.PER_SET + n_words * self.PER_WORD)

    def prefers_rows(self, n_rows: int) -> bool:
        """Whether rows are to be kept: tables would take long to make, and answers from the rows do not."""
        once, each = self.QUICK
        slow = self.widest > 3 and self.tables_seconds(n_rows) > once + each * n_rows
        return slow and self.answers_quickly(n_rows)

    def answers_quickly(self, n_rows: int) -> bool:
        """Whether an answer from so many rows takes no longer than one may."""
        return self.answer_seconds(n_rows) <= self.SLOWEST_ANSWER
