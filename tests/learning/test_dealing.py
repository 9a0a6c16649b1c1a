"""Rows are dealt out by what they are: the numbers that mix them, and who owns which of them."""

import numpy as np
import pytest

from tanager import Sample, _kernels
from tanager.learning.dealing import deal


def slow_mixed(codes, n_values, ranks, seed):
    """Row by row and column by column, in whole numbers of 64 bits."""
    out = []
    for row in codes.tolist():
        mixed, first = seed, 0
        for code, n in zip(row, n_values, strict=True):
            mixed = ((mixed ^ ranks[first + min(code, n)]) * 0x9E3779B97F4A7C15) % 2**64
            mixed ^= mixed >> 29
            first += n + 1
        out.append(mixed)
    return np.array(out, dtype=np.uint64)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_mixed_column_by_column(dtype, order):
    rng = np.random.default_rng(0)
    n_values = np.array([3, 1, 0, 200])
    codes = rng.integers(0, np.maximum(n_values, 1), (50, 4)).astype(dtype)
    codes[rng.random(codes.shape) < 0.1] = np.iinfo(dtype).max
    ranks = rng.integers(0, 2**60, int((n_values + 1).sum()))
    found = _kernels.mixed_rows(np.array(codes, order=order), n_values, ranks, 2**63 + 5)
    np.testing.assert_array_equal(found, slow_mixed(codes, n_values.tolist(), ranks.tolist(), 2**63 + 5))
    assert len(_kernels.mixed_rows(codes[:0], n_values, ranks, 1)) == 0


def test_ranks_that_do_not_go_with_the_values_are_refused():
    codes = np.zeros((2, 2), dtype=np.uint8)
    for n_values, ranks in (([1, 1], [0, 1, 0]), ([1, -1], [0, 1]), ([1], [0, 1]), ([1, 1, 1], [0] * 6)):
        with pytest.raises(ValueError, match=r"one rank per value|no negative number|columns"):
            _kernels.mixed_rows(codes, np.array(n_values), np.array(ranks), 1)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0, 1.0, 0.25]])
def test_every_row_is_dealt_out_in_turn_class_by_class(weights):
    sample = Sample(
        np.array([[0, 0], [1, 0], [255, 0], [0, 1], [1, 1], [0, 1]], dtype=np.uint8),
        [["sun", "rain"], ["play", "stay"]],
        ["sky", "class"],
        None if weights is None else np.array(weights),
    )
    whole = np.ones(6) if weights is None else np.array(weights)
    dealt = deal(sample, 3, seed=0)
    np.testing.assert_allclose(dealt.sum(axis=0), whole)
    np.testing.assert_array_equal(deal(sample, 3, seed=0, first=2), dealt[:2])
    assert np.ptp(dealt.sum(axis=1)) <= 1.0  # nobody gets more than a row more than another
    for labels in (slice(0, 3), slice(3, 6)):
        assert np.ptp(dealt[:, labels].sum(axis=1)) <= 1.0


def test_the_order_of_codes_and_of_rows_does_not_matter():
    rng = np.random.default_rng(1)
    codes, values = rng.integers(0, 3, (40, 3)).astype(np.uint8), ["a", "b", "c"]
    dealt = deal(Sample(codes, [values] * 3, ["x", "z", "class"]), 4, seed=0)
    turned = np.array([2, 0, 1], dtype=np.uint8)  # a is 2 now, b is 0, c is 1
    other = deal(Sample(turned[codes][::-1], [["b", "c", "a"]] * 3, ["x", "z", "class"]), 4, seed=0)[:, ::-1]
    for part, same in zip(dealt, other, strict=True):
        rows, again = (sorted(map(tuple, codes[own > 0].tolist())) for own in (part, same))
        assert rows == again
