"""How well probabilities rank rows: areas under ROC curves."""

from __future__ import annotations

import numpy as np


def area(scores: np.ndarray, member: np.ndarray, weights: np.ndarray) -> float:
    """The probability that a member has a higher score than another row, ties counting half (weighted mid-ranks)."""
    inside, outside = weights * member, weights * ~member
    if not inside.sum() > 0 or not outside.sum() > 0:
        return float("nan")
    _, level = np.unique(scores, return_inverse=True)
    outside = np.bincount(level, outside)
    below = np.cumsum(outside) - outside / 2
    return float(below @ np.bincount(level, inside) / (inside.sum() * outside.sum()))


def mean_pair_area(labels: np.ndarray, proba: np.ndarray, weights: np.ndarray) -> float:
    """The mean over all pairs of classes that occur (Hand and Till); NaN where fewer than two do.

    Of two classes, each is ranked by its own probability among the rows of both. One ranking of all rows by the
    probability of a class serves its pairs with all others, so hundreds of classes are no matter.
    """
    k = proba.shape[1]
    mass = np.bincount(labels, weights, minlength=k)
    occur = np.flatnonzero(mass > 0)
    if len(occur) < 2:
        return float("nan")
    areas = 0.0
    for c in occur.tolist():
        _, level = np.unique(proba[:, c], return_inverse=True)
        own = np.bincount(level, weights * (labels == c))
        above = mass[c] - np.cumsum(own) + own / 2  # of the class, ties counting half
        others = occur[occur != c]
        areas += float(
            (np.bincount(labels, weights * above[level], minlength=k)[others] / mass[others]).sum() / mass[c]
        )
    return areas / (len(occur) * (len(occur) - 1))
