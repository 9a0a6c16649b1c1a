"""fit_by="factor_weights": a twin with plain loops, answers by hand, and the doors that all parameters have."""

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize

from registry import small_table
from strategies import tables
from tanager import BAN, FAN, TAN, NaiveBayes, load
from tanager.learning.factor_weights import PENALTY, evenly, left_out_factors

X, y = small_table(150)


def plain_factors(model, table):
    """P(y) and P(x_i | y) of naive Bayes by Laplace's rule, each row taken out by learning the others again."""
    k, out = len(model.classes_), []
    for r in range(len(table.y)):
        rest = NaiveBayes(schema=model.encoder_.schema)
        rest.partial_fit(np.delete(table.X, r, axis=0), np.delete(table.y, r), classes=model.classes_)
        lines = [np.log((rest.class_count_ + 1) / (rest.class_count_.sum() + k))]
        for i, column in enumerate(model.encoder_.schema.columns):
            cells, value = rest.counts_.joint(i), table.X[r][i]
            place = None if value is None else column.values.index(value)
            share = (cells + 1) / (cells.sum(axis=1, keepdims=True) + cells.shape[1])
            lines.append(np.zeros(k) if place is None else np.log(share[:, place]))
        out.append(lines)
    return np.array(out).transpose(1, 0, 2)  # factors, rows, classes


@given(table=tables(min_rows=3, max_rows=8))
def test_weights_are_those_of_a_plain_search_over_rows_learned_again(table):
    model = NaiveBayes(fit_by="factor_weights").fit(table.X, table.y)
    logs = plain_factors(model, table)
    np.testing.assert_allclose(left_out_factors(model.view_, model.memory.rows.block), logs, atol=1e-9)
    labels = np.searchsorted(model.classes_, table.y)

    def loss(w):
        z = np.tensordot(w, logs, axes=1)
        own = z[np.arange(len(labels)), labels] - np.log(np.exp(z).sum(axis=1))
        return PENALTY * ((w - 1) ** 2).sum() - own.sum()

    slow = minimize(loss, np.ones(len(logs)), method="L-BFGS-B", bounds=[(0, None)] * len(logs)).x
    np.testing.assert_allclose(list(model.weights_.values()), slow[1:], atol=1e-3)
    assert loss(np.array([slow[0], *model.weights_.values()])) <= loss(slow) + 1e-5


@given(table=tables(weighted=True))
def test_held_by_a_heavy_penalty_the_answers_are_the_counted_ones(table):
    for kind, options in ((NaiveBayes, {}), (TAN, {"unseen": "smooth"}), (FAN, {"smoothing": 0.5})):
        counted = kind(**options).fit(table.X, table.y, sample_weight=table.w)
        held = kind(fit_by="factor_weights", penalty=1e12, **options).fit(table.X, table.y, sample_weight=table.w)
        np.testing.assert_allclose(held.predict_proba(table.Q), counted.predict_proba(table.Q), atol=1e-7)


@given(table=tables(min_rows=2))
def test_a_weight_is_a_repetition(table):
    w = np.arange(len(table.y)) % 3
    w[0] = 2
    weighted = TAN(fit_by="factor_weights").fit(table.X, table.y, sample_weight=w)
    repeated = TAN(fit_by="factor_weights", schema=weighted.encoder_.schema)
    repeated.partial_fit(np.repeat(table.X, w, axis=0), np.repeat(table.y, w), classes=weighted.classes_)
    np.testing.assert_allclose(repeated.predict_proba(table.Q), weighted.predict_proba(table.Q), atol=1e-6)


def test_columns_that_say_the_same_share_their_weight():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 2000)
    column = np.where(rng.random(2000) < 0.8, label, 1 - label)
    once = NaiveBayes(fit_by="factor_weights").fit(column[:, None], label)
    thrice = NaiveBayes(fit_by="factor_weights").fit(np.column_stack([column] * 3), label)
    assert once.weights_["x0"] == pytest.approx(1.0, abs=0.02)
    assert sum(thrice.weights_.values()) == pytest.approx(1.0, abs=0.05)
    assert thrice.fitting_.after > thrice.fitting_.before


@pytest.mark.parametrize("model", [NaiveBayes, TAN, FAN, BAN])
def test_files_explanations_and_calibration_work_as_with_other_parameters(model, tmp_path):
    learned = model(fit_by="factor_weights").fit(X, y)
    learned.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), learned.predict_proba(X))
    assert again.weights_ == learned.weights_
    why = learned.explain(X[:1])
    proba = dict(zip(learned.classes_.tolist(), learned.predict_proba(X[:1])[0].tolist(), strict=True))
    assert why.log_odds == pytest.approx(np.log(proba[why.answer] / proba[why.against]))
    assert model(fit_by="factor_weights", calibrate=True).fit(X, y).calibration_.how == "folds"


def test_rows_asked_about_are_spread_evenly():
    assert evenly(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert evenly(101, 3).tolist() == [0, 50, 100]
