"""Subsumption resolution: values that only repeat a more special value of the same row are left out of the answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, check_option, is_number
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, explain_rows
from tanager.scoring.scorer import Scorer


def check_subsumption(min_count: Any, gaps: Any) -> None:
    """Refuse options ``subsumption`` and ``subsumption_gaps`` that mean nothing."""
    check_option("subsumption_gaps", gaps, ("skip", "differ"))
    if min_count is not None and not is_number(min_count, 0):
        raise OptionError(f"subsumption={min_count!r}: give a number of rows (50 is customary), or None.")


class Subsumption:
    """Answers of another scorer, without the values that only repeat another value of the row.

    x_i is left out when another value x_j of the row was seen more than ``min_count`` times and never without x_i:
    "female" says nothing beside "pregnant". Of two values that always come together the later is left out.
    ``gaps`` says what a learned row is that has x_j and lacks column i: "skip" does not look at it, "differ" takes it
    for one without x_i.
    """

    compiled = None

    def __init__(self, inner: Scorer, counts: JointCounts, min_count: float, gaps: str = "skip") -> None:
        self.inner, self.counts, self.min_count, self.gaps = inner, counts, min_count, gaps

    def resolved(self, codes: np.ndarray, left_out: np.ndarray | None = None, n_jobs: int = 1) -> np.ndarray:
        """Codes in which values that only repeat others are missing."""
        out, unit = np.empty_like(codes), self.counts.scale
        raw = None if left_out is None else left_out * unit
        differ = self.gaps == "differ"
        _kernels.resolve_subsumption(self.counts.store, codes, out, self.min_count * unit, unit, raw, n_jobs, differ)
        return out

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints of the values that are left."""
        rows = Query(self.resolved(query.codes, n_jobs=n_jobs), query.numbers)
        return self.inner.score(rows, log_joint=log_joint, n_jobs=n_jobs)

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors; a row that is left out does not count for what its values repeat, either."""
        weights = np.ones(len(block)) if block.weights is None else block.weights
        codes = self.resolved(block.codes, weights, n_jobs)
        return self.inner.leave_one_out(Block(codes, block.labels, block.weights, None, block.numbers), n_jobs=n_jobs)

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """The explanation without the values that are left out."""
        return self.inner.explain(Query(self.resolved(query.codes), query.numbers), answer, against)

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows."""
        return explain_rows(self.inner, Query(self.resolved(query.codes), query.numbers), answer, against)
