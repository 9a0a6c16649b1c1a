"""The algebra of counts: merge, subtract, decay, project, grow, save."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from strategies import cuts, tables
from tanager import AODE, Collection, Column, JointCounts, NaiveBayes, Schema
from tanager.errors import DataError, ModelFileError, SchemaMismatch

SHAPES = [
    {"order": 1},
    {"order": 2},
    {"order": 3},
    {"order": 2, "anchors": (0,)},
    {"order": 2, "families": ((0, 1, 2),)},
]
K = 3


def schema_of(table):
    return Schema(tuple(Column(f"x{i}", "categorical", tuple("abcdefgh"[:a])) for i, a in enumerate(table.n_values)))


def coded(table, columns=None):
    codes = np.full((len(table.rows), table.n), 255, dtype=np.uint8)
    for r, row in enumerate(table.rows):
        for i, v in enumerate(row):
            if v is not None:
                codes[r, i] = "abcdefgh".index(v)
    labels = np.array(table.labels, dtype=np.uint8)
    return (codes if columns is None else np.ascontiguousarray(codes[:, columns])), labels


def empty(table, shape, schema=None):
    return JointCounts(schema or schema_of(table), range(K), **shape)


three = tables(min_columns=3, max_columns=4, weighted=True)


@examples(40)
@given(table=three, data=st.data())
def test_counting_parts_equals_counting_the_whole(table, data):
    for shape in SHAPES:
        codes, labels = coded(table)
        whole = empty(table, shape).update(codes, labels, table.w)
        parts = empty(table, shape)
        merged = empty(table, shape)
        for start, stop in cuts(data.draw, len(codes)):
            some = codes[start:stop], labels[start:stop], table.w[start:stop]
            parts.update(*some)
            merged.merge(empty(table, shape).update(*some))
        single = empty(table, shape)
        for r in range(len(codes)):
            single.learn_rows(codes[r : r + 1], labels[r : r + 1], table.w[r : r + 1])
        assert whole == parts == merged == single


@examples(40)
@given(table=three, seed=st.integers(0, 99))
def test_parts_with_other_columns_orders_values_and_classes_merge(table, seed):
    for shape in SHAPES:
        rng = np.random.default_rng(seed)
        codes, labels = coded(table)
        whole = empty(table, shape).update(codes, labels)
        cut = len(codes) // 2
        here = empty(table, shape).update(codes[:cut], labels[:cut])
        # There, columns, values and classes have another order.
        columns = rng.permutation(table.n)
        values = [rng.permutation(a) for a in table.n_values]
        classes = rng.permutation(K)
        place = {int(old): new for new, old in enumerate(columns)}
        schema = Schema(tuple(Column(f"x{i}", "categorical", tuple("abcdefgh"[v] for v in values[i])) for i in columns))
        there_shape = dict(shape)
        for key in ("anchors",):
            if key in shape:
                there_shape[key] = tuple(place[i] for i in shape[key])
        if "families" in shape:
            there_shape["families"] = tuple(tuple(place[i] for i in family) for family in shape["families"])
        there = JointCounts(schema, [int(c) for c in classes], **there_shape)
        moved = np.full_like(codes[cut:], 255)
        for i in range(table.n):
            back = np.append(np.argsort(values[i]), [255] * (256 - len(values[i])))
            moved[:, place[i]] = back[codes[cut:, i]]
        there.update(moved, np.argsort(classes)[labels[cut:]].astype(np.uint8))
        assert here.copy().merge(there) == whole
        assert here == here.copy()


@examples(40)
@given(table=three, data=st.data())
def test_what_is_subtracted_was_never_added(table, data):
    for shape in SHAPES:
        codes, labels = coded(table)
        cut = data.draw(st.integers(0, len(codes)))
        counts = empty(table, shape).update(codes, labels).subtract(codes[cut:], labels[cut:])
        assert counts == empty(table, shape).update(codes[:cut], labels[:cut])


def test_rows_that_were_never_added_are_refused_and_nothing_changes():
    schema = Schema((Column("a", "codes", n_codes=2), Column("b", "codes", n_codes=2)))
    rows, labels = np.array([[0, 1], [1, 0]], dtype=np.uint8), np.array([0, 1], dtype=np.uint8)
    counts = JointCounts(schema, [0, 1]).update(rows, labels)
    before = counts.copy()
    for wrong in (np.array([[0, 0]], dtype=np.uint8), np.array([[0, 7]], dtype=np.uint8)):
        with pytest.raises(DataError, match="cannot subtract"):
            counts.subtract(wrong, labels[:1])
        assert counts == before


@examples(30)
@given(table=three, factor=st.sampled_from([0.5, 0.9, 0.999, 1e-40]))
def test_lazy_decay_equals_fading_every_cell(table, factor):
    for shape in SHAPES:
        codes, labels = coded(table)
        lazy = empty(table, shape)
        for r in range(len(codes)):
            lazy.decay(factor).update(codes[r : r + 1], labels[r : r + 1], table.w[r : r + 1])
        age = np.arange(len(codes))[::-1]
        eager = empty(table, shape).update(codes, labels, table.w * factor**age)
        assert lazy == eager
        np.testing.assert_allclose(lazy.class_counts, eager.class_counts, rtol=1e-9)
        np.testing.assert_allclose(lazy.joint("x0"), eager.joint("x0"), rtol=1e-9, atol=1e-12)
        both = lazy.copy().merge(eager)
        np.testing.assert_allclose(both.class_counts, 2 * eager.class_counts, rtol=1e-9)


@examples(30)
@given(table=three, data=st.data())
def test_projecting_equals_counting_fewer_columns(table, data):
    for shape in SHAPES:
        codes, labels = coded(table)
        columns = data.draw(st.permutations(range(table.n)))[: data.draw(st.integers(1, table.n))]
        counts = empty(table, shape).update(codes, labels).project(columns)
        schema = Schema(tuple(schema_of(table).columns[i] for i in columns))
        kept = {"order": shape["order"]}
        if "anchors" in shape and 0 in columns:
            kept["anchors"] = (columns.index(0),)
        if "families" in shape and {0, 1, 2} <= set(columns):
            kept["families"] = (tuple(columns.index(i) for i in (0, 1, 2)),)
        expected = empty(table, kept, schema).update(*coded(table, columns))
        assert counts == expected
        lower = empty(table, shape).update(codes, labels).project(columns, order=1)
        assert lower.joint(0).tolist() == expected.joint(0).tolist()


@examples(30)
@given(table=three, decayed=st.booleans())
def test_bytes_bring_the_same_counts_back(table, decayed):
    for shape in SHAPES:
        codes, labels = coded(table)
        counts = empty(table, shape).update(codes, labels, table.w)
        if decayed:
            counts.decay(0.7)
        again = JointCounts.from_bytes(counts.to_bytes())
        assert again == counts
        assert again.scale == counts.scale
        again.update(codes, labels, table.w)
        assert again == counts.update(codes, labels, table.w)


def test_damaged_bytes_are_refused():
    data = NaiveBayes().fit([["a"], ["b"]], [0, 1]).counts_.to_bytes()
    with pytest.raises(ModelFileError):
        JointCounts.from_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError):
        JointCounts.from_bytes(b"something else")


@examples(30)
@given(table=three)
def test_growing_moves_every_count_to_its_new_place(table):
    for shape in SHAPES:
        codes, labels = coded(table)
        small = empty(table, shape).update(codes, labels, table.w)
        wide = Schema(tuple(Column(c.name, c.kind, (*c.values, "new", "newer")) for c in schema_of(table).columns))
        grown = small.copy().grow(wide, range(-1, K + 1))
        expected = JointCounts(wide, range(-1, K + 1), **shape).update(codes, (labels + 1).astype(np.uint8), table.w)
        assert grown == expected


@examples(30)
@given(table=three)
def test_a_column_added_later_was_missing_so_far(table):
    for shape in SHAPES:
        codes, labels = coded(table)
        schema = Schema((*schema_of(table).columns, Column("late", "categorical", ("u",))))
        counts = empty(table, shape).update(codes, labels, table.w).add_columns(schema)
        more = np.hstack([codes, np.full((len(codes), 1), 255, dtype=np.uint8)])
        assert counts == empty(table, shape, schema).update(more, labels, table.w)


def test_values_beyond_the_cap_here_join_the_others():
    here = AODE(max_values=3).fit([["a", "p"], ["b", "p"], ["c", "q"], ["a", "q"], ["b", "p"]], [0, 1, 0, 1, 1]).counts_
    there = AODE().fit([["c", "p"], ["d", "q"], ["a", "p"]], [0, 0, 1]).counts_
    assert here.schema["x0"].other
    merged = here.copy().merge(there)
    assert merged.n_rows == 8
    assert merged.joint("x0")[:, 2].tolist() == [3, 0]  # c here, c and d there
    assert merged.joint("x0", "x1").sum() == 8
    back = there.copy().merge(here)
    assert back.n_rows == 8
    assert back.schema["x0"].n_values == 5  # c, d, a, b and the others
    assert back.joint("x0").sum() == 8


def test_counts_that_cannot_be_matched_are_refused_and_left_alone():
    here = NaiveBayes(bins={"x0": [1.0]}).fit([[0.5], [1.5]], [0, 1]).counts_
    there = NaiveBayes(bins={"x0": [2.0]}).fit([[0.5], [2.5]], [0, 1]).counts_
    with pytest.raises(SchemaMismatch, match="cut points"):
        here.merge(there)
    with pytest.raises(SchemaMismatch, match="order"):
        NaiveBayes().fit([["a"]], [0]).counts_.merge(AODE().fit([["a"]], [0]).counts_)
    assert here.n_rows == 2


def test_a_family_serves_whichever_of_its_columns_is_the_child():
    rng = np.random.default_rng(0)
    X = [[f"v{v}" for v in row] for row in rng.integers(0, 3, (50, 3))]
    y = rng.integers(0, 2, 50)
    wanted = Collection({"x1": [["x0", "x2"]], "x0": [["x2"]]})
    expected = wanted.fit(X, y).predict_proba(X)
    schema = wanted.counts_.schema
    counts = JointCounts(schema, [0, 1], order=2, families=((0, 1, 2),))
    counts.update(wanted.encoder_.transform(X), y.astype(np.uint8))
    again = Collection.from_counts(counts, parent_sets=wanted.parent_sets)
    np.testing.assert_allclose(again.predict_proba(X), expected, rtol=1e-12)
