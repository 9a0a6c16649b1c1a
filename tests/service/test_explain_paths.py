"""POST /explain: the explanations of the model, what would turn an answer, and what it says of mistakes."""

import pytest
from serving import LABELS, ROWS, Asker, write_model

from tanager import AODE, TAN, EvolvingNaiveBayes, NaiveBayes, importance, load, nearest_changes, nomogram
from tanager.service import explaining
from tanager.service.explaining import MOST_EXPLAINED
from tanager.service.messages import ExplainResponse, ImportanceResponse, NomogramResponse

ROW = {"colour": "red", "size": 2.0}


def test_explanations_are_those_of_the_model(ask, model_file):
    rows = [ROW, {"size": 8.0, "wild": True}, {}]
    model = load(model_file)
    told = model.explain_rows(rows).to_dicts()
    columns = ["wild", "size", "colour"]
    cells = [[row.get(name) for name in columns] for row in rows]
    for body in ({"rows": rows}, {"columns": columns, "rows": cells}):
        answer = ask("POST", "/explain", body).as_(ExplainResponse)
        assert (answer.model, answer.sequence) == ("pets", 0)
        for own, expected in zip(answer.explanations, told, strict=True):
            assert (own.answer, own.against) == (expected["answer"], expected["against"])
            assert own.log_odds == pytest.approx(expected["log_odds"])
            assert own.prior + sum(part.log_odds for part in own.columns) == pytest.approx(own.log_odds)
            assert [part.column for part in own.columns] == [part["column"] for part in expected["columns"]]
            assert own.changes is None
    (one,) = ask("POST", "/models/pets/explain", {"row": ROW, "answer": "bird"}).as_(ExplainResponse).explanations
    assert (one.answer, one.against) == ("bird", "fish")


def test_changes_are_those_of_the_model(ask, model_file):
    body = {"row": ROW, "what_if": {"wanted": "bird", "fixed": ["wild"], "costs": {"size": 3}, "max_columns": 3}}
    (own,) = ask("POST", "/explain", body).as_(ExplainResponse).explanations
    found = nearest_changes(load(model_file), ROW, "bird", fixed=["wild"], costs={"size": 3}, max_columns=3)
    assert [(change.values, change.cost) for change in own.changes] == [(own.values, own.cost) for own in found]
    (own,) = ask("POST", "/explain", {"row": ROW, "what_if": {"wanted": "fish"}}).as_(ExplainResponse).explanations
    assert own.changes == []


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        ({"rows": [ROW, {"size": "huge"}]}, "bad_value", "rows[1].size"),
        ({"row": {"siz": 1}}, "unknown_column", "row.siz"),
        ({"row": ROW, "answer": "cat"}, "bad_option", None),
        ({"row": ROW, "answr": "cat"}, "unknown_field", "answr"),
        ({"row": ROW, "what_if": {"costs": {"size": 0}}}, "wrong_type", "what_if.costs"),
        ({"row": ROW, "what_if": {"fixed": ["siz"]}}, "bad_option", None),
        ({"row": ROW, "what_if": {"max_columns": 9}}, "wrong_type", "what_if.max_columns"),
        ({}, "wrong_shape", None),
        ({"rows": [ROW] * (MOST_EXPLAINED + 1)}, "too_many_rows", "rows"),
    ],
)
def test_mistakes_are_named(ask, body, code, where):
    error = ask("POST", "/explain", body).error
    assert (error.code, error.where if where else None) == (code, where)


def test_impossible_classes_have_no_numbers(services, tmp_path):
    model = NaiveBayes(smoothing=0).fit([{"x": "a"}] * 3 + [{"x": "b"}] * 3, ["u"] * 3 + ["v"] * 3)
    model.save(tmp_path / "sharp.tanager")
    (own,) = (
        Asker(services(tmp_path / "sharp.tanager"))("POST", "/explain", {"row": {"x": "a"}})
        .as_(ExplainResponse)
        .explanations
    )
    assert (own.log_odds, own.prior, own.columns[0].log_odds) == (None, 0.0, None)


def test_models_that_do_not_explain_say_so(services, tmp_path):
    path = write_model(tmp_path / "rules.tanager", EvolvingNaiveBayes())
    assert "gives no log-odds that add up" in Asker(services(path))("POST", "/explain", {"row": ROW}).error.message


def test_many_rows_of_an_average_are_explained(services, tmp_path):
    AODE().fit(ROWS, LABELS).save(tmp_path / "many.tanager")
    answer = Asker(services(tmp_path / "many.tanager"))("POST", "/explain", {"rows": ROWS[:5] * 10})
    assert len(answer.as_(ExplainResponse).explanations) == 50


# --- which columns matter, and what each value adds -------------------------------------------------------------------


def test_importance_is_that_of_the_model(ask, model_file):
    columns = ["wild", "size", "colour"]
    cells = [[row[name] for name in columns] for row in ROWS]
    for learned in (True, False):
        found = importance(load(model_file), ROWS, LABELS, learned=learned)
        for rows in ({"rows": ROWS}, {"columns": columns, "rows": cells}):
            body = {**rows, "labels": LABELS, "learned": learned}
            said = ask("POST", "/models/pets/importance", body).as_(ImportanceResponse)
            assert (said.model, said.sequence, said.rows, said.warnings) == ("pets", 0, 40.0, [])
            assert said.log_loss == pytest.approx(found.log_loss)
            assert tuple(own.column for own in said.columns) == found.columns
            for own, numbers in zip(said.columns, zip(found.increase, found.low, found.high, strict=True), strict=True):
                assert (own.increase, own.low, own.high) == pytest.approx(numbers)
    weighted = ask("POST", "/importance", {"rows": ROWS[:4], "labels": LABELS[:4], "weights": [2, 1, 1, 0]})
    assert weighted.as_(ImportanceResponse).rows == 4.0


def test_a_nomogram_is_that_of_the_model(services, tmp_path):
    path = write_model(tmp_path / "pets.tanager", TAN())
    ask, model = Asker(services(path)), load(path)
    for row, pair in ((None, {}), (ROW, {}), (ROW, {"answer": "bird", "against": "fish"})):
        body = pair if row is None else {"row": row, **pair}
        said, found = ask("POST", "/nomogram", body).as_(NomogramResponse), nomogram(model, row, **pair)
        assert (said.answer, said.against, said.prior) == (found.answer, found.against, pytest.approx(found.prior))
        for own, axis in zip(said.axes, found.axes, strict=True):
            assert (own.column, own.values, own.at, own.given) == (axis.column, [*axis.values], axis.at, axis.given)
            assert own.points == pytest.approx(axis.points)
        summed = said.prior + sum(own.points[own.at] for own in said.axes if own.at is not None)
        assert said.log_odds == pytest.approx(summed)


def test_what_a_nomogram_does_not_know_is_told_once(services, tmp_path):
    ask = Asker(services(write_model(tmp_path / "pets.tanager", NaiveBayes())))
    said = ask("POST", "/nomogram", {"row": {**ROW, "colour": "green", "tail": 1}}).as_(NomogramResponse)
    assert [word.partition(":")[0] for word in said.warnings] == [
        "1 column that the model was not fitted on ('tail')",
        "column 'colour'",
    ]
    assert "1 cell holds 1 value never seen" in said.warnings[1]


@pytest.mark.parametrize(
    ("path", "body", "code", "words"),
    [
        ("importance", {"rows": ROWS, "labels": ["fish"]}, "wrong_shape", "there are 40 rows and 1 labels"),
        ("importance", {"rows": [], "labels": []}, "wrong_shape", "Send at least one row"),
        ("importance", {"rows": ROWS}, "wrong_type", "labels"),
        ("importance", {"rows": ROWS[:1], "labels": ["cat"]}, "bad_value", "'cat'"),
        ("importance", {"rows": [{"size": "huge"}], "labels": ["fish"]}, "bad_value", r"rows[0].size"),
        ("importance", {"rows": ROWS * 5, "labels": LABELS * 5}, "too_many_rows", "send at most 50"),
        ("nomogram", {"row": ROW}, "bad_option", "a vote of several; explain is there for single rows"),
        ("nomogram", {"rows": [ROW]}, "unknown_field", "rows"),
    ],
)
def test_mistakes_in_looks_at_a_model_are_named(ask, path, body, code, words):
    error = ask("POST", f"/{path}", body).error
    assert error.code == code
    assert words in error.message


def test_importance_of_wide_models_takes_fewer_rows(ask, monkeypatch):
    monkeypatch.setattr(explaining, "MOST_ANSWERED", 20)
    error = ask("POST", "/importance", {"rows": ROWS[:6], "labels": LABELS[:6]}).error
    assert (error.code, error.message) == ("too_many_rows", "6 rows are too many for one request; send at most 5.")
    assert ask("POST", "/importance", {"rows": ROWS[:5], "labels": LABELS[:5]}).status == 200


def test_evolving_models_have_neither(services, tmp_path):
    ask = Asker(services(write_model(tmp_path / "rules.tanager", EvolvingNaiveBayes())))
    assert "EvolvingNaiveBayes has none" in ask("POST", "/nomogram", {}).error.message
    asked = {"rows": ROWS[:4], "labels": LABELS[:4]}
    assert "importance needs a model with counts" in ask("POST", "/importance", asked).error.message
