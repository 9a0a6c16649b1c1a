"""Why: rows with wrong answers first, reasons that add up, and changes that turn answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sklearn.datasets import load_iris

from tanager import NaiveBayes, OptionError, nearest_changes
from tanager.studio.document import DataChoice, ModelChoice
from tanager.studio.models import classifier_of
from tanager.studio.pages import why
from tanager.studio.pages.start import begin
from tanager.studio.session import Session

NAMES = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")


def open_iris(session: Session, model: str) -> None:
    """The rows of scikit-learn as a file of this session, under short names."""
    X, y = load_iris(return_X_y=True)
    lines = [",".join([*map(str, cells), NAMES[label]]) for cells, label in zip(X.tolist(), y.tolist(), strict=True)]
    path = session.folder / "iris.csv"
    path.write_text("\n".join(["sepallength,sepalwidth,petallength,petalwidth,class", *lines]))
    begin(session, DataChoice(kind="file", name=str(path), target="class"))
    session.change("a model", msgspec.structs.replace(session.document, model=ModelChoice(model)))


@pytest.fixture
def iris() -> Iterator[Session]:
    session = Session()
    open_iris(session, "NaiveBayes")
    yield session
    session.close()


def test_wrong_answers_come_first_the_surest_first(iris: Session) -> None:
    model, prepared = classifier_of(iris), iris.prepared
    proba = model.leave_one_out(prepared.X, prepared.y)
    wrong = np.flatnonzero(model.decide(proba) != prepared.y)
    listed = why.rows(iris)
    first = [row["row"] for row in listed["rows"][: len(wrong)]]
    assert sorted(first) == wrong.tolist()
    assert first == sorted(first, key=lambda r: -proba[r].max())
    rest = [row["certainty"] for row in listed["rows"][len(wrong) :]]
    assert rest == sorted(rest)
    assert listed["n"] == 150
    assert why.overview(iris)["wrong"] == len(wrong)


def test_rows_are_filtered_by_class_answer_certainty_and_text(iris: Session) -> None:
    listed = why.rows(iris, only="right", actual=1, high=0.9)
    assert listed["rows"]
    assert all(row["actual"] == row["predicted"] == 1 and row["certainty"] <= 0.9 for row in listed["rows"])
    assert all(row["predicted"] == 2 for row in why.rows(iris, predicted=2)["rows"])
    assert all(row["actual"] != row["predicted"] for row in why.rows(iris, only="wrong")["rows"])
    X = iris.prepared.X.to_pylist()
    found = why.rows(iris, search="petalwidth = 1.8")
    assert {row["row"] for row in found["rows"]} == {r for r, cells in enumerate(X) if cells["petalwidth"] == 1.8}
    assert 149 in [row["row"] for row in why.rows(iris, search="149")["rows"]]
    assert why.rows(iris, search="nothing like it") == {"n": 0, "rows": []}
    assert len(why.rows(iris, start=100)["rows"]) == 50


def test_reasons_and_nomogram_add_up_to_the_answer(iris: Session) -> None:
    found = why.why(iris, row=70, answer=2, against=1, nomogram=True)
    p = found["probabilities"]
    total = math.log(p[2] / p[1])
    reasons = found["reasons"]
    assert reasons["prior"] + sum(each["log_odds"] for each in reasons["columns"]) == pytest.approx(total)
    assert found["nomogram"]["total"] == pytest.approx(total)
    assert found["actual"] == 1
    changed = why.why(iris, row=70, changes={"petalwidth": 0.2, "petallength": None})
    assert changed["cells"]["petalwidth"] == 0.2
    expected = classifier_of(iris).predict_proba([{**iris.prepared.X.slice(70, 1).to_pylist()[0], **changed["cells"]}])
    assert changed["probabilities"] == pytest.approx(expected[0])


def test_changes_are_those_of_the_library_without_fixed_columns(iris: Session) -> None:
    row = iris.prepared.X.slice(70, 1).to_pylist()[0]
    found = why.turning(iris, row=70)
    expected = nearest_changes(classifier_of(iris), row)
    assert found["n"] == len(expected)
    assert [change["values"] for change in found["changes"]] == [change.values for change in expected][:12]
    fixed = why.turning(iris, row=70, fixed=list(expected[0].values))
    assert all(not {*change["values"]} & {*expected[0].values} for change in fixed["changes"])


def test_what_has_no_nomogram_says_so_and_what_does_not_fit_is_refused() -> None:
    session = Session()
    open_iris(session, "AODE")
    assert "vote of several" in why.why(session, row=0, nomogram=True)["nomogram"]["refused"]
    for body, words in (
        ({"row": 150}, "no row 150"),
        ({"changes": {"colour": 1}}, "no column 'colour'"),
        ({"answer": 3}, "no class number 3"),
    ):
        with pytest.raises(OptionError, match=words):
            why.why(session, **body)
    session.close()


def test_a_model_file_answers_a_row_of_ones_own(tmp_path: Path) -> None:
    X = {"sky": ["sun", "rain"] * 10, "heat": [float(i) for i in range(20)]}
    NaiveBayes().fit(X, ["play", "stay"] * 10).save(tmp_path / "sky.tanager")
    session = Session()
    begin(session, DataChoice(kind="model", name=str(tmp_path / "sky.tanager")))
    shown = why.overview(session)
    assert shown["rows"] == 0
    assert [column["range"] is None for column in shown["columns"]] == [True, False]
    found = why.why(session, changes={"sky": "rain"}, nomogram=True)
    assert found["answer"] == 1
    assert found["actual"] is None
    assert why.turning(session, changes={"sky": "rain"})["changes"][0]["values"] == {"sky": "sun"}
    session.close()


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture
def iris_tab(tab: Any, running: Any) -> Any:
    """The page Why with iris and naive Bayes."""
    open_iris(running.session, "NaiveBayes")
    tab.get_by_role("link", name="Why").click()
    tab.get_by_text("8 of 150 answers are wrong").wait_for()
    tab.locator("#answer").wait_for()
    return tab


def test_rows_are_chosen_by_mouse_and_keys_and_filtered(iris_tab: Any) -> None:
    tab = iris_tab
    second = tab.locator(".rows tbody tr").nth(1)
    second.click()
    tab.get_by_role("heading", name=f"Row {second.get_attribute('data-row')}:").wait_for()
    tab.keyboard.press("Tab")
    second.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    third = tab.locator(".rows tbody tr").nth(2).get_attribute("data-row")
    tab.get_by_role("heading", name=f"Row {third}:").wait_for()
    tab.locator("#filter-only").select_option("wrong")
    tab.get_by_text("8 rows").wait_for()
    tab.locator("#filter-actual").select_option("2")
    tab.wait_for_function("document.querySelectorAll('.rows tbody tr').length < 8")
    tab.get_by_label("Search rows").fill("no such value")
    tab.get_by_text("No row fits").wait_for()


def test_a_change_that_turns_the_answer_turns_it(iris_tab: Any) -> None:
    tab = iris_tab
    before = tab.locator("#answer").text_content()
    change = tab.locator(".turns .belief").first
    wanted = change.locator(".number").text_content().split()[1]
    change.click()
    tab.get_by_text("changed by you").wait_for()
    assert tab.locator("#answer").text_content() == wanted != before
    tab.get_by_role("button", name="Put all back").click()
    tab.get_by_text("changed by you").wait_for(state="detached")
    assert tab.locator("#answer").text_content() == before


def test_a_slider_moves_the_probabilities_and_the_nomogram_takes_clicks(iris_tab: Any) -> None:
    tab = iris_tab
    chance = tab.locator(".chance").first
    before = chance.text_content()
    tab.get_by_label("petalwidth", exact=True).focus()
    tab.keyboard.press("Home")
    tab.wait_for_function("([old]) => document.querySelector('.chance').textContent !== old", arg=[before])
    tab.get_by_role("tab", name="Nomogram").click()
    tab.locator(".nomogram").wait_for()
    tab.locator(".nomogram .value:not(.own) text").first.click()
    tab.get_by_text("changed by you").wait_for()
    tab.get_by_label("Put petalwidth back").click()
    tab.get_by_role("tab", name="Reasons").click()
    tab.locator("#why-against").select_option("0")
    tab.get_by_text("← for Iris-setosa").wait_for()
