"""tanager's classifiers behind river's interface: its own checks, and its evaluation tools."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river", reason="the extra 'river' is not installed")

import pandas as pd
from river import checks, compose, evaluate, metrics, preprocessing
from sklearn.base import clone

from profiles import spread
from registry import PLAIN, name_of
from tanager import AODE, FANC, TAN, DataError, NaiveBayes, OptionError
from tanager.river import RiverClassifier

QUICK = [AODE()]
WRAPPED = [
    *QUICK,
    NaiveBayes(gaussian=True),
    NaiveBayes(),
    NaiveBayes(warm_up=50),
    TAN(warm_up=50),
    FANC(warm_up=100),
]

# river's checks that may fail, with the reason; the only place for them.
EXPECTED_TO_FAIL: dict[str, str] = {}


def _cases() -> list[Any]:
    cases = []
    for model in WRAPPED:
        seen: set[str] = set()
        for check in checks.yield_checks(RiverClassifier(model)):
            reason = EXPECTED_TO_FAIL.get(check.__name__)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
            again = check.__name__ in seen  # on another data set
            marks += [pytest.mark.long] if again or model not in QUICK else []
            seen.add(check.__name__)
            cases.append(pytest.param(model, check, marks=marks, id=f"{model!r}-{check.__name__}"))
    return cases


@pytest.mark.parametrize(("model", "check"), _cases())
def test_river_checks(model: Any, check: Any) -> None:
    random.seed(1)
    check(RiverClassifier(copy.deepcopy(model)))


def stream(n_rows: int = 120, seed: int = 0) -> list[tuple[dict[str, Any], str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        sky, wind, warmth = rng.choice(["sun", "rain"]), bool(rng.integers(2)), float(rng.normal(15, 8))
        label = "play" if (sky == "sun") != (warmth < 10) and rng.random() < 0.95 else "stay"
        rows.append(({"sky": str(sky), "wind": wind, "warmth": warmth}, label))
    return rows


@spread("instance", PLAIN, ids=name_of)
def test_every_classifier_is_evaluated_progressively(instance: Any) -> None:
    model = RiverClassifier(clone(instance).set_params(warm_up=40))
    accuracy, loss = evaluate.progressive_val_score(stream(60), model, metrics.Accuracy() + metrics.CrossEntropy())
    assert accuracy.get() > 0.5
    assert 0 < loss.get() < 2
    assert model.clone().predict_one(stream(1)[0][0]) is None


def test_the_adapter_answers_as_the_classifier_itself() -> None:
    adapted, plain = RiverClassifier(AODE(warm_up=30)), AODE(warm_up=30)
    for row, label in stream():
        assert adapted.predict_proba_one(row) == plain.predict_proba_one(row)
        adapted.learn_one(row, label)
        plain.learn_one(dict(sorted(row.items())), label)
    assert not hasattr(adapted.model, "classes_")
    assert adapted.learned.predict_one(stream()[0][0]) == plain.predict_one(stream()[0][0])


def test_it_works_at_the_end_of_a_pipeline() -> None:
    numbers = compose.Select("warmth") | preprocessing.StandardScaler()
    model = (numbers + compose.Select("sky")) | RiverClassifier(NaiveBayes(warm_up=30))
    assert evaluate.progressive_val_score(stream(), model, metrics.Accuracy()).get() > 0.5


def test_names_that_are_no_text_are_taken() -> None:
    model = RiverClassifier(NaiveBayes())
    model.learn_one({0: "a", ("x", 1): 2}, True)
    assert model.predict_one({0: "a", ("x", 1): 2}) is True


def test_frames_teach_what_their_rows_teach() -> None:
    rows = stream()
    one, many = RiverClassifier(TAN(warm_up=50)), RiverClassifier(TAN(warm_up=50))
    X, y = pd.DataFrame([row for row, _ in rows]), pd.Series([label for _, label in rows])
    assert many.predict_proba_many(X).empty
    for start in range(0, 120, 40):
        many.learn_many(X.iloc[start : start + 40], y.iloc[start : start + 40])
    for row, label in rows:
        one.learn_one(row, label)
    proba = many.predict_proba_many(X)
    assert list(proba.columns) == ["play", "stay"]
    assert proba.iloc[7].to_dict() == one.predict_proba_one(rows[7][0])
    assert many.predict_many(X).tolist() == [one.predict_one(row) for row, _ in rows]


def test_what_is_no_classifier_of_tanager_is_refused() -> None:
    with pytest.raises(OptionError, match="is not a classifier of tanager"):
        RiverClassifier(preprocessing.StandardScaler())
    with pytest.raises(DataError, match="takes a dict"):
        AODE().learn_one(["a"], 1)
