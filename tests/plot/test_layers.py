"""Layouts: no boxes touch, arcs point down where they can, cross seldom and pass no box."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.networks.graph import turned
from tanager.plot.component_layout import Drawing, rows_of
from tanager.plot.coordinates import moved_apart, straight
from tanager.plot.crossings import count_crossings, few_crossings
from tanager.plot.layers import layered

LENGTHS = st.floats(0.3, 3.0)


@st.composite
def graphs(draw, acyclic=True, most=14):
    """Sizes of boxes and arcs between some of them."""
    n = draw(st.integers(1, most))
    names = [f"v{i}" for i in range(n)]
    sizes = {name: (draw(LENGTHS), draw(st.sampled_from([0.27, 0.43, 0.58]))) for name in names}
    pairs = [(a, b) for a, b in combinations(names, 2)]
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3 * n)) if pairs else []
    if acyclic:
        return sizes, arcs
    return sizes, [arc[::-1] if draw(st.booleans()) else arc for arc in arcs]


def edges(place, size):
    return place[0] - size[0] / 2, place[0] + size[0] / 2, place[1] - size[1] / 2, place[1] + size[1] / 2


@given(graphs(acyclic=False), st.booleans())
def test_no_two_boxes_touch_and_all_are_on_the_page(graph, with_top):
    sizes, arcs = graph
    layout = layered(sizes, arcs, "v0" if with_top else None)
    boxes = {name: edges(layout.places[name], size) for name, size in sizes.items()}
    for a, b in combinations(boxes.values(), 2):
        assert a[1] < b[0] or b[1] < a[0] or a[3] < b[2] or b[3] < a[2]
    for left, right, low, high in boxes.values():
        assert -1e-9 <= left <= right <= layout.width + 1e-9
        assert -1e-9 <= low <= high <= layout.height + 1e-9


@given(graphs())
def test_parents_are_above_their_children(graph):
    sizes, arcs = graph
    layout = layered(sizes, arcs)
    assert all(layout.places[parent][1] > layout.places[child][1] for parent, child in arcs)


@given(graphs(acyclic=False))
def test_the_top_stands_above_all_that_arcs_join_with_it_even_its_parents(graph):
    sizes, arcs = graph
    layout = layered(sizes, arcs, "v0")
    near = {name for arc in arcs for name in arc if "v0" in arc} - {"v0"}
    assert all(layout.places["v0"][1] > layout.places[name][1] for name in near)


@given(graphs(acyclic=False))
def test_an_arc_leads_from_the_edge_of_its_parent_to_the_edge_of_its_child_and_passes_no_box(graph):
    sizes, arcs = graph
    layout = layered(sizes, arcs)
    boxes = {name: edges(layout.places[name], size) for name, size in sizes.items()}
    for arc, points in layout.routes.items():
        for name, (x, y) in zip(arc, (points[0], points[-1]), strict=True):
            left, right, low, high = boxes[name]
            assert left < x < right
            assert min(abs(y - low), abs(y - high)) < 1e-9
        for (x, y0), (x1, y1) in pairwise(points):
            if x == x1:  # straight; it swings between rows, where no boxes are
                through = [
                    name
                    for name, (left, right, low, high) in boxes.items()
                    if name not in arc and left < x < right and min(y0, y1) < high and max(y0, y1) > low
                ]
                assert not through


def test_an_arc_and_the_same_arc_turned_share_their_way():
    routes = layered({"a": (1, 0.3), "b": (1, 0.3)}, [("a", "b"), ("b", "a")]).routes
    assert routes["a", "b"] == routes["b", "a"][::-1]


@given(graphs(), st.sampled_from([1.0, 4.0, 20.0]))
def test_rows_are_not_longer_than_the_room_unless_one_box_is(graph, room):
    sizes, arcs = graph
    names = list(sizes)
    widths = [width for width, _ in sizes.values()]
    rows = rows_of(widths, [(names.index(a), names.index(b)) for a, b in arcs], room)
    for r in set(rows):
        own = [width for width, row in zip(widths, rows, strict=True) if row == r]
        assert sum(own) <= room or len(own) == 1
    assert set(rows) == set(range(max(rows) + 1))


def crossed_by_looking(rows, below):
    """Every pair of arcs between two rows: do their ends stand the other way round?"""
    place = {i: at for row in rows for at, i in enumerate(row)}
    total = 0
    for row in rows:
        arcs = [(place[i], place[j]) for i in row for j in below[i]]
        total += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(arcs, 2))
    return total


@given(st.integers(0, 10**6))
def test_crossings_are_counted_and_become_fewer(seed):
    dice = np.random.default_rng(seed)
    rows, n = [], 0
    for size in dice.integers(1, 7, 4).tolist():
        rows.append(list(range(n, n + size)))
        n += size
    below = [[] for _ in range(n)]
    for upper, lower in pairwise(rows):
        for i in upper:
            below[i] = [j for j in lower if dice.random() < 0.4]
    before = crossed_by_looking(rows, below)
    assert count_crossings(rows, below) == before
    better, left = few_crossings(rows, turned(below), below)
    assert [sorted(row) for row in better] == rows
    assert left == crossed_by_looking(better, below) <= before
    for row in better:  # and no exchange of neighbours makes them fewer still
        for at in range(len(row) - 1):
            row[at], row[at + 1] = row[at + 1], row[at]
            assert crossed_by_looking(better, below) >= left
            row[at], row[at + 1] = row[at + 1], row[at]


@pytest.mark.parametrize("seed", range(5))
def test_the_arcs_of_a_tree_never_cross(seed):
    dice = np.random.default_rng(seed)
    parent = [-1, *(int(dice.integers(0, i)) for i in range(1, 40))]
    arcs = [(p, i) for i, p in enumerate(parent) if p >= 0]
    rows = rows_of([1.0] * 40, arcs, room=1e9)
    assert Drawing([(1.0, 0.3)] * 40, arcs, rows).n_crossings == 0


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 9), st.floats(0, 2)), min_size=1, max_size=8))
def test_places_moved_apart_are_the_nearest_ones_that_do_not_touch(row):
    want, weight, steps = (np.array(part) for part in zip(*row, strict=True))
    needed = np.concatenate([[0.0], np.cumsum(steps[1:])])
    found = np.array(moved_apart(want.tolist(), weight.tolist(), needed.tolist()))
    assert (np.diff(found) >= np.diff(needed) - 1e-9).all()
    cost = (weight * (found - want) ** 2).sum()
    dice = np.random.default_rng(0)
    for scale in (0.01, 0.3, 3.0):  # others that do not touch, near and far
        for _ in range(30):
            other = np.sort(found - needed + dice.normal(0, scale, len(found))) + needed
            assert (weight * (other - want) ** 2).sum() >= cost - 1e-9


def test_only_children_stand_below_their_parent_and_a_parent_above_the_middle_of_two():
    below = [[1, 2], [3], [4], [], []]
    x = straight([[0], [1, 2], [3, 4]], [1.0] * 5, turned(below), below, n_boxes=5, gap=0.2)
    assert x[1] == pytest.approx(x[3], abs=1e-6)
    assert x[2] == pytest.approx(x[4], abs=1e-6)
    assert x[0] == pytest.approx((x[1] + x[2]) / 2, abs=1e-6)


def test_a_long_arc_is_straight():
    names = [f"v{i}" for i in range(6)]
    arcs = [*pairwise(names), ("v0", "v5")]
    points = layered(dict.fromkeys(names, (1.0, 0.3)), arcs).routes["v0", "v5"]
    inner = [x for x, _ in points[2:-2]]
    assert max(inner) - min(inner) < 0.05


def test_the_same_graph_is_always_drawn_alike():
    sizes = {f"v{i}": (1.0, 0.3) for i in range(12)}
    dice = np.random.default_rng(1)
    arcs = [(f"v{a}", f"v{b}") for a, b in combinations(range(12), 2) if dice.random() < 0.3]
    assert layered(sizes, arcs) == layered(sizes, arcs)


def test_many_children_of_one_parent_stand_in_rows_below_it_and_no_arc_passes_a_box():
    """Thirty children of a hub stood on several levels, with arcs that ran around all of them."""
    names = [f"v{i}" for i in range(31)]
    sizes = {name: (1.2, 0.3 if name != "v7" else 0.6) for name in names}
    layout = layered(sizes, [("v0", name) for name in names[1:]])
    tops = {round(layout.places[name][1] + sizes[name][1] / 2, 6) for name in names[1:]}
    assert 3 <= len(tops) <= 6
    assert layout.width < 2.2 * layout.height
    boxes = {name: edges(layout.places[name], size) for name, size in sizes.items()}
    for a, b in combinations(boxes.values(), 2):
        assert a[1] < b[0] or b[1] < a[0] or a[3] < b[2] or b[3] < a[2]
    for (_, child), points in layout.routes.items():
        assert points[0][1] == pytest.approx(boxes["v0"][2])
        assert points[-1] == pytest.approx((layout.places[child][0], boxes[child][3]))
        for (x, y0), (x1, y1) in pairwise(points):
            others = (box for name, box in boxes.items() if name not in ("v0", child))
            assert x != x1 or not any(b[0] < x < b[1] and min(y0, y1) < b[3] and max(y0, y1) > b[2] for b in others)
