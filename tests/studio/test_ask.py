"""Ask: posteriors are those of the network, and a click on a bar is evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tanager import Network, OptionError, write_network
from tanager.errors import DataError
from tanager.studio.document import DataChoice, ModelChoice
from tanager.studio.models import classifier_of
from tanager.studio.pages import ask
from tanager.studio.pages.start import begin
from tanager.studio.session import Session

GARDEN = Network(
    {"season": ("dry", "wet"), "rain": (False, True), "sprinkler": ("no", "yes"), "grass": ("dry", "<b>wet</b>")},
    [("season", "rain"), ("season", "sprinkler"), ("rain", "grass"), ("sprinkler", "grass")],
    {
        "season": [0.6, 0.4],
        "rain": [[0.8, 0.2], [0.25, 0.75]],
        "sprinkler": [[0.4, 0.6], [0.9, 0.1]],
        "grass": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.05, 0.95]]],
    },
)


@pytest.fixture
def garden(tmp_path: Path) -> Iterator[Session]:
    """A session with a network file."""
    session = Session()
    open_garden(session, tmp_path)
    yield session
    session.close()


def open_garden(session: Session, folder: Path) -> None:
    write_network(GARDEN, folder / "garden.bif")
    begin(session, DataChoice(kind="network", name=str(folder / "garden.bif")))


def wine(model: str) -> Session:
    session = Session()
    begin(session, DataChoice(kind="dataset", name="wine", target="class"))
    session.change("a model", msgspec.structs.replace(session.document, model=ModelChoice(model)))
    return session


def test_beliefs_are_the_posteriors_of_the_network(garden: Session) -> None:
    found = ask.beliefs(garden, {"grass": 1}, {"season": [1.0, 3.0]})
    for name, own in zip(GARDEN, found["marginals"], strict=True):
        expected = (
            GARDEN.posterior(name, {"grass": "<b>wet</b>"}, soft={"season": [1, 3]}) if name != "grass" else [0, 1]
        )
        assert own == pytest.approx(np.asarray(expected))
    assert found["probability"] == pytest.approx(GARDEN.posterior("grass")[1])


def test_what_is_certain_needs_no_likelihoods(garden: Session) -> None:
    both = ask.beliefs(garden, {"season": 1}, {"season": [1.0, 0.0]})
    assert both["marginals"][0].tolist() == [0, 1]


def test_evidence_that_cannot_be_gets_a_sentence(garden: Session) -> None:
    with pytest.raises(DataError, match="probability 0"):
        ask.beliefs(garden, {"rain": 0, "sprinkler": 0, "grass": 1})
    with pytest.raises(OptionError, match="no value number 2"):
        ask.beliefs(garden, {"rain": 2})


def test_the_picture_has_room_for_the_bars_of_every_variable(garden: Session) -> None:
    found = ask.network(garden)
    assert [variable["name"] for variable in found["variables"]] == list(GARDEN)
    assert found["variables"][1]["values"] == ["False", "True"]
    assert all(node["room"] >= 2 * ask.BAR and node["height"] > node["room"] for node in found["picture"]["nodes"])
    assert ask.network(garden)["picture"] is found["picture"]


def test_questions_explanation_and_sensitivity_are_those_of_the_network(garden: Session) -> None:
    asked = ask.questions(garden, "rain", {"grass": 1})
    expected = GARDEN.next_question("rain", {"grass": "<b>wet</b>"})
    assert [each["name"] for each in asked["questions"]] == [each.name for each in expected]
    assert asked["entropy"] == pytest.approx(expected[0].bits + expected[0].expected_entropy)
    best = ask.explanation(garden, {"grass": 1})
    assert best["values"] == {"season": 1, "rain": 1, "sprinkler": 0}
    matters = ask.sensitivity(garden, "rain", 1, {"grass": 1}, wanted=0.5, top=3)
    first = GARDEN.sensitivity("rain", True, {"grass": "<b>wet</b>"}, top=1)[0]
    assert matters["entries"][0]["needed"] == pytest.approx(first.needed(0.5))
    assert matters["entries"][0]["curve"][0] == pytest.approx(first.posterior(0.0))
    assert matters["posterior"] == pytest.approx(GARDEN.posterior("rain", {"grass": "<b>wet</b>"})[1])


def test_the_network_of_a_chosen_classifier_can_be_asked_and_a_vote_cannot() -> None:
    session = wine("TAN")
    found = ask.network(session)
    assert found["target"] == "class"
    column = found["variables"][1]["name"]
    network = classifier_of(session).network_
    expected = network.posterior("class", {column: network.values(column)[0]})
    assert ask.beliefs(session, {column: 0})["marginals"][0] == pytest.approx(expected)
    session.close()
    session = wine("AODE")
    with pytest.raises(OptionError, match="page Network"):
        ask.network(session)
    session.close()


# --- in a browser ---------------------------------------------------------------------------------------------------


def bar(tab: Any, name: str, place: int) -> Any:
    return tab.locator(f'.bar[data-name="{name}"][data-place="{place}"]')


def chance(tab: Any, name: str, place: int) -> float:
    return float(bar(tab, name, place).locator(".number").text_content().rstrip(" %")) / 100


@pytest.fixture
def garden_tab(tab: Any, running: Any, tmp_path: Path) -> Any:
    """The page Ask with the garden."""
    open_garden(running.session, tmp_path)
    tab.get_by_role("link", name="Ask").click()
    tab.get_by_text("Nothing yet").wait_for()
    bar(tab, "rain", 1).wait_for()
    return tab


def test_a_click_on_a_bar_is_evidence_and_a_second_takes_it_back(garden_tab: Any) -> None:
    tab = garden_tab
    assert chance(tab, "rain", 1) == pytest.approx(GARDEN.posterior("rain")[1], abs=1e-3)
    bar(tab, "grass", 1).click()
    tab.locator(".chip", has_text="grass = <b>wet</b>").wait_for()
    assert chance(tab, "rain", 1) == pytest.approx(GARDEN.posterior("rain", {"grass": "<b>wet</b>"})[1], abs=1e-3)
    bar(tab, "grass", 1).click()
    tab.get_by_text("Nothing yet").wait_for()
    assert chance(tab, "rain", 1) == pytest.approx(GARDEN.posterior("rain")[1], abs=1e-3)


def test_evidence_is_set_by_keys_and_what_cannot_be_is_refused_and_taken_back(garden_tab: Any) -> None:
    tab = garden_tab
    for name, key in (("rain", "1"), ("sprinkler", "1"), ("grass", "2")):
        tab.locator(f'.node[data-name="{name}"]').focus()
        tab.keyboard.press(key)
        tab.get_by_role("button", name=f"Forget {name}").wait_for()
    tab.get_by_text("has probability 0 in this network").wait_for()
    tab.get_by_role("button", name="Take the last one back").click()
    tab.get_by_role("button", name="Forget grass").wait_for(state="detached")
    assert chance(tab, "grass", 0) == 1
    tab.get_by_role("button", name="Forget all").click()
    tab.get_by_text("Nothing yet").wait_for()


def test_likelihoods_are_set_by_sliders(garden_tab: Any) -> None:
    tab = garden_tab
    tab.locator('.node[data-name="season"]').focus()
    tab.keyboard.press("Enter")
    slider = tab.get_by_label("How well season = dry fits")
    slider.focus()
    tab.keyboard.press("Home")
    for _ in range(25):
        tab.keyboard.press("ArrowRight")
    tab.get_by_text("season: likelihoods").wait_for()
    expected = GARDEN.marginals(soft={"season": [0.25, 1]})["season"][1]
    tab.wait_for_function(
        "([text]) => document.querySelector('.bar[data-name=season][data-place=\"1\"] .number').textContent === text",
        arg=[f"{100 * expected:.1f} %"],
    )


def test_the_list_and_the_three_questions_answer(garden_tab: Any) -> None:
    tab = garden_tab
    tab.get_by_role("button", name="List").click()
    tab.get_by_role("button", name="grass = <b>wet</b>").click()
    tab.get_by_role("button", name="Forget grass").wait_for()
    tab.locator("#target").select_option("rain")
    best = GARDEN.next_question("rain", {"grass": "<b>wet</b>"})[0].name
    tab.locator(".asks li").first.get_by_text(best).wait_for()
    tab.get_by_role("tab", name="Most probable").click()
    tab.locator(".explanation").get_by_text("sprinkler").wait_for()
    tab.get_by_role("tab", name="What matters").click()
    tab.locator(".matters li").first.wait_for()
    needed = tab.locator(".matters li small").first.text_content()
    tab.locator("#wanted").focus()
    for _ in range(10):
        tab.keyboard.press("ArrowRight")
    tab.wait_for_function("([old]) => document.querySelector('.matters li small').textContent !== old", arg=[needed])
    tab.get_by_label("Search variables").fill("rai")
    assert tab.locator(".belief-list .card:visible").count() == 1


def test_evidence_outlives_a_visit_to_another_page(garden_tab: Any) -> None:
    tab = garden_tab
    bar(tab, "grass", 1).click()
    tab.get_by_role("button", name="Forget grass").wait_for()
    tab.get_by_role("link", name="Why").click()
    tab.get_by_text("a network file has no classifier").wait_for()
    tab.get_by_role("button", name="To the page Ask").click()
    tab.get_by_role("button", name="Forget grass").wait_for()
