"""POST /learn: rows with labels, labels that come later, and what is not learned."""

import time

import numpy as np
import pytest
from serving import LABELS, ROWS, Asker, close, make_service

from tanager import AODE, HalfLives, load
from tanager.service.messages import LearnResponse, ModelInfo, PredictResponse
from tanager.service.rows import PendingRows

ROW = {"colour": "red", "size": 2.0}


def proba(ask):
    return ask.predict({"rows": ROWS[:4]}).as_(PredictResponse).probabilities


def test_all_shapes_of_rows_are_learned_as_the_model_learns_them(ask, model_file):
    twin = load(model_file)
    for row, label in ((ROWS[0], "bird"), (ROW, "fish")):
        assert ask.learn({"row": row, "label": label}).as_(LearnResponse).learned == 1
        twin.learn_one(row, label)
    assert ask.learn({"rows": ROWS[:3], "labels": ["fish", "bird", "fish"]}).as_(LearnResponse).sequence == 3
    body = {
        "columns": ["size", "wild"],
        "rows": [[9.5, None], [1, True]],
        "labels": ["bird", "fish"],
        "weights": [2, 0.5],
    }
    told = ["1 of 3 columns is missing ('colour'): learned without it."]
    assert ask.learn(body).as_(LearnResponse) == LearnResponse("pets", 2, 4, [], warnings=told)
    twin.partial_fit(ROWS[:3], ["fish", "bird", "fish"])
    more = [{"colour": None, "size": 9.5, "wild": None}, {"colour": None, "size": 1, "wild": True}]
    twin.partial_fit(more, ["bird", "fish"], sample_weight=[2, 0.5])
    np.testing.assert_allclose(proba(ask), twin.predict_proba(ROWS[:4]), rtol=0, atol=1e-12)
    assert ask("GET", "/models/pets").as_(ModelInfo).rows == pytest.approx(47.5)


def test_new_values_and_classes_are_welcome(ask):
    assert ask.learn({"row": {"colour": "teal"}, "label": "newt"}).status == 200
    assert ask.predict({"row": {"colour": "teal"}}).as_(PredictResponse).classes == ["bird", "fish", "newt"]


def test_what_was_learned_is_there_after_a_restart(services, model_file, tmp_path):
    first = make_service(model_file)
    Asker(first).learn({"rows": ROWS, "labels": LABELS[::-1]})
    before = proba(Asker(first))
    close(first)
    ask = Asker(services(model_file))
    assert proba(ask) == before
    assert ask.predict({"row": ROW}).as_(PredictResponse).sequence == 1


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        ({"row": ROW}, "wrong_shape", "label"),
        ({"row": ROW, "labels": ["fish"]}, "wrong_shape", "label"),
        ({"rows": [ROW], "label": "fish"}, "wrong_shape", "labels"),
        ({"rows": [ROW], "labels": ["fish", "bird"]}, "wrong_shape", "labels"),
        ({"rows": [ROW], "labels": ["fish"], "weights": [1, 2]}, "wrong_shape", "weights"),
        ({"rows": [ROW], "labels": ["fish"], "weights": [-1]}, "wrong_type", "weights[0]"),
        ({"rows": [ROW], "labels": [None]}, "wrong_type", "labels[0]"),
        ({"rows": [ROW], "labels": [["fish"]]}, "wrong_type", "labels[0]"),
        ({"rows": [ROW, ROW], "labels": ["fish", 3]}, "bad_value", "labels[1]"),
        ({"row": ROW, "label": True}, "bad_value", "label"),
        ({"row": {"size": "huge"}, "label": "fish"}, "bad_value", "row.size"),
        ({"row": {"sise": 1}, "label": "fish"}, "unknown_column", "row.sise"),
        ({"rows": [{}, {"a": 1}], "labels": ["fish", "bird"]}, "unknown_column", "rows[1].a"),
        ({"label": "fish"}, "wrong_shape", None),
        ({"row": ROW, "id": "a", "label": "fish"}, "wrong_shape", None),
        ({"id": "", "label": "fish"}, "wrong_type", "id"),
        ({"ids": ["a", "a"], "labels": ["fish", "fish"]}, "wrong_shape", "ids"),
        ({"ids": ["a"], "labels": []}, "wrong_shape", "labels"),
        ({"rows": [ROW] * 51, "labels": ["fish"] * 51}, "too_many_rows", "rows"),
        ({"ids": [str(i) for i in range(51)], "labels": ["fish"] * 51}, "too_many_rows", "ids"),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_a_mistake_is_told_with_its_place_and_nothing_is_learned(ask, body, code, where):
    error = ask.learn(body).error
    assert (error.code, error.where) == (code, where)
    assert ask("GET", "/models/pets").as_(ModelInfo).sequence == 0


# --- labels that come later ---------------------------------------------------------------------------------------


def test_labels_that_come_later_teach_the_rows_that_were_answered(ask, model_file):
    ask.predict({"rows": ROWS[:3], "ids": ["a", "b", "c"]})
    ask.predict({"columns": ["size"], "rows": [[9.0]], "ids": ["d"]})
    ask.predict({"row": ROW, "id": "e"})
    learned = ask.learn({"ids": ["d", "x", "a"], "labels": ["fish", "fish", "bird"]}).as_(LearnResponse)
    assert learned == LearnResponse("pets", 2, 1, ["x"])
    assert ask.learn({"id": "e", "label": "bird"}).as_(LearnResponse).learned == 1
    twin = load(model_file)
    for row, label in (({"size": 9.0}, "fish"), (ROWS[0], "bird"), (ROW, "bird")):
        twin.learn_one(row, label)
    np.testing.assert_allclose(proba(ask), twin.predict_proba(ROWS[:4]), rtol=0, atol=1e-12)


def test_a_label_teaches_its_row_once(ask):
    ask.predict({"row": ROW, "id": "a"})
    assert ask.learn({"id": "a", "label": "fish"}).as_(LearnResponse).learned == 1
    assert ask.learn({"id": "a", "label": "fish"}).as_(LearnResponse) == LearnResponse("pets", 0, 1, ["a"])


def test_a_label_that_is_refused_may_come_again(ask):
    ask.predict({"row": ROW, "id": "a"})
    assert ask.learn({"id": "a", "label": 3}).error.code == "bad_value"
    assert ask.learn({"id": "a", "label": "fish"}).as_(LearnResponse).learned == 1


def test_a_row_that_was_refused_is_not_remembered(ask):
    assert ask.predict({"row": {"size": "huge"}, "id": "a"}).status == 422
    assert ask.learn({"id": "a", "label": "fish"}).as_(LearnResponse).unknown_ids == ["a"]


def test_rows_wait_for_labels_within_bounds():
    waiting = PendingRows(most=3, seconds=10)
    waiting.add(["a", "b"], [{"r": 0}, {"r": 1}], now=0)
    waiting.add(["c", "a", "d"], [{"r": 2}, {"r": 3}, {"r": 4}], now=5)
    assert waiting.take(["a", "b", "c"], now=6) == ([("a", {"r": 3}), ("c", {"r": 2})], ["b"])
    assert waiting.take(["d"], now=16) == ([], ["d"])
    assert len(waiting) == 0


def test_nothing_is_remembered_where_the_service_says_so(services, model_file):
    ask = Asker(services(model_file, remember=0))
    ask.predict({"row": ROW, "id": "a"})
    assert ask.learn({"id": "a", "label": "fish"}).as_(LearnResponse).learned == 0


# --- not learning -------------------------------------------------------------------------------------------------


def test_a_service_that_only_reads_refuses_to_learn(services, model_file):
    ask = Asker(services(model_file, read_only=True))
    said = ask.learn({"row": ROW, "label": "fish"})
    assert (said.status, said.error.code) == (403, "read_only")


def test_a_log_that_cannot_be_written_is_told_and_nothing_is_learned(ask, service, monkeypatch):
    def full(payload):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(service.served["pets"].store._journal, "append", full)
    said = ask.learn({"row": ROW, "label": "fish"})
    assert (said.status, said.error.code) == (507, "not_durable")
    assert "No space left" in said.error.message
    monkeypatch.undo()
    assert ask.learn({"row": ROW, "label": "fish"}).status == 200


def test_rows_by_time_are_learned_in_the_order_of_time(services, tmp_path):
    from tanager import NaiveBayes

    now = time.time()
    NaiveBayes(decay="1 h").fit(ROWS, LABELS, times=[now - 60] * len(ROWS)).save(tmp_path / "fading.tanager")
    ask = Asker(services(tmp_path / "fading.tanager"))
    assert ask.learn({"row": ROW, "label": "fish", "times": [now]}).status == 200
    said = ask.learn({"row": ROW, "label": "fish", "times": [now - 3600]})
    assert said.status in (200, 422)  # whatever the model says of rows that come late, it is no fault
    assert ask.predict({"row": ROW}).status == 200


def test_learners_beyond_the_limit_are_asked_to_come_again(ask, service):
    service._learning = service.limits.queue
    said = ask.learn({"row": ROW, "label": "fish"})
    assert (said.status, said.error.code, said.headers["retry-after"]) == (429, "busy", "1")


def test_last_labels_follow_what_is_learned_and_survive_a_restart(services, tmp_path):
    """The columns of last labels are the model's own: nobody sends them."""
    path = tmp_path / "pets.tanager"
    twin = HalfLives(AODE(warm_up=10), half_lives=(5, float("inf")), lag=2).fit(ROWS, LABELS)
    twin.save(path)
    first = make_service(path)
    for row, label in zip(ROWS[:5], LABELS[:5], strict=True):
        assert Asker(first).learn({"row": row, "label": label}).status == 200
        twin.learn_one(row, label)
    np.testing.assert_allclose(proba(Asker(first)), twin.predict_proba(ROWS[:4]), rtol=0, atol=1e-12)
    close(first)
    np.testing.assert_allclose(proba(Asker(services(path))), twin.predict_proba(ROWS[:4]), rtol=0, atol=1e-12)
