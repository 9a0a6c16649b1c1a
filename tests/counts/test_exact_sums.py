"""Sums without rounding: what is read from them is what fractions say, whatever came and went."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exact_twin
from profiles import examples
from tanager.counts.exact_sums import ExactSums, sums_of_moments
from tanager.counts.moments import Moments
from tanager.errors import ModelFileError

# Numbers of all sizes, constants, tiny and huge ones, and those that differ in their last digit.
finite = st.floats(-(2.0**1022), 2.0**1022, allow_nan=False, allow_infinity=False)
usual = st.floats(-100, 100).map(lambda x: round(x, 2))
near = st.integers(-3, 3).map(lambda j: 1e9 + j * 2.0**-23)
hostile = st.sampled_from([0.0, 1.0, -1.0, 1e150, -1e150, 1e-150, 1e200, 5e-324, 0.1, 4e307])
numbers = st.one_of(usual, near, hostile, finite)
weights = st.one_of(st.just(1.0), st.sampled_from([2.0, 0.5, 0.1, 1e-5, 3.7e4]), st.floats(1e-6, 1e6))
rows = st.lists(st.tuples(weights, numbers, st.integers(0, 2)), min_size=1, max_size=12)


def summed(pairs, n_classes=3):
    out = Moments(n_classes, 1)
    return learn(out, pairs)


def learn(out, pairs, back=False):
    if pairs:
        w, x, y = (np.array(part) for part in zip(*pairs, strict=True))
        (out.subtract if back else out.update)(x[:, None], y.astype(np.uint8), w)
    return out


def check(moments, pairs):
    """What is read is the nearest double, or next to it."""
    for c in range(3):
        want = exact_twin.moments([(w, x) for w, x, y in pairs if y == c])
        got = [part[c, 0] for part in moments.cells]
        if want is None:
            assert got == [0.0, 0.0, 0.0]
            continue
        weight, mean, variance = want
        assert got[0] == pytest.approx(float(weight), rel=1e-15)
        assert got[1] == pytest.approx(float(mean), rel=1e-15, abs=5e-324)
        deviation = exact_twin.root(variance)
        if deviation <= 2.0**-60 * abs(float(mean)):
            assert got[2] == 0.0
        else:
            assert got[2] == pytest.approx(deviation, rel=1e-14, abs=1e-323)


def same(one, other):
    for a, b in zip(one.cells, other.cells, strict=True):
        np.testing.assert_array_equal(a, b)


@examples(150)
@given(rows)
def test_what_is_read_is_what_fractions_say(pairs):
    check(summed(pairs), pairs)


@examples(150)
@given(rows, st.integers(0, 12))
def test_rows_that_are_taken_away_leave_no_trace(pairs, cut):
    whole = learn(summed(pairs), pairs[:cut], back=True)
    same(whole, summed(pairs[cut:]))
    check(whole, pairs[cut:])


@examples(100)
@given(rows, st.integers(0, 12), st.randoms())
def test_parts_in_any_order_are_the_whole(pairs, cut, random):
    mixed = list(pairs)
    random.shuffle(mixed)
    merged = summed(mixed[:cut]).merge(summed(mixed[cut:]))
    same(merged, summed(pairs))
    single = Moments(3, 1)
    for row in mixed:
        learn(single, [row])
    same(single, merged)


@examples(100)
@given(rows)
def test_a_row_left_out_is_a_row_never_seen(pairs):
    whole = summed(pairs)
    w, x, y = (np.array(part) for part in zip(*pairs, strict=True))
    left = whole.sums.read_without(y[:, None], x[:, None], w)
    for r in range(len(pairs)):
        rest = summed(pairs[:r] + pairs[r + 1 :])
        for part, want in zip(left, rest.cells, strict=True):
            assert part[r, 0, 0] == want[y[r], 0]


@examples(100)
@given(rows, st.lists(st.sampled_from([0.5, 0.9, 0.999, 1e-3, 1e-30]), max_size=15))
def test_fading_is_learning_with_smaller_weights(pairs, factors):
    """Weights are rounded, once for a row and once for every step; means and spreads then follow to that bound."""
    faded = summed(pairs)
    for factor in factors:
        faded.decay(factor)
    fresh = summed(pairs)
    left = math.prod(factors)
    np.testing.assert_allclose(faded.weight, fresh.weight * left, rtol=1e-14)
    if left > 1e-90:  # the sums have not been cut
        for name in ("mean", "deviation"):
            np.testing.assert_array_equal(getattr(faded.cells, name), getattr(fresh.cells, name))


@examples(50)
@given(rows, rows, st.integers(1, 400))
def test_old_rows_fade_away_and_new_ones_stay_as_they_are(old, new, halvings):
    """However often sums are cut, what has faded is as it would be with smaller weights from the start."""
    faded = summed(old)
    for _ in range(halvings):
        faded.decay(0.5)
    learn(faded, new)
    fresh = summed([(math.ldexp(w, -halvings), x, y) for w, x, y in old] + new)
    learned = {y for _, _, y in new}
    for c in learned:
        np.testing.assert_allclose(faded.weight[c], fresh.weight[c], rtol=1e-12)
    small = [abs(x) for _, x, y in old if abs(x) > 0] + [abs(x) for _, x, y in new if abs(x) > 0]
    for c in learned:
        if small and halvings < 300:
            np.testing.assert_array_equal(faded.mean[c], fresh.mean[c])


@examples(50)
@given(rows, st.floats(1e-3, 1.0))
def test_a_class_may_fade_alone(pairs, factor):
    faded = summed(pairs).decay(np.array([[1.0], [factor], [1.0]]))
    fresh = summed(pairs)
    np.testing.assert_allclose(faded.weight, fresh.weight * np.array([[1.0], [factor], [1.0]]), rtol=1e-14)
    for name in ("mean", "deviation"):
        np.testing.assert_allclose(getattr(faded.cells, name), getattr(fresh.cells, name), rtol=1e-13, atol=1e-300)


@examples(50)
@given(rows)
def test_moments_of_older_files_become_sums(pairs):
    cells = summed(pairs).cells
    with np.errstate(over="ignore"):
        squares = cells.weight * cells.deviation**2
    if not np.isfinite(squares).all():
        return
    back = sums_of_moments(cells.weight, cells.mean, squares).read(np.arange(3))
    np.testing.assert_array_equal(back.weight, cells.weight)
    np.testing.assert_array_equal(back.mean, cells.mean)
    normal = squares > 1e-290
    np.testing.assert_allclose(back.deviation[normal], cells.deviation[normal], rtol=1e-14)


def test_columns_are_chosen_and_classes_moved():
    x = np.array([[1.0, 1e150, -3.0], [2.0, np.nan, 5.0]])
    both = Moments(2, 3).update(x, np.array([0, 1], dtype=np.uint8))
    turned = both.project([2, 0])
    np.testing.assert_array_equal(turned.mean, [[-3.0, 1.0], [5.0, 2.0]])
    moved = both.move_classes(np.array([2, 0]), 3)
    np.testing.assert_array_equal(moved.weight, [[1, 0, 1], [0, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(moved.mean[2], [1.0, 1e150, -3.0])


def test_files_whose_digits_make_no_sense_are_refused():
    moments = Moments(2, 1).update(np.array([[1.5], [2.5], [1e9]]), np.array([0, 0, 1], dtype=np.uint8))
    arrays = moments.to_arrays()
    again = moments.with_arrays(arrays)
    same(again, moments)
    digits, windows = arrays["moments-digits"], arrays["moments-windows"]
    for name, part in (
        ("digits", digits[:, :-1]),
        ("digits", digits.astype(float)),
        ("digits", digits - 2**40),
        ("digits", np.full_like(digits, 2**62)),
        ("windows", windows * 1000),
        ("windows", windows + 1),
        ("windows", windows[:, :2]),
        ("windows", -windows),
        ("fading", np.array([0.0, 0.0])),
        ("fading", np.array([np.nan, 0.0])),
        ("fading", np.array([1e300, 0.0])),
        ("fading", np.array([1.0, 2.0])),
        ("fading", np.ones(3)),
    ):
        with pytest.raises(ModelFileError):
            moments.with_arrays(arrays | {f"moments-{name}": part})
    old = {f"moments-{name}": np.ones((2, 1)) for name in ("weight", "mean", "squares")}
    assert moments.with_arrays(old).mean[0, 0] == 1.0
    for name, part in (("weight", -np.ones((2, 1))), ("mean", np.full((2, 1), np.inf)), ("squares", np.ones((1, 1)))):
        with pytest.raises(ModelFileError):
            moments.with_arrays(old | {f"moments-{name}": part})


def test_an_empty_sum_reads_nothing():
    cells = ExactSums(2, 3).read(np.array([0, 1]))
    assert not any(part.any() for part in cells)
