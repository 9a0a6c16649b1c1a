"""Compiled tables, also those too large for the cache, answer as the counts do."""

import numpy as np
import pytest

from tanager import AODE, FANC, HNB, TAN, NaiveBayes


@pytest.mark.parametrize("n_classes", [2, 3, 7, 11])
@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE(), FANC(), HNB()], ids=repr)
def test_large_compiled_tables_answer_as_the_counts_do(model, n_classes):
    """Blocks of 32 rows, a last one that is not full, missing and unseen codes, any number of classes."""
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 4, (300, 90), dtype=np.uint8)
    X[rng.random(X.shape) < 0.05] = 255
    model.fit(X, rng.integers(0, n_classes, 300))
    Q = rng.integers(0, 6, (70, 90), dtype=np.uint8)
    Q[rng.random(Q.shape) < 0.2] = 255
    Q[7] = 255
    view = model._structure(fresh=True)
    straight = np.empty((70, n_classes))
    for log_joint in (False, True):
        compiled = np.empty((70, n_classes))
        view.plan.compile().score(Q, compiled, log_joint)
        view.plan.score(Q, straight, log_joint)
        spoken = ~np.isnan(compiled[:, 0])  # a row that no member can answer is left to the counts
        np.testing.assert_allclose(compiled[spoken], straight[spoken], rtol=1e-10, atol=1e-12)
        assert spoken.sum() >= 69
