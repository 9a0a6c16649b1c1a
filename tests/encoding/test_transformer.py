"""An encoder is a transformer of scikit-learn: labels of any kind, pipelines, clones, names and frames."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.base import clone as their_clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from tanager import AODE, Column, DataError, DataWarning, Encoder, OptionError, Schema, estimator

# Checks of scikit-learn that may fail, with the reason; the only place for them.
EXPECTED_TO_FAIL: dict[str, str] = {}

LEAVES_OUT = True
ROWS = 60


def weather():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"sky": rng.choice(["sun", "rain", "snow"], ROWS), "degrees": rng.normal(size=ROWS), "wind": rng.random(ROWS)}
    )
    return frame, np.where(frame["degrees"] > 0.2, "play", "stay")


@pytest.mark.parametrize(
    "encoder", [Encoder(), Encoder(bins="frequency"), Encoder(bins="refined", max_values=20)], ids=repr
)
def test_scikit_learn_checks(encoder):
    check_estimator(encoder, expected_failed_checks=EXPECTED_TO_FAIL, on_skip=None)


def test_it_is_one_of_scikit_learns_transformers():
    assert isinstance(Encoder(), TransformerMixin)
    assert isinstance(Encoder(), BaseEstimator)
    tags = sklearn.utils.get_tags(Encoder())
    assert tags.input_tags.string
    assert tags.input_tags.categorical
    assert tags.input_tags.allow_nan
    assert tags.classifier_tags is None
    assert tags.transformer_tags is not None
    assert not tags.target_tags.required


labels = st.sampled_from([["no", "yes"], [0, 1], [True, False], [7, 3], [-1.0, 4.0], [None, "a"]])


@given(labels, st.lists(st.tuples(st.booleans(), st.floats(-9, 9)), min_size=2, max_size=30))
def test_labels_of_any_kind_give_the_same_cut_points(two, rows):
    y = [two[int(first)] for first, _ in rows]
    if all(label is None for label in y):
        return
    X = {"x": [number for _, number in rows]}
    known = [label is not None for label in y]
    codes = np.array([0 if label == two[0] else 1 for label in y], np.uint8)[known]
    expected = Encoder().learn({"x": np.array(X["x"])[known]}, codes).schema
    assert Encoder().fit(X, y).schema == expected


def test_labels_in_series_and_frames_of_one_column_do():
    X, y = weather()
    expected = Encoder().fit(X, y).schema
    assert Encoder().fit(X, pd.Series(y)).schema == expected
    assert (
        Encoder().fit(pl.DataFrame({name: X[name].to_list() for name in X}), pl.Series(y.tolist())).schema == expected
    )


def test_what_cannot_be_labels_is_refused():
    X, y = weather()
    with pytest.raises(DataError, match="X has 60 rows, y has 3 labels"):
        Encoder().fit(X, y[:3])
    with pytest.raises(DataError, match="Unknown label type: continuous"):
        Encoder().fit(X, X["degrees"])
    with pytest.raises(OptionError, match='Pass y, or use bins="frequency"'):
        Encoder().fit(X)
    with pytest.raises(DataError, match="every sample weight is zero"):
        Encoder().fit(X, y, np.zeros(ROWS))
    with pytest.raises(OptionError, match="schema=3 is a int; give a Schema, or None"):
        Encoder(schema=3).fit(X, y)


def test_weights_count_as_often_as_rows():
    X, y = weather()
    weights = np.arange(ROWS) % 3
    often = np.repeat(np.arange(ROWS), weights)
    weighted = Encoder(bins="frequency").fit(X, y, sample_weight=weights).schema
    assert weighted == Encoder(bins="frequency").fit(X.iloc[often], y[often]).schema


# --- in the tools of scikit-learn ----------------------------------------------------------------------------------


def test_it_works_in_a_pipeline_and_a_grid_search():
    X, y = weather()
    pipeline = make_pipeline(Encoder(), RandomForestClassifier(5, random_state=0))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(pipeline, {"encoder__bins": ["frequency", "mdl"], "encoder__n_bins": [2]}, cv=3).fit(X, y)
    assert search.best_params_["encoder__bins"] == "mdl"
    assert search.best_estimator_[:-1].get_feature_names_out().tolist() == ["sky", "degrees", "wind"]


def test_its_codes_can_be_counted_by_others():
    X, y = weather()
    model = make_pipeline(Encoder(), CategoricalNB()).fit(X, y)
    assert model.score(X, y) > 0.9


def test_it_works_in_a_column_transformer():
    X, y = weather()
    columns = make_column_transformer((Encoder(), ["sky", "degrees"]), (StandardScaler(), ["wind"]))
    out = columns.set_output(transform="pandas").fit_transform(X, y)
    assert list(out.columns) == ["encoder__sky", "encoder__degrees", "standardscaler__wind"]
    assert out["encoder__sky"].tolist() == Encoder().fit(X[["sky"]], y).transform(X[["sky"]])[:, 0].tolist()
    assert columns.get_feature_names_out().tolist() == list(out.columns)


def test_weights_are_routed_to_it_where_it_asks_for_them():
    X, y = weather()
    weights = np.where(np.arange(ROWS) < 30, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        encoder = Encoder(bins="frequency").set_fit_request(sample_weight=True)
        model = AODE().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(encoder, model).fit(X, y, sample_weight=weights)
        assert pipeline[0].schema == Encoder(bins="frequency").fit(X[:30], y[:30]).schema
        scores = cross_validate(pipeline, X, y, cv=3, params={"sample_weight": weights + 0.1}, error_score="raise")
    assert scores["test_score"].shape == (3,)


def test_weights_are_routed_to_classifiers_in_a_search():
    X, y = weather()
    weights = np.where(y == "play", 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = AODE(bins="frequency").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"smoothing": [0.5, 2.0]}, cv=3, error_score="raise")
        search.fit(X, y, sample_weight=weights)
        expected = sklearn.base.clone(search.best_estimator_).fit(X, y, sample_weight=weights)
    assert (search.predict_proba(X) == expected.predict_proba(X)).all()
    assert (search.predict_proba(X) != AODE(bins="frequency").fit(X, y).predict_proba(X)).any()


# --- options, copies, files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copy", [estimator.clone, their_clone])
def test_a_clone_has_the_options_and_learned_nothing(copy):
    X, y = weather()
    encoder = Encoder(bins={"wind": [0.5]}, max_values=7).set_output(transform="pandas").fit(X, y)
    other = copy(encoder)
    assert repr(other) == repr(encoder) == "Encoder(bins={'wind': [0.5]}, max_values=7)"
    assert not hasattr(other, "n_features_in_")
    assert not hasattr(other, "feature_names_in_")
    assert isinstance(other.fit_transform(X, y), pd.DataFrame)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(Encoder())


def test_a_given_schema_is_an_option_and_a_learned_one_is_not():
    X, y = weather()
    encoder = Encoder().fit(X, y)
    assert encoder.get_params()["schema"] is None
    given_schema = Encoder(schema=encoder.schema)
    assert given_schema.get_params()["schema"] is encoder.schema
    assert their_clone(given_schema).schema == encoder.schema.close()
    assert (their_clone(given_schema).transform(X) == encoder.transform(X)).all()
    assert Encoder().set_params(schema=encoder.schema).fit(X.iloc[:1]).schema == encoder.schema.close()


def test_a_pickled_encoder_gives_the_same_codes_and_frames():
    X, y = weather()
    encoder = Encoder().set_output(transform="pandas").fit(X, y)
    again = pickle.loads(pickle.dumps(encoder))
    pd.testing.assert_frame_equal(again.transform(X), encoder.transform(X))
    assert again.feature_names_in_.tolist() == ["sky", "degrees", "wind"]


# --- names and frames ------------------------------------------------------------------------------------------------


def test_names_come_out_as_they_went_in():
    X, y = weather()
    named = Encoder().fit(X, y)
    assert named.get_feature_names_out().tolist() == ["sky", "degrees", "wind"]
    assert named.get_feature_names_out(["sky", "degrees", "wind"]).tolist() == ["sky", "degrees", "wind"]
    assert (named.n_features_in_, named.feature_names_in_.tolist()) == (3, ["sky", "degrees", "wind"])
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        named.get_feature_names_out(["sky", "wind", "degrees"])
    plain = named.fit(X.to_numpy(), y)
    assert not hasattr(plain, "feature_names_in_")
    assert plain.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert plain.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="should have length equal to number of features"):
        plain.get_feature_names_out(["a"])


def test_frames_come_out_where_they_are_asked_for():
    X, y = weather()
    codes = Encoder().fit_transform(X, y)
    assert type(codes) is np.ndarray
    frame = Encoder().set_output(transform="pandas").fit_transform(X, y)
    assert frame.index.equals(X.index)
    assert (frame.dtypes == np.uint8).all()
    assert (frame.to_numpy() == codes).all()
    assert isinstance(Encoder().set_output(transform="polars").fit(X, y).transform(X), pl.DataFrame)


def test_a_global_wish_for_frames_does_not_reach_classifiers():
    X, y = weather()
    expected = AODE().fit(X, y).predict_proba(X)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(Encoder().fit(X, y).transform(X), pd.DataFrame)
        assert (AODE().fit(X, y).predict_proba(X) == expected).all()


def test_columns_are_found_by_name_in_any_order():
    X, y = weather()
    encoder = Encoder().fit(X, y)
    assert (encoder.transform(X[["wind", "sky", "degrees"]]) == encoder.transform(X)).all()
    with pytest.warns(DataWarning, match="1 of 3 columns is missing .'wind'.: answered without it"):
        assert (encoder.transform(X[["sky", "degrees"]])[:, list(encoder.schema.names).index("wind")] == 255).all()


def test_names_of_columns_that_are_left_out_do_not_come_out():
    X = pd.DataFrame({"id": [f"n{i}" for i in range(20)], "sky": ["sun", "rain"] * 10})
    with pytest.warns(DataWarning, match="1 column is left out: 'id'"):
        encoder = Encoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["sky"]
    assert encoder.get_feature_names_out(["id", "sky"]).tolist() == ["sky"]
    assert (encoder.n_features_in_, encoder.transform(X).shape) == (2, (20, 1))


def test_an_encoder_does_without_scikit_learn_until_a_frame_is_asked_for():
    code = (
        "import sys; from tanager import Encoder; e = Encoder(); c = e.fit_transform([['a'], ['b']], ['x', 'y']); "
        "print('sklearn' in sys.modules, c.tolist()); e.set_output(transform='pandas'); "
        "print(type(e.transform([['b']])).__name__, hasattr(e, 'set_fit_request'))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["False [[0], [1]]", "DataFrame True"]


def test_a_column_written_down_needs_no_fit():
    encoder = Encoder(schema=Schema((Column("sky", "categorical", ("sun", "rain")),)))
    check_is_fitted(encoder)
    assert encoder.transform({"sky": ["rain"]}).tolist() == [[1]]
