"""Which structure answers, and when it is learned again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.scoring.discriminative import Discriminative
from tanager.scoring.forest import ForestScorer
from tanager.scoring.forms import Form
from tanager.scoring.scorer import Scorer
from tanager.scoring.view import View

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


@dataclass
class Current:
    """What answers now: the view of a form, the scorer around it, and how much was learned when it was chosen."""

    view: View
    scorer: Scorer
    n_learned: float
    weight: float  # of the rows that counted then


class Answering:
    """The structure that a model answers with.

    It is chosen again when it depends on the counts and these have changed: before every answer to a batch, and in a
    stream (``fresh=False``) only now and then, because choosing costs more than answering a row.
    """

    def __init__(self) -> None:
        self.current: Current | None = None

    def forget(self) -> None:
        """What was learned is another now."""
        self.current = None

    def current_of(self, model: CountsClassifier, *, fresh: bool) -> Current:
        """The structure to answer with, learned again where it is due."""
        memory, current = model.memory, self.current
        usable = current is not None and current.view.valid and current.view.counts is memory.counts
        if current is not None and usable:
            if not follows_counts(model, current) or current.view.form_version == memory.counts.version:
                return current
            if memory.n_learned <= due(model, current) and (not fresh or model.refresh is not None):
                return current
        form = _structure(model)
        if current is not None and usable and _same_answers(model, current, form):
            current.view.form_version = memory.counts.version
            current.view.renew()
            current.n_learned, current.weight = memory.n_learned, memory.counts.n_rows
            return current
        return self._take(model, form)

    def _take(self, model: CountsClassifier, form: Form, arrays: Mapping[str, np.ndarray] | None = None) -> Current:
        """Answer with this structure from now on; the arrays of a model file may hold its parameters."""
        maker, memory = model._scored_by(), model.memory
        view = maker.view_of(form)
        scorer = (maker._scorer_from(view, arrays) if arrays else None) or maker._scorer(view)
        current = self.current = Current(view, scorer, memory.n_learned, memory.counts.n_rows)
        return current

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self, model: CountsClassifier) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
        """None where no structure was chosen yet; the structure itself where it lags behind or took long to learn.

        With it come arrays, where parameters were searched for.
        """
        current, counts = self.current, model.counts_
        if current is None or not current.view.valid or current.view.counts is not counts:
            return None, {}
        up_to_date = not follows_counts(model, current) or current.view.form_version == counts.version
        arrays: dict[str, np.ndarray] = {}
        if isinstance(current.scorer, Discriminative):
            arrays = current.scorer.to_arrays()
        elif isinstance(current.scorer, ForestScorer):
            arrays = current.scorer.to_arrays(with_tables=not up_to_date)
        if up_to_date and not model.saves_structure:
            return {}, arrays
        kept: dict[str, Any] = {"form": current.view.form, "factor": current.view.factors, "rows": current.n_learned}
        strengths = current.view.given_strengths()
        if strengths is not None and not up_to_date:  # else they are learned from the same counts again
            kept["strengths"] = strengths
        return kept | {"current": up_to_date, "weight": current.weight} | model._choice(), arrays

    def take_state(self, model: CountsClassifier, data: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``to_state`` gave."""
        if "form" not in data:
            self._take(model, _structure(model), arrays)
            return
        model._take_choice(data)
        current = self._take(model, data["form"], arrays)
        current.view.weigh_classes([float(factor) for factor in data["factor"]])
        if "strengths" in data:
            current.view.take_strengths(data["strengths"])
        current.view.form_version = model.counts_.version if data.get("current") else -1
        current.n_learned = float(data["rows"])
        current.weight = float(data.get("weight", current.n_learned))


def _structure(model: CountsClassifier) -> Form:
    """The structure for what was learned by now, with all that it reads counted."""
    memory = model.memory
    form = model._structure(memory.counts, memory.rows)
    memory.count_families(form.families(), model.counts_shape(memory.counts.schema), model.n_threads)
    return form


def _same_answers(model: CountsClassifier, current: Current, form: Form) -> bool:
    """Whether a scorer made earlier is the one for this form, too.

    Parameters of a search follow the rows, and a classifier that was chosen anew may smooth the same form otherwise.
    """
    if isinstance(current.scorer, Discriminative) or model._scored_by() is not model or not model.form_is_all:
        return False
    if current.view.learned and current.scorer is not current.view:
        return False  # it may hold views of its own, with strengths of theirs
    return current.view.counts is model.counts_ and form == current.view.form


def follows_counts(model: CountsClassifier, current: Current) -> bool:
    """Whether what answers depends on counts beyond the cells that a row reads: a structure, or strengths."""
    return model._adaptive() or current.view.learned


def due(model: CountsClassifier, current: Current) -> float:
    """How many rows may have been learned while this structure still answers in a stream."""
    if model.refresh is not None:
        return float(current.n_learned + model.refresh - 1)
    if model.memory.clock is not None:
        return float(current.n_learned + max(1.0, 0.1 * current.weight) - 1)
    return float(current.n_learned * model.refresh_ratio)


def kernel_view(model: CountsClassifier, current: Current) -> View | None:
    """The view that answers alone in the kernels, so that whole streams can run compiled; or None."""
    if model._scored_by().balanced or model.unseen == "error":
        return None
    return current.scorer.compiled
