"""A scorer is all that a classifier needs to answer in a way of its own: here by the kept rows nearest to a row."""

from dataclasses import dataclass

import numpy as np
import pytest

from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.forms import naive


class NearestRows:
    """Class shares among the kept rows that agree with a row in the most columns, each class with one row more."""

    compiled = None  # there is no form that kernels could answer with

    def __init__(self, rows, n_classes):
        self.rows, self.n_classes = rows, n_classes

    def score(self, query, *, log_joint=False, n_jobs=1):
        proba = np.array([self._shares(row) for row in query.codes])
        return np.log(proba) if log_joint else proba

    def leave_one_out(self, block, *, n_jobs=1):
        places = [self._place(row, label) for row, label in zip(block.codes, block.labels, strict=True)]
        return np.array([self._shares(row, place) for row, place in zip(block.codes, places, strict=True)])

    def explain(self, query, answer, against):
        shares = self._shares(query.codes[0])
        return float(np.log(shares[answer] / shares[against])), []

    def _place(self, row, label):
        kept = self.rows.block
        return int(np.flatnonzero((kept.codes == row).all(axis=1) & (kept.labels == label))[0])

    def _shares(self, row, without=None):
        kept = self.rows.block
        agree = (kept.codes == row).sum(axis=1)
        if without is not None:
            agree[without] = -1
        counts = np.bincount(kept.labels[agree == agree.max()], minlength=self.n_classes) + 1.0
        return counts / counts.sum()


@dataclass(eq=False, repr=False, kw_only=True)
class Nearest(CountsClassifier):
    """A lazy classifier: nothing is learned but the rows."""

    def _needs_rows(self):
        return True

    def _structure(self, counts, rows):
        return naive(counts.n_features)

    def _scorer(self, view):
        return NearestRows(self.memory.rows, view.counts.n_classes)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = np.where(rng.random((120, 5)) < 0.6, y[:, None], rng.integers(0, 3, (120, 5)))
    return [[f"v{v}" for v in row] for row in X], np.array(["a", "b", "c"])[y]


def plain_shares(X, y, row):
    agree = np.array([sum(a == b for a, b in zip(one, row, strict=True)) for one in X])
    counts = np.array([np.sum(y[agree == agree.max()] == c) for c in ("a", "b", "c")]) + 1.0
    return counts / counts.sum()


def test_a_lazy_classifier_answers_through_its_scorer(table):
    X, y = table
    model = Nearest().fit(X[:60], y[:60])
    np.testing.assert_allclose(model.predict_proba(X), [plain_shares(X[:60], y[:60], row) for row in X])
    model.partial_fit(X[60:], y[60:])
    np.testing.assert_allclose(model.predict_proba(X[:9]), [plain_shares(X, y, row) for row in X[:9]])
    np.testing.assert_allclose(np.exp(model.predict_log_joint(X[:9])), model.predict_proba(X[:9]))
    assert model.score(X, y) > 0.8


def test_a_lazy_classifier_leaves_rows_out_and_explains(table):
    X, y = table
    model = Nearest().fit(X, y)
    left_out = model.leave_one_out(X[:20], y[:20])
    for r in range(20):
        rest = [row for at, row in enumerate(X) if at != r]
        np.testing.assert_allclose(left_out[r], plain_shares(rest, np.delete(y, r), X[r]))
    found = model.explain([X[0]])
    shares = dict(zip("abc", model.predict_proba(X[:1])[0], strict=True))
    assert found.log_odds == pytest.approx(np.log(shares[found.answer] / shares[found.against]))


def test_a_lazy_classifier_runs_along_a_stream_row_by_row(table):
    X, y = table
    rows = [{f"x{i}": cell for i, cell in enumerate(row)} for row in X]
    single, whole = Nearest(window=40), Nearest(window=40)
    expected = []
    for row, label in zip(rows, y, strict=True):
        known = single.predict_proba_one(row)
        expected.append([known.get(c, 1 / 3 if not known else 0.0) for c in "abc"])
        single.learn_one(row, label)
    np.testing.assert_allclose(whole.test_then_train(X, y), expected)
    assert len(whole.memory.rows) == 40
    np.testing.assert_allclose(whole.predict_proba(X[:5]), [plain_shares(X[-40:], y[-40:], row) for row in X[:5]])
