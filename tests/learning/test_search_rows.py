"""Searches that look at rows many times look at some of them where all would take too long."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import SPC, SPODE, AnytimeAODE
from tanager.classifiers import spc
from tanager.learning import member_validation
from tanager.learning import search_rows as module
from tanager.learning.rows import KeptRows
from tanager.learning.search_rows import search_rows
from tanager.learning.selection import one_dependence_sums, true_class_sum
from tanager.scoring.forms import SumOfProducts, naive


def table(m=300, n=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, n)).astype(np.uint8)
    y = np.where(rng.random(m) < 0.7, (X[:, 1] + X[:, 3] * X[:, 0]) % k, rng.integers(0, k, m))
    return X, y


def few_rows(monkeypatch, n_rows):
    monkeypatch.setattr(module, "FEWEST_ROWS", n_rows)
    monkeypatch.setattr(module, "MOST_STEPS", 0.0)
    monkeypatch.setattr(module.rows_within, "__defaults__", (0.0,))


@examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_some_rows_are_spread_over_the_classes_and_do_not_depend_on_the_order(seed, most):
    X, y = table(seed=seed % 100)
    order = np.random.default_rng(seed).permutation(len(y))
    with pytest.MonkeyPatch.context() as patch:
        few_rows(patch, most)
        found = []
        for rows in (np.arange(len(y)), order):
            model = SPODE().fit(X[rows], y[rows])
            block = search_rows(model.memory.rows, model.counts_, 1e9)
            weights = np.ones(len(block)) if block.weights is None else block.weights
            found.append(sorted(zip(map(tuple, block.codes.tolist()), block.labels.tolist(), weights, strict=True)))
        assert found[0] == found[1]
        assert weights.sum() == pytest.approx(300 / np.ceil(300 / min(most, 300)), abs=1)
        shares = np.bincount(block.labels, weights, 3) / weights.sum()
        np.testing.assert_allclose(shares, np.bincount(y, minlength=3) / 300, atol=1.5 / weights.sum())


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize("min_count", [0.0, 40.0])
def test_all_super_parents_at_once_are_each_by_itself(weights, leave_out, min_count):
    X, y = table(120)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    own = np.random.default_rng(2).choice([0.5, 1.0, 2.0], len(y)) if weights else None
    model = SPODE(min_count=min_count).fit(X, y, sample_weight=own)
    counts, rows = model.counts_, model.memory.rows
    together = one_dependence_sums(model, counts, rows, min_count, leave_out=leave_out)
    forms = [SumOfProducts(((s,),), (1.0,), min_count, naive(5)) for s in range(5)]
    alone = [true_class_sum(model, form, rows, leave_out=leave_out) for form in forms]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_of_some_rows_the_sum_is_that_of_these(monkeypatch):
    X, y = table()
    model = SPODE().fit(X, y)
    few_rows(monkeypatch, 100)
    some = search_rows(model.memory.rows, model.counts_, 1.0)
    assert len(some) == 100
    sums = one_dependence_sums(model, model.counts_, model.memory.rows, 0.0, leave_out=True)
    forms = [SumOfProducts(((s,),), (1.0,), 0.0, naive(5)) for s in range(5)]
    again = [true_class_sum(model, form, KeptRows.of(some), leave_out=True) for form in forms]
    np.testing.assert_allclose(sums, again, rtol=1e-9)
    assert SPODE().fit(X, y).super_parent_ == model.counts_.schema.names[int(np.argmax(sums))]


@pytest.mark.parametrize("select", ["loo", "resub"])
def test_with_many_columns_a_collection_takes_the_super_parent_of_a_spode(monkeypatch, select):
    X, y = table()
    monkeypatch.setattr(spc, "MOST_STEPS", 300 * 5**3 * 3 - 1)
    model = SPC(super_parent="refined", select=select).fit(X, y)
    assert model.super_parent_ == SPODE(super_parent=select, bins="refined").fit(X, y).super_parent_
    np.testing.assert_array_equal(
        model.predict_proba(X), SPC(super_parent=model.super_parent_).fit(X, y).predict_proba(X)
    )
    monkeypatch.setattr(spc, "MOST_STEPS", 300 * 5**3 * 3)
    called = []
    monkeypatch.setattr(SPC, "_true_class_sums", lambda *given: called.append(given) or np.arange(5.0))
    assert SPC(super_parent="refined", select=select).fit(X, y).super_parent_ == model.counts_.schema.names[4]
    assert called


def test_members_over_many_columns_are_validated_by_fewer_rows(monkeypatch):
    X, y = table()
    few_rows(monkeypatch, 100)
    monkeypatch.setattr(member_validation, "MOST_STEPS", 0.0)
    model = AnytimeAODE().fit(X, y)
    assert model.validation.scores.weight == 100
    assert AnytimeAODE(validation_rows=250).fit(X, y).validation.scores.weight == 250
