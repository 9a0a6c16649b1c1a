"""Classifiers that choose another one, over the same counts, and let it answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import Rows
from tanager.learning.shared_counts import attach
from tanager.scoring.forms import Form, View


class DelegatesMixin:
    """Answers as ``best_`` does, which reads the same counts."""

    best_: CountsClassifier

    def _attach(self: Any, model: CountsClassifier, counts: JointCounts, rows: Rows) -> CountsClassifier:
        """A classifier over our counts and rows; our priors and class weights hold where it has none of its own."""
        attach(model, counts, self.encoder_, rows)
        model.set_params(**{k: getattr(self, k) for k in ("priors", "class_weight") if getattr(model, k) is None})
        model.unseen, model.n_jobs, model.target_name_ = self.unseen, self.n_jobs, self.target_name_
        return model

    def _current_view(self: Any, *, fresh: bool) -> View:
        """Our view, which is the chosen one's as well: asked by itself, it answers the same."""
        view: View = super()._current_view(fresh=fresh)  # type: ignore[misc]
        self.best_.counts_, self.best_._view, self.best_._view_rows = self.counts_, view, self._view_rows
        return view

    def _view_of(self: Any, form: Form, **options: Any) -> View:
        self.best_.counts_ = self.counts_  # with its families
        return self.best_._view_of(form, **options)

    def _still_answers(self, view: View, form: Form) -> bool:
        return False  # another classifier may have the same form and smooth it otherwise

    def _balanced(self) -> bool:
        return self.best_._balanced()

    def _class_factors(self) -> list[float]:
        return self.best_._class_factors()

    def _score_codes(self, codes: np.ndarray, view: View, X: Any, *, log_joint: bool) -> np.ndarray:
        return self.best_._score_codes(codes, view, X, log_joint=log_joint)

    def _leave_one_out(self: Any, codes: Any, labels: Any, weights: Any, X: Any = None) -> np.ndarray:
        self._structure(fresh=True)
        return self.best_._leave_one_out(codes, labels, weights, X)

    def _explain(self: Any, codes: np.ndarray, X: Any, answer: int, against: int) -> tuple[float, list[Any]]:
        self._structure(fresh=True)
        return self.best_._explain(codes, X, answer, against)
