"""The page Decide: diagrams that are edited and solved, costs of errors, and questions with prices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tanager import DecisionNetwork
from tanager.errors import DataError, OptionError
from tanager.studio.decision_examples import EXAMPLES
from tanager.studio.document import DataChoice
from tanager.studio.models import classifier_of
from tanager.studio.pages import costs, decide, questions
from tanager.studio.pages.start import begin
from tanager.studio.session import Session

IRIS = DataChoice(kind="dataset", name="iris", target="class")


@pytest.fixture
def session() -> Iterator[Session]:
    own = Session()
    yield own
    own.close()


def diagram_of(session: Session) -> DecisionNetwork:
    return DecisionNetwork.from_dict(session.document.diagram)


def test_the_examples_have_their_known_answers(session: Session) -> None:
    decide.begin_with(session, "oil wildcatter")
    oil = decide.show(session)
    assert oil["expected_utility"] == pytest.approx(22.5)
    assert oil["policies"][0]["rules"] == ["always: yes"]
    decide.begin_with(session, "umbrella")
    umbrella = decide.show(session)
    assert umbrella["expected_utility"] == pytest.approx(77)
    assert umbrella["policies"][0]["rules"] == [
        "if forecast = sunny or cloudy: leave it",
        "if forecast = rainy: take it",
    ]


def test_a_diagram_is_built_from_nothing_and_its_script_builds_the_same(session: Session) -> None:
    decide.begin_with(session, "")
    decide.add_node(session, "decision", "go")
    decide.add_node(session, "chance", "sky", ["sun", "rain", "snow"])
    decide.add_node(session, "utility", "joy")
    decide.add_arc(session, "go", "joy")
    decide.add_arc(session, "sky", "joy")
    decide.add_arc(session, "sky", "go")
    decide.set_table(session, "joy", [[0, 0, 0], [3, -1, -2]])
    assert decide.show(session)["expected_utility"] == pytest.approx(1)
    decide.remove_arc(session, "sky", "go")
    assert decide.show(session)["information"] == {"go": {"sky": pytest.approx(1)}}
    decide.remove_node(session, "sky")
    assert diagram_of(session).tables["joy"].tolist() == [0, 0]
    names: dict[str, Any] = {}
    exec("\n".join(line for entry in session.entries for line in entry.code), names)
    assert names["diagram"] == diagram_of(session)


def test_an_arc_that_closes_a_cycle_is_refused_and_nothing_changes(session: Session) -> None:
    decide.begin_with(session, "umbrella")
    before = session.document
    with pytest.raises(DataError, match="cycle"):
        decide.add_arc(session, "forecast", "weather")
    with pytest.raises(DataError, match="sum"):
        decide.set_table(session, "weather", [0.7, 0.7])
    with pytest.raises(OptionError, match="number in every cell"):
        decide.set_table(session, "weather", ["a", None])
    assert diagram_of(session).tables["weather"].tolist() == before.diagram["nodes"][0]["table"]


def test_what_is_no_diagram_is_refused(session: Session) -> None:
    for content in ("", "[]", "{}", '{"nodes": [{"name": 1}]}', '{"nodes": 3}'):
        with pytest.raises(DataError):
            decide.open_(session, content)
    assert session.document.diagram is None


def test_a_saved_diagram_is_opened_again(session: Session) -> None:
    decide.begin_with(session, "oil wildcatter")
    content = decide.save(session).content.decode()
    decide.begin_with(session, "")
    decide.open_(session, content)
    assert diagram_of(session) == EXAMPLES["oil wildcatter"].diagram
    assert json.loads(content) == session.document.diagram


def test_costs_of_errors_are_those_of_the_classifier_with_a_cost_matrix(session: Session) -> None:
    begin(session, IRIS)
    matrix = ((0.0, 1.0, 1.0), (1.0, 0.0, 10.0), (1.0, 1.0, 0.0))
    found = costs.use(session, matrix)
    prepared = session.prepared
    model = classifier_of(session)
    assert model.cost_matrix == matrix
    answers = model.decide(model.leave_one_out(prepared.X, prepared.y))
    expected = np.mean(
        [matrix[c][list(model.classes_).index(a)] for c, a in zip(prepared.labels, answers, strict=True)]
    )
    assert found["figures"]["careful"]["cost"] == pytest.approx(expected)
    assert found["figures"]["saved"] == pytest.approx(found["figures"]["plain"]["cost"] - expected)
    with pytest.raises(OptionError, match="one row per true class"):
        costs.use(session, ((0.0,),))
    costs.use(session, None)
    assert classifier_of(session).cost_matrix is None


def test_the_best_question_is_the_one_of_the_library(session: Session) -> None:
    begin(session, IRIS)
    found = questions.show(session)
    assert found["advice"]["next"] in ("petal width (cm)", "petal length (cm)")
    known = questions.advise(session, {"petal length (cm)": 1.4, "petal width (cm)": 0.2})
    assert known["next"] is None
    assert known["answer"] == "setosa"
    questions.set_prices(session, dict.fromkeys(session.prepared.schema.names, 5.0))
    assert questions.show(session)["advice"]["next"] is None  # nothing is worth five errors
    with pytest.raises(OptionError, match="price"):
        questions.set_prices(session, {"petal length (cm)": float("nan")})


def test_a_diagram_is_edited_in_the_browser(tab: Any, running: Any) -> None:
    tab.get_by_role("link", name="Decide").click()
    tab.get_by_role("button", name="umbrella").click()
    tab.locator("#expected-utility", has_text="77").wait_for()
    tab.locator("g.node[data-name=satisfaction]").click()
    tab.get_by_label("rain, take it", exact=True).fill("100")
    tab.get_by_role("button", name="Use these numbers").click()
    tab.locator("#expected-utility", has_text="82.4").wait_for()
    tab.keyboard.press("Control+z")
    tab.locator("#expected-utility", has_text="77").wait_for()
    tab.get_by_role("button", name="Add another node").click()
    tab.get_by_label("Name").fill("mood <script>alert(1)</script>")
    tab.get_by_role("button", name="Add", exact=True).click()
    tab.locator("g.node", has_text="<script>").wait_for()


def test_costs_are_tried_out_while_they_are_typed(tab: Any, running: Any) -> None:
    tab.get_by_role("button", name="iris").click()
    tab.get_by_text("iris: 150 rows").wait_for()
    tab.get_by_role("link", name="Decide").click()
    tab.get_by_role("tab", name="What errors cost").click()
    tab.get_by_label("cost of answering virginica where versicolor is true").fill("50")
    tab.get_by_text("rows are answered otherwise").wait_for()
    tab.get_by_role("button", name="Use these costs").click()
    tab.get_by_text("in use").wait_for()
    assert running.session.document.costs[1][2] == 50


def test_questions_are_asked_one_after_the_other_until_none_is_worth_its_price(tab: Any, running: Any) -> None:
    begin(running.session, IRIS)
    tab.get_by_text("iris: 150 rows").wait_for()
    tab.get_by_role("link", name="Decide").click()
    tab.get_by_role("tab", name="Which question next").click()
    tab.get_by_text("Ask next: petal").wait_for()
    for name, value in (("petal length (cm)", "1.4"), ("petal width (cm)", "0.2")):
        tab.get_by_label(f"value of {name}").fill(value)
        tab.keyboard.press("Enter")
    tab.get_by_text("no question is worth its price").wait_for()
    assert tab.locator("#next-question").inner_text() == "setosa"
    tab.get_by_role("button", name="What does this save, over the rows?").click()
    tab.locator("#report").get_by_text("question after question").wait_for()
