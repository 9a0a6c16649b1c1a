"""Tests of differences: slow twins, SciPy where it has the same one, and laws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tanager.errors import DataError, OptionError
from tanager.evaluate import (
    average_ranks,
    corrected_margin,
    corrected_t,
    equivalence,
    friedman,
    geometric_mean_ratio,
    nemenyi,
    ranks,
    sign_test,
    win_draw_loss,
)

values = st.lists(st.integers(-5, 5).map(lambda v: v / 100), min_size=2, max_size=20)
losses = st.lists(st.integers(1, 20).map(lambda v: v / 100), min_size=1, max_size=12)


@st.composite
def grids(draw):
    """Losses with ties, data sets by classifiers."""
    n, q = draw(st.integers(2, 8)), draw(st.integers(2, 5))
    return np.random.default_rng(draw(st.integers(0, 10**6))).integers(1, 6, (n, q)) / 10


@given(values, st.floats(0, 1))
def test_the_corrected_t_is_the_usual_one_with_a_larger_error(d, ratio):
    t, p = corrected_t(d, ratio)
    if np.ptp(d) == 0:
        assert (t, p) == ((0, 1) if d[0] == 0 else (math.copysign(math.inf, d[0]), 0))
        return
    usual = stats.ttest_1samp(d, 0)
    assert corrected_t(d, 0) == pytest.approx((usual.statistic, usual.pvalue))
    assert t == pytest.approx(usual.statistic / math.sqrt(1 + len(d) * ratio))
    assert p >= usual.pvalue - 1e-12


@given(values)
def test_turning_the_difference_round_turns_t_round(d):
    t, p = corrected_t(d, 0.1)
    assert corrected_t([-v for v in d], 0.1) == pytest.approx((-t, p))


@given(values)
def test_a_mean_is_significant_where_the_margin_does_not_reach_zero(d):
    _, p = corrected_t(d, 0.1)
    if np.ptp(d) > 0:
        assert (abs(np.mean(d)) > corrected_margin(d, 0.1)) == (p < 0.05)


def test_differences_that_are_equal_but_for_rounding_have_no_spread():
    assert corrected_t([0.1 + 0.2, 0.3, 0.3], 0.1) == (math.inf, 0.0)
    assert corrected_t([0.0, 0.0], 0.1) == (0.0, 1.0)


def test_one_fold_has_no_spread_to_judge_by():
    assert all(map(math.isnan, corrected_t([0.1], 0.1)))
    assert math.isnan(corrected_margin([0.1], 0.1))


@given(values, st.floats(0.001, 0.2))
def test_equivalence_is_the_weaker_of_two_one_sided_tests(d, margin):
    found = equivalence(d, margin)
    assert found.mean == pytest.approx(np.mean(d))
    if np.ptp(d) == 0:
        assert (found.p, found.low, found.high) == (abs(d[0]) >= margin, found.mean, found.mean)
        return
    above = stats.ttest_1samp(d, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(d, margin, alternative="less").pvalue
    assert found.p == pytest.approx(max(above, below))
    interval = stats.ttest_1samp(d, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(interval))


@given(values, st.floats(0.001, 0.2), st.floats(0, 1))
def test_equivalent_is_what_has_its_interval_within_the_margin(d, margin, ratio):
    found = equivalence(d, margin, ratio=ratio)
    if np.ptp(d) > 0 and abs(found.p - 0.05) > 1e-9:
        assert (found.p < 0.05) == (-margin < found.low and found.high < margin)
        assert found.high - found.mean == pytest.approx(corrected_margin(d, ratio, level=0.9))


@given(values)
def test_equivalence_does_not_depend_on_which_one_is_first(d):
    one, other = equivalence(d, 0.02), equivalence([-v for v in d], 0.02)
    assert (one.p, one.low) == pytest.approx((other.p, -other.high))


def test_one_difference_shows_no_equivalence():
    assert math.isnan(equivalence([0.0], 0.1).p)


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_sign_test_is_a_fair_coin(wins, losses):
    one, two = sign_test(wins, losses)
    if wins + losses:
        more = max(wins, losses)
        assert one == pytest.approx(stats.binomtest(more, wins + losses, alternative="greater").pvalue)
        assert two == pytest.approx(stats.binomtest(more, wins + losses).pvalue)
    else:
        assert (one, two) == (1, 1)


def test_the_sign_test_takes_thousands_of_data_sets():
    assert sign_test(3000, 2000)[0] < 1e-40


@given(grids())
def test_wins_draws_and_losses_agree_with_counting(grid):
    a, b = grid[:, 0], grid[:, 1]
    pairs = list(zip(a, b, strict=True))
    expected = (sum(x < y for x, y in pairs), sum(x == y for x, y in pairs), sum(x > y for x, y in pairs))
    assert win_draw_loss(a, b) == expected
    assert win_draw_loss(a + 1e-12, b) == expected
    assert win_draw_loss(b, a) == expected[::-1]


@given(losses, st.integers(0, 10**6))
def test_the_geometric_mean_of_ratios_is_its_own_inverse(a, seed):
    b = np.random.default_rng(seed).permutation(a)
    ratio = geometric_mean_ratio(a, b)
    assert ratio == pytest.approx(math.prod(x / y for x, y in zip(a, b, strict=True)) ** (1 / len(a)))
    assert geometric_mean_ratio(b, a) == pytest.approx(1 / ratio)


def test_half_an_error_is_added_to_both_where_one_made_none():
    assert geometric_mean_ratio([0.0, 0.2], [0.02, 0.1], counts=[100, 100]) == pytest.approx(math.sqrt(0.5 / 2.5 * 2))
    assert geometric_mean_ratio([0.0], [0.0], counts=[50]) == 1
    with pytest.raises(DataError, match=r"data set 1 has a loss of 0.*counts="):
        geometric_mean_ratio([0.1, 0.0], [0.1, 0.1])


@given(grids())
def test_ranks_are_those_of_scipy(grid):
    np.testing.assert_array_equal(ranks(grid), stats.rankdata(grid, axis=1))
    np.testing.assert_allclose(average_ranks(grid), stats.rankdata(grid, axis=1).mean(axis=0))
    np.testing.assert_array_equal(ranks(grid + 1e-13), ranks(grid))


@given(grids())
def test_friedman_without_ties_is_that_of_scipy(grid):
    grid = grid + np.random.default_rng(0).permutation(grid.size).reshape(grid.shape) * 1e-4
    if grid.shape[1] > 2:  # SciPy asks for three
        assert friedman(grid).chi2 == pytest.approx(stats.friedmanchisquare(*grid.T).statistic)


def test_classifiers_in_the_same_order_everywhere_differ_as_surely_as_there_are_data_sets():
    found = friedman([[0.1, 0.2, 0.3]] * 4)
    assert (found.chi2, found.f) == (8, math.inf)
    assert found.p == pytest.approx(math.exp(-4))
    assert friedman([[0.1, 0.2]] * 2).p > 0.1


def test_equal_classifiers_do_not_differ():
    found = friedman([[0.1, 0.1]] * 4)
    assert (found.mean_ranks, found.chi2, found.p) == ((1.5, 1.5), 0, 1)


def test_the_critical_difference_grows_with_classifiers_and_falls_with_data_sets():
    assert all(a < b for a, b in pairwise(nemenyi(q, 10) for q in (2, 5, 10, 20)))
    assert nemenyi(4, 40) == pytest.approx(nemenyi(4, 10) / 2)
    assert nemenyi(4, 10, alpha=0.1) < nemenyi(4, 10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: corrected_t([0.1, math.nan], 0.1), DataError, "1 NaN"),
        (lambda: corrected_t([0.1, 0.2], -1), OptionError, "ratio=-1"),
        (lambda: equivalence([0.1, 0.2], 0.0), OptionError, "margin=0.0 must be above 0"),
        (lambda: equivalence([0.1, 0.2], 0.1, alpha=0.5), OptionError, "alpha=0.5"),
        (lambda: win_draw_loss([0.1], [0.1, 0.2]), DataError, "one loss per data set"),
        (lambda: geometric_mean_ratio([-0.1], [0.1]), DataError, "losses of at least 0"),
        (lambda: ranks([[0.1, math.nan]]), DataError, "Leave out data sets that some classifier lacks"),
        (lambda: friedman([[0.1, 0.2]]), DataError, "needs two data sets"),
        (lambda: nemenyi(1, 5), DataError, "two classifiers"),
        (lambda: nemenyi(3, 5, alpha=5), OptionError, "alpha=5"),
    ],
)
def test_what_cannot_be_tested_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
