"""Every classifier through every door: learning, streams, leaving out, unlearning, odd cells.

`make sanitize` runs this with an extension that watches every access to memory.
"""

import os

import numpy as np
import pytest

import tanager
from profiles import spread
from tanager import _core, _learners, _searches
from tanager.learning.counts_classifier import CountsClassifier

KINDS = [kind for name in tanager.__all__ if hasattr(kind := getattr(tanager, name), "predict_proba")]


def make(kind, **options):
    if kind is tanager.Collection:
        return kind({1: [[], [0]], 3: [[0, 1], [2]]}, **options)
    if kind is tanager.DriftAware:
        return kind(tanager.AODE(window=50, decay=0.99, **options))
    if kind is tanager.HalfLives:
        return kind(tanager.AODE(**options))
    if kind is tanager.NetworkForest:
        return kind(n_members=6, **options)
    return kind(k=1, **options) if kind is tanager.KDB else kind(**options)


def rows(n_rows, n_columns=6, seed=0):
    """Codes of 2 to 7 values with gaps, three classes and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = np.stack([(rng.integers(0, 2 + i, n_rows) + y) % (2 + i) for i in range(n_columns)], axis=1).astype(np.uint8)
    X[rng.random(X.shape) < 0.05] = 255
    return X, y, rng.integers(1, 4, n_rows).astype(float)


@pytest.mark.skipif("TANAGER_SANITIZED" not in os.environ, reason="only `make sanitize` builds that extension")
def test_the_sanitized_extension_is_the_one_in_use():
    for module in (_core, _learners, _searches):
        assert os.path.abspath(module.__file__).startswith(os.environ["TANAGER_SANITIZED"])


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
@spread("kind", KINDS, ids=lambda kind: kind.__name__)
def test_answers_are_probabilities_whatever_the_door(kind, unseen):
    X, y, weights = rows(300)
    model = make(kind, unseen=unseen, n_jobs=2).fit(X[:200], y[:200], sample_weight=weights[:200])
    model.partial_fit(X[200:250], y[200:250])
    strange = X.copy()
    strange[::7, 2] = 200  # a value that was never learned
    answers = [model.test_then_train(X[250:], y[250:])]
    if issubclass(kind, CountsClassifier):  # what others have learned depends on the order of the rows
        answers.append(model.leave_one_out(X[200:], y[200:]))
        model.unlearn(X[200:250], y[200:250])
    for proba in (*answers, model.predict_proba(strange), model.predict_proba(X[:1])):
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def test_a_long_batch_counts_like_short_ones():
    X, y, _ = rows(20_000)
    whole = tanager.AODE(n_jobs=2).fit(X, y).counts_
    parts = tanager.AODE().fit(X[:1], y[:1])
    for start in range(1, len(X), 4999):
        parts.partial_fit(X[start : start + 4999], y[start : start + 4999])
    assert whole == parts.counts_


@pytest.mark.parametrize("n_values", [2, 5, 100, 300])
def test_columns_with_few_and_with_many_values_count_as_written_down(n_values):
    rng = np.random.default_rng(n_values)
    X = rng.integers(0, n_values, (5000, 3)).astype(np.uint8 if n_values < 255 else np.uint16)
    y = rng.integers(0, 2, 5000)
    joint = tanager.TAN().fit(X, y).counts_.joint(0, 2)
    expected = np.zeros((2, n_values, n_values))
    np.add.at(expected, (y, X[:, 0], X[:, 2]), 1)
    np.testing.assert_array_equal(joint, expected[:, : joint.shape[1], : joint.shape[2]])


def test_a_kdb_whose_arcs_turn_round_as_rows_come_goes_on_answering():
    X, y, weights = rows(300)
    model = tanager.KDB().fit(X[:200], y[:200], sample_weight=weights[:200])
    model.partial_fit(X[200:250], y[200:250])
    assert np.isfinite(model.test_then_train(X[250:], y[250:])).all()
