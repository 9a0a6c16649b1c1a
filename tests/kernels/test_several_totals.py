"""The short cut of AODE where columns have different numbers of values, beside every term by itself."""

from __future__ import annotations

import numpy as np
import pytest

from tanager import AODE


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
@pytest.mark.parametrize("scale", [1, 30])
def test_different_numbers_of_values(n_classes, scale):
    rng = np.random.default_rng(n_classes)
    n_values = np.array([2, 3, 3, 5, 7, 2])
    X = (rng.random((60 * scale, len(n_values))) * n_values).astype(np.uint8)
    y = rng.integers(0, n_classes, len(X))
    model = AODE().partial_fit(X, y)
    model.counts_.decay(0.3)
    view = model._answers(fresh=True).view
    query = model.encode(X[:40])
    slow = view.in_terms().score(query, log_joint=True, may_compile=False)
    np.testing.assert_allclose(view.score(query, log_joint=True, may_compile=False), slow, rtol=1e-11)
    gaps = X[:40].copy()
    gaps[::3, 1] = 255  # missing in rows to answer alone
    query = model.encode(gaps)
    slow = view.in_terms().score(query, log_joint=True, may_compile=False)
    np.testing.assert_allclose(view.score(query, log_joint=True, may_compile=False), slow, rtol=1e-11)
