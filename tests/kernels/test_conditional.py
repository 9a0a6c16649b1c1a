"""Tables of families, row by row: the kernel says what plain arithmetic says, and reads only what it was given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import _kernels


@examples(20)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 60), k=st.integers(1, 4), scale=st.sampled_from([1.0, 1e-80, 1e80]))
def test_sums_of_logs_are_those_of_plain_arithmetic(seed, m, k, scale):
    rng = np.random.default_rng(seed)
    n_values = rng.integers(1, 4, 3)
    codes = np.asfortranarray(rng.integers(0, n_values, (m, 3)), dtype=np.uint16)
    weights = np.ones(m) if seed % 2 else rng.choice([0.5, 1.0, 3.0], m)
    rows, ratio = _kernels.ConditionalRows(codes, n_values.tolist(), weights), scale * (rng.random((m, k)) + 0.01)
    families = [(0, 1), (0, 2), (2,), (), (2, 1, 0)]
    tables = [rng.random((int(np.prod(n_values[list(family)])), k)) + 0.01 for family in families]
    found = np.empty(len(families))
    rows.log_totals(ratio, families, tables, found)
    for family, table, sum_of_logs in zip(families, tables, found, strict=True):
        line = np.zeros(m, dtype=int)
        for i in family:
            line = line * n_values[i] + codes[:, i]
        out = np.empty((m, k))
        rows.spread(family, table, out)
        np.testing.assert_array_equal(out, table[line])
        assert sum_of_logs == pytest.approx(weights @ np.log((ratio * table[line]).sum(axis=1)))


def test_tables_and_codes_that_do_not_fit_are_refused():
    codes, weights = np.zeros((2, 2), np.uint16, order="F"), np.ones(2)
    with pytest.raises(ValueError, match="none of the values"):
        _kernels.ConditionalRows(codes, [1, 0], weights)
    rows, ratio = _kernels.ConditionalRows(codes, [1, 2], weights), np.ones((2, 3))
    rows.log_totals(ratio, [(1,)], [np.ones((2, 3))], np.empty(1))
    for family, table, words in (((2,), np.ones((2, 3)), "unknown variable"), ((1,), np.ones((1, 3)), "one line")):
        with pytest.raises(ValueError, match=words):
            rows.log_totals(ratio, [family], [table], np.empty(1))
    with pytest.raises(ValueError, match="per family"):
        rows.log_totals(ratio, [(1,)], [np.ones((2, 3))], np.empty(2))
