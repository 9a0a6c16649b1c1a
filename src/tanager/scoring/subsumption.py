"""Subsumption resolution: values that only repeat a more special value of the same row are left out of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.errors import OptionError, is_number
from tanager.scoring.forms import View


@dataclass(eq=False, repr=False, kw_only=True)
class SubsumptionMixin:
    """Adds the option ``subsumption`` to a classifier over pair counts.

    x_i is left out when another value x_j of the row was seen more than ``subsumption`` times and never without x_i:
    "female" says nothing beside "pregnant". Of two values that always come together the later is left out.
    """

    subsumption: float | None = None

    def _check_options(self: Any) -> None:
        super()._check_options()  # type: ignore[misc]
        least = self.subsumption
        if least is not None and not is_number(least, 0):
            raise OptionError(f"subsumption={least!r}: give a number of rows (50 is customary), or None.")

    def _resolved(self: Any, codes: np.ndarray, left_out: np.ndarray | None) -> np.ndarray:
        if self.subsumption is None:
            return codes
        out = np.empty_like(codes)
        unit = self.counts_.scale
        self.counts_.store.resolve(codes, out, self.subsumption * unit, unit, left_out, self._threads())
        return out

    def _score_codes(self: Any, codes: np.ndarray, view: View, X: Any, *, log_joint: bool) -> np.ndarray:
        return super()._score_codes(self._resolved(codes, None), view, X, log_joint=log_joint)  # type: ignore[misc]

    def _leave_one_out(self: Any, codes: Any, labels: Any, weights: Any, X: Any = None) -> np.ndarray:
        left_out = np.ones(len(codes)) if weights is None else weights
        resolved = self._resolved(codes, left_out * self.counts_.scale)
        return super()._leave_one_out(resolved, labels, weights, X)  # type: ignore[misc]

    def _explain(self: Any, codes: np.ndarray, X: Any, answer: int, against: int) -> Any:
        return super()._explain(self._resolved(codes, None), X, answer, against)  # type: ignore[misc]

    def _answers_by_kernel(self: Any) -> bool:
        return self.subsumption is None and super()._answers_by_kernel()  # type: ignore[misc]
