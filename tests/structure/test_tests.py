"""What the tests of independence decide, and what they say."""

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from tanager import GSquared, OptionError, Pearson, Sample, Threshold
from tanager.counts.sample import Information


def two_columns(n_rows, link, n_values=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n_values, n_rows)
    z = np.where(rng.random(n_rows) < link, x, rng.integers(0, n_values, n_rows))
    return Sample(np.c_[x, z].astype(np.uint8), [range(n_values)] * 2, ["x", "z"])


def test_a_threshold_is_the_last_value_that_counts_as_independent():
    assert Threshold(0.02).independent(Information(0.02, 10, 1, 1, 0))
    assert not Threshold(0.02).independent(Information(0.020001, 10, 1, 1, 0))
    assert Threshold(0).independent(Information(0.0, 10, 1, 1, 0))
    assert Threshold().strength(Information(0.3, 10, 1, 1, 0)) == 0.3


@pytest.mark.parametrize(("test", "name"), [(GSquared(), "log-likelihood"), (Pearson(), "pearson")])
@pytest.mark.parametrize("link", [0.0, 0.1, 0.5])
def test_statistics_and_probabilities_are_those_of_scipy(test, name, link):
    sample = two_columns(500, link)
    expected = chi2_contingency(sample.count("x", "z"), correction=False, lambda_=name)
    information = sample.information("x", "z")
    assert test.statistic(information) == pytest.approx(expected.statistic)
    assert test.p_value(information) == pytest.approx(expected.pvalue)
    assert information.df == expected.dof
    assert test.independent(information) == (expected.pvalue >= 0.05)
    assert (test.strength(information) > 1) == (expected.pvalue < 0.05)


@pytest.mark.parametrize("test", [GSquared(), Pearson()])
def test_independent_columns_are_called_dependent_as_often_as_the_level_says(test):
    rejected = np.mean([not test.independent(two_columns(400, 0.0, seed=s).information(0, 1)) for s in range(400)])
    assert rejected == pytest.approx(0.05, abs=0.03)


def test_with_fewer_than_five_rows_per_degree_of_freedom_there_is_no_edge():
    few = two_columns(19, 1.0).information("x", "z")  # four degrees of freedom, and as dependent as can be
    assert GSquared().independent(few)
    assert GSquared().strength(few) == 0
    assert GSquared().text(few) == "19 rows are too few for 4 degrees of freedom"
    assert not GSquared(guard=False).independent(few)
    assert not GSquared().independent(two_columns(20, 1.0).information("x", "z"))
    assert not Threshold(0.01).independent(few)


def test_degrees_of_freedom_may_be_counted_with_or_without_what_never_occurs():
    information = Information(value=0.03, rows=100, df=3, naive_df=4, pearson=6.2)
    assert GSquared().p_value(information) == pytest.approx(chi2.sf(6, 3))
    assert GSquared(naive=True).p_value(information) == pytest.approx(chi2.sf(6, 4))
    assert Pearson(naive=True).p_value(information) == pytest.approx(chi2.sf(6.2, 4))


@pytest.mark.parametrize("test", [GSquared(), Pearson()])
def test_without_a_degree_of_freedom_everything_is_independent(test):
    constant = Sample(np.zeros((50, 2), np.uint8), [(0,), (0, 1)], ["x", "z"]).information("x", "z")
    assert constant.df == 0
    assert test.p_value(constant) == 1
    assert test.strength(constant) == 0
    assert test.independent(constant)


def test_a_test_says_what_it_compared():
    information = Information(value=0.0123456, rows=200, df=2, naive_df=2, pearson=5.5)
    assert Threshold(0.01).text(information) == "I = 0.0123 > 0.01"
    assert Threshold(0.02).text(information) == "I = 0.0123 <= 0.02"
    assert GSquared().text(information) == "G² = 4.94, df 2, p = 0.0847 >= 0.05"
    assert Pearson(0.1).text(information) == "X² = 5.50, df 2, p = 0.0639 < 0.1"


@pytest.mark.parametrize("naive", ["x", 3, None, 1])
@pytest.mark.parametrize("test", [GSquared, Pearson])
def test_naive_is_true_or_false(test, naive):
    with pytest.raises(OptionError, match=r"naive=.* is not an option; choose one of True, False"):
        test(naive=naive)


@pytest.mark.parametrize(
    "make",
    [lambda: Threshold(-1), lambda: Threshold("high"), lambda: GSquared(0), lambda: Pearson(1), lambda: GSquared(True)],
)
def test_levels_and_thresholds_that_mean_nothing_are_refused(make):
    with pytest.raises(OptionError, match="must"):
        make()
