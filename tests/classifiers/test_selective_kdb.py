"""SelectiveKDB chooses what a plain search over all nested networks chooses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from strategies import tables
from tanager import KDB, BackOff, BDeu, Lidstone, OptionError, PriorCounts, SchemaMismatch, SelectiveKDB, load
from tanager.learning.rows import KeptRows


def slow_losses(data, k, loss, smoothing):
    """Every nested network from scratch, every row really left out (of a weight above one, one)."""
    score = [oracle.class_information(data, i) for i in range(data.n)]
    order = sorted(range(data.n), key=lambda i: (-score[i], i))
    parents = oracle.kdb_parents(data, k)
    counts = [oracle.count(data, {}, y) for y in range(data.k)]
    out = np.zeros((k + 1, data.n + 1))
    for j in range(k + 1):
        for t in range(data.n + 1):
            terms = [(i, parents[i][:j], 1.0, ()) for i in order[:t]]
            for r, (x, y, w) in enumerate(zip(data.rows, data.labels, data.weights, strict=True)):
                left = [max(v - 1, 0.0) if q == r else v for q, v in enumerate(data.weights)]
                rest = replace(data, weights=tuple(left))
                proba = oracle.posterior(rest, oracle.product_of_terms(rest, x, terms, (), smoothing))
                answer = max(range(data.k), key=lambda c: (round(proba[c], 9), counts[c], -c))
                out[j, t] += w * ((1 - proba[y]) ** 2 if loss == "rmse" else answer != y)
    mean = out / sum(data.weights)
    return np.sqrt(mean) if loss == "rmse" else mean


@examples(20)
@given(
    table=tables(min_rows=3, max_rows=10, max_columns=3, weighted=True),
    k=st.integers(0, 2),
    loss=st.sampled_from(["rmse", "zero_one"]),
    smoothing=st.sampled_from([Lidstone(1.0), BDeu(2.0), PriorCounts(2.0), BackOff(1.0)]),
)
def test_losses_are_those_of_a_plain_search(table, k, loss, smoothing):
    table = table.without_weightless_rows()
    model = SelectiveKDB(k=k, loss=loss, smoothing=smoothing).fit(table.X, table.y, sample_weight=table.w)
    data = table.data()
    expected = slow_losses(data, k, loss, (smoothing.kind, smoothing.strength))
    if loss == "rmse":
        np.testing.assert_allclose(model.losses_, expected, rtol=1e-8, atol=1e-10)
    best = model.losses_[model.k_, len(model.columns_)]
    assert round(best, 9) == round(model.losses_.min(), 9)
    smaller = [(j, t) for j in range(k + 1) for t in range(table.n + 1) if (j, t) < (model.k_, len(model.columns_))]
    assert all(round(model.losses_[place], 12) > round(best, 12) for place in smaller)


@given(table=tables(min_rows=3), k=st.integers(0, 2))
def test_the_answer_is_that_of_the_network_chosen(table, k):
    """The first columns with their first parents, and nothing else."""
    model = SelectiveKDB(k=k, smoothing=1).fit(table.X, table.y)
    data = table.data()
    parents = oracle.kdb_parents(data, k)
    places = [int(name[1:]) for name in model.columns_]
    terms = [(i, parents[i][: model.k_], 1.0, ()) for i in places]
    assert model.parents_ == {f"x{i}": tuple(f"x{j}" for j in p) for i, p, _, _ in sorted(terms)}
    for x, got in zip(table.coded_queries(), model.predict_proba(table.Q), strict=True):
        expected = oracle.posterior(data, oracle.product_of_terms(data, x, terms, (), oracle.LAPLACE))
        np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.fixture(scope="module")
def noisy():
    """Three columns that tell the class together, eight that tell nothing."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (600, 11))
    y = ((X[:, 0] + X[:, 1] * X[:, 2] + (rng.random(600) < 0.1)) % 3).astype(int)
    return X.astype(str), y


def test_noise_is_left_out(noisy):
    X, y = noisy
    model = SelectiveKDB(k=3, smoothing=None).fit(X, y)
    assert {"x0", "x1", "x2"} <= set(model.columns_)
    assert len(model.columns_) < 7
    plain = KDB(k=3, smoothing=None).fit(X, y)
    own = np.arange(len(y)), y
    assert model.leave_one_out(X, y)[own].mean() > plain.leave_one_out(X, y)[own].mean()


def test_the_loss_told_is_that_of_leaving_rows_out(noisy):
    X, y = noisy
    model = SelectiveKDB(k=2).fit(X, y)
    own = model.leave_one_out(X, y)[np.arange(len(y)), y]
    assert math.isclose(model.losses_.min(), math.sqrt(((1 - own) ** 2).mean()), rel_tol=1e-9)
    model = SelectiveKDB(k=2, loss="zero_one").fit(X, y)
    wrong = model.leave_one_out(X, y).argmax(axis=1) != y
    assert math.isclose(model.losses_.min(), wrong.mean(), rel_tol=1e-9)


def test_with_nothing_to_learn_from_there_are_no_columns():
    rng = np.random.default_rng(1)
    model = SelectiveKDB().fit(rng.integers(0, 4, (40, 3)).astype(str), np.repeat([0, 1], 20))
    assert model.k_ == 0
    assert len(model.columns_) <= 1


def test_what_was_chosen_is_in_the_file(noisy, tmp_path):
    model = SelectiveKDB(k=1).fit(*noisy)
    model.save(tmp_path / "m.tanager")
    again = load(tmp_path / "m.tanager")
    assert (again.columns_, again.k_) == (model.columns_, model.k_)
    np.testing.assert_array_equal(again.losses_, model.losses_)
    np.testing.assert_array_equal(again.predict_proba(noisy[0]), model.predict_proba(noisy[0]))


def test_rows_of_any_number_are_looked_at(noisy, monkeypatch):
    whole = SelectiveKDB(k=1).fit(*noisy).losses_
    monkeypatch.setattr("tanager.learning.memory.ROWS_AT_ONCE", 100)
    np.testing.assert_allclose(SelectiveKDB(k=1).fit(*noisy).losses_, whole, rtol=1e-12)


def test_counts_alone_and_unknown_losses_are_refused(noisy):
    counts = KDB(k=1).fit(*noisy).counts_
    with pytest.raises(SchemaMismatch, match="looks at the rows again"):
        SelectiveKDB.from_counts(counts)
    with pytest.raises(OptionError, match="loss"):
        SelectiveKDB(loss="mse").fit(*noisy)
    assert isinstance(SelectiveKDB(k=0).fit(*noisy).memory.rows, KeptRows)
