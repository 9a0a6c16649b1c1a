"""The door: any table in, a network and its trace out."""

import numpy as np
import pytest

from tanager import CBL, ChowLiu, DataError, HillClimb, OptionError, learn_network


def weather():
    rng = np.random.default_rng(0)
    rain = rng.random(400) < 0.3
    return {
        "sky": np.where(rain, "clouds", "sun"),
        "grass": np.where(rain ^ (rng.random(400) < 0.1), "wet", "dry"),
        "degrees": np.where(rain, 12.0, 20.0) + rng.normal(0, 2, 400),
    }


def test_text_and_numbers_become_a_network():
    learned = learn_network(weather(), learner=ChowLiu(), bins="frequency")
    assert {frozenset(arc) for arc in learned.network.arcs} >= {frozenset(("sky", "grass"))}
    assert set(learned.network.values("sky")) == {"clouds", "sun"}


def test_the_class_is_a_variable_that_comes_first_where_the_data_leave_it_open():
    X = weather()
    y = X.pop("grass")
    for learned in (learn_network(X, y, target="grass"), learn_network(weather(), target="grass")):
        assert learned.network.names == ("grass", "sky", "degrees")
        assert ("grass", "sky") in learned.network.arcs


def test_what_is_no_learner_is_refused():
    with pytest.raises(OptionError, match=r"learner=<class .*ChowLiu'> is not a learner; give CBL\(\)"):
        learn_network([[0], [1]], learner=ChowLiu)


@pytest.mark.parametrize("learner", [CBL(), CBL(order="given"), ChowLiu(), HillClimb(restarts=1)])
def test_a_table_of_one_column_or_of_one_row_has_no_arcs(learner):
    assert learn_network([["a"], ["b"]], learner=learner).network.arcs == []
    assert learn_network([["a", "b", "c"]], learner=learner).network.arcs == []


def test_a_table_without_rows_is_refused():
    with pytest.raises(DataError):
        learn_network(np.empty((0, 2)))
