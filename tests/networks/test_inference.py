"""Posteriors against the joint distribution and known answers."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import DIAMOND, conditional

from profiles import examples
from strategies import networks
from tanager import DataError, MemoryBudgetError, Network
from tanager.networks.inference import elimination_order


@pytest.mark.parametrize(
    ("asked", "evidence", "expected"),
    [
        ("A", {"D": 1}, 0.782306),
        ("A", {"C": 1, "D": 1}, 0.829071),
        ("A", {"B": 1, "C": 1, "D": 1}, 0.965517),
        ("A", {"B": 1, "C": 1}, 0.965517),
        ("D", {}, 0.503),
        ("B", {"A": 0, "D": 1}, 0.342466),
    ],
)
def test_the_diamond_has_its_known_answers(asked, evidence, expected):
    assert DIAMOND.posterior(asked, evidence)[1] == pytest.approx(expected, abs=5e-7)


@given(networks(max_variables=5, zeros=True), st.data())
def test_a_posterior_is_that_of_the_joint(network, data):
    names = list(network.names)
    asked = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    known = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    evidence = {name: data.draw(st.sampled_from(network.values(name))) for name in known}
    expected = conditional(network, asked, evidence)
    try:
        found = network.posterior(asked, evidence)
    except DataError:
        assert expected.sum() == 0
    else:
        assert found.shape == tuple(len(network.values(name)) for name in asked)
        if expected.sum() > 0:
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_what_is_known_is_certain():
    both = DIAMOND.posterior(["B", "A"], {"B": 1})
    np.testing.assert_allclose(both, [[0, 0], [1 / 9, 8 / 9]])
    assert DIAMOND.posterior("A", {"A": 0}).tolist() == [1.0, 0.0]


def test_evidence_may_be_given_as_text():
    assert DIAMOND.posterior("A", {"D": "1"}).tolist() == DIAMOND.posterior("A", {"D": 1}).tolist()


def test_evidence_that_cannot_be_is_refused():
    network = DIAMOND.with_tables({"D": np.broadcast_to([1.0, 0.0], (2, 2, 2))})
    with pytest.raises(DataError, match="the evidence B = 0, D = 1 has probability 0 in this network"):
        network.posterior("A", {"B": 0, "D": 1})
    with pytest.raises(DataError, match="probability 0"):
        network.posterior("A", {"B": 0, "C": 0, "D": 1})


def test_a_variable_is_asked_for_once():
    with pytest.raises(DataError, match="named twice"):
        DIAMOND.posterior(["A", "A"])


def test_a_thousand_observed_children_do_not_underflow():
    """500 of them speak for one class, then 501 for the other; either half alone is less than any float can tell."""
    names = [f"x{i}" for i in range(1001)]
    network = Network({"class": (0, 1), **dict.fromkeys(names, (0, 1))}, [("class", name) for name in names])
    network = network.with_tables({"class": [0.5, 0.5], **dict.fromkeys(names, ((0.01, 0.99), (0.99, 0.01)))})
    evidence = dict.fromkeys(names[:500], 0) | dict.fromkeys(names[500:], 1)
    np.testing.assert_allclose(network.posterior("class", evidence), [0.99, 0.01], rtol=1e-9)
    hidden = Network(
        {"root": (0, 1), **{name: network.values(name) for name in network}}, [("root", "class"), *network.arcs]
    )
    hidden = hidden.with_tables({**network.tables, "root": [0.5, 0.5], "class": [[1.0, 0.0], [0.0, 1.0]]})
    np.testing.assert_allclose(hidden.posterior("root", evidence), [0.99, 0.01], rtol=1e-9)


def test_a_chain_of_any_length_is_cheap():
    names = [f"x{i}" for i in range(300)]
    network = Network(dict.fromkeys(names, range(3)), pairwise(names))
    rng = np.random.default_rng(0)
    step = rng.dirichlet([1, 1, 1], 3)
    network = network.with_tables({**dict.fromkeys(names[1:], step), "x0": [1, 0, 0]})
    np.testing.assert_allclose(network.posterior("x299"), np.linalg.matrix_power(step, 299)[0], atol=1e-12)
    assert network.posterior("x5", {"x0": 0, "x299": 2}).sum() == pytest.approx(1)


def test_a_table_too_large_is_refused_beforehand_with_the_way_out():
    parents = [f"p{i}" for i in range(24)]
    network = Network({"c": (0, 1), **dict.fromkeys(parents, (0, 1))}, [(name, "c") for name in parents[:10]])
    tables = {name: [0.5, 0.5] for name in parents} | {"c": np.full(network.shape("c"), 0.5)}
    network = network.with_tables(tables)
    with pytest.raises(MemoryBudgetError, match=r"1\.68e\+07 cells over 24 variables; the limit is 10,000,000"):
        network.posterior(parents)
    assert network.posterior("p0", {"c": 1}).tolist() == [0.5, 0.5]


def test_the_order_fills_in_least_then_makes_small_tables_then_counts():
    # a ring of four: any first choice joins one pair; 1 has the smaller table
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert elimination_order(ring, [0], [2, 2, 2, 5])[0] == (1, (0, 1, 2))
    assert [v for v, _ in elimination_order([(0, 1), (1, 2)], [2], [2, 2, 2])] == [0, 1]


def plain_order(scopes, keep, sizes):
    """Min-fill as it reads: all costs anew in each step."""
    joined = {i: {j for scope in [*scopes, keep] if i in scope for j in scope} - {i} for i in range(len(sizes))}
    left = {i for scope in scopes for i in scope} - set(keep)
    steps = []
    while left:
        costs = []
        for v in left:
            fill = sum(b not in joined[a] for a, b in combinations(joined[v], 2))
            costs.append((fill, np.prod([sizes[i] for i in (v, *joined[v])]), v))
        v = min(costs)[-1]
        steps.append((v, tuple(sorted({v} | joined[v]))))
        for a in joined[v]:
            joined[a] = (joined[a] | joined[v]) - {a, v}
        left.remove(v)
    return steps


@examples(180)
@given(st.integers(0, 2**32 - 1))
def test_the_order_is_that_of_costs_computed_anew(seed):
    """Mostly pairs, so that there are rings, in which edges must be filled in."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    sizes = rng.integers(1, 5, n).tolist()
    scopes = [
        tuple(rng.permutation(n)[: rng.choice([0, 2, 2, 2, 2, 3])].tolist()) for _ in range(rng.integers(0, 3 * n))
    ]
    keep = rng.permutation(n)[: rng.integers(0, 3)].tolist()
    assert elimination_order(scopes, keep, sizes) == plain_order(scopes, keep, sizes)
