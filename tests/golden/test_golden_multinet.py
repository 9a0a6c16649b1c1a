"""Known answers of the multi-net of trees on D12."""

import numpy as np
from golden_data import QUERIES, X12, Y12

from tanager import ChowLiuMultiNet

TREES = [[(3, 4), (3, 5), (1, 4), (2, 4)], [(1, 3), (1, 5), (2, 3), (3, 4)]]


def test_the_tree_of_each_class_and_the_answers_of_both():
    model = ChowLiuMultiNet().fit(X12, Y12)
    found = [{frozenset(arc) for arc in network.arcs} for network in model.networks_.values()]
    assert found == [{frozenset((f"x{i - 1}", f"x{j - 1}")) for i, j in edges} for edges in TREES]
    np.testing.assert_allclose(model.predict_proba(QUERIES)[:, 1], [0.815094, 0.179487, 0.589314], atol=5e-7)
