"""From probabilities to answers: given priors, class weights, costs and ties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tanager.errors import OptionError, check_option, nearest

TIE = 1e-12  # probabilities closer than this are a tie


def posterior(log_joint: np.ndarray) -> np.ndarray:
    """Probabilities of the classes from logs of the joint, row by row."""
    columns = np.ascontiguousarray(log_joint.T)  # reductions over few classes are quicker column by column
    proba = np.exp(columns - columns.max(axis=0))
    return np.ascontiguousarray((proba / proba.sum(axis=0)).T)


def class_priors(priors: Any, classes: np.ndarray) -> list[float]:
    """Given priors in the order of the classes, summing to one; empty where none are given."""
    if priors is None:
        return []
    values = _per_class("priors", priors, classes)
    if not np.isfinite(values).all() or (values < 0).any() or not np.isclose(values.sum(), 1.0):
        raise OptionError(f"priors must be probabilities that sum to 1, got {values.tolist()}.")
    return [float(p) for p in values / values.sum()]


def class_factors(class_weight: Any, classes: np.ndarray, class_counts: np.ndarray) -> list[float]:
    """Factors of the classes, or empty. "balanced" makes up for unequal class sizes, as in scikit-learn."""
    if class_weight is None:
        return []
    if isinstance(class_weight, str):
        check_option("class_weight", class_weight, ("balanced",))
        seen = class_counts > 0  # a class without rows has nothing to make up for
        share = np.where(seen, class_counts, 1.0) * len(classes) / (class_counts.sum() if seen.any() else 1.0)
        return [float(w) for w in np.where(seen, 1 / share, 1.0)]
    weights = _per_class("class_weight", class_weight, classes, default=1.0)
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise OptionError(f"class_weight must be finite, not negative and not all 0, got {weights.tolist()}.")
    return [float(w) for w in weights]


def _per_class(name: str, given: Any, classes: np.ndarray, default: float | None = None) -> np.ndarray:
    known = classes.tolist()
    if isinstance(given, Mapping):
        for label in given:
            if label not in known:
                raise OptionError(
                    f"{name} names {label!r}, which is none of the classes {known}.{nearest(label, known)}"
                )
        missing = [label for label in known if label not in given]
        if missing and default is None:
            raise OptionError(f"{name} says nothing about class {missing[0]!r}; name every class.")
        return np.array([float(given.get(label, default)) for label in known])
    values = _numbers(name, given)
    if values.shape != (len(known),):
        raise OptionError(f"{name} needs one number for each of the {len(known)} classes, got shape {values.shape}.")
    return values


def _numbers(name: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(
            f"{name}={given!r} holds something that is no number, or rows of different lengths."
        ) from None


def check_costs(cost_matrix: Any, classes: np.ndarray) -> np.ndarray | None:
    """cost[true, predicted] as an array, or None."""
    if cost_matrix is None:
        return None
    costs = _numbers("cost_matrix", cost_matrix)
    k = len(classes)
    if costs.shape != (k, k):
        raise OptionError(
            f"cost_matrix has shape {costs.shape}, expected ({k}, {k}): one row per true class and one column per "
            f"answer, both in the order {classes.tolist()}."
        )
    if not np.isfinite(costs).all():
        raise OptionError("cost_matrix must be finite in every cell.")
    return costs


def preference(class_counts: np.ndarray) -> np.ndarray:
    """Class codes, the one that wins a tie first: more rows, then the smaller code.

    Sums of weights in another order differ in their last digits, which decide nothing.
    """
    digits, power = np.frexp(class_counts)
    return np.lexsort((np.arange(len(class_counts)), -np.ldexp(np.rint(digits * 2.0**40), power)))


def decide(proba: np.ndarray, class_counts: np.ndarray, costs: np.ndarray | None) -> np.ndarray:
    """Class codes: the most probable class, or with costs the one of least expected loss.

    Ties go to the class with more rows, then to the smaller code.
    """
    gain = proba if costs is None else -(proba @ costs)
    order = preference(class_counts)
    gain = gain[:, order]
    best = gain.max(axis=1, keepdims=True)
    scale = 1.0 if costs is None else max(1.0, float(np.abs(costs).max()))
    return order[np.argmax(gain >= best - TIE * scale, axis=1)]
