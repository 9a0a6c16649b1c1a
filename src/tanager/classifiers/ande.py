"""ANDE: the mean over all sets of n columns as parents of all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.encoding import Schema
from tanager.errors import OptionError, check_number
from tanager.learning.rows_or_tables import RowsOrTables
from tanager.learning.sets_of_columns import SetsOfColumns
from tanager.scoring.forms import Form, averaged

MOST = 7  # super-parents of a member


@dataclass(eq=False, repr=False, kw_only=True)
class ANDE(RowsOrTables):
    """Averaged n-dependence estimators: the mean over all sets of n columns as parents of all others.

    ``n=0`` is NaiveBayes, ``n=1`` AODE and ``n=2`` A2DE. Each step lowers the bias, and takes more rows and more
    memory: choose ``n=3`` with some ten columns of few values and a hundred thousand rows or more.

    Parameters
    ----------
    n : int, default=1
        How many super-parents a member has. Sets of n + 1 columns are counted together with the class.
    min_count : float, default=1.0
        Values serve as super-parents when they were seen together at least that often; where none were, ANDE with one
        super-parent less answers.
    lazy : bool, default=None
        From n = 3 on: keep the rows, and count what an answer needs when it is asked for (True), or count all sets
        beforehand (False). None keeps rows where tables would take long to make, or too much memory, and as long as an
        answer from the rows takes ten milliseconds at most, by a forecast; then tables are made from them, if these
        are not too large. Answers are the same.

    Notes
    -----
    Webb, Boughton, Zheng, Ting and Salem (2012). With tables, learning O(rows columns^(n+1)), memory (columns over n+1)
    values^(n+1) classes, a prediction O(columns^(n+1) classes). With rows, learning O(rows columns²), memory O(rows
    columns), a prediction O(columns^(n+1) rows / 64), less what no row has in common with the one to answer. Where rows
    do not do, what would take more than ``max_memory`` as tables is refused before it is counted. Rows need
    pseudo-counts that are the same in all contexts, and not zero (a number, ``Lidstone`` or ``MEstimate``); others are
    read from tables.

    Examples
    --------
    There is one set of three columns beside the fourth; it says 3/18 3/4 against 1/18 1/2:

    >>> from tanager import ANDE
    >>> X = [["sun", "no", "hot", "dry"]] * 2 + [["rain", "yes", "cold", "wet"]] * 2
    >>> ANDE(n=3).fit(X, ["play", "play", "stay", "stay"]).predict_proba(X[:1]).round(4)
    array([[0.8182, 0.1818]])
    """

    n: int = 1
    min_count: float = 1.0
    lazy: bool | None = None

    def check_options(self) -> None:
        super().check_options()
        if not isinstance(self.n, int | np.integer) or isinstance(self.n, bool) or not 0 <= self.n <= MOST:
            raise OptionError(f"n={self.n!r}: give a number of super-parents from 0 to {MOST}.")
        check_number("min_count", self.min_count, "a number of rows")
        if self.lazy is not None and not isinstance(self.lazy, bool | np.bool_):
            raise OptionError(f"lazy={self.lazy!r}: give True, False or None.")
        if self.lazy and self.n >= 3 and not self._rows_would_do():
            raise OptionError(
                f"lazy=True does not go with smoothing={self.smoothing!r}: rows are counted for an answer where "
                "pseudo-counts are the same in all contexts, and not zero. Use a positive number, or leave out lazy=."
            )

    def _rows_would_do(self) -> bool:
        return self.n >= 3 and self.estimate.kind in ("lidstone", "m") and self.estimate.strength > 0

    def _sets(self, schema: Schema) -> SetsOfColumns:
        slots: list[int] = (schema.n_values + int(self.unseen == "smooth") + 1).tolist()
        n_classes = max(1, len(getattr(self, "classes_", ())))
        return SetsOfColumns(tuple(slots), min(int(self.n), len(schema) - 1) + 1, n_classes)

    def _table_shape(self, schema: Schema) -> dict[str, Any]:
        return {"order": self.n + 1} if self.n < 3 else super()._table_shape(schema)

    def _all_sets(self, n_features: int) -> Form:
        return averaged(n_features, int(self.n), self.min_count)
