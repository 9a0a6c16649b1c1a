"""The option calibrate: left-out rows, class weights, streams, files, explanations, and what it does not go with."""

import numpy as np
import pytest
from sklearn.base import clone

from registry import small_table
from tanager import (
    AODE,
    SPODE,
    TAN,
    AdjustedNaiveBayes,
    AnytimeAODE,
    BestOf,
    GeneralNetwork,
    NaiveBayes,
    NBTree,
    OptionError,
    SchemaMismatch,
    Selective,
    Wrapped,
    load,
)
from tanager.learning.held_out import HeldOut, held_out_answers
from tanager.persist import from_bytes, to_bytes
from tanager.scoring.calibration import MOST_POWER, Calibration

X, y = small_table(120)


def powers(proba, power, offsets=0.0):
    z = power * np.log(proba) + offsets
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("model", [NaiveBayes(), AODE(gaussian=True), TAN(), SPODE(), NBTree()], ids=repr)
def test_answers_are_those_of_the_classifier_to_a_power(model):
    plain = clone(model).fit(X, y)
    sure = clone(model).set_params(calibrate=True).fit(X, y)
    found = sure.calibration_
    np.testing.assert_allclose(sure.predict_proba(X), powers(plain.predict_proba(X), found.power), rtol=1e-8)
    np.testing.assert_allclose(
        sure.leave_one_out(X, y), powers(plain.leave_one_out(X, y), found.power), rtol=1e-8, atol=1e-12
    )
    assert found.log_loss <= found.log_loss_before + 0.01


def test_leave_one_out_answers_are_what_is_calibrated_where_nothing_is_chosen():
    model = AODE(calibrate=True).fit(X, y)
    held = HeldOut.deal(model.memory)
    np.testing.assert_allclose(held_out_answers(model, held), AODE().fit(X, y).leave_one_out(X, y)[held.rows])


@pytest.mark.parametrize("model", [TAN(), TAN(gaussian=True), GeneralNetwork()], ids=repr)
def test_a_fold_is_answered_as_if_it_had_never_been_seen(model):
    model = clone(model).set_params(calibrate=True).fit(X, y)
    held = HeldOut.deal(model.memory, n_folds=4)
    assert sorted(held.rows.tolist()) == list(range(len(y)))
    answers = held_out_answers(model, held)
    for fold in range(4):
        test = held.rows[held.fold == fold]
        rest = clone(model).set_params(calibrate=False)
        rest.fit_schema(X, y)
        rest.encoder_ = model.encoder_
        rest._start_model()
        rows = model.memory.rows.block
        rest.memory.add(rows.part(np.setdiff1d(np.arange(len(y)), test)))
        expected = rest.scorer_.score(rows.part(test).query)
        np.testing.assert_allclose(answers[held.fold == fold], expected, rtol=1e-9, atol=1e-12)


def test_of_many_rows_a_part_is_asked_about():
    model = NaiveBayes(calibrate=True).fit(X, y)
    held = HeldOut.deal(model.memory, n_folds=5, most=30)
    assert 20 <= held.weights.sum() <= 40
    assert set(held.fold.tolist()) == set(range(5))


def test_class_weights_multiply_calibrated_odds():
    plain = AODE(calibrate=True).fit(X, y)
    weighted = AODE(calibrate=True, class_weight={"low": 2.0, "mid": 1.0, "top": 0.5}).fit(X, y)
    assert weighted.calibration_.power == pytest.approx(plain.calibration_.power)
    expected = plain.predict_proba(X) * [2.0, 1.0, 0.5]
    np.testing.assert_allclose(weighted.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-8)


def test_explanations_add_up_to_calibrated_odds():
    model = NaiveBayes(calibrate=True, class_weight={"low": 2.0, "mid": 1.0, "top": 0.5}).fit(X, y)
    why = model.explain(X[:1])
    proba = dict(zip(model.classes_.tolist(), model.predict_proba(X[:1])[0].tolist(), strict=True))
    assert why.log_odds == pytest.approx(np.log(proba[why.answer] / proba[why.against]))
    assert why.probability == pytest.approx(proba[why.answer])


def test_a_saved_model_answers_the_same_and_learns_on(tmp_path):
    for model in (NaiveBayes(calibrate=True), TAN(calibrate=True), GeneralNetwork(calibrate=True)):
        model.fit(X, y).save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.calibration_ == model.calibration_
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        for one in (model, again):
            one.partial_fit(X[:20], y[:20])
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_stream_calibrates_again_when_rows_have_grown_by_a_quarter_and_a_batch_at_once():
    model = NaiveBayes(calibrate=True).fit(X[:100], y[:100])
    first = model.calibration_
    rows = [dict(zip([f"x{i}" for i in range(5)], row, strict=True)) for row in X[100:].tolist()]
    model = NaiveBayes(calibrate=True, categorical=range(5)).fit([*rows] * 5, [*y[100:]] * 5)
    first = model.calibration_
    for row, label in zip(rows, y[100:], strict=True):
        model.learn_one(row, label)
        model.predict_proba_one(row)
    assert model._answering._calibration is first  # 20 rows more than 100
    for row, label in zip(rows[:6], y[100:], strict=False):
        model.learn_one(row, label)
        model.predict_proba_one(row)
    assert model._answering._calibration is not first
    second = model._answering._calibration
    model.predict_proba(rows)
    assert model._answering._calibration is second or model._answering._calibration.n_rows == 126


def test_models_that_forget_calibrate_by_the_rows_that_still_count():
    model = AODE(calibrate=True, window=50).fit(X, y)
    assert model.calibration_.n_rows == 50
    faded = AODE(calibrate=True, decay=0.99).fit(X, y)
    assert faded.calibration_.power > 0


def test_merged_models_calibrate_by_the_rows_of_both():
    schema = AODE().fit(X, y).encoder_.schema
    a, b = (AODE(calibrate=True, schema=schema).fit(X[part], y[part]) for part in (slice(60), slice(60, None)))
    whole = AODE(calibrate=True, schema=schema).fit(X, y)
    np.testing.assert_allclose(a.merge(b).predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_what_calibrate_does_not_go_with_is_refused():
    counts = AODE().fit(X, y).counts_
    with pytest.raises(SchemaMismatch, match="counts do not hold"):
        AODE.from_counts(counts, calibrate=True)
    for model, words in (
        (AODE(calibrate="yes"), "True or False"),
        (AODE(calibrate=True, priors=[0.2, 0.3, 0.5]), "priors"),
        (AnytimeAODE(calibrate=True), "AODE or A2DE"),
        (BestOf([NaiveBayes(calibrate=True)]), "BestOf itself"),
        (Selective(TAN(calibrate=True)), "Selective itself"),
        (Wrapped(GeneralNetwork(calibrate=True)), "Wrapped itself"),
        (NBTree(leaf=AODE(calibrate=True)), "to the tree"),
    ):
        with pytest.raises(OptionError, match=words):
            model.fit(X, y)


def test_the_calibration_of_provisional_columns_is_not_kept_when_columns_are_fixed():
    asked, silent = (TAN(calibrate=True, refresh=float("inf"), warm_up=60) for _ in range(2))
    for model in (asked, silent):
        model.partial_fit(X[:30], y[:30])
        if model is asked:
            model.predict_proba(X[:5])
        model.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(asked.predict_proba(X), silent.predict_proba(X))


def test_gaussian_models_without_a_column_of_numbers_are_calibrated():
    """Folds were to share counts, which "do not hold numbers", though there were none."""
    rows = X[:, [2, 4]]
    plain = TAN(calibrate=True).fit(rows, y)
    np.testing.assert_allclose(
        TAN(gaussian=True, calibrate=True).fit(rows, y).predict_proba(rows), plain.predict_proba(rows)
    )


def test_gaussian_models_whose_rows_were_all_taken_away_are_calibrated_again():
    model = TAN(gaussian=True, calibrate=True).partial_fit(X[:6], y[:6])
    model.unlearn(X[:6], y[:6])
    loaded = from_bytes(to_bytes(model))
    loaded.partial_fit(X[6:30], y[6:30])
    np.testing.assert_allclose(loaded.predict_proba(X).sum(axis=1), 1.0)


def test_the_order_of_rows_changes_no_calibration_of_gaussian_models():
    """Rows of the same codes were dealt out to folds in the order in which they came, whatever their numbers."""
    schema = AODE().fit(X, y).encoder_.schema
    order = np.random.default_rng(0).permutation(len(X))
    model, other = (TAN(gaussian=True, calibrate=True, schema=schema).fit(X[at], y[at]) for at in (slice(None), order))
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-6)


def test_rows_without_weight_choose_nothing():
    """They were kept, and thresholds lay beside them."""
    X = [["a", "p"], ["b", "q"], ["a", "q"], ["b", "p"], ["a", "q"], ["a", "p"]]
    model = AdjustedNaiveBayes().fit(X, [0, 1, 1, 0, 1, 0], sample_weight=[1, 1, 0, 1, 1, 0])
    assert len(model.memory.rows) == 4


def test_answers_that_are_even_but_for_rounding_are_not_made_sure():
    half = np.array([[0.5 - 1e-16, 0.5 + 1e-16]] * 3)
    labels = np.array([1, 1, 1])
    assert Calibration.fit(half, labels, None, "leave-one-out").power == 1.0
    hardly = np.array([[0.5 - 1e-8, 0.5 + 1e-8]] * 3)
    assert Calibration.fit(hardly, labels, None, "leave-one-out").power == MOST_POWER


@pytest.mark.parametrize("change", ["merge", "new value", "new class"])
def test_a_calibration_that_lags_behind_is_in_the_file_without_a_structure(change):
    model = TAN(calibrate=True, schema=None).fit(X, y)
    model.stream_proba(X)
    if change == "merge":
        model.merge(TAN(calibrate=True, schema=model.counts_.schema).partial_fit(X[:9], y[:9], classes=model.classes_))
    else:
        odd = X[:1].copy()
        odd[0, -1] = "never seen" if change == "new value" else odd[0, -1]
        model.partial_fit(odd, ["never seen"] if change == "new class" else y[:1])
    again = from_bytes(to_bytes(model))
    np.testing.assert_allclose(again.stream_proba(X), model.stream_proba(X), rtol=1e-9)


@pytest.mark.parametrize("pool", [None, "log"])
def test_a_loaded_best_of_is_calibrated_as_the_saved_one_would_have_been(pool):
    model = BestOf([NaiveBayes(), TAN()], pool=pool, calibrate=True).fit(X[:60], y[:60])
    model.partial_fit(X[60:70], y[60:70])
    _ = model.structure_  # follows all rows, and the calibration not yet
    again = from_bytes(to_bytes(model))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)
