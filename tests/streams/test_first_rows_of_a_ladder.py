"""The first rows of a ladder are encoded once for all half-lives: as if each had read them itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tanager import AODE, TAN, HalfLives, NaiveBayes
from tanager.streams.ladder import Ladder


def rows(n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes that tell of the class, more of them with every column; values are rare, so that they come late."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    shown = rng.random((n_rows, n_columns)) < 0.05 + 0.3 * (np.arange(n_columns) % 3 == y[:, None])
    return (shown * rng.integers(1, 4, (n_rows, n_columns))).astype(np.uint8), y


TABLES = {
    "codes": lambda X: X,
    "numbers": lambda X: X + np.random.default_rng(0).normal(size=X.shape).round(2),
    "text": lambda X: pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).astype(str),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", [AODE, NaiveBayes, TAN])
def test_the_first_row_is_as_if_every_member_had_read_it(kind, table, monkeypatch):
    X, y = rows(300, 6, 1)
    X = TABLES[table](X)
    some = HalfLives(kind(), half_lives=(20, 100, float("inf")))
    proba = some.test_then_train(X, y)
    monkeypatch.setattr(Ladder, "_may_follow", lambda *_: False)
    other = HalfLives(kind(), half_lives=(20, 100, float("inf")))
    np.testing.assert_array_equal(proba, other.test_then_train(X, y))
    for own, like in zip(some.members_, other.members_, strict=True):
        assert own.counts_ == like.counts_
        assert own.encoder_.schema == like.encoder_.schema


@pytest.mark.parametrize("table", TABLES)
def test_chosen_columns_learn_the_first_rows_as_if_they_had_answered_them(table, monkeypatch):
    X, y = rows(700, 12, 2)
    X = TABLES[table](X)
    learned = []
    learn_first = Ladder.learn_first

    def counted(*given):
        learned.append(learn_first(*given))
        return learned[-1]

    monkeypatch.setattr(Ladder, "learn_first", counted)
    some = HalfLives(max_columns=4)
    proba = some.test_then_train(X, y)
    assert learned
    assert all(learned)
    monkeypatch.setattr(Ladder, "learn_first", lambda *_: False)
    other = HalfLives(max_columns=4)
    np.testing.assert_allclose(proba, other.test_then_train(X, y), rtol=1e-9)
    assert some.columns_ == other.columns_


def test_rows_that_do_not_count_are_read_by_every_member():
    X, y = rows(600, 12, 3)
    labels = y.astype(object)
    labels[[0, 5, 40]] = None
    weights = np.where(np.arange(600) % 9 == 1, 0.0, 1.0)
    for given in ((X, labels), (X, y, weights)):
        proba = HalfLives(max_columns=4).start(np.array([0, 1, 2])).test_then_train(*given)
        assert np.isfinite(proba).all()
