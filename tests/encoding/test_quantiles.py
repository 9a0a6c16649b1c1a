"""Quantile sketches: ranks against the sorted values themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import THOROUGH
from tanager.encoding.bins import cut, find_cuts
from tanager.encoding.quantiles import LabelledSketch, QuantileSketch, _uniform
from tanager.errors import ModelFileError, OptionError

SHAPES = {
    "sorted": lambda rng, n: np.arange(n, dtype=float),
    "reversed": lambda rng, n: -np.arange(n, dtype=float),
    "random": lambda rng, n: rng.normal(size=n),
    "heavy-tailed": lambda rng, n: rng.standard_cauchy(n),
    "repeated": lambda rng, n: rng.integers(0, 30, n).astype(float),
    "mostly one value": lambda rng, n: np.where(rng.random(n) < 0.9, 7.0, rng.random(n) * 14),
    "zigzag": lambda rng, n: np.arange(n) * (1.0 - 2.0 * (np.arange(n) % 2)),
}


def worst_error(sketch, x, w=None):
    """The largest error of rank over all values, in shares of the rows: the values sorted, their weights summed up."""
    w = np.ones(len(x)) if w is None else w
    order = np.argsort(x)
    values, last = np.unique(x[order], return_index=True)
    last = np.append(last[1:], len(x)) - 1
    true = np.cumsum(w[order])[last] / w.sum()
    return np.abs(sketch.rank(values) - true).max()


# The bound


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bins", [2, 5, 20])
def test_ranks_are_within_the_bound_over_many_streams(shape, bins):
    rng = np.random.default_rng(bins)
    errors = []
    for seed in range(8 if THOROUGH else 3):
        x = SHAPES[shape](rng, 20_000)
        errors.append(worst_error(QuantileSketch(bins, seed).update(x), x))
    assert max(errors) <= 1 / (10 * bins)


@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_of_merged_parts_are_within_the_bound(shape):
    rng = np.random.default_rng(1)
    for n_parts in (2, 7, 60):
        x = SHAPES[shape](rng, 20_000)
        parts = [QuantileSketch(5, seed).update(part) for seed, part in enumerate(np.array_split(x, n_parts))]
        whole = parts[0]
        for part in parts[1:]:
            whole.merge(part)
        assert whole.weight == pytest.approx(20_000)
        assert worst_error(whole, x) <= 1 / 50


@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_weighted_ranks_are_within_the_bound(spread):
    rng = np.random.default_rng(2)
    for seed in range(10):
        x, w = rng.normal(size=20_000), rng.lognormal(0, spread, 20_000)
        sketch = QuantileSketch(5, seed).update(x, w)
        assert sketch.weight == pytest.approx(w.sum())
        assert worst_error(sketch, x, w) <= 1 / 50


def test_faded_ranks_follow_the_stream_within_the_bound():
    rng = np.random.default_rng(4)
    x = rng.normal(size=20_000) + np.linspace(0, 20, 20_000)
    sketch = QuantileSketch(5)
    for block in np.array_split(x, 200):
        sketch.decay(0.9).update(block)
    w = np.repeat(0.9 ** np.arange(199, -1, -1), 100)
    assert sketch.weight == pytest.approx(w.sum())
    assert worst_error(sketch, x, w) <= 1 / 50
    for _ in range(300):
        sketch.decay(0.1).update([3.0])
    assert sketch.quantile(0.5) == 3.0
    assert sketch.weight == pytest.approx(1 / 0.9)


def test_memory_grows_with_the_logarithm_of_the_rows():
    rng = np.random.default_rng(0)
    sizes = []
    sketch = QuantileSketch(5)
    for _ in range(8):
        most = 0
        for _ in range(10):
            most = max(most, len(sketch.update(rng.random(5_000))))
        sizes.append(most)
    assert max(sizes) < 4 * sketch.capacity
    assert max(sizes[4:]) < 1.3 * max(sizes[:4])


# Laws

numbers = st.lists(st.integers(-8, 8).map(lambda n: n / 2), max_size=60)


@given(numbers, st.floats(0, 1))
def test_few_values_have_exact_quantiles(values, q):
    sketch = QuantileSketch(5).update(values)
    if not values:
        assert np.isnan(sketch.quantile(q))
        return
    exact = min(v for v in values if sum(x <= v for x in values) >= q * len(values) - 1e-9)
    assert sketch.quantile(q) == exact


@given(numbers, st.integers(1, 7))
def test_cut_points_are_the_quantiles_and_leave_no_bin_empty(values, n_bins):
    sketch = QuantileSketch(5).update(values)
    cuts = sketch.cuts(n_bins)
    expected = {sketch.quantile(j / n_bins) for j in range(1, n_bins)} - {max(values, default=0)} if values else set()
    assert cuts.tolist() == sorted(expected)
    if values:
        shares = np.bincount(cut(np.array(values), cuts), minlength=len(cuts) + 1) / len(values)
        assert (shares > 0).all()


@pytest.mark.parametrize("size", [1, 17, 400, 3_000])
def test_chunks_do_not_matter(size):
    x = np.random.default_rng(6).normal(size=3_000)
    w = np.random.default_rng(7).random(3_000)
    whole, parts = QuantileSketch(3).update(x, w), QuantileSketch(3)
    for at in range(0, len(x), size):
        parts.update(x[at : at + size], w[at : at + size])
    for one, other in zip(whole.items(), parts.items(), strict=True):
        assert one.tolist() == other.tolist()


def test_a_whole_weight_means_about_the_value_given_that_often():
    rng = np.random.default_rng(9)
    x, w = rng.normal(size=4_000), rng.integers(0, 5, 4_000)
    once = QuantileSketch(5).update(x, w)
    assert worst_error(once, np.repeat(x, w)) <= 1 / 50


def test_the_coins_are_the_same_on_every_machine():
    # The first numbers of SplitMix64 from seed 1234567, as its author gives them.
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [_uniform(1234567, n) for n in range(3)] == pytest.approx([z / 2**64 for z in known])


def test_the_same_stream_gives_the_same_sketch_and_another_seed_another_one():
    x = np.random.default_rng(0).normal(size=5_000)
    one, same, other = (QuantileSketch(2, seed).update(x).items()[0].tolist() for seed in (0, 0, 1))
    assert one == same != other


def test_missing_infinite_and_weightless_values_are_left_out():
    sketch = QuantileSketch(5).update([1.0, np.nan, np.inf, 2.0, -np.inf, 9.0], [1, 1, 1, 1, 1, 0])
    assert sketch.items()[0].tolist() == [1, 2]
    assert sketch.cuts(2).tolist() == [1]


def test_a_constant_column_gets_no_cut():
    for values in ([], [np.nan], [3.0] * 2_000):
        assert QuantileSketch(5).update(values).cuts().tolist() == []


def test_sketches_of_different_scales_merge_as_their_weights():
    faded = QuantileSketch(5).update(np.arange(1500.0)).decay(0.5)
    fresh = QuantileSketch(5).update(np.arange(2000.0, 2300.0))
    assert faded.merge(fresh).weight == pytest.approx(750 + 300)
    assert fresh.merge(faded).weight == pytest.approx(300 + 1050)
    assert fresh.rank([1999])[0] == pytest.approx(750 / 1350, abs=1 / 50)


def test_options_that_mean_nothing_are_refused():
    with pytest.raises(OptionError, match="bins=0 must be a whole number of at least 1"):
        QuantileSketch(0)
    with pytest.raises(OptionError, match=r"quantile\(2\): q must be from 0 to 1"):
        QuantileSketch().quantile(2)
    with pytest.raises(OptionError, match=r"decay\(1.5\): the factor must be above 0 and at most 1"):
        QuantileSketch().decay(1.5)


# One for each class

labelled = st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=60)


@given(labelled, st.sampled_from(["mdl", "refined", "width", "frequency"]), st.integers(2, 5))
def test_few_labelled_rows_are_cut_as_the_rows_themselves(table, how, n_bins):
    x, y, w = (np.array(part, dtype=float) for part in zip(*table, strict=True))
    sketch = LabelledSketch(3).update(x, y, w)
    cuts = sketch.cuts(how, n_bins)
    assert cuts.tolist() == find_cuts(x, how, n_bins, "n-1", y, w).tolist()
    expected = np.zeros((len(cuts) + 1, 3))
    for value, label, weight in table:
        expected[sum(value > t for t in cuts), label] += weight
    assert sketch.table(cuts).tolist() == expected.tolist()


def test_many_labelled_rows_are_cut_about_where_the_rows_are():
    rng = np.random.default_rng(5)
    x = rng.normal(size=30_000)
    y = np.searchsorted([-0.5, 1.0], x)
    sketch = LabelledSketch(3).update(x, y)
    assert sketch.cuts("mdl") == pytest.approx([-0.5, 1.0], abs=0.02)
    assert sketch.cuts("frequency", 4) == pytest.approx([-0.674, 0, 0.674], abs=0.06)


def test_classes_of_a_labelled_sketch_move_and_fade_apart():
    sketch = LabelledSketch(2).update(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]))
    sketch.move_classes(np.array([2, 0]), 3).decay_classes(np.array([0.5, 1.0, 0.25]))
    assert [one.weight for one in sketch.sketches] == [0.5, 0, 0.5]
    assert sketch.table(np.array([2.5])).tolist() == [[0, 0, 0.5], [0.5, 0, 0]]


# Files


def test_a_sketch_comes_back_from_its_arrays_and_goes_on_as_before():
    x = np.random.default_rng(0).normal(size=5_000)
    sketch = QuantileSketch(3, seed=4).update(x).decay(0.5).update(x[:77])
    back = QuantileSketch.from_arrays(sketch.to_arrays())
    for one in (sketch, back):
        one.update(x)
    for mine, other in zip(sketch.items(), back.items(), strict=True):
        assert mine.tolist() == other.tolist()


def test_a_labelled_sketch_comes_back_from_its_arrays():
    x = np.random.default_rng(0).normal(size=5_000)
    sketch = LabelledSketch(2, bins=3).update(x, x > 0)
    back = LabelledSketch.from_arrays(sketch.to_arrays(), 2)
    assert back.bins == 3
    assert back.update(x, x > 1).cuts("frequency", 7).tolist() == sketch.update(x, x > 1).cuts("frequency", 7).tolist()


GOOD = QuantileSketch(3).update(np.arange(1000.0)).to_arrays()


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("kept", GOOD["kept"][:1]),
        ("kept", GOOD["kept"] * np.nan),
        ("new", GOOD["new"] * -1),
        ("new", GOOD["new"].astype(np.float32)),
        ("numbers", GOOD["numbers"][:2]),
        ("numbers", np.array([0.0, 0.0, 0.0, 1.0])),
        ("numbers", np.array([3.0, 0.5, 0.0, 1.0])),
        ("numbers", np.array([3.0, 0.0, -1.0, 1.0])),
        ("numbers", np.array([3.0, 0.0, np.nan, 1.0])),
        ("numbers", np.array([3.0, 0.0, 0.0, 0.0])),
    ],
)
def test_arrays_that_are_no_sketch_are_refused(name, bad):
    with pytest.raises(ModelFileError, match="quantiles of its number columns"):
        QuantileSketch.from_arrays(GOOD | {name: bad})
