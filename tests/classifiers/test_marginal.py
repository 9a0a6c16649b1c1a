"""Networks sum missing values out exactly: any arcs, parents of the class, columns without the class, multi-nets."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples
from registry import terms_of, view_of
from strategies import Table, tables
from tanager import TAN, BackOff, BDeu, DataWarning, Lidstone, NaiveBayes, PriorCounts
from tanager.counts.block import Query
from tanager.counts.joint import JointCounts
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.marginal import Marginal
from tanager.scoring.view import View

SMOOTHINGS = [Lidstone(1.0), Lidstone(0.0), BDeu(3.0), PriorCounts(2.0), BackOff(1.5, first=0.7)]


def arcs(names, rng):
    """Up to three parents for every name, among those before it in some order."""
    order = [names[place] for place in rng.permutation(len(names))]
    parents = {}
    for place, name in enumerate(order):
        chosen = rng.permutation(place)[: rng.integers(0, 4)]
        parents[name] = tuple(order[earlier] for earlier in chosen)
    return parents


def network(n, rng):
    """A network over n columns and the class, which may stand anywhere."""
    parents = arcs([*range(n), "class"], rng)
    children = [i for i in range(n) if "class" in parents[i]]
    return ProductOfSums(
        tuple(children),
        tuple(tuple(p for p in parents[i] if p != "class") for i in children),
        (1.0,) * len(children),
        class_parents=parents["class"],
        free=tuple((i, parents[i]) for i in range(n) if i not in children),
    )


def multi_net(n, k, rng):
    """A network over the columns for every class."""
    nets = [arcs(range(n), rng) for _ in range(k)]
    cells = [(i, c) for c in range(k) for i in range(n)]
    return ProductOfSums(
        tuple(i for i, _ in cells),
        tuple(nets[c][i] for i, c in cells),
        (1.0,) * len(cells),
        only=tuple((c,) for _, c in cells),
    )


@st.composite
def networks_on_tables(draw, **options):
    table = draw(tables(min_columns=2, **options).filter(lambda table: 0 not in map(len, table.seen())))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))  # arcs need no shrinking
    k = len(set(table.labels))
    return table, network(table.n, rng) if draw(st.booleans()) else multi_net(table.n, k, rng)


def expected_of(data, x, form, smoothing):
    rule = oracle.rule_of(smoothing)
    return oracle.posterior(data, oracle.marginalised(data, x, terms_of(form), rule, form.class_parents, form.free))


@examples(80)
@given(made=networks_on_tables(), smoothing=st.sampled_from(SMOOTHINGS), smooth=st.booleans())
def test_missing_values_are_summed_out(made, smoothing, smooth):
    table, form = made
    view, _, model = view_of(table, form, smoothing, unseen="smooth" if smooth else "ignore")
    data = table.data()
    got = Marginal(view).score(model.encode(table.Q), log_joint=False)
    logs = Marginal(view).score(model.encode(table.Q), log_joint=True)
    for r, x in enumerate(table.coded_queries(oracle.UNSEEN if smooth else None)):
        np.testing.assert_allclose(got[r], expected_of(data, x, form, smoothing), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(logs[r]) / np.exp(logs[r]).sum(), got[r], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@examples(30)
@given(made=networks_on_tables(min_rows=3, max_rows=12))
def test_rows_with_gaps_are_left_out_exactly(smoothing, made):
    """A family with a missing member does not hold the row, but shorter ones behind its estimate may."""
    table, form = made
    view, block, _ = view_of(table, form, smoothing)
    data = table.data()
    got = Marginal(view).leave_one_out(block)
    for r, row in enumerate(data.rows):
        rest = data.without(r)
        np.testing.assert_allclose(got[r], expected_of(rest, row, form, smoothing), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("smoothing", [PriorCounts(2.0), BackOff(1.0)], ids=repr)
def test_a_row_that_is_left_out_was_never_part_of_what_it_misses(smoothing):
    """Prior counts of the missing column itself are those of all rows."""
    rows = (("a", "p"), ("b", "q"), ("a", "q"), (None, "p"), ("b", "p"), (None, "q"), ("b", "q"))
    table = Table(rows, (0, 1, 0, 0, 1, 1, 1), (), (2, 2), 2)
    form = ProductOfSums.one_each([(), (0,)])
    view, block, _ = view_of(table, form, smoothing)
    got = Marginal(view).leave_one_out(block)
    data = table.data()
    for r, row in enumerate(data.rows):
        np.testing.assert_allclose(got[r], expected_of(data.without(r), row, form, smoothing), rtol=1e-12)


@given(made=networks_on_tables(missing=False), smoothing=st.sampled_from(SMOOTHINGS))
def test_rows_without_gaps_are_answered_alike_either_way(made, smoothing):
    table, form = made
    view, block, _ = view_of(table, form, smoothing, priors=[1 / len(set(table.labels))] * len(set(table.labels)))
    np.testing.assert_allclose(Marginal(view).score(block.query), view.score(block.query), rtol=1e-9, atol=1e-12)
    alone = view.leave_one_out(block)
    np.testing.assert_allclose(Marginal(view).leave_one_out(block), alone, rtol=1e-9, atol=1e-12)


@given(table=tables(min_columns=3))
def test_a_parent_without_a_family_stands_alone(table):
    bare = ProductOfSums((0,), ((1, 2),), (1.0,), class_parents=(2,))
    told = ProductOfSums((0,), ((1, 2),), (1.0,), class_parents=(2,), free=((1, ()), (2, ())))
    answers = []
    for form in (bare, told):
        view, _, model = view_of(table, form, Lidstone(1.0))
        answers.append(Marginal(view).score(model.encode(table.Q), log_joint=False))
    np.testing.assert_array_equal(*answers)


@given(table=tables(max_columns=3), smoothing=st.sampled_from(SMOOTHINGS))
def test_columns_without_a_value_change_nothing(table, smoothing):
    """As a child, and as the last parent of a column or of the class."""
    n = table.n
    alone = ProductOfSums.one_each([()] * n)
    wide = ProductOfSums(tuple(range(n + 1)), ((n,),) * n + ((0,),), (1.0,) * (n + 1), class_parents=(n,))
    X, Q = ([[*row, None] for row in rows] for rows in (table.X, table.Q))
    model = NaiveBayes().fit(X, table.y)
    view, _, narrow = view_of(table, alone, smoothing)
    counts = JointCounts(model.counts_.schema, model.classes_)
    block = model.known_rows(X, table.y)
    counts.update(block.codes, block.labels)
    got = Marginal(View(counts, wide, smoothing)).score(model.encode(Q), log_joint=False)
    expected = Marginal(view).score(narrow.encode(table.Q), log_joint=False)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("parent_of", [lambda i: 0, lambda i: i - 1], ids=["star", "chain"])
def test_products_of_hundreds_of_rare_values_do_not_vanish(parent_of):
    """Against sum-product in logs, from the last column to the first."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30).astype(np.uint8)
    X = rng.integers(0, 6, (60, 300), dtype=np.uint8)
    form = ProductOfSums.one_each([(), *[(parent_of(i),) for i in range(1, 300)]])
    view = View(TAN().fit(X, y).counts_, form, Lidstone(0.001))
    X[:, 0] = 255
    X[1::2, 5::2] = 255
    joint = Marginal(view).score(Query(X), log_joint=True)
    assert (joint < -745).any()
    for r in (0, 1):
        below = np.zeros((300, 6, 2))  # log P(all columns below i | y, x_i), by value and class
        for j in reversed(range(300)):
            parents = form.parents[j]
            probe = np.full((36, 300), 255, dtype=np.uint8)
            probe[:, j] = np.tile(np.arange(6), 6)
            probe[:, parents] = np.repeat(np.arange(6), 6)[:, None]
            own = np.log(view.term(j, parents, Query(probe))).reshape(6, 6, 2) + below[j]
            up = np.logaddexp.reduce(own if X[r, j] == 255 else own[:, X[r, j], None], axis=1)
            if parents:
                below[parents[0]] += up
        np.testing.assert_allclose(joint[r], np.log(0.5) + up[0], rtol=1e-9)


def test_tables_beyond_ten_million_cells_are_dropped_with_a_warning():
    """24 columns of two values, every two of which have a child: when all are missing, they must be summed together."""
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(24), 2))
    codes = rng.integers(0, 2, (50, 24 + len(pairs)), dtype=np.uint8)
    labels = rng.integers(0, 2, 50).astype(np.uint8)
    form = ProductOfSums.one_each([()] * 24 + pairs)
    schema = NaiveBayes().fit(codes, labels).counts_.schema
    view = View(JointCounts(schema, [0, 1], families=form.families()).update(codes, labels), form, Lidstone(1.0))
    codes[0, :24], codes[1, :6] = 255, 255
    with pytest.warns(DataWarning, match="1 of 2 rows"):
        got = Marginal(view).score(Query(codes[:2]))
    np.testing.assert_array_equal(got[0], view.score(Query(codes[:1]))[0])
    assert (got[1] != view.score(Query(codes[1:2]))[0]).any()


def test_votes_of_many_networks_are_refused():
    form = ProductOfSums((0, 0), ((), (1,)), (1.0, 1.0))
    model = TAN().fit([["a", "b"], ["b", "b"]], [0, 1])
    with pytest.raises(ValueError, match="single networks"):
        Marginal(View(model.counts_, form, Lidstone(1.0))).score(Query(np.array([[0, 255]], dtype=np.uint8)))


@examples(60)
@given(made=networks_on_tables(), smoothing=st.sampled_from(SMOOTHINGS), smooth=st.booleans())
def test_an_explanation_adds_up_to_the_answer_with_missing_values_summed_out(made, smoothing, smooth):
    table, form = made
    view, _, model = view_of(table, form, smoothing, unseen="smooth" if smooth else "ignore")
    marginal, query = Marginal(view), model.encode(table.Q)
    with np.errstate(invalid="ignore"):
        joints = marginal.score(query, log_joint=True)
        expected = joints[:, 0] - joints[:, -1]
    for r, wanted in enumerate(expected.tolist()):
        own = Query(query.codes[r : r + 1])
        prior, parts = marginal.explain(own, 0, joints.shape[1] - 1)
        total = prior + sum(value for _, _, value in parts)
        np.testing.assert_allclose(total, wanted, rtol=1e-9, atol=1e-9)
        if marginal._gaps(own.codes)[0]:
            there = own.codes[0] < view.counts.schema.n_values + view.smooth_unseen
            assert all(there[[i, *parents]].all() for i, parents, _ in parts)


def test_a_tan_says_what_the_values_that_are_there_have_done():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (300, 4))
    X[:, 1] = np.where(rng.random(300) < 0.8, X[:, 0], X[:, 1])
    X[:, 2] = np.where(rng.random(300) < 0.8, X[:, 1], X[:, 2])
    y = (X[:, 0] + X[:, 3] + (rng.random(300) < 0.2)) % 2
    model = TAN(missing="marginal").fit(X.astype(str), y)
    for row in (["0", None, "2", "1"], [None, "1", None, None], [None] * 4, ["0", "1", "2", "1"]):
        told, proba = model.explain([row]), model.predict_proba([row])[0]
        assert told.log_odds == pytest.approx(np.log(proba[told.answer] / proba[told.against]), abs=1e-9)
        assert told.prior + sum(part.log_odds for part in told.parts) == pytest.approx(told.log_odds, abs=1e-9)
        known = {f"x{i}" for i, cell in enumerate(row) if cell is not None}
        assert set(told.columns) <= known
        assert all(set(part.parents) <= known for part in told.parts)
    dropped = TAN().fit(X.astype(str), y).explain([["0", None, "2", "1"]], answer=told.answer, against=told.against)
    summed = model.explain([["0", None, "2", "1"]], answer=told.answer, against=told.against)
    assert dropped.log_odds != pytest.approx(summed.log_odds, abs=1e-3)
