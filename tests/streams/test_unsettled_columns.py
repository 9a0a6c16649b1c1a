"""Cells in the first rows of a stream that are not what their column held so far: a later look decides, and no row ends
the stream."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from tanager import (
    AODE,
    DataError,
    DriftAware,
    EvolvingNaiveBayes,
    HalfLives,
    HoeffdingTree,
    NaiveBayes,
)

N, ODD = 120, 9
MODELS = {
    "NaiveBayes": lambda: NaiveBayes(warm_up=100),
    "gaussian": lambda: NaiveBayes(warm_up=100, gaussian=True),
    "fading AODE": lambda: AODE(warm_up=100, decay=50),
    "HalfLives": lambda: HalfLives(AODE(warm_up=100)),
    "last label": lambda: HalfLives(AODE(warm_up=100), lag=1),
    "HoeffdingTree": lambda: HoeffdingTree(warm_up=100),
    "DriftAware": lambda: DriftAware(NaiveBayes(warm_up=100)),
    "EvolvingNaiveBayes": lambda: EvolvingNaiveBayes(warm_up=100),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*looks like:tanager.errors.DataWarning")


def stream(what):
    """Numbers as text, or dates, with a word among them in every tenth row; and a column of numbers."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 40, N)
    cells = [f"{v / 8:.3f}" if what == "numbers" else f"2024-{1 + v % 12:02}-{1 + v % 28:02}" for v in values]
    cells[ODD::10] = ["unknown"] * len(cells[ODD::10])
    table = {"cell": cells, "size": (rng.normal(size=N).round(2) + values / 20).tolist()}
    rows = [{"cell": cell, "size": size} for cell, size in zip(*table.values(), strict=True)]
    return rows, pd.DataFrame(table), np.where(values > 20, "high", "low")


def answered_one_by_one(model, rows, labels):
    answers = []
    for row, label in zip(rows, labels, strict=True):
        said = model.predict_proba_one(row)
        answers.append([said.get(own, 0.0) for own in ("high", "low")])
        model.learn_one(row, label)
    return np.array(answers)


@pytest.mark.parametrize("what", ["numbers", "dates"])
@pytest.mark.parametrize("name", MODELS)
def test_a_word_among_numbers_or_dates_ends_no_stream(name, what):
    rows, frame, labels = stream(what)
    single, whole, parts = (MODELS[name]() for _ in range(3))
    one_by_one = answered_one_by_one(single, rows, labels)
    whole.test_then_train(frame, labels)
    for start in range(0, N, 13):
        parts.partial_fit(frame[start : start + 13], labels[start : start + 13])
    for model in (single, whole, parts):
        assert model.schema_["cell"].kind == "categorical"
        assert "unknown" in model.schema_["cell"].values
    if name != "HalfLives":  # whose weights learn from every answer
        np.testing.assert_allclose(single.predict_proba(frame), parts.predict_proba(frame), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one_by_one.sum(axis=1)[2:], 1.0)
    np.testing.assert_allclose(single.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9, atol=1e-12)


def test_until_then_the_word_is_a_missing_cell():
    rows, _, labels = stream("numbers")
    model = NaiveBayes().partial_fit(rows[:ODD], labels[:ODD])
    assert model.schema_["cell"].kind == "numeric"
    without = {"size": rows[ODD]["size"]}
    assert model.predict_proba_one(rows[ODD]) == model.predict_proba_one(without)
    again = copy.deepcopy(model)
    model.learn_one(rows[ODD], "low")
    again.learn_one(without, "low")
    assert model.predict_proba_one(rows[0]) == again.predict_proba_one(rows[0])


@pytest.mark.parametrize("store", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_of_a_model_know_that_columns_are_not_settled(store):
    rows, _, labels = stream("numbers")
    model = AODE().partial_fit(rows[:ODD], labels[:ODD])
    model.predict_proba_one(rows[0])
    assert store(model).predict_proba_one(rows[ODD]) == model.predict_proba_one(rows[ODD])


@pytest.mark.parametrize("options", [{"numeric": ["cell"]}, {"bins": {"cell": [1.0, 2.0]}}])
def test_what_an_option_calls_numbers_must_be_numbers(options):
    rows, _, labels = stream("numbers")
    model = NaiveBayes(**options).partial_fit(rows[:ODD], labels[:ODD])
    with pytest.raises(DataError, match="'unknown' is not a number, and the column is numeric"):
        model.predict_proba_one(rows[ODD])


def test_what_an_option_calls_dates_must_be_dates():
    rows, _, labels = stream("dates")
    model = NaiveBayes(dates={"cell": ["month"]}).partial_fit(rows[:ODD], labels[:ODD])
    with pytest.raises(DataError, match="'unknown' is not a date"):
        model.predict_proba_one(rows[ODD])


def test_settled_columns_take_no_other_cells():
    rows, _, labels = stream("numbers")
    sound = [row for row in rows if row["cell"] != "unknown"]
    model = NaiveBayes(warm_up=50)
    for row, label in zip(sound, labels, strict=False):
        model.learn_one(row, label)
    assert model.columns_fixed
    with pytest.raises(DataError, match="'unknown' is not a number"):
        model.predict_proba_one(rows[ODD])


def test_the_schema_of_a_ladder_follows_its_first_rows():
    rows, _, labels = stream("numbers")
    model, plain = HalfLives(AODE(warm_up=100)), AODE(warm_up=100)
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
        plain.learn_one(row, label)
        model.predict_proba_one(row)
        plain.predict_proba_one(row)
        assert model.schema_ == plain.schema_
