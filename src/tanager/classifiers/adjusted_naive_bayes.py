"""AdjustedNaiveBayes: naive Bayes with class weights that make the fewest errors on left-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.joint import JointCounts
from tanager.encoding.typing import Label
from tanager.errors import OptionError, check_option, is_number
from tanager.learning.class_weights import fewest_errors
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.left_out import LeftOut
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, naive


@dataclass(eq=False, repr=False, kw_only=True)
class AdjustedNaiveBayes(CountsClassifier):
    """Naive Bayes whose class probabilities are multiplied by weights that make the fewest errors on left-out rows.

    Naive Bayes often ranks rows well and draws the line between classes in the wrong place; moving the line is cheap.
    Probabilities are those after the adjustment. Keeps the rows, in a byte or two per cell.

    Parameters
    ----------
    selection : {"loo", "resub"}, default="loo"
        Errors are counted on the learned rows, each left out or not.
    significance : float or None, default=None
        Change a weight only where errors fall by more than chance: a one-sided sign test of rows that become right
        against rows that become wrong must be below this (0.05 was published). None takes every gain.

    Attributes
    ----------
    adjustments_ : dict
        The weight of every class.

    Notes
    -----
    Webb and Pazzani (1998). One class at a time: a row changes its answer at one value of the weight, so all values
    that matter are tried in one pass over the sorted rows, O(rows log rows).

    Examples
    --------
    >>> from tanager import AdjustedNaiveBayes, NaiveBayes
    >>> X = [["sun", "dry"]] * 2 + [["sun", "wet"]] * 2 + [["rain", "dry"]] * 6 + [["rain", "wet"]] * 6
    >>> y = ["stay"] * 2 + ["play"] * 2 + ["play"] * 4 + ["stay"] * 2 + ["stay"] * 6
    >>> NaiveBayes().fit(X, y).score(X, y)
    0.5
    >>> model = AdjustedNaiveBayes().fit(X, y)
    >>> model.score(X, y)
    0.75
    >>> {label: round(weight, 3) for label, weight in model.adjustments_.items()}
    {'play': 1.0, 'stay': 0.486}
    """

    selection: str = "loo"
    significance: float | None = None

    order = 1

    def check_options(self) -> None:
        super().check_options()
        check_option("selection", self.selection, ("loo", "resub"))
        level = self.significance
        if level is not None and not (is_number(level, 0) and 0 < level <= 1):
            raise OptionError(f"significance={level!r}: give a level between 0 and 1 (0.05 is customary), or None.")

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        form = naive(counts.n_features)
        left_out = LeftOut(self, rows, start=form)
        joint = left_out.joint if self.selection == "loo" else left_out.not_left_out(form)
        weights = np.ones(len(joint)) if left_out.weights is None else left_out.weights
        self._adjustment = fewest_errors(joint, left_out.labels, weights, counts.class_counts, self.significance)
        return form

    def class_factors(self) -> list[float]:
        """Factors of the classes by ``class_weight``, times the adjustments."""
        given = super().class_factors() or [1.0] * len(self.classes_)
        own = self.__dict__.get("_adjustment", ())
        if len(own) != len(given):  # a class has come since
            return given
        return [float(a * b) for a, b in zip(given, own, strict=True)]

    @property
    def adjustments_(self) -> dict[Label, float]:
        """The weight of every class."""
        _ = self.structure_  # which follows all rows
        return dict(zip(self.classes_.tolist(), self._adjustment.tolist(), strict=True))

    def _choice(self) -> dict[str, Any]:
        return {"adjustment": self._adjustment.tolist()}

    def _take_choice(self, data: dict[str, Any]) -> None:
        weights = saved.field("weights of its classes", data, "adjustment", saved.items(saved.number(0.0)))
        self._adjustment = np.array(weights, dtype=np.float64)
