"""NBTree beside that of Weka 3.6.14 (weka.classifiers.trees.NBTree, as it comes).

``nbtree_weka.json`` holds two tables of 120 rows over the columns a (0, 1, 2), b (0, 1), c (x, y, z) and d (0, 1), the
second with gaps ("?"): the row, its class ("yes" where just one of a != 0 and b = 1 holds, with noise), and the
probability that Weka gives to "yes" after it has learned all of them. Weka deals rows out to folds in another way, and
need not find the same tree; with its tree, which it prints, all probabilities are the same.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tanager import NBTree
from tanager.learning.value_tree import ValueTree

TABLES = json.loads((Path(__file__).parent / "nbtree_weka.json").read_text())
A, B, D = 0, 1, 3
# As Weka prints them: the column of every split, and the splits below its values.
PRINTED = {
    "xor": (A, {"0": (D, {"0": None, "1": None}), "1": None, "2": None}),
    "xor_gaps": (
        A,
        {"0": (B, {"0": None, "1": None}), "1": (B, {"0": None, "1": None}), "2": None},
    ),
}


def with_shares(printed, model, rows):
    """The tree in our codes, with the shares of the known rows [(codes, weight)] in every split."""
    if printed is None:
        return ValueTree()
    column, children = printed
    n_values = int(model.counts_.schema.n_values[column])
    values = model.counts_.schema.columns[column].values
    codes = sorted(values.index(value) for value in children)
    mass = [sum(w for row, w in rows if row[column] == code) for code in range(n_values)]
    shares = [mass[code] / sum(mass) for code in codes]
    below = []
    for code, share in zip(codes, shares, strict=True):
        part = [(r, w) for r, w in rows if r[column] == code]
        part += [(r, w * share) for r, w in rows if r[column] >= n_values]
        below.append(with_shares(children[values[code]], model, part))
    return ValueTree(column, tuple(codes), tuple(shares), tuple(below))


@pytest.mark.parametrize("name", TABLES)
def test_with_the_same_tree_probabilities_are_those_of_weka(name):
    X = [[None if cell == "?" else cell for cell in row] for row, _, _ in TABLES[name]]
    model = NBTree(categorical=["x0", "x1", "x3"]).fit(X, [y for _, y, _ in TABLES[name]])
    rows = [(row, 1.0) for row in model.memory.rows.block.codes.tolist()]
    tree = with_shares(PRINTED[name], model, rows)
    state = model._answering.to_state(model)[0]
    model._answering.take_state(model, state | {"tree": tree.to_plain()}, {})
    got = model.predict_proba(X)[:, model.classes_.tolist().index("yes")]
    np.testing.assert_allclose(got, [p for _, _, p in TABLES[name]], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_the_tree_that_is_found_tests_the_columns_that_interact(name):
    X = [[None if cell == "?" else cell for cell in row] for row, _, _ in TABLES[name]]
    y = [y for _, y, _ in TABLES[name]]
    ours = NBTree(categorical=["x0", "x1", "x3"], min_child=5).fit(X, y)
    assert ours.tree_.column in ("x0", "x1")
    weka = np.mean([(p > 0.5) == (label == "yes") for _, label, p in TABLES[name]])
    assert ours.score(X, y) >= weka - 0.05
