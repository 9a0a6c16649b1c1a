"""Greedy cut sets against the enumeration of all paths."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_cbl import plain_greedy_cut, plain_open_paths

from exact_samples import ASIA, CANCER, DIAMOND, FIVE, asia, cancer, diamond, five
from tanager.networks import graph
from tanager.structure import cut_sets
from tanager.structure.cbl import CBL
from tanager.structure.cut_sets import greedy_cut, open_paths


@st.composite
def ordered_networks(draw, most=7):
    """Parents of nodes 0, 1, ..., all of them smaller."""
    n = draw(st.integers(2, most))
    return [{u for u in range(v) if draw(st.booleans())} for v in range(n)]


@given(ordered_networks(), st.data())
def test_the_open_paths_are_those_of_the_enumeration(parents, data):
    a, b = sorted(data.draw(st.permutations(range(len(parents))))[:2])
    cut = set(data.draw(st.sets(st.sampled_from(range(len(parents)))))) - {a, b}
    found = sorted(sorted(closing) for closing in open_paths(parents, a, b, cut))
    assert found == sorted(sorted(path) for path in plain_open_paths(dict(enumerate(parents)), a, b, cut))


@given(ordered_networks())
def test_the_cut_is_that_of_the_enumeration_and_separates(parents):
    for a, b in combinations(range(len(parents)), 2):
        cut = greedy_cut(parents, a, b)
        assert cut == plain_greedy_cut(dict(enumerate(parents)), a, b)
        without = [own - {a} if v == b else own for v, own in enumerate(parents)]
        assert not graph.d_connected(without, a, b, cut)


def test_a_bottleneck_closes_all_paths_where_the_last_node_has_many_parents():
    many = [set(), {0}, *({1} for _ in range(4)), {2, 3, 4, 5}]
    assert greedy_cut(many, 0, 6) == {1}


def test_where_paths_are_too_many_the_parents_are_taken(monkeypatch):
    dense = [set(range(v)) for v in range(20)]
    assert greedy_cut(dense, 0, 19) is None
    monkeypatch.setattr(cut_sets, "MAX_STEPS", 0)
    arcs = CBL(threshold=0.001, order="given", shrink=True).learn(diamond()).network.arcs
    assert arcs == CBL(threshold=0.001, order="given").learn(diamond()).network.arcs


@pytest.mark.parametrize(
    ("sample", "truth"), [(diamond, DIAMOND), (five, FIVE), (asia, ASIA), (cancer, CANCER)], ids=lambda part: ""
)
def test_on_exact_distributions_the_network_is_the_true_one(sample, truth):
    learned = CBL(threshold=1e-5, order="given", shrink=True).learn(sample())
    assert set(learned.network.arcs) == {(parent, child) for child, own in truth.items() for parent in own}


def test_tests_condition_on_fewer_variables():
    """B is a bottleneck between A and F: one condition in place of three."""
    from exact_samples import exact_sample

    parents = {"B": "A", "C": "B", "D": "B", "E": "B", "F": "CDE"}
    chances = {"A": [0.5], "B": [0.1, 0.9], "C": [0.1, 0.8], "D": [0.2, 0.9], "E": [0.1, 0.7]}
    chances["F"] = [0.05, 0.4, 0.5, 0.7, 0.6, 0.7, 0.8, 0.95]
    sample = exact_sample(parents, chances)
    full, few = (CBL(threshold=1e-6, order="given", shrink=how).learn(sample) for how in (False, True))
    assert set(few.network.arcs) == set(full.network.arcs)
    assert sum(len(step.given) for step in few.steps) < sum(len(step.given) for step in full.steps)
