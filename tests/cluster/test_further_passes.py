"""Classifiers that look at rows again: in further passes over the parts, or from the rows that differ."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from part_tables import Parted, alone, assert_same, cut_up, here, once, parted
from sklearn.base import clone

from profiles import examples
from registry import name_of, small_table
from tanager import (
    BAN,
    CBL,
    K2,
    BackOff,
    ChowLiu,
    ChowLiuMultiNet,
    GeneralNetwork,
    HillClimb,
    MemoryBudgetError,
    MultiNet,
    NetworkForest,
    PDAGSearch,
    SelectiveKDB,
    Wrapped,
)
from tanager.cluster import fit, run_here, update
from tanager.counts.block import Block, distinct
from tanager.learning.whole_sums import mean_of, whole_sum

NETWORKS = [
    GeneralNetwork(),
    GeneralNetwork(learner=HillClimb()),
    GeneralNetwork(learner=PDAGSearch()),
    BAN(learner=CBL()),
    BAN(learner=HillClimb(score="cll", penalty=0.5)),
    BAN(learner=K2()),
    MultiNet(learner=ChowLiu()),
    ChowLiuMultiNet(),
    Wrapped(GeneralNetwork(), grid=[0.01, 0.05, 0.2]),
    Wrapped(MultiNet(learner=HillClimb()), criterion="log_loss"),
    NetworkForest(n_members=4),
]
SELECTIVE = [SelectiveKDB(), SelectiveKDB(k=1, loss="zero_one", smoothing=1.0), SelectiveKDB(smoothing=BackOff(1))]


@pytest.mark.parametrize("model", SELECTIVE, ids=range(len(SELECTIVE)))
@given(table=parted(min_rows=4, max_rows=60, weighted=True))
@examples(30)
def test_the_choice_of_selective_kdb_is_that_of_one_machine(table, model):
    ours, one = here(clone(model), table), alone(once(clone(model)), table)
    np.testing.assert_array_equal(ours.losses_, one.losses_)
    assert ours.memory.rows is None
    assert_same(ours, one, table.X)


@given(parted(min_rows=4, weighted=True), st.lists(st.integers(0, 40), max_size=6), st.integers(0, 99))
@examples(30)
def test_weights_with_fractions_give_the_same_losses_in_any_parts(table, ends, seed):
    """Of the same counts, that is; counts of such weights agree to rounding alone."""
    weights = np.random.default_rng(seed).integers(1, 9, len(table.y)) / 4
    first = Parted(table.X, table.y, weights, table.ends)
    second = Parted(table.X, table.y, weights, sorted(min(end, len(table.y)) for end in ends))
    ours, others = (here(SelectiveKDB(), part) for part in (first, second))
    np.testing.assert_array_equal(ours.losses_, others.losses_)
    assert_same(ours, others, table.X)


@pytest.mark.parametrize("model", NETWORKS, ids=[f"{at}-{name_of(model)}" for at, model in enumerate(NETWORKS)])
@given(table=parted(min_rows=4, max_rows=60, weighted=True, kinds=("text", "few", "number", "boolean")))
@examples(24)
def test_networks_of_the_rows_that_differ_are_those_of_all_rows(table, model):
    ours, one = here(clone(model), table), alone(clone(model), table)
    assert_same(ours, one, table.X)
    assert len(ours.memory.rows) <= len(one.memory.rows)


def test_rows_that_are_the_same_travel_as_one():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 3)).astype(str)
    y = np.where(rng.random(4000) < 0.9, X[:, 0], X[:, 1])
    sizes = []

    def run(work, merge):
        found = run_here(cut_up(X, y, (1000, 3000)))(work, merge)
        sizes.append(len(found))
        return found

    ours = fit(GeneralNetwork(), run, named=False)
    assert len(ours.memory.rows) <= 16
    assert sizes[1] < 1500
    one = GeneralNetwork().fit(X, y)
    assert ours.network_ == one.network_
    again, learned = (model.partial_fit(X[:50], y[:50]).predict_proba(X[:9]) for model in (ours, one))
    np.testing.assert_array_equal(again, learned)
    one.unlearn(X[:500], y[:500])
    ours.unlearn(X[:500], y[:500])
    assert ours.counts_ == one.counts_


@pytest.mark.parametrize("model", [GeneralNetwork(), NetworkForest(n_members=4)], ids=name_of)
def test_further_parts_join_the_rows_that_differ(model):
    X, y = small_table(90)
    ours = fit(clone(model), run_here(cut_up(X[:60], y[:60])), named=False)
    update(ours, run_here(cut_up(X[60:], y[60:], (3, 20))))
    one = clone(model).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))


def test_too_many_rows_that_differ_are_refused_with_the_way_out():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 12, (500, 3)).astype(str), rng.integers(0, 2, 500)
    with pytest.raises(MemoryBudgetError, match=r"rows that differ together, which NetworkForest looks at .* KDB"):
        fit(NetworkForest(n_members=2, max_memory=4000), run_here(cut_up(X, y, (250,))), named=False)


# --- their parts ----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)), max_size=40))
@examples(60)
def test_distinct_rows_weigh_as_much_as_all(rows):
    cells = np.array(rows, dtype=np.int64).reshape(-1, 4)
    block = Block(cells[:, :2].astype(np.uint16), cells[:, 2].astype(np.uint8), cells[:, 3].astype(float))
    found = distinct(block)
    expected: dict[tuple[int, ...], float] = {}
    for row in rows:
        if row[3]:
            expected[row[:3]] = expected.get(row[:3], 0.0) + row[3]
    ours = [(*codes, label) for codes, label in zip(found.codes.tolist(), found.labels.tolist(), strict=True)]
    assert len(ours) == len(set(ours))
    assert dict(zip(ours, found.weights.tolist(), strict=True)) == expected
    again = distinct(Block(block.codes[::-1], block.labels[::-1], block.weights[::-1]))
    assert again.codes.tolist() == found.codes.tolist()


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e6)), min_size=1, max_size=30),
    st.integers(0, 30),
    st.sampled_from([1e-9, 1.0, 1e9]),
)
@examples(90)
def test_whole_sums_are_the_same_in_any_parts_and_right(rows, cut, size):
    figures, weights = np.array(rows).T
    weights = weights * size
    total = float(weights.sum())
    if total == 0:
        return
    whole = whole_sum(figures, weights, total)
    parts = whole_sum(figures[:cut], weights[:cut], total) + whole_sum(figures[cut:], weights[cut:], total)
    assert whole.tolist() == parts.tolist() == whole_sum(figures[::-1], weights[::-1], total).tolist()
    exact = sum(Fraction(f) * Fraction(w) for f, w in zip(figures.tolist(), weights.tolist(), strict=True))
    assert float(mean_of(whole, total)) == pytest.approx(float(exact / Fraction(total)), rel=1e-12, abs=1e-14)


def test_whole_sums_hold_as_many_rows_as_fit():
    total = 2.0**36 - 1
    whole = whole_sum(np.ones(1), np.array([total]), total)
    assert (whole >= 0).all()
    assert mean_of(whole, total) == 1.0
