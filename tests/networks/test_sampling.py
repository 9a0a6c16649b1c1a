"""Rows drawn at random: the right shares, the same for the same seed, in a shape that a user wants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import DIAMOND, joint

from strategies import networks
from tanager import Network, OptionError
from tanager.networks import sampling


def test_configurations_come_as_often_as_they_should():
    codes = DIAMOND.sample(200_000, 1, as_="codes")
    found = np.bincount(np.ravel_multi_index(codes.T, (2, 2, 2, 2)), minlength=16) / len(codes)
    expected = joint(DIAMOND).ravel()
    assert (np.abs(found - expected) < 5 * np.sqrt(expected / len(codes))).all()


@given(networks(zeros=True, max_variables=4), st.integers(0, 99))
def test_what_cannot_be_is_never_drawn(network, seed):
    codes = network.sample(300, seed, as_="codes")
    assert (joint(network)[tuple(codes.T)] > 0).all()


def test_the_last_value_is_not_drawn_by_rounding_alone():
    table = np.append(np.full(10, 0.1), 0.0)  # ten times 0.1 sums to less than 1
    network = Network({"A": range(11)}, tables={"A": table})
    assert sampling.thresholds(network.tables["A"])[9] == 1.0


def test_the_same_seed_gives_the_same_rows_and_blocks_do_not_show(monkeypatch):
    monkeypatch.setattr(sampling, "BLOCK", 7)
    a, b = (DIAMOND.sample(30, 5, as_="codes") for _ in range(2))
    assert (a == b).all()
    assert (a != DIAMOND.sample(30, 6, as_="codes")).any()
    assert DIAMOND.sample(0, 1, as_="codes").shape == (0, 4)


def test_a_table_has_the_values_themselves():
    network = Network({"sky": ("sun", "rain"), "wind": (0, 7), "mixed": (1, "x")})
    network = network.with_tables({"sky": [0.5, 0.5], "wind": [0.5, 0.5], "mixed": [0.5, 0.5]})
    table = network.sample(50, 0)
    assert list(table) == ["sky", "wind", "mixed"]
    assert {name: set(column.tolist()) for name, column in table.items()} == {
        "sky": {"sun", "rain"},
        "wind": {0, 7},
        "mixed": {1, "x"},
    }
    assert (network.estimate(table).tables["sky"] > 0.3).all()


def test_a_sample_goes_straight_to_learners():
    sample = DIAMOND.sample(1000, 3, as_="sample")
    assert sample.names == DIAMOND.names
    assert sample.values == tuple(DIAMOND.values(name) for name in DIAMOND)
    assert DIAMOND.estimate(sample).distance(DIAMOND) == 0


def test_many_values_take_wide_codes():
    network = Network({"A": range(300)}, tables={"A": np.full(300, 1 / 300)})
    codes = network.sample(5000, 0, as_="codes")
    assert codes.dtype == np.uint16
    assert codes.max() > 255


@pytest.mark.parametrize("n", [-1, 2.5, True, "3"])
def test_a_number_of_rows_that_means_nothing_is_refused(n):
    with pytest.raises(OptionError, match="number of rows"):
        DIAMOND.sample(n)


def test_a_shape_that_means_nothing_is_refused():
    with pytest.raises(OptionError, match="as_='frame' is not an option"):
        DIAMOND.sample(3, as_="frame")
