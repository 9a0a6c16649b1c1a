"""The page Export: files, and the script that repeats a session, run on its own in a fresh process."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tanager import load, read_network
from tanager.errors import OptionError
from tanager.persist import from_bytes
from tanager.studio import session as sessions
from tanager.studio.document import DataChoice, Document, ModelChoice
from tanager.studio.exports import EXPORTS, file_of, listed
from tanager.studio.models import classifier_of, network_of
from tanager.studio.pages import data, export, network
from tanager.studio.pages.data import Edit
from tanager.studio.pages.start import begin
from tanager.studio.repeating import script_of, since_opened, without_vain, wrapped
from tanager.studio.session import Session
from waiting import PATIENCE

DAYS = "sky,wind,hours,play\n" + "".join(
    f"{'sun' if i % 3 else 'rain'},{'<b>' if i % 4 else 'low'},{i % 11 + 0.5},"
    f"{'yes' if i % 3 and i % 11 > 2 else 'no'}\n"
    for i in range(120)
)


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


def opened(session: Session, name: str = "iris") -> Session:
    begin(session, DataChoice(kind="dataset", name=name, target="class"))
    return session


def learned(session: Session, learner: str, **options: Any) -> None:
    """Learn a network, and wait for it."""
    network.learn(session, learner, options)
    job = session.jobs.find("network")
    assert job is not None
    while job.state == "running":
        threading.Event().wait(0.01)
    assert job.state == "done", job.text


def repeat(folders: list[Path]) -> None:
    """Run the scripts in these folders, each in its own, in one fresh process."""
    lines = ["import os, runpy", *(f"os.chdir({str(own)!r}); runpy.run_path('script.py')" for own in folders)]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=10 * PATIENCE
    )
    assert done.returncode == 0, done.stderr


# --- sessions of all kinds ----------------------------------------------------------------------------------


def everything(session: Session, folder: Path) -> None:
    """A data set, a column left out, a moved cut, a learned network, all edits of arcs, and a locked row."""
    opened(session, "wine")
    data.change(session, Edit("leave out", names=("alcohol",)))
    for cuts in ((1.2, 2.0), (1.5, 2.5)):
        data.change(session, Edit("cuts", name="malic_acid", cuts=cuts))
    learned(session, "tan")
    arcs = [arc for arc in session.document.arcs or () if arc[0] != "class"]
    network.remove(session, *arcs[0])
    network.reverse(session, *arcs[-1])
    network.add(session, "proline", "hue") if ("proline", "hue") not in arcs else network.remove(
        session, "proline", "hue"
    )
    drawn = network_of(session)
    given = tuple(drawn.values(parent)[0] for parent in drawn.parents("malic_acid"))
    share = 1 / len(drawn.values("malic_acid"))
    network.lock(session, "malic_acid", given, (share,) * len(drawn.values("malic_acid")))  # type: ignore[arg-type]
    network.remove(session, *arcs[2])
    session.go_to(session.position - 1)  # undone


def learned_again(session: Session, folder: Path) -> None:
    """A file by its path, learned twice, then columns changed under the network."""
    path = folder / "my days.csv"
    path.write_text(DAYS)
    begin(session, DataChoice(kind="file", name=str(path), target="play"))
    learned(session, "hill-climb")
    learned(session, "cbl")
    data.change(session, Edit("bins", bins="frequency", n_bins=4))
    data.change(session, Edit("kind", name="sky", kind="categorical"))


def upload_and_choice(session: Session, folder: Path) -> None:
    """An uploaded file, other data before it, and a classifier that is chosen."""
    opened(session, "iris")
    data.change(session, Edit("leave out", names=tuple(session.prepared.schema.names[:2])))
    (folder / "days.csv").write_text(DAYS)
    shutil.copy(folder / "days.csv", session.folder / "0-days.csv")
    session.uploads["days.csv"] = session.folder / "0-days.csv"
    begin(session, DataChoice(kind="upload", name="days.csv", target="play"))
    learned(session, "fan")
    choose(session, "KDB", k=1)


def gaussian(session: Session, folder: Path) -> None:
    """Numbers that are not cut, and costs of errors."""
    opened(session)
    data.change(session, Edit("cuts", name=session.prepared.schema.names[0], cuts=(5.0, 6.0)))
    choose(session, "NaiveBayes", gaussian=True)
    costs = ((0.0, 1.0, 5.0), (1.0, 0.0, 1.0), (1.0, 2.0, 0.0))
    session.change("costs", replace(session.document, costs=costs))


def nothing_but_data(session: Session, folder: Path) -> None:
    opened(session)


def choose(session: Session, name: str, **options: Any) -> None:
    document = replace(session.document, model=ModelChoice(name, options))
    session.change(f"{name} answers", document, (f"from tanager import {name}", f"model = {name}(**options).fit(X, y)"))


KINDS = [everything, learned_again, upload_and_choice, gaussian, nothing_but_data]


def test_scripts_that_run_on_their_own_give_the_models_of_their_sessions(tmp_path: Path) -> None:
    expected: dict[Path, tuple[np.ndarray, np.ndarray, Any]] = {}
    for make in KINDS:
        folder = tmp_path / make.__name__
        folder.mkdir()
        session = Session()
        make(session, folder)
        (folder / "script.py").write_text(script_of(session))
        X, model = session.prepared.X, classifier_of(session)
        expected[folder] = (model.predict_proba(X), model.predict(X), X)
        session.close()
    repeat(list(expected))
    for folder, (proba, labels, X) in expected.items():
        (path,) = folder.glob("*.tanager")
        model = load(path)
        assert np.array_equal(model.predict_proba(X), proba), folder.name
        assert model.predict(X).tolist() == labels.tolist()


def test_the_script_tells_the_story_and_nothing_else(session: Session, tmp_path: Path) -> None:
    everything(session, tmp_path)
    script = script_of(session)
    assert script.index("# opened wine") < script.index("# left out alcohol") < script.index("# the model")
    heads = [line.split(" import ")[0] for line in script.splitlines() if " import " in line]
    assert len(set(heads)) == len(heads)  # one line for every module
    assert "(1.2" not in script
    assert "[1.2" not in script  # it was dragged further
    assert script.count("locked = ") == 1
    assert max(map(len, script.splitlines())) < 160


def test_a_script_begins_where_other_data_were_opened(session: Session, tmp_path: Path) -> None:
    upload_and_choice(session, tmp_path)
    script = script_of(session)
    assert "iris" not in script
    assert "days.csv, which must lie in the folder" in script
    assert since_opened(session.entries, session.position)[0].label == "opened days.csv"


def test_steps_that_the_history_has_forgotten_are_still_in_the_script(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_ENTRIES", 3)
    opened(session)
    for i in range(5):
        session.change(f"step {i}", session.document, (f"step_{i} = X",))
    assert len(session.entries) == 3
    script = script_of(session)
    assert "data = load('iris')" in script
    assert all(f"step_{i} = X" in script for i in range(5))


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["a = 1", "a = 2"], ["a = 2"]),
        (["a = 1", "b = a", "a = 2"], ["a = 1", "b = a", "a = 2"]),
        (["a = 1", "a = a + 1"], ["a = 1", "a = a + 1"]),
        (["a = 1", "# why a", "a = 2"], ["# why a", "a = 2"]),
        (["a = f(b)", "c = g(a)", "c = h()", "a = 3"], ["c = h()", "a = 3"]),
        (["X = 1", "f(X)", "X = data.X", "X = 2"], ["X = 1", "f(X)", "X = 2"]),
    ],
)
def test_what_nothing_looks_at_is_left_out(lines: list[str], kept: list[str]) -> None:
    assert without_vain(lines) == kept


def test_long_lines_are_broken_and_say_the_same() -> None:
    names = [f"a column with a long name {i}" for i in range(9)]
    for line in (f"options = {dict.fromkeys(names, 'mdl')!r}", f"network = Network({{}}, {[(a, a) for a in names]!r})"):
        parts = wrapped(line)
        assert len(parts) > 1
        assert max(map(len, parts)) <= 120
        spaces: list[dict[str, Any]] = [{}, {}]
        exec(line, {"Network": lambda *own: own}, spaces[0])
        exec("\n".join(parts), {"Network": lambda *own: own}, spaces[1])
        assert spaces[0].items() <= spaces[1].items()
    assert wrapped("x = f(" + "y" * 200) == ["x = f(" + "y" * 200]  # no Python: as it is


# --- files --------------------------------------------------------------------------------------------------


def test_files_are_read_back_as_what_was_written(session: Session, tmp_path: Path) -> None:
    opened(session)
    learned(session, "tan")
    for kind, ending in (("bif", ".bif"), ("xmlbif", ".xml")):
        (tmp_path / f"x{ending}").write_bytes(file_of(session, kind).content)
        assert read_network(tmp_path / f"x{ending}") == network_of(session)
    model = from_bytes(file_of(session, "model").content)
    assert np.array_equal(
        model.predict_proba(session.prepared.X), classifier_of(session).predict_proba(session.prepared.X)
    )
    assert ET.fromstring(file_of(session, "svg").content).tag.endswith("svg")
    assert file_of(session, "sql").name == "iris.sql"
    assert [own["obstacle"] for own in listed(session) if own["kind"] not in ("onnx", "png")] == [""] * 6


def test_the_query_answers_as_the_model(session: Session) -> None:
    opened(session)
    learned(session, "tan")
    X, names = session.prepared.X, session.prepared.schema.names
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE iris (" + ", ".join(f'"{name}" REAL' for name in names) + ")")
    database.executemany(
        f"INSERT INTO iris VALUES ({','.join('?' * len(names))})", zip(*(X[n].to_pylist() for n in names), strict=True)
    )
    query = file_of(session, "sql").content.decode()
    rows = database.execute(query).fetchall()
    database.close()
    assert [row[len(names)] for row in rows] == classifier_of(session).predict(X).tolist()


def test_what_cannot_be_had_says_why(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(session)
    why = {own["kind"]: own["obstacle"] for own in listed(session)}
    assert "no network yet" in why["bif"]
    assert why["sql"]  # AODE is no single network
    monkeypatch.setattr("tanager.studio.exports.find_spec", lambda name: None)
    learned(session, "tan")
    why = {own["kind"]: own["obstacle"] for own in listed(session)}
    assert "tanager[plot]" in why["png"]
    assert "tanager[onnx]" in why["onnx"]
    with pytest.raises(OptionError, match="no network yet"):
        file_of(opened(session), "bif")


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra `plot`")
def test_a_picture_is_a_picture(session: Session) -> None:
    opened(session)
    learned(session, "tan")
    assert file_of(session, "png").content.startswith(b"\x89PNG")


@pytest.mark.skipif(find_spec("onnx") is None, reason="needs the extra `onnx`")
def test_a_model_leaves_as_onnx(session: Session) -> None:
    opened(session)
    assert len(file_of(session, "onnx").content) > 1000


def test_the_kinds_of_the_request_are_those_there_are() -> None:
    assert set(export.Kind.__args__) == set(EXPORTS)  # type: ignore[attr-defined]


def test_an_empty_session_has_a_script_too(session: Session) -> None:
    assert script_of(session).startswith("#")
    assert session.document == Document()


# --- in a browser -------------------------------------------------------------------------------------------


def test_files_and_the_script_are_saved_from_the_page(tab: Any, running: Any, tmp_path: Path) -> None:
    opened(running.session)
    learned(running.session, "tan")
    tab.goto(f"{running.url}#export")
    tab.get_by_text("# learned by").wait_for()
    for button, name in (
        ("Download iris.bif", "iris.bif"),
        ("Download iris.tanager", "iris.tanager"),
        ("Download iris.svg", "iris.svg"),
    ):
        with tab.expect_download() as saved:
            tab.get_by_role("button", name=button).click()
        assert saved.value.suggested_filename == name
    with tab.expect_download() as saved:
        tab.locator("#script").click()
    saved.value.save_as(tmp_path / "script.py")
    assert (tmp_path / "script.py").read_text() == script_of(running.session)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.get_by_role("button", name="Copy").click()
    tab.get_by_text("Copied.").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == script_of(running.session)
    tab.keyboard.press("Control+z")
    tab.get_by_text("There is no network yet").first.wait_for()


def test_a_session_is_saved_and_opened_again_through_the_page(tab: Any, running: Any, tmp_path: Path) -> None:
    opened(running.session)
    learned(running.session, "tan")
    arcs = running.session.document.arcs
    tab.goto(f"{running.url}#export")
    with tab.expect_download() as saved:
        tab.locator("#save-session").click()
    saved.value.save_as(tmp_path / "my.studio")
    opened(running.session, "wine")
    tab.get_by_text("wine: 178 rows").wait_for()
    tab.locator("#session-file").set_input_files(tmp_path / "my.studio")
    tab.get_by_text("iris: 150 rows").wait_for()
    assert running.session.document.arcs == arcs
