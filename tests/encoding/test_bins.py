"""Cut points: known answers, slow twins, and what weights mean."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.encoding import bins
from tanager.encoding.bins import cut, equal_frequency, equal_width, find_cuts, mdl, refined
from tanager.errors import OptionError

V = np.array([1, 2, 2.5, 3, 4, 7, 8, 10])


def labels(*runs: tuple[int, int]) -> np.ndarray:
    return np.concatenate([np.full(n, c) for c, n in runs])


# Slow, obvious twins: plain loops, the formulas as printed.


def entropy(ys: list[int]) -> float:
    return -sum(ys.count(c) / len(ys) * math.log2(ys.count(c) / len(ys)) for c in set(ys))


def slow_mdl(rows: list[tuple[float, int]], encoding: str = "n-1") -> list[float]:
    rows = sorted(rows)
    n, ys = len(rows), [y for _, y in rows]
    distinct = sorted({x for x, _ in rows})
    if n < 2 or len(distinct) < 2:
        return []
    best, least = None, math.inf
    for a, b in pairwise(distinct):
        left, right = [y for x, y in rows if x <= a], [y for x, y in rows if x >= b]
        expected = len(left) / n * entropy(left) + len(right) / n * entropy(right)
        if expected < least - 1e-12:
            best, least, sides = (a, b), expected, (left, right)
    gain = entropy(ys) - least
    c, (c1, c2) = len(set(ys)), (len(set(side)) for side in sides)
    delta = math.log2(3**c - 2) - (c * entropy(ys) - c1 * entropy(sides[0]) - c2 * entropy(sides[1]))
    choices = n - 1 if encoding == "n-1" else len(distinct) - 1
    if not (gain > (math.log2(choices) + delta) / n and gain > 1e-15):
        return []
    left_rows, right_rows = [r for r in rows if r[0] <= best[0]], [r for r in rows if r[0] >= best[1]]
    return [*slow_mdl(left_rows, encoding), (best[0] + best[1]) / 2, *slow_mdl(right_rows, encoding)]


def slow_equal_frequency(values: list[float], k: int) -> list[float]:
    s, m = sorted(values), len(values)
    places = [i for i in range(1, m) if s[i - 1] < s[i]]
    cuts = set()
    for j in range(1, k):
        target = math.floor(j * m / k + 0.5)
        if places:
            i = min(places, key=lambda place: (abs(place - target), place))
            cuts.add((s[i - 1] + s[i]) / 2)
    return sorted(cuts)


def slow_refined(rows: list[tuple[float, int]], rows_per_cell: float) -> list[float]:
    cuts, values = slow_mdl(rows), sorted(x for x, _ in rows)
    n_bins = min(20, math.sqrt(len(rows) / len({y for _, y in rows}) / rows_per_cell))
    distinct = sorted(set(values))
    if len(distinct) <= n_bins:
        return [(a + b) / 2 for a, b in pairwise(distinct)]
    more = []
    for low, high in pairwise([-math.inf, *cuts, math.inf]):
        inside = [x for x in values if low < x <= high]
        more += slow_equal_frequency(inside, math.floor(len(inside) / len(rows) * n_bins + 0.5))
    return sorted(cuts + more)


# Known answers


@pytest.mark.parametrize("encoding", ["n-1", "candidates"])
@pytest.mark.parametrize(
    ("values", "classes", "cuts"),
    [
        (np.arange(1, 11), labels((0, 5), (1, 5)), [5.5]),
        (np.arange(1, 13), labels((0, 4), (1, 4), (0, 4)), []),
        (np.arange(1, 7), np.array([0, 1, 0, 1, 0, 1]), []),
        (np.repeat(np.arange(1, 9), 2), labels((0, 7), (1, 5), (2, 4)), [3.5, 6.5]),
        (np.arange(1, 25), labels((0, 8), (1, 8), (0, 8)), []),
    ],
    ids="ABCDF",
)
def test_mdl_finds_the_cuts_worked_out_on_paper(values, classes, cuts, encoding):
    assert mdl(values, classes, encoding=encoding).tolist() == cuts
    assert slow_mdl(list(zip(values.tolist(), classes.tolist(), strict=True)), encoding) == cuts


def test_equal_width_and_equal_frequency_on_paper():
    assert equal_width(V, 3).tolist() == [4, 7]
    assert cut(V, equal_width(V, 3)).tolist() == [0, 0, 0, 0, 0, 1, 2, 2]
    assert equal_frequency(V, 3).tolist() == [2.75, 5.5]
    assert cut(V, equal_frequency(V, 3)).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


def test_refined_bins_go_on_by_frequency_on_paper():
    # 0.2 * sqrt(800 / 2) = 4 bins for 800 rows: three quarters of them lie below the cut by class entropy.
    x = np.arange(1.0, 801.0)
    assert refined(x, x > 600).tolist() == [200.5, 400.5, 600.5]
    assert refined(x, np.arange(800) % 2).tolist() == [200.5, 400.5, 600.5]  # where class entropy finds no cut at all
    assert refined(x[:100], x[:100] > 50).tolist() == [50.5]  # a hundred rows are too few for more
    assert len(refined(np.arange(1e5), np.arange(100_000) % 2)) == 19


def test_a_column_of_few_values_is_refined_to_all_of_them():
    x, y = np.repeat([0.5, 1.0, 7.0], [700, 5, 400]), np.arange(1105) % 2
    assert mdl(x, y).tolist() == []
    assert equal_frequency(x, 4).tolist() == [0.75, 4]
    assert refined(x, y).tolist() == [0.75, 4]
    assert refined(np.repeat(np.arange(4.0), [700, 1, 1, 400]), np.arange(1102) % 2).tolist() == [0.5, 1.5, 2.5]


# Laws

numbers = st.integers(-8, 8).map(lambda n: n / 2)
rows = st.lists(st.tuples(numbers, st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@given(rows, st.sampled_from(["n-1", "candidates"]))
def test_mdl_equals_its_slow_twin(table, encoding):
    x, y, _ = (np.array(part, dtype=float) for part in zip(*table, strict=True))
    assert mdl(x, y.astype(np.uint8), encoding=encoding).tolist() == pytest.approx(
        slow_mdl([(a, b) for a, b, _ in table], encoding)
    )


def test_mdl_equals_its_slow_twin_where_it_cuts_often():
    rng = np.random.default_rng(5)
    x = np.round(rng.uniform(0, 10, 400), 1)
    y = (x.astype(int) * 7 % 4).astype(np.uint8)
    cuts = mdl(x, y).tolist()
    assert len(cuts) > 5
    assert cuts == pytest.approx(slow_mdl(list(zip(x.tolist(), y.tolist(), strict=True))))


@given(rows, st.sampled_from([0.25, 1.0, 3.0]))
def test_refined_bins_equal_their_slow_twin(table, rows_per_cell):
    x, y, _ = (np.array(part, dtype=float) for part in zip(*table, strict=True))
    assert refined(x, y.astype(np.uint8), rows_per_cell=rows_per_cell).tolist() == pytest.approx(
        slow_refined([(a, b) for a, b, _ in table], rows_per_cell)
    )


@given(st.lists(numbers, min_size=1, max_size=40), st.integers(1, 6))
def test_equal_frequency_equals_its_slow_twin(values, k):
    assert equal_frequency(np.array(values), k).tolist() == slow_equal_frequency(values, k)


@given(rows, st.integers(1, 6))
def test_a_whole_weight_means_the_row_given_that_often(table, k):
    x, y, w = (np.array(part) for part in zip(*table, strict=True))
    many_x, many_y = np.repeat(x, w), np.repeat(y, w)
    weights = w.astype(float)
    assert equal_width(x, k, weights).tolist() == equal_width(many_x, k).tolist()
    assert equal_frequency(x, k, weights).tolist() == equal_frequency(many_x, k).tolist()
    for encoding in ("n-1", "candidates"):
        assert mdl(x, y, weights, encoding).tolist() == mdl(many_x, many_y, encoding=encoding).tolist()
    assert refined(x, y, weights, rows_per_cell=1).tolist() == refined(many_x, many_y, rows_per_cell=1).tolist()


def test_pricing_a_weighted_cut_by_the_number_of_rows_would_break_weight_as_repetition():
    # Five rows that weigh 3 against the fifteen rows they stand for. With N - 1 = 5 - 1 (rows) the cut would cost
    # less than with N - 1 = 15 - 1 (weight), and the weighted table would be cut where the repeated one is not.
    x, y, w = np.arange(5.0), np.array([0, 0, 1, 0, 1]), np.full(5, 3.0)
    gain = entropy([0, 0, 1, 0, 1]) - 3 / 5 * entropy([1, 0, 1])
    delta = math.log2(7) - 2 * entropy([0, 0, 1, 0, 1]) + 2 * entropy([1, 0, 1])
    assert (math.log2(5 - 1) + delta) / 15 < gain < (math.log2(15 - 1) + delta) / 15
    assert mdl(x, y, w).tolist() == mdl(np.repeat(x, 3), np.repeat(y, 3)).tolist() == []


@given(st.lists(st.floats(allow_nan=True), max_size=50), st.lists(st.floats(allow_nan=False), unique=True, max_size=40))
def test_a_code_is_the_number_of_cuts_below(values, cuts):
    cuts = sorted(cuts)
    codes = cut(np.array(values), np.array(cuts))
    assert codes.tolist() == [255 if x != x else sum(x > t for t in cuts) for x in values]


@pytest.mark.parametrize("find", [lambda x: equal_width(x, 4), lambda x: equal_frequency(x, 4)])
def test_missing_and_infinite_values_do_not_move_cut_points(find):
    assert find(np.append(V, [np.nan, np.inf, -np.inf])).tolist() == find(V).tolist()


def test_missing_and_infinite_values_do_not_move_mdl_cut_points():
    y = np.repeat([0, 1], 4)
    assert mdl(np.append(V, [np.nan, np.inf]), np.append(y, [1, 0])).tolist() == mdl(V, y).tolist() == [3.5]


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0, 3.0], [np.nan]])
def test_a_constant_column_gets_no_cut(values):
    x = np.array(values)
    assert len(equal_width(x, 5)) == len(equal_frequency(x, 5)) == len(mdl(x, np.zeros(len(x), int))) == 0
    assert len(refined(x, np.zeros(len(x), int))) == 0


def test_neighbouring_floats_stay_on_their_sides_of_the_cut():
    x = np.repeat([1.0, np.nextafter(1.0, 2.0)], 50)
    y = np.repeat([0, 1], 50)
    for cuts in (mdl(x, y), equal_frequency(x, 2), refined(x, y, rows_per_cell=1)):
        assert cut(x, cuts).tolist() == y.tolist()


def test_the_widest_range_of_floats_has_finite_cuts():
    x = np.array([-1.7e308, 1.7e308])
    assert np.isfinite(equal_width(x, 4)).all()
    assert np.isfinite(equal_frequency(x, 2)).all()


def test_weights_that_are_no_whole_numbers_follow_their_shares():
    assert equal_frequency(V, 2, np.full(8, 0.125)).tolist() == equal_frequency(V, 2).tolist() == [3.5]


def test_more_than_600_classes_do_not_overflow():
    y = np.arange(700).repeat(3)
    assert len(mdl(np.arange(2100.0), y)) == 0 or np.isfinite(mdl(np.arange(2100.0), y)).all()


def test_many_cuts_need_wide_codes():
    codes = cut(np.array([-1.0, 298.5, np.nan]), np.arange(300.0))
    assert codes.dtype == np.uint16
    assert codes.tolist() == [0, 299, 65535]


def test_mdl_without_labels_says_what_to_do():
    for method in ("mdl", "refined"):
        with pytest.raises(OptionError, match=f'bins="{method}" needs class labels.*Pass y, or use bins="frequency"'):
            find_cuts(V, method, 5, "n-1", None, None)
    assert find_cuts(V, "width", 3, "n-1", None, None).tolist() == [4, 7]
    with pytest.raises(OptionError, match="encoding='rows' is not an option"):
        mdl(V, np.zeros(8, int), encoding="rows")


@pytest.mark.parametrize("method", ["mdl", "refined", "stream"])
def test_columns_that_a_kernel_sorts_get_the_cut_points_of_those_that_numpy_sorts(method, monkeypatch):
    rng = np.random.default_rng(6)
    x = np.where(rng.random(600) < 0.1, rng.choice([np.nan, np.inf, -np.inf], 600), np.round(rng.normal(size=600), 2))
    y = ((x > 0.3) ^ (rng.random(600) < 0.2)).astype(np.uint8) + 2 * (x < -1)
    by_kernel = find_cuts(x, method, 5, "n-1", y, None).tolist()
    monkeypatch.setattr(bins, "_SMALL", 0)
    assert len(by_kernel) > 1
    assert by_kernel == find_cuts(x, method, 5, "n-1", y, None).tolist()


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("spread", ["even", "heavy", "outlier", "widest", "tiny", "few", "falling"])
def test_the_sort_of_a_kernel_does_not_depend_on_how_numbers_lie(spread, n_classes, monkeypatch):
    rng = np.random.default_rng(7)
    z = rng.normal(size=700)
    x = {
        "even": z,
        "heavy": np.exp(9 * z),
        "outlier": np.append(1 + 1e-12 * np.round(z[1:], 1), 1e300),  # nearly all in one place
        "widest": z * 4e307,  # the difference of two of them overflows
        "tiny": z * 5e-324 * 1000,
        "few": np.round(z),
        "falling": -np.arange(700.0),
    }[spread]
    y = (np.argsort(np.argsort(x)) * n_classes // 700 + (rng.random(700) < 0.2)) % n_classes
    by_kernel = find_cuts(x, "stream", 5, "n-1", y, None).tolist()
    assert len(by_kernel) > 1
    assert by_kernel == find_cuts(x, "stream", 5, "n-1", y, np.ones(700)).tolist()
    monkeypatch.setattr(bins, "_SMALL", 0)
    assert by_kernel == find_cuts(x, "stream", 5, "n-1", y, None).tolist()
