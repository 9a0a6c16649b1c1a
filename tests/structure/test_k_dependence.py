"""k-dependence: parents by the definition, the smaller of equal columns."""

import numpy as np

from tanager import AODE
from tanager.structure.measures import class_information, conditional_information
from tanager.structure.orders import descending, k_dependence


def test_parents_of_k_dependence_are_the_most_informative_columns_before_a_column():
    rng = np.random.default_rng(0)
    half = rng.integers(0, 2, (60, 5))
    counts = AODE().fit(np.column_stack([half, half, np.zeros(60, dtype=int)]), rng.integers(0, 2, 60)).counts_
    information, order = conditional_information(counts), descending(class_information(counts))
    for k in (0, 1, 2, 4):
        expected = [()] * counts.n_features
        for place, i in enumerate(order):
            expected[i] = tuple(j for _, j in sorted((-information[i, j], j) for j in order[:place])[:k])
        assert k_dependence(counts, k) == expected
        for threshold in (0.01, 0.05, 9.0):
            above = [tuple(j for j in own if information[i, j] > threshold) for i, own in enumerate(expected)]
            assert k_dependence(counts, k, threshold) == above
