"""Missing values filled with the most frequent value of their column, in learning and in answers."""

from __future__ import annotations

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.scoring.explain import PartList
from tanager.scoring.explain_rows import Explained, explain_rows
from tanager.scoring.view import View


class Modes:
    """Answers as if every missing cell, of learned rows and of the row asked about, held the most frequent value.

    What is most frequent follows the counts, so the order of rows matters only where values are equally frequent: of
    these it is the one that came first, as names say nothing.
    """

    compiled = None

    def __init__(self, view: View) -> None:
        self._view, self._version = view, -1

    @property
    def counts(self) -> JointCounts:
        """The counts of the filled rows."""
        return self._filled().counts

    def _filled(self) -> View:
        """The same form over the counts of the filled rows, which follow the counts."""
        view = self._view
        if self._version != view.counts.version:
            counts, self._modes = view.counts.with_modes()
            self._own = view.over(counts)
            self._version = view.counts.version
        self._own.weigh_classes(view.factors)
        return self._own

    def filled(self) -> tuple[View, np.ndarray]:
        """The view that answers filled rows, and the code that fills each column; -1 where there is none."""
        view = self._filled()
        return view, self._modes

    def _fill(self, codes: np.ndarray) -> np.ndarray:
        missing = codes >= self._view.counts.schema.n_values + self._view.smooth_unseen
        return np.where(missing & (self._modes >= 0), self._modes.astype(codes.dtype), codes)

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints."""
        view = self._filled()
        return view.score(Query(self._fill(query.codes)), log_joint=log_joint, n_jobs=n_jobs)

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each left out; what is most frequent stays."""
        view = self._filled()
        return view.leave_one_out(Block(self._fill(block.codes), block.labels, block.weights), n_jobs=n_jobs)

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """As the filled row is explained."""
        view = self._filled()
        return view.explain(Query(self._fill(query.codes)), answer, against)

    def explain_rows(self, query: Query, answer: np.ndarray, against: np.ndarray) -> Explained:
        """The same for many rows."""
        return explain_rows(self._filled(), Query(self._fill(query.codes)), answer, against)
