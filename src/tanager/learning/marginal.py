"""Missing values summed out exactly, by classifiers with one network or one for each class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.errors import DataWarning, check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.forms import LeftOut, View


def score_with_gaps(
    view: View, codes: np.ndarray, *, log_joint: bool, left_out: LeftOut | None = None, n_jobs: int = 1
) -> np.ndarray:
    """Posteriors (or log joints) of rows of a network, every missing value summed out.

    Where that would take a table of more than ten million cells, the families of the missing value are dropped instead,
    with a warning.
    """
    out = np.empty((len(codes), view.counts.n_classes))
    labels, weights = left_out or (None, None)
    view.plan.score_marginal(codes, out, log_joint, labels, weights, view.unit, n_jobs)
    large = np.isnan(out[:, 0])
    if large.any():
        rest = np.empty((int(large.sum()), view.counts.n_classes))
        own, w = (None if part is None else part[large] for part in (labels, weights))
        view.plan.score(codes[large], rest, log_joint, own, w, view.unit, n_jobs)
        out[large] = rest
        warnings.warn(
            f"{len(rest):,} of {len(codes):,} rows miss so many values that depend on each other that they cannot be "
            'summed out; there, families with a missing member are dropped, as with missing="drop".',
            DataWarning,
            stacklevel=2,
        )
    return out


@dataclass(eq=False, repr=False, kw_only=True)
class MarginalMixin(CountsClassifier):
    """The option ``missing``: "drop" leaves out families with a missing member, "marginal" sums missing values out."""

    missing: str = "drop"

    def _check_options(self) -> None:
        super()._check_options()
        check_option("missing", self.missing, ("drop", "marginal"))

    def _score_codes(self, codes: np.ndarray, view: View, X: Any, *, log_joint: bool) -> np.ndarray:
        out = super()._score_codes(codes, view, X, log_joint=log_joint)
        gaps = self._gaps(codes)
        if gaps.any():
            out[gaps] = score_with_gaps(view, codes[gaps], log_joint=log_joint, n_jobs=self._threads())
        return out

    def _leave_one_out(self, codes: Any, labels: Any, weights: Any, X: Any = None) -> np.ndarray:
        out = super()._leave_one_out(codes, labels, weights, X)
        gaps = self._gaps(codes)
        if gaps.any():
            left_out = labels[gaps], None if weights is None else weights[gaps]
            view = self._structure(fresh=True)
            out[gaps] = score_with_gaps(view, codes[gaps], log_joint=False, left_out=left_out, n_jobs=self._threads())
        return out

    def _gaps(self, codes: np.ndarray) -> np.ndarray:
        """The rows with missing cells, where these are to be summed out."""
        if self.missing == "drop":
            return np.zeros(len(codes), dtype=bool)
        n_values = self.counts_.schema.n_values
        return np.asarray(((codes >= n_values + (self.unseen == "smooth")) & (n_values > 0)).any(axis=1))

    def _answers_by_kernel(self) -> bool:
        return self.missing == "drop" and super()._answers_by_kernel()
