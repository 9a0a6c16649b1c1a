"""Grids: class counts over small intervals, and the cut points read from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.encoding.bins import cut, equal_frequency, equal_width, mdl, refined
from tanager.encoding.grid import Grid
from tanager.errors import DataError, ModelFileError, OptionError

EDGES = np.arange(-4.0, 4.5, 0.5)


# The slow, obvious twin: a list of intervals, one row at a time, the rules as printed.


class SlowGrid:
    def __init__(self, edges, n_classes, split=None, most=1000):
        self.edges, self.split, self.most = list(edges), split, most
        self.step = edges[1] - edges[0]
        self.counts = [[0.0] * n_classes for _ in range(len(edges) + 1)]

    def learn(self, x, y, w):
        if x != x:
            return
        b = sum(x > edge for edge in self.edges)
        self.counts[b][y] += w
        seen = sum(map(sum, self.counts))
        if self.split and (1 + sum(self.counts[b])) / (seen + 2) > self.split and len(self.counts) < self.most:
            self.halve(b)

    def halve(self, b):
        if b == 0:
            new = self.edges[0] - self.step
        elif b == len(self.edges):
            new = self.edges[-1] + self.step
        else:
            new = (self.edges[b - 1] + self.edges[b]) / 2
        self.edges.insert(b, new)
        half = [n / 2 for n in self.counts[b]]
        self.counts[b : b + 1] = [half, list(half)]

    def fade(self, factor):
        self.counts = [[n * factor for n in row] for row in self.counts]


numbers = st.one_of(st.integers(-12, 12).map(lambda n: n / 2), st.sampled_from([np.nan, np.inf, -np.inf]))
rows = st.lists(st.tuples(numbers, st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=80)


def columns(table):
    x, y, w = (np.array(part, dtype=float) for part in zip(*table, strict=True))
    return x, y.astype(np.uint8), w


def chunked(grid, x, y, w, size):
    for at in range(0, len(x), size):
        grid.update(x[at : at + size], y[at : at + size], w[at : at + size])
    return grid


# Laws


@given(rows)
def test_a_grid_counts_what_its_slow_twin_counts(table):
    x, y, w = columns(table)
    slow = SlowGrid(EDGES, 3)
    for row in zip(x, y, w, strict=True):
        slow.learn(*row)
    assert Grid(EDGES, 3).update(x, y, w).counts.tolist() == slow.counts


@given(rows, st.sampled_from([0.05, 0.1, 0.3]), st.sampled_from([8, 20, 1000]), st.integers(1, 100))
def test_a_splitting_grid_splits_after_each_row_as_its_slow_twin_does_whatever_the_chunks(table, split, most, size):
    x, y, w = columns(table)
    slow = SlowGrid(EDGES[6:11], 3, split, most)
    for row in zip(x, y, w, strict=True):
        if row[2] > 0:
            slow.learn(*row)
    weighed = w > 0
    grid = chunked(Grid(EDGES[6:11], 3, split, most), x[weighed], y[weighed], w[weighed], size)
    assert grid.edges.tolist() == slow.edges
    np.testing.assert_allclose(grid.counts, slow.counts, rtol=1e-12, atol=1e-12)


@given(rows, st.integers(1, 20))
def test_chunks_do_not_matter(table, size):
    x, y, w = columns(table)
    one, many = Grid(EDGES, 3).update(x, y, w), chunked(Grid(EDGES, 3), x, y, w, size)
    assert one.cells.tolist() == many.cells.tolist()
    assert one.span() == many.span()


@given(rows, st.integers(0, 80))
def test_merging_two_parts_equals_counting_the_whole_and_subtracting_one_leaves_the_other(table, at):
    x, y, w = columns(table)
    whole = Grid(EDGES, 3).update(x, y, w)
    first, second = (Grid(EDGES, 3).update(x[part], y[part], w[part]) for part in (slice(at), slice(at, None)))
    assert first.merge(second).cells.tolist() == whole.cells.tolist()
    left = whole.subtract(x[at:], y[at:], w[at:])
    assert left.cells.tolist() == Grid(EDGES, 3).update(x[:at], y[:at], w[:at]).cells.tolist()


@given(rows, st.floats(0.1, 0.99))
def test_lazy_fading_equals_eager_fading(table, factor):
    x, y, w = columns(table)
    slow, grid = SlowGrid(EDGES, 3), Grid(EDGES, 3)
    for row in zip(x, y, w, strict=True):
        slow.fade(factor)
        slow.learn(*row)
        grid.decay(factor).update(*([cell] for cell in row))
    np.testing.assert_allclose(grid.counts, slow.counts, rtol=1e-9, atol=1e-12)
    assert grid.weight == pytest.approx(sum(map(sum, slow.counts)))


def test_a_long_faded_stream_does_not_overflow():
    grid = Grid(EDGES, 1)
    for _ in range(500):
        grid.decay(0.1).update([0.25], [0])
    assert grid.scale < 1e101
    assert grid.weight == pytest.approx(1 / 0.9)


def test_grids_of_different_scales_merge_as_their_counts():
    faded = Grid(EDGES, 1).update([0.2] * 8, [0] * 8).decay(0.5)
    fresh = Grid(EDGES, 1).update([1.2] * 3, [0] * 3)
    assert faded.merge(fresh).weight == 7
    assert fresh.merge(faded).weight == 10


# Cut points


@given(rows, st.integers(1, 6), st.sampled_from(["n-1", "candidates"]))
def test_a_grid_that_is_fine_enough_splits_rows_as_exact_cut_points_do(table, n_bins, encoding):
    x, y, w = columns(table)
    x = np.clip(x, -6, 6)
    grid = Grid(np.arange(-6.25, 6.5, 0.5), 3).update(x, y, w)  # one distinct value in each interval
    same = [
        (grid.cuts("mdl", encoding=encoding), mdl(x, y, w, encoding)),
        (grid.cuts("frequency", n_bins), equal_frequency(x, n_bins, w)),
        (grid.cuts("refined", encoding=encoding), refined(x, y, w, encoding)),
    ]
    for mine, exact in same:
        assert cut(x[w > 0], mine).tolist() == cut(x[w > 0], exact).tolist()


@given(rows, st.integers(1, 6))
def test_equal_widths_are_off_by_half_an_interval_at_most(table, n_bins):
    x, y, w = columns(table)
    keep = np.isfinite(x) & (w > 0)
    grid = Grid(np.linspace(-7, 7, 201), 3).update(x[keep], y[keep])
    exact = equal_width(x[keep], n_bins)
    found = grid.cuts("width", n_bins)
    assert len(found) == len(exact)
    assert np.abs(found - exact).max(initial=0) <= 0.035 + 1e-12


def test_cut_points_of_a_faded_column_are_where_its_values_are_now():
    rng = np.random.default_rng(3)
    old, new = rng.uniform(0, 1, 2000), rng.uniform(5, 6, 2000)
    grid = Grid(np.linspace(-1, 7, 401), 2).update(old, rng.integers(0, 2, 2000))
    assert grid.cuts("width", 4) == pytest.approx([0.25, 0.5, 0.75], abs=0.02)
    grid.decay(1e-8).update(new, new > 5.5)
    assert grid.cuts("width", 4) == pytest.approx([5.25, 5.5, 5.75], abs=0.02)
    assert grid.cuts("frequency", 2) == pytest.approx([5.5], abs=0.03)
    assert grid.cuts("mdl") == pytest.approx([5.5], abs=0.02)


@given(rows)
def test_bins_hold_as_many_rows_of_each_class_as_there_are(table):
    x, y, w = columns(table)
    cuts = np.array([-1.0, 0.5, 2.0])
    expected = np.zeros((4, 3))
    for value, label, weight in table:
        if value == value:
            expected[sum(value > t for t in cuts), label] += weight
    assert Grid(EDGES, 3).update(x, y, w).table(cuts).tolist() == expected.tolist()


# Corners


@pytest.mark.parametrize("how", ["mdl", "width", "frequency"])
@pytest.mark.parametrize("values", [[], [np.nan], [3.0] * 5, [np.inf] * 3, [-np.inf, np.nan]])
def test_a_column_without_two_values_gets_no_cut(values, how):
    grid = Grid.over(values, 2).update(values, [0, 1, 0, 1, 0][: len(values)])
    assert grid.cuts(how).tolist() == []


def test_the_range_of_first_rows_is_widened_by_a_tenth_and_the_outer_intervals_are_open():
    grid = Grid.over(np.array([0.0, 10.0, np.nan, np.inf]), 1, size=12)
    assert grid.edges == pytest.approx(np.arange(-1.0, 12.0))
    grid.update([-1.0, -0.5, -99.0, 11.0, 11.5, np.inf, -np.inf], [0] * 7)
    assert grid.counts[:, 0].tolist() == [3, 1, *[0] * 10, 1, 2]


def test_first_rows_of_any_size_make_a_grid():
    for first in ([], [5.0], [-1.7e308, 1.7e308], [1.0, np.nextafter(1.0, 2.0)], [1e300], [0.0, 5e-324]):
        edges = Grid.over(np.array(first), 1).edges
        assert np.isfinite(edges).all()
        assert (np.diff(edges) > 0).all()


def test_a_new_class_moves_the_others():
    grid = Grid(EDGES, 2).update([0.1, 0.1, 1.1], [0, 1, 1])
    assert grid.update([0.1], [2]).weight == 3  # it has no place yet
    grid.move_classes(np.array([0, 2]), 3).update([0.1], [1])
    assert grid.counts[9].tolist() == [1, 1, 1]
    assert grid.counts[11].tolist() == [0, 0, 1]


def test_a_repeated_value_is_not_split_for_ever():
    grid = Grid(np.array([0.0, 1.0]), 1, split=0.1, max_intervals=5000).update(np.full(5000, 1 / 3), np.zeros(5000))
    assert len(grid.edges) < 1200
    assert grid.weight == pytest.approx(5000)


def test_splitting_ends_at_the_most_intervals():
    x = np.random.default_rng(0).normal(size=3000)
    grid = Grid(np.array([0.0, 1.0]), 1, split=0.01, max_intervals=60).update(x, np.zeros(3000))
    assert len(grid.counts) == 60


def test_a_splitting_grid_follows_values_out_of_its_range():
    x = np.linspace(5, 8, 2000)
    grid = Grid(np.arange(0.0, 2.0, 0.1), 1, split=0.05).update(np.tile(x, 2), np.zeros(4000))
    assert grid.edges[-1] == pytest.approx(8)
    assert grid.cuts("frequency", 2) == pytest.approx([6.5], abs=0.3)


def test_classes_can_fade_apart():
    grid = Grid(EDGES, 2).update([0.1, 0.1, 1.1], [0, 1, 1]).decay_classes(np.array([1.0, 0.25]))
    assert grid.counts.sum(axis=0).tolist() == [1, 0.5]


def test_what_makes_no_grid_is_refused():
    with pytest.raises(DataError, match=r"must be finite and ascending, got \[1.0, 1.0\]"):
        Grid([1.0, 1.0], 2)
    with pytest.raises(OptionError, match="split=2 must be a share of the rows"):
        Grid(EDGES, 2, split=2)
    with pytest.raises(OptionError, match=r"decay\(0\): the factor must be above 0"):
        Grid(EDGES, 2).decay(0)
    with pytest.raises(DataError, match=r"cannot merge grids with different edges: 18 .*, 17 .* Make both with"):
        Grid(EDGES, 2).merge(Grid(EDGES[1:], 2))
    with pytest.raises(DataError, match="cannot merge grids of 2 and 3 classes"):
        Grid(EDGES, 2).merge(Grid(EDGES, 3))
    with pytest.raises(OptionError, match="how='quantile' is not an option"):
        Grid(EDGES, 2).cuts("quantile")


# Files


@given(rows, st.sampled_from([None, 0.1]))
def test_a_grid_comes_back_from_its_arrays_and_goes_on_as_before(table, split):
    x, y, w = columns(table)
    grid = Grid(EDGES, 3, split).update(x, y, w).decay(0.5)
    back = Grid.from_arrays(grid.to_arrays(), 3)
    for one in (grid, back):
        one.update(x, y, w)
    assert back.cells.tolist() == grid.cells.tolist()
    assert back.edges.tolist() == grid.edges.tolist()
    assert back.span() == grid.span()
    assert (back.scale, back.split, back.max_intervals, back.step) == (
        grid.scale,
        grid.split,
        grid.max_intervals,
        grid.step,
    )


GOOD = Grid(EDGES, 2).update([0.1], [0]).to_arrays()


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("edges", EDGES[::-1].copy()),
        ("edges", EDGES[:0]),
        ("cells", GOOD["cells"][:, :1]),
        ("cells", GOOD["cells"] - 1),
        ("cells", GOOD["cells"] * np.nan),
        ("cells", GOOD["cells"].astype(np.float32)),
        ("numbers", GOOD["numbers"][:3]),
        ("numbers", np.array([0.0, 0.1, 0.1, 0.5, np.nan, 1000])),
        ("numbers", np.array([1.0, np.nan, 0.1, 0.5, np.nan, 1000])),
        ("numbers", np.array([1.0, 0.1, 0.1, -0.5, np.nan, 1000])),
        ("numbers", np.array([1.0, 0.1, 0.1, 0.5, 1.5, 1000])),
        ("numbers", np.array([1.0, 0.1, 0.1, 0.5, np.nan, np.inf])),
    ],
)
def test_arrays_that_are_no_grid_are_refused(name, bad):
    with pytest.raises(ModelFileError, match="intervals of its number columns"):
        Grid.from_arrays(GOOD | {name: bad}, 2)
