"""The page Network in a real browser, with mouse and keyboard."""

from __future__ import annotations

import csv
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tanager import TAN, save
from tanager.studio import learners
from tanager.studio.document import DataChoice
from tanager.studio.pages import network as page
from tanager.studio.pages.start import begin
from tanager.studio.session import Session
from waiting import PATIENCE, wait_for

A, B, C, D = "sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"
SCRIPT = "<script>document.title='broken'</script>"
QUOTES = 'it\'s "quoted" \\ and\nin two lines & <b>bold</b>'
LONG = "a very long name " * 20


def learned(session: Session, learner: str = "naive-bayes", **options: Any) -> None:
    """Learn without the page."""
    page.learn(session, learner, options)
    job = session.jobs.find("network")
    assert job is not None
    assert job.wait(PATIENCE)
    assert job.state == "done", job.text


def open_network(tab: Any, running: Any, choice: DataChoice | None = None, learner: str | None = "naive-bayes") -> None:
    begin(running.session, choice or DataChoice(kind="dataset", name="iris", target="class"))
    if learner:
        learned(running.session, learner)
    tab.goto(f"{running.url}#network")
    tab.locator("#accuracy" if learner else "#learn").wait_for()


def box(tab: Any, name: str) -> Any:
    """A box by its name, whatever is in it."""
    return tab.get_by_role("button", name=name, exact=False).and_(tab.locator(".graph .node"))


def middle(found: Any) -> tuple[float, float]:
    place = found.locator("rect").first.bounding_box()
    return place["x"] + place["width"] / 2, place["y"] + place["height"] / 2


def hold_arc(tab: Any, parent: str, child: str) -> None:
    """Drag from box to box without letting go."""
    x, y = middle(box(tab, parent))
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 10, y + 10)
    tab.mouse.move(*middle(box(tab, child)))


def drawn(tab: Any, parent: str, child: str) -> Any:
    found = tab.locator(".graph .arc")
    return found.and_(tab.locator(f'[data-parent="{parent}"][data-child="{child}"]'))


def test_a_network_is_learned_and_an_arc_is_drawn_with_the_mouse(tab: Any, running: Any) -> None:
    open_network(tab, running, learner=None)
    tab.locator("#learner").select_option("naive-bayes")
    tab.locator("#learn").click()
    tab.locator("#accuracy").wait_for()
    assert drawn(tab, "class", A).count() == 1
    before = tab.locator("#accuracy b").inner_text()
    hold_arc(tab, C, D)
    candidate = tab.locator("#against-candidate")
    candidate.get_by_text("log loss").wait_for()  # what it would do is there while the mouse is down
    assert f"{C} → {D}" in candidate.inner_text()
    shown = candidate.locator("span").first.inner_text()
    assert (C, D) not in running.session.document.arcs
    tab.mouse.up()
    drawn(tab, C, D).wait_for()
    assert shown in tab.locator("#against-before").inner_text()
    assert (C, D) in running.session.document.arcs
    after = tab.locator("#accuracy b").inner_text()
    tab.keyboard.press("Control+z")
    drawn(tab, C, D).wait_for(state="detached")
    tab.wait_for_function("text => document.querySelector('#accuracy b').innerText === text", arg=before)
    tab.locator("#tab-history").click()
    tab.get_by_role("button", name=f"added {C}").click()
    drawn(tab, C, D).wait_for()
    tab.wait_for_function("text => document.querySelector('#accuracy b').innerText === text", arg=after)
    tab.get_by_role("button", name="opened iris").click()
    tab.get_by_text("There is no network yet.").wait_for()
    assert tab.locator(".graph .node").count() == 0


def test_arcs_are_added_reversed_and_removed_with_the_keyboard(tab: Any, running: Any) -> None:
    open_network(tab, running, learner="empty")
    box(tab, A).focus()
    tab.keyboard.press("a")
    box(tab, B).focus()
    tab.locator("#against-candidate").get_by_text("log loss").wait_for()
    tab.keyboard.press("Enter")
    drawn(tab, A, B).wait_for()
    tab.keyboard.press("e")
    tab.locator("#reverse").wait_for()
    tab.keyboard.press("r")
    drawn(tab, B, A).wait_for()
    assert drawn(tab, A, B).count() == 0
    box(tab, A).focus()
    tab.keyboard.press("e")
    tab.keyboard.press("Delete")
    drawn(tab, B, A).wait_for(state="detached")
    assert running.session.document.arcs == ()


def test_a_cycle_is_shown_and_refused(tab: Any, running: Any) -> None:
    open_network(tab, running, learner="empty")
    page.add(running.session, A, B)
    page.add(running.session, B, C)
    drawn(tab, B, C).wait_for()
    hold_arc(tab, C, A)
    tab.get_by_text("it would close a cycle").wait_for()
    assert tab.locator(".arc.refused").count() == 2
    tab.mouse.up()
    tab.get_by_text(f"{A} → {B} → {C} → {A}").wait_for()
    assert len(running.session.document.arcs) == 2
    with pytest.raises(AssertionError, match="would close the cycle"):  # the server refuses it, too
        running.act("network", "add", parent=C, child=A)


def test_boxes_stay_until_tidy_and_two_networks_are_side_by_side(tab: Any, running: Any) -> None:
    open_network(tab, running)
    tab.locator("#mode").select_option("move")
    x, y = middle(box(tab, A))
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y + 90, steps=3)
    tab.mouse.up()
    moved = middle(box(tab, A))
    assert abs(moved[0] - x - 60) < 3
    assert abs(moved[1] - y - 90) < 3
    tab.locator("#mode").select_option("arc")
    hold_arc(tab, B, C)
    tab.mouse.up()
    drawn(tab, B, C).wait_for()
    assert middle(box(tab, A)) == pytest.approx(moved, abs=0.1)
    tab.locator("#against").select_option("learned")
    tab.get_by_text("as it was learned:").wait_for()
    assert tab.locator(".views .graph").count() == 2
    assert tab.locator(".arc.added").count() == 1
    tab.locator("#against").select_option("")
    tab.locator("#tidy").click()
    tab.locator("#tab-history").click()
    tab.get_by_text("tidied the picture").wait_for()
    assert running.session.entries[-1].label == "tidied the picture"


def test_a_row_of_a_table_is_set_locked_traced_and_unlocked(tab: Any, running: Any) -> None:
    open_network(tab, running)
    box(tab, D).click()
    tab.locator(".cpt tbody tr").first.click()
    first = tab.locator(".cpt input").first
    first.fill("0.5")
    values = [float(own.input_value()) for own in tab.locator(".cpt input").all()]
    assert sum(values) == pytest.approx(1, abs=1e-4)  # the others follow
    for own in tab.locator(".cpt input").all():
        own.fill("0.4")
    tab.get_by_text("sum 1.2").wait_for()
    assert tab.locator("#lock").is_disabled()
    tab.get_by_role("button", name="Scale to 1").click()
    tab.get_by_role("button", name="Where from?").click()
    tab.get_by_text("Where the numbers come from").wait_for()
    tab.locator("#lock").click()
    tab.locator(".cpt tr.locked").wait_for()
    (row,) = running.session.document.locked[D]
    assert row.probabilities == pytest.approx([1 / 3] * 3)
    tab.locator(".cpt tr.locked").click()
    tab.locator("#unlock").click()
    tab.locator(".cpt tr.locked").wait_for(state="detached")  # also while the answer is on its way
    wait_for(lambda: running.session.document.locked == {})


def test_rules_are_drawn_in_the_picture_and_in_the_form(tab: Any, running: Any) -> None:
    open_network(tab, running)
    tab.locator("#mode").select_option("forbid")
    hold_arc(tab, C, D)
    tab.get_by_text("no learner may have it").wait_for()
    tab.mouse.up()
    tab.locator(".arc.forbidden").wait_for()
    assert running.session.document.constraints.forbidden == ((C, D),)
    tab.locator("#tab-rules").click()
    tab.locator("#rule-parent").select_option(A)
    tab.locator("#rule-child").select_option(B)
    tab.locator("#require").click()
    tab.locator(".arc.required").wait_for()
    tab.get_by_label(f"Tier of {C}").select_option("0")
    tab.wait_for_function("() => document.querySelectorAll('.tiers option').length > 10")
    assert running.session.document.constraints.tiers == ((C,),)
    tab.locator("#tab-learn").click()
    tab.locator("#learner").select_option("hill-climb")
    tab.get_by_text("It keeps to your rules.").wait_for()
    tab.locator("#learn").click()
    drawn(tab, A, B).and_(tab.locator(":not(.required)")).wait_for()
    assert (C, D) not in running.session.document.arcs
    tab.locator("#tab-rules").click()
    tab.get_by_label(f"Drop the rule {C} → {D}").click()
    tab.locator(".arc.forbidden").wait_for(state="detached")


def test_a_long_search_shows_its_progress_and_is_stopped(
    tab: Any, running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(prepared: Any, name: str, options: Any, rules: Any, progress: Any) -> None:
        pause = threading.Event()
        while not pause.wait(0.01):  # a search that leaves some time to others
            progress("searching", 3, 10)

    monkeypatch.setattr(learners, "learn", slow)
    open_network(tab, running, learner=None)
    tab.locator("#learn").click()
    tab.get_by_text("searching").wait_for()
    tab.locator("#cancel").click()
    tab.get_by_text("Stopped").wait_for()
    assert running.session.document.arcs is None


def table_of(folder: Path, names: list[str], n_rows: int = 60) -> DataChoice:
    """A random table with these columns, as a file."""
    rng = np.random.default_rng(0)
    path = folder / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "class"])
        for _ in range(n_rows):
            writer.writerow([*rng.choice(["a", SCRIPT, QUOTES], len(names)), rng.choice(["yes", SCRIPT])])
    return DataChoice(kind="file", name=str(path), target="class")


def test_many_boxes_are_found_zoomed_and_focused_on(tab: Any, running: Any, tmp_path: Path) -> None:
    names = [f"column {i}" for i in range(200)]
    open_network(tab, running, table_of(tmp_path, names))
    assert tab.locator(".graph .node").count() == 201

    def width() -> float:
        return float(box(tab, "column 117").locator("rect").bounding_box()["width"])

    before = width()
    tab.get_by_label("Find a box").fill("column 117")
    tab.keyboard.press("Enter")
    tab.locator(".graph .node.selected").wait_for()
    assert width() > before  # large enough to read
    x, y = middle(box(tab, "column 117"))
    frame = tab.locator(".graph").bounding_box()
    assert frame["x"] < x < frame["x"] + frame["width"]
    assert frame["y"] < y < frame["y"] + frame["height"]
    large = width()
    tab.mouse.move(x, y)
    tab.mouse.wheel(0, 400)
    tab.wait_for_function(
        "w => document.querySelector('.node.selected rect').getBoundingClientRect().width < w", arg=large
    )
    page.add(running.session, "column 117", "column 3")
    drawn(tab, "column 117", "column 3").wait_for(state="attached")
    tab.locator("#blanket").click()
    tab.wait_for_function("() => document.querySelectorAll('.graph .node.faded').length === 198")
    tab.get_by_label("Show all").click()
    tab.locator("#blanket").click()
    tab.wait_for_function("() => document.querySelectorAll('.graph .faded').length === 0")


def test_script_and_odd_characters_in_names_and_values_are_text(tab: Any, running: Any, tmp_path: Path) -> None:
    open_network(tab, running, table_of(tmp_path, [SCRIPT, QUOTES, LONG, "__proto__", "constructor"]), learner="tan")
    names = running.session.prepared.schema.names
    assert tab.locator(".graph .node").count() == 6
    shown = tab.locator(".graph .node").evaluate_all("nodes => nodes.map((node) => node.dataset.name)")
    assert set(shown) == {*names, "class"}
    tab.locator(".graph .node").nth(0).click()
    tab.locator(".cpt tbody tr").first.wait_for()
    assert SCRIPT in tab.locator(".cpt").inner_text()
    for tab_name in ("learn", "rules", "history"):
        tab.locator(f"#tab-{tab_name}").click()
    page.reverse(running.session, *next(arc for arc in running.session.document.arcs if "class" not in arc))
    tab.get_by_text("reversed").first.wait_for()
    assert tab.title() == "Network · tanager studio"
    assert tab.locator("#main script, #main b:has-text('bold')").count() == 0
    wide = tab.locator(".graph .node rect").evaluate_all("all => Math.max(...all.map((own) => own.getBBox().width))")
    assert wide < 300  # a long name is cut, and its title has the whole


def test_a_model_file_is_looked_at(tab: Any, running: Any, tmp_path: Path) -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    save(TAN().fit(X, y), tmp_path / "iris.tanager")
    begin(running.session, DataChoice(kind="model", name=str(tmp_path / "iris.tanager")))
    tab.goto(f"{running.url}#network")
    tab.get_by_text("there are no rows").wait_for()
    box(tab, D).click()
    tab.locator(".cpt tbody tr").first.wait_for()
    assert tab.locator("#mode").is_disabled()
    assert tab.locator(".graph .node").count() == 5
