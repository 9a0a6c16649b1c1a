"""Blocks of DriftAware in one call of the kernels: as block by block; new cut points: as encoded anew."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tanager import AODE, TAN, DriftAware, NaiveBayes
from tanager.streams import drift_course
from tanager.streams.last_numbers import LastNumbers
from tanager.streams.watched_blocks import run_blocks

OPTIONS = [
    {},
    {"every": 50, "patience": 300, "recent": 100},
    {"on_drift": "restart"},
    {"on_drift": "fade", "on_warning": "nothing"},
    {"on_drift": "nothing"},
    {"on_warning": "fade"},
]


def turning(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with gaps, and a class of three by one of them; which one, and its sign, changes every 400 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(2)
    at = np.arange(n_rows) // 400
    own = X[np.arange(n_rows), at % 4] * np.where(at % 3 == 0, 1, -1)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, (own > -0.4).astype(int) + (own > 0.4)


def course(kind, options, X, y, weights=None, cuts=(0, 700, 701, 2500)):
    """Answers, events and a file of a model that had the rows in some parts."""
    model = DriftAware(kind(warm_up=200), **options).start(np.array([0, 1, 2]))
    parts = [slice(*ends) for ends in zip(cuts, [*cuts[1:], len(y)], strict=True)]
    given = [(X[part], y[part], None if weights is None else weights[part]) for part in parts]
    proba = np.concatenate([model.test_then_train(*part) for part in given])
    return proba, model.events_, model._model_state()["state"], model.model_.counts_


def assert_same(some, other):
    np.testing.assert_array_equal(some[0], other[0])
    assert some[1:] == other[1:]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [NaiveBayes, AODE])
def test_blocks_in_the_kernels_are_as_one_by_one(kind, options, monkeypatch):
    X, y = turning(4000, 1)
    went = []

    def counted(*given):
        went.append(run_blocks(*given))
        return went[-1]

    monkeypatch.setattr(drift_course, "run_blocks", counted)
    some = course(kind, options, X, y)
    every = options.get("every", 64)
    assert max(n for n, _ in went) > every  # more than one block at once
    assert all(n % every == 0 for n, _ in went)
    monkeypatch.setattr(drift_course, "run_blocks", lambda *_: (0, None))
    assert_same(some, course(kind, options, X, y))


def test_a_model_that_becomes_no_better_is_given_up_at_the_same_row(monkeypatch):
    X, y = turning(400, 1)
    noise = np.random.default_rng(7)
    X, y = np.concatenate([X, noise.normal(size=(1400, 4))]), np.concatenate([y, noise.integers(0, 3, 1400)])
    some = course(NaiveBayes, {"patience": 300}, X, y, cuts=(0,))
    assert "kept" in [event.what for event in some[1]]
    monkeypatch.setattr(drift_course, "run_blocks", lambda *_: (0, None))
    assert_same(some, course(NaiveBayes, {"patience": 300}, X, y, cuts=(0,)))


def test_a_block_with_something_new_is_left_to_the_other_way(monkeypatch):
    X, y = turning(3000, 2)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=[f"value {r // 300}" for r in range(len(y))])
    some = course(AODE, {}, frame, y)
    monkeypatch.setattr(drift_course, "run_blocks", lambda *_: (0, None))
    assert_same(some, course(AODE, {}, frame, y))


def test_rows_without_weight_are_left_to_the_other_way(monkeypatch):
    X, y = turning(1500, 3)
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    some = course(NaiveBayes, {}, X, y, weights, cuts=(0, 1000))
    monkeypatch.setattr(drift_course, "run_blocks", lambda *_: (0, None))
    assert_same(some, course(NaiveBayes, {}, X, y, weights, cuts=(0, 1000)))


def test_a_structure_that_follows_the_counts_is_left_to_the_other_way():
    X, y = turning(1500, 4)
    proba, events, _, _ = course(TAN, {}, X, y, cuts=(0, 1000))
    assert len(proba) == 1500
    assert events


@pytest.mark.parametrize("mixed", [False, True])
def test_new_cut_points_give_the_codes_of_rows_encoded_anew(mixed, monkeypatch):
    X, y = turning(4000, 5)
    table = X if not mixed else pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(y > 0, "yes", "no"))
    done = []
    recode = LastNumbers.recode

    def counted(*given):
        done.append(recode(*given) is not None)
        return recode(*given)

    monkeypatch.setattr(LastNumbers, "recode", counted)
    some = course(AODE, {}, table, y)
    assert any(done)
    monkeypatch.setattr(LastNumbers, "recode", lambda *_: None)
    assert_same(some, course(AODE, {}, table, y))


@pytest.mark.parametrize("policy", ["fade", "shrink"])
def test_rows_that_go_early_end_the_warm_up(policy):
    """A drift in the first rows: what is left of them fixes the columns, and the stream goes on."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(900, 2))
    y = np.where(np.arange(900) < 300, X[:, 0] > 0, X[:, 0] < 0).astype(int)
    model = DriftAware(NaiveBayes(window=400 if policy == "shrink" else None), on_drift=policy)
    proba = model.test_then_train(X, y)
    assert policy in [event.what for event in model.events_ if event.row < 700]
    assert (proba[600:].argmax(axis=1) == y[600:]).mean() > 0.8
