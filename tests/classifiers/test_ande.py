"""ANDE: any number of super-parents, against the classes for the first three and plain loops for more."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from registry import small_table
from strategies import tables
from tanager import A2DE, ANDE, AODE, BackOff, BDeu, Column, Lidstone, MEstimate, NaiveBayes, PriorCounts, Schema
from tanager.errors import MemoryBudgetError, OptionError
from tanager.learning.shared_counts import within_budget


def ande(data, x, n, smoothing, min_count=1.0):
    """Sets of n columns; where none is eligible or no class has a chance, sets of one column less."""
    if n == 0:
        return oracle.nb(data, x, smoothing)
    if n == 1:
        return oracle.aode(data, x, smoothing, min_count)
    members = [(s, 1.0) for s in itertools.combinations(range(data.n), n)] if data.n > n else []
    scores = oracle.sum_of_products(data, x, members, smoothing, min_count)
    return scores if scores is not None and any(scores) else ande(data, x, n - 1, smoothing, min_count)


@pytest.mark.parametrize(("n", "model"), [(0, NaiveBayes()), (1, AODE()), (2, A2DE())], ids=["0", "1", "2"])
def test_up_to_two_super_parents_it_is_the_class_of_that_name_bit_for_bit(n, model):
    X, y = small_table(300)
    same = ANDE(n=n).fit(X, y)
    model.fit(X, y)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(same.leave_one_out(X, y), model.leave_one_out(X, y))
    np.testing.assert_array_equal(ANDE(n=n).test_then_train(X, y), type(model)().test_then_train(X, y))
    assert same.counts_ == model.counts_


SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), MEstimate(1.0), BDeu(2.0), PriorCounts(5.0), BackOff(2.0)]


@examples(40)
@given(
    table=tables(min_columns=3, max_columns=6, max_rows=12, weighted=True),
    n=st.sampled_from([3, 4]),
    smoothing=st.sampled_from(SMOOTHINGS),
    min_count=st.sampled_from([1.0, 2.0]),
)
def test_three_and_four_super_parents_are_those_of_the_formula(table, n, smoothing, min_count):
    table = table.without_weightless_rows()
    model = ANDE(n=n, smoothing=smoothing, min_count=min_count).fit(table.X, table.y, sample_weight=table.w)
    data = table.data()
    for x, got in zip(table.coded_queries()[-4:], model.predict_proba(table.Q[-4:]), strict=True):
        expected = oracle.posterior(data, ande(data, x, n, oracle.rule_of(smoothing), min_count))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("smoothing", [Lidstone(1.0), BackOff(2.0)], ids=repr)
def test_rows_full_of_gaps_are_answered_by_the_formula(smoothing):
    """A third of the cells is missing: the rows with all of a set present are far from all rows."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 5)) < 0.3, 255, rng.integers(0, 2, (40, 5))).astype(np.uint8)
    y = rng.integers(0, 2, 40)
    rows = [[None if v == 255 else v for v in row] for row in X.tolist()]
    data = oracle.make(rows, y.tolist(), None, [2] * 5, 2)
    got = ANDE(n=3, smoothing=smoothing).fit(X, y).predict_proba(X)
    for row, answer in zip(rows[:12], got, strict=False):
        expected = oracle.posterior(data, ande(data, row, 3, oracle.rule_of(smoothing)))
        np.testing.assert_allclose(answer, expected, rtol=1e-9)


@examples(8)
@given(table=tables(min_columns=4, max_columns=5, min_rows=2, max_rows=9))
def test_three_super_parents_leave_rows_out_as_if_counted_without(table):
    got = ANDE(n=3).fit(table.X, table.y).leave_one_out(table.X, table.y)
    data = table.data()
    for r, row in enumerate(data.rows):
        rest = data.without(r)
        expected = oracle.posterior(rest, ande(rest, row, 3, oracle.LAPLACE))
        np.testing.assert_allclose(got[r], expected, rtol=1e-9, atol=1e-12)


def test_columns_that_come_later_join_sets_of_four():
    rows = [{"a": "p", "b": "q", "c": "r"}, {"a": "s", "b": "q", "c": "t"}, {"a": "p", "b": "u", "c": "t"}]
    wide = [{**row, "d": value, "e": value} for row, value in zip(rows, "vwv", strict=True)]
    late = ANDE(n=3)
    for row, label in zip(rows + wide, [0, 1, 1, 0, 1, 0], strict=True):
        late.learn_one(row, label)
    early = ANDE(n=3).partial_fit(wide, [0, 1, 0]).partial_fit(rows, [0, 1, 1])
    for row in wide:
        assert late.predict_proba_one(row) == pytest.approx(early.predict_proba_one(row))


def test_what_is_too_large_is_refused_with_its_size_and_the_way_out():
    """Before a list of the four million sets is made."""
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=4) for i in range(100)))
    with pytest.raises(
        MemoryBudgetError, match=r"all sets of 4 of 100 columns needs .* GB.*Use ANDE\(n=2\), which needs"
    ):
        ANDE(n=3, schema=schema).fit(np.zeros((2, 100), np.uint8), [0, 1])


def test_the_way_out_is_one_that_fits():
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=4) for i in range(1000)))
    with pytest.raises(MemoryBudgetError, match=r"Use ANDE\(n=1\), which needs .* MB"):
        ANDE(n=3, schema=schema).fit(np.zeros((2, 1000), np.uint8), [0, 1])


@pytest.mark.parametrize("n", [-1, 8, 1.5, True, "3"])
def test_a_number_of_super_parents_that_means_nothing_is_refused(n):
    with pytest.raises(OptionError, match="give a number of super-parents from 0 to 7"):
        ANDE(n=n).fit([["a"], ["b"]], [0, 1])


def test_an_explanation_of_three_super_parents_adds_up():
    X, y = small_table(200)
    model = ANDE(n=3).fit(X, y)
    told = model.explain(X[:1])
    assert sum(part.log_odds for part in told.parts) + told.prior == pytest.approx(told.log_odds, abs=1e-9)
    assert any(len(part.parents) == 3 for part in told.parts)


def test_what_is_too_large_does_not_keep_others_from_being_evaluated():
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=2) for i in range(80)))
    models = [AODE(), ANDE(n=3, max_memory="1 MB")]
    assert [within_budget(model, schema, 2) for model in models] == [True, False]
