"""Known answers of HalfLives on three rows, worked out by hand.

One column, the classes p and q, half-lives of one row and without end. Rows: a -> p, b -> q, a -> p.

    row 1  there is nothing to answer from.
    row 2  b was never seen: both members answer by the classes alone, (1 + 1) / (1 + 2) = 2/3 for p; so does the pool.
           The class is q: each gradient is 2/3 log 2 = 0.462098, the sum of their squares 0.427069, and the weights go
           from 1/2 to 1/2 - 0.3 * 0.462098 / sqrt(1.427069) = 0.383953.
    row 3  counts of the short memory: (a, p) 1/2, (b, q) 1. The value a was seen less than once: naive Bayes answers,
           (1.5/3.5)(1.5/2.5) to (2/3.5)(1/3), that is 0.9 to 2/3. The long memory says 2 to 1. Log-odds of the pool:
           0.383953 (log 1.35 + log 2) = 0.381362.
"""

from __future__ import annotations

import math

import pytest

from tanager import HalfLives

ROWS, LABELS = [["a"], ["b"], ["a"]], ["p", "q", "p"]


def streamed(mix):
    model = HalfLives(half_lives=(1, math.inf), mix=mix).partial_fit(ROWS[:1], ["p"], classes=["p", "q"])
    return model, model.test_then_train(ROWS[1:], LABELS[1:])[:, 0].tolist()


def test_stacking_by_hand():
    model, proba = streamed("stacking")
    assert proba == pytest.approx([2 / 3, 1 / (1 + math.exp(-0.3813616))], abs=1e-6)
    # Row 3: gradients -0.121782 and -0.281278; 0.999 * 0.427069 and their squares are 0.520590 together.
    assert model.weights_ == pytest.approx({"1 row": 0.413581, "all rows": 0.452384}, abs=1e-6)


def test_fixed_share_by_hand():
    model, proba = streamed("fixed-share")
    short, long = 0.9 / (0.9 + 2 / 3), 2 / 3
    assert proba == pytest.approx([2 / 3, (short + long) / 2], abs=1e-12)
    expected = [0.99 * p / (short + long) + 0.005 for p in (short, long)]
    assert list(model.weights_.values()) == pytest.approx(expected, abs=1e-12)
