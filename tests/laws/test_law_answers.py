"""Answers: probabilities, the three ways to compute them, priors, costs, ties, unseen values, extremes and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from profiles import examples, later, spread
from registry import NAMES, make
from strategies import tables
from tanager import A2DE, AODE, FANC, HNB, KDB, SPC, SPODE, TAN, TC, Column, NaiveBayes, Schema
from tanager.errors import DataError, MemoryBudgetError, OptionError, SchemaMismatch
from tanager.scoring.forms import StagedSum
from tanager.scoring.view import View
from view_calls import score

every = spread("name", NAMES)
FEW = examples(8)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def proper(proba):
    assert not np.isnan(proba).any()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)


@every
@FEW
@given(table=tables(weighted=True))
def test_probabilities_are_probabilities(name, table):
    model = make(name, table.n).fit(table.X, table.y, sample_weight=table.w)
    proba = model.predict_proba(table.Q)
    proper(proba)
    proper(model.leave_one_out(table.X, table.y, table.w))
    same(np.exp(model.predict_log_proba(table.Q)), proba)
    joint = model.predict_log_joint(table.Q)
    possible = np.isfinite(joint).any(axis=1)
    same(
        np.exp(joint[possible] - joint[possible].max(1, keepdims=True)), (proba / proba.max(1, keepdims=True))[possible]
    )
    assert set(model.predict(table.Q)) <= set(model.classes_)


@every
@FEW
@given(table=tables(weighted=True), factors=st.booleans())
def test_compiled_tables_the_short_cut_and_the_long_way_agree(name, table, factors):
    options = {"class_weight": {"c0": 2.0} if 0 in table.labels else None} if factors else {}
    model = make(name, table.n, **options).fit(table.X, table.y, sample_weight=table.w)
    codes = model.encode(table.Q).codes
    view = model.view_
    answers = []
    for fast in (True, False):
        other = View(
            view.counts,
            view.form,
            view.estimate,
            smooth_unseen=view.smooth_unseen,
            priors=view.priors,
            factors=view.factors,
            fast=fast,
        )
        for log_joint in (False, True):
            compiled, straight = np.empty((2, len(codes), len(model.classes_)))
            other.plan.score(codes, straight, log_joint)
            if isinstance(view.form, StagedSum):  # its tables are read member by member
                compiled[:] = score(other, np.repeat(codes, 500, axis=0), log_joint=log_joint)[::500]
            else:
                other.plan.compile().score(codes, compiled, log_joint)
            silent = np.isnan(compiled[:, 0])
            same(compiled[~silent], straight[~silent])
            if silent.any():
                same(score(other, np.repeat(codes, 500, axis=0), log_joint=log_joint)[::500], straight)
            answers.append(straight)
    same(answers[0], answers[2])
    same(answers[1], answers[3])


@every
@FEW
@given(table=tables())
def test_a_batch_is_answered_like_its_rows(name, table):
    model = make(name, table.n).fit(table.X, table.y)
    many = model.predict_proba(table.Q * 60)
    for row, proba in zip(table.dicts(table.queries), many, strict=False):
        same(list(model.predict_proba_one(row).values()), proba)


# --- priors, weights of classes, costs, ties --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nb", "tan", "aode", "a2de", "fanc", "kdb", "spode-0", "tan-marginal", "aode-3"])
@FEW
@given(table=tables(), seed=st.integers(0, 9))
def test_given_priors_take_the_place_of_the_learned_ones(name, table, seed):
    plain = make(name, table.n).fit(table.X, table.y)
    k = len(plain.classes_)
    priors = np.random.default_rng(seed).dirichlet(np.ones(k))
    model = make(name, table.n, priors=priors).fit(table.X, table.y)
    data = table.data()
    kind = plain.view_
    learned = [oracle.prior(data, y, (kind_of(plain))) for y in range(k)]
    expected = plain.predict_proba(table.Q) * priors / learned
    same(model.predict_proba(table.Q), expected / expected.sum(1, keepdims=True))
    named = make(name, table.n, priors=dict(zip(plain.classes_.tolist(), priors, strict=True)))
    same(named.fit(table.X, table.y).predict_proba(table.Q), model.predict_proba(table.Q))
    assert kind.counts is plain.counts_


def kind_of(model):

    rule = model.estimate
    return rule.kind, rule.strength


@every
@FEW
@given(table=tables())
def test_class_weights_multiply_the_odds(name, table):
    choosing = (
        "best",
        "best-some",
        "best-priors",
        "anytime-margin",
        "spode",
        "spode-resub",
        "spcr",
        "selective",
        "selective-01",
    )
    if name == "nb-balanced" or name in choosing:
        return  # those choose by probabilities, which weights move
    plain = make(name, table.n).fit(table.X, table.y)
    weights = dict(zip(plain.classes_.tolist(), [1.0, 3.0, 0.5], strict=False))
    model = make(name, table.n, class_weight=weights).fit(table.X, table.y)
    expected = plain.predict_proba(table.Q) * list(weights.values())
    if "ml" not in name:
        same(model.predict_proba(table.Q), expected / expected.sum(1, keepdims=True))


def test_balanced_weights_follow_the_counts():
    X, y = [["a"], ["b"], ["a"], ["b"]], [0, 1, 1, 1]
    model = NaiveBayes(class_weight="balanced").fit(X, y)
    model.predict_proba(X)
    model.partial_fit([["a"]] * 20, [0] * 20)
    again = NaiveBayes(class_weight="balanced").fit(X + [["a"]] * 20, y + [0] * 20)
    same(model.predict_proba(X), again.predict_proba(X))


def test_a_class_without_rows_has_no_balance_to_make_up_for():
    model = NaiveBayes(class_weight="balanced").partial_fit([["a"], ["b"]], [0, 1], classes=[0, 1, 2])
    assert model.predict([["a"]]) == [0]
    proper(model.predict_proba([["a"]]))


@FEW
@given(table=tables(), seed=st.integers(0, 9))
def test_costs_choose_the_least_expected_loss(table, seed):
    k = len(set(table.labels))
    costs = np.random.default_rng(seed).integers(0, 5, (k, k))
    model = AODE(cost_matrix=costs).fit(table.X, table.y)
    counts = model.counts_.class_counts
    proba = model.predict_proba(table.Q)
    expected = [model.classes_[oracle.cheapest(p, costs, counts)] for p in proba]
    assert model.predict(table.Q).tolist() == expected


def test_ties_go_to_the_class_with_more_rows_then_to_the_smaller():
    priors = {"m": 0.5, "z": 0.5}
    model = NaiveBayes(priors=priors).fit([["a"], ["a"], ["a"]], ["m", "z", "z"])
    assert model.predict([["a"], [None]]).tolist() == ["z", "z"]
    model = NaiveBayes(priors=priors).fit([["a"], ["a"]], ["z", "m"])
    assert model.predict([["a"]]).tolist() == ["m"]


# --- equalities between classifiers -----------------------------------------------------------------------------


@given(table=tables())
def test_fanc_without_parents_is_naive_bayes(table):
    naive = NaiveBayes().fit(table.X, table.y).predict_proba(table.Q)
    same(FANC(max_parents_from=0).fit(table.X, table.y).predict_proba(table.Q), naive)
    same(KDB(k=0, smoothing=1).fit(table.X, table.y).predict_proba(table.Q), naive)


@given(table=tables(max_columns=1))
def test_with_one_column_aode_is_its_spode_and_collections_are_naive_bayes(table):
    aode = AODE().fit(table.X, table.y).predict_proba(table.X)
    same(aode, SPODE(super_parent=0).fit(table.X, table.y).predict_proba(table.X))
    naive = NaiveBayes().fit(table.X, table.y).predict_proba(table.Q)
    for model in (FANC(), TAN(), TC(), SPC()):
        same(model.fit(table.X, table.y).predict_proba(table.Q), naive)


@given(table=tables(max_columns=3))
def test_up_to_three_columns_spc_and_tc_are_one(table):
    same(SPC().fit(table.X, table.y).predict_proba(table.Q), TC().fit(table.X, table.y).predict_proba(table.Q))


@given(table=tables())
def test_columns_without_values_or_with_one_value_leave_naive_bayes_unchanged(table):
    plain = NaiveBayes().fit(table.X, table.y).predict_proba(table.Q)
    wider = NaiveBayes().fit([[*row, None, "k"] for row in table.X], table.y)
    same(wider.predict_proba([[*row, None, "k"] for row in table.Q]), plain)


# --- unseen values ------------------------------------------------------------------------------------------------


def test_an_unseen_value_is_missing_or_counted_zero_or_refused():
    X, y = [["a", "p"], ["b", "q"], ["a", "q"]], [0, 1, 1]
    unseen, missing = [["zzz", "q"]], [[None, "q"]]
    model = NaiveBayes().fit(X, y)
    same(model.predict_proba(unseen), model.predict_proba(missing))
    smooth = NaiveBayes(unseen="smooth").fit(X, y).predict_log_joint([["zzz", "q"], [None, "q"]])
    same(np.exp(smooth[0] - smooth[1]), [1 / 3, 1 / 4])  # (0 + 1) / (1 + 2) and (0 + 1) / (2 + 2)
    with pytest.raises(DataError, match="was not seen in training"):
        NaiveBayes(unseen="error").fit(X, y).predict(unseen)


def test_marginal_tan_smooths_unseen_values_beside_missing_ones():
    X = [["a", "p", "u"], ["b", "q", "v"], ["a", "q", "v"], ["b", "p", "u"], ["a", "p", "v"]]
    model = TAN(missing="marginal", unseen="smooth").fit(X, [0, 1, 1, 0, 0])
    data = oracle.make([["abpquv".index(v) % 2 for v in row] for row in X], [0, 1, 1, 0, 0])
    terms = oracle.tree_terms(oracle.tan_parents(data))
    for row, x in (
        (["zzz", None, "u"], (oracle.UNSEEN, None, 0)),
        ([None, "zzz", None], (None, oracle.UNSEEN, None)),
        (["a", None, "zzz"], (0, None, oracle.UNSEEN)),
    ):
        expected = oracle.posterior(data, oracle.marginalised(data, x, terms))
        same(model.predict_proba([row])[0], expected)


# --- extremes -----------------------------------------------------------------------------------------------------


@every
def test_one_class_one_row_one_column(name):
    model = make(name, 1).fit([["a"]], ["only"])
    same(model.predict_proba([["a"], ["b"], [None]]), [[1.0]] * 3)
    assert model.predict([["b"]]) == ["only"]
    proper(model.leave_one_out([["a"]], ["only"]))


@every
def test_a_model_that_has_unlearned_everything_is_undecided(name):
    X, y = [["a", "p", "u"], ["b", "q", "v"], ["a", "q", "v"]], [0, 1, 1]
    model = make(name, 3).fit(X, y).unlearn(X, y)
    same(model.predict_proba([["a", "p", "u"], [None, None, None]]), [[0.5, 0.5]] * 2)
    model.partial_fit(X, y)
    same(model.predict_proba(X), make(name, 3).fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    ("model", "n"),
    [(NaiveBayes(), 10_000), (NaiveBayes(), 2000), (AODE(), 400), (TAN(), 400), (FANC(), 400), (HNB(), 400)],
    ids=repr,
)
def test_many_columns_do_not_underflow(model, n):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (30, n)).astype(np.uint8)
    y = np.repeat([0, 1], 15)
    model.fit(X, y)
    proper(model.predict_proba(X))
    proper(model.leave_one_out(X, y))
    assert np.isfinite(model.predict_log_joint(X)).all()
    # Of each half of the columns the other class has never seen the value.
    X = np.repeat(np.arange(2), 15)[:, None].repeat(n, axis=1).astype(np.uint8)
    mixed = np.concatenate([np.zeros(n // 2), np.ones(n - n // 2)]).astype(np.uint8)[None]
    proba = model.fit(X, y).predict_proba(np.repeat(mixed, 500, axis=0))
    proper(proba)
    if not isinstance(model, TAN | FANC):  # an order of the columns takes sides
        same(proba[0], [0.5, 0.5])
    same(proba, model.predict_proba(mixed).repeat(500, axis=0))


@pytest.mark.parametrize("model", [NaiveBayes(), *later(AODE(), TAN())], ids=repr)
def test_two_thousand_columns_do_not_underflow(model):
    n = 2000
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=2) for i in range(n)))
    X = np.repeat(np.arange(2), 2)[:, None].repeat(n, axis=1).astype(np.uint8)
    model.set_params(schema=schema, max_memory="3 GB")
    model.fit(X, [0, 0, 1, 1])
    mixed = np.concatenate([np.zeros(n // 2), np.ones(n // 2)]).astype(np.uint8)[None]
    proba = model.predict_proba(mixed)
    proper(proba)
    if not isinstance(model, TAN):
        same(proba, [[0.5, 0.5]])


def test_small_pseudo_counts_do_not_underflow_on_both_sides_of_a_super_parent():
    n = 33
    X = np.array([[0] * n, [1] * n], dtype=np.uint8)
    model = AODE(smoothing=2e-6).fit(X, [0, 1], sample_weight=[4e6, 2e6])
    row = X[:1].copy()
    row[0, 16] = 1
    joint = model.predict_log_joint(row)
    assert np.isfinite(joint).all()
    generic = View(model.counts_, model.structure_, model_estimate(model), fast=False)
    np.testing.assert_allclose(joint, score(generic, row, log_joint=True), rtol=1e-9)


def model_estimate(model):

    return model.estimate


# --- refusals -----------------------------------------------------------------------------------------------------


def test_counts_beyond_the_budget_are_refused_before_they_are_made():
    X = np.zeros((3, 300), dtype=np.uint8)
    for model in (AODE(max_memory="1 MB"), A2DE(max_memory="100 MB"), TC(max_memory=10**8), NaiveBayes(max_memory=100)):
        with pytest.raises(MemoryBudgetError, match=r"needs .* the budget is"):
            model.fit(X, [0, 1, 0])


def test_a_growing_vocabulary_stays_within_the_budget():
    model = AODE(max_memory="20 KB").fit([["a", "p"], ["b", "q"]], [0, 1])
    with pytest.raises(MemoryBudgetError):
        model.partial_fit([[f"v{i}", f"w{i}"] for i in range(200)], [0] * 200)


def test_a_vocabulary_may_grow_up_to_the_budget():
    """Room to grow further is taken only where the budget has it."""
    rows = [[f"v{i}", f"w{i}"] for i in range(20)]
    exact = AODE().fit(rows, [0, 1] * 10).counts_.nbytes
    model = AODE(max_memory=exact)
    for row in rows:
        model.partial_fit([row], [0], classes=[0, 1])
    assert model.counts_.n_rows == 20


def test_what_was_refused_for_memory_leaves_the_model_as_it_was():
    X, y = [["a", "p"], ["b", "q"], ["a", "q"]], [0, 1, 1]
    model = AODE(max_memory="2 KB").fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(MemoryBudgetError):
        model.partial_fit([[f"v{i}", f"w{i}"] for i in range(50)], [0] * 50)
    with pytest.raises(MemoryBudgetError):
        model.partial_fit(X * 10, np.arange(30))
    same(model.predict_proba(X), before)
    same(model.partial_fit(X, y).predict_proba(X), AODE().fit(X + X, y + y).predict_proba(X))


@pytest.mark.parametrize("order", ["random", [2, 1, 0], np.array([2, 1, 0])], ids=str)
def test_spc_counts_what_the_first_column_of_any_order_needs(order):
    X, y = [["a", "p", "u"], ["b", "q", "v"], ["a", "q", "v"]], [0, 1, 1]
    proper(SPC(column_order=order, random_state=1).fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [SPODE(super_parent=7), SPODE(super_parent="x9"), SPC(super_parent=7), SPC(super_parent="x9"), TAN(root=-1)],
    ids=repr,
)
def test_columns_that_do_not_exist_are_refused(model):
    with pytest.raises((SchemaMismatch, OptionError), match="column"):
        model.fit([["a", "p", "u"], ["b", "q", "v"]], [0, 1]).predict([["a", "p", "u"]])
