"""Known answers: moments and decay."""

import numpy as np
from golden_data import X12, Y12

from tanager import AODE
from tanager.counts.moments import Moments

VALUES = np.array([2.0, 4, 4, 4, 5, 5, 7, 9])[:, None]


def moments(values):
    return Moments(1, 1).update(values, np.zeros(len(values), dtype=np.uint8))


def state(m):
    return m.weight[0, 0], m.mean[0, 0], m.squares[0, 0]


def test_mean_and_variance():
    weight, mean, squares = state(moments(VALUES))
    assert mean == 5
    np.testing.assert_allclose([squares / weight, squares / (weight - 1)], [4, 4.571429], atol=1e-6)


def test_large_numbers_keep_their_variance():
    weight, _, squares = state(moments(1e9 + np.array([[4.0], [7], [13], [16]])))
    np.testing.assert_allclose(squares / (weight - 1), 30, rtol=1e-12)


def test_merging_the_first_three_and_the_last_five():
    np.testing.assert_allclose(state(moments(VALUES[:3]).merge(moments(VALUES[3:]))), (8, 5, 32), rtol=1e-12)


def test_taking_the_nine_away():
    m = moments(VALUES).subtract(np.array([[9.0]]), np.zeros(1, dtype=np.uint8))
    np.testing.assert_allclose(state(m), (7, 4.428571, 13.714286), atol=1e-6)


def test_class_weights_after_decay():
    counts = AODE().fit(X12, Y12).counts_
    counts.subtract(X12, Y12.astype(np.uint8))
    for r in range(12):
        counts.decay(0.9).update(X12[r : r + 1], Y12[r : r + 1].astype(np.uint8))
    np.testing.assert_allclose(counts.class_counts, [3.080604635, 4.095100000], atol=5e-10)
    np.testing.assert_allclose(counts.n_rows, (1 - 0.9**12) / 0.1, rtol=1e-12)
