"""All marginals at once against the joint distribution, soft evidence against a child that was observed."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.alarm import alarm
from hypothesis import given
from hypothesis import strategies as st
from known import DIAMOND, conditional, joint

from profiles import examples
from strategies import networks
from tanager import DataError, MemoryBudgetError, Network, SchemaMismatch
from tanager.networks import inference, propagation


@st.composite
def observations(draw, network):
    """Evidence on some variables, and likelihoods, some of them 0, on others or the same."""
    names = list(network.names)
    known = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    evidence = {name: draw(st.sampled_from(network.values(name))) for name in known}
    likelihood = st.sampled_from([0.0, 0.001, 0.3, 1.0, 40.0])
    soft = {}
    for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=2)):
        size = len(network.values(name))
        soft[name] = draw(st.lists(likelihood, min_size=size, max_size=size).filter(any))
    return evidence, soft


def with_children(network, soft):
    """Soft evidence in the plain way: a further child of each variable, with P(seen | value) in its table."""
    children = {name: f"seen {name}" for name in soft}
    arcs = [*network.arcs, *children.items()]
    variables = {name: network.values(name) for name in network} | dict.fromkeys(children.values(), ("yes", "no"))
    tables = dict(network.tables)
    for name, child in children.items():
        p = np.array(soft[name]) / max(soft[name])
        tables[child] = np.stack([p, 1 - p], axis=-1)
    return Network(variables, arcs, tables), dict.fromkeys(children.values(), "yes")


@examples(200)
@given(networks(max_variables=5, zeros=True), st.data(), st.booleans())
def test_marginals_are_those_of_the_joint(network, data, inserted):
    evidence, soft = data.draw(observations(network))
    longer, seen = with_children(network, soft)
    if inserted:  # as for large networks: a tree for this evidence alone
        network.junction = None
    if not conditional(longer, [], {**evidence, **seen}).sum():
        assert network.log_evidence(evidence, soft=soft) == -np.inf
        with pytest.raises(DataError, match="has probability 0"):
            network.marginals(evidence, soft=soft)
        return
    found = network.marginals(evidence, soft=soft)
    assert list(found) == list(network.names)
    for name in network:
        expected = conditional(longer, [name], {**evidence, **seen})
        np.testing.assert_allclose(found[name], expected, atol=1e-12)
        np.testing.assert_allclose(network.posterior(name, evidence, soft=soft), expected, atol=1e-12)
    some = list(reversed(network.names))[:2]
    assert list(network.marginals(evidence, soft=soft, names=some)) == some


@examples(200)
@given(networks(max_variables=4, zeros=True), st.data())
def test_log_evidence_is_that_of_the_joint(network, data):
    evidence, soft = data.draw(observations(network))
    cells = joint(network)
    for i, name in enumerate(network):
        weight = np.array(soft.get(name, np.ones(cells.shape[i])))
        if name in evidence:
            weight = weight * (np.arange(cells.shape[i]) == network.code(name, evidence[name]))
        cells = cells * weight.reshape([-1 if j == i else 1 for j in range(cells.ndim)])
    with np.errstate(divide="ignore"):
        assert network.log_evidence(evidence, soft=soft) == pytest.approx(np.log(cells.sum()), abs=1e-11)


def test_the_joint_of_two_variables_takes_soft_evidence():
    longer, seen = with_children(DIAMOND, {"D": [0.2, 0.7], "A": [1, 2]})
    found = DIAMOND.posterior(["B", "C"], {"A": 1}, soft={"D": [0.2, 0.7], "A": {1: 2, 0: 1}})
    np.testing.assert_allclose(found, conditional(longer, ["B", "C"], {"A": 1, **seen}), atol=1e-14)


def test_alarm_is_as_large_as_published_and_all_marginals_are_its_posteriors():
    network = alarm()
    assert (len(network), len(network.arcs), network.n_parameters) == (37, 46, 509)
    evidence = {"BP": 0, "HRSAT": 2, "PRESS": 3}
    found = network.marginals(evidence)
    for name in network:
        np.testing.assert_allclose(found[name], network.posterior(name, evidence), atol=1e-13)


def test_networks_of_one_structure_share_a_tree_and_changed_evidence_changes_no_potential():
    one, other = alarm(0), alarm(1)
    before = [table.copy() for table in one.junction.potentials()[0]]
    first = one.marginals({"BP": 1})["HR"]
    one.marginals({"BP": 2, "CVP": 0})
    assert one.junction.tree is other.junction.tree
    assert all(map(np.array_equal, before, one.junction.potentials()[0]))
    assert one.marginals({"BP": 1})["HR"].tolist() == first.tolist()


def test_parts_that_are_not_connected_have_marginals_of_their_own():
    network = Network({"a": (0, 1), "b": (0, 1), "c": ("x",)}, [], {"a": [0.3, 0.7], "b": [0.1, 0.9], "c": [1.0]})
    found = network.marginals({"a": 0})
    assert [found[name].round(12).tolist() for name in "abc"] == [[1, 0], [0.1, 0.9], [1]]
    assert network.log_evidence({"a": 0, "b": 1, "c": "x"}) == pytest.approx(np.log(0.27))
    assert Network({}).marginals() == {}


def test_what_has_no_table_is_needed_only_below_what_is_asked():
    network = Network({"a": (0, 1), "b": (0, 1)}, [("a", "b")], {"a": [0.3, 0.7]})
    assert network.marginals(names="a")["a"] == pytest.approx([0.3, 0.7])
    with pytest.raises(DataError, match=r"P\(b \| a\) has no table"):
        network.marginals()


def test_long_chains_do_not_underflow():
    """500 observations, of probability 1e-1000 together."""
    names = [f"x{i}" for i in range(500)]
    seen = [f"y{i}" for i in range(500)]
    network = Network(dict.fromkeys(names + seen, (0, 1, 2)), [*pairwise(names), *zip(names, seen, strict=True)])
    rng = np.random.default_rng(0)
    step, look = rng.dirichlet([1, 1, 1], 3), np.array([[0.01, 0.5, 0.49], [0.01, 0.3, 0.69], [0.01, 0.9, 0.09]])
    tables = dict.fromkeys(names[1:], step) | dict.fromkeys(seen, look) | {"x0": [0.2, 0.3, 0.5]}
    network = network.with_tables(tables)
    found = network.marginals(dict.fromkeys(seen, 0))  # says nothing: all values give it alike
    np.testing.assert_allclose(found["x499"], [0.2, 0.3, 0.5] @ np.linalg.matrix_power(step, 499), atol=1e-12)
    assert network.log_evidence(dict.fromkeys(seen, 0)) == pytest.approx(500 * np.log(0.01))
    found = network.marginals({"x0": 0, "x499": 2})
    np.testing.assert_allclose(found["x250"], network.posterior("x250", {"x0": 0, "x499": 2}), atol=1e-12)


def test_a_thousand_children_that_contradict_each_other_do_not_underflow():
    names = [f"x{i}" for i in range(1001)]
    network = Network({"class": (0, 1), **dict.fromkeys(names, (0, 1))}, [("class", name) for name in names])
    network = network.with_tables({"class": [0.5, 0.5], **dict.fromkeys(names, ((0.01, 0.99), (0.99, 0.01)))})
    evidence = dict.fromkeys(names[:500], 0) | dict.fromkeys(names[500:], 1)
    np.testing.assert_allclose(network.marginals(evidence)["class"], [0.99, 0.01], rtol=1e-9)


def test_a_large_tree_is_compiled_for_the_evidence_and_refused_beforehand_without_it(monkeypatch):
    parents = [f"p{i}" for i in range(10)]
    network = Network({"c": (0, 1), **dict.fromkeys(parents, (0, 1))}, [(name, "c") for name in parents])
    rng = np.random.default_rng(0)
    tables = {name: rng.dirichlet([1, 1], network.shape(name)[:-1]) for name in network}
    network = network.with_tables(tables)
    evidence = dict.fromkeys(parents[:6], 1)
    expected = network.marginals(evidence)
    monkeypatch.setattr(propagation, "QUICK_CELLS", 100)
    monkeypatch.setattr(inference, "MAX_CELLS", 100)
    network = network.with_tables({})
    found = network.marginals(evidence)
    assert all(np.allclose(found[name], expected[name], atol=1e-14) for name in network)
    with pytest.raises(MemoryBudgetError, match=r"^11 variables at once need tables of 2\.05e\+03 cells; the limit is"):
        network.marginals()
    assert network.marginals(names="p3")["p3"] == pytest.approx(tables["p3"])  # barren nodes are left out


def test_evidence_that_cannot_be_is_named():
    network = DIAMOND.with_tables({"D": np.broadcast_to([1.0, 0.0], (2, 2, 2))})
    with pytest.raises(DataError, match="the evidence B = 0, D = 1, soft evidence of C has probability 0"):
        network.marginals({"B": 0, "D": 1}, soft={"C": [1, 2]})
    with pytest.raises(DataError, match="the evidence A = 1, soft evidence of A has probability 0"):
        network.posterior("B", {"A": 1}, soft={"A": [1, 0]})


@pytest.mark.parametrize(
    ("soft", "message"),
    [
        ({"A": [1, 2, 3]}, "soft evidence of 'A' needs 2 likelihoods, one for each value; 3 given"),
        ({"A": 0.5}, "soft evidence of 'A' needs 2 likelihoods, one for each value; 0.5 given"),
        ({"A": [0, 0]}, "soft evidence of 'A': all likelihoods are 0"),
        ({"A": [1, np.nan]}, "soft evidence of 'A': the likelihood of 1 is nan; give a finite number of at least 0"),
        ({"A": [1, np.inf]}, "the likelihood of 1 is inf"),
        ({"A": [-1, 1]}, "the likelihood of 0 is -1.0"),
        ({"A": ["x", "y"]}, "soft evidence of 'A' is .*; give a number for each value"),
        ({"A": {0: 1}}, "soft evidence of 'A' has no likelihood of 1. Give one for each value"),
        ({"A": {0: 1, 1: 2, 7: 3}}, "variable 'A' has no value 7"),
        ([("A", [1, 2])], "soft is .*; give a mapping"),
    ],
)
def test_likelihoods_that_are_none_are_refused(soft, message):
    with pytest.raises(DataError, match=message):
        DIAMOND.marginals(soft=soft)
    with pytest.raises(DataError, match=message):
        DIAMOND.posterior("B", soft=soft)


def test_names_that_are_none_are_refused():
    with pytest.raises(SchemaMismatch, match="there is no variable 'E'"):
        DIAMOND.marginals(names=["E"])
    with pytest.raises(SchemaMismatch, match="there is no variable 'E'"):
        DIAMOND.marginals(soft={"E": [1, 2]})
    with pytest.raises(DataError, match="evidence is 'A'; give a mapping"):
        DIAMOND.marginals("A")


def test_a_network_that_was_asked_is_pickled_without_its_tree():
    network = alarm()
    size = len(pickle.dumps(network))
    answer = network.marginals({"BP": 1})
    again = pickle.loads(pickle.dumps(network))
    assert len(pickle.dumps(network)) < size + 1000
    assert again.marginals({"BP": 1})["HR"].tolist() == answer["HR"].tolist()
