"""Known answers of measures and tests.

Wins and losses are those of AODE in Webb et al., anytime learning and classification (whose "2-tail p" holds one-tailed
values); the other numbers were computed apart from this library, from the formulas.
"""

import math

import numpy as np
import pytest

from tanager.evaluate import (
    auc,
    average_ranks,
    corrected_t,
    fading_mean,
    friedman,
    geometric_mean_ratio,
    nemenyi,
    sign_test,
)

ERRORS = [[0.10, 0.12, 0.15], [0.20, 0.18, 0.25], [0.05, 0.05, 0.09], [0.30, 0.33, 0.31], [0.11, 0.14, 0.16]]
DIFFERENCES = [0.02, 0.01, 0.03, -0.01, 0.02, 0, 0.01, 0.02, 0.03, 0.01]
# Demšar (2006): the studentised range over sqrt(2) for 2 to 10 classifiers.
PRINTED = {
    0.05: [1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.460, 2.589, 2.693, 2.780, 2.855, 2.920],
}


def close(answer, expected):
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("wins", "losses", "one_tailed", "two_tailed"),
    [
        (21, 10, 0.035378, 0.070756),
        (22, 13, 0.087733, 0.175465),
        (18, 16, 0.432083, 0.864166),
        (23, 14, 0.093871, 0.187742),
        (20, 17, 0.371415, 0.742829),
    ],
)
def test_the_sign_test(wins, losses, one_tailed, two_tailed):
    close(sign_test(wins, losses), (one_tailed, two_tailed))
    close(sign_test(losses, wins), (one_tailed, two_tailed))


def test_friedmans_test_without_a_correction_for_ties():
    found = friedman(ERRORS)
    close(found.mean_ranks, [1.3, 1.9, 2.8])
    close(average_ranks(ERRORS), [1.3, 1.9, 2.8])
    close([found.chi2, found.f, found.p], [5.7, 5.302326, 0.034188])
    assert found.n_datasets == 5


def test_scipy_corrects_for_ties_and_so_finds_more():
    from scipy.stats import friedmanchisquare

    close(friedmanchisquare(*np.transpose(ERRORS)).statistic, 6.0)


def test_the_critical_difference():
    close(nemenyi(3, 5), 1.482286)


@pytest.mark.parametrize("alpha", PRINTED)
def test_critical_differences_agree_with_the_printed_tables(alpha):
    for q, printed in enumerate(PRINTED[alpha], start=2):
        assert nemenyi(q, 1, alpha) / math.sqrt(q * (q + 1) / 6) == pytest.approx(printed, abs=6e-4)


def test_the_corrected_t():
    close(corrected_t(DIFFERENCES, ratio=1 / 9), (2.408865, 0.039322))
    close(corrected_t(DIFFERENCES, ratio=0), (3.5, 0.006724))


def test_the_area_under_the_curve():
    score = np.array([0.9, 0.6, 0.4, 0.6, 0.3, 0.4, 0.1])
    close(auc([1, 1, 1, 0, 0, 0, 0], np.column_stack([1 - score, score])), 0.833333)


def test_the_geometric_mean_of_ratios():
    close(geometric_mean_ratio([1.2, 0.8, 1.0, 0.9], [1, 1, 1, 1]), 0.964114)


def test_the_fading_mean():
    close(fading_mean([1, 0, 0, 1, 0], fade=0.9), [1, 0.473684, 0.298893, 0.502762, 0.379991])
