"""The page Data: what it says of columns, what edits do, what they cost, and what a browser shows of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from tanager import AODE, NaiveBayes, OptionError
from tanager.evaluate import log_loss
from tanager.studio.columns import following
from tanager.studio.document import ColumnChoices, DataChoice, Document, LockedRow, ModelChoice
from tanager.studio.judging import judge
from tanager.studio.models import classifier_class
from tanager.studio.pages import data as page
from tanager.studio.pages.data import Edit
from tanager.studio.pages.start import begin
from tanager.studio.prepared import prepare, prepare_again
from tanager.studio.session import Session
from waiting import wait_for

LEAVES_OUT = True
IRIS = DataChoice(kind="dataset", name="iris", target="class")
WIDTH, LENGTH = "petal width (cm)", "petal length (cm)"


@pytest.fixture
def iris() -> Iterator[Session]:
    session = Session()
    begin(session, IRIS)
    yield session
    session.close()


def write(path: Path, n_rows: int = 60) -> DataChoice:
    """A file with names of things, gaps, few whole numbers, and an order in text."""
    rng = np.random.default_rng(0)
    sizes = np.array(["small", "medium", "large"])[rng.integers(0, 3, n_rows)]
    lines = ["name,size,grade,when,weight,class"]
    for r in range(n_rows):
        weight = "" if r % 9 == 0 else f"{rng.normal() + (sizes[r] == 'large') * 2:.3f}"
        label = "yes" if sizes[r] == "large" or r % 5 == 0 else "no"
        lines.append(f"thing {r},{sizes[r]},{r % 4},2024-{1 + r % 12:02d}-03,{weight},{label}")
    path.write_text("\n".join(lines) + "\n")
    return DataChoice(kind="file", name=str(path), target="class")


@pytest.fixture
def things(tmp_path: Path) -> Iterator[Session]:
    session = Session()
    begin(session, write(tmp_path / "things.csv"))
    yield session
    session.close()


def run_script(session: Session) -> dict[str, Any]:
    """The variables after the lines of all steps so far were run one after the other."""
    lines = [line for entry in session.entries[: session.position + 1] for line in entry.code]
    variables: dict[str, Any] = {}
    exec("\n".join(lines), variables)
    return variables


def assert_script_gives_the_same_columns(session: Session) -> None:
    found = run_script(session)
    model = NaiveBayes(**found["options"]).fit(found["X"], found["y"])
    assert model.encoder_.schema == session.prepared.schema


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_all_columns_are_shown_with_kind_reason_gaps_and_information(things: Session) -> None:
    shown = page.show(things)
    columns = {column["name"]: column for column in shown["columns"]}
    kinds = [columns[name]["kind"] for name in ("size", "grade", "weight")]
    assert kinds == ["categorical", "categorical", "numeric"]
    assert columns["weight"]["gaps"] == 7
    assert columns["weight"]["reason"] == "numbers with fractions"
    assert columns["size"]["information"] > columns["grade"]["information"]
    assert shown["dropped"] == [{"name": "name", "reason": "every row has its own value"}]
    assert sum(shown["class_counts"]) == shown["rows"] == 60
    for column in columns.values():
        assert all(len(bar) == 2 for bar in column["small"])


def test_one_column_is_shown_with_counts_that_add_up(things: Session) -> None:
    weight = page.column(things, "weight")
    for axis in ("value", "rank"):
        assert np.sum(weight["numbers"][axis]["counts"]) == 60 - weight["gaps"]
        assert weight["numbers"][axis]["edges"][-1] == pytest.approx(1)
        assert (np.diff(weight["numbers"][axis]["edges"]) > 0).all()
    assert sum(weight["gaps_by_class"]) == weight["gaps"] == 7
    size = page.column(things, "size")
    assert sum(sum(own["counts"]) for own in size["values"]) == 60
    assert size["can_be"] == ["categorical", "ordinal"]
    with pytest.raises(OptionError, match="weight"):
        page.column(things, "weigth")


def test_times_are_told_to_be_times(tmp_path: Path) -> None:
    path = tmp_path / "times.parquet"
    when = np.datetime64("2024-01-01", "s") + np.arange(200) * np.timedelta64(1, "D")
    labels = ["early"] * 100 + ["late"] * 100
    pq.write_table(pa.table({"when": when, "hour": [time(r % 24) for r in range(200)], "class": labels}), path)
    session = Session()
    begin(session, DataChoice(kind="file", name=str(path), target="class"))
    assert [page.column(session, name)["numbers"]["time"] for name in ("when", "hour")] == ["date", "time"]
    seconds = float(np.datetime64("2024-02-01", "s").astype(int))
    assert page.change(session, Edit("cuts", "when", cuts=(seconds,)))["after"]["accuracy"] < 0.9
    assert page.column(session, "when")["numbers"]["time"] == "date"
    session.close()


def test_a_column_with_a_thousand_values_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    rows = [f"v{r % 1500},{'<script>alert(1)</script>' if r % 2 else 'b'},{r % 2}" for r in range(3000)]
    path.write_text("\n".join(["code,mark,class", *rows]) + "\n")
    session = Session()
    begin(session, DataChoice(kind="file", name=str(path), target="class"))
    found = page.column(session, "code")
    assert len(found["values"]) == 1000
    assert len(page.show(session)["columns"][0]["small"]) == 16
    assert page.column(session, "mark")["values"][0]["value"] in ("<script>alert(1)</script>", "b")
    session.close()


# --- edits -----------------------------------------------------------------------------------------------------------


def test_cut_points_by_hand_are_taken_and_taken_back(iris: Session) -> None:
    before = iris.prepared.schema
    page.change(iris, Edit("cuts", WIDTH, cuts=(0.8, 1.2, 1.7)))
    assert iris.prepared.schema[WIDTH].cuts == (0.8, 1.2, 1.7)
    assert not next(c for c in page.show(iris)["columns"] if c["name"] == WIDTH)["automatic"]
    assert_script_gives_the_same_columns(iris)
    page.change(iris, Edit("automatic", WIDTH))
    assert iris.prepared.schema == before
    assert_script_gives_the_same_columns(iris)


def test_a_column_can_have_no_cut_point_at_all(iris: Session) -> None:
    page.change(iris, Edit("cuts", WIDTH))
    assert iris.prepared.schema[WIDTH].n_values == 1
    assert_script_gives_the_same_columns(iris)


def test_kinds_can_be_changed_and_values_ordered(things: Session) -> None:
    order = ("small", "medium", "large")
    page.change(things, Edit("kind", "size", kind="ordinal", order=order))
    assert things.prepared.schema["size"].values == order
    page.change(things, Edit("cuts", "size", cuts=(1.5,)))
    assert things.prepared.schema["size"].cuts == (1.5,)
    assert [things.prepared.schema["size"].describe(v) for v in (0, 1)] == ["small to medium", "large"]
    assert_script_gives_the_same_columns(things)
    page.change(things, Edit("kind", "grade", kind="numeric"))
    assert things.prepared.schema["grade"].kind == "numeric"
    page.change(things, Edit("kind", "size", kind="categorical"))
    assert things.prepared.schema["size"].kind == "categorical"
    assert_script_gives_the_same_columns(things)


def test_columns_go_out_and_come_in(things: Session) -> None:
    page.change(things, Edit("leave out", names=("size", "when")))
    assert things.prepared.schema.names == ("grade", "weight")
    shown = {column["name"]: column["used"] for column in page.show(things)["columns"]}
    assert shown == {"size": False, "grade": True, "when": False, "weight": True}
    assert_script_gives_the_same_columns(things)
    page.change(things, Edit("take in", names=("size",)))
    assert things.prepared.schema.names == ("size", "grade", "weight")
    assert_script_gives_the_same_columns(things)
    with pytest.raises(OptionError, match="no column is left"):
        page.change(things, Edit("leave out", names=("size", "grade", "weight")))


def test_a_column_that_reading_dropped_can_be_taken_in(things: Session) -> None:
    page.change(things, Edit("leave out", names=("when",)))
    page.change(things, Edit("keep", "name"))
    assert things.prepared.schema.names == ("name", "size", "grade", "weight")
    assert page.show(things)["dropped"] == []
    assert_script_gives_the_same_columns(things)
    with pytest.raises(OptionError, match="no column that was dropped"):
        page.change(things, Edit("keep", "size"))


def test_the_binning_of_all_columns_can_be_chosen(iris: Session) -> None:
    page.change(iris, Edit("cuts", WIDTH, cuts=(1.0,)))
    page.change(iris, Edit("bins", bins="frequency", n_bins=4))
    assert [column.n_values for column in iris.prepared.schema.columns] == [4, 4, 4, 2]
    assert_script_gives_the_same_columns(iris)


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (Edit("cuts", WIDTH, cuts=(2.0, 1.0)), "ascending"),
        (Edit("cuts", "petal widht (cm)", cuts=(2.0,)), "Did you mean 'petal width"),
        (Edit("cuts"), "which column"),
        (Edit("kind", WIDTH, kind="ordinal"), "2 to 100"),
        (Edit("leave out", names=("no",)), "no column"),
        (Edit("bins", bins="width", n_bins=0), "n_bins"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_changes(iris: Session, edit: Edit, word: str) -> None:
    for action in (page.attempt, page.change):
        with pytest.raises(OptionError, match=word):
            action(iris, edit)
    assert len(iris.entries) == 2


def test_text_cannot_become_numbers(things: Session) -> None:
    with pytest.raises(Exception, match="size"):
        page.change(things, Edit("kind", "size", kind="numeric"))
    assert len(things.entries) == 2


@pytest.mark.parametrize(
    "edit",
    [
        Edit("cuts", "weight", cuts=(0.5, 1.5)),
        Edit("cuts", "weight"),
        Edit("kind", "size", kind="ordinal", order=("small", "medium", "large")),
        Edit("kind", "grade", kind="numeric"),
        Edit("automatic", "weight"),
    ],
)
def test_encoding_one_column_again_is_encoding_all(things: Session, edit: Edit) -> None:
    page.change(things, Edit("leave out", names=("when",)))
    before = things.prepared
    columns = page.edited(things.document.columns, edit)
    again, whole = prepare_again(before, columns, edit.name), prepare(things.loaded, columns)
    assert again.schema == whole.schema
    assert again.X.column_names == whole.X.column_names
    assert again.codes.dtype == whole.codes.dtype
    np.testing.assert_array_equal(again.codes, whole.codes)


def test_codes_become_wider_where_a_column_needs_it(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(["a,b,class", *(f"{r % 400 + 0.5},{r % 3},{r % 2}" for r in range(900))]) + "\n")
    session = Session()
    begin(session, DataChoice(kind="file", name=str(path), target="class"))
    columns = ColumnChoices(categorical=("a",))
    again, whole = prepare_again(session.prepared, columns, "a"), prepare(session.loaded, columns)
    assert again.codes.dtype == np.uint16
    np.testing.assert_array_equal(again.codes, whole.codes)
    session.close()


# --- what follows a change -------------------------------------------------------------------------------------------


def with_network(session: Session) -> Document:
    arcs = (("class", WIDTH), ("class", LENGTH), (WIDTH, LENGTH))
    row = LockedRow(("setosa",), (0.8, 0.1, 0.1))
    document = replace(session.document, arcs=arcs, locked={WIDTH: (row,)})
    session.change("drew a network", document)
    return document


def test_arcs_and_locked_rows_go_with_their_column(iris: Session) -> None:
    with_network(iris)
    found = page.change(iris, Edit("leave out", names=(WIDTH,)))
    assert iris.document.arcs == (("class", LENGTH),)
    assert iris.document.locked == {}
    assert len(found["notes"]) == 2
    assert found["after"]["by"] == "the network"
    assert [*run_script(iris)["network"].arcs] == [("class", LENGTH)]


def test_locked_rows_go_where_values_change_and_stay_elsewhere(iris: Session) -> None:
    document = with_network(iris)
    before = iris.prepared
    moved = prepare(iris.loaded, ColumnChoices(cuts={LENGTH: (2.0, 5.0)}))
    assert following(document, before, moved)[0].locked == document.locked
    moved = prepare(iris.loaded, ColumnChoices(cuts={WIDTH: (2.0,)}))
    assert following(document, before, moved)[0].locked == {}
    assert following(document, before, before) == (document, [])


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_a_judgement_is_that_of_leaving_rows_out(iris: Session) -> None:
    prepared = iris.prepared
    model = AODE(schema=prepared.schema).fit(prepared.X, prepared.y)
    proba = model.leave_one_out(prepared.X, prepared.y)
    found = judge(prepared, iris.document)
    assert found.by == "AODE"
    assert found.figures["accuracy"] == pytest.approx((model.classes_[proba.argmax(axis=1)] == prepared.y).mean())
    assert found.figures["log_loss"] == pytest.approx(log_loss(prepared.labels, proba))


@pytest.mark.parametrize("name", ["TAN", "KDB", "SPODE", "SelectiveNaiveBayes", "AnytimeAODE"])
def test_a_judgement_over_codes_is_that_over_the_table(iris: Session, name: str) -> None:
    document = replace(iris.document, model=ModelChoice(name))
    model = classifier_class(name)(schema=iris.prepared.schema).fit(iris.prepared.X, iris.prepared.y)
    expected = model.leave_one_out(iris.prepared.X, iris.prepared.y)
    np.testing.assert_allclose(judge(iris.prepared, document).answers.proba, expected, atol=1e-12)


def test_the_chosen_classifier_judges_where_it_can(iris: Session) -> None:
    prepared = iris.prepared
    choose = lambda name, **options: replace(iris.document, model=ModelChoice(name, options))  # noqa: E731
    assert judge(prepared, choose("TAN")).by == "TAN"
    assert judge(prepared, choose("NaiveBayes", gaussian=True)).by == "NaiveBayes"
    assert judge(prepared, choose("NetworkForest")).by == "AODE"


def test_an_attempt_says_what_the_change_will_say_and_changes_nothing(iris: Session) -> None:
    edit = Edit("cuts", WIDTH, cuts=(0.8, 1.7))
    tried = page.attempt(iris, edit)
    assert len(iris.entries) == 2
    assert tried["column"]["cuts"] == [0.8, 1.7]
    done = page.change(iris, edit)
    assert {key: done[key] for key in ("before", "after", "difference")} == {
        key: tried[key] for key in ("before", "after", "difference")
    }
    difference = done["difference"]["log_loss"]
    assert difference["difference"] == pytest.approx(done["after"]["log_loss"] - done["before"]["log_loss"])
    assert difference["low"] <= difference["difference"] <= difference["high"]
    assert iris.entries[-1].figures == done["after"]


def test_the_interval_is_that_of_paired_differences(iris: Session) -> None:
    before = judge(iris.prepared, iris.document)
    after = judge(prepare(iris.loaded, ColumnChoices(left_out=(WIDTH,))), iris.document)
    d = after.answers.losses - before.answers.losses
    found = after.minus(before)["log_loss"]
    margin = 1.959964 * d.std(ddof=1) / np.sqrt(len(d))
    assert found == pytest.approx({"difference": d.mean(), "low": d.mean() - margin, "high": d.mean() + margin})


def test_weighing_leaves_out_every_column_in_turn(iris: Session) -> None:
    page.weigh(iris)
    job = iris.jobs.find("data")
    assert job is not None
    wait_for(lambda: job.state != "running")
    worth = job.result["worth"]
    assert [*worth] == list(iris.prepared.schema.names)
    edit = Edit("leave out", names=(WIDTH,))
    assert worth[WIDTH] == page.attempt(iris, edit)["difference"]


# --- in a browser ----------------------------------------------------------------------------------------------------


def open_page(running: Any, tab: Any, choice: DataChoice) -> None:
    begin(running.session, choice)
    tab.goto(f"{running.url}#data")
    tab.locator(".data-side .chart").first.wait_for()


def select(tab: Any, name: str) -> None:
    tab.locator(f'[data-name="{name}"]').click()
    tab.locator(".column-name", has_text=name).wait_for()


def test_a_cut_point_is_dragged_and_undone(running: Any, tab: Any) -> None:
    open_page(running, tab, IRIS)
    select(tab, WIDTH)
    automatic = running.session.prepared.schema[WIDTH].cuts
    box = tab.locator(".cut").nth(1).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 60
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 80, y, steps=5)
    tab.get_by_text("So it would be").wait_for()  # the price is known while the mouse is down
    assert running.session.document.columns.cuts == {}
    tab.mouse.up()
    tab.locator("#automatic:not([disabled])").wait_for()
    tab.locator(".differences").wait_for()
    moved = running.session.document.columns.cuts[WIDTH]
    assert moved[0] == pytest.approx(automatic[0])
    assert moved[1] > automatic[1]
    tab.locator("#undo").click()
    tab.locator("#automatic[disabled]").wait_for()
    assert running.session.document.columns.cuts == {}


def test_cut_points_are_moved_removed_and_added_by_keys_and_clicks(running: Any, tab: Any) -> None:
    open_page(running, tab, IRIS)
    select(tab, WIDTH)
    start = running.session.prepared.schema[WIDTH].cuts
    cuts = lambda: running.session.document.columns.cuts.get(WIDTH, ())  # noqa: E731
    tab.locator(".cut").nth(1).focus()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    wait_for(lambda: len(cuts()) == 2)
    assert cuts()[1] > start[1]
    tab.locator(".cut:focus").wait_for()  # the keyboard stays with the cut point
    tab.keyboard.press("Delete")
    wait_for(lambda: len(cuts()) == 1)
    tab.locator(".cut").nth(1).wait_for(state="detached")
    picture = tab.locator("svg[role=group]")
    box = picture.bounding_box()
    picture.dblclick(position={"x": 0.8 * box["width"], "y": 100})
    wait_for(lambda: len(cuts()) == 2)
    tab.locator(".cut").nth(1).wait_for()
    tab.locator("#add-cut").click()
    wait_for(lambda: len(cuts()) == 3)
    tab.locator("#automatic").click()
    wait_for(lambda: cuts() == ())
    tab.locator("#bins").select_option("width")
    wait_for(lambda: running.session.document.columns.bins == "width")
    tab.locator("#n-bins").fill("7")
    tab.locator("#n-bins").press("Enter")
    wait_for(lambda: running.session.document.columns.n_bins == 7)


def test_columns_are_left_out_ordered_taken_in_and_weighed(running: Any, tab: Any, tmp_path: Path) -> None:
    open_page(running, tab, write(tmp_path / "things.csv"))
    session = running.session
    tab.get_by_label("Use grade").uncheck()
    wait_for(lambda: session.document.columns.left_out == ("grade",))
    tab.locator("tr.out").wait_for()
    tab.get_by_label("Use grade").check()
    wait_for(lambda: session.document.columns.left_out == ())
    tab.get_by_role("button", name="Take it in").click()
    wait_for(lambda: "name" in session.prepared.schema)
    select(tab, "size")
    tab.locator("#kind").select_option("ordinal")
    wait_for(lambda: session.document.columns.ordinal.get("size") == ("large", "medium", "small"))
    tab.locator(".order li").first.focus()
    tab.keyboard.press("ArrowRight")
    wait_for(lambda: session.document.columns.ordinal["size"] == ("medium", "large", "small"))
    tab.locator(".order [data-place='0']:text-is('medium')").wait_for()
    tab.locator(".order [data-place='2']").drag_to(tab.locator(".order [data-place='0']"))
    wait_for(lambda: session.document.columns.ordinal["size"] == ("small", "medium", "large"))
    tab.locator("#weigh").click()
    tab.get_by_role("button", name="Without").wait_for()
    tab.locator("#weigh:not([disabled])").wait_for()


def test_names_and_values_are_shown_as_text_and_many_can_be_searched(running: Any, tab: Any, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    names = [f"column {i}" for i in range(160)]
    rows = [",".join([f"<i>{r % 50}</i>", *(str((r + i) % 3) for i in range(160)), str(r % 2)]) for r in range(200)]
    path.write_text("\n".join([",".join(["<script>alert(1)</script>", *names, "class"]), *rows]) + "\n")
    open_page(running, tab, DataChoice(kind="file", name=str(path), target="class"))
    tab.get_by_role("button", name="and 11 more").click()
    assert tab.locator("[data-name]").count() == 161
    tab.get_by_placeholder("Search columns").fill("script")
    tab.locator("[data-name]").click()
    tab.locator(".values td", has_text="<i>0</i>").first.wait_for()
    tab.get_by_role("button", name="and 30 more").click()
    assert tab.locator(".values tbody tr").count() == 50
    tab.get_by_placeholder("Search 50 values").fill(">49<")
    assert tab.locator(".values tbody tr").count() == 1
