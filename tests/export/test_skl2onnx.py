"""Pipelines that end in a classifier of tanager, converted by skl2onnx."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("skl2onnx", reason="the extra 'onnx' is not installed")
pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")

import onnxruntime
import pandas as pd
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from registry import name_of
from tanager import AODE, FANC, TAN, NaiveBayes, NBTree, NetworkForest, OptionError
from tanager.export.skl2onnx import register_converters

pytestmark = [
    pytest.mark.long,  # `make test-all` installs what they need
    pytest.mark.filterwarnings("ignore"),  # what skl2onnx and onnx say to each other
]


@pytest.fixture(scope="module", autouse=True)
def converters():
    register_converters()


def run(pipeline, types, rows):
    converted = convert_sklearn(pipeline, initial_types=types, options={"zipmap": False}, target_opset=18)
    return onnxruntime.InferenceSession(converted.SerializeToString()).run(None, rows)


MODELS = [NaiveBayes(), TAN(), AODE(), FANC(), NBTree(), NetworkForest(n_members=4)]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_a_pipeline_of_numbers(model):
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), PCA(4), clone(model)).fit(X, y)
    label, proba = run(pipeline, [("X", DoubleTensorType([None, X.shape[1]]))], {"X": X})
    np.testing.assert_allclose(proba, pipeline.predict_proba(X), rtol=0, atol=1e-12)
    assert (label == pipeline.predict(X)).all()


def test_floats_are_read_as_doubles():
    X, y = load_wine(return_X_y=True)
    model = AODE().fit(X.astype(np.float32), y == 1)
    label, proba = run(model, [("X", FloatTensorType([None, X.shape[1]]))], {"X": X.astype(np.float32)})
    np.testing.assert_allclose(proba, model.predict_proba(X.astype(np.float32)), rtol=0, atol=1e-12)
    assert (label == model.predict(X.astype(np.float32))).all()


def test_text_and_numbers_are_separate_inputs():
    X = pd.DataFrame({"colour": ["red", "blue", None] * 10, "size": np.arange(30.0)})
    y = ["a", "b"] * 15
    model = TAN().fit(X, y)
    types = [("colour", StringTensorType([None, 1])), ("size", DoubleTensorType([None, 1]))]
    rows = {"colour": X[["colour"]].fillna("").to_numpy(dtype=object), "size": X[["size"]].to_numpy()}
    label, proba = run(model, types, rows)
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=0, atol=1e-12)
    assert label.tolist() == model.predict(X).tolist()


def test_what_does_not_fit_together_is_refused():
    X = pd.DataFrame({"colour": ["red", "blue"] * 10, "size": np.arange(20.0)})
    model = TAN().fit(X, ["a", "b"] * 10)
    with pytest.raises(OptionError, match="was fitted on text, and comes as numbers"):
        run(model, [("X", DoubleTensorType([None, 2]))], {})
    numbers = AODE().fit(X[["size"]], ["a", "b"] * 10)
    with pytest.raises(OptionError, match="was fitted on 1 columns, and gets 2"):
        run(numbers, [("X", DoubleTensorType([None, 2]))], {})
    with pytest.raises(OptionError, match="opset 18"):
        convert_sklearn(numbers, initial_types=[("X", DoubleTensorType([None, 1]))], target_opset=15)


def test_a_column_transformer_comes_before():
    X, y = load_wine(return_X_y=True)
    chosen = make_column_transformer((StandardScaler(), [0, 2, 5]), (PCA(2), [1, 3, 4, 6]))
    pipeline = make_pipeline(chosen, AODE()).fit(X, y)
    _, proba = run(pipeline, [("X", DoubleTensorType([None, X.shape[1]]))], {"X": X})
    np.testing.assert_allclose(proba, pipeline.predict_proba(X), rtol=0, atol=1e-12)
