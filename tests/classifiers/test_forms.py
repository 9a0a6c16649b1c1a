"""A product of sums answers as its formula says on every path: some columns only, parents of the class, multi-nets."""

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
from profiles import examples
from registry import terms_of, view_of
from strategies import tables
from tanager import AODE, FANC, HNB, TAN, WAODE, BackOff, BDeu, Lidstone, MEstimate, NaiveBayes, PriorCounts
from tanager.counts.block import Block, Query
from tanager.counts.joint import JointCounts
from tanager.plain import form_from_plain, form_to_plain
from tanager.scoring.explain import explain_row
from tanager.scoring.forms import ProductOfSums, StagedSum, SumOfProducts
from tanager.scoring.view import View
from tanager.structure.measures import conditional_information
from view_calls import score, stream

SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), MEstimate(2.0), BDeu(3.0), PriorCounts(2.0), BackOff(1.5, first=0.7)]


@st.composite
def forms(draw, n, k, max_sets=3):
    """Some columns, each with one or more parent sets, for all classes or for some; the class may have parents too."""
    columns = list(range(n))
    child, parents, weight, only = [], [], [], []
    for i in draw(st.lists(st.sampled_from(columns), unique=True, max_size=n)):
        others = [j for j in columns if j != i]
        sets = st.lists(st.sampled_from(others), unique=True, max_size=3) if others else st.just([])
        for _ in range(draw(st.integers(1, max_sets))):
            child.append(i)
            parents.append(tuple(draw(sets)))
            weight.append(draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])))
            only.append(tuple(draw(st.sets(st.integers(0, k - 1)))))
    class_parents = tuple(draw(st.lists(st.sampled_from(columns), unique=True, max_size=3)))
    only = draw(st.sampled_from([(), tuple(only)]))
    return ProductOfSums(tuple(child), tuple(parents), tuple(weight), class_parents, only)


@st.composite
def forms_on_tables(draw, **options):
    table = draw(tables(**options))
    weights = table.weights or (1.0,) * len(table.labels)
    counted = {label for label, w in zip(table.labels, weights, strict=True) if w > 0}
    return table, draw(forms(table.n, len(counted)))


def expected_of(data, x, form, smoothing):
    rule = oracle.rule_of(smoothing)
    return oracle.product_of_terms(data, x, terms_of(form), form.class_parents, rule)


@examples(80)
@given(
    made=forms_on_tables(weighted=True),
    smoothing=st.sampled_from(SMOOTHINGS),
    smooth=st.booleans(),
    fast=st.booleans(),
)
def test_a_form_answers_as_its_formula_says(made, smoothing, smooth, fast):
    """Straight from the counts, one row alone, and from compiled tables."""
    table, form = made
    table = table.without_weightless_rows()
    view, _, model = view_of(table, form, smoothing, unseen="smooth" if smooth else "ignore", w=table.w, fast=fast)
    data, Q = table.data(), model.encode(table.Q).codes
    straight, compiled = np.empty((2, len(Q), data.k))
    view.plan.score(Q, straight)
    view.plan.compile().score(Q, compiled)
    spoken = ~np.isnan(compiled[:, 0])  # where every class is impossible, the counts answer
    np.testing.assert_allclose(compiled[spoken], straight[spoken], rtol=1e-10, atol=1e-12)
    for r, x in enumerate(table.coded_queries(oracle.UNSEEN if smooth else None)):
        expected = oracle.posterior(data, expected_of(data, x, form, smoothing))
        np.testing.assert_allclose(straight[r], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(view.plan.one(Q[r]), expected, rtol=1e-9, atol=1e-12)


@examples(80)
@given(made=forms_on_tables(min_rows=2, max_rows=10), smoothing=st.sampled_from(SMOOTHINGS), fast=st.booleans())
def test_a_form_leaves_rows_out_as_if_they_had_not_been_counted(made, smoothing, fast):
    table, form = made
    view, block, _ = view_of(table, form, smoothing, fast=fast)
    codes, labels = block.codes, block.labels
    data = table.data()
    got = np.empty((len(codes), data.k))
    view.plan.score(codes, got, False, labels)
    for r, row in enumerate(data.rows):
        rest = data.without(r)
        expected = oracle.posterior(rest, expected_of(rest, row, form, smoothing))
        np.testing.assert_allclose(got[r], expected, rtol=1e-9, atol=1e-12)
    if smoothing.kind in ("lidstone", "m", "bdeu") and smoothing.strength > 0:
        compiled = np.empty_like(got)
        view.plan.compile(leave_out=True).score(codes, compiled, labels=labels)
        np.testing.assert_allclose(compiled, got, rtol=1e-9, atol=1e-12)


@examples(40)
@given(made=forms_on_tables(min_rows=3), smoothing=st.sampled_from(SMOOTHINGS), fast=st.booleans())
def test_a_form_answers_streams_from_the_rows_before(made, smoothing, fast):
    table, form = made
    full, block, _ = view_of(table, form, smoothing)
    codes, labels = block.codes, block.labels
    old = full.counts
    counts = JointCounts(old.schema, old.classes, families=form.families())
    view = View(counts, form, smoothing, fast=fast)
    got = np.empty((len(codes), counts.n_classes))
    assert stream(view, codes, labels, None, got) == len(codes)
    again = JointCounts(old.schema, old.classes, families=form.families())
    for r in range(len(codes)):
        expected = score(View(again, form, smoothing, fast=False), codes[r : r + 1])[0]
        np.testing.assert_allclose(got[r], expected, rtol=1e-9, atol=1e-12)
        again.update(codes[r : r + 1], labels[r : r + 1])
    assert counts == again


def test_a_long_stream_reads_two_parents_of_the_class_in_any_order():
    """While half of the pairs is kept, neither order of the two may be read from the other half."""
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(0, 2, (200, 4), dtype=np.uint8), rng.integers(0, 2, 200).astype(np.uint8)
    schema = NaiveBayes().fit(codes, labels).counts_.schema
    for parents in ((0, 3), (3, 0)):
        form = ProductOfSums((1, 2), ((), (1,)), (1.0, 1.0), class_parents=parents)
        quick, slow = np.empty((2, 200, 2))
        for fast, out in ((True, quick), (False, slow)):
            stream(View(JointCounts(schema, [0, 1]), form, Lidstone(1.0), fast=fast), codes, labels, None, out)
        np.testing.assert_allclose(quick, slow, rtol=1e-10)


@examples(80)
@given(made=forms_on_tables(), smoothing=st.sampled_from([Lidstone(1.0), PriorCounts(), BackOff()]))
def test_explanations_of_a_form_add_up(made, smoothing):
    """To its log-odds, with what the classes say alone left over."""
    table, form = made
    view, _, model = view_of(table, form, smoothing, fast=False)
    data = table.data()
    for x, codes in zip(table.coded_queries(), model.encode(table.Q).codes, strict=True):
        joint = expected_of(data, x, form, smoothing)
        alone = [oracle.prior(data, y, oracle.rule_of(smoothing)) for y in range(data.k)]
        for a, b in itertools.permutations([y for y in range(data.k) if joint[y] > 0], 2):
            prior, parts = explain_row(view, Query(codes[None, :]), a, b)
            np.testing.assert_allclose(prior, np.log(alone[a] / alone[b]), atol=1e-9)
            np.testing.assert_allclose(sum(part[2] for part in parts), np.log(joint[a] / joint[b]) - prior, atol=1e-9)
            assert {part[0] for part in parts} <= {*form.child, *form.class_parents}


def test_given_priors_change_the_posterior_odds_also_where_the_class_has_parents():
    X = [["a", "p"], ["a", "q"], ["b", "p"], ["b", "q"], ["a", "p"]]
    table_ = [0, 1, 1, 0, 0]
    codes, labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0]], dtype=np.uint8), np.array(table_, dtype=np.uint8)
    model = NaiveBayes().fit(X, table_)
    counts = JointCounts(model.counts_.schema, model.classes_)
    counts.update(codes, labels)
    form = ProductOfSums((1,), ((0,),), (1.0,), class_parents=(0,))
    plain = score(View(counts, form, Lidstone(1.0)), codes)
    given_ = View(counts, form, Lidstone(1.0), priors=[0.8, 0.2])
    odds = (plain[:, 0] / plain[:, 1]) * (0.8 / 0.2) / (4 / 3)  # P(y) is 4/7 and 3/7
    np.testing.assert_allclose(score(given_, codes)[:, 0], odds / (1 + odds), rtol=1e-12)
    np.testing.assert_allclose(score(given_, codes[:1])[:, 0], (odds / (1 + odds))[:1], rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_large_tables_of_a_multi_net_answer_as_the_counts_do(n_classes):
    """One term for every column and class, blocks of 32 rows, missing and unseen codes."""
    rng = np.random.default_rng(n_classes)
    n, m = 30, 400
    codes = rng.integers(0, 4, (m, n), dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 255
    labels = rng.integers(0, n_classes, m).astype(np.uint8)
    cells = [(i, c) for i in range(n) for c in range(n_classes)]
    parents = tuple(tuple(rng.choice([j for j in range(n) if j != i], i % 4, replace=False).tolist()) for i, _ in cells)
    form = ProductOfSums(
        tuple(i for i, _ in cells), parents, (1.0,) * len(cells), (3, 5, 9), tuple((c,) for _, c in cells)
    )
    schema = NaiveBayes().fit(codes, labels).counts_.schema
    counts = JointCounts(schema, range(n_classes), families=form.families()).update(codes, labels)
    view = View(counts, form, Lidstone(1.0))
    straight, compiled = np.empty((2, m, n_classes))
    view.plan.score(codes, straight, True)
    view.plan.compile().score(codes, compiled, True)
    np.testing.assert_allclose(compiled, straight, rtol=1e-10)
    view.plan.score(codes, straight, False, labels)
    view.plan.compile(leave_out=True).score(codes, compiled, labels=labels)
    np.testing.assert_allclose(compiled, straight, rtol=1e-9, atol=1e-12)
    assert form.n_networks == 1


@given(form=forms(4, 3))
def test_a_form_comes_back_from_plain_data(form):
    assume(not getattr(form, "only", ()) or len(set(form.child)) == len(form.child))  # a class has one term of a column
    assert form_from_plain(form_to_plain(form)) == form


def test_a_form_in_turn_comes_back_from_plain_data():
    one_by_one = SumOfProducts(((1,), (0,)), (1.0, 0.5), 2.0, ProductOfSums.one_each([(), ()]))
    for limit, margin in ((-1, math.inf), (3, 4.5)):
        form = StagedSum(((0, 1),), (2.0,), 1.0, one_by_one, "posterior", limit, margin)
        assert form_from_plain(json.loads(json.dumps(form_to_plain(form), allow_nan=False))) == form


def test_a_form_written_before_there_were_parents_of_the_class_still_reads():
    old = {"child": [0, 1], "parents": [[], [0]], "weight": [1.0, 1.0]}
    assert form_from_plain(old) == ProductOfSums.one_each([(), (0,)])


@given(form=forms(4, 3))
def test_the_networks_that_vote_are_counted_for_the_class_with_most(form):
    def of_class(c):
        sets = Counter(i for i, _, weight, classes in terms_of(form) if weight > 0 and (not classes or c in classes))
        return int(np.prod(list(sets.values())))

    assert form.n_networks == max(of_class(c) for c in range(3))


def test_families_of_the_class_and_without_the_class_are_counted():
    form = ProductOfSums((0,), ((1, 2),), (1.0,), class_parents=(3, 4, 5, 1), free=((3, (4, 5)),))
    assert form.families() == [(1, 2, 0), (3, 4, 5), (4, 5, 3), (3, 4, 5, 1)]


@pytest.mark.parametrize("constant", [(), (1,), (0, 1, 2, 3)])
def test_hidden_parents_are_mixed_as_plain_loops_mix_them(constant):
    """Patterns of columns that tell nothing differ from one table to the next, also of as many columns."""
    rng = np.random.default_rng(len(constant))
    X = rng.integers(0, 3, (60, 4))
    X[:, 3] = (X[:, 0] + rng.integers(0, 2, 60)) % 3
    X[:, constant] = 0
    model = HNB().fit(X.astype(str), rng.integers(0, 2, 60))
    information, form = conditional_information(model.counts_), model.structure_
    found = {(i, parents): weight for i, parents, weight in zip(form.child, form.parents, form.weight, strict=True)}
    expected = {}
    for i in range(4):
        total = sum(information[i, j] for j in range(4) if j != i)
        for j in range(4):
            if j != i and information[i, j] > 0:
                expected[i, (j,)] = information[i, j] / total
        if total <= 0:
            expected[i, ()] = 1.0
    assert found == pytest.approx(expected, rel=1e-12)
    assert list(found) == sorted(found)
    assert form == ProductOfSums(form.child, form.parents, form.weight)
    assert form.families() == ProductOfSums(form.child, form.parents, form.weight).families() == []


@pytest.mark.parametrize("model", [HNB(), FANC(), AODE(), WAODE(), TAN(), NaiveBayes()], ids=repr)
@pytest.mark.parametrize("n_rows", [3, 100, 900])
def test_who_is_asked_only_once_answers_alike_with_tables_and_without(model, n_rows):
    rng = np.random.default_rng(n_rows)
    X, y = rng.integers(0, 2, (900, 12)).astype(str), rng.integers(0, 2, 900)
    X[:, 5] = np.where(y == 1, X[:, 4], X[:, 5])
    view = model.fit(X, y).view_
    query = Query(model.encode(X[:n_rows]).codes)
    straight = view.score(query, may_compile=False)
    np.testing.assert_allclose(view.over(view.counts).score_once(query), straight, rtol=1e-9)
    block = Block(query.codes, y[:n_rows].astype(np.uint16))
    left_out = np.empty((n_rows, 2))
    view.plan.score(block.codes, left_out, labels=block.labels)
    np.testing.assert_allclose(view.leave_one_out(block), left_out, rtol=1e-9)
