"""After which rows of a stream the measures are reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPORTS = 200  # about so many, unless `every` is given
_STEPS = np.array([m * 10**e for e in range(15) for m in (1, 2)])  # rows between two reports


class ReportSchedule:
    """After which rows the measures are reported.

    If neither ``every`` nor the length of the stream is known, reports start after each row and become rarer and rarer.
    Each distance is a multiple of the one before, so that early reports can be thinned out later.
    """

    def __init__(self, every: int | None, n_rows: int | None) -> None:
        self.every = every if every is not None or n_rows is None else _round_step(n_rows)
        self.rows: list[int] = []

    def between(self, start: int, stop: int) -> list[int]:
        """The reports after row number ``start``, up to ``stop``."""
        rows = np.arange(start + 1, stop + 1)
        return list(rows[rows % self._steps(rows) == 0].tolist())

    def add(self, points: Sequence[int], histories: Sequence[list[Any]]) -> None:
        """Record these reports, and thin out those that have become too dense, here and in the histories."""
        self.rows += points
        if self.every is not None or not points:
            return
        step = int(self._steps(np.array(points[-1:]))[0])
        keep = [at for at, row in enumerate(self.rows) if row % step == 0]
        if len(keep) < len(self.rows):
            for kept in (self.rows, *histories):
                kept[:] = [kept[at] for at in keep]

    def _steps(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The distance between reports at each of these rows."""
        if self.every is not None:
            return np.full(len(rows), self.every)
        return _STEPS[np.searchsorted(_STEPS * 1.5 * REPORTS, rows)]


def _round_step(n_rows: int) -> int:
    """1, 2 or 5 times a power of ten, such that there are about 200 reports."""
    step = 1
    while n_rows / step > 1.5 * REPORTS:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step
