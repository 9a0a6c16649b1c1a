"""Models of DriftAware that begin: in the place of one that is gone they answer as made anew."""

from __future__ import annotations

import numpy as np
import pytest

from tanager import AODE, DriftAware, NaiveBayes
from tanager.learning.stream import begin_again
from tanager.streams import drift_models


def turning(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and a class by one of them; which one, and its sign, changes every 300 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(2)
    at = np.arange(n_rows) // 300
    return X, (X[np.arange(n_rows), at % 4] * np.where(at % 3 == 0, 1, -1) > 0).astype(int)


@pytest.mark.parametrize("kind", [NaiveBayes, AODE])
def test_in_the_place_of_another_it_answers_as_made_anew(kind, monkeypatch):
    X, y = turning(4000, 1)
    began = []

    def watched(model, schema, classes):
        began.append(begin_again(model, schema, classes))
        return began[-1]

    monkeypatch.setattr(drift_models, "begin_again", watched)
    model = DriftAware(kind(warm_up=1000))
    proba = model.test_then_train(X, y)
    assert sum(began) > 1  # so that there is something to compare
    monkeypatch.setattr(drift_models, "begin_again", lambda *_: False)
    other = DriftAware(kind(warm_up=1000))
    np.testing.assert_array_equal(proba, other.test_then_train(X, y))
    assert [(event.row, event.what) for event in model.events_] == [(event.row, event.what) for event in other.events_]
    np.testing.assert_array_equal(model.predict_proba(X[:50]), other.predict_proba(X[:50]))


def test_the_model_in_front_never_begins_again():
    X, y = turning(3000, 2)
    for policy in ("swap", "restart"):
        model = DriftAware(NaiveBayes(warm_up=200), on_drift=policy).partial_fit(X[:2000], y[:2000])
        for r in range(2000, 3000, 100):
            idle = model._models.idle
            assert idle is not model.model_
            assert idle is None or idle is not model.background_
            model.partial_fit(X[r : r + 100], y[r : r + 100])


def test_models_with_more_than_counts_are_made_anew():
    X, y = turning(600, 3)
    classes = np.array([0, 1])
    plain, fading = NaiveBayes().fit(X, y), NaiveBayes(decay=100).fit(X, y)
    assert not begin_again(fading, fading.counts_.schema, classes)
    assert not begin_again(plain, plain.counts_.schema, np.array([0, 1, 2]))
    assert not begin_again(plain, NaiveBayes().fit(X[:, :3], y).counts_.schema, classes)
    assert begin_again(plain, plain.counts_.schema, classes)
    assert plain.counts_.n_rows == 0
    assert plain.counts_ == NaiveBayes().fit_columns(plain.counts_.schema, classes).counts_


def test_with_other_cut_points_it_is_as_made_anew():
    X, y = turning(600, 4)
    classes, model = np.array([0, 1]), AODE().fit(X, y)
    schema = AODE(bins="frequency", n_bins=7).fit(X, y).counts_.schema
    assert begin_again(model, schema, classes)
    other = AODE().fit_columns(schema, classes)
    assert model.counts_ == other.counts_
    np.testing.assert_array_equal(model.test_then_train(X, y), other.test_then_train(X, y))
