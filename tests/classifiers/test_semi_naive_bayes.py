"""SemiNaiveBayes joins the values, and answers, as a plain reading of its page says."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from strategies import tables
from tanager import NaiveBayes, OptionError, SemiNaiveBayes, load


def plain_pairs(data, reliability):
    total = sum(data.weights)
    found = []
    for i, j in itertools.combinations(range(data.n), 2):
        for v, w in itertools.product(range(data.n_values[i]), range(data.n_values[j])):
            n = oracle.count(data, {i: v, j: w})
            if n == 0:
                continue
            d = 0.0
            for y in range(data.k):
                p = oracle.count(data, {}, y) / total
                both = oracle.count(data, {i: v, j: w}, y) / n
                apart = [oracle.count(data, {c: x}, y) / oracle.count(data, {c: x}) for c, x in ((i, v), (j, w))]
                d += p * abs(both - apart[0] * apart[1] / p)
            sure = 1 - 1 / (4 * d**2 * n) if d > 0 else -math.inf
            if sure >= reliability:
                found.append((-round(sure, 12), i, v, j, w))
    used, chosen = set(), []
    for _, i, v, j, w in sorted(found):
        if not {(i, v), (j, w)} & used:
            chosen.append((i, v, j, w))
            used |= {(i, v), (j, w)}
    return chosen


def plain_answer(data, x, pairs):
    out = []
    for y in range(data.k):
        p = oracle.nb(data, x)[y]
        for i, v, j, w in pairs:
            if x[i] == v and x[j] == w:
                cells = data.n_values[i] * data.n_values[j]
                both = (oracle.count(data, {i: v, j: w}, y) + 1) / (oracle.count(data, {}, y) + cells)
                apart = [
                    (oracle.count(data, {c: u}, y) + 1) / (oracle.count(data, {}, y) + data.n_values[c])
                    for c, u in ((i, v), (j, w))
                ]
                p *= both / (apart[0] * apart[1])
        out.append(p)
    return oracle.posterior(data, out)


@examples(40)
@given(table=tables(min_rows=2, max_rows=25, missing=False), reliability=st.sampled_from([0.0, 0.2, 0.5]))
def test_values_are_joined_and_rows_answered_as_the_page_says(table, reliability):
    model = SemiNaiveBayes(reliability=reliability).fit(table.X, table.y)
    data = table.data()
    pairs = plain_pairs(data, reliability)
    columns = model.counts_.schema.columns
    named = tuple(((f"x{i}", columns[i].describe(v)), (f"x{j}", columns[j].describe(w))) for i, v, j, w in pairs)
    assert model.joined_ == named
    np.testing.assert_allclose(
        model.predict_proba(table.X), [plain_answer(data, x, pairs) for x in data.rows], rtol=1e-9
    )


@examples(20)
@given(table=tables(min_rows=2, max_rows=15, missing=False))
def test_without_smoothing_zeros_are_not_divided_by_zeros(table):
    """Answers once were not a number where a value never came with a class."""
    model = SemiNaiveBayes(reliability=0.0, smoothing=0).fit(table.X, table.y)
    data = table.data()
    pairs = plain_pairs(data, 0.0)

    def answer(x):
        joined = [(i, j) for i, v, j, w in pairs if x[i] == v and x[j] == w]
        blocks = [*joined, *((i,) for i in range(data.n) if not any(i in pair for pair in joined))]
        shares = [[oracle.count(data, {i: x[i] for i in block}, y) for block in blocks] for y in range(data.k)]
        rows = [oracle.count(data, {}, y) for y in range(data.k)]
        return oracle.posterior(data, [n * math.prod(c / n for c in own) for n, own in zip(rows, shares, strict=True)])

    np.testing.assert_allclose(model.predict_proba(table.X), [answer(x) for x in data.rows], atol=1e-12)
    assert np.isfinite(model.leave_one_out(table.X, table.y)).all()
    if data.k > 1:
        assert not math.isnan(model.explain([list(table.rows[0])]).log_odds)


def parity(m=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m, 4))
    y = (X[:, 0] == X[:, 1]).astype(int)
    return [[f"v{v}" for v in row] for row in X], y


def test_it_is_better_than_naive_bayes_where_values_belong_together(tmp_path):
    X, y = parity()
    model = SemiNaiveBayes().fit(X, y)
    assert model.score(X, y) > NaiveBayes().fit(X, y).score(X, y) + 0.2
    assert all({a[0], b[0]} == {"x0", "x1"} for a, b in model.joined_[:3])
    model.save(tmp_path / "m.tanager")
    loaded = load(tmp_path / "m.tanager")
    assert loaded.joined_ == model.joined_
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    found = model.explain([["v0", "v0", "v1", "v1"]])
    assert any(part.column == "x1" and part.parents == ("x0",) for part in found.parts)
    assert found.prior + sum(part.log_odds for part in found.parts) == pytest.approx(found.log_odds)


def test_what_is_no_probability_is_refused():
    for given_ in (1, -0.1, "high"):
        with pytest.raises(OptionError, match="reliability="):
            SemiNaiveBayes(reliability=given_).fit([["a"], ["b"]], [0, 1])
