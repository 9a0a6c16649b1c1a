"""Weights of parent sets: prior knowledge, the same in all ordered collections, against every network by itself."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from strategies import tables
from tanager import FANC, SPC, TC, Collection, load, save
from tanager.errors import OptionError

COLLECTIONS = {
    "FANC": (FANC, lambda n: oracle.fanc_sets(range(n))),
    "SPC": (SPC, lambda n: oracle.spc_sets(range(n), 0)),
    "TC": (TC, lambda n: oracle.tc_sets(range(n))),
}


def some_weights(sets, seed):
    """Weights for about half of the sets, some of them 0; every column keeps a set. Keys and sets."""
    rng = np.random.default_rng(seed)
    weights, weighted = {}, []
    for i, choices in enumerate(sets):
        new = []
        for parents, _ in choices:
            weight = float(rng.choice([0.0, 0.5, 3.0])) if parents and rng.random() < 0.5 else 1.0
            if weight != 1.0:
                shuffled = tuple(int(j) for j in rng.permutation(parents))
                weights[i, shuffled if len(parents) > 1 else parents[0]] = weight
            new.append((parents, weight))
        weighted.append(new)
    if len(sets) > 1:
        weights[1, None], weighted[1][0] = 0.25, ((), 0.25)
    return weights, weighted


@pytest.mark.parametrize("name", COLLECTIONS)
@examples(12)
@given(table=tables(missing=False, max_rows=8), seed=st.integers(0, 99))
def test_a_weighted_collection_is_the_weighted_sum_over_all_its_networks(name, table, seed):
    cls, sets = COLLECTIONS[name]
    weights, weighted = some_weights(sets(table.n), seed)
    model = cls(weights=weights).fit(table.X, table.y)
    data = table.data()
    assert model.n_networks_ == math.prod(sum(w > 0 for _, w in choices) for choices in weighted)
    for x, got in zip(table.coded_queries(), model.predict_proba(table.Q), strict=True):
        if None not in x:
            _, total = oracle.every_network(data, x, weighted, oracle.LAPLACE)
            np.testing.assert_allclose(got, oracle.posterior(data, total), rtol=1e-10)


@pytest.mark.parametrize("name", COLLECTIONS)
@examples(12)
@given(table=tables(), seed=st.integers(0, 99))
def test_weights_hold_with_gaps_too(name, table, seed):
    cls, sets = COLLECTIONS[name]
    weights, weighted = some_weights(sets(table.n), seed)
    model, data = cls(weights=weights).fit(table.X, table.y), table.data()
    for x, got in zip(table.coded_queries(), model.predict_proba(table.Q), strict=True):
        expected = oracle.product_of_sums(data, x, weighted, oracle.LAPLACE)
        np.testing.assert_allclose(got, oracle.posterior(data, expected), rtol=1e-9, atol=1e-12)


X = [[f"{c}{v}" for c, v in zip("abcd", row, strict=True)] for row in itertools.product(range(2), repeat=4)]
Y = ["no" if sum(cell.endswith("1") for cell in row) % 3 else "yes" for row in X]


@pytest.mark.parametrize("cls", [FANC, SPC, TC])
@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ({("x9", None): 1}, "weights: there is no column 'x9'"),
        ({"x1": 1}, r"weights: 'x1' is no arc; give \(child, parent\)"),
        ({("x0", "x1"): 1}, r"weights\['x0', 'x1'\]: 'x1' does not come before 'x0'"),
        ({("x1", "x0"): -1}, "weights must be finite and not negative"),
        ({("x0", None): 0}, "all parent sets of 'x0' have weight 0"),
        ({("x2", ("x1", "x3")): 2}, r"weights\['x2', \('x1', 'x3'\)\]: 'x3' does not come before 'x2'"),
    ],
)
def test_weights_that_mean_nothing_are_refused_alike(cls, weights, sentence):
    with pytest.raises(OptionError, match=sentence):
        cls(weights=weights).fit(X, Y)


@pytest.mark.parametrize("model", [FANC(weights={("x2", ("x0", "x1")): 2}), SPC(weights={("x3", ("x1", "x2")): 2})])
def test_sets_that_a_collection_does_not_have_are_refused(model):
    with pytest.raises(OptionError, match="this collection has no such set of parents"):
        model.fit(X, Y)


def test_weights_by_number_of_parents_and_by_set_multiply():
    model = TC(order_weights=(1, 2, 4), weights={("x2", ("x1", "x0")): 3.0, ("x1", None): 0}).fit(X, Y)
    sets = {"x1": [[], ["x0"]], "x2": [[], ["x0"], ["x1"], ["x0", "x1"]]}
    sets["x3"] = [[], ["x0"], ["x1"], ["x2"], ["x0", "x1"], ["x0", "x2"], ["x1", "x2"]]
    weights = {"x1": [0, 2], "x2": [1, 1, 1, 12], "x3": [1, *[2 / 3] * 3, *[4 / 3] * 3]}
    same = Collection(sets, weights).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-12)


def test_the_refined_super_parent_is_chosen_with_the_weights():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (80, 4)).astype(np.uint8)
    labels = codes[:, 1] ^ codes[:, 3] ^ (rng.random(80) < 0.2)
    free = SPC(super_parent="refined", weights={(1, None): 0.01, (2, None): 5.0}).fit(codes, labels)
    sums = [
        SPC(super_parent=s, weights=free.weights)
        .fit(codes, labels)
        .leave_one_out(codes, labels)[range(80), labels]
        .sum()
        for s in range(4)
    ]
    assert free.super_parent_ == f"x{np.argmax(sums)}"


def test_a_set_may_need_one_super_parent():
    weights = {("x3", ("x0", "x2")): 50.0}
    SPC(super_parent="x0", weights=weights).fit(X, Y)
    with pytest.raises(OptionError, match=r"weights\['x3', \('x0', 'x2'\)\]: this collection has no such set"):
        SPC(super_parent="x1", weights=weights).fit(X, Y)


def test_weights_of_sets_of_two_are_saved(tmp_path):
    model = TC(weights={("x2", ("x0", "x1")): 0.5}).fit(X, Y)
    save(model, tmp_path / "model.tanager")
    again = load(tmp_path / "model.tanager")
    assert again.weights == model.weights
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
