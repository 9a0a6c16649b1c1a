"""POST /explain: the explanations of the model, what would turn an answer, and what it says of mistakes."""

import pytest
from serving import LABELS, ROWS, Asker, write_model

from tanager import AODE, EvolvingNaiveBayes, NaiveBayes, load, nearest_changes
from tanager.service.explaining import MOST_EXPLAINED
from tanager.service.messages import ExplainResponse

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
