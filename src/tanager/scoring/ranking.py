"""How well probabilities rank rows: areas under ROC curves."""

from __future__ import annotations

from itertools import combinations

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
    """The mean over all pairs of classes that occur (Hand and Till); NaN where fewer than two do."""
    occur = np.flatnonzero(np.bincount(labels, weights, minlength=proba.shape[1]) > 0)
    if len(occur) < 2:
        return float("nan")
    rows = {c: np.flatnonzero(labels == c) for c in occur.tolist()}
    return float(np.mean([_pair_area(proba, weights, rows, a, b) for a, b in combinations(rows, 2)]))


def _pair_area(proba: np.ndarray, weights: np.ndarray, rows: dict[int, np.ndarray], a: int, b: int) -> float:
    """Two classes of many: each ranked by its own probability, among the rows of both."""
    both = np.concatenate([rows[a], rows[b]])
    first = np.arange(len(both)) < len(rows[a])
    return (area(proba[both, a], first, weights[both]) + area(proba[both, b], ~first, weights[both])) / 2
