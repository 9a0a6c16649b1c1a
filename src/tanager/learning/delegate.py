"""Classifiers that choose another one, over the same memory, and let it answer."""

from __future__ import annotations

from tanager.learning.answering import Current
from tanager.learning.counts_classifier import CountsClassifier
from tanager.listed import names_in


class Delegating(CountsClassifier):
    """Answers as ``best_`` does, which reads the same counts."""

    unlisted = names_in("adopt")

    best_: CountsClassifier

    def adopt(self, model: CountsClassifier) -> CountsClassifier:
        """A classifier over our memory; our priors and class weights hold where it has none of its own."""
        memory = self._learned
        model.attach(memory.counts, self.encoder_, memory.rows)
        model.set_params(**{k: getattr(self, k) for k in ("priors", "class_weight") if getattr(model, k) is None})
        model.unseen, model.n_jobs, model.target_name_ = self.unseen, self.n_jobs, self.target_name_
        return model

    @property
    def _attaches_again(self) -> bool:
        return False  # who answers is another one then

    def _scored_by(self) -> CountsClassifier:
        self.best_._memory = self._memory  # whose counts may hold further families by now
        return self.best_

    def _answers(self, *, fresh: bool) -> Current:
        """Our scorer is that of the chosen one: asked by itself, it answers the same."""
        current = super()._answers(fresh=fresh)
        if self._scored_by() is self.best_:
            self.best_._answering.current = current
        return current
