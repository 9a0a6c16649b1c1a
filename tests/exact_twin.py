"""The slow, obvious version of moments: fractions, which do not round, and sums over rows as they are printed."""

from __future__ import annotations

import math
from fractions import Fraction


def moments(rows):
    """Weight, mean and mean squared deviation of (weight, number) pairs, as fractions; None where there are no rows."""
    rows = [(Fraction(w), Fraction(x)) for w, x in rows if w > 0]
    total = sum(w for w, _ in rows)
    if not total:
        return None
    mean = sum(w * x for w, x in rows) / total
    return total, mean, sum(w * (x - mean) ** 2 for w, x in rows) / total


def root(square):
    """The square root of a fraction as a double, whatever its exponent."""
    if not square:
        return 0.0
    power = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** power), power)
