"""Known answers of the average over all trees on D12, computed tree by tree apart from the library."""

import math

import numpy as np
import pytest
from golden_data import QUERIES, X12, Y12

from tanager import TBMATAN

LOG_WEIGHTS = {
    (0, 1): -24.705980,
    (0, 2): -24.368457,
    (0, 3): -24.118193,
    (0, 4): -24.621719,
    (1, 2): -25.224507,
    (1, 3): -24.338255,
    (1, 4): -24.621719,
    (2, 3): -23.647592,
    (2, 4): -24.772522,
    (3, 4): -24.621719,
}


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (3, [0.826336525, 0.329559249, 0.276840167]),
        (4, [0.800930262, 0.145567231, 0.431521581]),
        (5, [0.780732108, 0.219676414, 0.420105025]),
    ],
)
def test_posteriors_on_the_first_columns_of_d12(n, expected):
    model = TBMATAN().fit(np.ascontiguousarray(X12[:, :n]), Y12)
    answers = model.predict_proba(np.ascontiguousarray(QUERIES[:, :n]))[:, 1]
    np.testing.assert_allclose(answers, expected, rtol=0, atol=1e-9)


def test_log_weights_on_d12():
    """The known numbers are without the term of the classes, which is the same for all edges of complete rows."""
    of_classes = sum(math.lgamma(rows + 5) - math.lgamma(5) for rows in (7, 5))
    logs = TBMATAN().fit(X12, Y12).log_weights_
    for (u, v), expected in LOG_WEIGHTS.items():
        assert logs[u, v] - of_classes == pytest.approx(expected, abs=1e-6)
