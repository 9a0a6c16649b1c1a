"""NBTree beside that of Weka 3.6.14 (weka.classifiers.trees.NBTree, as it comes).

``nbtree_weka.json`` holds two tables of 120 rows over the columns a (0, 1, 2), b (0, 1), c (x, y, z) and d (0, 1), the
second with gaps ("?"): the row, its class ("yes" where just one of a != 0 and b = 1 holds, with noise), and the
probability that Weka gives to "yes" after it has learned all of them. See test_golden_weka.py for another table.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tanager import NBTree

TABLES = json.loads((Path(__file__).parent / "nbtree_weka.json").read_text())
# As Weka prints them: the column of every split, and the splits below its values.
PRINTED = {
    "xor": ("x0", {"0": ("x3", {"0": None, "1": None}), "1": None, "2": None}),
    "xor_gaps": ("x0", {"0": ("x1", {"0": None, "1": None}), "1": ("x1", {"0": None, "1": None}), "2": None}),
}


def splits(node):
    """The columns of a tree in the form of PRINTED."""
    return (node.column, {value: splits(child) for value, child in node.branches}) if node.branches else None


@pytest.mark.parametrize("name", TABLES)
def test_with_the_folds_of_weka_tree_and_probabilities_are_those_of_weka(name):
    X = [[None if cell == "?" else cell for cell in row] for row, _, _ in TABLES[name]]
    model = NBTree(folds="weka", min_child=5, categorical=["x0", "x1", "x3"]).fit(X, [y for _, y, _ in TABLES[name]])
    got = model.predict_proba(X)[:, model.classes_.tolist().index("yes")]
    np.testing.assert_allclose(got, [p for _, _, p in TABLES[name]], rtol=0, atol=1e-9)
    assert splits(model.tree_) == PRINTED[name]


@pytest.mark.parametrize("name", TABLES)
def test_the_tree_that_is_found_tests_the_columns_that_interact(name):
    X = [[None if cell == "?" else cell for cell in row] for row, _, _ in TABLES[name]]
    y = [y for _, y, _ in TABLES[name]]
    ours = NBTree(categorical=["x0", "x1", "x3"], min_child=5).fit(X, y)
    assert ours.tree_.column in ("x0", "x1")
    weka = np.mean([(p > 0.5) == (label == "yes") for _, label, p in TABLES[name]])
    assert ours.score(X, y) >= weka - 0.05
