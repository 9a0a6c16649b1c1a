"""What the service asks of a model, in one place: every question that depends on how models are made is here."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from tanager.encoding import Schema
from tanager.learning.classifier import Classifier
from tanager.scoring.decision import TIE
from tanager.service.messages import AnytimeInfo, Label
from tanager.streams.drift import DriftAware

Probabilities = npt.NDArray[np.float64]


class BudgetAnswer(Protocol):
    """What an anytime model answers."""

    @property
    def proba(self) -> Probabilities:
        """Probability of every class for every row."""

    @property
    def members(self) -> npt.NDArray[np.int64]:
        """Members used for every row."""

    @property
    def complete(self) -> bool:
        """Whether nothing was left out for lack of time."""


class AnytimeModel(Protocol):
    """A model that answers within a budget."""

    def answer(self, X: Any, budget: float | None = None, members: int | None = None) -> BudgetAnswer:
        """Answer rows within so many seconds, with so many members at most."""


class ImprovableModel(Protocol):
    """A model that idle time makes better."""

    def improve(self, seconds: float) -> bool:
        """Spend so many seconds; True where there is more to do."""


# By attribute: a class check would not see models that wrap others, and isinstance() of a protocol takes longer than
# the answer for a single row.
def is_anytime(model: object) -> TypeGuard[AnytimeModel]:
    """Whether the model takes budgets."""
    return hasattr(model, "answer")


def is_improvable(model: object) -> TypeGuard[ImprovableModel]:
    """Whether idle time can make the model better."""
    return hasattr(model, "improve")


def has_learned(model: Classifier) -> bool:
    """Whether the model has learned rows, so that it can answer."""
    return model.has_learned


def fixed_schema(model: Classifier) -> Schema | None:
    """The columns with their kinds and cut points; None before they are decided at the end of the warm-up."""
    return model.encoder_.schema if model.columns_fixed else None


def rows_until_fixed(model: Classifier) -> int:
    """How many rows the warm-up still needs; at least 1. DriftAware knows its columns from the first row on."""
    return max(1, getattr(model, "warm_up", 1) - model.n_warm_up_rows)


def choice_is_open(model: Classifier) -> bool:
    """Whether the next answer would choose a structure that later answers keep."""
    return model.keeps_choice and model.columns_fixed and not model.has_chosen


def check_row_times(model: Classifier, times: npt.NDArray[np.float64] | None, n_rows: int) -> None:
    """Refuse rows without times where the model forgets by time, and rows that come too late for its window."""
    model.check_row_times(times, n_rows)


def classes_of(model: Classifier) -> list[Label]:
    """The classes known so far."""
    classes: list[Label] = model.classes_.tolist() if hasattr(model, "classes_") else []
    return classes


def class_sizes(model: Classifier) -> list[float]:
    """How much the learned rows of each class weigh; for DriftAware, in the model that answers now."""
    counting = model.model_ if isinstance(model, DriftAware) and hasattr(model, "classes_") else model
    sizes: list[float] = counting.class_count_.tolist() if hasattr(counting, "encoder_") else []
    return sizes


def decide(model: Classifier, proba: Probabilities) -> list[Label]:
    """The label of every row, by probability or by expected cost."""
    # Deciding in general costs about as much as answering a single row; one without costs and ties is quick.
    if len(proba) == 1 and getattr(model, "cost_matrix", "of another model") is None:
        *others, best = sorted(row := proba[0].tolist())
        if not others or best - others[-1] > TIE:
            return [model.classes_.item(row.index(best))]
    labels: list[Label] = model.decide(proba).tolist()
    return labels


def anytime_info(model: Any) -> AnytimeInfo | None:
    """The members of an anytime model in their present order; asking does not make the model improve the order."""
    if not hasattr(model, "answer") or not has_learned(model):
        return None
    form, names = model.current_structure, model.encoder_.schema.names
    order = [[names[i] for i in member] for member in form.members]
    return AnytimeInfo(order, len(order) if form.limit < 0 else form.limit)
