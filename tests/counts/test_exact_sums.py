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
from tanager.counts.normals import all_rows, by_rule, centre_of, normals_of, within_reach
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
    """To 1e-13 where it is taken off in doubles, and to the last bit where too little would be left for that."""
    whole = summed(pairs)
    w, x, y = (np.array(part) for part in zip(*pairs, strict=True))
    left = whole.sums.read_without(y[:, None], x[:, None], w)
    for r in range(len(pairs)):
        rest = summed(pairs[:r] + pairs[r + 1 :])
        weight, mean, deviation = (part[y[r], 0] for part in rest.cells)
        assert left.weight[r, 0, 0] == pytest.approx(weight, rel=1e-13)
        assert left.deviation[r, 0, 0] == pytest.approx(deviation, rel=1e-13, abs=1e-323)
        assert abs(left.mean[r, 0, 0] - mean) <= 1e-13 * deviation + 2 * math.ulp(mean)


@examples(100)
@given(rows, st.lists(st.sampled_from([0.5, 0.9, 0.999, 1e-3, 1e-30]), max_size=15))
def test_fading_is_learning_with_smaller_weights(pairs, factors):
    """Weights are rounded, once for a row and once for every step; means and spreads then follow to that bound."""
    faded = summed(pairs)
    for factor in factors:
        faded.decay(factor)
    fresh = summed(pairs)
    left = math.prod(factors)
    cut = 0.0 if left > 1e-90 else 1e-90 * fresh.weight.max()  # from there on sums may be cut
    np.testing.assert_allclose(faded.weight, fresh.weight * left, rtol=1e-14, atol=cut)
    if not cut:
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


# --- answers, row after row -----------------------------------------------------------------------------------------


def by_the_rules(moments, x):
    """Log ratios of numbers, from what is read of the sums and the rules in the order in which they are written.

    And what a mean that is rounded otherwise would change of them, and the rounding of densities far out, which are
    large next to their differences.
    """
    every = all_rows(moments.cells, 0, moments.ddof)
    normals = normals_of(*centre_of(by_rule(moments.cells, moments.ddof), every), every)
    values = np.repeat(within_reach(x, every)[:, None], moments.n_classes, axis=1)
    logs = normals.log_density(values)
    with np.errstate(over="ignore"):
        unit = 2 * np.spacing(np.abs(normals.mean)) * normals.inverse
        slack = np.nan_to_num((np.abs(values - normals.mean) * normals.inverse + unit) * unit + 4 * np.spacing(-logs))
        slack = 2 * slack.sum(axis=2).max(axis=1, keepdims=True)
    return (logs - logs.max(axis=1, keepdims=True)).sum(axis=2), slack


def agree(got, want):
    """Odds are the same to 1e-6, those of far numbers in nine digits, but for what the rounding of means does.

    Where numbers are so far that all digits of a spread matter, the farthest class says how far.
    """
    ratios, slack = want
    farthest = np.abs(ratios).max(axis=1, keepdims=True)
    slack = slack + np.where(farthest > 1e20, 1e-3 * farthest, 0.0)
    assert (np.abs(got - ratios) <= 1e-6 + 1e-9 * np.abs(ratios) + slack).all()


@examples(100)
@given(rows, st.lists(numbers, min_size=1, max_size=5), st.sampled_from([0, 1]))
def test_answers_follow_the_rules(pairs, asked, ddof):
    moments = learn(Moments(3, 1, ddof), pairs)
    x = np.array(asked)[:, None]
    agree(moments.log_ratios(x)[0], by_the_rules(moments, x))


@examples(100)
@given(rows, st.sampled_from([0, 1]))
def test_answers_to_rows_left_out_are_those_of_the_others(pairs, ddof):
    whole = learn(Moments(3, 1, ddof), pairs)
    w, x, y = (np.array(part) for part in zip(*pairs, strict=True))
    got = whole.log_ratios(x[:, None], (y.astype(np.uint8), w))[0]
    for r in range(len(pairs)):
        rest = learn(Moments(3, 1, ddof), pairs[:r] + pairs[r + 1 :])
        agree(got[r : r + 1], by_the_rules(rest, x[r : r + 1, None]))


@examples(100)
@given(
    st.lists(st.tuples(weights, numbers, st.integers(0, 2)), min_size=1, max_size=40),
    st.sampled_from([None, 1, 3, 10]),
    st.sampled_from([1.0, 0.9, 1e-40]),
    st.sampled_from([0, 1]),
)
def test_a_stream_answers_as_sums_that_are_read_before_every_row(pairs, window, factor, ddof):
    """Rows come, leave and fade; at the end the sums are those of the rows that stayed, to the last bit."""
    w, x, y = (np.array(part) for part in zip(*pairs, strict=True))
    labels, m = y.astype(np.uint8), len(pairs)
    gone = None if window is None else (np.arange(m) >= window).astype(np.int64)
    fade = None if factor == 1.0 else np.full(m, factor)
    out, streamed = np.empty((m, 3)), Moments(3, 1, ddof)
    leaving = None if gone is None else (x[:, None], labels, w, 1.0)
    streamed.stream(x[:, None], labels, w, out, None, fade, leaving, gone)
    slow = Moments(3, 1, ddof)
    raw = []  # weights times the scale that they came with
    for r in range(m):
        agree(out[r : r + 1], by_the_rules(slow, x[r : r + 1, None]))
        before = slow.sums.scale
        slow.decay(factor)
        if slow.sums.scale < before:  # sums were cut: what follows is rounded
            assert np.isfinite(out).all()
            return
        raw.append(w[r] * slow.sums.scale)
        slow.update(x[r : r + 1, None], labels[r : r + 1], w[r : r + 1])
        if window is not None and r >= window:
            old = slice(r - window, r - window + 1)
            slow.subtract(x[old, None], labels[old], np.array([raw[r - window]]), slow.sums.scale)
    same(streamed, slow)


def test_a_long_stream_is_answered_as_its_sums_say():
    """Cells are followed in doubles for 64 rows: drift, numbers far from 0, gaps, constants, and jumps in size."""
    rng = np.random.default_rng(3)
    m = 1500
    y = rng.integers(0, 3, m).astype(np.uint8)
    columns = [
        rng.normal(size=m) + np.arange(m) / 50,
        1e9 + rng.normal(size=m).round(2),
        np.where(rng.random(m) < 0.3, np.nan, rng.normal(size=m) * (1 + y)),
        np.where(rng.random(m) < 0.01, 0.1 + y, 0.1),
        rng.normal(size=m) * np.where(np.arange(m) // 100 % 2, 1.0, 1e8),
        np.where(rng.random(m) < 0.02, 1e160, rng.normal(size=m)),
        rng.normal(size=m) * 1e-160,
    ]
    X = np.column_stack(columns)
    for window in (None, 40):
        out, streamed, slow = np.empty((m, 3)), Moments(3, 7), Moments(3, 7)
        gone = None if window is None else (np.arange(m) >= window).astype(np.int64)
        leaving = None if gone is None else (X, y, np.ones(m), 1.0)
        streamed.stream(X, y, None, out, None, None, leaving, gone)
        for r in range(m):
            if r % 7 == 0:
                agree(out[r : r + 1], by_the_rules(slow, X[r : r + 1]))
            slow.update(X[r : r + 1], y[r : r + 1])
            if window is not None and r >= window:
                slow.subtract(X[r - window : r - window + 1], y[r - window : r - window + 1])
        same(streamed, slow)


def test_rows_leave_a_window_that_have_faded_to_nothing_before():
    """Their digits are below those that the sums still have; what is left is that of the rows that stay."""
    rng = np.random.default_rng(0)
    m, window = 60, 25
    X, y = rng.normal(size=(m, 2)), rng.integers(0, 2, m).astype(np.uint8)
    gone = (np.arange(m) >= window).astype(np.int64)
    out, streamed = np.empty((m, 2)), Moments(2, 2)
    streamed.stream(X, y, None, out, None, np.full(m, 1e-9), (X, y, np.ones(m), 1.0), gone)
    assert np.isfinite(out).all()
    fresh = Moments(2, 2).update(X[-window:], y[-window:], 1e-9 ** np.arange(window)[::-1])
    for got, want in zip(streamed.cells, fresh.cells, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_classes_with_the_same_rows_tie_however_far_a_number_is():
    rows = np.random.default_rng(0).normal(size=(100, 1))
    X, y = np.repeat(rows, 2, axis=0), np.tile(np.array([0, 1], dtype=np.uint8), 100)
    far = np.concatenate([X, [[1e3], [1e6], [-1e9], [1e12], [1e300]]])
    labels = np.concatenate([y, np.full(5, 255, dtype=np.uint8)])
    out = np.empty((205, 2))
    Moments(2, 1).stream(far, labels, None, out)
    np.testing.assert_array_equal(out[-5:], 0.0)


def test_an_empty_sum_reads_nothing():
    cells = ExactSums(2, 3).read(np.array([0, 1]))
    assert not any(part.any() for part in cells)
