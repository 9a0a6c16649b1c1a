"""Chow and Liu's tree against the best of all trees."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_search import is_acyclic
from random_samples import samples

from tanager.errors import OptionError
from tanager.structure.chow_liu import ChowLiu


def all_trees(n):
    """All sets of n - 1 edges that join n nodes."""
    for edges in itertools.combinations(itertools.combinations(range(n), 2), n - 1):
        group = list(range(n))
        for a, b in edges:
            group = [group[a] if g == group[b] else g for g in group]
        if len(set(group)) == 1:
            yield edges


@given(samples(min_variables=1, max_variables=5))
def test_no_tree_tells_more(sample):
    best = max(sum(sample.information(*edge).value for edge in tree) for tree in all_trees(len(sample.names)))
    learned = ChowLiu().learn(sample)
    found = sum(sample.information(sample.index(u), sample.index(v)).value for u, v in learned.network.arcs)
    assert found == pytest.approx(best, abs=1e-9)
    assert all(len(learned.network.parents(name)) <= 1 for name in learned.network.names)


@given(samples(), st.sampled_from([0.001, 0.05]))
def test_a_threshold_leaves_the_strong_edges_of_the_tree(sample, threshold):
    whole = ChowLiu().learn(sample).steps
    cut = ChowLiu(threshold=threshold).learn(sample).steps
    assert [step.arc for step in cut] == [step.arc for step in whole if step.value > threshold]


@given(samples(min_variables=2), st.data())
def test_the_tree_hangs_from_the_root_and_has_the_same_edges(sample, data):
    root = data.draw(st.integers(0, len(sample.names) - 1))
    hung = ChowLiu().learn(sample, root=root)
    free = ChowLiu().learn(sample)
    assert {frozenset(arc) for arc in hung.network.arcs} == {frozenset(arc) for arc in free.network.arcs}
    assert hung.network.parents(sample.names[root]) == ()
    assert set(free.undirected) == set(free.network.arcs)
    below = {name for arc in hung.undirected for name in arc}
    assert sample.names[root] not in below


def test_a_required_edge_is_in_the_tree_though_it_tells_nothing():
    from exact_samples import diamond

    learned = ChowLiu(required=[("D", "B"), ("B", "C")], forbidden=[("A", "B"), ("B", "A")]).learn(diamond())
    assert {("D", "B"), ("B", "C")} <= set(learned.network.arcs)
    assert not {("A", "B"), ("B", "A")} & set(learned.network.arcs)
    assert len(learned.network.arcs) == 3
    assert is_acyclic({name: learned.network.parents(name) for name in learned.network.names})


def test_an_arc_that_is_forbidden_one_way_points_the_other():
    from exact_samples import diamond

    learned = ChowLiu(forbidden=[("A", "B")]).learn(diamond())
    assert ("B", "A") in learned.network.arcs
    assert ("B", "A") not in learned.undirected


@pytest.mark.parametrize("threshold", [-1, None, "0.1", float("nan")])
def test_a_threshold_that_means_nothing_is_refused(threshold):
    with pytest.raises(OptionError, match="threshold="):
        ChowLiu(threshold=threshold)
