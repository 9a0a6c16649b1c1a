"""A network is a value: made, refused, looked at, edited, compared, and written as plain data."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from known import DIAMOND, joint

from strategies import networks
from tanager import DataError, Network, SchemaMismatch
from tanager.encoding.schema import OTHER

CHAIN = Network(dict.fromkeys("ABC", (0, 1)), [("A", "B"), ("B", "C")])


# --- refusals ------------------------------------------------------------------------------------------------------


def test_a_cycle_is_shown():
    with pytest.raises(DataError, match=r"adding C -> A would close the cycle A -> B -> C -> A\."):
        CHAIN.add("C", "A")
    with pytest.raises(DataError, match=r"the arcs close the cycle A -> B -> A\. Leave one of them out"):
        Network({"A": (0, 1), "B": (0, 1)}, [("A", "B"), ("B", "A")])
    with pytest.raises(DataError, match=r"adding B -> B would close the cycle B -> B\."):
        CHAIN.add("B", "B")
    with pytest.raises(DataError, match=r"reversing A -> C would close the cycle A -> B -> C -> A\."):
        CHAIN.add("A", "C").reverse("A", "C")


def test_a_variable_that_is_not_there_is_named_with_the_nearest():
    network = Network({"colour": ("red", "blue"), "size": (1, 2)})
    for ask in (network.parents, network.values, network.markov_blanket, network.posterior, network.ancestors):
        with pytest.raises(SchemaMismatch, match=r"there is no variable 'color'\. Did you mean 'colour'\?"):
            ask("color")
    with pytest.raises(SchemaMismatch, match=r"'sise'.* Did you mean 'size'"):
        Network({"colour": ("red", "blue"), "size": (1, 2)}, [("colour", "sise")])


def test_a_value_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(DataError, match=r"variable 'A' has no value 2; it has 0, 1\."):
        DIAMOND.posterior("B", {"A": 2})


def test_arcs_that_are_there_or_not_are_refused():
    with pytest.raises(DataError, match="the network already has the arc A -> B"):
        CHAIN.add("A", "B")
    with pytest.raises(DataError, match="the arc A -> B is given twice"):
        Network({"A": (0, 1), "B": (0, 1)}, [("A", "B"), ("A", "B")])
    with pytest.raises(DataError, match=r"the network has no arc B -> A\. It has A -> B\."):
        CHAIN.remove("B", "A")
    with pytest.raises(DataError, match=r"the network has no arc A -> C\.$"):
        CHAIN.reverse("A", "C")


def test_names_and_values_must_make_sense():
    with pytest.raises(DataError, match="names of variables must be text; 3 is int"):
        Network({3: (0, 1)})
    with pytest.raises(DataError, match="variable 'A': the value 'x' is given twice"):
        Network({"A": ("x", "y", "x")})
    with pytest.raises(DataError, match="its values are given as one text 'yes'"):
        Network({"A": "yes"})


def test_a_table_must_have_the_shape_of_its_family_and_sum_to_one():
    with pytest.raises(DataError, match=r"P\(B \| A\) has shape \(2,\), expected \(2, 2\): 2 \(A\) x 2 \(B\)"):
        CHAIN.with_tables({"B": [0.5, 0.5]})
    with pytest.raises(DataError, match=r"P\(B \| A\) .* they sum to 1\.1 given A = 1"):
        CHAIN.with_tables({"B": [[0.5, 0.5], [0.5, 0.6]]})
    with pytest.raises(DataError, match=r"P\(A\) .* it holds -0\.5"):
        CHAIN.with_tables({"A": [1.5, -0.5]})
    with pytest.raises(DataError, match=r"P\(A\) .* sum to nan"):
        CHAIN.with_tables({"A": [np.nan, 1.0]})
    with pytest.raises(SchemaMismatch, match="no variable 'X'"):
        CHAIN.with_tables({"X": [1.0]})


def test_what_needs_a_table_says_which_one():
    with pytest.raises(DataError, match=r"P\(A\) has no table\. Estimate tables with estimate\(data\)"):
        CHAIN.sample(3)
    partly = CHAIN.with_tables({"A": [0.5, 0.5]})
    assert partly.posterior("A").tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match=r"P\(B \| A\) has no table"):
        partly.posterior("A", {"B": 1})


def test_a_variable_without_values_is_refused_where_it_matters():
    """A column that is missing everywhere has none."""
    network = Network({"A": (0, 1), "B": ()}, [("B", "A")]).estimate({"A": [0, 1], "B": [None, None]})
    for ask in (network.sample, network.posterior):
        with pytest.raises(DataError, match=r"variable 'B' has no values\. Leave it out: keep\(names\)"):
            ask(3 if ask == network.sample else "A")
    barren = Network({"A": (0, 1), "B": ()}, [("A", "B")]).estimate({"A": [0, 1], "B": [None, None]})
    assert barren.posterior("A").tolist() == [0.5, 0.5]


# --- the graph -----------------------------------------------------------------------------------------------------


def test_the_diamond_has_the_relations_one_sees():
    assert DIAMOND.parents("D") == ("B", "C")
    assert DIAMOND.children("A") == ("B", "C")
    assert DIAMOND.ancestors("D") == ("A", "B", "C")
    assert DIAMOND.descendants("B") == ("D",)
    assert DIAMOND.markov_blanket("B") == ("A", "C", "D")
    assert DIAMOND.order() == ("A", "B", "C", "D")
    assert DIAMOND.moral() == [("A", "B"), ("A", "C"), ("B", "C"), ("B", "D"), ("C", "D")]
    assert DIAMOND.separated("B", "C", "A")
    assert not DIAMOND.separated("B", "C", ["A", "D"])
    assert not DIAMOND.separated("B", "C")
    assert DIAMOND.n_parameters == 1 + 2 + 2 + 4


def test_the_pattern_of_the_diamond_has_its_collider():
    assert DIAMOND.cpdag() == ((("B", "D"), ("C", "D")), (("A", "B"), ("A", "C")))


def test_networks_that_no_data_can_tell_apart_have_no_distance():
    assert CHAIN.distance(CHAIN.reverse("A", "B")) == 0
    collider = Network(dict.fromkeys("CBA", (0, 1)), [("A", "B"), ("C", "B")])
    assert CHAIN.distance(collider) == collider.distance(CHAIN) == 2
    assert CHAIN.distance(CHAIN.add("A", "C")) == 1
    with pytest.raises(SchemaMismatch, match="'D' is in one of them only"):
        CHAIN.distance(DIAMOND)


@given(networks(max_variables=4))
def test_separated_variables_are_independent_whatever_the_tables(network):
    cells = joint(network)
    names = network.names
    for i, a in enumerate(names):
        for j, b in enumerate(names[:i]):
            if network.separated(a, b):
                both = cells.sum(axis=tuple(k for k in range(len(names)) if k not in (i, j)))
                np.testing.assert_allclose(both, np.outer(both.sum(1), both.sum(0)), atol=1e-12)


# --- editing and equality ------------------------------------------------------------------------------------------


def test_editing_gives_a_new_network_that_keeps_the_tables_of_families_it_did_not_touch():
    more = DIAMOND.add("A", "D")
    assert more.parents("D") == ("B", "C", "A")
    assert set(more.tables) == {"A", "B", "C"}
    assert set(DIAMOND.remove("B", "D").tables) == {"A", "B", "C"}
    turned = DIAMOND.reverse("C", "D")
    assert turned.arcs == [("A", "B"), ("A", "C"), ("D", "C"), ("B", "D")]
    assert set(turned.tables) == {"A", "B"}
    assert set(DIAMOND.tables) == set("ABCD")
    part = DIAMOND.keep(["D", "B", "A"])
    assert (part.names, part.arcs, set(part.tables)) == (("A", "B", "D"), [("A", "B"), ("B", "D")], {"A", "B"})


def test_nothing_in_a_network_can_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        DIAMOND.tables["A"][0] = 1.0
    with pytest.raises(TypeError):
        DIAMOND.tables["A"] = np.array([1.0, 0.0])


def test_equality_ignores_the_order_of_variables_and_parents():
    other = Network(dict.fromkeys("DCBA", (0, 1)), [("C", "D"), ("A", "C"), ("B", "D"), ("A", "B")])
    assert other != DIAMOND
    tables = {**DIAMOND.tables, "D": DIAMOND.tables["D"].transpose(1, 0, 2)}
    other = other.with_tables(tables)
    assert other == DIAMOND
    assert hash(other) == hash(DIAMOND)
    assert other != other.with_tables({"A": [0.4, 0.6]})
    assert CHAIN.add("A", "C") != CHAIN
    assert CHAIN != "A -> B"


def test_a_network_shows_what_it_is():
    assert repr(CHAIN) == "<Network of 3 variables: A -> B, B -> C>"
    assert repr(Network({"A": (0, 1)})) == "<Network of 1 variable: no arcs>"
    assert repr(CHAIN.with_tables({"A": [0.5, 0.5]})) == "<Network of 3 variables, with 1 tables: A -> B, B -> C>"
    many = Network({f"x{i}": (0, 1) for i in range(9)}, [("x0", f"x{i}") for i in range(1, 9)])
    assert repr(many).endswith("x0 -> x5, ... (8 arcs)>")


@given(networks())
def test_a_network_survives_copies_and_plain_data(network):
    assert copy.deepcopy(network) == network
    assert pickle.loads(pickle.dumps(network)) == network
    again = Network.from_dict(json.loads(json.dumps(network.to_dict())))
    assert again == network
    assert again.names == network.names
    assert again.arcs == network.arcs


def test_plain_data_keep_the_type_of_values():
    network = Network({"mixed": ("1", 1, 2.5, False, OTHER), "none": ()})
    again = Network.from_dict(json.loads(json.dumps(network.to_dict())))
    assert [(type(v), v) for v in again.values("mixed")] == [(type(v), v) for v in network.values("mixed")]
    assert again.values("none") == ()


def test_values_of_numpy_become_plain():
    network = Network({"A": np.array(["x", "y"]), "B": np.arange(2)})
    assert [type(v) for name in network for v in network.values(name)] == [str, str, int, int]
