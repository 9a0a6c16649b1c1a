"""Labelled tables: looked up by labels, printed for people, and the numbers of the arrays that they stand beside."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import registry
from strategies import networks
from tanager import DataError, LabelledTable, NaiveBayes, Network
from tanager.errors import SchemaMismatch
from tanager.estimator import clone

GARDEN = Network(
    {"rain": ("no", "yes"), "sprinkler": ("off", "on"), "grass": ("dry", "damp", "wet")},
    [("rain", "grass"), ("sprinkler", "grass")],
    {
        "rain": [0.75, 0.25],
        "sprinkler": [0.5, 0.5],
        "grass": [[[0.9, 0.1, 0], [0.2, 0.3, 0.5]], [[0.1, 0.3, 0.6], [0, 0.1, 0.9]]],
    },
)
WEATHER = {"sky": ["sun", "sun", "rain", "rain"]}
PLAYED = ["play", "play", "stay", "stay"]


def cells(table):
    """Every number with its labels, by a plain loop."""
    return {
        labels: table.values[at] for labels, at in zip(product(*table.labels), np.ndindex(*table.shape), strict=True)
    }


@given(networks())
def test_the_table_of_a_family_is_looked_up_by_the_labels_of_its_parents_and_then_its_own(network):
    for name in network:
        table = network.cpt(name)
        assert table.names == (*network.parents(name), name)
        assert all(table[labels] == number for labels, number in cells(table).items())
        assert all(
            table[dict(zip(table.names, labels, strict=True))] == number for labels, number in cells(table).items()
        )
        np.testing.assert_array_equal(table, network.tables[name])


@given(networks(), st.data())
def test_probabilities_with_labels_are_those_of_the_posterior(network, data):
    names = data.draw(st.lists(st.sampled_from(network.names), min_size=1, max_size=2, unique=True))
    table = network.probabilities(names)
    assert table.names == tuple(names)
    assert table.labels == tuple(network.values(name) for name in names)
    np.testing.assert_array_equal(table, network.posterior(names))


@given(networks())
def test_frames_hold_the_same_numbers_under_the_same_labels(network):
    for name in network:
        table = network.cpt(name)
        as_pandas, as_polars = table.to_pandas(), table.to_polars()
        assert as_pandas.shape == (np.prod(table.shape[:-1], dtype=int), table.shape[-1])
        np.testing.assert_array_equal(as_pandas.to_numpy().ravel(), table.values.ravel())
        down = len(table.names) - 1
        np.testing.assert_array_equal(as_polars.to_numpy()[:, down:].astype(float).ravel(), table.values.ravel())
        assert as_polars.columns[:down] == list(table.names[:-1])
        if down > 1:
            assert list(as_pandas.index) == list(product(*table.labels[:-1]))


def test_some_labels_leave_the_table_of_the_other_axes():
    table = GARDEN.cpt("grass")
    assert table["yes"].names == ("sprinkler", "grass")
    assert table["yes", "on"].title == "P(grass | rain, sprinkler), rain = yes, sprinkler = on"
    assert table[:, "on", "wet"].values.tolist() == [0.5, 0.9]
    assert table[{"grass": "wet", "rain": "no"}].values.tolist() == [0.0, 0.5]
    assert list(table) == ["no", "yes"]
    assert len(table) == 2


def test_a_label_is_also_found_by_its_text():
    table = LabelledTable([0.25, 0.75], {"class": [0, 1]})
    assert table[1] == table["1"] == 0.75


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("maybe", "axis 'rain' has no label 'maybe'"),
        ("yse", "Did you mean 'yes'"),
        (("yes", "on", "wet", 1), "4 labels for a table with 3 axes: rain, sprinkler, grass"),
        ({"gras": "wet"}, "no axis 'gras'; it has rain, sprinkler, grass. Did you mean 'grass'"),
    ],
)
def test_a_wrong_label_is_refused_with_what_there_is(key, words):
    with pytest.raises(DataError, match=words):
        GARDEN.cpt("grass")[key]


def test_labels_that_do_not_fit_the_numbers_are_refused():
    with pytest.raises(DataError, match=r"shape \(2,\), the labels \(3,\)"):
        LabelledTable([1, 2], {"a": "xyz"})


def test_a_variable_without_a_table_has_no_cpt():
    with pytest.raises(DataError, match=r"P\(grass \| rain, sprinkler\) has no table"):
        Network({name: GARDEN.values(name) for name in GARDEN}, GARDEN.arcs).cpt("grass")
    with pytest.raises(SchemaMismatch, match="Did you mean 'rain'"):
        GARDEN.cpt("rian")


def test_evidence_is_in_the_title():
    assert GARDEN.probabilities("rain").title == "P(rain)"
    assert (
        GARDEN.probabilities("rain", {"grass": "wet"}, soft={"sprinkler": [1, 2]}).title
        == "P(rain | grass = wet, sprinkler?)"
    )


def test_a_long_table_is_printed_as_far_as_can_be_read():
    table = LabelledTable(np.full((290, 40), 0.025), {"zip": range(290), "letter": [f"l{i}" for i in range(40)]}, "P")
    lines = repr(table).splitlines()
    assert len(lines) == 3 + 20 + 2
    assert lines[-2:] == ["... 270 more rows", "... 24 more columns"]
    assert "... 270 more rows" in table._repr_html_()


def test_the_axis_across_is_named_unless_the_title_has_said_it():
    assert repr(LabelledTable([0, -10], {"test": ["no", "yes"]}, "cost")).splitlines() == [
        "cost",
        "test",
        "no  yes",
        " 0  -10",
    ]
    assert repr(GARDEN.cpt("rain")).splitlines()[:2] == ["P(rain)", "    no     yes"]
    assert repr(GARDEN.cpt("grass")).splitlines()[1] == " " * len("rain  sprinkler  ") + "grass"


def test_a_small_probability_is_never_printed_as_zero():
    assert repr(LabelledTable([0.0, 1e-9], {"a": "xy"})).splitlines()[2].split() == ["0.0000", "1.0e-09"]


def test_names_and_labels_are_text_in_html():
    page = LabelledTable([[1.0]], {"<script>": ["<b>"], "&": ["<i>"]}, "<u>")._repr_html_()
    assert not any(tag in page for tag in ("<script>", "<b><", "<i>", "<u>"))
    assert "&lt;script&gt;" in page


def test_numbers_cannot_be_changed_by_mistake():
    with pytest.raises(ValueError, match="read-only"):
        GARDEN.cpt("rain").values[0] = 1


# --- answers of models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", registry.PLAIN, ids=repr)
def test_probabilities_of_every_classifier_are_predict_proba_with_labels(model):
    rows = {f"x{i}": ["a", "b", "a", "b", "a", "b"] for i in range(3)}
    X = pd.DataFrame(rows, index=list("uvwxyz"))
    model = clone(model).fit(X, ["p", "q", "p", "q", "p", "q"])
    frame = model.probabilities(X)
    assert list(frame.index) == list(X.index)
    assert list(frame.columns) == ["p", "q"]
    np.testing.assert_array_equal(frame.to_numpy(), model.predict_proba(X))


def test_rows_of_pandas_give_pandas_and_rows_of_polars_polars():
    X = pd.DataFrame(WEATHER, index=[7, 8, 7, 9])
    model = NaiveBayes().fit(X, pd.Series(PLAYED, name="game"))
    assert model.probabilities(X).columns.name == "game"
    assert model.probabilities(X).index.tolist() == [7, 8, 7, 9]
    found = model.probabilities(pl.DataFrame(WEATHER))
    assert isinstance(found, pl.DataFrame)
    assert found.columns == ["play", "stay"]
    np.testing.assert_array_equal(found.to_numpy(), model.predict_proba(X))


def test_rows_of_lists_and_dicts_give_a_labelled_table():
    model = NaiveBayes().fit(WEATHER, PLAYED)
    table = model.probabilities([{"sky": "sun"}, {"sky": "rain"}])
    assert table[1, "stay"] == 0.75
    assert table.names == ("row", "class")
    np.testing.assert_array_equal(table, model.predict_proba([{"sky": "sun"}, {"sky": "rain"}]))


def test_a_class_that_is_called_row_has_rows_beside_it():
    model = NaiveBayes().fit(WEATHER, pd.Series(PLAYED, name="row"))
    assert model.probabilities(WEATHER).names == ("row_", "row")


def test_columns_of_polars_have_different_names_where_classes_have_the_same_text():
    y = np.array([1, "1", 1, "1"], dtype=object)
    model = NaiveBayes().fit(pl.DataFrame(WEATHER), y)
    assert model.probabilities(pl.DataFrame(WEATHER)).columns == ["1", "1 (2)"]
