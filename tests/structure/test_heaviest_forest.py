"""The heaviest forest beside a slow twin: edges one after the other, and sets of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.structure import trees


def slow_forest(weights: np.ndarray, positive: bool) -> list[tuple[int, int]]:
    n = len(weights)
    together = [{a} for a in range(n)]
    edges = []
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    for a, b in sorted(pairs, key=lambda pair: (-weights[pair], pair)):
        if b not in together[a] and (weights[a, b] > 0 or not positive):
            edges.append((a, b))
            joined = together[a] | together[b]
            for c in joined:
                together[c] = joined
    return edges


@pytest.mark.parametrize("at_once", [2048, 3])
@given(n=st.integers(1, 9), seed=st.integers(0, 1000), positive=st.booleans())
def test_the_heaviest_forest_equals_its_slow_twin(at_once, n, seed, positive):
    weights = np.random.default_rng(seed).integers(-1, 4, (n, n)).astype(float)
    weights = np.triu(weights) + np.triu(weights, 1).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "EDGES_AT_ONCE", at_once)
        assert trees.heaviest_forest(weights, positive=positive) == slow_forest(weights, positive)
