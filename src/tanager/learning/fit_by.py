"""Parameters by conditional likelihood, for classifiers with the option ``fit_by``."""

from __future__ import annotations

from typing import Any

from tanager.errors import SchemaMismatch
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.factor_weights import with_factor_weights
from tanager.scoring.discriminative import WITH_EXPONENTS, Discriminative
from tanager.scoring.parameters import Fitting
from tanager.scoring.view import View


def discriminative(model: CountsClassifier, view: View, fit_by: str, penalty: float) -> Discriminative:
    """The scorer of a view whose parameters are searched for, by the rows that the model keeps."""
    memory = model.memory
    if memory.rows is None or not memory.holds_all_rows:
        raise SchemaMismatch(
            f"{memory.owner}(fit_by={fit_by!r}) learns its parameters from rows, and does not hold those behind its "
            "counts: they were given, faded or merged. Fit on the rows again, or fit by likelihood."
        )
    rows, budget = memory.rows.block, model.max_memory
    if fit_by == "factor_weights":
        return with_factor_weights(view, rows, penalty, budget)
    return Discriminative.fit(view, rows, fit_by, penalty=penalty, max_memory=budget, n_jobs=model.n_threads)


def fitting_of(model: CountsClassifier) -> Fitting | None:
    """How the search for the parameters went; None where there was none."""
    scorer = model.uncalibrated()
    return scorer.parameters.fitting if isinstance(scorer, Discriminative) else None


def weights_of(model: Any) -> dict[str, float]:
    """The exponent of every column, with ``fit_by="weights"`` or ``"factor_weights"``."""
    if model.fit_by not in WITH_EXPONENTS:
        raise AttributeError(f'weights are learned with fit_by="weights"; this is fit_by={model.fit_by!r}.')
    return dict(model.uncalibrated().exponents())
