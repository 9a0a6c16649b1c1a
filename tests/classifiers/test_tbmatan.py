"""TBMATAN: the average over all trees, against every tree by itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_trees import Plain, trees

from profiles import examples
from strategies import tables
from tanager import TAN, TBMATAN, Column, JointCounts, Schema, _kernels
from tanager.counts.block import Query
from tanager.errors import OptionError
from tanager.scoring.tree_average import TreeAverage


def plain_of(table, **options):
    data = table.data()
    return Plain(data.rows, data.labels, data.n_values, data.k, table.weights, **options)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def odds(logs):
    return logs - logs[..., :1]


def posterior(logs):
    return np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()


def test_there_are_as_many_trees_as_cayley_says():
    assert [len(list(trees(range(n)))) for n in range(1, 6)] == [1, 1, 3, 16, 125]
    assert TBMATAN().fit(np.zeros((2, 5), dtype=np.uint8), [0, 1]).n_networks_ == 125


@pytest.mark.parametrize("soft", [False, True], ids=["", "soft"])
@examples(16)
@given(table=tables(weighted=True, min_columns=3, max_columns=5, max_rows=12), ess=st.sampled_from([10.0, 0.5]))
def test_the_average_is_that_of_every_tree(soft, table, ess):
    """With gaps, weights, and values never seen; the log of the joint as well, up to what all classes share."""
    table = table.without_weightless_rows()
    model = TBMATAN(ess=ess, soften=soft).fit(table.X, table.y, sample_weight=table.w)
    plain = plain_of(table, ess=ess, most_range=11.5 if soft else math.inf)
    queries = table.coded_queries()[-3:]
    expected = np.array([plain.every_tree(x) for x in queries])
    same(odds(model.predict_log_joint(table.Q[-3:])), odds(expected))
    same(model.predict_proba(table.Q[-3:]), [posterior(logs) for logs in expected])


@examples(12)
@given(table=tables(missing=False, min_columns=3, max_columns=4, max_rows=8))
def test_on_complete_rows_the_average_is_bayes_rule_over_networks(table):
    """No edges, lifts or Bayes factors on this side: rows and query together, under every tree."""
    model, plain = TBMATAN().fit(table.X, table.y), plain_of(table)
    for x, got in zip(table.coded_queries(), model.predict_proba(table.Q), strict=True):
        if None not in x:
            same(got, posterior(plain.marginal_likelihoods(x)))


@pytest.mark.parametrize("soft", [False, True], ids=["", "soft"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@examples(12)
@given(table=tables(min_rows=2, max_rows=8, min_columns=3, max_columns=4))
def test_a_row_that_is_left_out_leaves_the_weights_of_the_trees_too(weighted, soft, table):
    w = 0.5 + np.arange(len(table.rows)) % 3 if weighted else None
    got = TBMATAN(soften=soft).fit(table.X, table.y, sample_weight=w).leave_one_out(table.X, table.y, w)
    data = table.data()
    for r, row in enumerate(data.rows):
        rest = [part[:r] + part[r + 1 :] for part in map(list, (data.rows, data.labels, [1.0] * len(data.rows)))]
        weights = None if w is None else [*w[:r], *w[r + 1 :]]
        plain = Plain(rest[0], rest[1], data.n_values, data.k, weights, most_range=11.5 if soft else math.inf)
        same(got[r], posterior(plain.every_tree(row)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_rows_full_of_gaps_are_answered_and_left_out_as_by_every_tree(n):
    """A third of the cells is missing, so that many rows miss both columns of a pair."""
    rng = np.random.default_rng(n)
    X = rng.integers(0, 3, (25, n))
    X[:, n // 2 :] = np.where(rng.random((25, n - n // 2)) < 0.5, X[:, :1], X[:, n // 2 :])
    X = np.where(rng.random(X.shape) < 0.35, 255, X).astype(np.uint8)
    X[:3] = np.arange(3)[:, None]  # all values are there
    y, w = rng.integers(0, 2, 25), rng.integers(1, 4, 25) / 2
    rows = [[None if v == 255 else v for v in row] for row in X.tolist()]
    for weights in (None, w):
        model = TBMATAN(ess=3).fit(X, y, sample_weight=weights)
        plain = Plain(rows, y.tolist(), [3] * n, 2, weights, ess=3)
        expected = np.array([plain.every_tree(row) for row in rows[:8]])
        same(odds(model.predict_log_joint(X[:8])), odds(expected))
        left_out = model.leave_one_out(X, y, weights)
        for r in range(3, 25, 7):
            others = [i for i in range(25) if i != r]
            some = None if weights is None else weights[others]
            rest = Plain([rows[i] for i in others], y[others].tolist(), [3] * n, 2, some, ess=3)
            same(left_out[r], posterior(rest.every_tree(rows[r])))


def test_log_weights_say_which_columns_depend_on_each_other():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3)).astype(np.uint8)
    X[:, 2] = X[:, 0] ^ (rng.random(200) < 0.1)
    model = TBMATAN().fit(X, rng.integers(0, 2, 200))
    logs = model.log_weights_
    same(logs, logs.T)
    assert logs[0, 2] > 10 > 0 > logs[0, 1]
    assert not logs.diagonal().any()
    logs[:] = 0  # a copy
    assert model.log_weights_[0, 2] > 10


def test_with_many_rows_the_best_tree_has_all_the_weight():
    """TAN with the same estimates then says the same."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (20_000, 5))
    for i in range(1, 5):
        X[:, i] = np.where(rng.random(20_000) < 0.6, X[:, i - 1], X[:, i])
    y = (X[:, 0] + X[:, 4] + rng.integers(0, 2, 20_000)) % 3
    X = X.astype(np.uint8)
    average, best = TBMATAN().fit(X, y), TAN(smoothing=1).fit(X, y)
    np.testing.assert_allclose(average.predict_proba(X[:50]), best.predict_proba(X[:50]), atol=2e-3)


# --- the sum over trees -----------------------------------------------------------------------------------------


def log_sum_by_determinant(weights):
    """Matrix-tree theorem as it stands; for weights of one size."""
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return np.linalg.slogdet(laplacian[1:, 1:])[1]


def log_sum_by_logs(logs):
    """Star-mesh elimination with nothing but logs, whatever their range."""
    logs, total = logs.copy(), 0.0
    for u in range(len(logs) - 1, 0, -1):
        own = logs[u, :u].copy()
        d = np.logaddexp.reduce(own)
        total += d
        logs[:u, :u] = np.logaddexp(logs[:u, :u], own[:, None] + own - d)
    return total


def log_sum(logs):
    """What the kernels make of weights: the sums of all steps. Without rows all lifts are 1.

    Steps are told up to a factor of all weights; so the largest is 1 here.
    """
    n, most = len(logs), logs[np.triu_indices(len(logs), 1)].max()
    counts = JointCounts(Schema(tuple(Column(f"x{i}", "codes", n_codes=2) for i in range(n))), range(2))
    codes, steps = np.zeros((1, n), np.uint8), np.empty((1, n))
    _kernels.tree_steps(counts.store, logs - most, codes, 0, steps, np.empty((n, n)), 1.0)
    return steps.sum() + (n - 1) * most


@pytest.mark.parametrize("n", [2, 3, 4, 7, 40, 200])
def test_weights_of_one_size_give_the_determinant(n):
    rng = np.random.default_rng(n)
    logs = np.triu(rng.normal(size=(n, n)), 1)
    logs += logs.T
    weights = np.exp(logs)
    np.fill_diagonal(weights, 0.0)
    same(log_sum(logs), log_sum_by_determinant(weights))


@pytest.mark.parametrize("level", ["plain", "avx2"])
@pytest.mark.parametrize("spread", [3.0, 500.0, 5000.0, 1e6])
def test_weights_of_any_range_keep_their_digits(spread, level):
    """Clusters inside of clusters: whatever is left over after the strong edges still counts."""
    n = 60
    rng = np.random.default_rng(int(spread))
    logs = np.triu(rng.random((n, n)) ** 4 * spread, 1)
    logs += logs.T
    if level == "avx2" and "avx2" not in _kernels.cpu_features():
        pytest.skip("this processor has no AVX2")
    _kernels.set_cpu_level(level)
    try:
        got = log_sum(logs)
    finally:
        _kernels.set_cpu_level("auto")
    np.testing.assert_allclose(got, log_sum_by_logs(logs), rtol=1e-12)


def test_five_hundred_columns_are_finite_and_right():
    n = 500
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, n)).astype(np.uint8)
    X[:, 1::2] ^= X[:, ::2]
    y = np.repeat([0, 1], 30)
    model = TBMATAN().fit(X, y)
    row = X[:1]
    joint = model.predict_log_joint(row)
    assert np.isfinite(joint).all()
    counts, scorer = model.counts_, model.scorer_
    assert isinstance(scorer, TreeAverage)
    expected = scorer.naive.score(model.encode(row), log_joint=True)
    logs = model.log_weights_
    for c in range(2):
        single = np.array([counts.joint(i)[c, row[0, i]] for i in range(n)]) + 2.5
        pair = counts.pairs[counts.offsets[:-1] + row[0]][:, counts.offsets[:-1] + row[0], c] + 1.25
        weights = np.exp(logs - logs.max()) * pair * (counts.class_counts[c] + 5) / np.outer(single, single)
        np.fill_diagonal(weights, 0.0)
        expected[0, c] += log_sum_by_determinant(weights)
    same(odds(joint), odds(expected))


def test_many_columns_are_explained_by_the_other_of_the_two_kernels():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 50)).astype(np.uint8), np.repeat([0, 1], 30)
    told = TBMATAN().fit(X, y).explain(X[:1])
    assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, rel=1e-9)


def test_strongly_dependent_columns_take_the_wide_way_and_agree():
    """Bayes factors beyond the range of a double, in two clusters with nothing between them."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 3000))
    X = np.column_stack([a, a, b, b]).astype(np.uint8)
    X[rng.random(X.shape) < 0.02] = 1
    y = (a + rng.integers(0, 2, 3000)) % 2
    model = TBMATAN().fit(X, y)
    logs = model.log_weights_
    assert np.ptp(logs) > 2000
    rows, weights = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    plain = Plain(rows[:, :4].tolist(), rows[:, 4].tolist(), [3] * 4, 2, weights.tolist())
    same(logs[np.triu_indices(4, 1)], list(plain.log_weights().values()))
    for row in ([0, 0, 1, 1], [0, 1, 2, 1]):
        same(odds(model.predict_log_joint(np.array([row], dtype=np.uint8))[0]), odds(plain.every_tree(row)))


# --- options, streams, explanations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (TBMATAN(smoothing=1.0), "smoothing=1.0: TBMATAN smooths by its prior over networks.*ess"),
        (TBMATAN(ess=0), "ess=0: give an equivalent sample size above 0"),
        (TBMATAN(ess="many"), "ess='many': give"),
        (TBMATAN(soften=11.5), "soften=11.5: give True or False"),
    ],
)
def test_options_that_mean_nothing_are_refused(model, sentence):
    with pytest.raises(OptionError, match=sentence):
        model.fit([["a"], ["b"]], [0, 1])


@examples(6)
@given(table=tables(min_columns=2, max_columns=5), soft=st.booleans())
def test_an_explanation_adds_up(table, soft):
    model = TBMATAN(soften=soft).fit(table.X, table.y)
    if len(model.classes_) < 2:
        return
    for row in table.dicts(table.queries):
        told = model.explain(row)
        joint = dict(zip(model.classes_, model.predict_log_joint([row])[0], strict=True))
        assert told.log_odds == pytest.approx(joint[told.answer] - joint[told.against], abs=1e-9)
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, abs=1e-9)


def test_the_picture_of_an_average_is_refused_in_a_sentence():
    with pytest.raises(OptionError, match="TBMATAN does not answer with one network"):
        TBMATAN().fit([["a", "b"], ["b", "a"]], [0, 1]).plot()


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_a_row_by_itself_is_answered_as_in_a_table(n_classes):
    rng = np.random.default_rng(n_classes)
    X, y = rng.integers(0, 3, (200, 5)).astype(np.uint8), rng.integers(0, n_classes, 200)
    model = TBMATAN(class_weight={0: 2.0}, unseen="smooth").fit(X, y)
    for row in (X[3], np.array([255, 0, 1, 255, 2], dtype=np.uint8)):
        for own in (row, row.tobytes()):
            assert model.scorer_.answer_row(own) == model.scorer_.score(Query(row[None, :]))[0].tolist()
