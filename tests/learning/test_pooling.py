"""Pools: weights by a slow and obvious search, answers worked by hand, laws."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tanager.learning.pooling import linear_pool, linear_pooled, log_pool, log_pooled


def answers(seed: int, n_members: int, n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members that know more or less about the rows, the true classes, and weights of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    z = rng.normal(size=(n_members, n_rows, n_classes))
    z[:, np.arange(n_rows), y] += rng.uniform(0, 2, (n_members, 1))
    p = np.exp(z)
    return p / p.sum(axis=2, keepdims=True), y, rng.uniform(0.2, 3, n_rows)


tables = st.builds(answers, st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 30), st.integers(2, 4))


def linear_loss(w, p, y, weights) -> float:
    return -sum(weights[r] * np.log(sum(w[m] * p[m, r, y[r]] for m in range(len(p))) / sum(w)) for r in range(len(y)))


def log_loss(w, p, y, weights, penalty) -> float:
    total = penalty * sum((wm - 1 / len(p)) ** 2 for wm in w)
    for r in range(len(y)):
        z = [sum(w[m] * np.log(p[m, r, c]) for m in range(len(p))) for c in range(p.shape[2])]
        total -= weights[r] * (z[y[r]] - np.log(np.sum(np.exp(z))))
    return total


def plain_em(p, y, weights, steps: int) -> np.ndarray:
    w = np.full(len(p), 1 / len(p))
    for _ in range(steps):
        shares = w[:, None] * p[:, np.arange(len(y)), y]
        w = (shares / shares.sum(axis=0)) @ weights / weights.sum()
    return w


@given(tables)
@example(answers(0, 3, 1, 3))  # one row, of which members differ in their answers alone
@example(answers(931, 5, 2, 4))  # a weight that comes near to zero would keep the others from moving
@example(answers(240, 5, 3, 3))
def test_a_linear_pool_is_at_least_as_good_as_a_thousand_steps_of_plain_em(table):
    p, y, weights = table
    w = linear_pool(p, y, weights)
    assert w.sum() == pytest.approx(1)
    assert (w >= 0).all()
    slow = plain_em(p, y, weights, 1000)
    assert linear_loss(w, p, y, weights) <= linear_loss(slow, p, y, weights) + 1e-6 * weights.sum()


@given(tables, st.sampled_from([0.1, 1.0, 10.0]))
def test_a_logarithmic_pool_is_what_a_plain_optimiser_finds(table, penalty):
    p, y, weights = table
    w = log_pool(np.log(p), y, weights, penalty=penalty)
    assert (w >= 0).all()
    slow = minimize(log_loss, np.full(len(p), 0.5), (p, y, weights, penalty), "L-BFGS-B", bounds=[(0, None)] * len(p)).x
    assert log_loss(w, p, y, weights, penalty) <= log_loss(slow, p, y, weights, penalty) + 1e-9
    np.testing.assert_allclose(w, slow, atol=2e-3)


@given(tables)
def test_weights_follow_members_and_do_not_mind_the_order_of_rows_and_classes(table):
    p, y, weights = table
    rng = np.random.default_rng(0)
    members, rows, classes = (rng.permutation(size) for size in p.shape)
    moved, labels = p[members][:, rows][:, :, classes], np.argsort(classes)[y[rows]]
    before, after = log_pool(np.log(p), y, weights), log_pool(np.log(moved), labels, weights[rows])
    np.testing.assert_allclose(after, before[members], atol=1e-5)
    found = linear_pool(moved, labels, weights[rows])  # not unique, but all are as good
    best = linear_loss(linear_pool(p, y, weights), p, y, weights)
    assert linear_loss(found, moved, labels, weights[rows]) == pytest.approx(best, abs=1e-5 * weights.sum())


@given(tables)
def test_a_row_of_weight_two_is_two_rows_and_a_row_of_weight_zero_is_none(table):
    p, y, _ = table
    weights = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weights)
    np.testing.assert_allclose(
        log_pool(np.log(p), y, weights), log_pool(np.log(p[:, repeated]), y[repeated]), atol=1e-6
    )
    np.testing.assert_allclose(linear_pool(p, y, weights), linear_pool(p[:, repeated], y[repeated]), atol=1e-6)


def test_a_linear_pool_by_hand():
    # One row is answered .8 and .2 by the two members, the other .2 and .6: with weight w for the first member the
    # likelihood (.2 + .6 w)(.6 - .4 w) has its largest value where .36 - .08 - .48 w = 0, w = 7/12.
    p = np.array([[[0.8, 0.2], [0.8, 0.2]], [[0.2, 0.8], [0.4, 0.6]]])
    np.testing.assert_allclose(linear_pool(p, np.array([0, 1])), [7 / 12, 5 / 12], atol=1e-4)


def test_a_logarithmic_pool_of_twins_shares_the_weight():
    # Two members that are the same count as one with the sum of their weights; the penalty makes these equal.
    log_p = np.log(np.array([[[0.8, 0.2]] * 10] * 2))
    w = log_pool(log_p, np.array([0] * 9 + [1]), penalty=1e-9)
    np.testing.assert_allclose(w, np.full(2, np.log(9) / np.log(4) / 2), atol=1e-5)


def test_nothing_to_learn_from_leaves_weights_equal():
    p = np.full((4, 3, 1), 1.0)
    for pool, table in ((linear_pool, p), (log_pool, np.log(p))):
        np.testing.assert_array_equal(pool(table, np.zeros(3, dtype=int)), np.full(4, 0.25))
        np.testing.assert_array_equal(pool(table[:, :0], np.zeros(0, dtype=int)), np.full(4, 0.25))
        np.testing.assert_array_equal(pool(table, np.zeros(3, dtype=int), np.zeros(3)), np.full(4, 0.25))


def test_members_that_rule_the_true_class_out_do_no_harm():
    p = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.7, 0.3], [0.6, 0.4]], [[0.0, 1.0], [0.0, 1.0]]])
    y = np.array([0, 0])
    w = linear_pool(p, y)
    assert np.isfinite(w).all()
    assert linear_pooled(p, w)[:, 0].min() > 0
    with np.errstate(divide="ignore"):
        v = log_pool(np.log(p), y)
        assert np.isfinite(v).all()
        assert log_pooled(np.log(p), v)[:, 0].min() > 0.5
    impossible = p[[0, 2]][:, :1]  # no member holds the class possible
    np.testing.assert_array_equal(linear_pool(impossible, y[:1]), [0.5, 0.5])


def test_answers_of_pools_by_hand():
    p = np.array([[[0.5, 0.5]], [[0.9, 0.1]]])
    np.testing.assert_allclose(linear_pooled(p, np.array([0.5, 0.5])), [[0.7, 0.3]])
    np.testing.assert_allclose(log_pooled(np.log(p), np.array([0.5, 0.5])), [[0.75, 0.25]])  # sqrt(9) : 1
