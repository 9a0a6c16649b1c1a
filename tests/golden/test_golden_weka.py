"""Probabilities of Weka on small tables with categories; see weka/README.md for how they were made."""

from pathlib import Path

import numpy as np
import pytest

from tanager import AODE, LBR, TAN, MEstimate, NBTree, Network, NetworkClassifier
from tanager.encoding import Column, Schema

WEKA = Path(__file__).parent / "weka"


def read(name):
    """Columns with their values (the class last), and rows of values, None where one is missing."""
    head, _, data = (WEKA / f"{name}.arff").read_text().partition("@data\n")
    lines = [line.split(" ", 2)[1:] for line in head.splitlines() if line.startswith("@attribute")]
    columns = [(column, tuple(values.strip("{}").split(","))) for column, values in lines]
    return columns, [[None if cell == "?" else cell for cell in line.split(",")] for line in data.splitlines()]


def answers_as_weka(model, learned, asked, name):
    """Learn one table, with values in the order of the file, answer another, and compare."""
    columns, rows = read(learned)
    model.set_params(schema=Schema(tuple(Column(column, "categorical", values) for column, values in columns[:-1])))
    model.partial_fit([row[:-1] for row in rows], [row[-1] for row in rows], columns[-1][1])
    order = [columns[-1][1].index(label) for label in model.classes_]  # sorted here, as declared there
    expected = np.loadtxt(WEKA / f"{name}.txt")[:, order]
    assert len(expected) > 50
    got = model.predict_proba([row[:-1] for row in read(asked)[1]])
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
    return model


def test_lazy_bayesian_rules():
    model = answers_as_weka(LBR(), "switch", "switch_asked", "lbr")
    rules = [model.rule([row[:-1]]) for row in read("switch_asked")[1]]
    assert {len(rule.tests) for rule in rules} == {0, 1, 2}


def test_subsumption_resolution_with_gaps():
    answers_as_weka(AODE(subsumption=3, subsumption_gaps="differ"), "implied", "implied", "aodesr")
    with pytest.raises(AssertionError, match="Mismatched elements"):
        answers_as_weka(AODE(subsumption=3), "implied", "implied", "aodesr")


def test_a_tree_of_largest_likelihood():
    model = answers_as_weka(TAN(root="c", smoothing=0.5), "switch", "switch", "tan")
    assert model.parents_ == {"a": ("d",), "b": ("c",), "c": (), "d": ("b",)}


def test_another_tree_as_a_given_network():
    arcs = [("c", "a"), ("b", "c"), ("a", "d"), *(("class", column) for column in "abcd")]
    network = Network(dict.fromkeys((*"abcd", "class"), ()), arcs)
    answers_as_weka(NetworkClassifier(network, smoothing=0.5), "switch", "switch", "tan_bayes")


def test_the_tree_of_weka_itself():
    model = answers_as_weka(TAN(criterion="jeffreys", smoothing=0.5), "switch", "switch", "tan_bayes")
    assert model.parents_ == {"a": ("c",), "b": (), "c": ("b",), "d": ("a",)}


# In "deep" cells are missing, a value of two columns and a class were declared that no row has, and rows to answer have
# these values.
def test_trees_with_gaps_and_values_that_no_row_has():
    options = {"missing": "mode", "smoothing": 0.5}
    answers_as_weka(TAN(criterion="jeffreys", **options), "deep", "deep_asked", "tan_gaps")
    answers_as_weka(TAN(criterion="bic", root="b", **options), "deep", "deep_asked", "tan_mdl")


def test_naive_bayes_tree_with_gaps_and_values_that_no_row_has():
    model = answers_as_weka(NBTree(folds="weka", min_child=5), "deep", "deep_asked", "nbtree")
    assert (model.tree_.column, {child.column for _, child in model.tree_.branches}) == ("d", {"b"})


def test_subsumption_resolution_with_gaps_and_values_that_no_row_has():
    model = AODE(subsumption=20, subsumption_gaps="differ", smoothing=MEstimate(1))
    answers_as_weka(model, "deep", "deep_asked", "aodesr_unseen")
