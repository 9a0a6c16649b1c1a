"""scikit-learn's checks and ours, over every public classifier."""

from __future__ import annotations

import contextlib
import copy
import pickle
import warnings
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from profiles import in_turn, later, spread
from registry import ALL, COUNTING, PLAIN, name_of, small_table, without_an_instance
from tanager import AODE, TAN, DataWarning, NaiveBayes, NetworkForest, Wrapped
from tanager.learning.counts_classifier import CountsClassifier
from tanager.plain import to_plain

every = spread("model", PLAIN, ids=name_of)
every_option = spread("model", ALL, ids=name_of)

# Checks of scikit-learn that may fail, with the reason; the only place for them.
EXPECTED_TO_FAIL: dict[str, str] = {}


def test_every_public_classifier_has_an_instance_in_the_registry() -> None:
    missing = without_an_instance()
    assert not missing, (
        f"{', '.join(missing)}: public, and no law is tested on it. Add a line to INSTANCES in tests/registry.py, "
        f'such as "{missing[0].lower()}": lambda n: {missing[0]}().'
    )


CHECKED = [
    *(cls() for cls in COUNTING if cls is not Wrapped),
    Wrapped(grid=[0.05, 0.2], folds=2),
    NaiveBayes(gaussian=True),
    AODE(unseen="smooth"),
    *later(Wrapped(), NaiveBayes(bins="frequency")),
]


@pytest.mark.parametrize("model", CHECKED, ids=name_of)
def test_scikit_learn_checks(model: CountsClassifier) -> None:
    """All of them in a thorough run; in a quick one each classifier takes a third, and all checks are taken by some."""
    checks = list(estimator_checks_generator(model, expected_failed_checks=EXPECTED_TO_FAIL, mark="skip"))
    for estimator, check in in_turn(checks, name_of(model)):
        with contextlib.suppress(SkipTest):
            check(estimator)


def numbers(n_rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n_rows, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) / 2 > 0).astype(int)


# --- the tools of scikit-learn -----------------------------------------------------------------------------------


@every
def test_it_works_in_a_pipeline(model: CountsClassifier) -> None:
    X, y = numbers()
    pipeline = make_pipeline(StandardScaler(), SelectKBest(k=3), clone(model)).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    assert pipeline.predict_proba(X).shape == (len(X), 2)


@every
def test_it_works_in_a_grid_search(model: CountsClassifier) -> None:
    X, y = numbers()
    grid: dict[str, Any] = {"ess" if hasattr(model, "ess") else "smoothing": [0.1, 10.0]}
    if isinstance(model, NetworkForest):
        grid = {"n_members": [2, 4]}
    search = GridSearchCV(clone(model), grid | {"n_bins": [2]}, cv=2, scoring="neg_log_loss")
    assert search.fit(X, y).best_params_["n_bins"] == 2
    assert search.best_estimator_.predict(X).shape == y.shape


@every
def test_cross_validation_works_on_mixed_tables(model: CountsClassifier) -> None:
    X, y = small_table()
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.4


def test_probabilities_can_be_calibrated() -> None:
    X, y = numbers()
    model = CalibratedClassifierCV(NaiveBayes(), cv=3).fit(X, y)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


@every_option
def test_clones_have_the_same_options_and_no_memory(model: CountsClassifier) -> None:
    X, y = small_table()
    fitted = clone(model).fit(X, y)
    again = clone(fitted)
    assert not hasattr(again, "classes_")
    assert to_plain(again, "") == to_plain(model, "")
    assert (again.fit(X, y).predict_proba(X) == fitted.predict_proba(X)).all()


@pytest.mark.long  # test_fitted_models_work_in_other_processes is quicker
def test_grid_search_runs_in_two_processes() -> None:
    X, y = numbers()
    search = GridSearchCV(TAN(), {"smoothing": [0.1, 1.0]}, cv=2, n_jobs=2).fit(X, y)
    alone = GridSearchCV(TAN(), {"smoothing": [0.1, 1.0]}, cv=2).fit(X, y)
    assert (search.predict_proba(X) == alone.predict_proba(X)).all()


# --- names of columns --------------------------------------------------------------------------------------------

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def columns() -> tuple[dict[str, list[Any]], list[str]]:
    _, y = small_table()
    rng = np.random.default_rng(1)
    table = {
        "colour": rng.choice(["red", "green"], len(y)).tolist(),
        "size": rng.normal(size=len(y)).tolist(),
        "count": rng.integers(0, 4, len(y)).tolist(),
    }
    return table, y.tolist()


@FRAMES
@every
def test_column_names_are_remembered(model: CountsClassifier, frame: Any) -> None:
    table, y = columns()
    fitted = clone(model).fit(frame(table), y)
    assert fitted.feature_names_in_.tolist() == ["colour", "size", "count"]
    assert fitted.feature_names_in_.dtype == object
    assert fitted.n_features_in_ == 3


@FRAMES
def test_both_kinds_of_frames_give_the_same_answers(frame: Any) -> None:
    table, y = columns()
    expected = AODE().fit(table, y).predict_proba(table)
    assert (AODE().fit(frame(table), y).predict_proba(frame(table)) == expected).all()


@FRAMES
def test_other_columns_are_told_at_prediction(frame: Any) -> None:
    table, y = columns()
    model = AODE().fit(frame(table), y)
    fewer = {name: cells for name, cells in table.items() if name != "size"}
    with pytest.warns(DataWarning, match="missing .'size'."):
        model.predict(frame(fewer))
    with pytest.warns(DataWarning, match="'weight'.*ignored"):
        model.predict(frame(table | {"weight": table["size"]}))
    with pytest.raises(ValueError, match="none of the 3 columns that AODE was fitted on"):
        model.predict(frame({"weight": table["size"]}))


def test_labels_may_be_a_column_of_a_frame() -> None:
    table, y = columns()
    expected = AODE().fit(table, y).predict(table)
    for labels in (pd.Series(y), pl.Series(y), pd.Series(y, dtype="category"), np.array(y, dtype=object)):
        assert (AODE().fit(table, labels).predict(table) == expected).all()


# --- weights and their routing -----------------------------------------------------------------------------------


@every
def test_weights_can_be_routed(model: CountsClassifier) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        asked.set_partial_fit_request(sample_weight=True, classes=True)
        X, y = numbers()
        weights = np.random.default_rng(0).random(len(y))
        routed = cross_validate(asked, X, y, cv=3, params={"sample_weight": weights}, return_estimator=True)
        plain = cross_validate(clone(model).set_fit_request(sample_weight=False), X, y, cv=3, return_estimator=True)
    assert (routed["estimator"][0].predict_proba(X) != plain["estimator"][0].predict_proba(X)).any()


def test_routed_weights_reach_fit_inside_a_pipeline() -> None:
    X, y = numbers()
    weights = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = NaiveBayes(bins="width").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(SelectKBest(k=2), model).fit(X, y, sample_weight=weights)
        kept = pipeline[0].transform(X)
        alone = NaiveBayes(bins="width").fit(kept, y, sample_weight=weights)
        assert (pipeline.predict_proba(X) == alone.predict_proba(kept)).all()
        assert pipeline.score(X, y, sample_weight=weights) == alone.score(kept, y, sample_weight=weights)


# --- copies ------------------------------------------------------------------------------------------------------


def copies_of(model: CountsClassifier) -> list[CountsClassifier]:
    """By pickle and by deepcopy."""
    return [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]


@every_option
def test_copies_of_fitted_models_answer_and_learn_alike(model: CountsClassifier) -> None:
    X, y = small_table()
    fitted = clone(model).fit(X[:60], y[:60])
    before = fitted.predict_proba(X)
    twins = copies_of(fitted)
    assert all((twin.predict_proba(X) == before).all() for twin in twins)
    after = fitted.partial_fit(X[60:], y[60:]).predict_proba(X)
    for twin in twins:
        assert (twin.predict_proba(X) == before).all(), "a copy shares nothing"
        assert (twin.partial_fit(X[60:], y[60:]).predict_proba(X) == after).all()


@every
def test_copies_in_the_middle_of_a_stream_go_on_alike(model: CountsClassifier) -> None:
    X, y = small_table()
    rows = [{f"x{i}": cell for i, cell in enumerate(row)} for row in X.tolist()]
    for stop, warm_up in ((10, 25), (30, 15)):
        streaming = clone(model).set_params(warm_up=warm_up)
        for r, (row, label) in enumerate(zip(rows[:stop], y.tolist()[:stop], strict=True)):
            streaming.learn_one(row, label)
            if r % 4 == 0:  # a structure may be learned for every answer
                streaming.predict_proba_one(row)
        every = [streaming, *copies_of(streaming)]
        assert_answers_are_one(every, rows[-1])
        for row, label in zip(rows[stop:35], y.tolist()[stop:35], strict=True):
            for each in every:
                each.learn_one(row, label)
        assert_answers_are_one(every, rows[-1])


def assert_answers_are_one(models: list[CountsClassifier], row: dict[str, Any]) -> None:
    first, *others = (each.predict_proba_one(row) for each in models)
    assert all(answer == first for answer in others)


def test_fitted_models_work_in_other_processes_on_memory_mapped_tables() -> None:
    X, y = small_table()
    model = AODE().fit(X, y)
    answers = Parallel(n_jobs=2, max_nbytes=100)(delayed(model.predict_proba)(part) for part in (X[:40], X[40:]))
    assert (np.vstack(answers) == model.predict_proba(X)).all()


# --- labels ------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_rows_without_a_label_are_left_out_with_one_warning(model: CountsClassifier, missing: Any) -> None:
    X, y = small_table()
    with_gaps = y.astype(object)
    with_gaps[[3, 17]] = missing
    keep = [i for i in range(len(y)) if i not in (3, 17)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(model).fit(X, with_gaps)
    assert [(w.category, str(w.message)) for w in caught] == [(DataWarning, "2 rows have no label and are left out.")]
    assert (fitted.predict_proba(X) == clone(model).fit(X[keep], y[keep].astype(object)).predict_proba(X)).all()


def test_labels_with_nan_among_numbers_are_left_out() -> None:
    X, _ = small_table(4)
    with pytest.warns(DataWarning, match=r"^1 row has no label and is left out\.$"):
        model = NaiveBayes().fit(X, np.array([0.0, 1.0, np.nan, 1.0]))
    assert model.classes_.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("y", [[0.5, 1.5, 2.5, 1.0], np.array([0.5, 1.5, 2.5, 1.0]), pl.Series([0.5, 1.5, 2.5, 1.0])])
def test_numbers_with_fractions_are_no_classes(y: Any) -> None:
    X, _ = small_table(4)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        NaiveBayes().fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        NaiveBayes().partial_fit(X, y)


@pytest.mark.parametrize("y", [[0.0, np.inf, 1.0, 1.0], np.array([0.0, -np.inf, 1.0, 1.0])])
def test_infinite_labels_are_refused(y: Any) -> None:
    X, _ = small_table(4)
    with pytest.raises(ValueError, match="Input y contains infinity"):
        NaiveBayes().fit(X, y)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1, 2],
        ["b", "a", "c"],
        [True, False, True],
        np.array(["b", "a", "c"], dtype=object),
        np.array([1, 2, 3], "i2"),
    ],
)
def test_answers_have_the_type_of_the_labels(labels: Any) -> None:
    model = NaiveBayes().fit([["u"], ["v"], ["w"]], labels)
    assert model.predict([["u"]]).dtype == model.classes_.dtype == np.asarray(labels).dtype
    assert model.predict([["u"], ["v"], ["w"]]).tolist() == list(labels)


def test_balanced_classes_follow_the_stream() -> None:
    """Their factors once stayed those of the first prediction."""
    X, y = small_table()
    streaming = NaiveBayes(class_weight="balanced", bins="width", schema=NaiveBayes().fit(X, y).encoder_.schema)
    whole = clone(streaming).fit(X, y)
    for start in (0, 30, 60):
        streaming.partial_fit(X[start : start + 30], y[start : start + 30]).predict(X)
    assert (streaming.predict_proba(X) == whole.predict_proba(X)).all()
