"""Parts of a table, learned apart and put together, are the table: the laws of the protocol below all engines."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from part_tables import Parted, alone, assert_same, cut_up, here, once, parted, table_for
from sklearn.base import clone

from profiles import examples, spread
from registry import NAMES, STREAMING, make, name_of, small_table
from tanager import AODE, KDB, TAN, DataError, DataWarning, MemoryBudgetError, NaiveBayes, OptionError, SelectiveKDB
from tanager.cluster import fit, run_here, update
from tanager.cluster.wire import merge_in_order, pack, unpack


@given(parted())
@examples(90)
def test_parts_give_the_schema_counts_and_answers_of_the_whole(table):
    assert_same(here(AODE(), table), alone(AODE(), table), table.X)


@given(parted(weighted=True))
@examples(60)
def test_whole_weights_are_exact(table):
    assert_same(here(TAN(), table), alone(TAN(), table), table.X)


@pytest.mark.parametrize("bins", ["mdl", "refined", "width", "frequency"])
@given(table=parted(min_rows=10, max_rows=80, kinds=("number", "whole", "date")))
@examples(30)
def test_every_way_to_cut_is_the_same(table, bins):
    assert_same(here(NaiveBayes(bins=bins), table), alone(NaiveBayes(bins=bins), table), table.X)


@given(parted(min_rows=5, kinds=("number", "whole", "text")))
@examples(30)
def test_gaussian_columns_are_the_same(table):
    assert_same(here(NaiveBayes(gaussian=True), table), alone(NaiveBayes(gaussian=True), table), table.X)


@spread("name", NAMES)
def test_every_classifier_that_counts_answers_as_on_one_machine(name):
    X, y = small_table(60)
    one = once(make(name, 5)).fit(X, y)
    ours = fit(make(name, 5), run_here(cut_up(X, y)), named=False)
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))
    assert ours.encoder_.schema == one.encoder_.schema
    again = ours.partial_fit(X[:7], y[:7])  # and goes on as it would
    np.testing.assert_array_equal(again.predict_proba(X), one.partial_fit(X[:7], y[:7]).predict_proba(X))


@spread("name", NAMES)
def test_every_classifier_that_counts_is_the_same_from_a_random_table(name):
    table = table_for(name)
    assert_same(here(make(name, 5), table), alone(once(make(name, 5)), table), table.X)


@pytest.mark.parametrize("ones", [0, 1])
def test_weights_of_one_in_one_part_leave_the_others_theirs(ones):
    X, y = small_table(60)
    weights = [np.full(30, 2.0), np.full(30, 2.0)]
    weights[ones] = np.ones(30)
    parts = [[(X[at : at + 30], y[at : at + 30], own)] for at, own in zip((0, 30), weights, strict=True)]
    ours = fit(NaiveBayes(calibrate=True), run_here(parts), named=False)
    one = NaiveBayes(calibrate=True).fit(X, y, np.concatenate(weights))
    assert ours.counts_ == one.counts_
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("name", STREAMING)
def test_classifiers_that_depend_on_the_order_of_rows_say_so(name):
    X, y = small_table(20)
    with pytest.raises(OptionError, match="learns row after row"):
        fit(STREAMING[name](), run_here(cut_up(X, y)))


@pytest.mark.parametrize("options", [{"decay": 100}, {"window": 100}, {"recut": "grid"}])
def test_options_that_depend_on_the_order_of_rows_say_so(options):
    X, y = small_table(20)
    with pytest.raises(OptionError, match="depends on the order of rows"):
        fit(AODE(**options), run_here(cut_up(X, y)))


def test_runs_are_few_and_a_given_schema_spares_one():
    X, y = small_table(60)
    runs = []

    def counted(parts):
        engine = run_here(parts)

        def run(work, merge):
            runs.append(work.func.__name__)
            return engine(work, merge)

        return run

    parts = cut_up(X, y)
    model = fit(AODE(), counted(parts), named=False)
    assert runs == ["summarize_part", "count_part"]
    runs.clear()
    schema = model.encoder_.schema
    again = fit(AODE(schema=schema), counted(parts), named=False)
    assert runs == ["count_part"]
    assert again.counts_ == AODE(schema=schema).fit(X, y).counts_
    assert fit(AODE(schema=schema), counted(parts), named=False, classes=["low", "mid", "top"]).counts_ == again.counts_
    runs.clear()
    kdb = fit(KDB(), counted(parts), named=False)
    assert runs == ["summarize_part", "count_part", "count_families_part"]
    assert kdb.memory.rows is None
    runs.clear()
    fit(SelectiveKDB(), counted(parts), named=False)
    assert runs[2:] == ["count_families_part", "total_part"]


def test_a_model_that_would_take_too_much_memory_is_refused_before_anything_is_counted():
    X, y = small_table(60)
    with pytest.raises(MemoryBudgetError, match="counting pairs"):
        fit(AODE(max_memory=2000), run_here(cut_up(X, y)), named=False)
    with pytest.raises(MemoryBudgetError, match=r"bringing 60 rows together, which NaiveBayes looks at again"):
        fit(NaiveBayes(calibrate=True, max_memory=850), run_here(cut_up(X, y)), named=False)


def test_tables_without_rows_or_labels_are_refused():
    X = pa.table({"a": ["x", "y"]})
    none = pa.array([None, None], pa.string())
    with pytest.raises(DataError, match="no part of the table has a row"):
        fit(AODE(), run_here([[], [(X.slice(0, 0), none.slice(0, 0), None)]]))
    with pytest.raises(DataError, match="y has no label"):
        fit(AODE(), run_here([[(X, none, None)]]))
    with pytest.raises(DataError, match="every sample weight is zero"):
        fit(AODE(), run_here([[(X, pa.array(["a", "b"]), np.zeros(2))]]))


def test_rows_without_a_label_are_spoken_of_once():
    X = pa.table({"a": ["x", "y", "x", "y"]})
    y = pa.array(["p", None, "q", None])
    with pytest.warns(DataWarning, match="2 rows have no label"):
        fit(AODE(), run_here([[(X.slice(r, 1), y.slice(r, 1), None)] for r in range(4)]))


def test_arrays_of_codes_are_counted_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 4)).astype(np.uint8)
    X[rng.random(X.shape) < 0.1] = 255
    X[299, 0] = 9
    y = rng.integers(0, 2, 300)
    ours = fit(AODE(), run_here(cut_up(X, y)), named=False)
    one = AODE().fit(X, y)
    assert ours.encoder_.schema == one.encoder_.schema
    assert ours.counts_ == one.counts_


def test_objects_of_mixed_kinds_are_the_same_in_any_parts():
    cells = [None, None, 1, 2.5, "a", True, "a", 3, None, 1]
    X = np.array([[cell] for cell in cells], dtype=object)
    y = np.array(["p", "q"] * 5)
    for parts in ((2,), (2, 4), (1, 2, 3, 5, 8)):
        ours = fit(AODE(), run_here(cut_up(X, y, parts)), named=False)
        assert ours.encoder_.schema == AODE().fit(X, y).encoder_.schema


def test_results_are_merged_in_order_and_few_are_held():
    held = []

    def results():
        for r in range(1000):
            held.append(r)
            yield str(r).encode() + b" "

    merged = merge_in_order(results(), b"".join, fan_in=4)
    assert merged == b"".join(f"{r} ".encode() for r in range(1000))
    assert merge_in_order([], b"".join) is None


def test_what_travels_is_small():
    counts = fit(AODE(), run_here(cut_up(*small_table(60))), named=False).memory
    assert len(pack(counts)) < counts.counts.nbytes / 2
    assert unpack(pack(counts)).counts == counts.counts


@given(parted(min_rows=4), parted())
@examples(18)
def test_further_parts_are_learned_as_partial_fit_learns_them(first, more):
    more = Parted(more.X.rename_columns([f"a{i}" for i in range(more.X.num_columns)]), more.y, None, more.ends)
    names = first.X.column_names
    X = pa.table(
        {
            name: more.X[name].cast(first.X[name].type)
            if name in more.X.column_names and more.X[name].type == first.X[name].type
            else pa.nulls(len(more.y), first.X[name].type)
            for name in names
        }
    )
    more = Parted(X, more.y, None, more.ends)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for model in (AODE(), NaiveBayes(gaussian=True), NaiveBayes(calibrate=True)):
            one = alone(clone(model), first).partial_fit(more.X, more.y)
            ours = update(here(clone(model), first), run_here(more.parts))
            assert_same(ours, one, more.X)


def test_a_structure_that_was_chosen_once_goes_on_learning_in_parts():
    X, y = small_table(90)
    ours = fit(KDB(), run_here(cut_up(X[:60], y[:60])), named=False)
    update(ours, run_here(cut_up(X[60:], y[60:], (3, 20))))
    one = KDB(refresh=float("inf")).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    assert ours.counts_ == one.counts_
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))


def test_work_that_is_done_twice_or_dies_halfway_counts_once():
    """As engines do it where a worker dies, or is slow."""
    X, y = small_table(60)
    parts = cut_up(X, y)

    def dies(part):
        yield part[0]
        raise OSError("this worker has lost its disk")

    def run(work, merge):
        results = []
        for part in parts:
            with pytest.raises(OSError, match="lost its disk"):
                work(dies(part))
            work(part)  # another worker was quicker
            results.append(work(part))
        return merge_in_order((result for result in results if result), merge)

    ours = fit(KDB(), run, named=False)
    assert ours.counts_ == KDB(refresh=float("inf")).fit(X, y).counts_


@pytest.mark.parametrize("model", [AODE(), NaiveBayes(calibrate=True)], ids=name_of)
def test_a_table_that_changes_between_passes_is_refused(model):
    X, y = small_table(60)
    passes = iter([60, 50])

    def run(work, merge):
        n = next(passes)
        return work([(X[:n], y[:n], None)])

    with pytest.raises(DataError, match="weigh 60 in the first pass and 50 in the second"):
        fit(clone(model), run, named=False)


@pytest.mark.parametrize("model", [AODE(), KDB(), SelectiveKDB(), NaiveBayes(calibrate=True)], ids=name_of)
def test_a_given_schema_with_parts_of_one_class_each(model):
    X, y = small_table(60)
    order = np.argsort(y, kind="stable")[::-1]
    X, y = X[order], y[order]
    schema = AODE().fit(X, y).encoder_.schema
    ends = np.flatnonzero(y[1:] != y[:-1]) + 1
    ours = fit(clone(model).set_params(schema=schema), run_here(cut_up(X, y, ends)), named=False)
    one = once(clone(model).set_params(schema=schema)).fit(X, y)
    assert ours.classes_.tolist() == one.classes_.tolist()
    np.testing.assert_array_equal(ours.predict_proba(X), one.predict_proba(X))
