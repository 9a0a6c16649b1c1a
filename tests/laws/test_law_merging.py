"""Merging two models is the same as learning the rows of both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from profiles import examples
from registry import ALL, NAMES, make, name_of, small_table
from strategies import tables
from tanager import AODE, KDB, TAN, NaiveBayes, SchemaMismatch, load

every = pytest.mark.parametrize("name", NAMES)


@every
@examples(8)
@given(table=tables(min_rows=4, max_rows=20), cut=st.integers(1, 3))
def test_merged_parts_answer_as_the_whole(name, table, cut):
    """Two halves with a schema in common; each may lack classes of the other."""
    whole = make(name, table.n).fit(table.X, table.y)
    if any(column.kind == "continuous" for column in whole.encoder_.schema.columns):
        return
    schema = whole.encoder_.schema
    one, two, both = (make(name, table.n, schema=schema) for _ in range(3))
    one.fit(table.X[:cut], table.y[:cut])
    two.fit(table.X[cut:], table.y[cut:])
    both.fit(table.X, table.y)
    one.merge(two)
    np.testing.assert_array_equal(one.classes_, both.classes_)
    np.testing.assert_allclose(one.predict_proba(table.X), both.predict_proba(table.X), rtol=1e-12)


def test_values_and_classes_that_only_one_part_has_are_matched():
    one = TAN().fit([["sun", "no"], ["rain", "yes"]], ["play", "stay"])
    two = TAN().fit([["snow", "yes"], ["rain", "no"], ["snow", "no"]], ["ski", "play", "ski"])
    both = TAN().fit(
        [["sun", "no"], ["rain", "yes"], ["snow", "yes"], ["rain", "no"], ["snow", "no"]],
        ["play", "stay", "ski", "play", "ski"],
    )
    one.merge(two)
    assert one.counts_ == both.counts_
    assert one.predict([["snow", "yes"]]).tolist() == ["ski"]


def test_kept_rows_of_both_are_there_after_a_merge(tmp_path):
    X, y = small_table(90)
    schema = KDB().fit(X, y).encoder_.schema
    one, two = KDB(schema=schema).fit(X[:40], y[:40]), KDB(schema=schema).fit(X[40:], y[40:])
    whole = KDB(schema=schema).fit(X, y)
    one.merge(two).save(tmp_path / "kdb.tanager")
    loaded = load(tmp_path / "kdb.tanager")
    np.testing.assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))


def test_gaussian_moments_are_merged_by_name():
    rng = np.random.default_rng(0)
    rows = [{"a": float(rng.normal()), "b": float(rng.normal(5))} for _ in range(30)]
    y = ["p", "q"] * 15
    names = [["a", "b"], ["b", "a"]]
    parts = [rows[:14], rows[14:]]
    labels = [y[:14], y[14:]]
    models = [
        NaiveBayes(gaussian=True).fit({n: [row[n] for row in part] for n in order}, own)
        for order, part, own in zip(names, parts, labels, strict=True)
    ]
    whole = NaiveBayes(gaussian=True).fit(rows, y)
    merged = models[0].merge(models[1])
    np.testing.assert_allclose(merged.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_a_merged_model_goes_on_learning(model):
    X, y = small_table(60)
    schema = clone(model).fit(X, y).encoder_.schema
    one, two = (clone(model).set_params(schema=schema).fit(X[part], y[part]) for part in (slice(30), slice(30, 60)))
    one.merge(two).partial_fit(X, y)
    assert one.counts_.n_rows == 120


def test_what_cannot_be_merged_is_refused_with_the_way_out():
    X, y = [[0.1], [0.2], [5.5], [6.5]] * 5, [0, 0, 1, 1] * 5
    shifted = [[x[0] + 1] for x in X]
    model = AODE().fit(X, y)
    before = model.counts_.to_bytes()
    with pytest.raises(SchemaMismatch, match="cut points"):
        model.merge(AODE().fit(shifted, y))
    with pytest.raises(SchemaMismatch, match="cannot merge TAN into AODE"):
        model.merge(TAN().fit(X, y))
    assert model.counts_.to_bytes() == before


def test_the_name_of_the_target_is_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"sky": ["sun", "rain"], "walk": ["yes", "no"]})
    model = AODE().fit(frame[["sky"]], frame["walk"])
    model.save(tmp_path / "walk.tanager")
    assert load(tmp_path / "walk.tanager").target_name_ == "walk"
    assert AODE().fit([["a"], ["b"]], [0, 1]).target_name_ is None


def test_a_merge_that_is_refused_lets_no_time_pass():
    """The rows that were too old at the time of the other model had left, though it had other columns."""
    X, y = [["a"], ["b"], ["a"]], [0, 1, 0]
    model = NaiveBayes(window="10 s").fit(X, y, times=[0.0, 1.0, 2.0])
    other = NaiveBayes(window="10 s").fit([["a", "b"]], [0], times=[11.5])
    before = model.predict_proba(X)
    with pytest.raises(SchemaMismatch):
        model.merge(other)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    model.merge(NaiveBayes(window="10 s").fit([["b"]], [1], times=[11.5]))
    assert model.counts_.n_rows == 2
