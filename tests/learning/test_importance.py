"""Importance is the difference of two log losses of left-out rows, and equals fitting without each row."""

import numpy as np
import pytest

from registry import small_table
from tanager import AODE, FANC, KDB, LBR, TAN, BestOf, NaiveBayes, NetworkForest, importance
from tanager.counts.block import Query
from tanager.errors import OptionError
from tanager.scoring.view import View

X, Y = small_table(60)


def twin(model, X, y, w=None):
    """Every row is taken out of the counts; then it is answered with all columns, and without each."""
    block = model.known_rows(X, y, w)
    n, missing = block.codes.shape[1], np.iinfo(block.codes.dtype).max
    loss = np.empty((len(block), n + 1))
    for r in range(len(block)):
        one = block.part(slice(r, r + 1)).once
        counts = model.counts_.copy().subtract(one.codes, one.labels, one.weights)
        view = View(counts, model.view_.form, model.view_.estimate)
        asked = np.repeat(one.codes, n + 1, axis=0)
        asked[np.arange(n), np.arange(n)] = missing
        loss[r] = -np.log(view.score(Query(asked))[:, one.labels[0]])
    rises = loss[:, :n] - loss[:, n:]
    rows = np.repeat(np.arange(len(block)), 1 if w is None else np.asarray(w, dtype=int))
    rises, losses = rises[rows], loss[rows, n]
    return losses.mean(), rises.mean(axis=0), rises.std(axis=0, ddof=1) / np.sqrt(len(rises))


@pytest.mark.parametrize("weights", [None, [1, 2, 3] * 20], ids=["plain", "weights"])
@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE(), AODE(min_count=5), KDB(smoothing=1), FANC()], ids=repr)
def test_importance_equals_its_slow_twin(model, weights):
    model.fit(X, Y, sample_weight=weights)
    found = importance(model, X, Y, weights)
    loss, rise, error = twin(model, X, Y, weights)
    names = model.encoder_.schema.names
    assert found.log_loss == pytest.approx(loss)
    assert dict(zip(found.columns, found.increase, strict=True)) == pytest.approx(dict(zip(names, rise, strict=True)))
    assert dict(zip(found.columns, found.error, strict=True)) == pytest.approx(dict(zip(names, error, strict=True)))
    assert found.n_rows == (60 if weights is None else 120)
    np.testing.assert_allclose(found.high - found.increase, 1.959964 * found.error, rtol=1e-5)
    assert (np.diff(found.increase) <= 0).all()


def test_new_rows_are_answered_as_they_are():
    model = LBR().fit(X, Y)
    found = importance(model, X[:20], Y[:20], learned=False, columns=["x1", "x0"])
    assert set(found.columns) == {"x0", "x1"}
    rows = [dict(zip(model.encoder_.schema.names, row, strict=True)) for row in X[:20].tolist()]
    places = [model.class_codes[label] for label in Y[:20]]
    before = -np.log(model.predict_proba(rows)[range(20), places])
    after = -np.log(model.predict_proba([{**row, "x1": None} for row in rows])[range(20), places])
    assert found.increase[found.columns.index("x1")] == pytest.approx((after - before).mean())


def test_gaussian_columns_calibrated_and_pooled_models_have_an_importance():
    for model in (NaiveBayes(gaussian=True), TAN(calibrate=True), BestOf([NaiveBayes(), AODE()], pool="log")):
        found = importance(model.fit(X, Y), X, Y)
        assert found.columns[0] in ("x0", "x2")
        assert found.to_frame().columns.tolist() == ["increase", "error", "low", "high"]
        assert found.columns[0] in str(found)


def test_a_gaussian_column_that_is_not_known_is_no_column():
    """Naive Bayes without the column has the same left-out loss."""
    numbers = np.array([[None if cell is None else float(cell) for cell in row] for row in X[:, [0, 1]]], dtype=float)
    whole = importance(NaiveBayes(gaussian=True).fit(numbers, Y), numbers, Y)
    alone = importance(NaiveBayes(gaussian=True).fit(numbers[:, :1], Y), numbers[:, :1], Y)
    assert whole.increase[whole.columns.index("x1")] == pytest.approx(alone.log_loss - whole.log_loss)


def test_what_has_no_exact_answer_is_refused():
    for model in (LBR(), NetworkForest(n_members=2), TAN(missing="marginal")):
        with pytest.raises(OptionError, match="learned=False"):
            importance(model.fit(X, Y), X, Y)
    with pytest.raises(OptionError, match="fit_by"):
        importance(NaiveBayes(fit_by="elr").fit(X, Y), X, Y)
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(OptionError, match=r"x9.*not learned"):
        importance(model, X, Y, columns=["x9"])
    with pytest.raises(OptionError, match="between 0 and 1"):
        importance(model, X, Y, confidence=1.5)
