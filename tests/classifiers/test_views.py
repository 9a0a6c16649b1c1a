"""Compiled tables, also those too large for the cache, answer as the counts do."""

import numpy as np
import pytest

from tanager import A2DE, AODE, FANC, HNB, KDB, SPC, TAN, TC, WAODE, BDeu, MEstimate, NaiveBayes


@pytest.mark.parametrize("n_classes", [2, 3, 7, 11])
@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE(), FANC(), HNB()], ids=repr)
def test_large_compiled_tables_answer_as_the_counts_do(model, n_classes):
    """Blocks of 32 rows, a last one that is not full, missing and unseen codes, any number of classes."""
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 4, (300, 90), dtype=np.uint8)
    X[rng.random(X.shape) < 0.05] = 255
    model.fit(X, rng.integers(0, n_classes, 300))
    Q = rng.integers(0, 6, (70, 90), dtype=np.uint8)
    Q[rng.random(Q.shape) < 0.2] = 255
    Q[7] = 255
    view = model.view_
    straight = np.empty((70, n_classes))
    for log_joint in (False, True):
        compiled = np.empty((70, n_classes))
        view.plan.compile().score(Q, compiled, log_joint)
        view.plan.score(Q, straight, log_joint)
        spoken = ~np.isnan(compiled[:, 0])  # a row that no member can answer is left to the counts
        np.testing.assert_allclose(compiled[spoken], straight[spoken], rtol=1e-10, atol=1e-12)
        assert spoken.sum() >= 69


LEFT_OUT = [
    NaiveBayes(),
    TAN(smoothing=MEstimate()),
    KDB(k=3, smoothing=1),
    AODE(),
    AODE(min_count=5, class_weight=[1, 2]),
    A2DE(min_count=2),
    WAODE(),
    FANC(smoothing=BDeu(2)),
    SPC(),
    TC(),
    HNB(smoothing=1),
]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("model", LEFT_OUT, ids=repr)
def test_compiled_tables_leave_rows_out_as_the_counts_do(model, n_classes):
    """Rare values, whose members fall silent when the row is left out, missing cells, and classes of one row."""
    rng = np.random.default_rng(n_classes)
    X = rng.choice([0, 1, 2, 3, 4], (150, 9), p=[0.5, 0.3, 0.15, 0.03, 0.02]).astype(np.uint8)
    X[rng.random(X.shape) < 0.05] = 255
    X[7] = 255
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes - 1, 150 - n_classes)).astype(np.uint8)
    if model.class_weight is not None:
        model.set_params(class_weight=[1, 2, 3, 1, 1][:n_classes])
    model.fit(X, y)
    view = model.view_
    straight, compiled = np.empty((150, n_classes)), np.empty((150, n_classes))
    tables = view.plan.compile(leave_out=True)
    for log_joint in (False, True):
        tables.score(X, compiled, log_joint, labels=y)
        view.plan.score(X, straight, log_joint, y, None)
        spoken = ~np.isnan(compiled[:, 0])
        np.testing.assert_allclose(compiled[spoken], straight[spoken], rtol=1e-9, atol=1e-12)
        assert spoken.sum() >= 100


COLLECTIONS = [
    FANC(),
    FANC(smoothing=0),
    HNB(),
    SPC(),
    SPC(super_parent=5, smoothing=0, unseen="smooth"),
    TC(),
    TC(order_weights=(1, 0, 2)),
]


@pytest.mark.parametrize("n_classes", [2, 3, 7, 9])
@pytest.mark.parametrize("n_values", [(2,), (2, 2, 3, 2, 1), (4, 2), (12,)], ids=str)
@pytest.mark.parametrize("model", COLLECTIONS, ids=repr)
def test_terms_that_were_added_up_beforehand_answer_as_the_counts_do(model, n_values, n_classes):
    """Columns that share a block and columns that have one to themselves, gaps, unseen codes, and sums of zeros."""
    rng = np.random.default_rng(n_classes)
    n = 11
    sizes = np.resize(n_values, n)
    X = (rng.random((40, n)) * sizes).astype(np.uint8)
    X[rng.random(X.shape) < 0.1] = 255
    y = np.resize(np.arange(n_classes), 40).astype(np.uint8)
    Q = (rng.random((200, n)) * (sizes + 0.1)).astype(np.uint8)
    Q[rng.random(Q.shape) < rng.random((200, 1))] = 255
    view = model.fit(X, y).view_
    tables = view.plan.compile()
    assert (tables.nbytes > 8 * view.n_cells) == (n_classes < 9) or n_values != (2,)
    straight, compiled = np.empty((200, n_classes)), np.empty((200, n_classes))
    tables.score(Q, compiled, True)
    view.plan.score(Q, straight, True)
    spoken = ~np.isnan(compiled[:, 0])
    np.testing.assert_allclose(compiled[spoken], straight[spoken], rtol=1e-10, atol=1e-12)
    assert spoken.sum() >= 80
    if view.estimate.strength > 0:
        view.plan.compile(leave_out=True).score(X, compiled[:40], True, labels=y)
        view.plan.score(X, straight[:40], True, y, None)
        np.testing.assert_allclose(compiled[:40], straight[:40], rtol=1e-9, atol=1e-12)


def test_labels_go_with_tables_that_leave_rows_out():
    X, y = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8), np.array([0, 1, 1], dtype=np.uint8)
    plan, out = AODE().fit(X, y).view_.plan, np.empty((3, 2))
    with pytest.raises(ValueError, match="only with them"):
        plan.compile(leave_out=True).score(X, out)
    with pytest.raises(ValueError, match="only with them"):
        plan.compile().score(X, out, labels=y)
    with pytest.raises(ValueError, match="none of the classes"):
        plan.compile(leave_out=True).score(X, out, labels=np.array([0, 1, 2], dtype=np.uint8))
    with pytest.raises(ValueError, match="constant and positive"):
        AODE(smoothing=0).fit(X, y).view_.plan.compile(leave_out=True)
