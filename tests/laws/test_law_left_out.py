"""Leaving a row out is the same as learning without it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from registry import NAMES, make
from strategies import tables
from tanager import A2DE, AODE, FANC, LBR, TAN, BackOff, BDeu, MEstimate, NaiveBayes, OptionError, PriorCounts
from tanager.counts.estimates import as_estimate
from tanager.learning.part_scorer import PartScorer
from tanager.scoring.forest import ForestScorer
from tanager.scoring.lazy_rules import LazyRules
from tanager.scoring.sum_over_rows import SumOverRows
from tanager.scoring.tree_average import TreeAverage
from tanager.scoring.view import View

every = pytest.mark.parametrize("name", NAMES)


@every
@examples(8)
@given(table=tables(min_rows=2, max_rows=14), weighted=st.booleans())
def test_leaving_a_row_out_equals_learning_without_it(name, table, weighted):
    """With vocabulary and structure held fixed."""
    w = 0.5 + np.arange(len(table.rows)) % 3 if weighted else None
    model = make(name, table.n).fit(table.X, table.y, sample_weight=w)
    if name in ("nb-balanced", "tan-mode"):
        return  # class weights, and what is most frequent, are a structure of their own
    left_out = model.leave_one_out(table.X, table.y, w)
    view, scorer = model.view_, model.scorer_
    if isinstance(scorer, PartScorer | ForestScorer):
        return  # they count for themselves: see tests/classifiers/test_trees.py and test_network_forest.py
    for r in range(len(table.rows)):
        some = slice(r, r + 1)
        row = model.known_rows(table.X[some], table.y[some], None if w is None else w[some])
        if isinstance(
            scorer, LazyRules | SumOverRows | TreeAverage
        ):  # rows, or probabilities of trees, go with the row
            rest = make(name, table.n, schema=model.encoder_.schema)
            own = None if w is None else np.delete(w, r)
            rest.partial_fit(np.delete(table.X, r, axis=0), np.delete(table.y, r), model.classes_, own)
            expected = rest.predict_proba(table.X[some])
        else:
            view.counts.subtract(row.codes, row.labels, row.weights)
            expected = scorer.score(row.query)
            view.counts.update(row.codes, row.labels, row.weights)
        np.testing.assert_allclose(left_out[r], expected[0], rtol=1e-7, atol=1e-10, err_msg=f"row {r}")


VIEWS = {
    "nb": (NaiveBayes, oracle.nb),
    "aode": (AODE, oracle.aode),
    "a2de": (A2DE, oracle.a2de),
    "fanc": (FANC, lambda d, x, s: oracle.product_of_sums(d, x, oracle.fanc_sets(range(d.n)), s)),
}


@pytest.mark.parametrize("smoothing", [1, MEstimate(), BDeu(), PriorCounts(), BackOff()], ids=repr)
@pytest.mark.parametrize("name", VIEWS)
@examples(6)
@given(table=tables(min_rows=2, max_rows=10))
def test_leaving_a_row_out_equals_counting_again_without_it(name, smoothing, table):
    model, formula = VIEWS[name]
    got = model(smoothing=smoothing).fit(table.X, table.y).leave_one_out(table.X, table.y)
    data, rule = table.data(), as_estimate(smoothing)
    for r, row in enumerate(data.rows):
        rest = data.without(r)
        expected = oracle.posterior(rest, formula(rest, row, oracle.rule_of(rule)))
        np.testing.assert_allclose(got[r], expected, rtol=1e-9, atol=1e-12)


@examples(10)
@given(table=tables(min_rows=2))
def test_marginal_tan_leaves_rows_out_exactly(table):
    model = TAN(missing="marginal").fit(table.X, table.y)
    data = table.data()
    if 0 in data.n_values:
        return
    terms = oracle.tree_terms(oracle.tan_parents(data))
    got = model.leave_one_out(table.X, table.y)
    for r, row in enumerate(data.rows):
        rest = data.without(r)
        expected = oracle.posterior(rest, oracle.marginalised(rest, row, terms))
        np.testing.assert_allclose(got[r], expected, rtol=1e-9)


def test_the_gaussian_of_a_row_left_out_is_that_of_the_others():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.repeat([0, 1], 10)
    X[3, 0] = np.nan
    model = NaiveBayes(gaussian=True).fit(X, y)
    got = model.leave_one_out(X, y)
    for r in range(20):
        rest = NaiveBayes(gaussian=True).fit(X, y).unlearn(X[r : r + 1], y[r : r + 1])
        np.testing.assert_allclose(got[r], rest.predict_proba(X[r : r + 1])[0], rtol=1e-9)


def test_decayed_counts_leave_rows_out_at_their_present_weight():
    X, y = [["a", "p"], ["b", "q"], ["a", "q"]], [0, 1, 1]
    model = AODE().fit(X, y)
    model.counts_.decay(0.5)
    half = AODE().fit(X, y, sample_weight=[0.5] * 3)
    np.testing.assert_allclose(model.leave_one_out(X, y, [0.5] * 3), half.leave_one_out(X, y, [0.5] * 3), rtol=1e-12)
    assert isinstance(model.view_, View)


@pytest.mark.filterwarnings("ignore:column 'x0'")
def test_rows_whose_values_a_given_schema_does_not_know_are_left_out_as_they_were_learned():
    """They were left out as unseen, though these cells were learned as missing: "was never learned"."""
    X, y = [["a", "p"], ["b", "q"], ["a", "q"], ["never", "q"]], [0, 1, 1, 1]
    schema = NaiveBayes().fit(X[:3], y[:3]).encoder_.schema
    for model in (NaiveBayes(unseen="smooth", schema=schema), LBR(unseen="smooth", schema=schema)):
        left_out = model.fit(X, y).leave_one_out(X, y)[3:]
        never = model.fit(X[:3], y[:3]).predict_proba([[None, "q"]])
        np.testing.assert_allclose(left_out, never, rtol=1e-9)


def test_counts_with_gaussian_columns_do_not_answer_alone():
    """They did, without the numbers."""
    model = NaiveBayes(gaussian=True).fit([[0.5, "a"], [1.5, "b"], [2.5, "a"]], [0, 1, 1])
    with pytest.raises(OptionError, match="do not hold the numbers"):
        NaiveBayes.from_counts(model.counts_, gaussian=True)
