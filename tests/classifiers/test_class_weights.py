"""Weights of the classes that make few errors: the search looks at few rows, and finds what looking at all finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiles import examples
from tanager.learning.class_weights import fewest_errors
from tanager.scoring.decision import decide


def errors_of(log_joint, labels, weights, class_counts):
    proba = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return float(weights @ (decide(proba, class_counts, None) != labels))


def plain(log_joint, labels, weights, class_counts):
    """One weight after the other, each tried between any two rows that change their answer, all rows answered anew."""
    k = log_joint.shape[1]
    now = np.zeros(k)
    fewest = errors_of(log_joint, labels, weights, class_counts)
    while True:
        found = []
        for c in range(k):
            rivals = np.delete(log_joint + now, c, axis=1).max(axis=1)
            turns = np.sort(rivals - (log_joint + now)[:, c])
            steps = [turns[0] - 1, *((turns[1:] + turns[:-1]) / 2)[np.diff(turns) > 1e-9], turns[-1] + 1]
            tried = []
            for step in steps:
                changed = now + np.where(np.arange(k) == c, step, 0.0)
                tried.append((round(errors_of(log_joint + changed, labels, weights, class_counts), 9), abs(step), step))
            errors, size, step = min(tried)
            changed = now + np.where(np.arange(k) == c, step, 0.0)
            found.append((errors, size, changed - changed.max()))
        errors, size, best = min(found, key=lambda option: option[:2])
        alike = [other for e, s, other in found if e <= errors + 1e-9 and s <= size + 1e-9]
        if errors >= fewest - 1e-9 or any(np.abs(other - best).max() > 1e-6 for other in alike):
            return np.exp(now)
        now, fewest = best, errors


@examples(25)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 25), k=st.integers(2, 5), weighted=st.booleans())
def test_the_weights_are_those_of_a_search_that_answers_all_rows_anew(seed, m, k, weighted):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, m).astype(np.uint8)
    log_joint = rng.normal(size=(m, k)) + np.eye(k)[labels] * rng.random(k)
    weights = rng.choice([0.5, 1.0, 2.0], m) if weighted else np.ones(m)
    case = log_joint, labels, weights, np.bincount(labels, weights, minlength=k)
    np.testing.assert_allclose(fewest_errors(*case), plain(*case))


def test_one_class_or_no_row_leaves_the_weights_as_they_are():
    assert fewest_errors(np.zeros((3, 1)), np.zeros(3, np.uint8), np.ones(3), np.array([3.0])).tolist() == [1.0]
    assert fewest_errors(np.zeros((0, 2)), np.zeros(0, np.uint8), np.ones(0), np.zeros(2)).tolist() == [1.0, 1.0]
