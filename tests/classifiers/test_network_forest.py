"""NetworkForest: a slow twin that reads the rows for every answer, strengths, weights, and what a forest is for."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from profiles import examples
from tanager import Column, NaiveBayes, NetworkForest, OptionError, Schema, SchemaMismatch, _kernels
from tanager.counts.block import Query
from tanager.files import learn, open_table
from tanager.learning.forest_learner import ForestSizes
from tanager.learning.forest_plan import draw_plan, value_order
from tanager.learning.forest_weights import LeftOutTerms, factor_weights
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


@examples(15)
@given(small_forests(), st.integers(0, 99))
def test_rows_never_seen_are_answered_as_by_the_twin(drawn, seed):
    model, *_ = drawn
    block, schema = model.memory.rows.block, model.counts_.schema
    rows = slots_of(block.codes, schema.n_values).T.tolist()
    weights = np.ones(len(block)) if block.weights is None else block.weights
    rng = np.random.default_rng(seed)
    asked = np.stack([rng.integers(0, n + 1, 10) for n in schema.n_values], axis=1)
    got = model.scorer_.score(Query(asked.astype(np.uint16)), log_joint=True)
    for own, slots in zip(got, asked.tolist(), strict=True):
        np.testing.assert_allclose(own, twin_logs(model, rows, block.labels, weights, slots), atol=2e-4)


def test_contexts_that_no_row_has_share_lines_of_the_tables():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 6)).astype(str), rng.integers(0, 12, 60)
    model = NetworkForest(n_members=5).fit(X, y)
    tables, block = model.scorer_.tables, model.memory.rows.block
    assert tables.n_bytes < 0.7 * tables.cells().nbytes
    whole = model.scorer_.kernel.tables_of(tables.cells(), 12)  # a line for every context
    assert whole.n_bytes == tables.cells().nbytes
    asked = rng.integers(0, 5, (6, 500)).astype(np.uint16)
    for slots in (slots_of(block.codes, model.counts_.schema.n_values), asked):
        out = [np.empty((slots.shape[1], 12)) for _ in range(2)]
        tables.score(slots, out[0])
        whole.score(slots, out[1], n_jobs=2)
        np.testing.assert_array_equal(*out)
    rows = slots_of(block.codes, model.counts_.schema.n_values).T.tolist()
    got = model.scorer_.score(Query(asked[:, :10].T.copy()), log_joint=True)
    for own, slots in zip(got, asked[:, :10].T.tolist(), strict=True):
        np.testing.assert_allclose(own, twin_logs(model, rows, block.labels, np.ones(60), slots), atol=2e-4)


@examples(10)
@given(small_forests(), st.sampled_from([None, "balanced"]), st.booleans())
def test_a_single_row_is_answered_as_one_of_many(drawn, class_weight, with_priors):
    model, X, y, weights = drawn
    k = len(model.classes_)
    priors = dict(zip(model.classes_, np.arange(1, k + 1) * 2 / (k * (k + 1)), strict=True)) if with_priors else None
    model.set_params(class_weight=class_weight, priors=priors).fit(X, y, sample_weight=weights)
    new = np.vstack([X[:3], np.full((2, X.shape[1]), ["new"], dtype=object)])
    new[-1] = None
    many, codes = model.predict_proba(new), model.encoder_.encode(new)
    for scorer in (model.scorer_, pickle.loads(pickle.dumps(model)).scorer_):
        for row, own in zip(codes, many, strict=True):
            np.testing.assert_allclose(scorer.answer_row(row), own, rtol=1e-12)
            np.testing.assert_allclose(scorer.answer_row(row + 200), many[-1], rtol=1e-12)


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


def learned(n_slots, groups, families, slots, labels, half, k):
    """What the kernel learns from rows of weight 1: strengths, and terms (families, rows, classes) of both halves."""
    kernel = _kernels.Forest(n_slots, np.array(groups, dtype=np.uint8), np.array(families, dtype=np.int32), CLIP)
    strengths = np.ones((len(families), 17), dtype=np.float32)
    sizes = half, len(labels) - half
    rooms = [LeftOutTerms.room(n, len(families), k) for n in sizes]
    ones = np.ones(len(labels), dtype=np.float32)
    kernel.learn(slots, labels, ones, half, 1000, max(sizes), k, strengths, *rooms)
    return strengths, [as_terms(room, n, k) for room, n in zip(rooms, sizes, strict=True)]


def as_terms(steps, n, k):
    logs = steps.transpose(1, 0, 3, 2).reshape(steps.shape[1], -1, steps.shape[2])[:, :n] * (CLIP / 127)
    return np.concatenate([-logs, logs], axis=2) if k == 2 else logs


def best_strength(values, labels):
    """Of one column of two values, by the left-out likelihood of its rows and the weak prior around 2."""
    n = len(labels)

    def loss(log_c):
        c, total = np.exp(log_c), 0.0
        for v, y in zip(values, labels, strict=True):
            base = (np.sum(values == v) - 1 + 1) / (n - 1 + 2)
            a, b = np.sum((values == v) & (labels == y)) - 1, np.sum(labels == y) - 1
            total += np.log((a + c * base) / (b + c))
        return -total + 0.25 * (log_c - np.log(2)) ** 2

    return np.exp(minimize_scalar(loss, bounds=(np.log(0.05), np.log(1e4)), method="bounded").x)


def noisy_copies(n):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n).astype(np.uint16)
    return np.where(rng.random(n) < 0.8, labels, 1 - labels).astype(np.uint16), labels


def test_a_strength_lies_between_those_under_which_either_half_is_most_probable():
    values, labels = noisy_copies(100)
    strengths, _ = learned([3], [[0, 1, 2]], [[0, 0]], values[None, :], labels, 60, 2)
    first, second = best_strength(values[:60], labels[:60]), best_strength(values[60:], labels[60:])
    assert abs(np.log(first / second)) > 0.05
    assert np.log(strengths[0, 0]) == pytest.approx(np.log(first * second) / 2, abs=0.03)


def test_terms_of_a_half_use_the_strengths_of_the_other_and_the_counts_of_all_others():
    values, labels = noisy_copies(100)
    _, terms = learned([3], [[0, 1, 2]], [[0, 0]], values[None, :], labels, 60, 2)
    for places, others, got in ((range(60), slice(60, None), terms[0]), (range(60, 100), slice(60), terms[1])):
        strengths = [best_strength(values[others], labels[others])]
        groups = [{0: 0, 1: 1, 2: 2}]
        for at, r in enumerate(places):
            rest = [s for s in range(100) if s != r]
            rows = [[int(values[s])] for s in rest]
            want = twin_term(rows, labels[rest], np.ones(99), 2, groups, [0, 0], strengths, [int(values[r])])
            np.testing.assert_allclose(got[0, at], want, atol=0.02)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_cells_taken_together_say_what_rows_one_by_one_say(k):
    """A row that weighs nothing changes no count, but makes its neighbours learn strengths and terms row by row."""
    rng = np.random.default_rng(k)
    n, n_columns = 300, 5
    labels = rng.integers(0, k, n).astype(np.uint16)
    slots = np.where(rng.random((n_columns, n)) < 0.5, labels % 3, rng.integers(0, 4, (n_columns, n))).astype(np.uint16)
    groups = np.tile(np.arange(4, dtype=np.uint8), n_columns)[None, :]
    families = np.array([[0, 0, -1, -1, -1], [0, 1, 0, -1, -1], [0, 2, 1, 0, -1], [0, 4, 3, 1, 0]], dtype=np.int32)
    kernel = _kernels.Forest([4] * n_columns, groups, families, CLIP)

    def learn(n, weights):
        strengths, sizes = np.ones((len(families), 17), dtype=np.float32), (150, n - 150)
        rooms = [LeftOutTerms.room(size, len(families), k) for size in sizes]
        kernel.learn(slots[:, :n].copy(), labels[:n].copy(), weights, 150, 1000, max(sizes), k, strengths, *rooms)
        return strengths, *(as_terms(room, 149, k) * 127 / CLIP for room in rooms)

    ones = np.ones(n, dtype=np.float32)
    together, alone = learn(n - 1, ones[:-1]), learn(n, np.append(ones[:-1], np.float32(0)))
    np.testing.assert_allclose(together[0], alone[0], rtol=0.03)
    for own, other in zip(together[1:], alone[1:], strict=True):
        assert np.abs(own - other).max() <= 2


@pytest.mark.parametrize(("k", "n_factors"), [(2, 7), (3, 7), (5, 21), (2, 1100), (19, 30)])
@pytest.mark.parametrize("level", ["auto", "plain"])
def test_the_loss_of_factors_and_its_slopes_are_those_of_a_plain_twin(k, n_factors, level):
    rng = np.random.default_rng(k)
    n, unit = 150, 0.03
    steps = LeftOutTerms.room(n, n_factors, k)
    steps[:] = rng.integers(-127, 128, steps.shape)
    labels, weights = rng.integers(0, k, n).astype(np.uint16), rng.random(n).astype(np.float32)
    terms = LeftOutTerms(steps, unit, labels, weights, k)
    factors, fixed = rng.random(n_factors) * 1.4 / n_factors, rng.normal(size=k)
    slopes = np.empty(n_factors + k)
    _kernels.set_cpu_level(level)
    try:
        loss, losses = terms.loss(factors, fixed, slopes), terms.losses(factors, fixed)
    finally:
        _kernels.set_cpu_level("auto")
    logs = as_terms(steps, n, k) * (unit * 127 / CLIP)
    z = np.tensordot(factors, logs, 1) + fixed
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    want = -np.log(p[np.arange(n), labels]) * weights
    gaps = (p - np.eye(k)[labels]) * weights[:, None]
    np.testing.assert_allclose(losses, want, rtol=1e-6, atol=1e-6)
    assert loss == pytest.approx(want.sum(), rel=1e-6)
    np.testing.assert_allclose(slopes[:n_factors], (logs * gaps).sum(axis=(1, 2)), rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(slopes[n_factors:], gaps.sum(axis=0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("step", [-128, 127])
def test_sums_of_the_largest_terms_do_not_overflow(step):
    """Of many factors and classes, all of them as large as they can be."""
    k, n_factors = 40, 1500
    steps = np.full(LeftOutTerms.room(64, n_factors, k).shape, step, dtype=np.int8)
    steps[:, :, 0] = -step - 1 if step < 0 else -step
    terms = LeftOutTerms(steps, 1e-6, np.zeros(64, dtype=np.uint16), np.ones(64, dtype=np.float32), k)
    factors, slopes = np.ones(n_factors), np.empty(n_factors + k)
    loss = terms.loss(factors, np.zeros(k), slopes)
    logs = np.full(k, step * n_factors * 1e-6)
    logs[0] = int(steps[0, 0, 0, 0]) * n_factors * 1e-6
    p = np.exp(logs) / np.exp(logs).sum()
    assert loss == pytest.approx(-64 * np.log(p[0]), rel=1e-6)
    gaps = 64 * (p - np.eye(k)[0])
    np.testing.assert_allclose(slopes[:n_factors], gaps @ (logs / n_factors), rtol=1e-5)


def test_all_processors_give_the_same_loss():
    rng = np.random.default_rng(0)
    k, n_factors = 11, 13
    steps = LeftOutTerms.room(100, n_factors, k)
    steps[:] = rng.integers(-127, 128, steps.shape)
    labels = rng.integers(0, k, 100).astype(np.uint16)
    terms = LeftOutTerms(steps, 0.02, labels, np.ones(100, dtype=np.float32), k)
    found = []
    for level in ("plain", "auto"):
        slopes = np.empty(n_factors + k)
        _kernels.set_cpu_level(level)
        try:
            found.append((terms.loss(np.linspace(0, 1, n_factors), np.zeros(k), slopes), *slopes.tolist()))
        finally:
            _kernels.set_cpu_level("auto")
    assert found[0] == found[1]


def test_bad_arrays_are_refused_by_the_kernels():
    values, labels = noisy_copies(10)
    kernel = _kernels.Forest([3], np.array([[0, 1, 2]], dtype=np.uint8), np.array([[0, 0]], dtype=np.int32), CLIP)
    ones, strengths = np.ones(10, dtype=np.float32), np.ones((1, 17), dtype=np.float32)
    room = LeftOutTerms.room(5, 1, 2)

    def learn(half=5, judged=5, k=2, to=strengths, first=room, own=labels):
        kernel.learn(values[None, :], own, ones, half, 5, judged, k, to, first, room.copy())

    learn()
    for wrong in (
        {"half": 11},
        {"half": -1},
        {"judged": -1},
        {"k": 1, "own": np.zeros(10, dtype=np.uint16)},
        {"to": strengths[:, :3].copy()},
        {"first": LeftOutTerms.room(65, 1, 2)},
        {"first": LeftOutTerms.room(5, 2, 2)},
        {"own": labels[:9]},
        {"own": labels + 2},
    ):
        with pytest.raises((ValueError, TypeError)):
            learn(**wrong)

    def loss(k=2, unit=0.1, own=labels[:5], factors=None, fixed=None, slopes=None):
        weights = np.ones(1) if factors is None else factors
        added = np.zeros(2) if fixed is None else fixed
        _kernels.factor_loss(room, k, unit, own, ones[: len(own)], weights, added, slopes, None)

    loss()
    for wrong in (
        {"k": 3},
        {"k": 1},
        {"unit": 0.0},
        {"own": labels[:5] + 2},
        {"own": np.zeros(65, dtype=np.uint16)},
        {"factors": np.ones(2)},
        {"fixed": np.zeros(3)},
        {"slopes": np.zeros(2)},
    ):
        with pytest.raises((ValueError, TypeError)):
            loss(**wrong)


def halves_of(terms, y):
    """Terms (factors, classes, rows) of two classes in two halves."""
    n_factors, _, n = terms.shape
    found = []
    for own in (slice(n // 2), slice(n // 2, None)):
        steps = LeftOutTerms.room(len(y[own]), n_factors, 2)
        steps[:] = 0
        flat = np.zeros((n_factors, len(steps) * 64))
        flat[:, : len(y[own])] = np.clip(np.round(terms[:, 1, own] * 40), -127, 127)
        steps[:, :, 0] = flat.reshape(n_factors, -1, 64).transpose(1, 0, 2)
        ones = np.ones(len(y[own]), dtype=np.float32)
        found.append(LeftOutTerms(steps, 1 / 40, y[own].astype(np.uint16), ones, 2))
    return found[0], found[1]


def test_weights_find_the_factors_that_tell_something():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    sign = np.where(np.stack([y == 0, y == 1]), 1.0, -1.0)
    good = sign * (rng.random(400) < 0.8) - 0.2 * sign
    terms = np.stack([good, *(rng.normal(size=(2, 400)) for _ in range(8))])
    found = factor_weights(halves_of(terms, y), np.log([0.5, 0.5]), 9)
    assert found.factors[0] > 5 * found.factors[1:].max()
    assert found.penalty is not None


def test_few_rows_leave_all_weights_equal():
    y = np.arange(10) % 2
    terms = np.random.default_rng(0).normal(size=(5, 2, 10))
    found = factor_weights(halves_of(terms, y), np.log([0.5, 0.5]), 5)
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
    ones, four = np.ones((1, 17), dtype=np.float32), np.ones(4, dtype=np.float32)
    rooms = LeftOutTerms.room(2, 1, 2), LeftOutTerms.room(2, 1, 2)
    with pytest.raises(ValueError, match="a slot that its column has not"):
        kernel.learn(SLOTS + 3, LABELS, four, 2, 2, 2, 2, ones, *rooms)
    with pytest.raises(ValueError, match="none of the classes"):
        kernel.learn(SLOTS, LABELS + 2, four, 2, 2, 2, 2, ones, *rooms)
    with pytest.raises(ValueError, match="must have a weight"):
        kernel.learn(SLOTS, LABELS, four[:3], 2, 2, 2, 2, ones, *rooms)
    with pytest.raises(ValueError, match="weights must be at least 0"):
        kernel.learn(SLOTS, LABELS, -four, 2, 2, 2, 2, ones, *rooms)
    with pytest.raises(ValueError, match="strengths must be"):
        kernel.learn(SLOTS, LABELS, four, 2, 2, 2, 2, ones[:, :5].copy(), *rooms)
    with pytest.raises(ValueError, match="not this forest's"):
        kernel.tables_of(np.ones(3, dtype=np.float32), 2)
    tables = kernel.tables(SLOTS, LABELS, None, 2, ones, np.ones(1, dtype=np.float32))
    with pytest.raises(ValueError, match="a slot that its column has not"):
        tables.score(SLOTS + 3, np.empty((4, 2)))
    with pytest.raises(ValueError, match="the output must have one row"):
        tables.score(SLOTS, np.empty((3, 2)))
    one, two = np.ones(1, dtype=np.uint8), np.zeros(2)
    assert sum(tables.one(one, two)) == pytest.approx(1)
    for codes, prior in (
        (np.ones(2, dtype=np.uint8), two),
        (one, np.zeros(3)),
        (one.astype(float), two),
        (one[None], two),
    ):
        with pytest.raises((ValueError, TypeError)):
            tables.one(codes, prior)


def test_a_file_is_judged_by_folds_because_left_out_rows_are_flattered_by_weights(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{'yes' if a != b else 'no'}" for a, b in rng.integers(0, 3, (60, 2)).tolist()]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,class", *rows]) + "\n")
    learned = learn(NetworkForest(n_members=4), open_table(path), "class")
    assert (learned.left_out.n_folds, learned.left_out.n_rows) == (5, 60)
    assert learned.left_out.accuracy > 0.9
    assert learn(NaiveBayes(), open_table(path), "class").left_out.n_folds is None


def columns_of(n, values, kind="categorical"):
    """A schema of n columns alike."""
    return Schema(tuple(Column(f"x{i}", kind, values=tuple(values)) for i in range(n)))


def test_there_are_as_many_members_as_factors_allow():
    sizes = ForestSizes(200, None, 5000, 0)
    words, digits, few = columns_of(20, "abcdefghijkl"), columns_of(20, range(12)), columns_of(20, range(8))
    assert sizes.members(words, 1) == 1000 // 20  # no bins to differ in
    assert sizes.members(digits, 1) == 2000 // 20
    assert sizes.members(few, 1) == 1000 // 20
    assert sizes.members(columns_of(3, "ab"), 1) == 200
    assert sizes.members(columns_of(64, "ab"), 1) == 1000 // 64
    assert sizes.members(columns_of(65, "ab"), 1) == 60  # one sees 64 columns
    assert sizes.members(words, 10_000_000) == 20
    assert replace(sizes, max_factors=4000).members(words, 1) == 200
    assert replace(sizes, max_factors=4).members(words, 1) == 1


def test_max_factors_limits_what_is_drawn():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 5)).astype(str), rng.integers(0, 2, 60)
    model = NetworkForest(max_factors=15).fit(X, y)
    assert len(model.forest_.groups) == 3
    assert len(NetworkForest().fit(X, y).forest_.groups) == 200
    for wrong in (0, 2.5, "all", None):
        with pytest.raises(OptionError, match=r"max_factors=.*how many factors to draw at most, or \"auto\""):
            NetworkForest(max_factors=wrong).fit(X, y)
