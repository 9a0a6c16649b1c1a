"""Members in turn: naive Bayes, then one super-parent after the other, as plain loops have it."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples, later
from tanager import BackOff, BDeu, Column, JointCounts, Lidstone, MEstimate, PriorCounts, Schema, _kernels
from tanager.scoring.decision import decide
from tanager.scoring.forms import ProductOfSums, StagedSum, SumOfProducts
from tanager.scoring.view import View
from view_calls import leave_one_out, score, stream, validate

N_VALUES = (2, 3, 2, 1)
N = len(N_VALUES)
SINGLES = tuple((i,) for i in range(N))
PAIRS = tuple(itertools.combinations(range(N), 2))
MIXES = ["joint", "posterior", "replace"]
SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), MEstimate(2.0), BDeu(3.0), PriorCounts(2.0), BackOff(1.5, first=0.7)]


def naive(n):
    return ProductOfSums.one_each([()] * n)


def counts_over(n_values, k, order=2):
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=a) for i, a in enumerate(n_values)))
    return JointCounts(schema, range(k), order=order)


def view_of(rows, labels, form, smoothing, *, n_values=N_VALUES, k=2, weights=None, **options):
    counts = counts_over(n_values, k, max((len(s) for s in form.members), default=1) + 1)
    counts.update(rows, labels, weights)
    return View(counts, form, smoothing, **options)


def first_plan(view):
    """Naive Bayes over the same counts, which every answer begins with."""
    return view.with_form(naive(view.counts.n_features)).plan


def in_words(row):
    return tuple(None if v == 255 else int(v) for v in row)


# --- the slow way -----------------------------------------------------------------------------------------------------


class Slow:
    """All that one row hears: means of what was said after every step, not normalised, and who said it."""

    def __init__(self, data, x, form, smoothing, priors=(), factors=()):
        self.data, self.x, self.form, self.rule = data, x, form, oracle.rule_of(smoothing)
        self.priors, self.factor = priors, factors
        self.naive = self.weigh(oracle.nb(data, x, self.rule))
        self.members, stage = [], form  # weight, what it says, stage
        self.own = {}  # what the plan's own members say
        while isinstance(stage, SumOfProducts) and not any(sum(says) > 0 for _, says, _ in self.members):
            for q, (s, w) in enumerate(zip(stage.members, stage.weight, strict=True)):
                says = oracle.sum_of_products(data, x, [(s, w)], self.rule, stage.min_count * (1 - 1e-9))
                if says is not None:
                    self.members.append((w, self.weigh(says), stage))
                    if stage is form:
                        self.own[q] = self.members[-1][1]
            stage = stage.otherwise

    def weigh(self, scores):
        out = list(scores)
        for y in range(self.data.k):
            p = oracle.prior(self.data, y, self.rule)
            if self.priors:
                out[y] = out[y] * self.priors[y] / p if p > 0 else 0.0
            if self.factor:
                out[y] *= self.factor[y]
        return out

    def mean(self, t):
        """After t members."""
        said = [(1.0, self.naive), *((w, says) for w, says, _ in self.members[:t])]
        if self.form.mix == "posterior":
            said = [(w, [s / sum(says) for s in says]) for w, says in said if sum(says) > 0]
        if self.form.mix == "replace":
            last = self.members[t - 1][2] if t else None
            spoken = [(w, says) for w, says, stage in self.members[:t] if stage is last]
            said = spoken if any(sum(says) > 0 for _, says in spoken) else said[:1]
        total = sum(w for w, _ in said)
        return [sum(w * says[y] for w, says in said) / total if said else 0.0 for y in range(self.data.k)]

    def steps(self):
        """How many members are heard by the limit and the margin."""
        most = len(self.members) if self.form.limit < 0 else min(self.form.limit, len(self.members))
        leader = None
        for t in range(most + 1):
            before, leader = leader, self.leader(t)
            alone = self.data.k == 1 and math.isfinite(self.form.margin)
            if alone or (leader is not None and leader == before):
                return t
        return most

    def leader(self, t):
        mean = self.mean(t)
        first, *others = sorted(range(self.data.k), key=lambda y: -mean[y])
        if not others or mean[first] <= 0:
            return None
        lead = math.inf if mean[others[0]] <= 0 else math.log(mean[first]) - math.log(mean[others[0]])
        return first if lead > self.form.margin else None

    def proba(self, t):
        return oracle.posterior(self.data, self.mean(t))

    def log_joint(self, t):
        mean = self.mean(t)
        if not sum(mean) > 0:
            mean = [oracle.prior(self.data, y, oracle.LAPLACE) for y in range(self.data.k)]
        return [math.log(p) if p > 0 else -math.inf for p in mean]

    def judge(self, y, weight, class_counts, shape):
        """The six rows that this row of class y adds."""
        alone = [self.proba(0)] * shape[1]
        for q, says in self.own.items():
            alone[1 + q] = oracle.posterior(self.data, says) if sum(says) > 0 else alone[0]
        prefixes = [self.proba(min(t, len(self.members))) for t in range(shape[1])]
        out = np.zeros(shape)
        for line, answers in ((0, alone), (3, prefixes)):
            answers = np.array(answers)
            out[line] = weight * (decide(answers, class_counts, None) != y)
            out[line + 1] = weight * answers[:, y]
            out[line + 2] = weight
        return out


# --- tables with answers ----------------------------------------------------------------------------------------------

D12 = "000010 001000 010100 100010 002100 111000 012110 111101 102111 112011 011111 112101"
D12_ROWS = np.array([[int(v) for v in row[:5]] for row in D12.split()], dtype=np.uint8)
D12_LABELS = np.array([int(row[5]) for row in D12.split()], dtype=np.uint8)
QUERIES = np.array([[1, 1, 2, 1, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 1]], dtype=np.uint8)
AFTER_EACH = {
    "joint": [0.842200, 0.894643, 0.833117, 0.818866, 0.808754, 0.808898],
    "posterior": [0.842200, 0.893216, 0.833029, 0.816317, 0.806616, 0.807116],
    "replace": [0.842200, 0.944231, 0.828809, 0.810955, 0.800233, 0.802112],
}


def d12(mix, **options):
    form = StagedSum(tuple((i,) for i in range(5)), (1.0,) * 5, 1.0, naive(5), mix=mix, **options)
    return view_of(D12_ROWS, D12_LABELS, form, Lidstone(1.0), n_values=(2, 2, 3, 2, 2))


def answers_of(run, n_rows, k, log_joint=False):
    out = np.empty((n_rows, k))
    run.answer(out, log_joint)
    return out


def members_of(run, n_rows):
    out = np.empty(n_rows, dtype=np.int64)
    run.used(out)
    return out


@pytest.mark.parametrize("mix", MIXES)
def test_the_known_answers_after_each_member(mix):
    run = d12(mix).run(QUERIES)
    for t, expected in enumerate(AFTER_EACH[mix]):
        more = run.advance(min(t, 1))
        assert answers_of(run, 3, 2)[0, 1] == pytest.approx(expected, abs=5e-7)
        assert members_of(run, 3).tolist() == [t] * 3
        assert more == (t < 5)
        assert score(d12(mix, limit=t), QUERIES[:1])[0, 1] == pytest.approx(expected, abs=5e-7)


def test_naive_bayes_at_first_and_aode_at_last():
    view = d12("replace")
    run = view.run(QUERIES)
    run.advance(0)
    np.testing.assert_allclose(answers_of(run, 3, 2)[:, 1], [0.842200, 0.120207, 0.347988], atol=5e-7)
    np.testing.assert_allclose(score(view, QUERIES)[:, 1], [0.802112, 0.199935, 0.419831], atol=5e-7)


def test_naive_bayes_and_each_member_judged_by_leaving_rows_out():
    """Errors count ties as `decide` breaks them: to the class with more rows."""
    judged = np.zeros((6, 6))
    assert validate(d12("joint"), D12_ROWS, D12_LABELS, None, judged) == 12
    assert judged[0].tolist() == [5, 5, 10, 6, 6, 7]
    np.testing.assert_allclose(judged[1], [6.619758, 6.598704, 5.159545, 6.480405, 6.657727, 5.533120], atol=5e-7)
    assert (judged[[2, 5]] == 12).all()
    np.testing.assert_allclose(judged[3:5, 0], judged[:2, 0])


# --- laws -------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw, max_rows=14):
    """A store, a form in turn over it with its options, and rows to answer."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.sampled_from([1, 2, 2, 3, 4, 20]))
    m = draw(st.integers(0, max_rows if k < 20 else 6))
    holes = draw(st.sampled_from([0.0, 0.0, 0.2]))
    rows, asked = (np.stack([rng.integers(0, a, size) for a in N_VALUES], axis=1).astype(np.uint8) for size in (m, 3))
    for codes in (rows, asked):
        codes[rng.random(codes.shape) < holes] = 255
    if draw(st.booleans()):
        asked[0, rng.integers(0, N)] = 255
    labels = rng.integers(0, k, m).astype(np.uint8)
    weights = draw(st.sampled_from([None, rng.choice([0.5, 1.0, 2.0], m)]))
    two = draw(st.booleans())
    some = [s for s in rng.permutation(np.array(PAIRS if two else SINGLES)).tolist() if rng.random() < 0.8]
    members = tuple(tuple(s) for s in some)
    weight = tuple(rng.choice([1.0] if draw(st.booleans()) else [0.0, 0.5, 1.0, 3.0], len(members)).tolist())
    least = draw(st.sampled_from([0.0, 1.0, 2.5]))
    rest = SumOfProducts(SINGLES, (1.0,) * N, least, naive(N)) if two else draw(st.sampled_from([None, naive(N)]))
    limit, margin = draw(st.sampled_from([-1, -1, 0, 1, 3])), draw(st.sampled_from([math.inf, math.inf, 0.3, 2.0]))
    form = StagedSum(members, weight, least, rest, draw(st.sampled_from(MIXES)), limit, margin)
    smoothing = draw(st.sampled_from(SMOOTHINGS))
    given_ = rng.dirichlet(np.ones(k)).tolist() if draw(st.booleans()) else []
    factor = rng.choice([0.5, 1.0, 2.0], k).tolist() if draw(st.booleans()) else []
    options = {"priors": given_, "factors": factor, "fast": draw(st.sampled_from([True, True, False]))}
    data = oracle.make([in_words(row) for row in rows], labels.tolist(), weights, N_VALUES, k)
    view = view_of(rows, labels, form, smoothing, k=k, weights=weights, **options)
    slow = [Slow(data, in_words(x), form, smoothing, given_, factor) for x in asked]
    return view, data, asked, slow, (rows, labels, weights)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@examples(80)
@given(cases())
def test_rows_are_answered_in_turn_as_the_formula_says(case):
    view, _, asked, slow, _ = case
    expected = np.array([s.proba(s.steps()) for s in slow])
    close(score(view, asked), expected)
    close(score(view, asked, log_joint=True), [s.log_joint(s.steps()) for s in slow])
    for x, row in zip(asked, expected, strict=True):
        close(score(view, x[None, :])[0], row)
        close(view.plan.one(x), row)


@examples(80)
@given(cases(), st.booleans())
def test_there_is_an_answer_after_every_step(case, compiled):
    view, _, asked, slow, _ = case
    k = view.counts.n_classes
    tables = (view.plan.compile(), first_plan(view).compile()) if compiled else None
    run = _kernels.Run(view.plan, asked, tables)
    more, t = run.advance(0), 0
    while True:
        at = [min(t, s.steps()) for s in slow]
        close(answers_of(run, 3, k), [s.proba(q) for s, q in zip(slow, at, strict=True)])
        close(answers_of(run, 3, k, log_joint=True), [s.log_joint(q) for s, q in zip(slow, at, strict=True)])
        assert members_of(run, 3).tolist() == at
        assert more == any(s.steps() > t for s in slow)
        if not more:
            break
        more, t = run.advance(1), t + 1
    assert not run.advance()
    at_once = _kernels.Run(view.plan, asked, tables)
    assert not at_once.advance()
    close(answers_of(at_once, 3, k), answers_of(run, 3, k))
    assert members_of(at_once, 3).tolist() == members_of(run, 3).tolist()


@examples(45)
@given(cases(max_rows=8))
def test_a_row_that_is_left_out_is_answered_as_if_it_had_never_been_counted(case):
    view, data, _, _, (rows, labels, weights) = case
    out = leave_one_out(view, rows, labels, weights)
    for r in range(len(rows)):
        slow = Slow(data.without(r), in_words(rows[r]), view.form, view.estimate, view.priors, view.factors)
        close(out[r], slow.proba(slow.steps()))


def one_less(data, r):
    """Without a row; where it weighs two, it stands for two rows, of which one stays."""
    left = max(data.weights[r] - 1.0, 0.0)
    return replace(data, weights=(*data.weights[:r], left, *data.weights[r + 1 :])) if left else data.without(r)


@examples(45)
@given(cases(max_rows=8), st.booleans())
def test_members_and_prefixes_are_judged_as_plain_loops_do(case, leave_out):
    view, data, _, _, (rows, labels, weights) = case
    shape = (6, len(view.form.members) + 1)
    expected = np.zeros(shape)
    for r in range(len(rows)):
        rest = one_less(data, r) if leave_out else data
        slow = Slow(rest, in_words(rows[r]), view.form, view.estimate, view.priors, view.factors)
        expected += slow.judge(labels[r], data.weights[r], view.counts.class_counts, shape)
    judged, half = np.zeros(shape), len(rows) // 2
    assert validate(view, rows[:half], labels[:half], _part(weights, half), judged, leave_out=leave_out) == half
    assert validate(view, rows, labels, weights, judged, leave_out=leave_out, begin=half) == len(rows)
    close(judged, expected)


def _part(weights, end):
    return None if weights is None else weights[:end]


@examples(45)
@given(cases(max_rows=10), st.sampled_from([1.0, 0.9]), st.sampled_from([1.0, 0.7]), st.booleans())
def test_a_stream_judges_members_before_it_learns(case, fading, keep, later):
    view, data, asked, _, (rows, labels, weights) = case
    k, m, form = data.k, len(rows), view.form
    fresh = counts_over(N_VALUES, k, view.counts.order)
    streamed = View(fresh, form, view.estimate, priors=view.priors, factors=view.factors, fast=view.fast)
    answered = asked[np.arange(m) % 3] if later else None
    labels = labels.copy()
    labels[m // 2 : m // 2 + 1] = 255  # one without a label
    out, judged = np.empty((m, k)), np.full((6, len(form.members) + 1), 2.0)
    expected, kept = judged.copy(), []
    fade = np.full(m, fading)
    assert stream(streamed, rows, labels, weights, out, answered=answered, fade=fade, scores=judged, keep=keep) == m
    for r in range(m):
        known = oracle.make([q[0] for q in kept], [q[1] for q in kept], [q[2] for q in kept], N_VALUES, k)
        x = in_words(rows[r] if answered is None else answered[r])
        slow = Slow(known, x, form, view.estimate, view.priors, view.factors)
        close(out[r], slow.proba(slow.steps()))
        kept = [(x, y, w * fading) for x, y, w in kept]
        if labels[r] == 255:
            continue
        own = Slow(known, in_words(rows[r]), form, view.estimate, view.priors, view.factors)
        class_counts = np.array([oracle.count(known, {}, y) for y in range(k)])
        expected = expected * keep + own.judge(labels[r], data.weights[r], class_counts, expected.shape)
        kept.append((in_words(rows[r]), int(labels[r]), data.weights[r]))
    close(judged, expected)


@pytest.mark.parametrize(("mix", "limit"), [("joint", -1), ("posterior", -1), ("replace", 4), ("joint", 2)])
@pytest.mark.parametrize("k", [2, 5])
def test_a_long_stream_judges_and_answers_as_row_after_row_does(mix, limit, k):
    """Long enough for a stream to keep only half of the pairs, until a value is missing."""
    rng = np.random.default_rng(k)
    m, n = 400, 6
    rows, labels = rng.integers(0, 3, (m, n), dtype=np.uint8), rng.integers(0, k, m).astype(np.uint8)
    rows[300, 2] = 255
    form = StagedSum(tuple((i,) for i in (3, 1, 5, 0, 2)), (1.0, 2.0, 1.0, 0.5, 1.0), 1.0, naive(n), mix, limit)
    whole, single = (View(counts_over((3,) * n, k), form, Lidstone(1.0)) for _ in range(2))
    out, judged, expected = np.empty((m, k)), np.zeros((6, 6)), np.zeros((6, 6))
    assert stream(whole, rows, labels, None, out, scores=judged, keep=0.99) == m
    for r in range(m):
        one = slice(r, r + 1)
        close(out[one], score(single, rows[one]))
        expected *= 0.99
        validate(single, rows[one], labels[one], None, expected, leave_out=False)
        single.counts.update(rows[one], labels[one])
    close(judged, expected)


def random_store(seed, n, k, *, a=4, m=400, holes=0.03, order=2):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, a, (m, n), dtype=np.uint8)
    rows[rng.random(rows.shape) < holes] = 255
    counts = counts_over((a,) * n, k, order)
    counts.update(rows, rng.integers(0, k, m).astype(np.uint8))
    asked = rng.integers(0, a, (150, n), dtype=np.uint8)
    asked[rng.random(asked.shape) < 0.1] = 255
    asked[7] = 255
    return counts, asked


@pytest.mark.parametrize("k", [2, 3, 7, 11])
@pytest.mark.parametrize("holes", [0.0, 0.03])
@pytest.mark.parametrize("two", [False, True])
def test_all_members_that_replace_naive_bayes_are_the_plain_sum(k, holes, two):
    n = 7 if two else 12
    counts, asked = random_store(k, n, k, holes=holes, order=3 if two else 2)
    aode = SumOfProducts(tuple((i,) for i in range(n)), (1.0,) * n, 3.0, naive(n))
    pairs = tuple(itertools.combinations(range(n), 2))
    plain = SumOfProducts(pairs, (1.0,) * len(pairs), 3.0, aode) if two else aode
    turns = StagedSum(plain.members, plain.weight, plain.min_count, plain.otherwise, mix="replace")
    expected, got = View(counts, plain, Lidstone(1.0)), View(counts, turns, Lidstone(1.0))
    for log_joint in (False, True):
        np.testing.assert_allclose(
            score(got, asked, log_joint=log_joint), score(expected, asked, log_joint=log_joint), rtol=1e-11, atol=1e-12
        )
        for compiled in (False, True):
            tables = (got.plan.compile(), first_plan(got).compile()) if compiled else None
            run = _kernels.Run(got.plan, asked, tables)
            run.advance()
            np.testing.assert_allclose(
                answers_of(run, 150, k, log_joint), score(expected, asked, log_joint=log_joint), rtol=1e-11, atol=1e-12
            )


@pytest.mark.parametrize("mix", MIXES)
def test_members_that_give_no_class_a_chance_make_way_for_those_behind(mix):
    """Every two values of the row were seen together, all three never: without smoothing, pairs know nothing."""
    rows, labels = (
        np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 0]], dtype=np.uint8),
        np.array([0, 0, 0, 1], np.uint8),
    )
    single = SumOfProducts(((0,), (1,), (2,)), (1.0,) * 3, 1.0, naive(3))
    form = StagedSum(((0, 1), (0, 2), (1, 2)), (1.0,) * 3, 1.0, single, mix)
    view = view_of(rows, labels, form, Lidstone(0.0), n_values=(2, 2, 2))
    x = np.array([[1, 1, 1]], dtype=np.uint8)
    data = oracle.make(rows.tolist(), labels.tolist(), None, (2, 2, 2), 2)
    slow = Slow(data, (1, 1, 1), form, Lidstone(0.0))
    run = view.run(x)
    for t in range(7):
        run.advance(min(t, 1))
        close(answers_of(run, 1, 2, log_joint=True)[0], slow.log_joint(t))
    assert members_of(run, 1).tolist() == [6]
    if mix == "replace":
        close(answers_of(run, 1, 2, log_joint=True), score(view.with_form(single), x, log_joint=True))


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("k", [9, *later(4)])
def test_tables_too_large_for_the_cache_and_threads_change_nothing(mix, k):
    counts, asked = random_store(k, 60, k)
    many = np.tile(asked, (14, 1))
    form = StagedSum(tuple((i,) for i in range(60)), (1.0, 0.5) * 30, 1.0, naive(60), mix=mix, limit=41)
    view = View(counts, form, Lidstone(1.0))
    straight = np.array([view.plan.one(row) for row in asked])
    tables = (view.plan.compile(), first_plan(view).compile())
    assert tables[0].nbytes > 2**20
    for both, n_jobs in itertools.product((None, tables), (1, 2)):
        run = _kernels.Run(view.plan, many, both)
        run.advance(7, n_jobs=n_jobs)
        assert members_of(run, len(many)).max() == 7
        run.advance(n_jobs=n_jobs)
        np.testing.assert_allclose(answers_of(run, len(many), k), np.tile(straight, (14, 1)), rtol=1e-9, atol=1e-12)
        assert members_of(run, len(many)).max() == 41


@pytest.mark.parametrize("mix", MIXES)
def test_hundreds_of_columns_do_not_underflow(mix):
    counts, asked = random_store(1, 200, 3, a=3, m=60)
    form = StagedSum(tuple((i,) for i in range(200)), (1.0,) * 200, 1.0, naive(200), mix=mix)
    view = View(counts, form, Lidstone(0.01))
    for tables in (None, (view.plan.compile(), first_plan(view).compile())):
        run = _kernels.Run(view.plan, asked[:20], tables)
        more = run.advance(0)
        while more:
            proba = answers_of(run, 20, 3)
            assert (proba >= 0).all()
            assert np.allclose(proba.sum(axis=1), 1)
            more = run.advance(50)
        assert np.isfinite(answers_of(run, 20, 3, log_joint=True)).any(axis=1).all()
        np.testing.assert_allclose(answers_of(run, 20, 3), score(view, asked[:20]), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("mix", MIXES)
def test_faded_counts_are_read_in_their_unit(mix):
    """Also by tables that were made before, and by the naive Bayes at the beginning."""
    rng = np.random.default_rng(6)
    rows, labels = rng.integers(0, 4, (400, 8), dtype=np.uint8), rng.integers(0, 3, 400).astype(np.uint8)
    form = StagedSum(tuple((i,) for i in range(8)), (1.0,) * 8, 1.0, naive(8), mix=mix)
    faded = view_of(rows, labels, form, Lidstone(1.0), n_values=(4,) * 8, k=3)
    score(faded, rows)
    for _ in range(3):
        faded.counts.decay(0.6)
    light = view_of(rows, labels, form, Lidstone(1.0), n_values=(4,) * 8, k=3, weights=np.full(400, 0.6**3))
    for some in (rows[:3], rows):
        np.testing.assert_allclose(score(faded, some), score(light, some), rtol=1e-9, atol=1e-12)
    judged, expected = np.zeros((2, 6, 9))
    validate(faded, rows, labels, np.full(400, 0.5), judged)
    validate(light, rows, labels, np.full(400, 0.5), expected)
    np.testing.assert_allclose(judged, expected, rtol=1e-9)


# --- the clock --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_without_time_every_row_gets_naive_bayes(compiled):
    counts, asked = random_store(3, 12, 2)
    form = StagedSum(tuple((i,) for i in range(12)), (1.0,) * 12, 1.0, naive(12))
    view = View(counts, form, Lidstone(1.0))
    run = _kernels.Run(view.plan, asked, (view.plan.compile(), first_plan(view).compile()) if compiled else None)
    assert run.advance(nanoseconds=0)
    assert not members_of(run, 150).any()
    expected = score(View(counts, naive(12), Lidstone(1.0)), asked)
    np.testing.assert_allclose(answers_of(run, 150, 2), expected, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 150])
def test_a_run_goes_on_where_the_clock_stopped_it(n_rows):
    counts, asked = random_store(4, 12, 2)
    asked = asked[:n_rows]
    form = StagedSum(tuple((i,) for i in range(12)), (1.0,) * 12, 1.0, naive(12))
    view = View(counts, form, Lidstone(1.0))
    run = view.run(asked, may_compile=False)
    time = 1_000
    while run.advance(nanoseconds=time):
        used = members_of(run, n_rows)
        still = used < (asked != 255).sum(axis=1)  # every value was seen
        assert np.ptp(used[still]) <= 4
        time += time // 10  # what answering takes is kept back, so that a short time may be none
    np.testing.assert_allclose(answers_of(run, n_rows, 2), score(view, asked), rtol=1e-10)
    assert (members_of(run, n_rows) == (asked != 255).sum(axis=1)).all()


def test_judging_under_a_clock_goes_on_with_the_row_it_names():
    counts, asked = random_store(5, 8, 3)
    labels = np.random.default_rng(0).integers(0, 3, 150).astype(np.uint8)
    form = StagedSum(tuple((i,) for i in range(8)), (1.0,) * 8, 1.0, naive(8))
    view = View(counts, form, Lidstone(1.0))
    whole, parts, threads = (np.zeros((6, 9)) for _ in range(3))
    assert validate(view, asked, labels, None, whole) == 150
    at = 0
    while at < 150:
        after = validate(view, asked, labels, None, parts, begin=at, seconds=0)
        assert after > at
        at = after
    assert validate(view, asked, labels, None, threads, n_jobs=2) == 150
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    np.testing.assert_allclose(threads, whole, rtol=1e-12)


def test_no_rows_and_more_steps_than_there_can_be_are_no_trouble():
    view = d12("joint")
    run = _kernels.Run(view.plan, QUERIES[:0])
    assert not run.advance()
    assert not run.advance(nanoseconds=10**6)
    assert answers_of(run, 0, 2).shape == (0, 2)
    run = _kernels.Run(view.plan, QUERIES)
    assert run.advance(0)
    assert not run.advance(2**63 - 1, 2**63 - 1)
    assert members_of(run, 3).tolist() == [5] * 3


def test_another_limit_for_one_run_leaves_the_form_as_it_is():
    view = d12("joint", limit=2)
    run = view.run(QUERIES, limit=4)
    run.advance()
    assert members_of(run, 3).tolist() == [4] * 3
    assert score(view, QUERIES[:1])[0, 1] == pytest.approx(AFTER_EACH["joint"][2], abs=5e-7)


# --- what is refused --------------------------------------------------------------------------------------------------


def refused(sentence, call, error=ValueError):
    with pytest.raises(error, match=sentence):
        call()


def test_turns_that_make_no_sense_are_refused():
    view, other = d12("joint"), d12("joint")
    plan, first = view.plan, first_plan(view)
    refused("same counts", lambda: plan.staged(first_plan(other), "joint"))
    refused("only the members of a sum", lambda: first.staged(first, "joint"))
    refused("must be naive Bayes", lambda: plan.staged(plan, "joint"))
    tree = view.with_form(ProductOfSums.one_each([(), (0,), (0,), (), ()]))
    refused("must be naive Bayes", lambda: plan.staged(tree.plan, "joint"))
    lean = View(view.counts, naive(5), Lidstone(0.5))
    refused("same smoothing", lambda: plan.staged(lean.plan, "joint"))
    refused("joint, posterior or replace", lambda: plan.staged(first, "mean"))
    refused("margin", lambda: plan.staged(first, "joint", -1, math.nan))
    refused("limit", lambda: plan.staged(first, "joint", -2))
    refused("margin", lambda: _kernels.Run(plan, QUERIES, None, -1, -0.5))
    refused("limit", lambda: _kernels.Run(plan, QUERIES, None, -2))
    refused("not staged", lambda: _kernels.Run(first, QUERIES))


def test_arrays_that_do_not_fit_are_refused():
    view = d12("joint")
    plan, run = view.plan, view.run(QUERIES)
    run.advance()
    refused("columns", lambda: _kernels.Run(plan, QUERIES[:, :4]))
    refused("uint8 or uint16", lambda: _kernels.Run(plan, QUERIES.astype(np.int64)))
    refused("one column per class", lambda: run.answer(np.empty((3, 3))))
    refused("one column per class", lambda: run.answer(np.empty((2, 2))))
    refused("incompatible", lambda: run.answer(np.empty((3, 2), dtype=np.float32)), TypeError)
    refused("members per row", lambda: run.used(np.empty(2, dtype=np.int64)))
    refused("int32 or int64", lambda: run.used(np.empty(3)))
    tables = (plan.compile(), first_plan(view).compile())
    refused("another plan", lambda: _kernels.Run(plan, QUERIES, tables[::-1]))
    refused("another plan", lambda: _kernels.Run(plan, QUERIES, (plan.compile(leave_out=True), tables[1])))
    shorter = view.with_form(StagedSum(((0,),), (1.0,), 1.0, naive(5)))
    refused("another plan", lambda: _kernels.Run(plan, QUERIES, (shorter.plan.compile(), tables[1])))


def test_what_cannot_be_judged_is_refused():
    view = d12("joint")
    plan, judged = view.plan, np.zeros((6, 6))
    fixed = np.zeros((6, 6))
    fixed.flags.writeable = False
    judge = partial(_kernels.validate_members, plan)
    refused("six rows", lambda: judge(D12_ROWS, D12_LABELS, None, np.zeros((6, 5)), True))
    refused("incompatible", lambda: judge(D12_ROWS, D12_LABELS, None, fixed, True), TypeError)
    refused(
        "incompatible",
        lambda: judge(D12_ROWS, D12_LABELS, None, judged.astype(np.float32), True),
        TypeError,
    )
    refused("one label per row", lambda: judge(D12_ROWS, D12_LABELS[:3], None, judged, True))
    refused("one weight per row", lambda: judge(D12_ROWS, D12_LABELS, np.ones(3), judged, True))
    refused("none of the rows", lambda: judge(D12_ROWS, D12_LABELS, None, judged, True, 1.0, -1))
    refused("none of the rows", lambda: judge(D12_ROWS, D12_LABELS, None, judged, True, 1.0, 13))
    out = np.empty((12, 2))
    refused("six rows", lambda: _kernels.stream(plan, D12_ROWS, D12_LABELS, None, out, member_scores=np.zeros((5, 6))))
    refused("kept", lambda: _kernels.stream(plan, D12_ROWS, D12_LABELS, None, out, member_scores=judged, keep=1.5))
    refused("kept", lambda: _kernels.stream(plan, D12_ROWS, D12_LABELS, None, out, member_scores=judged, keep=math.nan))
    refused(
        "not staged", lambda: _kernels.stream(first_plan(view), D12_ROWS, D12_LABELS, None, out, member_scores=judged)
    )
    assert not judged.any()
