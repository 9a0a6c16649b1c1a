"""POST /predict: three shapes of rows, budgets, deadlines, and what it says of mistakes."""

import time

import numpy as np
import pytest
from serving import LABELS, ROWS, Asker, write_model

from tanager import AODE, NaiveBayes, load
from tanager.service.app import Limits
from tanager.service.messages import ModelInfo, PredictResponse
from tanager.service.rows import RequestRows

ROW = {"colour": "red", "size": 2.0}


def test_all_shapes_of_rows_give_the_answers_of_the_model(ask, model_file):
    rows = [ROW, {"size": 8.0, "wild": True}, {}]
    proba = load(model_file).predict_proba([{**dict.fromkeys(ROWS[0]), **row} for row in rows])
    columns = ["wild", "size", "colour"]
    cells = [[row.get(name) for name in columns] for row in rows]
    for body in ({"rows": rows}, {"columns": columns, "rows": cells}):
        answer = ask.predict(body).as_(PredictResponse)
        np.testing.assert_allclose(answer.probabilities, proba, rtol=0, atol=1e-12)
        assert answer.labels == ["fish", "bird", "bird"]
        assert answer.classes == ["bird", "fish"]
        assert (answer.model, answer.sequence, answer.members, answer.complete) == ("pets", 0, None, True)
    one = ask.predict({"row": ROW}).as_(PredictResponse)
    np.testing.assert_allclose(one.probabilities, proba[:1], rtol=0, atol=1e-12)


def test_columns_may_be_left_out_and_others_are_ignored_with_a_word(ask):
    less = ask.predict({"columns": ["size"], "rows": [[1.0]]}).as_(PredictResponse)
    assert less.labels == ["fish"]
    assert less.warnings == ["2 of 3 columns are missing ('colour', 'wild'): answered without them."]
    more = ask.predict({"rows": [ROW, {"color": "red"}]}).as_(PredictResponse)
    assert more.warnings == ["1 column that the model was not fitted on ('color'): ignored."]
    assert more.probabilities == ask.predict({"rows": [ROW, {}]}).as_(PredictResponse).probabilities
    lists = ask.predict({"columns": ["age", *ROW, "wild"], "rows": [[9, *ROW.values(), None]]}).as_(PredictResponse)
    assert lists.warnings == ["1 column that the model was not fitted on ('age'): ignored."]
    assert lists.probabilities == more.probabilities[:1]


def test_values_never_seen_are_told_and_counted(ask):
    rows = [{"colour": "teal"}, {"colour": "teal"}, ROW]
    words = ["column 'colour': 2 cells hold 1 value never seen in training ('teal'): treated as missing."]
    assert ask.predict({"rows": rows}).as_(PredictResponse).warnings == words
    assert ask.predict({"rows": [ROW]}).as_(PredictResponse).warnings == []
    assert ask.predict({"row": rows[0]}).as_(PredictResponse).warnings != []
    assert ask("GET", "/models/pets").as_(ModelInfo).unseen == {"colour": 3}


def test_rows_with_none_of_the_columns_are_refused(ask):
    error = ask.predict({"rows": [{"color": "red"}]}).error
    assert (error.code, error.where) == ("unknown_column", "rows[0].color")
    assert "Did you mean 'colour'?" in error.message
    assert ask.predict({"columns": ["siz"], "rows": [[1.0]]}).error.where == "columns[0]"
    assert ask.predict({"row": {"siz": 1}}).error.where == "row.siz"


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        ({"rows": [ROW, {"size": "huge"}]}, "bad_value", "rows[1].size"),
        ({"row": {"size": "huge"}}, "bad_value", "row.size"),
        ({"columns": ["size"], "rows": [[1], ["huge"]]}, "bad_value", "rows[1].size"),
        ({"rows": [ROW, {"colour": ["red"]}]}, "wrong_type", "rows[1].colour"),
        ({"row": {"colour": {"a": 1}}}, "wrong_type", "row.colour"),
        ({"columns": ["size"], "rows": [[[1]]]}, "wrong_type", "rows[0][0]"),
        ({"row": {"size": 2**63}}, "wrong_type", "row.size"),
        ({"row": "red"}, "wrong_type", "row"),
        ({"rows": ROW}, "wrong_type", "rows"),
        ({"row": ROW, "members": "3"}, "wrong_type", "members"),
        ({"row": ROW, "members": -1}, "wrong_type", "members"),
        ({"row": ROW, "budget_us": -1}, "wrong_type", "budget_us"),
        ({"row": ROW, "buget_us": 1}, "unknown_field", "buget_us"),
        ({"row": ROW, "rows": [ROW]}, "wrong_shape", "row"),
        ({"rows": []}, "wrong_shape", "rows"),
        ({"rows": [[1]]}, "wrong_shape", "rows[0]"),
        ({"columns": ["size"], "rows": [[1, 2]]}, "wrong_shape", "rows[0]"),
        ({"columns": ["size"], "rows": [{"size": 1}]}, "wrong_shape", "rows[0]"),
        ({"columns": ["size", "size"], "rows": [[1, 2]]}, "wrong_shape", "columns"),
        ({"columns": ["size"]}, "wrong_shape", "columns"),
        ({"rows": [ROW, ROW], "ids": ["a"]}, "wrong_shape", "ids"),
        ({"rows": [ROW, ROW], "ids": ["a", "a"]}, "wrong_shape", "ids"),
        ({"rows": [ROW] * 51}, "too_many_rows", "rows"),
        ({}, "wrong_shape", None),
        ({"row": ROW, "members": 2}, "bad_option", "members"),
        ([], "wrong_type", "the body"),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_a_mistake_is_told_with_its_place(ask, body, code, where):
    error = ask.predict(body).error
    assert (error.code, error.where) == (code, where)
    assert error.message.endswith((".", "?"))


def test_text_that_is_no_json_is_told(ask):
    for body in (b"", b"{", b"\xff", b'{"row": NaN}', b'{"row":' + b"[" * 5000, b"nonsense"):
        said = ask.predict(body=body)
        assert said.status in (400, 422)
        assert said.error.code in ("bad_json", "wrong_type")


def test_what_is_no_json_says_what_to_send_instead(ask):
    said = {
        body: ask.predict(body=body).error.message for body in (b"", b'{"row": {"size": NaN}}', b'{"row": -Infinity}')
    }
    assert said[b""].startswith("the body is empty; it takes an object, such as")
    assert said[b'{"row": {"size": NaN}}'] == (
        "the body is not valid JSON, which has no NaN (byte 17). Send null for a missing cell."
    )
    assert "has no Infinity" in said[b'{"row": -Infinity}']
    error = ask.predict(body=b'{"row": {"size": 12345678901234567890}}').error
    assert error.message.endswith('Send a larger whole number as text, such as "12345678901234567890".')


def test_a_value_that_was_never_seen_is_refused_where_the_model_says_so(services, tmp_path):
    ask = Asker(services(write_model(tmp_path / "strict.tanager", AODE(unseen="error"))))
    error = ask.predict({"rows": [{"colour": "red"}, {"colour": "teal"}]}).error
    assert (error.code, error.where) == ("bad_value", "rows[1].colour")


def test_numbers_are_classes_too(services, tmp_path):
    labels = [3 if label == "fish" else 7 for label in LABELS]
    ask = Asker(services(write_model(tmp_path / "numbers.tanager", NaiveBayes(), labels)))
    assert ask.predict({"row": ROW}).as_(PredictResponse).labels == [3]


def test_a_model_that_has_learned_nothing_says_so(services, tmp_path):
    AODE().save(tmp_path / "empty.tanager")
    ask = Asker(services(tmp_path / "empty.tanager"))
    assert ask.predict({"row": ROW}).error.code == "nothing_learned"
    assert ask.learn({"rows": ROWS, "labels": LABELS}).status == 200
    assert ask.predict({"row": ROW}).as_(PredictResponse).labels == ["fish"]
    assert ask("GET", "/models/empty").data["rows"] == 40


def test_a_tie_goes_to_the_larger_class(services, tmp_path):
    model = NaiveBayes(smoothing=0).fit([{"a": "x"}, {"a": "x"}, {"a": "y"}], ["small", "large", "large"])
    model.save(tmp_path / "tie.tanager")
    ask = Asker(services(tmp_path / "tie.tanager"))
    answer = ask.predict({"row": {"a": "x"}}).as_(PredictResponse)
    assert answer.probabilities == [[0.5, 0.5]]
    assert answer.labels == ["large"]


def test_many_rows_are_answered_in_a_thread_as_few_are_on_the_loop(services, model_file):
    service = services(model_file, limits=Limits())
    ask = Asker(service)
    few = ask.predict({"rows": ROWS}).as_(PredictResponse)
    many = ask.predict({"rows": ROWS * 50}).as_(PredictResponse)
    assert many.probabilities == few.probabilities * 50


class Clock:
    """A model that notes the budgets it was given."""

    def __init__(self, model):
        self.model, self.budgets = model, []

    def __getattr__(self, name):
        return getattr(self.model, name)

    def answer(self, X, budget=None, members=None):
        self.budgets.append((budget, members))
        proba = self.model.predict_proba(X)
        return type("Answer", (), {"proba": proba, "members": np.full(len(proba), 3), "complete": budget > 0})


@pytest.fixture
def service(services, model_file):
    return services(model_file, target=1000.0)  # no machine is so slow that nothing is left of it


@pytest.fixture
def clock(service):
    store = service.served["pets"].store
    store.model = Clock(store.model)
    return store.model


def test_a_budget_is_the_least_of_what_load_request_and_deadline_leave(ask, clock):
    free = ask.predict({"rows": [ROW]}).as_(PredictResponse)
    assert free.members == [3]
    assert 0 < clock.budgets[-1][0] <= 500.0
    ask.predict({"rows": [ROW], "budget_us": 50})
    assert clock.budgets[-1] == (50e-6, None)
    late = ask.predict({"rows": [ROW]}, x_deadline=str(time.time() - 1)).as_(PredictResponse)
    assert (late.budget_us, late.complete) == (0, False)
    ask.predict({"rows": [ROW]}, x_deadline=str(time.time() + 0.001))
    assert clock.budgets[-1][0] < 0.001


def test_members_that_are_named_are_not_cut_short_by_the_load(ask, clock):
    ask.predict({"rows": [ROW], "members": 2})
    assert clock.budgets[-1] == (0.1, 2)
    ask.predict({"rows": [ROW], "members": 2, "budget_us": 9})
    assert clock.budgets[-1] == (9e-6, 2)


@pytest.mark.parametrize("deadline", ["soon", "nan", "inf", "-inf", "1e999"])
def test_a_deadline_that_is_no_moment_is_refused(ask, deadline):
    error = ask.predict({"row": ROW}, x_deadline=deadline).error
    assert (error.code, error.where) == ("bad_http", "X-Deadline")


def test_places_of_rows_read_as_in_the_request():
    assert RequestRows([{}, {}]).place(1, "a b") == "rows[1].a b"
    assert RequestRows([{}], single=True).place(0) == "row"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            {"row": ["red", 3]},
            'row is a list; it takes an object of columns and cells, such as {"colour": "red", ',
        ),
        (
            {"rows": ROW},
            'rows is an object; it takes a list of rows, such as [{"colour": "red"}, {"colour": ',
        ),
        ({"rows": [ROW], "columns": "size"}, "columns is text; it takes a list of names of columns, such as"),
        ({"row": ROW, "members": "3"}, "members is text; it takes a whole number or null."),
        ({"row": ROW, "members": -1}, "members: expected a whole number >= 0."),
        ([], 'the body is a list; it takes an object, such as {"row": {"colour": "red", "size": 3}}.'),
    ],
)
def test_a_wrong_kind_is_told_in_plain_words_with_an_example(ask, body, sentence):
    message = ask.predict(body).error.message
    assert message.startswith(sentence)
    assert message.endswith("See /docs for the format.")
