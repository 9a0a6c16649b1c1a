"""Known answers on D12 and D10: scores of families, tests of independence, information; and a line of log-odds.

All numbers were computed by brute force, apart from the library.
"""

import numpy as np
import pytest
from golden_data import D10, X12, Y12

from tanager import GSquared, NaiveBayes, Pearson, Sample
from tanager.structure.scores import aic, bdeu, bic, k2, log_likelihood


def close(answer, expected):
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def d12():
    columns = {f"x{i + 1}": X12[:, i].tolist() for i in range(5)}
    return Sample.of({**columns, "y": Y12.tolist()})


@pytest.fixture(scope="module")
def d10():
    return Sample((D10).astype(np.uint8), [(1, 2), (1, 2), (1, 2), (1, 2, 3)], ["X1", "X2", "X3", "X4"])


@pytest.mark.parametrize(
    ("child", "parents", "expected"),
    [
        ("x3", [], [-12.930676, -14.930676, -15.415583, -14.740769, -16.003829]),
        ("x3", ["y"], [-10.918004, -14.918004, -15.887817, -14.277734, -16.989112]),
        ("x3", ["x1", "y"], [-8.910236, -16.910236, -18.849862, -14.123583, -19.455499]),
        ("x1", ["y"], [-6.689899, -8.689899, -9.174806, -8.525161, -9.797106]),
        ("x1", ["x2", "y"], [-6.408224, -10.408224, -11.378037, -9.169518, -12.609552]),
        ("x2", ["y"], [-7.282369, -9.282369, -9.767276, -9.035987, -10.433094]),
        ("x2", ["x1", "y"], [-7.000693, -11.000693, -11.970507, -9.574983, -13.245541]),
    ],
)
def test_scores_of_families_of_d12(d12, child, parents, expected):
    close([score((child, parents), d12) for score in (log_likelihood, aic, bic, k2, bdeu)], expected)


@pytest.mark.parametrize(("score", "there", "back"), [(bdeu, -2.812447, -2.812447), (k2, -0.538996, -0.644357)])
def test_the_gain_of_an_arc_in_both_directions(d12, score, there, back):
    close(score(("x2", ["x1", "y"]), d12) - score(("x2", ["y"]), d12), there)
    close(score(("x1", ["x2", "y"]), d12) - score(("x1", ["y"]), d12), back)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ("x1", [3.255734, 3.085714, 1, 0.071174, 0.078983]),
        ("x2", [1.735901, 1.655510, 1, 0.187659, 0.198211]),
        ("x3", [4.025344, 2.948571, 2, 0.133631, 0.228942]),
        ("x5", [0.344702, 0.342857, 1, 0.557128, 0.558185]),
    ],
)
def test_independence_of_columns_and_class_of_d12(d12, x, expected):
    found, g, x2 = d12.information(x, "y"), GSquared(), Pearson()
    close([g.statistic(found), x2.statistic(found), found.df, g.p_value(found), x2.p_value(found)], expected)


def test_structural_zeros_take_degrees_of_freedom(d12):
    """x3 = 0 never occurs in class 1."""
    found = d12.information("x3", "x4", ["y"])
    close(GSquared().statistic(found), 6.926568)
    assert (found.df, found.naive_df) == (3, 4)
    close(GSquared().p_value(found), 0.074275)
    close(GSquared(naive=True).p_value(found), 0.139820)
    other = d12.information("x1", "x4", ["y"])
    close([GSquared().statistic(other), other.df, GSquared().p_value(other)], [3.335940, 2, 0.188630])


@pytest.mark.parametrize(
    ("x", "z", "given", "expected"),
    [
        ("X1", "X4", [], 0.554518),
        ("X2", "X3", [], 0.032189),
        ("X2", "X4", [], 0.032189),
        ("X3", "X4", [], 0.032189),
        ("X1", "X2", [], 0),
        ("X1", "X3", [], 0),
        ("X1", "X2", ["X4"], 0.138629),
        ("X1", "X3", ["X4"], 0.138629),
        ("X2", "X3", ["X4"], 0.311239),
        ("X1", "X4", ["X2"], 0.693147),
        ("X1", "X4", ["X3"], 0.693147),
        ("X2", "X3", ["X1"], 0.152474),
        ("X2", "X3", ["X1", "X4"], 0.172609),
    ],
)
def test_information_of_d10(d10, x, z, given, expected):
    close(d10.information(x, z, given).value, expected)


def test_entropies_of_d10(d10):
    for name, expected in (("X1", 0.693147), ("X3", 0.673012), ("X4", 1.054920)):
        close(-log_likelihood((name, []), d10) / 10, expected)


def test_naive_bayes_on_two_binary_columns_is_linear_in_the_log_odds():
    """Feelders' slide 20, whose conditionals follow from its coefficients. Its alpha of -1.071 adds rounded terms."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, dtype=np.uint8)
    y = np.repeat([0, 1], 4)
    prior, ones = np.array([0.4, 0.6]), np.array([[0.5, 0.3], [0.8, 0.6]])  # P(c), P(a = 1 | c)
    weights = prior[y] * np.where(X == 1, ones[y], 1 - ones[y]).prod(axis=1)
    joint = NaiveBayes(smoothing=0).fit(X, y, sample_weight=weights).predict_log_joint(X[:4])
    alpha, at_01, at_10, at_11 = joint[:, 1] - joint[:, 0]
    beta1, beta2 = at_10 - alpha, at_01 - alpha
    close([beta1, beta2, alpha], [1.386294, 1.252763, -1.070441])
    close(alpha - np.log(prior[1] / prior[0]), -1.475907)
    close([at_10, 1 / (1 + np.exp(-at_10))], [0.315853, 0.578313])
    close([-alpha / beta2, beta1 / beta2], [0.854464, 1.106590])  # the boundary a2 = u - v a1
    close(at_11, alpha + beta1 + beta2)
