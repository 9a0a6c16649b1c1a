"""Kernel equals oracle: every classifier against plain loops over the rows, with every smoothing rule."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from strategies import tables
from tanager import (
    A2DE,
    AODE,
    FAN,
    FANC,
    HNB,
    KDB,
    SPC,
    SPODE,
    TAN,
    TC,
    WAODE,
    BackOff,
    BDeu,
    Lidstone,
    MEstimate,
    NaiveBayes,
    PriorCounts,
)
from tanager.structure.measures import class_information, class_information_given, conditional_information

SMOOTHINGS = [
    Lidstone(1.0),
    Lidstone(0.3),
    Lidstone(0.0),
    MEstimate(1.0),
    MEstimate(2.5),
    BDeu(1.0),
    BDeu(4.0),
    PriorCounts(5.0),
    PriorCounts(0.5),
    BackOff(1.0),
    BackOff(3.0),
    BackOff(3.0, first=0.5),
]


VIEWS = {
    "nb": (NaiveBayes(), oracle.nb),
    "tan": (TAN(), lambda d, x, s: oracle.tree(d, x, oracle.tan_parents(d), s)),
    "tan-root": (TAN(root=0), lambda d, x, s: oracle.tree(d, x, oracle.tan_parents(d, 0), s)),
    "tan-jeffreys": (
        TAN(criterion="jeffreys"),
        lambda d, x, s: oracle.tree(d, x, oracle.tan_jeffreys_parents(d), s),
    ),
    "fan": (FAN(), lambda d, x, s: oracle.tree(d, x, oracle.fan_parents(d), s)),
    "fan-k2": (FAN(criterion="k2"), lambda d, x, s: oracle.tree(d, x, oracle.fan_k2_parents(d), s)),
    "spode": (SPODE(super_parent=0), lambda d, x, s: oracle.spode(d, x, 0, s)),
    "spode-3": (SPODE(super_parent=0, min_count=3), lambda d, x, s: oracle.spode(d, x, 0, s, 3)),
    "aode": (AODE(), oracle.aode),
    "aode-3": (AODE(min_count=3), lambda d, x, s: oracle.aode(d, x, s, 3)),
    "waode": (WAODE(), oracle.waode),
    "hnb": (HNB(), oracle.hnb),
    "a2de": (A2DE(), oracle.a2de),
    "a2de-2": (A2DE(min_count=2), lambda d, x, s: oracle.a2de(d, x, s, 2)),
    "fanc": (FANC(), lambda d, x, s: oracle.product_of_sums(d, x, oracle.fanc_sets(range(d.n)), s)),
    "fanc-1": (
        FANC(max_parents_from=1),
        lambda d, x, s: oracle.product_of_sums(d, x, oracle.fanc_sets(range(d.n), 1), s),
    ),
    "spc": (SPC(), lambda d, x, s: oracle.product_of_sums(d, x, oracle.spc_sets(range(d.n), 0), s)),
    "tc": (TC(), lambda d, x, s: oracle.product_of_sums(d, x, oracle.tc_sets(range(d.n)), s)),
    "kdb": (KDB(), lambda d, x, s: oracle.tree(d, x, oracle.kdb_parents(d, 2), s)),
    "kdb-1": (KDB(k=1), lambda d, x, s: oracle.tree(d, x, oracle.kdb_parents(d, 1), s)),
    "kdb-3": (KDB(k=3), lambda d, x, s: oracle.tree(d, x, oracle.kdb_parents(d, 3), s)),
}


@pytest.mark.parametrize("name", VIEWS)
@examples(30)
@given(table=tables(weighted=True), smoothing=st.sampled_from(SMOOTHINGS), smooth=st.booleans())
def test_answers_are_those_of_the_formula(name, table, smoothing, smooth):
    model, formula = VIEWS[name]
    model.set_params(smoothing=smoothing, unseen="smooth" if smooth else "ignore")
    model.fit(table.X, table.y, sample_weight=table.w)
    classes = sorted(set(table.labels))
    table = table.without_weightless_rows()
    data = table.data(classes)
    for x, got in zip(
        table.coded_queries(oracle.UNSEEN if smooth else None), model.predict_proba(table.Q), strict=True
    ):
        expected = oracle.posterior(data, formula(data, x, oracle.rule_of(smoothing)))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@given(table=tables())
def test_counts_are_those_of_plain_loops(table):
    counts = A2DE().fit(table.X, table.y).counts_
    data = table.data()
    for size in range(1, 4):
        for places in itertools.permutations(range(table.n), size):
            if size == 3 and table.n < 3:
                continue
            cells = counts.joint(*places)
            for y in range(data.k):
                for values in itertools.product(*(range(data.n_values[i]) for i in places)):
                    assert cells[(y, *values)] == oracle.count(data, dict(zip(places, values, strict=True)), y)
    assert counts.class_counts.tolist() == [oracle.count(data, {}, y) for y in range(data.k)]


@given(table=tables(min_columns=2))
def test_information_is_that_of_the_formula(table):
    counts, data = AODE().fit(table.X, table.y).counts_, table.data()
    for i in range(table.n):
        np.testing.assert_allclose(class_information(counts)[i], oracle.class_information(data, i), atol=2e-12)
        for j in range(table.n):
            if i != j:
                expected = oracle.conditional_information(data, i, j)
                np.testing.assert_allclose(conditional_information(counts)[i, j], expected, atol=2e-12)
                expected = oracle.class_information_given(data, i, j)
                np.testing.assert_allclose(class_information_given(counts)[i, j], expected, atol=2e-12)


@pytest.mark.parametrize(
    ("model", "sets"),
    [
        (FANC(), lambda n: oracle.fanc_sets(range(n))),
        (SPC(), lambda n: oracle.spc_sets(range(n), 0)),
        (TC(), lambda n: oracle.tc_sets(range(n))),
    ],
    ids=["FANC", "SPC", "TC"],
)
@examples(8)
@given(table=tables(missing=False, max_rows=10))
def test_a_collection_is_the_sum_over_all_its_networks(model, sets, table):
    model.fit(table.X, table.y)
    data = table.data()
    for x, got in zip(table.coded_queries()[:-1], model.predict_proba(table.Q[:-1]), strict=True):
        if None in x:
            continue
        number, total = oracle.every_network(data, x, sets(data.n), oracle.LAPLACE)
        assert model.n_networks_ == number
        np.testing.assert_allclose(got, oracle.posterior(data, total), rtol=1e-10)


@pytest.mark.parametrize("smoothing", [Lidstone(1.0), Lidstone(0.0), PriorCounts(), BackOff(), BDeu()], ids=repr)
@examples(15)
@given(table=tables())
def test_marginal_tan_sums_missing_values_out(smoothing, table):
    model = TAN(missing="marginal", smoothing=smoothing).fit(table.X, table.y)
    data = table.data()
    if 0 in data.n_values:
        return
    terms = oracle.tree_terms(oracle.tan_parents(data))
    for x, got in zip(table.coded_queries(), model.predict_proba(table.Q), strict=True):
        expected = oracle.posterior(data, oracle.marginalised(data, x, terms, oracle.rule_of(smoothing)))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@examples(30)
@given(table=tables(), crit=st.sampled_from([0, 1, 3]), gaps=st.sampled_from(["skip", "differ"]))
def test_subsumption_leaves_out_what_only_repeats(table, crit, gaps):
    data = table.data()
    for model, formula in ((NaiveBayes(subsumption=crit), oracle.nb), (AODE(subsumption=crit), oracle.aode)):
        model.set_params(subsumption_gaps=gaps).fit(table.X, table.y)
        for x, got in zip(table.coded_queries(), model.predict_proba(table.Q), strict=True):
            expected = oracle.posterior(data, formula(data, oracle.resolve(data, x, crit, gaps)))
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [AODE(subsumption=0), NaiveBayes(subsumption=0)], ids=repr)
@given(table=tables())
def test_copies_of_columns_say_nothing_new_under_subsumption(model, table):
    alone = model.fit(table.X, table.y).predict_proba(table.Q)
    twice = model.fit([row + row for row in table.X], table.y).predict_proba([row + row for row in table.Q])
    np.testing.assert_allclose(twice, alone, rtol=1e-9, atol=1e-12)
