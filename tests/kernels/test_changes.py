"""Changes of a product: the kernel says of them what plain arithmetic says, and reads only what it was given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager import _kernels


def random_case(seed, m, k, n_factors):
    rng = np.random.default_rng(seed)
    joint = np.round(rng.normal(size=(m, k)), 1)  # ties are frequent
    scale = rng.choice([1.0, 0.1])  # factors that can change any answer, and such as can change few
    factors = [
        (rng.integers(0, lines, m).astype(np.int32), np.round(scale * rng.normal(size=(lines, k)), 1))
        for lines in rng.integers(1, 5, n_factors)
    ]
    labels = rng.integers(0, k, m).astype(np.uint8)
    weights = rng.choice([0.5, 1.0, 2.0], m) if seed % 2 else None
    changes = [sorted(rng.choice(n_factors, rng.integers(0, n_factors + 1), replace=False).tolist()) for _ in range(4)]
    return joint, labels, weights, rng.permutation(k).tolist(), factors, changes


def plain(joint, labels, weights, preference, factors, change):
    value = joint + sum((table[lines] for lines, table in (factors[f] for f in change)), np.zeros_like(joint))
    w = np.ones(len(labels)) if weights is None else weights
    tied = value >= value.max(axis=1, keepdims=True) - 1e-9
    answers = np.array([next(c for c in preference if row[c]) for row in tied], dtype=int)
    proba = np.exp(value) / np.exp(value).sum(axis=1, keepdims=True)
    own = proba[np.arange(len(labels)), labels]
    return w @ (answers != labels), w @ own, w @ np.log(own)


@examples(40)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 20), k=st.integers(1, 6), n_jobs=st.integers(1, 3))
def test_changes_are_scored_as_by_plain_arithmetic(seed, m, k, n_jobs):
    case = random_case(seed, m, k, 3)
    changes = case[-1]
    expected = np.array([plain(*case[:-1], change) for change in changes])
    out = np.empty((len(changes), 3))
    joint, labels, weights, preference, factors, _ = case
    made = [_kernels.Factor(*factor, labels) for factor in factors]
    _kernels.score_changes(joint, labels, weights, preference, made, changes, out, True, n_jobs)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    _kernels.score_changes(joint, labels, weights, preference, made, changes, out, False, n_jobs)
    np.testing.assert_allclose(out[:, 0], expected[:, 0])


@examples(20)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 20), k=st.integers(1, 6), n_jobs=st.integers(1, 3))
def test_without_sets_every_factor_is_a_change(seed, m, k, n_jobs):
    joint, labels, weights, preference, factors, _ = random_case(seed, m, k, 3)
    made = [_kernels.Factor(*factor, labels) for factor in factors]
    each, sets = np.empty((2, len(made), 3))
    for probabilities in (True, False):
        rest = probabilities, n_jobs, True, not probabilities
        _kernels.score_changes(joint, labels, weights, preference, made, None, each, *rest)
        _kernels.score_changes(joint, labels, weights, preference, made, [[f] for f in range(len(made))], sets, *rest)
        assert (each == sets).all()


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        (1, np.full(5, 3, np.uint8), "none of the classes"),
        (1, np.zeros(4, np.uint8), "label"),
        (2, np.ones(4), "weight"),
        (3, [0, 1], "every class once"),
        (3, [0, 1, 1], "every class once"),
        (3, [0, 1, 3], "every class once"),
        (4, [_kernels.Factor(np.zeros(4, np.int32), np.zeros((1, 3)), np.zeros(4, np.uint8))], "one line number"),
        (4, [_kernels.Factor(np.zeros(5, np.int32), np.zeros((1, 2)), np.zeros(5, np.uint8))], "one number per class"),
        (5, [[0], [1]], "unknown factor"),
        (5, [[0], [-1]], "unknown factor"),
        (6, np.zeros((1, 3)), "one row per row"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(part, value, words):
    case = [
        np.zeros((5, 3)),
        np.zeros(5, np.uint8),
        None,
        [0, 1, 2],
        [_kernels.Factor(np.zeros(5, np.int32), np.zeros((1, 3)), np.zeros(5, np.uint8))],
        [[0], []],
        np.zeros((2, 3)),
    ]
    _kernels.score_changes(*case)
    case[part] = value
    with pytest.raises(ValueError, match=words):
        _kernels.score_changes(*case)


@pytest.mark.parametrize(
    ("lines", "labels", "words"),
    [
        ([1], [0], "no such line"),
        ([-1], [0], "no such line"),
        ([0], [3], "none of the classes"),
        ([0], [0, 0], "label"),
    ],
)
def test_a_factor_that_does_not_fit_is_refused(lines, labels, words):
    with pytest.raises(ValueError, match=words):
        _kernels.Factor(np.array(lines, np.int32), np.zeros((1, 3)), np.array(labels, np.uint8))


@examples(20)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_rows_that_share_lines_with_their_class_are_counted_as_by_plain_arithmetic(seed, k):
    joint, labels, weights, preference, _, _ = random_case(seed, 20, k, 1)
    rng = np.random.default_rng(seed)
    lines = (labels * 2 + rng.integers(0, 2, 20)).astype(np.int32)
    table = np.round(rng.normal(size=(2 * k, k)), 1)
    factor, out = _kernels.Factor(lines, table, labels), np.empty((2, 3))
    undone = np.zeros((20, k))
    (-factor).add_to(undone)
    np.testing.assert_array_equal(undone, -table[lines])
    _kernels.score_changes(joint, labels, weights, preference, [factor, -factor], [[0], [1]], out, False)
    for sign, found in ((1, out[0, 0]), (-1, out[1, 0])):
        assert found == pytest.approx(plain(joint, labels, weights, preference, [(lines, sign * table)], [0])[0])


@examples(40)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 40), k=st.integers(1, 4), n_jobs=st.integers(1, 2))
def test_where_only_the_best_matters_it_is_the_best_of_all(seed, m, k, n_jobs):
    """The errors of the best changes are those of all rows; what is said of the others is more than that."""
    joint, labels, weights, preference, _, _ = random_case(seed, m, k, 1)
    rng = np.random.default_rng(seed)
    factors = [
        _kernels.Factor((labels * 2 + rng.integers(0, 2, m)).astype(np.int32), rng.normal(size=(2 * k, k)), labels)
        for _ in range(8)
    ]
    changes = [[f] for f in range(8)] + [[0, 1], []]
    all_rows, best = np.empty((10, 3)), np.empty((10, 3))
    _kernels.score_changes(joint, labels, weights, preference, factors, changes, all_rows, False, n_jobs)
    _kernels.score_changes(joint, labels, weights, preference, factors, changes, best, False, n_jobs, True, True)
    least = all_rows[:, 0].min()
    np.testing.assert_array_equal(best[:, 0] == best[:, 0].min(), all_rows[:, 0] == least)
    assert best[:, 0].min() == least
    assert (best[:, 0] <= all_rows[:, 0]).all()
