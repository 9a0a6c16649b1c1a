"""LBR finds the rules, and gives the answers, that a plain search over lists of rows gives."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from profiles import examples
from strategies import tables
from tanager import LBR, DataError, MEstimate, NaiveBayes, PriorCounts, SchemaMismatch
from tanager._kernels import binomial_tail


class Twin:
    """Lists of (row, label, weight), and loops. ``sizes`` are the numbers of values; None is missing."""

    def __init__(self, rows, sizes, n_classes, smoothing=1.0, significance=0.05, min_errors=5):
        self.rows, self.sizes, self.k, self.smoothing = rows, sizes, n_classes, smoothing
        self.significance, self.min_errors = significance, min_errors

    def joint(self, rows, columns, x):
        a, out = self.smoothing, []
        total = sum(w for _, _, w in rows)
        for c in range(self.k):
            p = (sum(w for _, y, w in rows if y == c) + a) / (total + a * self.k)
            for i in columns:
                if x[i] is not None:
                    own = [(row[i], w) for row, y, w in rows if y == c and row[i] is not None]
                    p *= (sum(w for v, w in own if v == x[i]) + a) / (sum(w for _, w in own) + a * self.sizes[i])
            out.append(p)
        return out

    def is_wrong(self, rows, columns, at):
        x, y, w = rows[at]
        rest = rows[:at] + ([(x, y, w - 1)] if w > 1 else []) + rows[at + 1 :]  # a row of weight two is two rows
        joint = self.joint(rest, columns, rows[at][0])
        weight = [sum(w for _, y, w in rest if y == c) for c in range(self.k)]
        tied = [c for c in range(self.k) if joint[c] > max(joint) * (1 - 1e-11)]
        return max(tied, key=lambda c: (round(weight[c], 9), -c)) != rows[at][1]

    def errors(self, rows, columns):
        return [self.is_wrong(rows, columns, at) for at in range(len(rows))]

    def tests(self, x):
        rows, columns, tests = self.rows, list(range(len(self.sizes))), []
        wrong = self.errors(rows, columns)
        while sum(row[2] for row, bad in zip(rows, wrong, strict=True) if bad) >= self.min_errors - 1e-9:
            best = None
            for i in columns:
                inside = [at for at, row in enumerate(rows) if row[0][i] == x[i]]
                if x[i] is None or not 0 < len(inside) < len(rows):
                    continue
                some = [rows[at] for at in inside]
                now = self.errors(some, [j for j in columns if j != i])
                better = sum(rows[at][2] for at, bad in zip(inside, now, strict=True) if wrong[at] and not bad)
                worse = sum(rows[at][2] for at, bad in zip(inside, now, strict=True) if bad and not wrong[at])
                if better == 0 or stats.beta.cdf(0.5, better, worse + 1) >= self.significance:
                    continue
                outside = sum(rows[at][2] for at in range(len(rows)) if wrong[at] and at not in inside)
                left = outside + sum(row[2] for row, bad in zip(some, now, strict=True) if bad)
                if best is None or left < best[0] - 1e-9:
                    best = left, i, some, now
            if best is None:
                break
            _, i, rows, wrong = best
            columns.remove(i)
            tests.append(i)
        return tests, rows, columns

    def proba(self, x):
        _, rows, columns = self.tests(x)
        joint = self.joint(rows, columns, x)
        return [p / sum(joint) for p in joint]


def interacting(seed, m=50, gaps=0.1, weighted=False):
    """Columns of which two or three decide together; X, y, weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, [2, 3, 2, 3][: 2 + seed % 3], (m, 2 + seed % 3)).astype(object)
    y = np.where(rng.random(m) < 0.1, rng.integers(0, 2, m), (X[:, 0] + X[:, 1]).astype(int) % 2)
    X[rng.random(X.shape) < gaps] = None
    w = rng.choice([0.5, 1.0, 2.0], m) if weighted else None
    return X, y, w


def as_dict(row):
    return {f"x{i}": v for i, v in enumerate(row) if v is not None}


def twin_of(model, X, y, w=None, **options):
    codes = [
        [
            column.values.index(v) if v is not None else None
            for column, v in zip(model.counts_.schema.columns, x, strict=True)
        ]
        for x in X
    ]
    weights = np.ones(len(X)) if w is None else w
    rows = [(x, list(model.classes_).index(c), float(v)) for x, c, v in zip(codes, y, weights, strict=True)]
    sizes = [column.n_values for column in model.counts_.schema.columns]
    return Twin(rows, sizes, len(model.classes_), **options), codes


@pytest.mark.parametrize("weighted", [False, True])
@examples(8)
@given(seed=st.integers(0, 10**6), eager=st.booleans(), smoothing=st.sampled_from([1.0, 0.3]))
def test_rules_and_answers_are_those_of_the_twin(weighted, seed, eager, smoothing):
    X, y, w = interacting(seed, weighted=weighted)
    options = {"smoothing": smoothing} | ({"significance": 0.4, "min_errors": 1} if eager else {})
    model = LBR(categorical=True, **options).fit(X, y, sample_weight=w)
    twin, codes = twin_of(model, X, y, w, **options)
    expected = {tuple(x): twin.proba(x) for x in codes[:6]}
    np.testing.assert_allclose(model.predict_proba(X[:6]), [expected[tuple(x)] for x in codes[:6]], rtol=1e-9)
    names = model.counts_.schema.names
    assert set(model.rule(X[:1]).tests) == {names[i] for i in twin.tests(codes[0])[0]}


@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_finds_its_rule_without_it(weighted):
    X, y, w = interacting(4, weighted=weighted)
    model = LBR(categorical=True).fit(X, y, sample_weight=w)
    twin, codes = twin_of(model, X, y, w)
    all_rows, got = twin.rows, model.leave_one_out(X, y, w)
    for r in range(0, 50, 9):
        twin.rows = all_rows[:r] + all_rows[r + 1 :]
        np.testing.assert_allclose(got[r], twin.proba(codes[r]), rtol=1e-9)


def test_a_row_that_was_never_learned_cannot_be_left_out():
    X, y, _ = interacting(3, gaps=0)
    model = LBR(categorical=True).fit(X, y)
    with pytest.raises(DataError, match="row 0 was never learned with this class and weight"):
        model.leave_one_out(X[:1], y[:1], [100.0])


@pytest.mark.parametrize("options", [{"window": 40}, {"decay": 0.97}, {"window": 45, "decay": 0.99}], ids=repr)
def test_in_a_stream_the_rows_that_still_count_answer_with_what_is_left_of_them(options):
    X, y, _ = interacting(10, m=60)
    model = LBR(categorical=True, significance=0.3, min_errors=1, **options).fit(X[:20], y[:20])
    for r in range(20, 60):
        model.learn_one(as_dict(X[r]), y[r])
    size = options.get("window", 60)
    left = options.get("decay", 1.0) ** np.arange(size - 1, -1, -1)
    twin, codes = twin_of(model, X[-size:], y[-size:], left, significance=0.3, min_errors=1)
    got = [list(model.predict_proba_one(as_dict(row)).values()) for row in X[-5:]]
    np.testing.assert_allclose(got, [twin.proba(x) for x in codes[-5:]], rtol=1e-7)
    assert any(twin.tests(x)[0] for x in codes[-5:])


def test_answering_and_learning_row_by_row_equals_a_pass_over_the_stream():
    X, y, _ = interacting(7, m=60)
    whole, single = (LBR(categorical=True, window=30).fit(X[:20], y[:20]) for _ in range(2))
    expected = []
    for row, label in zip(X[20:], y[20:], strict=True):
        expected.append(list(single.predict_proba_one(as_dict(row)).values()))
        single.learn_one(as_dict(row), label)
    np.testing.assert_allclose(whole.test_then_train(X[20:], y[20:]), expected)


def test_the_cache_is_shared_by_batches_and_single_rows_and_follows_when_a_row_is_learned():
    X, y, _ = interacting(1, m=200, gaps=0)
    model = LBR(categorical=True).fit(X, y)
    proba = model.predict_proba(X)
    n, held = model.scorer_.n_evaluated, model.scorer_.n_cached
    assert n == held + 1 > 1  # the root is no set of tests
    for row, expected in zip(X[:20], proba, strict=False):
        np.testing.assert_array_equal(model.predict_proba([row])[0], expected)
    assert model.scorer_.n_evaluated == n
    model.partial_fit(X[:1], y[:1])
    model.predict_proba(X[:1])
    assert model.scorer_.n_evaluated < n


@examples(6)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 5), copies=st.booleans())
def test_rules_that_follow_single_rows_are_those_found_anew(seed, n_classes, copies):
    """Where hardly any log-odds have moved, sets of tests are not worked out again."""
    rng = np.random.default_rng(seed)
    n, m = (3, 120) if copies else (6, 250)
    X = rng.integers(0, 2 + seed % 2, (m, n)).astype(object)
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0)).astype(int) % n_classes
    y = np.where(rng.random(m) < 0.2, rng.integers(0, n_classes, m), y)
    X[rng.random(X.shape) < 0.05] = None
    X[:3], y[:n_classes] = [[0] * n, [1] * n, [seed % 2 + 1] * n], np.arange(n_classes)
    weights = np.where(rng.random(m) < 0.1, 2.0, 1.0)
    options = {"categorical": True, "significance": 0.3, "min_errors": 1}
    stream = LBR(**options).fit(X[:40], y[:40], sample_weight=weights[:40])
    n_rules = 0
    for r in range(40, m):
        stream.learn_one(as_dict(X[r]), y[r], weights[r])
        asked = as_dict(X[(r * 7) % m])
        got = stream.predict_proba_one(asked)
        if r % 11 == 0:
            anew = LBR(**options).fit(X[: r + 1], y[: r + 1], sample_weight=weights[: r + 1])
            assert got == anew.predict_proba_one(asked)
            assert stream.rule(asked) == anew.rule(asked)
            n_rules += bool(anew.rule(asked).tests)
            np.testing.assert_array_equal(stream.predict_proba(X[:9]), anew.predict_proba(X[:9]))
    assert n_rules


def test_with_little_memory_sets_of_tests_leave_the_cache_and_answers_stay():
    X, y, _ = interacting(1, m=200, gaps=0)
    plain = LBR(categorical=True).fit(X, y)
    expected = plain.predict_proba(X)
    base = plain.counts_.nbytes + 200 * (plain.n_features_in_ * 8 + 32)
    for spare in (0, 1500):
        model = LBR(categorical=True, max_memory=base + spare).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
        assert model.scorer_.n_cached <= spare // 256 < plain.scorer_.n_cached
        np.testing.assert_array_equal([model.predict_proba([row])[0] for row in X[:9]], expected[:9])


def test_threads_change_no_answer():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (3000, 8))
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 1) + (rng.random(3000) < 0.1)) % 4
    one, two = (LBR(categorical=True, n_jobs=n).fit(X, y).predict_proba(X[:300]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@examples(6)
@given(table=tables())
def test_without_tests_it_is_naive_bayes(table):
    model, plain = LBR(max_tests=0).fit(table.X, table.y), NaiveBayes().fit(table.X, table.y)
    np.testing.assert_array_equal(model.predict_proba(table.Q), plain.predict_proba(table.Q))
    np.testing.assert_array_equal(model.predict_log_joint(table.Q), plain.predict_log_joint(table.Q))


@pytest.mark.parametrize("smoothing", [1, MEstimate(2)], ids=repr)
def test_copies_of_a_row_are_as_many_rows(smoothing):
    """Rows that are alike are worked out once, but each copy is left out alone."""
    X, y, _ = interacting(5, m=40)
    many = np.repeat(np.arange(40), np.arange(40) % 4)
    model = LBR(categorical=True, smoothing=smoothing, significance=0.3).fit(X[many], y[many])
    slow = LBR(categorical=True, smoothing=smoothing, significance=0.3)
    slow.fit(X[many], y[many], sample_weight=1 + 1e-13 * np.arange(len(many)))  # no two weigh the same
    np.testing.assert_allclose(model.predict_proba(X), slow.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("smoothing", [1, MEstimate(2), PriorCounts()], ids=repr)
def test_a_row_of_weight_three_is_three_rows(smoothing):
    X, y, _ = interacting(5, m=40)
    times = np.arange(40) % 4
    many = np.repeat(np.arange(40), times)
    options = {"categorical": True, "smoothing": smoothing, "significance": 0.6, "min_errors": 1}
    model = LBR(**options).fit(X, y, sample_weight=times)
    rows = LBR(**options).fit(X[many], y[many])
    np.testing.assert_allclose(model.predict_proba(X), rows.predict_proba(X), rtol=1e-9)


def test_given_priors_and_class_weights_change_the_odds_and_no_rule():
    X, y, _ = interacting(1, m=200)
    plain = LBR(categorical=True).fit(X, y)
    other = LBR(categorical=True, priors=[0.2, 0.8], class_weight={0: 3.0}).fit(X, y)
    learned = (np.bincount(y) + 1) / (len(y) + 2)
    expected = plain.predict_proba(X) * [0.2 * 3, 0.8] / learned
    np.testing.assert_allclose(other.predict_proba(X), expected / expected.sum(1, keepdims=True), rtol=1e-9)
    rules = [plain.rule([row]) for row in X[:20]]
    assert rules == [other.rule([row]) for row in X[:20]]
    assert any(rule.tests for rule in rules)


def test_the_explanation_names_the_rule_and_adds_up():
    X, y, _ = interacting(1, m=200, gaps=0)
    model = LBR(categorical=True).fit(X, y)
    row = next(row for row in X if model.rule([row]).tests)
    found, rule = model.explain([row]), model.rule([row])
    proba = model.predict_proba([row])[0]
    assert found.log_odds == pytest.approx(abs(math.log(proba[0] / proba[1])))
    assert found.prior + sum(part.log_odds for part in found.parts) == pytest.approx(found.log_odds)
    assert set(found.columns).isdisjoint(rule.tests)
    assert str(rule) in str(found)
    passing = sum(all(row[int(name[1:])] == value for name, value in rule.tests.items()) for row in X)
    assert rule.n_rows == passing
    assert model.rule(as_dict(row)) == rule
    assert str(LBR(max_tests=0).fit(X, y).rule([row])) == "no test: naive Bayes on 200 rows"


def test_a_rule_is_asked_for_one_row():
    X, y, _ = interacting(1)
    with pytest.raises(DataError, match=r"rule takes one row, got 2\. Use rules"):
        LBR(categorical=True).fit(X, y).rule(X[:2])


def test_rules_of_a_table_are_those_of_its_rows_and_can_be_drawn(tmp_path):
    X, y, _ = interacting(1, m=200)
    model = LBR(categorical=True).fit(X, y)
    rules = model.rules(X[:20])
    assert rules == [model.rule([row]) for row in X[:20]]
    rule = max(rules, key=lambda rule: len(rule.tests))
    assert rule.tree.depth == len(rule.tests) > 0
    assert rule.tree.n_rows == len(X)
    node = rule.tree
    for name, value in rule.tests.items():
        assert (node.column, [branch for branch, _ in node.branches]) == (name, [str(value), "another value"])
        node = node.branches[0][1]
    assert (node.leaf, node.n_rows) == ("naive Bayes", rule.n_rows)
    figure = rule.plot(tmp_path / "rule.png")
    assert figure.texts[0].get_text() == f"LBR: {rule}"
    assert (tmp_path / "rule.png").stat().st_size > 1000


def test_a_copy_answers_the_same():
    X, y, _ = interacting(1)
    model = LBR(categorical=True).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)


def test_counts_alone_are_refused():
    X, y, _ = interacting(1)
    counts = LBR(categorical=True).fit(X, y).counts_
    with pytest.raises(SchemaMismatch, match="LBR looks at the rows for every answer"):
        LBR.from_counts(counts)


def test_the_sign_test_is_the_binomial_distribution_also_between_whole_numbers():
    for n in (1, 5, 40, 1000, 5000):
        for x in sorted({0, 1, n // 2 - 1, n // 2, n - 1, n} - {-1}):
            assert binomial_tail(x, n) == pytest.approx(stats.binom.cdf(x, n, 0.5), rel=1e-9)
            assert binomial_tail(x, n + 0.25) == pytest.approx(stats.beta.cdf(0.5, n + 0.25 - x, x + 1), rel=1e-9)
    assert binomial_tail(0, 5) == 1 / 32
    assert binomial_tail(3, 3) == binomial_tail(0, 0) == 1
