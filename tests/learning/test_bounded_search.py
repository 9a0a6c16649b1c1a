"""The search for numbers of at least zero: scipy's as its twin, bounds that hold, and what is known beforehand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from profiles import examples
from tanager.learning.bounded_search import Bends, smallest, start_at


def log_loss(seed: int, n: int, pull: float):
    """A logistic loss over some rows with a pull towards a point that may lie below zero."""
    rng = np.random.default_rng(seed)
    rows, centre = rng.normal(size=(3 * n, n)), rng.normal(size=n)

    def function(w):
        odds, away = rows @ w, w - centre
        value = np.logaddexp(0, -odds).sum() + pull * away @ away
        return float(value), -rows.T @ (1 / (1 + np.exp(odds))) + 2 * pull * away

    return function


def found_from(function, start, bends, most_steps, least_gain):
    return smallest(function, start_at(function, start), bends, most_steps, least_gain).at


@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from([0.01, 1.0, 100.0]))
@examples(40)
def test_it_finds_what_scipy_finds(seed, n, pull):
    function = log_loss(seed, n, pull)
    start = np.random.default_rng(seed + 1).random(n)
    found = found_from(function, start, Bends(), 300, 1e-13)
    twin = minimize(function, start, jac=True, bounds=[(0, None)] * n, options={"ftol": 1e-14, "maxiter": 2000})
    assert (found >= 0).all()
    assert function(found)[0] == pytest.approx(twin.fun, rel=1e-8)


def test_numbers_that_would_go_below_zero_are_zero():
    centre = np.array([2.0, -1.0, 0.0])
    found = found_from(lambda w: (float((w - centre) @ (w - centre)), 2 * (w - centre)), np.ones(3), Bends(), 50, 0.0)
    np.testing.assert_allclose(found, [2, 0, 0], atol=1e-9)
    assert found[1] == 0


def test_bends_of_a_weaker_pull_save_steps():
    """What is known of a loss with another pull is the same but for what the pull adds."""
    asked = []

    def counting(function):
        def counted(w):
            asked.append(w)
            return function(w)

        return counted

    weak, strong, bends = log_loss(3, 40, 1.0), log_loss(3, 40, 1.5), Bends()
    at = found_from(weak, np.ones(40), bends, 100, 1e-9)
    fresh = found_from(counting(strong), at, Bends(), 100, 1e-9)
    alone = len(asked)
    helped = found_from(counting(strong), at, bends.stiffer(1.0), 100, 1e-9)
    assert len(asked) - alone < alone
    assert strong(helped)[0] == pytest.approx(strong(fresh)[0], rel=1e-6)


def test_bends_of_two_alike_tell_of_their_sum():
    """The steps are those of either, most lately the last ones, and slopes change as much in both."""
    first, second = Bends(), Bends()
    for k in range(12):
        step = np.eye(12)[k] + 0.1
        first.add(step, 2 * step)
        second.add(-step, -3 * step)
    both = first.of_twice(second)
    assert len(both.steps) == 10
    np.testing.assert_allclose(both.steps[-2:], [np.eye(12)[11] + 0.1, -np.eye(12)[11] - 0.1])
    np.testing.assert_allclose(both.changes[-2:], [4 * both.steps[-2], 6 * both.steps[-1]])
    assert first.of_twice(Bends()).n == 0


def two_loops(bends, slope, free):
    """The direction of L-BFGS among the free numbers, one step after the other."""
    way, used = np.where(free, -slope, 0.0), []
    for step, change in zip(reversed(bends.steps), reversed(bends.changes), strict=True):
        own, change = np.where(free, step, 0.0), np.where(free, change, 0.0)
        if own @ change > 0:
            share = own @ way / (own @ change)
            way = way - share * change
            used.append((own, change, share))
    if used:
        own, change, _ = used[0]
        way = way * (own @ change) / (change @ change)
    for own, change, share in reversed(used):
        way = way + (share - change @ way / (own @ change)) * own
    return way


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(0, 14))
@examples(40)
def test_the_direction_is_that_of_the_two_loops(seed, n, n_steps):
    rng = np.random.default_rng(seed)
    bends, half = Bends(), rng.normal(size=(n, n))
    for _ in range(n_steps):
        step = rng.normal(size=n)
        bends.add(step, half @ (half.T @ step) + rng.normal(size=n))
    slope, free = rng.normal(size=n), rng.random(n) < 0.7
    want = two_loops(bends, slope, free)
    np.testing.assert_allclose(bends.direction(slope, free), want, atol=1e-9 * (1 + np.abs(want).max()), rtol=1e-6)


def test_a_search_goes_on_where_it_was_left():
    """Some steps and then the others are all steps; a point says whether the search has ended there."""
    function = log_loss(5, 20, 0.1)
    whole = smallest(function, start_at(function, np.ones(20)), Bends(), 100, 1e-6)
    bends = Bends()
    part = smallest(function, start_at(function, np.ones(20)), bends, 3, 1e-6)
    assert whole.last
    assert not part.last
    np.testing.assert_array_equal(smallest(function, part, bends, 97, 1e-6).at, whole.at)


def test_a_pull_is_added_to_a_point_and_taken_away():
    function, centre = log_loss(2, 6, 0.0), np.linspace(0, 1, 6)
    point = start_at(function, np.arange(6.0))
    pulled = point.pulled(2.0, centre)
    away = point.at - centre
    assert pulled.value == pytest.approx(point.value + 2 * away @ away)
    np.testing.assert_allclose(pulled.slope, point.slope + 4 * away)
    np.testing.assert_allclose(pulled.pulled(-2.0, centre).slope, point.slope, atol=1e-12)


def test_the_search_ends_where_nothing_leads_down():
    found = found_from(lambda w: (float(w.sum()), np.ones(2)), np.zeros(2), Bends(), 10, 0.0)
    assert found.tolist() == [0, 0]
    stuck = found_from(lambda w: (0.0, -np.ones(2)), np.ones(2), Bends(), 10, 0.0)
    assert stuck.tolist() == [1, 1]
