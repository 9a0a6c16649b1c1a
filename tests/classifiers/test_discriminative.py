"""Parameters by conditional likelihood: the search for them, and the doors that all classifiers have."""

import pickle
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

from profiles import later, spread
from registry import name_of, small_table
from strategies import tables
from tanager import BAN, FAN, TAN, NaiveBayes, evaluate, files, load, persist
from tanager.counts.block import Block
from tanager.errors import MemoryBudgetError, ModelFileError, OptionError, SchemaMismatch
from tanager.scoring.discriminative import perfect
from tanager.scoring.forms import ProductOfSums
from tanager.scoring.parameters import Cells, Exponents, Probabilities, Tables, fit_parameters, maximise

WAYS = ["conditional_likelihood", "elr", "weights"]
MODELS = [
    NaiveBayes(fit_by="conditional_likelihood"),
    TAN(fit_by="conditional_likelihood"),
    TAN(fit_by="elr", penalty=0.5),
    FAN(fit_by="weights", criterion="aic", unseen="smooth"),
    BAN(fit_by="conditional_likelihood"),
    TAN(fit_by="factor_weights", smoothing=0.5),
]
every_way = pytest.mark.parametrize("fit_by", WAYS)
every_model = spread("model", MODELS, ids=name_of)


def fresh(model, **options):
    return type(model)(**model.get_params() | options)


def learned_tables(model, table, kind):
    """Numbers of a kind at the start, and the rows, of a classifier that has counted a table."""
    model.fit(table.X, table.y, sample_weight=table.w)
    view = model.view_
    where = Tables(view)
    labels = np.searchsorted(model.classes_, table.y).astype(np.uint8)
    numbers = kind(where, *where.generative(view))
    return where, numbers, (model.encode(table.X).codes, labels, table.w)


# --- the search --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Cells, Probabilities, Exponents])
@given(table=tables(weighted=True), seed=st.integers(0, 99))
def test_the_gradient_is_that_of_finite_differences(kind, table, seed):
    where, numbers, rows = learned_tables(TAN(unseen="smooth"), table, kind)
    learned = where.kernel.rows(*rows)
    rng = np.random.default_rng(seed)
    here = numbers.start + rng.normal(size=len(numbers.start))
    d_prior, d_cells = np.empty(where.n_classes), np.empty((where.n_places, where.n_classes))

    def value(x):
        return learned.gradient(*numbers.tables(x), d_prior, d_cells)

    value(here)
    slope = numbers.pull(here, d_prior, d_cells)
    for i in rng.choice(len(here), min(8, len(here)), replace=False):
        step = np.zeros(len(here))
        step[i] = 1e-5
        np.testing.assert_allclose(slope[i], (value(here + step) - value(here - step)) / 2e-5, atol=1e-5)


@every_way
@given(table=tables(weighted=True))
def test_held_by_a_heavy_penalty_the_answers_are_the_counted_ones(fit_by, table):
    for kind, options in ((NaiveBayes, {}), (TAN, {"unseen": "smooth"}), (FAN, {"priors": None, "smoothing": 0.5})):
        counted = kind(**options).fit(table.X, table.y, sample_weight=table.w)
        held = kind(fit_by=fit_by, penalty=1e12, **options).fit(table.X, table.y, sample_weight=table.w)
        np.testing.assert_allclose(held.predict_proba(table.Q), counted.predict_proba(table.Q), atol=1e-7)


@every_way
@given(table=tables(weighted=True), penalty=st.sampled_from([0.0, 0.1, 1.0]))
def test_the_classes_never_become_less_probable(fit_by, table, penalty):
    model = TAN(fit_by=fit_by, penalty=penalty).fit(table.X, table.y, sample_weight=table.w)
    assert model.fitting_.after >= model.fitting_.before - 1e-9
    own = model.predict_log_proba(table.X)[np.arange(len(table.y)), np.searchsorted(model.classes_, table.y)]
    np.testing.assert_allclose(own @ table.w, model.fitting_.after, rtol=1e-9, atol=1e-9)


def some_rows(m=600, n=5, k=3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, m)
    X = np.stack([(rng.integers(0, 2 + i % 3, m) + (rng.random(m) < 0.4) * y) % (2 + i % 3) for i in range(n)], axis=1)
    X[:, 1] = np.where(rng.random(m) < 0.7, X[:, 0], X[:, 1])
    codes = X.astype(np.uint8)
    codes[rng.random(codes.shape) < missing] = 255
    return codes, y


def test_from_zero_it_is_the_logistic_regression_of_scikit_learn():
    X, y = some_rows()
    view = NaiveBayes().fit(X, y).view_
    where = Tables(view)
    from_zero = Cells(where, np.zeros(3), np.zeros((where.n_places, 3)))
    rows = where.kernel.rows(X, y.astype(np.uint8))
    numbers, _ = maximise(from_zero, rows, 2.0, len(y))
    prior, cells = from_zero.tables(numbers)
    proba = np.empty((len(y), 3))
    where.kernel.score(X, prior, cells, proba)
    # Our prior is penalised like everything else: a constant column stands for it.
    hot = np.hstack([np.ones((len(y), 1)), OneHotEncoder(sparse_output=False).fit_transform(X)])
    peer = LogisticRegression(C=1 / 2.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(hot, y)
    np.testing.assert_allclose(peer.coef_, np.vstack([prior, cells]).T, atol=1e-4)
    np.testing.assert_allclose(proba, peer.predict_proba(hot), atol=1e-5)


def test_at_the_maximum_the_penalty_balances_the_slope():
    X, y = some_rows(missing=0.1)
    model = TAN(fit_by="conditional_likelihood", penalty=0.7).fit(X, y)
    found, view = model.scorer_.parameters, model.view_
    prior, cells = found.tables.generative(view)
    d_prior, d_cells = np.empty_like(prior), np.empty_like(cells)
    found.tables.kernel.rows(X, y.astype(np.uint8)).gradient(found.prior, found.cells, d_prior, d_cells)
    np.testing.assert_allclose(d_prior, 0.7 * (found.prior - prior), atol=1e-3)
    np.testing.assert_allclose(d_cells, 0.7 * (found.cells - cells), atol=1e-3)


@pytest.mark.parametrize("kind", [NaiveBayes, TAN])
def test_from_two_starts_the_same_maximum_is_found(kind):
    X, y = some_rows(m=3000)
    near, far = (kind(fit_by="conditional_likelihood", penalty=0, smoothing=s).fit(X, y) for s in (1, 300))
    assert near.fitting_.before > far.fitting_.before
    np.testing.assert_allclose(near.fitting_.after, far.fitting_.after, rtol=1e-7)
    np.testing.assert_allclose(near.predict_proba(X), far.predict_proba(X), atol=1e-3)


def test_a_column_that_came_twice_no_longer_counts_twice():
    X, y = some_rows(n=2, k=2)
    twice = X[:, [0, 1, 1, 1, 1]]
    fit_by = {"fit_by": "conditional_likelihood", "penalty": 1e-6}
    alone = NaiveBayes(**fit_by).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(NaiveBayes(**fit_by).fit(twice, y).predict_proba(twice), alone, atol=1e-3)
    assert np.abs(NaiveBayes().fit(twice, y).predict_proba(twice) - alone).max() > 0.1
    weights = NaiveBayes(fit_by="weights", penalty=0).fit(twice, y).weights_
    assert sum(weights[f"x{i}"] for i in (1, 2, 3, 4)) < 2


@every_way
def test_a_weight_is_a_repetition(fit_by):
    X, y = some_rows(m=150, missing=0.1)
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = TAN(fit_by=fit_by).fit(X, y, sample_weight=weights)
    repeated = TAN(fit_by=fit_by).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(weighted.fitting_.after, repeated.fitting_.after, rtol=1e-9)


@dataclass(eq=False, repr=False, kw_only=True)
class Collider(NaiveBayes):
    """The third column has the first two as parents, which have nothing to do with each other."""

    def counts_shape(self, schema):
        return {"order": 3}

    def _structure(self, counts, rows):
        return ProductOfSums.one_each([(), (), (0, 1)])


@pytest.mark.parametrize("model", [Collider(fit_by="conditional_likelihood"), TAN(fit_by="elr")], ids=["v", "tan"])
def test_a_network_that_must_stay_one_does(model):
    X, y = some_rows(n=3, missing=0.1)
    model.fit(X, y)
    found = model.scorer_.parameters
    np.testing.assert_allclose(np.exp(found.prior).sum(), 1, rtol=1e-12)
    for t in range(len(found.tables.shapes)):
        sums = np.exp(found.tables.of_term(found.cells, t)).sum(axis=-2)
        np.testing.assert_allclose(sums, 1, rtol=1e-12)
    assert model.fitting_.after > model.fitting_.before + 1


@every_way
def test_a_start_with_one_of_two_parents_missing_has_the_other(fit_by):
    X, y = some_rows(n=3, missing=0.3)
    counted, held = Collider().fit(X, y), Collider(fit_by=fit_by, penalty=1e12).fit(X, y)
    np.testing.assert_allclose(held.predict_proba(X), counted.predict_proba(X), atol=1e-7)


def test_free_cells_of_a_perfect_form_are_no_probabilities():
    X, y = some_rows()
    found = TAN(fit_by="conditional_likelihood").fit(X, y).scorer_.parameters
    assert np.abs(np.exp(found.tables.of_term(found.cells, 0)).sum(axis=-2) - 1).max() > 0.01


@every_way
@pytest.mark.parametrize("kind", [TAN, FAN, BAN])
def test_the_tables_of_the_network_give_the_same_answers_to_rows_without_gaps(kind, fit_by):
    codes, y = some_rows(n=5, m=300)
    X = [[f"v{v}" for v in row] for row in codes]
    model = kind(fit_by=fit_by, unseen="smooth").fit(X, y)
    network, names = model.network_, model.encoder_.schema.names
    for row, proba in zip(X[:9], model.predict_proba(X[:9]), strict=True):
        np.testing.assert_allclose(network.posterior("class", dict(zip(names, row, strict=True))), proba, atol=1e-9)


def test_where_no_tables_give_the_same_answers_there_are_none():
    X, y = some_rows(n=3)
    found = Collider(fit_by="weights").fit(X, y).scorer_.parameters
    assert replace(found, cells=found.cells * 0.5).probabilities()[1] == {}


def test_perfect_forms_are_told_from_others():
    assert perfect(ProductOfSums.one_each([(), (0,), (1,)]))
    assert perfect(ProductOfSums.one_each([(), (0,), (1, 0)]))
    assert not perfect(ProductOfSums.one_each([(), (), (0, 1)]))


# --- missing and unseen ------------------------------------------------------------------------------------------


def test_a_missing_parent_is_a_context_of_its_own_and_is_learned():
    """x1 repeats x0 where x0 is there; where x0 is missing, x1 = "u" means class 1, which TAN's counts cannot say."""
    rows = [["a", "u", 0], ["b", "v", 0], ["a", "u", 0], ["b", "v", 1]] * 20 + [[None, "u", 1], [None, "v", 0]] * 20
    X, y = [row[:2] for row in rows], [row[2] for row in rows]
    counted, learned = TAN(root=0).fit(X, y), TAN(root=0, fit_by="conditional_likelihood").fit(X, y)
    assert counted.parents_["x1"] == ("x0",)
    assert counted.predict([[None, "u"]]) == [0]
    assert learned.predict([[None, "u"]]) == [1]
    assert learned.predict([["a", "u"]]) == [0]


def test_nothing_known_gives_the_learned_prior():
    X, y = some_rows(missing=0.2)
    model = NaiveBayes(fit_by="conditional_likelihood").fit(X, y)
    prior = np.exp(model.scorer_.parameters.prior)
    np.testing.assert_allclose(model.predict_proba([[255] * 5])[0], prior / prior.sum(), rtol=1e-12)


@every_way
def test_an_unseen_value_is_missing_or_has_its_counted_place(fit_by):
    X = [["a", "u"], ["b", "v"], ["a", "v"], ["b", "u"], ["b", "u"]] * 4
    y = [0, 1, 0, 1, 0] * 4
    ignoring = NaiveBayes(fit_by=fit_by).fit(X, y)
    np.testing.assert_allclose(ignoring.predict_proba([["new", "u"]]), ignoring.predict_proba([[None, "u"]]))
    smoothing = NaiveBayes(fit_by=fit_by, unseen="smooth").fit(X, y)
    parts = smoothing.explain({"x0": "new", "x1": "u"}, answer=0, against=1).parts
    expected = np.log((8 + 2) / (12 + 2))  # P(new | 0) = 1 / 14, P(new | 1) = 1 / 10, and these stay
    if fit_by != "weights":
        np.testing.assert_allclose(next(p.log_odds for p in parts if p.column == "x0"), expected)


# --- the doors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [NaiveBayes(fit_by="conditional_likelihood"), *later(TAN(fit_by="elr"), FAN(fit_by="weights"))], ids=repr
)
def test_scikit_learn_checks(model):
    check_estimator(model, on_skip=None)


@every_model
def test_chunks_equal_the_whole_and_unlearned_rows_were_never_there(model):
    X, y = some_rows(m=120, missing=0.1)
    whole = fresh(model).fit(X, y)
    parts = fresh(model).fit(X[:50], y[:50])
    parts.predict_proba(X[:3])
    parts.partial_fit(X[50:], y[50:])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-5)
    extra = fresh(model).fit(np.vstack([X, X[:30]]), np.concatenate([y, y[::-1][:30]]))
    extra.unlearn(X[:30], y[::-1][:30])
    np.testing.assert_allclose(extra.predict_proba(X), whole.predict_proba(X), atol=1e-5)
    left, right = fresh(model).fit(X[:60], y[:60]), fresh(model).fit(X[60:], y[60:])
    np.testing.assert_allclose(left.merge(right).predict_proba(X), whole.predict_proba(X), atol=1e-5)


@every_model
def test_single_rows_get_the_answers_of_a_batch(model):
    X, y = small_table()
    model = fresh(model).fit(X, y)
    for row, proba in zip(X[:9], model.predict_proba(X[:9]), strict=True):
        one = model.predict_proba_one({f"x{i}": cell for i, cell in enumerate(row)})
        np.testing.assert_allclose(list(one.values()), proba, rtol=1e-12)
    streamed = fresh(model).test_then_train(X[:40], y[:40])
    np.testing.assert_allclose(streamed.sum(axis=1), 1)


@every_model
def test_explanations_add_up(model):
    X, y = small_table()
    model = fresh(model, class_weight="balanced").fit(X, y)
    for row, proba in zip(X[:9], model.predict_log_proba(X[:9]), strict=True):
        told = model.explain([list(row)], answer="low", against="top")
        np.testing.assert_allclose(told.log_odds, proba[0] - proba[2], atol=1e-9)
        np.testing.assert_allclose(told.prior + sum(told.columns.values()), told.log_odds, atol=1e-9)


@every_model
def test_priors_class_weights_and_costs_act_on_the_posterior(model):
    X, y = small_table()
    plain = fresh(model).fit(X, y).predict_proba(X)
    share = plain * [1, 2, 3]
    weighted = fresh(model, class_weight={"mid": 2, "top": 3}).fit(X, y)
    np.testing.assert_allclose(weighted.predict_proba(X), share / share.sum(axis=1, keepdims=True), atol=1e-9)
    given_priors = fresh(model, priors=[0.2, 0.3, 0.5]).fit(X, y)
    counted = fresh(model, fit_by="likelihood").fit(X, y).predict_proba([[None] * 5])
    share = plain * [0.2, 0.3, 0.5] / counted
    np.testing.assert_allclose(given_priors.predict_proba(X), share / share.sum(axis=1, keepdims=True), atol=1e-9)
    afraid = fresh(model, cost_matrix=[[0, 0, 1], [0, 0, 1], [9, 9, 0]]).fit(X, y)
    assert (afraid.predict(X) == "top").sum() > (fresh(model).fit(X, y).predict(X) == "top").sum()
    one_class = fresh(model, class_weight={"low": 0, "mid": 0}).fit(X, y)
    np.testing.assert_allclose(one_class.predict_proba(X), [[0, 0, 1]] * len(X))


@every_model
def test_a_saved_model_answers_the_same_without_learning_again(model, tmp_path, monkeypatch):
    X, y = small_table()
    model = fresh(model).fit(X, y)
    model.save(tmp_path / "a.tanager")
    copied = pickle.loads(pickle.dumps(model))

    def refuse(*args):
        raise AssertionError("learned again")

    monkeypatch.setattr("tanager.scoring.discriminative.fit_parameters", refuse)
    for other in (load(tmp_path / "a.tanager"), copied):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert other.fitting_ == model.fitting_
    if model.fit_by == "weights":
        assert load(tmp_path / "a.tanager").weights_ == model.weights_
    monkeypatch.undo()
    again = load(tmp_path / "a.tanager").partial_fit(X[:40], y[:40])
    np.testing.assert_allclose(again.predict_proba(X), model.partial_fit(X[:40], y[:40]).predict_proba(X), atol=1e-9)


@every_model
def test_parameters_that_lag_behind_a_stream_do_so_after_loading(model):
    X, y = small_table(300)
    rows = [{f"x{i}": cell for i, cell in enumerate(row)} for row in X]
    model = fresh(model).fit(X, y)
    model.learn_one(rows[0], "top")
    other = persist.from_bytes(persist.to_bytes(model))
    assert other.predict_proba_one(rows[1]) == model.predict_proba_one(rows[1])
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))  # both learned anew by now
    third = persist.from_bytes(persist.to_bytes(fresh(model).fit(X, y).learn_one(rows[0], "top")))
    np.testing.assert_array_equal(third.predict_proba(X), model.predict_proba(X))


def test_stored_parameters_that_do_not_fit_are_refused(monkeypatch):
    model = NaiveBayes(fit_by="conditional_likelihood").fit(*some_rows())
    arrays = model.scorer_.to_arrays()
    for name in arrays:
        for bad in (arrays[name][..., :-1], np.full_like(arrays[name], np.nan), arrays[name].astype(np.float32)):
            if bad.size == 0 and name == "parameters-exponents":
                continue
            monkeypatch.setattr(model.scorer_, "to_arrays", lambda name=name, bad=bad: arrays | {name: bad})
            with pytest.raises(ModelFileError, match=r"the parameters hold .* at parameters-"):
                persist.from_bytes(persist.to_bytes(model))


def test_cross_validation_takes_part_and_sees_that_it_helps():
    X, y = some_rows(n=2, k=2)
    models = {"NB": NaiveBayes(), "logistic": NaiveBayes(fit_by="conditional_likelihood"), "TAN": TAN(fit_by="elr")}
    results = evaluate.cross_validate(models, X[:, [0, 1, 1, 1, 1]], y, folds=3, n_jobs=1)
    log_loss = {line["classifier"]: line["log_loss"] for line in results.summary().to_dicts()}
    assert log_loss["logistic"] < log_loss["NB"] - 0.01
    assert log_loss["TAN"] < log_loss["NB"] - 0.01
    with pytest.raises(OptionError, match="cross_validate"):
        evaluate.leave_one_out(models, X, y)


def test_a_model_learned_from_a_file_is_not_measured_by_leaving_rows_out(tmp_path):
    X, y = some_rows(m=60)
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "".join(f"v{a},v{b},c{c}\n" for (a, b), c in zip(X[:, :2].tolist(), y, strict=True)))
    learned = files.learn(NaiveBayes(fit_by="weights"), files.open_table(path), "y")
    assert learned.left_out is None
    assert learned.model.weights_


def test_the_examples_of_the_guide_run(capsys):
    page = (Path(__file__).parents[2] / "docs" / "conditional-likelihood.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(compile(code, "conditional-likelihood.md", "exec"), names)
    weights = names["weighted"].weights_
    np.testing.assert_allclose(weights["x0"] + weights["x1"], 1, atol=0.2)
    assert "Fitting(before=" in capsys.readouterr().out


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (NaiveBayes(fit_by="conditional"), "fit_by='conditional' is not an option.*conditional_likelihood"),
        (TAN(penalty=-1), "penalty=-1"),
        (TAN(penalty=None), "penalty=None"),
        (NaiveBayes(fit_by="elr", gaussian=True), "Leave gaussian out"),
        (NaiveBayes(fit_by="weights", subsumption=5), "Leave subsumption out"),
        (FAN(fit_by="elr", missing="marginal"), 'Leave missing="marginal" out'),
    ],
    ids=lambda x: name_of(x) if not isinstance(x, str) else "",
)
def test_options_that_mean_nothing_are_refused(model, words):
    with pytest.raises(OptionError, match=words):
        model.fit([["a"], ["b"]], [0, 1])


def test_what_needs_rows_is_refused_without_them():
    X, y = some_rows()
    model = TAN(fit_by="conditional_likelihood").fit(X, y)
    with pytest.raises(OptionError, match="cross_validate"):
        model.leave_one_out(X, y)
    with pytest.raises(SchemaMismatch, match="Fit on the rows again"):
        TAN.from_counts(model.counts_, fit_by="elr")
    model.counts_.decay(0.5)
    with pytest.raises(SchemaMismatch, match="faded"):
        model.predict(X)
    assert NaiveBayes().fit(X, y).fitting_ is None
    with pytest.raises(AttributeError, match='fit_by="weights"'):
        model.weights_  # noqa: B018


def test_tables_beyond_the_budget_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 100, (500, 2)).astype(np.uint8), rng.integers(0, 4, 500)
    TAN(max_memory="3 MB").fit(X, y)
    with pytest.raises(MemoryBudgetError, match="conditional likelihood needs 13 MB"):
        TAN(max_memory="3 MB", fit_by="conditional_likelihood").fit(X, y)


def test_fewer_rows_than_anything_still_give_an_answer():
    for fit_by in WAYS:
        model = NaiveBayes(fit_by=fit_by).fit([["a", None]], ["only"])
        assert model.predict([["b", "c"]]) == ["only"]
        model.unlearn([["a", None]], ["only"])
        assert model.predict([["a", "c"]]) == ["only"]


def test_parameters_need_no_classifier():
    X, y = some_rows()
    view = NaiveBayes().fit(X, y).view_
    found = fit_parameters(Tables(view), view, Block(X, y.astype(np.uint8)), Cells, 1.0)
    model = NaiveBayes(fit_by="conditional_likelihood").fit(X, y)
    np.testing.assert_array_equal(found.score(X, view, log_joint=False, n_jobs=1), model.predict_proba(X))
