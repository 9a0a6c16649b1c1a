"""Random networks: as many arcs as asked for, all structures equally likely, and tables of the right kind."""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest

from tanager import DataError, Network, generate
from tanager.generate.random_networks import arcs_in_order, n_sets, random_arcs, random_tree


def evenly(found, n_kinds, n):
    """Every kind came, within five standard deviations of its share."""
    share = 1 / n_kinds
    assert len(found) == n_kinds
    assert all(abs(count / n - share) < 5 * np.sqrt(share / n) for count in found.values())


def test_arcs_are_those_of_the_source():
    """19, 37 and 50 arcs over a class and 19 columns, those of the class included."""
    assert len(generate.naive_bayes().network.arcs) == 19
    assert len(generate.tan().network.arcs) == 37
    assert len(generate.ban().network.arcs) == 50
    for stream in (generate.naive_bayes(), generate.tan(), generate.ban()):
        assert stream.network.children("class") == stream.names
        assert stream.network.names == ("class", *stream.names)


def test_all_trees_are_equally_likely_and_all_roots():
    """Cayley: 4^2 trees over four nodes, each with four roots."""
    rng = np.random.default_rng(0)
    found = Counter(frozenset(random_tree(4, rng)) for _ in range(8000))
    evenly(found, 16 * 4, 8000)
    assert all(len({child for _, child in tree}) == 3 for tree in found)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_tree_reaches_every_column(n):
    arcs = random_tree(n, np.random.default_rng(n))
    assert len(arcs) == n - 1
    assert len({u for arc in arcs for u in arc} | {0}) == n
    Network({str(i): (0, 1) for i in range(n)}, [(str(u), str(v)) for u, v in arcs])  # no cycle


def test_all_sets_of_arcs_that_keep_to_the_limit_are_equally_likely():
    """By counting: all sets of two arcs over four columns in order, less those with both into one column."""
    good = [arcs for arcs in combinations(combinations(range(4), 2), 2) if arcs[0][1] != arcs[1][1]]
    assert n_sets(4, 2, 1)[4][2] == len(good) == 15 - 1 - 3
    rng = np.random.default_rng(1)
    found = Counter(tuple(sorted(arcs_in_order(4, 2, 1, rng))) for _ in range(2000))
    assert found.keys() == set(good)
    evenly(found, len(good), 2000)


def test_without_a_limit_every_pair_is_as_likely():
    rng = np.random.default_rng(2)
    found = Counter(tuple(sorted(arc)) for _ in range(2000) for arc in random_arcs(5, 4, 5, rng))
    assert sum(found.values()) == 8000
    assert all(abs(count / 2000 - 4 / comb(5, 2)) < 5 * np.sqrt(0.24 / 2000) for count in found.values())


@pytest.mark.parametrize(("n_arcs", "most"), [(19, 0), (37, 1), (85, 4), (19 + 171, 18)])
def test_the_tightest_limits_can_be_kept(n_arcs, most):
    network = generate.ban(n_arcs, most, random_state=3).network
    assert len(network.arcs) == n_arcs
    assert max(len(network.parents(name)) for name in network) <= most + 1


def test_priors_are_even_enough_and_can_be_given():
    firsts = [generate.naive_bayes(1, random_state=seed).network.tables["class"][0] for seed in range(200)]
    assert 0.3 <= min(firsts) < 0.33
    assert 0.67 < max(firsts) <= 0.7
    many = generate.naive_bayes(1, n_classes=5, random_state=1).network.tables["class"]
    assert many.max() / many.min() <= 7 / 3
    assert generate.tan(prior=[0.1, 0.9]).network.tables["class"].tolist() == [0.1, 0.9]


def test_lines_of_tables_are_uniform_or_sharper():
    cells = {
        d: np.concatenate(
            [generate.tan(60, dirichlet=d, random_state=s).network.tables["x1"].ravel() for s in range(60)]
        )
        for d in (1.0, 0.1)
    }
    assert abs(cells[1.0].std() - np.sqrt(1 / 12)) < 0.04
    assert cells[0.1].std() > 0.4


def test_values_and_classes_are_as_many_as_asked_for():
    stream = generate.ban(n_arcs=6, n_columns=3, n_values=(2, 5, 3), n_classes=4, random_state=1)
    X, y = stream.take(8000)
    assert X.max(axis=0).tolist() == [1, 4, 2]
    assert sorted(set(y.tolist())) == [0, 1, 2, 3]
    assert stream.classes == (0, 1, 2, 3)


def test_a_network_redrawn_keeps_arcs_prior_and_effects():
    stream = generate.ban(random_state=1).noise(0.1)
    other = generate.redrawn(stream, random_state=2)
    assert other.network.arcs == stream.network.arcs
    assert (other.network.tables["class"] == stream.network.tables["class"]).all()
    assert (other.network.tables["x1"] != stream.network.tables["x1"]).any()
    assert other.effects == stream.effects


def test_a_network_without_tables_makes_no_stream():
    with pytest.raises(DataError, match=r"P\(class\) has no table"):
        generate.from_network(Network({"class": (0, 1), "x": (0, 1)}, [("class", "x")]))
    with pytest.raises(DataError, match=r"there is no variable 'klass'\. Did you mean 'class'"):
        generate.from_network(generate.tan().network, "klass")
    with pytest.raises(DataError, match="no variable besides 'class'"):
        generate.from_network(Network({"class": (0, 1)}, [], {"class": [0.5, 0.5]}))
