"""Classifiers that choose another one, over the same memory, and let it answer."""

from __future__ import annotations

from tanager.learning.counts_classifier import CountsClassifier, Current
from tanager.scoring.forms import Form


class Delegating(CountsClassifier):
    """Answers as ``best_`` does, which reads the same counts."""

    best_: CountsClassifier

    def _adopt(self, model: CountsClassifier) -> CountsClassifier:
        """A classifier over our memory; our priors and class weights hold where it has none of its own."""
        memory = self._learned
        model.attach(memory.counts, self.encoder_, memory.rows)
        model.set_params(**{k: getattr(self, k) for k in ("priors", "class_weight") if getattr(model, k) is None})
        model.unseen, model.n_jobs, model.target_name_ = self.unseen, self.n_jobs, self.target_name_
        return model

    def _answering(self) -> CountsClassifier:
        return self.best_

    def _renewed(self, *, fresh: bool) -> Current:
        """Our scorer is that of the chosen one: asked by itself, it answers the same."""
        current = super()._renewed(fresh=fresh)
        self.best_._memory, self.best_._current = self._memory, current
        return current

    def _take_structure(self, form: Form, arrays: object = None) -> Current:
        self.best_._memory = self._memory  # whose counts may hold further families by now
        return super()._take_structure(form)

    def _same_answers(self, current: Current, form: Form) -> bool:
        return False  # another classifier may have the same form and smooth it otherwise
