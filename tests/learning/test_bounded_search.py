"""The search for numbers of at least zero: scipy's as its twin, bounds that hold, and what is known beforehand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from profiles import examples
from tanager.learning.bounded_search import Bends, smallest


def log_loss(seed: int, n: int, pull: float):
    """A logistic loss over some rows with a pull towards a point that may lie below zero."""
    rng = np.random.default_rng(seed)
    rows, centre = rng.normal(size=(3 * n, n)), rng.normal(size=n)

    def function(w):
        odds, away = rows @ w, w - centre
        value = np.logaddexp(0, -odds).sum() + pull * away @ away
        return float(value), -rows.T @ (1 / (1 + np.exp(odds))) + 2 * pull * away

    return function


@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from([0.01, 1.0, 100.0]))
@examples(40)
def test_it_finds_what_scipy_finds(seed, n, pull):
    function = log_loss(seed, n, pull)
    start = np.random.default_rng(seed + 1).random(n)
    found, _ = smallest(function, start, Bends(), 300, 1e-13)
    twin = minimize(function, start, jac=True, bounds=[(0, None)] * n, options={"ftol": 1e-14, "maxiter": 2000})
    assert (found >= 0).all()
    assert function(found)[0] == pytest.approx(twin.fun, rel=1e-8)


def test_numbers_that_would_go_below_zero_are_zero():
    centre = np.array([2.0, -1.0, 0.0])
    found, _ = smallest(lambda w: (float((w - centre) @ (w - centre)), 2 * (w - centre)), np.ones(3), Bends(), 50, 0.0)
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

    start, weak, strong = np.ones(40), log_loss(3, 40, 1.0), log_loss(3, 40, 1.5)
    at, bends = smallest(weak, start, Bends(), 100, 1e-9)
    fresh, _ = smallest(counting(strong), at, Bends(), 100, 1e-9)
    alone = len(asked)
    helped, _ = smallest(counting(strong), at, bends.stiffer(1.0), 100, 1e-9)
    assert len(asked) - alone < alone
    assert strong(helped)[0] == pytest.approx(strong(fresh)[0], rel=1e-6)


def test_the_search_ends_where_nothing_leads_down():
    found, _ = smallest(lambda w: (float(w.sum()), np.ones(2)), np.zeros(2), Bends(), 10, 0.0)
    assert found.tolist() == [0, 0]
    stuck, _ = smallest(lambda w: (0.0, -np.ones(2)), np.ones(2), Bends(), 10, 0.0)
    assert stuck.tolist() == [1, 1]
