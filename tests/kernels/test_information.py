"""Sums of N log N from the pair blocks, against the definition and against conditional information by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import _kernels


def n_log_n(counts):
    counts = np.asarray(counts, dtype=float)
    return np.where(counts > 0, counts * np.log(np.where(counts > 0, counts, 1.0)), 0.0).sum()


def sums_as_defined(block):
    """block[v, w, c]: the value slots of one pair."""
    margins = [(), (1,), (0,), (0, 1), (2,), (1, 2), (0, 2)]
    return [block.sum(), *(n_log_n(block.sum(axis=axes)) for axes in margins)]


def symmetric_pairs(rng, n_slots, n_classes):
    offsets = np.concatenate([[0], np.cumsum(n_slots)]).astype(np.int64)
    pairs = np.zeros((offsets[-1], offsets[-1], n_classes))
    for i in range(len(n_slots)):
        for j in range(i + 1, len(n_slots)):
            block = rng.integers(0, 5, (n_slots[i], n_slots[j], n_classes)).astype(float)
            pairs[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]] = block
            pairs[offsets[j] : offsets[j + 1], offsets[i] : offsets[i + 1]] = block.transpose(1, 0, 2)
    return offsets, pairs


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(1, 4), st.integers(0, 2), st.integers(0, 999))
def test_the_sums_follow_their_definition(n_values, n_classes, spare, seed):
    n_values = np.array(n_values, dtype=np.int64)
    offsets, pairs = symmetric_pairs(np.random.default_rng(seed), n_values + 1 + spare, n_classes)
    sums = _kernels.pair_sums(pairs, offsets, n_values)
    assert sums.shape == (len(n_values), len(n_values), 8)
    for i in range(len(n_values)):
        assert not sums[i, i].any()
        for j in range(len(n_values)):
            if i == j:
                continue
            rows, columns = slice(offsets[i], offsets[i] + n_values[i]), slice(offsets[j], offsets[j] + n_values[j])
            np.testing.assert_allclose(sums[i, j], sums_as_defined(pairs[rows, columns]), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(sums[i, j], sums[j, i, [0, 1, 3, 2, 4, 5, 7, 6]])


def test_conditional_information_of_two_copies_is_the_entropy_given_the_class():
    # Four rows, y = 0 0 1 1, x1 = x2 = 0 1 0 0: I(x1; x2 | y) = H(x1 | y) = log(2) / 2.
    pairs = np.zeros((6, 6, 2))
    pairs[0, 3], pairs[1, 4] = [1, 2], [1, 0]
    pairs += pairs.transpose(1, 0, 2)
    total, s_ijy, s_iy, s_jy, s_y, *_ = _kernels.pair_sums(pairs, np.array([0, 3, 6]), np.array([2, 2]))[0, 1]
    assert total == 4
    assert (s_ijy + s_y - s_iy - s_jy) / total == pytest.approx(np.log(2) / 2)


def test_a_read_only_table_may_be_summed():
    pairs = np.ones((6, 6, 1))
    pairs.flags.writeable = False
    assert _kernels.pair_sums(pairs, np.array([0, 3, 6]), np.array([2, 2]))[0, 1, 0] == 4


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"pairs must have the shape \(6, 6, 2\)"):
        _kernels.pair_sums(np.zeros((5, 6, 2)), np.array([0, 3, 6]), np.array([2, 2]))
    with pytest.raises(ValueError, match="pairs must have 3 dimension"):
        _kernels.pair_sums(np.zeros((6, 6)), np.array([0, 3, 6]), np.array([2, 2]))
