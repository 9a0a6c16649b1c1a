"""Diagrams as values: made, changed, compared, written as plain data, and refused in plain words."""

import json

import numpy as np
import pytest
from diagrams import OIL, UMBRELLA, random_diagram
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import DataError, DecisionNetwork, Network, OptionError, SchemaMismatch, plot_decisions


def test_nodes_and_arcs_are_told():
    assert OIL.chance == ("oil", "seismic")
    assert OIL.decisions == ("test", "drill")
    assert OIL.utilities == ("profit", "cost")
    assert [OIL.kind(name) for name in ("oil", "test", "cost")] == ["chance", "decision", "utility"]
    assert OIL.parents("drill") == ("test", "seismic")
    assert OIL.order == ("test", "drill")
    assert OIL.information("drill") == ("test", "seismic")
    assert len(OIL) == len(OIL.names) == 6
    assert "oil" in OIL
    assert "gas" not in OIL
    assert repr(OIL) == "<DecisionNetwork of 2 chance nodes, 2 decisions and 2 utilities>"


def test_nothing_is_forgotten_unless_memory_is_limited():
    two = DecisionNetwork(
        {"a": (0, 1), "b": (0, 1)}, {"d": (0, 1), "e": (0, 1)}, (), [("a", "d"), ("d", "b"), ("b", "e")]
    )
    assert set(two.information("e")) == {"a", "d", "b"}
    assert two.information("e", limited_memory=True) == ("b",)


@examples(60)
@given(st.integers(0, 10**6))
def test_plain_data_gives_the_same_diagram(seed):
    diagram = random_diagram(seed)
    again = DecisionNetwork.from_dict(json.loads(json.dumps(diagram.to_dict())))
    assert again == diagram
    assert hash(again) == hash(diagram)
    assert again.solve().expected_utility == diagram.solve().expected_utility


def test_the_order_in_which_parents_are_listed_does_not_matter():
    turned = OIL.remove("oil", "profit").add("oil", "profit").with_tables({"profit": np.array(OIL.tables["profit"]).T})
    assert turned.parents("profit") == ("drill", "oil")
    assert turned == OIL
    assert turned != OIL.with_tables({"cost": [0, -11]})
    assert turned != OIL.without("cost")
    assert OIL.with_order(["test", "drill"]) != OIL
    assert OIL != "oil"


def test_editing_gives_new_diagrams_that_keep_other_tables():
    more = OIL.with_chance("price", ("low", "high"), (), [0.5, 0.5]).add("price", "profit")
    assert "profit" not in more.tables
    assert set(more.tables) == {"oil", "seismic", "price", "cost"}
    assert "price" not in OIL
    back = more.without("price").with_tables({"profit": OIL.tables["profit"]})
    assert back == OIL
    plugged = OIL.with_decision("plug", ("no", "yes"), ["drill"]).with_utility("plugging", ["plug"], [0, -5])
    assert plugged.order == ("test", "drill", "plug")
    assert plugged.solve().expected_utility == pytest.approx(22.5)
    assert OIL.remove("seismic", "drill").solve().expected_utility == pytest.approx(20)


def test_a_network_becomes_a_diagram():
    network = Network(
        {
            "weather": ("no rain", "rain"),
            "forecast": ("sunny", "cloudy", "rainy"),
            "umbrella": ("take it", "leave at home"),
        },
        [("weather", "forecast"), ("forecast", "umbrella")],
        {"weather": [0.7, 0.3], "forecast": [[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]], "umbrella": np.full((3, 2), 0.5)},
    )
    utilities = {"satisfaction": (["weather", "umbrella"], [[20, 100], [70, 0]])}
    assert DecisionNetwork.from_network(network, ["umbrella"], utilities) == UMBRELLA
    apart = network.keep(["weather", "forecast"])
    options = {"umbrella": network.values("umbrella")}
    assert DecisionNetwork.from_network(apart, options, utilities, {"umbrella": ["forecast"]}) == UMBRELLA


def test_the_network_under_the_policies_has_their_expected_utility():
    solution = OIL.solve()
    network = OIL.under(solution)
    joint = network.posterior(["oil", "drill"])
    cost = network.posterior("test") @ OIL.tables["cost"]
    assert (joint * OIL.tables["profit"]).sum() + cost == pytest.approx(22.5)


REFUSED = {
    "cycle": lambda: UMBRELLA.add("umbrella", "weather"),
    "cannot be known before": lambda: OIL.value_of_information("seismic", "test"),
    "leaves a utility": lambda: DecisionNetwork({"a": (0, 1)}, {}, ["u"], [("u", "a")]),
    "called 'a'": lambda: DecisionNetwork({"a": (0, 1)}, {"a": (0, 1)}),
    "no options": lambda: DecisionNetwork({}, {"d": ()}),
    "give a list of names": lambda: DecisionNetwork({}, {}, "u"),
    "given twice": lambda: DecisionNetwork({"a": (0, 1)}, {}, ["u"], [("a", "u"), ("a", "u")]),
    "there is no node 'aa'. Did you mean": lambda: DecisionNetwork({"aaa": (0, 1)}, {}, ["u"], [("aa", "u")]),
    "'drill' is a decision and has no table": lambda: OIL.with_tables({"drill": [0.5, 0.5]}),
    "sum to 1": lambda: OIL.with_tables({"oil": [0.5, 0.3, 0.3]}),
    "has shape (3,), expected (2,): 2 (test)": lambda: OIL.with_tables({"cost": [0, 1, 2]}),
    "must be an array of numbers": lambda: OIL.with_tables({"cost": ["a", 1]}),
    "is nan where test = yes": lambda: OIL.with_tables({"cost": [0, np.nan]}),
    "is inf where oil = dry and drill = no": lambda: OIL.with_tables({"profit": [[np.inf, 0], [0, 0], [0, 0]]}),
    "large negative": lambda: OIL.with_tables({"cost": [0, -np.inf]}),
    "no numbers": lambda: OIL.add("oil", "cost").solve(),
    ") has no table": lambda: OIL.without("oil").with_chance("oil", (1, 2)).solve(),
    "has no arc oil -> cost": lambda: OIL.remove("oil", "cost"),
    "no value 'moist'": lambda: OIL.solve(evidence={"oil": "moist"}),
    "Give the option that was chosen": lambda: OIL.solve(evidence={"seismic": "open"}),
    "probability 0": lambda: OIL.solve(evidence={"test": "no", "seismic": "open"}),
    "depends on 'seismic'": lambda: OIL.solve()["drill"].choose({"test": "yes"}),
    "is impossible": lambda: OIL.solve()["drill"].choose({"test": "no", "seismic": "open"}),
    "has no value 'opn'": lambda: OIL.solve()["drill"].choose({"test": "yes", "seismic": "opn"}),
    "no policy for the decision 'test'": lambda: OIL.expected_utility({"drill": OIL.solve()["drill"]}),
    "order names 'dril'": lambda: OIL.with_order(["test", "dril"]),
    "each decision once": lambda: OIL.with_order(["test"]),
    "cannot come before": lambda: OIL.with_order(["drill", "test"]),
    "is no decision": lambda: OIL.value_of_information("oil", "seismic"),
    "is a decision. Ask": lambda: OIL.value_of_information("test"),
    "all decisions have been made": lambda: OIL.information_values(evidence={"test": "no", "drill": "no"}),
    "is no utility": lambda: OIL.utility_ranges("oil"),
    "named by the values of oil, drill": lambda: OIL.utility_curve("profit", {"oil": "dry"}, 0, 1),
    "give a list of names, or options": lambda: DecisionNetwork.from_network(OIL.network, "drill", {}),
    "a pair of its parents": lambda: DecisionNetwork.from_network(OIL.network, ["test", "drill"], {"u": 1}),
    "there is no variable 'gas'": lambda: DecisionNetwork.from_network(OIL.network, ["gas"], {}),
    "cost_matrix=None": lambda: DecisionNetwork.from_costs(OIL.network, "oil", None),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_in_words(words):
    with pytest.raises((DataError, SchemaMismatch)) as error:
        REFUSED[words]()
    assert words in str(error.value)


def test_an_order_that_is_not_determined_is_named():
    two = DecisionNetwork(
        {}, {"left": (0, 1), "right": (0, 1)}, ["u"], [("left", "u"), ("right", "u")], {"u": [[0, 1], [2, 5]]}
    )
    with pytest.raises(DataError, match="'left' and 'right' is not determined"):
        two.solve()
    assert two.with_order(["right", "left"]).solve().expected_utility == 5
    assert two.add("left", "right").solve().expected_utility == 5
    assert two.solve(limited_memory=True).expected_utility == 5


def test_numbers_that_make_no_sense_are_refused():
    with pytest.raises(OptionError, match="lower one first"):
        OIL.utility_curve("cost", {"test": "no"}, 1, 0)
    with pytest.raises(OptionError, match="price of 'oil'"):
        OIL.compare_tests({"oil": float("nan")})
    with pytest.raises(OptionError, match="swing"):
        OIL.tornado(-1)


def test_a_diagram_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib, the extra 'plot'")
    from matplotlib.patches import Ellipse, Polygon, Rectangle

    figure = OIL.plot(tmp_path / "oil.svg", title="Oil")
    shapes = [type(patch) for patch in figure.axes[0].patches]
    assert [shapes.count(kind) for kind in (Ellipse, Rectangle, Polygon)] == [2, 2, 2]
    assert (tmp_path / "oil.svg").stat().st_size > 0
    plot_decisions(DecisionNetwork({}, {}))
    with pytest.raises(OptionError, match="plot_network"):
        plot_decisions(OIL.network)
