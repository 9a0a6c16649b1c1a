"""NaiveBayes: every column depends on the class alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.counts.align import class_map
from tanager.counts.forgetting import Steps
from tanager.counts.joint import JointCounts
from tanager.counts.moments import Moments
from tanager.encoding import Schema
from tanager.encoding.chunks import rows_of_dicts
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import Rows
from tanager.learning.stream import Block
from tanager.scoring.discriminative import DiscriminativeMixin
from tanager.scoring.forms import Form, ProductOfSums, View
from tanager.scoring.network_view import SingleNetworkMixin
from tanager.scoring.subsumption import SubsumptionMixin


@dataclass(eq=False, repr=False, kw_only=True)
class NaiveBayes(DiscriminativeMixin, SingleNetworkMixin, SubsumptionMixin, CountsClassifier):
    """Naive Bayes: every column depends on the class alone. Categorical, Gaussian or mixed.

    The cheapest view on the counts and the yardstick for the others. Good from the first rows on; overconfident when
    columns repeat each other (then see TAN or AODE).

    Parameters
    ----------
    gaussian : bool or list of columns, default=False
        Number columns to describe by a normal distribution per class instead of bins; True takes all of them.
    subsumption : float or None, default=None
        NBsr: leave out, row by row, values that only repeat another value of the row, judged on values seen more often
        than this (50 is customary). Needs pair counts.
    fit_by : {"likelihood", "conditional_likelihood", "weights", "elr"}, default="likelihood"
        Which parameters: by counting; those that make the classes most probable, as in logistic regression; one
        exponent per column; or probabilities that make the classes most probable. All but the first keep the rows.
    penalty : float, default=1.0
        How strongly such parameters are held to the counted ones; 0 trusts the rows alone.

    Attributes
    ----------
    counts_ : JointCounts
        All that was learned about columns with codes; merge, save or look at it on its own.
    moments_ : Moments
        All that was learned about Gaussian columns.
    fitting_ : Fitting or None
        The conditional log-likelihood before and after, where parameters were searched for.
    weights_ : dict
        The exponent of every column, with ``fit_by="weights"``.

    Notes
    -----
    Learning takes O(rows columns), a prediction O(columns classes).

    Examples
    --------
    >>> from tanager import NaiveBayes
    >>> model = NaiveBayes().fit([["sun"], ["sun"], ["rain"], ["rain"]], ["play", "play", "stay", "stay"])
    >>> model.predict_proba([["sun"]])
    array([[0.75, 0.25]])
    """

    gaussian: Any = False

    def _shape(self, schema: Schema) -> dict[str, Any]:
        return {"order": 1 if self.subsumption is None else 2}

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        return ProductOfSums.one_each(((),) * counts.n_features)

    def _likelihood_only(self) -> list[str]:
        return ["gaussian"] * bool(self.gaussian) + ["subsumption"] * (self.subsumption is not None)

    def _answers_by_kernel(self) -> bool:
        return not self._has_moments() and super()._answers_by_kernel()

    def _streams_by_kernel(self) -> bool:
        return super()._answers_by_kernel()

    # Gaussian columns have no codes: they add their log densities to what the counts say.

    def _encoder_options(self) -> dict[str, Any]:
        return super()._encoder_options() | ({"continuous": self.gaussian} if self.gaussian else {})

    def _has_moments(self) -> bool:
        return getattr(self, "moments_", None) is not None

    def _start(self) -> None:
        super()._start()
        self.moments_: Any = None

    def _start_model(self) -> None:
        super()._start_model()
        n = sum(column.kind == "continuous" for column in self.encoder_.schema.columns)
        self.moments_ = Moments(len(self.classes_), n) if n else None

    def _move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        super()._move_classes(places, classes)
        if self._has_moments():
            self.moments_ = self.moments_.move_classes(places, len(classes))

    def _learned(self, numbers: np.ndarray | None, labels: np.ndarray, weights: np.ndarray | None) -> None:
        if numbers is not None:
            self.moments_.update(numbers, labels, weights)

    def _numbers_of(self, X: Any) -> np.ndarray | None:
        return self._numbers(X) if self._has_moments() else None

    def _faded(self, factor: Any) -> None:
        if self._has_moments():
            self.moments_.decay(factor)

    def _forgotten(self, numbers: np.ndarray | None, labels: np.ndarray, weights: np.ndarray | None) -> None:
        if numbers is not None:
            self.moments_.subtract(numbers, labels, weights)

    def _merge_extra(self, other: CountsClassifier, counts: JointCounts) -> None:
        if not self._has_moments():
            return
        assert isinstance(other, NaiveBayes)
        ours, theirs = (
            [column.name for column in model.encoder_.schema.columns if column.kind == "continuous"]
            for model in (self, other)
        )
        parts = [
            model.moments_.move_classes(class_map(model.classes_, counts.classes), counts.n_classes)
            for model in (self, other)
        ]
        self.moments_ = parts[0].merge(parts[1].project([theirs.index(name) for name in ours]))

    def _numbers(self, X: Any) -> np.ndarray:
        if rows_of_dicts(X):  # absent keys are missing
            return np.array([self.encoder_.continuous_row(row) for row in X])
        return self.encoder_.continuous_values(X, type(self).__name__)

    def _with_numbers(self, proba: np.ndarray, numbers: np.ndarray | None) -> np.ndarray:
        if numbers is None:
            return proba
        with np.errstate(divide="ignore"):
            return _normalised(np.log(proba) + self.moments_.log_density(numbers))

    def _run_numbers(self, block: Block, steps: Steps, leaving: Any) -> None:
        assert block.numbers is not None
        density = np.empty_like(block.out)
        per_class = self._clock is not None and self._clock.decay is not None and self._clock.decay.per_class
        asked = block.asked_numbers if block.asked is not None else None
        rows = block.numbers, block.labels, block.weights
        self.moments_.stream(*rows, density, asked, steps.fade, per_class, leaving, steps.gone)
        with np.errstate(divide="ignore"):
            block.out[:] = _normalised(np.log(block.out) + density)

    def _score_codes(self, codes: np.ndarray, view: View, X: Any, *, log_joint: bool) -> np.ndarray:
        if not self._has_moments():
            return super()._score_codes(codes, view, X, log_joint=log_joint)
        joint = super()._score_codes(codes, view, X, log_joint=True) + self.moments_.log_density(self._numbers(X))
        return joint if log_joint else _normalised(joint)

    def _leave_one_out(
        self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, X: Any = None
    ) -> np.ndarray:
        proba = super()._leave_one_out(codes, labels, weights, X)
        if not self._has_moments():
            return proba
        left_out = (labels, np.ones(len(labels)) if weights is None else weights)
        with np.errstate(divide="ignore"):
            return _normalised(np.log(proba) + self.moments_.log_density(self._numbers(X), left_out))

    def _explain(self, codes: np.ndarray, X: Any, answer: int, against: int) -> tuple[float, list[Any]]:
        prior, parts = super()._explain(codes, X, answer, against)
        gaussian = [i for i, column in enumerate(self.encoder_.schema.columns) if column.kind == "continuous"]
        for at, i in enumerate(gaussian):
            alone = np.full((1, len(gaussian)), np.nan)
            alone[0, at] = self._numbers(X)[0, at]
            if np.isnan(alone[0, at]):
                continue
            density = self.moments_.log_density(alone)[0]
            parts.append((i, (), float(density[answer] - density[against])))
        return prior, parts

    def _extra_arrays(self) -> dict[str, np.ndarray]:
        return super()._extra_arrays() | (self.moments_.to_arrays() if self._has_moments() else {})

    def _take_extra_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        super()._take_extra_arrays(arrays)
        columns = self.encoder_.schema.columns
        n = sum(column.kind == "continuous" for column in columns)
        self.moments_ = Moments.from_arrays(arrays, len(self.classes_), n) if n else None


def _normalised(log_joint: np.ndarray) -> np.ndarray:
    top = log_joint.max(axis=1, keepdims=True)
    proba = np.exp(log_joint - top)
    return proba / proba.sum(axis=1, keepdims=True)
