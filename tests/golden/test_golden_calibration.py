"""Calibration: powers worked by hand, a plain optimiser as twin, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tanager import AODE, NaiveBayes
from tanager.scoring.calibration import LEAST_POWER, PENALTY, Calibration, fit_power


def test_a_power_by_hand():
    # Every row is answered (q, 1 - q), and a share s of m rows is of the first class. With half a row of each class
    # more the share is s' = (s m + 1/2) / (m + 1), and the likelihood is largest where q^t / (q^t + (1 - q)^t) = s', so
    # t = logit(s') / logit(q). Here q = 0.9 and s' = (73 + 1/2) / (97 + 1) = 3/4: t = log 3 / log 9 = 1/2.
    log_q = np.log(np.tile([0.9, 0.1], (97, 1)))
    labels = np.array([0] * 73 + [1] * 24)
    power, offsets = fit_power(log_q, labels, np.ones(97))
    assert power == pytest.approx(0.5, abs=1e-9)
    assert offsets.tolist() == [0, 0]


def test_naive_bayes_that_counts_a_column_twice_is_corrected_by_hand():
    # A column and its copy, each row left out: a of 9 in 10 rows of class 0, of 1 in 10 of class 1, mirrored.
    # Left out, a row (a, 0) is answered with ((8 + 1) / (9 + 2))^2 10/21 : ((1 + 1) / (10 + 2))^2 11/21, a row (a, 1)
    # with ((9 + 1) / (10 + 2))^2 11/21 : ((0 + 1) / (9 + 2))^2 10/21; rows (b, .) are their mirror images.
    X = [["a", "a"]] * 9 + [["b", "b"]] + [["a", "a"]] + [["b", "b"]] * 9
    y = [0] * 10 + [1] * 10
    usual = np.log((9 / 11) ** 2 * 10) - np.log((2 / 12) ** 2 * 11)  # log-odds of the class of most rows like it
    odd = np.log((10 / 12) ** 2 * 11) - np.log((1 / 11) ** 2 * 10)  # against a row of the other class

    # 18 rows are usual and 2 odd; a row more, spread over all, adds 1/40 to both classes of each row.
    def likelihood(t):
        right, wrong = -np.logaddexp(0, -t * usual), -np.logaddexp(0, t * usual)
        other_right, other_wrong = -np.logaddexp(0, t * odd), -np.logaddexp(0, -t * odd)
        return 18 * (1.025 * right + 0.025 * wrong) + 2 * (1.025 * other_right + 0.025 * other_wrong)

    grid = np.linspace(0.3, 1.0, 70001)
    model = NaiveBayes(calibrate=True).fit(X, y)
    assert model.calibration_.power == pytest.approx(grid[np.argmax(likelihood(grid))], abs=2e-5)
    assert model.calibration_.how == "leave-one-out"
    # The answer to a row is that of naive Bayes, to the power.
    plain = NaiveBayes().fit(X, y).predict_proba([["a", "a"]])[0] ** model.calibration_.power
    np.testing.assert_allclose(model.predict_proba([["a", "a"]])[0], plain / plain.sum())


def loss_of(at, log_q, labels, weights, offsets):
    """The formula as it is written: log losses, one row spread over all rows and classes, and the penalty."""
    total, k = weights.sum(), log_q.shape[1]
    t, b = at[0], (at[1:] if offsets else np.zeros(k))
    loss = PENALTY * (b**2).sum()
    for r in range(len(labels)):
        z = t * log_q[r] + b
        log_p = z - np.log(np.exp(z - z.max()).sum()) - z.max()
        loss -= weights[r] * log_p[labels[r]] + weights[r] / total * log_p.mean()
    return loss


def random_answers(seed, n_rows, k):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n_rows)
    z = rng.normal(size=(n_rows, k)) * rng.uniform(0.2, 3)
    z[np.arange(n_rows), labels] += rng.uniform(-0.5, 2)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True)), labels, rng.uniform(0.1, 2, n_rows)


answers = st.builds(random_answers, st.integers(0, 10**6), st.integers(1, 25), st.integers(2, 4))


@given(answers, st.booleans())
def test_powers_and_offsets_are_those_of_a_plain_optimiser(table, offsets):
    log_q, labels, weights = table
    power, b = fit_power(log_q, labels, weights, offsets=offsets)
    k = log_q.shape[1]
    start = [1.0, *([0.0] * k if offsets else [])]
    bounds = [(LEAST_POWER, None), *([(None, None)] * k if offsets else [])]
    found = minimize(loss_of, start, (log_q, labels, weights, offsets), "L-BFGS-B", bounds=bounds)
    ours = loss_of(np.array([power, *b]), log_q, labels, weights, offsets)
    assert ours <= found.fun + 1e-9
    assert power == pytest.approx(found.x[0], abs=1e-3)
    assert b.sum() == pytest.approx(0, abs=1e-9)


@given(answers, st.booleans())
def test_the_order_of_classes_does_not_matter(table, offsets):
    log_q, labels, weights = table
    moved = np.random.default_rng(0).permutation(log_q.shape[1])
    power, b = fit_power(log_q, labels, weights, offsets=offsets)
    other, c = fit_power(log_q[:, moved], np.argsort(moved)[labels], weights, offsets=offsets)
    assert other == pytest.approx(power, rel=1e-5)
    np.testing.assert_allclose(c, b[moved], atol=1e-5)


@given(answers, st.booleans())
def test_what_is_maximised_is_concave(table, offsets):
    log_q, labels, weights = table
    rng = np.random.default_rng(1)
    ends = rng.uniform(0.1, 3, (2, 1 + log_q.shape[1]))
    loss = [loss_of(at, log_q, labels, weights, offsets) for at in (ends[0], ends.mean(axis=0), ends[1])]
    assert loss[1] <= (loss[0] + loss[2]) / 2 + 1e-9


def test_answers_that_are_always_right_are_never_quite_sure():
    log_q = np.log(np.tile([0.9, 0.1], (50, 1)))
    power, _ = fit_power(log_q, np.zeros(50, dtype=int), np.ones(50))
    assert power == pytest.approx(np.log(101) / np.log(9), abs=1e-6)  # 50.5 of 51


def test_answers_that_are_worse_than_none_become_even():
    log_q = np.log(np.tile([0.9, 0.1], (50, 1)))
    assert fit_power(log_q, np.ones(50, dtype=int), np.ones(50))[0] == LEAST_POWER


def test_offsets_need_many_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (1200, 4)), rng.integers(0, 2, 1200)
    few, many = (AODE(calibrate=True).fit(X[:m], y[:m]).calibration_ for m in (900, 1200))
    assert few.offsets == (0.0, 0.0)
    assert many.offsets != (0.0, 0.0)
    assert many.log_loss <= many.log_loss_before + 1e-6
    assert Calibration.from_plain(many.to_plain(), 2) == many
