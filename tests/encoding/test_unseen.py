"""Values that training never had are told of, and those that it had meanwhile are not."""

import warnings

import pytest
from sklearn.base import clone

from tanager import AODE, DriftAware, HalfLives, HoeffdingTree, NaiveBayes
from tanager.encoding.unseen import MOST, Unseen, UnseenValues
from tanager.errors import DataWarning

MODELS = [NaiveBayes(), AODE(), DriftAware(NaiveBayes()), HalfLives(NaiveBayes()), HoeffdingTree()]
ROWS = [{"sky": sky, "wind": "weak"} for sky in ["sun", "rain"] * 600]
LABELS = ["play", "stay"] * 600
NEW = [{"sky": sky, "wind": "weak"} for sky in ["snow", "hail"] * 20]


def answer_and_learn_rows(model):
    for row in NEW:
        model.predict_proba_one(row)
        model.learn_one(row, "stay")


def learn_table(model):
    model.partial_fit(NEW, ["stay"] * len(NEW))


def learn_late(model):
    model.test_then_train(NEW[:-1], ["stay"] * (len(NEW) - 1), answered=NEW[1:])


@pytest.mark.parametrize("learn", [answer_and_learn_rows, learn_table, learn_late])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_values_that_were_learned_after_they_were_answered_are_no_warning(model, learn):
    model = clone(model).partial_fit(ROWS, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(model)
        model.predict(NEW)
    with pytest.warns(DataWarning, match=r"column 'sky': 1 cell holds 1 value never seen in training \('fog'\)"):
        model.predict([{"sky": "fog", "wind": "weak"}])


def test_what_was_met_is_counted_whether_or_not_it_was_learned_then():
    met = UnseenValues()
    met.note("sky", Unseen(["snow"], 2))
    met.learned(["sky"])
    met.tell()  # nothing
    met.note("sky", Unseen(["fog", "snow"], 3))
    assert met.n_cells == {"sky": 5}
    with pytest.warns(DataWarning, match="3 cells hold 2 values"):
        met.tell()
    met.note("sky", Unseen([f"v{v}" for v in range(200)], 200))
    met.tell()  # nothing once more
    assert met.sentences()[0].startswith(f"column 'sky': 205 cells hold {MOST} or more values never seen")
    assert met.take_recent()[0].startswith("column 'sky': 205 cells")
    assert met.take_recent() == []
