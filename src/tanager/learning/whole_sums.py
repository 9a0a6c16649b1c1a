"""Sums of figures over rows as whole numbers, which are the same in any order and in any parts.

A figure between 0 and 1 is a whole number of steps of 2^-52, to the nearest. Of these, times weights that are brought
to a common size, the two halves of 26 bits are added apart: below 2^36 rows of weight 1, no sum leaves 64 bits.
"""

from __future__ import annotations

import math

import numpy as np

_DIGIT = 26  # bits
_ROOM = 36  # bits for the weight of all rows


def whole_sum(figures: np.ndarray, weights: np.ndarray | None, total: float) -> np.ndarray:
    """The weighted sum of figures between 0 and 1 of some rows, as two whole numbers to be added.

    ``total`` is the weight of all rows, of which these are some.

    >>> some = whole_sum(np.array([0.25, 1.0]), None, 3.0)
    >>> mean_of(some + whole_sum(np.array([0.75]), np.array([1.0]), 3.0), 3.0)
    array(0.66666667)
    """
    if weights is None and _size(total) <= 0:
        return _digits(_steps(figures)).sum(axis=1) << -_size(total)
    own = np.ones(len(figures)) if weights is None else weights
    own = np.ldexp(own, -_size(total))
    whole = np.floor(own)
    times = whole.astype(np.int64)
    return _digits(_steps(figures)) @ times + _digits(_steps(figures * (own - whole))).sum(axis=1)


def _steps(figures: np.ndarray) -> np.ndarray:
    return np.rint(figures * 2.0 ** (2 * _DIGIT)).astype(np.int64)


def mean_of(sums: np.ndarray, total: float) -> np.ndarray:
    """The weighted mean from what ``whole_sum`` gave for all rows, the two numbers first."""
    high, low = sums.astype(np.float64)
    return np.asarray(np.ldexp(np.ldexp(high, _DIGIT) + low, _size(total) - 2 * _DIGIT) / total)


def _size(total: float) -> int:
    """The power of two that weights are divided by, so that they add up to less than 2^36."""
    return math.frexp(total)[1] - _ROOM


def _digits(steps: np.ndarray) -> np.ndarray:
    return np.stack([steps >> _DIGIT, steps & (2**_DIGIT - 1)])
