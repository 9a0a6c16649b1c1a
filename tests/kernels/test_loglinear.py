"""Log-linear tables: scores, likelihood and gradient are those of plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager._kernels import LogLinear

TERMS = ([0, 1, 2, 3], [[], [0], [], [2, 0]])  # children, and the parents of each
LIMITS = [2, 3, 1, 4]


def some(seed, m=40, k=3, dtype=np.uint8):
    """Rows with missing cells and codes beyond the values, labels, weights and tables."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, limit + 1, m) for limit in LIMITS], axis=1).astype(dtype)
    codes[rng.random(codes.shape) < 0.2] = np.iinfo(dtype).max
    kernel = LogLinear(LIMITS, *TERMS, k)
    prior, cells = rng.normal(size=k), rng.normal(size=(kernel.n_places, k))
    return kernel, codes, rng.integers(0, k, m).astype(dtype), rng.random(m), prior, cells


def places(row):
    """The places that a row reads: parents first, each with one slot more than values; nothing for a missing child."""
    base = 0
    for child, parents in zip(*TERMS, strict=True):
        at = 0
        for p in parents:
            at = at * (LIMITS[p] + 1) + min(int(row[p]), LIMITS[p])
        if row[child] < LIMITS[child]:
            yield base + at * LIMITS[child] + int(row[child])
        base += int(np.prod([LIMITS[p] + 1 for p in parents])) * LIMITS[child]


def plain(codes, labels, weights, prior, cells):
    """Log joints, likelihood and its gradient."""
    joint = np.array([prior + sum(cells[at] for at in places(row)) for row in codes])
    proba = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    d_prior, d_cells = np.zeros_like(prior), np.zeros_like(cells)
    value = 0.0
    for row, y, w, p in zip(codes, labels, weights, proba, strict=True):
        value += w * np.log(p[y])
        slope = w * ((np.arange(len(p)) == y) - p)
        d_prior += slope
        for at in places(row):
            d_cells[at] += slope
    return joint, proba, value, d_prior, d_cells


@given(seed=st.integers(0, 999), k=st.integers(1, 10), dtype=st.sampled_from([np.uint8, np.uint16]))
def test_scores_likelihood_and_gradient_are_those_of_plain_loops(seed, k, dtype):
    kernel, codes, labels, weights, prior, cells = some(seed, k=k, dtype=dtype)
    joint, proba, value, d_prior, d_cells = plain(codes, labels, weights, prior, cells)
    out = np.empty_like(joint)
    kernel.score(codes, prior, cells, out, True)
    np.testing.assert_allclose(out, joint, rtol=1e-12, atol=1e-12)
    kernel.score(np.asfortranarray(codes), prior, cells, out)
    np.testing.assert_allclose(out, proba, rtol=1e-12)
    mine = np.empty_like(prior), np.empty_like(cells)
    np.testing.assert_allclose(kernel.rows(codes, labels, weights).gradient(prior, cells, *mine), value, rtol=1e-12)
    np.testing.assert_allclose(mine[0], d_prior, atol=1e-12)
    np.testing.assert_allclose(mine[1], d_cells, atol=1e-12)


def test_rows_that_are_alike_are_kept_once():
    kernel, codes, labels, _, prior, cells = some(0, m=2000)
    rows = kernel.rows(codes, labels)
    distinct = {(tuple(places(row)), y) for row, y in zip(codes, labels, strict=True)}
    assert rows.n_rows == len(distinct) < 1000
    _, _, value, _, _ = plain(codes, labels, np.ones(len(labels)), prior, cells)
    np.testing.assert_allclose(rows.gradient(prior, cells, np.empty_like(prior), np.empty_like(cells)), value)


def test_threads_change_nothing_beyond_rounding():
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(0, 250, (30_000, 2)).astype(np.uint8), rng.integers(0, 4, 30_000).astype(np.uint8)
    kernel = LogLinear([250, 250], [0, 1], [[], [0]], 4)
    rows = kernel.rows(codes, labels)
    prior, cells = np.zeros(4), rng.normal(size=(kernel.n_places, 4))
    one, many = ((np.empty_like(prior), np.empty_like(cells)) for _ in range(2))
    np.testing.assert_allclose(rows.gradient(prior, cells, *one), rows.gradient(prior, cells, *many, n_jobs=3))
    np.testing.assert_allclose(one[1], many[1], atol=1e-12)
    alone, shared = np.empty((30_000, 4)), np.empty((30_000, 4))
    kernel.score(codes, prior, cells, alone)
    kernel.score(codes, prior, cells, shared, n_jobs=3)
    np.testing.assert_array_equal(alone, shared)


def test_impossible_classes_have_no_probability_and_where_all_are_they_are_alike():
    kernel = LogLinear([2], [0], [[]], 3)
    codes, cells, out = np.zeros((1, 1), dtype=np.uint8), np.zeros((2, 3)), np.empty((1, 3))
    kernel.score(codes, np.array([0.0, -np.inf, 0.0]), cells, out)
    assert out.tolist() == [[0.5, 0.0, 0.5]]
    kernel.score(codes, np.full(3, -np.inf), cells, out)
    np.testing.assert_allclose(out, 1 / 3)


def test_what_does_not_fit_is_refused():
    kernel = LogLinear([2], [0], [[]], 2)
    codes, prior, cells = np.zeros((2, 1), dtype=np.uint8), np.zeros(2), np.zeros((2, 2))
    with pytest.raises(ValueError, match="none of the classes"):
        kernel.rows(codes, np.array([0, 2], dtype=np.uint8))
    with pytest.raises(ValueError, match="one label per row"):
        kernel.rows(codes, np.zeros(3, dtype=np.uint8))
    with pytest.raises(ValueError, match="one weight per row"):
        kernel.rows(codes, np.zeros(2, dtype=np.uint8), np.ones(3))
    with pytest.raises(ValueError, match="one row per place"):
        kernel.score(codes, prior, cells[:1].copy(), np.empty((2, 2)))
    with pytest.raises(ValueError, match="one number per class"):
        kernel.score(codes, prior[:1].copy(), cells, np.empty((2, 2)))
    with pytest.raises(ValueError, match="unknown column"):
        LogLinear([2], [1], [[]], 2)
    with pytest.raises(ValueError, match="unknown parent"):
        LogLinear([2], [0], [[3]], 2)
    with pytest.raises(ValueError, match="more cells"):
        LogLinear([60000, 60000], [0], [[1]], 2)
