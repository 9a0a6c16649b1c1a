"""Known answers of parameters by conditional likelihood, on D12.

The logistic regressions were fitted by Newton's method, apart from the library; the exponents' gradient by the formula
as printed. Naive Bayes by maximum likelihood implies the numbers that are compared with them.
"""

import numpy as np
import pytest
from golden_data import X12, Y12

from tanager import NaiveBayes
from tanager.scoring.parameters import Exponents, Tables, maximise


def close(answer, expected, atol=1e-6):
    np.testing.assert_allclose(answer, expected, rtol=0, atol=atol)


def coefficients(model, n):
    """Intercept and slopes of the log-odds of class 1, for columns of two values."""
    corners = np.vstack([np.zeros(n), np.eye(n)]).astype(np.uint8)
    log_odds = np.diff(model.predict_log_joint(corners), axis=1)[:, 0]
    return [log_odds[0], *(log_odds[1:] - log_odds[0])]


def log_likelihood(model, X):
    return model.predict_log_proba(X)[np.arange(len(Y12)), Y12].sum()


def free(**options):
    return NaiveBayes(fit_by="conditional_likelihood", penalty=0, smoothing=0, **options)


def test_without_a_penalty_naive_bayes_becomes_logistic_regression():
    X = X12[:, :2]
    counted = NaiveBayes(smoothing=0).fit(X, Y12)
    close(coefficients(counted, 2), [-2.659260, 2.302585, 1.673976])
    close(log_likelihood(counted, X), -5.824528)
    learned = free().fit(X, Y12)
    close(coefficients(learned, 2), [-2.722961, 2.348867, 1.736954])
    close(log_likelihood(learned, X), -5.823416)
    close([learned.fitting_.before, learned.fitting_.after], [-5.824528, -5.823416])
    assert learned.fitting_.converged


def test_with_a_single_column_counting_is_best_already():
    X = X12[:, :1]
    for model in (NaiveBayes(smoothing=0), free()):
        close(coefficients(model.fit(X, Y12), 1), [-1.609438, 2.302585])
        close(log_likelihood(model, X), -6.522452)


def test_without_a_maximum_the_search_ends_where_nothing_is_gained():
    """Corners of x1, x4 with classes 0 and 1: 2 and 0 rows, 3 and 1, 2 and 1, 0 and 3. The first and last want odds of
    zero and infinity, and can come as near as they like while the others keep their shares."""
    X = X12[:, [0, 3]]
    model = free().fit(X, Y12)
    supremum = 3 * np.log(3 / 4) + np.log(1 / 4) + 2 * np.log(2 / 3) + np.log(1 / 3)
    close(model.fitting_.after, supremum)
    assert model.fitting_.after < supremum
    assert model.fitting_.n_steps < 100
    assert np.isfinite(model.predict_log_joint(X)).all()


def test_exponents_cannot_do_better_than_one_on_d12():
    model = NaiveBayes().fit(X12, Y12)
    view = model.view_
    tables = Tables(view)
    exponents = Exponents(tables, *tables.generative(view))
    rows = tables.kernel.rows(X12, Y12.astype(np.uint8))
    d_prior, d_cells = np.empty(2), np.empty((tables.n_places, 2))
    value = rows.gradient(*exponents.tables(exponents.start), d_prior, d_cells)
    close(value, -4.149226)
    close(exponents.pull(exponents.start, d_prior, d_cells), [0.758351, 0.012792, 0.289187, 0.362565, 0.214418])
    best, _ = maximise(exponents, rows, 0.0, 12.0)
    assert best.tolist() == [1.0] * 5
    assert set(NaiveBayes(fit_by="weights").fit(X12, Y12).weights_.values()) == {1.0}


@pytest.mark.parametrize("fit_by", ["likelihood", "conditional_likelihood", "elr"])
def test_where_naive_bayes_is_true_both_ways_find_it(fit_by):
    """Feelders, slide 20: the rows are all configurations, weighted by their probability."""
    given_class = np.array([[0.5, 0.3], [0.8, 0.6]])  # P(a_i = 1 | class)
    rows, labels, weights = [], [], []
    for c, prior in enumerate((0.4, 0.6)):
        for a in np.ndindex(2, 2):
            rows.append(a)
            labels.append(c)
            weights.append(prior * np.prod(np.where(a, given_class[c], 1 - given_class[c])))
    model = NaiveBayes(fit_by=fit_by, smoothing=0, penalty=0)
    model.fit(np.array(rows, dtype=np.uint8), labels, sample_weight=weights)
    close(coefficients(model, 2), [-1.070441, 1.386294, 1.252763])
