"""Classifiers do without scikit-learn until somebody imports it, and are its estimators from then on."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.base import clone as their_clone

from tanager import AODE, TAN, BestOf, DriftAware, NaiveBayes
from tanager.estimator import clone

LEARN = (
    "import sys, numpy as np; from tanager import AODE; X = np.array([[0.0, 1.0], [1.0, 0.0]] * 4); "
    "y = ['a', 'b'] * 4; model = AODE(smoothing=2).fit(X, y); proba = model.predict_proba(X); "
    "model.partial_fit(X, y).score(X, y); "
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_learning_and_answering_wait_neither_for_scikit_learn_nor_for_scipy_pandas_or_pyarrow():
    heavy = "{'sklearn', 'scipy', 'pandas', 'pyarrow', 'joblib'}"
    assert run(LEARN + f"print(model, *{heavy} & set(sys.modules))") == "AODE(smoothing=2)"


def test_a_model_that_was_learned_before_scikit_learn_came_is_one_of_its_classifiers_afterwards():
    """The import is watched once, and then left alone."""
    watching = "sum(type(finder).__module__ == 'tanager.estimator' for finder in sys.meta_path)"
    assert (
        run(
            LEARN + f"print({watching}); import sklearn.base as b; print({watching}); "
            "from sklearn.model_selection import cross_val_score; "
            "print(isinstance(model, b.ClassifierMixin), isinstance(model, b.BaseEstimator), b.is_classifier(model), "
            "b.clone(model), cross_val_score(model, X, y, cv=2).shape, hasattr(model, 'set_fit_request'), "
            "(model.predict_proba(X) == model.predict_proba(X)).all())"
        )
        == "1\n0\nTrue True True AODE(smoothing=2) (2,) True True"
    )


def test_scikit_learn_may_come_first():
    assert isinstance(AODE(), BaseEstimator)
    assert isinstance(AODE(), ClassifierMixin)
    assert is_classifier(AODE())


@pytest.mark.parametrize("copy", [clone, their_clone])
def test_a_clone_has_equal_options_of_its_own_and_nothing_learned(copy):
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    model = DriftAware(AODE(cost_matrix=costs, categorical=[0]), every=32).fit([[0], [1]] * 20, [0, 1] * 20)
    other = copy(model)
    assert repr(other) == repr(model)
    assert other.model is not model.model
    assert other.model.cost_matrix is not costs
    assert not hasattr(other, "classes_")


def test_a_clone_keeps_what_scikit_learn_was_asked_to_pass_on():
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = NaiveBayes().set_fit_request(sample_weight=True)
        for copy in (clone, their_clone):
            assert "sample_weight" in str(copy(model).get_metadata_routing())


def test_estimators_of_scikit_learn_are_cloned_by_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    assert clone(GaussianNB(var_smoothing=1.0)).var_smoothing == 1.0


def test_options_of_inner_classifiers_can_be_read_and_set():
    model = DriftAware(TAN(smoothing=3))
    assert model.get_params()["model__smoothing"] == 3
    assert "model__smoothing" not in model.get_params(deep=False)
    assert model.set_params(model__smoothing=4, every=16).model.smoothing == 4
    assert model.every == 16


def test_an_unknown_option_is_refused_with_those_that_there_are():
    with pytest.raises(
        ValueError, match=r"Invalid parameter 'smoth' for estimator AODE\(\)\. Valid parameters are: \["
    ):
        AODE().set_params(smoth=1)


def test_a_print_out_shows_the_options_that_were_changed():
    assert repr(AODE()) == "AODE()"
    assert repr(AODE(smoothing=0.5, min_count=3)) == "AODE(min_count=3, smoothing=0.5)"
    assert repr(DriftAware(TAN())) == "DriftAware(model=TAN())"
    long = repr(BestOf(categorical=[f"column {i}" for i in range(1000)]))
    assert len(long) < 720
    assert "..." in long
