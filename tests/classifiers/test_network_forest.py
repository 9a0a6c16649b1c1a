"""NetworkForest: a slow twin that reads the rows for every answer, strengths, weights, and what a forest is for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from profiles import examples
from tanager import Column, NaiveBayes, NetworkForest, Schema, SchemaMismatch, _kernels
from tanager.learning.forest_plan import draw_plan, value_order
from tanager.learning.forest_weights import factor_weights
from tanager.scoring.forest import CLIP, slots_of


def twin_term(rows, labels, weights, k, groups, family, strengths, slots):
    """What one family says about a row: level after level, by looking at all rows."""
    child, parents = family[1], [p for p in family[2:] if p >= 0]
    last = max(groups[child].values())  # the group of missing values
    v = groups[child][slots[child]]
    if v == last:
        return np.zeros(k)
    known = [(r, y, w) for r, y, w in zip(rows, labels, weights, strict=True) if groups[child][r[child]] != last]
    total = sum(w for *_, w in known)
    theta = np.full(k, (sum(w for r, _, w in known if groups[child][r[child]] == v) + 1) / (total + last))
    for level in range(len(parents) + 1):
        of_context = [
            (r, y, w) for r, y, w in known if all(groups[p][r[p]] == groups[p][slots[p]] for p in parents[:level])
        ]
        for y in range(k):
            n = sum(w for _, label, w in of_context if label == y)
            a = sum(w for r, label, w in of_context if label == y and groups[child][r[child]] == v)
            theta[y] = (a + strengths[level] * theta[y]) / (n + strengths[level])
    logs = np.log(theta)
    return np.clip(logs - logs.mean(), -CLIP, CLIP)


def twin_logs(model, rows, labels, weights, slots):
    """Log joint of one row, from the rows that it is given."""
    forest, k = model.forest_, len(model.classes_)
    starts = np.cumsum([0, *forest.n_slots])
    counts = np.bincount(model.memory.rows.block.labels, model.memory.rows.block.weights, minlength=k) + 1.0
    out = forest.prior * np.log(counts / counts.sum())
    for family, strengths, factor in zip(forest.families, forest.strengths, forest.factors, strict=True):
        line = forest.groups[family[0]]
        groups = [dict(enumerate(line[starts[i] : starts[i + 1]].tolist())) for i in range(len(forest.n_slots))]
        out = out + factor * twin_term(rows, labels, weights, k, groups, family.tolist(), strengths, slots)
    return out


@st.composite
def small_forests(draw):
    m, n, k = draw(st.integers(5, 30)), draw(st.integers(1, 4)), draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = rng.choice(np.array(["a", "b", "c", None], dtype=object), (m, n))
    y = rng.integers(0, k, m)
    weights = rng.choice([0.5, 1.0, 3.0], m) if draw(st.booleans()) else None
    return (
        NetworkForest(n_members=4, random_state=int(rng.integers(99))).fit(X, y, sample_weight=weights),
        X,
        y,
        weights,
    )


@examples(15)
@given(small_forests())
def test_answers_are_those_of_a_twin_that_reads_the_rows(drawn):
    model, _, _, _ = drawn
    block = model.memory.rows.block
    slots = slots_of(block.codes, model.counts_.schema.n_values).T.tolist()
    weights = np.ones(len(block)) if block.weights is None else block.weights
    got = model.scorer_.score(block.query, log_joint=True)
    for r in range(len(slots)):
        np.testing.assert_allclose(got[r], twin_logs(model, slots, block.labels, weights, slots[r]), atol=2e-4)


@examples(10)
@given(small_forests())
def test_a_left_out_row_is_answered_from_the_other_rows(drawn):
    model, X, y, weights = drawn
    got = model.leave_one_out(X, y, weights)
    block = model.memory.rows.block
    slots = slots_of(block.codes, model.counts_.schema.n_values).T.tolist()
    own = np.ones(len(block)) if block.weights is None else block.weights
    for r in range(len(slots)):
        others = [s for s in range(len(slots)) if s != r]
        logs = twin_logs(model, [slots[s] for s in others], block.labels[others], own[others], slots[r])
        odds = np.exp(logs - logs.max())
        np.testing.assert_allclose(got[r], odds / odds.sum(), atol=2e-4)


def test_a_strength_is_where_the_left_out_rows_are_most_probable():
    """Level 0 of one column of two values: the slope that is set to zero is that of log likelihood and prior."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60).astype(np.uint16)
    slots = np.where(rng.random(60) < 0.8, labels, 1 - labels).astype(np.uint16)[None, :]
    kernel = _kernels.Forest([3], np.array([[0, 1, 2]], dtype=np.uint8), np.array([[0, 0]], dtype=np.int32), CLIP)
    found = np.ones((1, 17), dtype=np.float32)
    kernel.strengths(slots, labels, None, slots, labels, None, None, 2, found)
    values = slots[0]

    def loss(log_c):
        c, total = np.exp(log_c), 0.0
        for v, y in zip(values, labels, strict=True):
            base = (np.sum(values == v) - 1 + 1) / (60 - 1 + 2)
            a, b = np.sum((values == v) & (labels == y)) - 1, np.sum(labels == y) - 1
            total += np.log((a + c * base) / (b + c))
        return -total + 0.25 * (log_c - np.log(2)) ** 2

    best = minimize_scalar(loss, bounds=(np.log(0.05), np.log(1e4)), method="bounded").x
    assert np.log(found[0, 0]) == pytest.approx(best, abs=0.03)


def test_weights_find_the_factors_that_tell_something():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    sign = np.where(np.stack([y == 0, y == 1]), 1.0, -1.0)
    good = sign * (rng.random(400) < 0.8) - 0.2 * sign
    terms = np.stack([good, *(rng.normal(size=(2, 400)) for _ in range(8))]).astype(np.float32)
    found = factor_weights(terms, np.log([0.5, 0.5]), y, np.ones(400), np.arange(400) % 2 == 0, 9)
    assert found.factors[0] > 5 * found.factors[1:].max()
    assert found.penalty is not None


def test_few_rows_leave_all_weights_equal():
    y = np.arange(10) % 2
    terms = np.random.default_rng(0).normal(size=(5, 2, 10)).astype(np.float32)
    found = factor_weights(terms, np.log([0.5, 0.5]), y, np.ones(10), np.arange(10) % 2 == 0, 5)
    assert found.penalty is None
    assert len(set(found.factors.tolist())) == 1


def test_it_sees_what_only_three_columns_together_tell():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1500, 6)).astype(str)
    y = (X[:, :3] == "1").sum(axis=1) % 2
    model = NetworkForest(n_members=40).fit(X[:1000], y[:1000])
    assert (model.predict(X[1000:]) == y[1000:]).mean() > 0.97
    assert (NaiveBayes().fit(X[:1000], y[:1000]).predict(X[1000:]) == y[1000:]).mean() < 0.65


def test_halves_that_are_merged_are_the_whole_where_cut_points_are_given():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    schema = Schema(tuple(Column(f"x{i}", "numeric", cuts=tuple(np.linspace(-2, 2, 15).tolist())) for i in range(3)))
    make = lambda: NetworkForest(n_members=6, schema=schema)  # noqa: E731
    merged = make().fit(X[:90], y[:90]).merge(make().fit(X[90:], y[90:]))
    np.testing.assert_array_equal(merged.predict_proba(X), make().fit(X, y).predict_proba(X))


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    one, two = (NetworkForest(n_members=6, n_jobs=n).fit(X, y) for n in (1, 3))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(one.leave_one_out(X, y), two.leave_one_out(X, y), atol=1e-4)


def test_the_parts_of_an_explanation_are_columns():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    model = NetworkForest(n_members=6).fit(X, (X[:, 0] > 0).astype(int))
    found = model.explain(X[:1])
    assert {part.column for part in found.parts} <= {"x0", "x1", "x2"}
    assert found.prior + sum(part.log_odds for part in found.parts) == pytest.approx(found.log_odds, abs=1e-6)


def test_the_draws_know_numbers_among_categories():
    plain, numbers = Column("a", "categorical", ("b", "a", "c")), Column("n", "categorical", (10, 2, 7))
    assert value_order(plain).tolist() == [1, 0, 2]
    assert value_order(numbers).tolist() == [1, 2, 0]
    rng = np.random.default_rng(0)
    slots = rng.integers(0, 3, (2, 50)).astype(np.uint16)
    plan = draw_plan(Schema((plain, numbers)), slots, slots[0] % 2, np.ones(50), 2, 20, 0)
    assert plan.groups.shape == (20, 8)
    for line in plan.groups:  # 2, 7 and 10: whoever joins 2 and 10 joins 7 as well
        assert line[4] != line[5] or line[4] == line[6]


def test_counts_alone_are_refused():
    X, y = [["a"], ["b"]] * 5, [0, 1] * 5
    with pytest.raises(SchemaMismatch, match="NetworkForest looks at the rows"):
        NetworkForest.from_counts(NaiveBayes().fit(X, y).counts_).predict(X)


SLOTS, LABELS = np.zeros((1, 4), dtype=np.uint16), np.zeros(4, dtype=np.uint16)


@pytest.mark.parametrize(
    ("groups", "families", "sentence"),
    [
        ([[0, 1]], [[0, 0]], "one group for every slot"),
        ([[0, 1, 2]], [[1, 0]], "no such member"),
        ([[0, 1, 2]], [[0, 1]], "no such column"),
        ([[0, 1, 2]], [[0, 0, 7]], "no such parent"),
        ([[0, 1, 2]], [[0]], "a family is a member"),
        ([[0, 1, 255]], [[0, 0, 0, 0, 0, 0]], "more cells than can be numbered"),
    ],
)
def test_unsound_plans_are_refused(groups, families, sentence):
    with pytest.raises(ValueError, match=sentence):
        _kernels.Forest([3], np.array(groups, dtype=np.uint8), np.array(families, dtype=np.int32), CLIP)


def test_unsound_rows_are_refused():
    kernel = _kernels.Forest([3], np.array([[0, 1, 2]], dtype=np.uint8), np.array([[0, 0]], dtype=np.int32), CLIP)
    ones = np.ones((1, 17), dtype=np.float32)
    with pytest.raises(ValueError, match="a slot that its column has not"):
        kernel.strengths(SLOTS + 3, LABELS, None, SLOTS, LABELS, None, None, 2, ones)
    with pytest.raises(ValueError, match="none of the classes"):
        kernel.strengths(SLOTS, LABELS + 2, None, SLOTS, LABELS, None, None, 2, ones)
    with pytest.raises(ValueError, match="must have a weight"):
        kernel.strengths(SLOTS, LABELS, np.ones(3, dtype=np.float32), SLOTS, LABELS, None, None, 2, ones)
    with pytest.raises(ValueError, match="strengths must be"):
        kernel.strengths(SLOTS, LABELS, None, SLOTS, LABELS, None, None, 2, ones[:, :5].copy())
    with pytest.raises(ValueError, match="one place for every cell"):
        kernel.tables(SLOTS, LABELS, None, 2, ones, np.ones(1, dtype=np.float32), np.ones(3, dtype=np.float32))
    with pytest.raises(ValueError, match="not this forest's"):
        kernel.score(SLOTS, np.ones(3, dtype=np.float32), 2, np.empty((4, 2)))
