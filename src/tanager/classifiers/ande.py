"""ANDE: the mean over all sets of n columns as parents of all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes, check_budget, readable, sums_of_products
from tanager.encoding import Schema
from tanager.errors import OptionError, check_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, averaged

MOST = 7  # super-parents of a member
TABLE_BYTES = 1000  # that a table takes beside its cells, about


@dataclass(eq=False, repr=False, kw_only=True)
class ANDE(CountsClassifier):
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

    Notes
    -----
    Webb, Boughton, Zheng, Ting and Salem (2012). Learning O(rows columns^(n+1)), memory (columns over n+1) values^(n+1)
    classes, a prediction O(columns^(n+1)). What would take more than ``max_memory`` is refused before it is counted.

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

    def check_options(self) -> None:
        super().check_options()
        if not isinstance(self.n, int | np.integer) or isinstance(self.n, bool) or not 0 <= self.n <= MOST:
            raise OptionError(f"n={self.n!r}: give a number of super-parents from 0 to {MOST}.")
        check_number("min_count", self.min_count, "a number of rows")

    def counts_shape(self, schema: Schema) -> dict[str, Any]:
        """Triples in tables of their own; every wider set is a family."""
        widest = min(self.n, len(schema) - 1) + 1
        if widest <= 3:
            return {"order": self.n + 1 if self.n < 3 else 3}
        self._check_memory(schema, widest)
        sets = (combinations(range(len(schema)), size) for size in range(4, widest + 1))
        return {"order": 3, "families": tuple(chain.from_iterable(sets))}

    def _check_memory(self, schema: Schema, widest: int) -> None:
        """Refuse what is too large before a list of all sets is made: there may be millions."""
        slots = (schema.n_values + int(self.unseen == "smooth") + 1).tolist()
        cells = sums_of_products(slots, widest)
        n_classes = max(1, len(getattr(self, "classes_", ())))
        triples = JointCounts.estimate_bytes(np.array(slots) - 1, n_classes, order=3)
        needed = triples
        for size in range(4, widest + 1):
            needed += cells[size] * n_classes * 8 + math.comb(len(slots), size) * TABLE_BYTES
        check_budget(
            needed,
            self.max_memory,
            f"counting all sets of {widest} of {len(slots):,} columns",
            f"Use {self._smaller(np.array(slots) - 1, n_classes)}, fewer bins or columns, or raise max_memory.",
        )

    def _smaller(self, n_values: np.ndarray, n_classes: int) -> str:
        """The largest number of super-parents whose counts fit, or as few as there can be, and what they take."""
        for n in (2, 1, 0):
            needed = JointCounts.estimate_bytes(n_values, n_classes, order=n + 1)
            if needed <= as_bytes(self.max_memory):
                break
        return f"ANDE(n={n}), which needs {readable(needed)}"

    def _columns_added(self, n_new: int, wider: dict[str, Any]) -> None:
        super()._columns_added(n_new, self.counts_shape(self.encoder_.schema))

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        return averaged(counts.n_features, int(self.n), self.min_count)
