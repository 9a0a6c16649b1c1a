"""Counts that fade, lazily or class by class, and rows that are taken out by the weight they were added with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import Column, Decay, JointCounts, Schema
from tanager.counts.forgetting import as_decay
from tanager.errors import DataError, OptionError

N_VALUES = (2, 3, 2)
K = 3
SHAPES = [{"order": 1}, {"order": 2}, {"order": 3}, {"anchors": (0,)}, {"families": ((0, 2, 1),)}]
factors = st.floats(0.01, 1.0)


def empty(shape=None):
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=a) for i, a in enumerate(N_VALUES)))
    return JointCounts(schema, range(K), **(shape or {}))


def rows(seed, m=30, dtype=np.uint8):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, a, m) for a in N_VALUES], axis=1).astype(dtype)
    codes[rng.random(codes.shape) < 0.1] = np.iinfo(dtype).max
    return codes, rng.integers(0, K, m).astype(dtype), rng.integers(1, 9, m) / 4


def faded(shape, steps, part):
    """Rows added one by one, all counts fading before each."""
    counts = empty(shape)
    codes, labels, weights = part
    for r, factor in enumerate(steps[: len(codes)]):
        counts.decay(factor).learn_row(codes[r], int(labels[r]), float(weights[r]))
    return counts


@given(seed=st.integers(0, 99), steps=st.lists(factors, min_size=1, max_size=30))
def test_merged_counts_that_faded_apart_are_the_sum_of_the_true_counts(seed, steps):
    for shape in SHAPES:
        parts = rows(seed), rows(seed + 1)
        here, there = faded(shape, steps, parts[0]), faded(shape, [0.5, *steps, 0.1], parts[1])
        both = here.copy().merge(there)
        np.testing.assert_allclose(both.joint("x1"), here.joint("x1") + there.joint("x1"), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(both.n_rows, here.n_rows + there.n_rows)
        assert both == there.copy().merge(here)
        assert both.decay(0.3) == here.decay(0.3).merge(there.decay(0.3))


@pytest.mark.parametrize("shape", [*SHAPES, {"families": ((0, 2, 1),), "sparse": ((0, 2, 1),)}], ids=str)
def test_merged_counts_that_faded_apart_may_know_different_classes(shape):
    codes, labels, weights = rows(2)
    here = faded(shape, [0.5] * 30, rows(1))
    there = JointCounts(here.schema, range(1, K + 1), **shape).decay(0.25).update(codes, labels, weights)
    both = here.copy().merge(there)
    for columns in [("x1",), ("x0", "x1", "x2")] if here.holds(families=[(0, 2, 1)]) else [("x1",)]:
        expected = np.concatenate([here.joint(*columns), np.zeros_like(here.joint(*columns)[:1])])
        expected[1:] += there.joint(*columns)
        np.testing.assert_allclose(both.joint(*columns), expected, rtol=1e-9)


@pytest.mark.parametrize("sparse", [(), ((0, 2, 1),)], ids=["all cells", "sparse"])
def test_rows_that_are_taken_from_faded_counts_leave_no_rounding(sparse):
    codes, labels, _ = rows(3, 2000)
    weights = np.random.default_rng(3).uniform(0.1, 1, 2000)
    counts = empty({"families": ((0, 2, 1),), "sparse": sparse}).decay(1e-12).update(codes, labels, weights)
    counts.subtract(codes[::-1], labels[::-1], weights[::-1])
    assert counts.n_rows == 0
    assert not counts.joint("x0", "x1", "x2").any()


@given(seed=st.integers(0, 99), steps=st.lists(st.tuples(factors, factors, factors), max_size=5))
def test_classes_fade_each_by_its_own_factor(seed, steps):
    for shape in SHAPES:
        codes, labels, weights = rows(seed)
        counts = empty(shape).update(codes, labels, weights)
        for step in steps:
            counts.decay_classes(step)
        left = np.prod(np.array(steps).reshape(-1, K), axis=0)
        assert counts == empty(shape).update(codes, labels, weights * left[labels])
        np.testing.assert_allclose(counts.class_counts, empty().update(codes, labels, weights).class_counts * left)


@given(seed=st.integers(0, 99), factor=factors)
def test_one_factor_for_all_classes_is_decay(seed, factor):
    for shape in SHAPES:
        codes, labels, weights = rows(seed)
        lazy, eager = (empty(shape).update(codes, labels, weights) for _ in range(2))
        version = eager.version
        assert lazy.decay(factor) == eager.decay_classes([factor] * K)
        assert eager.version > version


@pytest.mark.parametrize("given_", [[0.5], [0.5, 0.5, 0.0], [0.5, 0.5, 1.5], [0.5, 0.5, np.nan], 0.5])
def test_factors_that_mean_nothing_are_refused(given_):
    counts = empty().update(*rows(0))
    with pytest.raises(OptionError, match="decay_classes"):
        counts.decay_classes(given_)
    np.testing.assert_allclose(counts.n_rows, rows(0)[2].sum())


@given(
    seed=st.integers(0, 99),
    factor=st.sampled_from([0.9, 0.5, 1e-20]),
    size=st.integers(1, 8),
    single=st.booleans(),
)
def test_rows_leave_by_the_weight_they_were_added_with(seed, factor, size, single):
    """A window over fading counts: the rest is as if only the last rows had been seen, and no cell is below zero."""
    for shape in SHAPES:
        codes, labels, weights = rows(seed)
        counts, raw, halvings = empty(shape), np.zeros(len(codes)), 0
        for r in range(len(codes)):
            counts.decay(factor).learn_row(codes[r], int(labels[r]), weights[r])
            raw = counts.raw_now(raw, halvings)
            halvings = counts.halvings
            raw[r] = weights[r] * counts.scale
            old = slice(max(0, r - size), max(0, r - size + 1))
            if single and r >= size:
                counts.forget_row(codes[old][0], int(labels[old][0]), float(raw[old][0]))
            elif r >= size:
                counts.forget_rows(codes[old], labels[old], raw[old])
        age = np.arange(size)[::-1]
        rest = empty(shape).update(codes[-size:], labels[-size:], weights[-size:] * factor**age)
        assert counts == rest
        np.testing.assert_allclose(counts.n_rows, rest.n_rows, rtol=1e-9)
        assert all((table >= 0).all() for table in counts.to_header()[1].values())


def test_whole_rows_leave_without_a_trace():
    codes, labels, _ = rows(5, 200)
    counts = empty({"order": 3}).update(codes, labels)
    counts.forget_rows(codes[:150], labels[:150], np.ones(150))
    rest = empty({"order": 3}).update(codes[150:], labels[150:])
    for name, table in counts.to_header()[1].items():
        assert np.array_equal(table, rest.to_header()[1][name]), name


def test_an_unlabelled_row_has_nothing_to_take_out():
    codes, labels, _ = rows(6, 5)
    counts = empty().update(codes, labels)
    counts.forget_rows(codes, np.full(5, 255, dtype=np.uint8), np.ones(5))
    assert counts.n_rows == 5


def test_a_row_with_an_unknown_value_or_class_was_never_added():
    codes, labels, _ = rows(7, 5)
    counts = empty().update(codes, labels)
    strange = codes.copy()
    strange[2, 1] = 77
    with pytest.raises(DataError, match="row 2"):
        counts.forget_rows(strange, labels, np.ones(5))
    with pytest.raises(DataError, match="never added"):
        counts.forget_row(strange[2], 0, 1.0)
    with pytest.raises(DataError, match="never added"):
        counts.forget_row(codes[0], K, 1.0)
    with pytest.raises(ValueError, match="one weight per row"):
        counts.forget_rows(codes, labels, np.ones(4))
    assert counts.n_rows == 3


@pytest.mark.parametrize("factor", [1e-300, 5e-324, 1e-110])
def test_a_factor_of_almost_nothing_is_no_overflow(factor):
    codes, labels, weights = rows(8)
    counts = empty().update(codes, labels, weights).decay(1e-99)
    for _ in range(3):
        counts.decay(factor)
        assert 0 < counts.scale < 1e101
        assert all(np.isfinite(table).all() for table in counts.to_header()[1].values())
    counts.update(codes, labels, weights)
    assert counts == empty().update(codes, labels, weights)


def test_halving_cells_is_exact_and_noted():
    codes, labels, weights = rows(9)
    counts = empty().update(codes, labels, weights)
    before = counts.to_header()[1]["classes"].copy()
    counts.decay(1e-90).decay(1e-90)
    assert counts.halvings > 0
    assert counts.raw_now(before, 0).tolist() == counts.to_header()[1]["classes"].tolist()
    np.testing.assert_allclose(counts.class_counts, before * 1e-180, rtol=1e-12)
    for other in (counts.copy(), counts.project(["x0", "x1"]), counts.copy().grow(counts.schema, range(K + 1))):
        assert other.halvings == counts.halvings
    assert JointCounts.from_bytes(counts.to_bytes()).halvings == 0  # raw weights kept elsewhere are no part of it


def test_faded_counts_that_differ_are_not_equal():
    """Cells of a large scale are whole numbers, and no less faded for that."""
    codes, labels, weights = rows(10)
    here = empty().update(codes, labels, weights).decay(1e-30)
    assert here == empty().update(codes, labels, weights * 1e-30)
    here.update(codes, labels, weights)
    assert here == empty().update(codes, labels, weights)
    assert here != empty().update(codes, labels, weights * 1.001)


def test_a_decay_that_could_mean_two_things_is_refused():
    with pytest.raises(OptionError, match=r"decay=None.*half_life=1"):
        as_decay(1.0)
    assert as_decay(1) == Decay(half_life=1)
    assert as_decay(0.5) == Decay(factor=0.5)


def test_the_kernels_say_how_many_rows_there_are_as_the_counts_do():
    counts = JointCounts(Schema((Column("x", "codes", n_codes=2),)), [0, 1, 2], order=1)
    assert counts.store.n_rows() == 0.0
    counts.update(np.array([[0], [1], [1]], dtype=np.uint8), np.array([0, 2, 2], dtype=np.uint8), np.array([1, 2, 0.5]))
    assert counts.store.n_rows() == 3.5
    counts.decay(0.25)
    assert counts.store.n_rows() == 3.5
    assert counts.store.n_rows() / counts.scale == counts.n_rows == 0.875
