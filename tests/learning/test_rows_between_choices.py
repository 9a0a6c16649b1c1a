"""Between two choices of a structure, single rows, blocks and a saved model go the same way."""

import numpy as np
import pytest

from tanager import (
    TAN,
    TBMATAN,
    AdjustedNaiveBayes,
    AnytimeAODE,
    NBTree,
    RecursiveBayes,
    SemiNaiveBayes,
    load,
    save,
)
from tanager.learning.answering import FEWEST_NEW

ALIKE = (TBMATAN, RecursiveBayes, NBTree, SemiNaiveBayes, AdjustedNaiveBayes)
MODELS = (*ALIKE, AnytimeAODE)  # whose members are judged by rows as they come, so that blocks are another story
ROWS = 150


def rows_of(n=ROWS, seed=0, noise=0.05):
    """Whether exactly two of the first three switches are on, with some noise; the fourth says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 4))
    y = (X[:, :3].sum(axis=1) == 2) ^ (rng.random(n) < noise)
    return [{f"x{i}": str(v) for i, v in enumerate(row)} for row in X.tolist()], ["two" if v else "not" for v in y]


def one_by_one(model, rows, labels):
    out = []
    for row, label in zip(rows, labels, strict=True):
        out.append(model.predict_proba_one(row))
        model.learn_one(row, label)
    return out


def model_rows(model):
    return int(model.counts_.n_rows)


def values(answers):
    return np.array([[answer[label] for label in sorted(answer)] for answer in answers])


@pytest.mark.parametrize("cls", MODELS)
def test_a_saved_model_goes_on_as_the_one_that_was_saved(cls, tmp_path):
    rows, labels = rows_of(seed=2, noise=0.15)  # of which some would go another way, dealt out again
    model = cls(warm_up=20)
    one_by_one(model, rows[:110], labels[:110])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    answers = [one_by_one(each, rows[110:], labels[110:]) for each in (model, again)]
    np.testing.assert_allclose(values(answers[0]), values(answers[1]), rtol=1e-12)


@pytest.mark.parametrize("cls", ALIKE)
def test_blocks_answer_as_single_rows_do(cls):
    rows, labels = rows_of()
    single, whole = cls(warm_up=20), cls(warm_up=20)
    answers = one_by_one(single, rows, labels)
    proba = whole.test_then_train(rows, np.array(labels))
    np.testing.assert_allclose(values(answers[30:]), proba[30:], rtol=1e-9)


@pytest.mark.parametrize("cls", ALIKE)
def test_after_a_stream_a_batch_is_answered_from_all_rows(cls):
    rows, labels = rows_of()
    model = cls(warm_up=20)
    one_by_one(model, rows, labels)
    whole = cls(schema=model.encoder_.schema).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows[:40]), whole.predict_proba(rows[:40]), rtol=1e-9)


@pytest.mark.parametrize("cls", ALIKE)
def test_with_refresh_1_every_answer_is_that_of_a_model_of_all_rows_before_it(cls):
    rows, labels = rows_of(90)
    model = cls(refresh=1, warm_up=20)
    one_by_one(model, rows[:60], labels[:60])
    for r in range(60, 90, 7):
        one_by_one(model, rows[model_rows(model) : r], labels[model_rows(model) : r])
        whole = cls(schema=model.encoder_.schema).fit(rows[:r], labels[:r])
        answer = model.predict_proba_one(rows[r])
        assert [answer[label] for label in whole.classes_] == pytest.approx(whole.predict_proba(rows[r : r + 1])[0])


def test_a_structure_is_not_learned_again_before_some_rows_are_new():
    learned = []

    class Watched(TAN):
        def _structure(self, counts, rows):
            learned.append(counts.n_rows)
            return super()._structure(counts, rows)

    rows, labels = rows_of(100)
    model = Watched(warm_up=20).partial_fit(rows[:20], labels[:20])
    one_by_one(model, rows[20:], labels[20:])
    assert learned == [20, 20 + FEWEST_NEW, 20 + 2 * FEWEST_NEW, 20 + 3 * FEWEST_NEW]


def test_the_tree_of_these_rows_has_more_than_one_leaf():
    """Else the laws above would say nothing about trees."""
    rows, labels = rows_of()
    for cls in (RecursiveBayes, NBTree):
        model = cls(warm_up=20)
        one_by_one(model, rows, labels)
        assert not model.part_tree.is_leaf
