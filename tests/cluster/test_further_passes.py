"""Classifiers that look at rows again: in further passes over the parts, or from the rows that differ."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from part_tables import Parted, alone, assert_same, cut_up, here, made, once, parted
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
    SchemaMismatch,
    SelectiveKDB,
    Wrapped,
    load,
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
    table = made(0, 3000, ["boolean"] * 12, [1400], no_label=False)
    with pytest.raises(MemoryBudgetError, match=r"rows that differ together, which GeneralNetwork looks at .* KDB"):
        here(GeneralNetwork(max_memory=36_000), table)


# --- a forest whose rows stay where they are ------------------------------------------------------------------------


@contextmanager
def rows_apart(few=5000, cells=64):
    """As if rows were beyond the budget: learned where they are, by few of them, so many bytes for a cell of counts."""
    with (
        patch("tanager.cluster.columns.may_stay_apart", lambda plan, n: True),
        patch("tanager.learning.forest_plan.INFORMATION_ROWS", few),
        patch("tanager.learning.forest_elsewhere.INFORMATION_ROWS", few),
        patch("tanager.learning.forest_learner.STRENGTH_ROWS", few),
        patch("tanager.learning.forest_elsewhere.STRENGTH_ROWS", few),
        patch("tanager.learning.forest_elsewhere._BYTES_PER_CELL", cells),
    ):
        yield


@pytest.mark.parametrize(("few", "cells"), [(5000, 64), (4, 10**6)])
@given(table=parted(min_rows=4, max_rows=80, weighted=True))
@examples(40)
def test_a_forest_of_rows_that_stay_apart_is_that_of_one_machine(table, few, cells):
    model = NetworkForest(n_members=6, validation_rows=8 if few < 9 else 5000)
    with rows_apart(few, cells):
        ours, one = here(clone(model), table), alone(clone(model), table)
    assert ours.memory.rows is None
    assert len(ours.forest_.families) == len(one.forest_.families)
    for name, array in one.forest_.to_arrays().items():
        np.testing.assert_array_equal(ours.forest_.to_arrays()[name], array)
    assert_same(ours, one, table.X)


def test_a_forest_stays_apart_beyond_its_budget_in_few_passes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000)
    y[X[:, 0] > 0.5] = 1
    runs = []

    def run(work, merge):
        runs.append(work.func.__name__)
        return run_here(cut_up(X, y, (500, 2000)))(work, merge)

    model = NetworkForest(n_members=4, max_memory=40_000)
    ours, one = fit(clone(model), run, named=False), NetworkForest(n_members=4).fit(X, y)
    assert runs[:3] == ["summarize_part", "count_part", "choose_part"]
    assert set(runs[3:]) == {"total_part"}
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))
    assert fit(NetworkForest(n_members=4), run, named=False).memory.rows is not None


def test_a_forest_without_rows_is_saved_and_answers_but_learns_no_more(tmp_path):
    table = made(0, 60, ["text", "number", "few"], [20], no_label=False)
    with rows_apart():
        ours = here(NetworkForest(n_members=4), table)
    expected = ours.predict_proba(table.X)
    ours.save(tmp_path / "forest.tanager")
    loaded = load(tmp_path / "forest.tanager")
    for model in (ours, loaded, pickle.loads(pickle.dumps(ours))):
        for change in (model.partial_fit, model.unlearn, model.test_then_train, model.leave_one_out):
            with pytest.raises(SchemaMismatch, match="stay where they are beyond max_memory"):
                change(table.X, table.y)
        with pytest.raises(SchemaMismatch, match="Use fit, or raise max_memory"):
            model.learn_one({"a0": "new"}, "c0")
        with pytest.raises(SchemaMismatch, match="Use fit, or raise max_memory"):
            update(model, run_here(table.parts))
        np.testing.assert_array_equal(model.predict_proba(table.X), expected)
    again = loaded.fit(table.X, table.y).partial_fit(table.X, table.y)
    assert again.counts_.n_rows == 120


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
