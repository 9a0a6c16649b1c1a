"""The frame of the studio: who may ask, what is refused, undo and redo, files, and what a browser shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tanager import TAN, DecisionNetwork, Network, write_decisions, write_network
from tanager.errors import ModelFileError
from tanager.studio.app import STATIC, static_files
from tanager.studio.document import DataChoice
from tanager.studio.models import network_of
from tanager.studio.pages.start import begin
from tanager.studio.session import Session, read_session

IRIS = DataChoice(kind="dataset", name="iris", target="class")


def test_a_request_without_the_token_is_refused(running: Any) -> None:
    assert httpx2.post(f"{running.address}/api/session/summary", json={}).status_code == 401
    assert httpx2.get(f"{running.address}/api/events").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost:80@evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_pages_of_others_are_refused_even_with_the_token(running: Any, headers: dict[str, str], status: int) -> None:
    sent = {"Content-Type": "application/json"} | headers
    assert running.post("/api/session/summary", content=b"{}", headers=sent).status_code == status


@pytest.mark.parametrize("path", ["../app.py", "..%2fapp.py", "pages/../../app.py", "//etc/passwd", "pages", "%00"])
def test_no_path_leads_out_of_the_page(running: Any, path: str) -> None:
    response = httpx2.get(f"{running.address}/{path}")
    assert response.status_code == 404
    assert "import" not in response.text


def test_the_page_travels_compressed_and_is_light(running: Any) -> None:
    for headers in ({"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}):
        response = httpx2.get(f"{running.address}/app.js", headers=headers)
        assert response.headers.get("content-encoding", "identity") == headers["Accept-Encoding"]
        assert response.text == (STATIC / "app.js").read_text(encoding="utf-8")
    assert sum(len(file.compressed) for file in static_files().values()) <= 200 * 1024


def test_nothing_can_be_fetched_from_outside_by_the_page(running: Any) -> None:
    policy = httpx2.get(running.address).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_what_a_page_cannot_ask_for_is_named(running: Any) -> None:
    for path, body, word in (
        ("/api/session/sumary", {}, "summary"),
        ("/api/session/go_to", {"position": "x"}, "position"),
        ("/api/session/go_to", {"place": 1}, "place"),
        ("/api/session/go_to", {"position": 99}, "redo"),
    ):
        response = running.post(path, json=body)
        assert response.status_code == 422
        assert word in response.json()["error"]
    assert running.post("/api/nowhere/summary", json={}).status_code == 404


def test_a_body_that_is_too_long_is_refused_before_it_is_read(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tanager.studio.app.MAX_BODY", 1 << 20)
    monkeypatch.setattr("tanager.studio.app.MAX_UPLOAD", 1 << 20)
    long = b'{"content": "' + b"x" * (2 << 20)
    for path in ("/api/session/open", "/api/upload/x.csv"):
        headers = {"Content-Type": "application/json"}
        assert running.post(path, content=long, headers=headers).status_code == 413
        pieces = (long[i : i + 65536] for i in range(0, len(long), 65536))  # without a declared length
        assert running.post(path, content=pieces, headers=headers).status_code == 413
    assert list(running.session.folder.iterdir()) == []


def test_an_uploaded_file_becomes_the_data(running: Any) -> None:
    table = "sky,wind,play\n" + "sun,1.5,yes\nrain,2.5,no\n" * 10
    assert running.post("/api/upload/..%2F..%2Fmy%20day.csv", content=table.encode()).status_code == 200
    (name,) = running.session.uploads
    assert running.session.uploads[name].parent == running.session.folder
    assert running.act("start", "columns", upload=name)["target"] == "play"
    found = running.act("start", "choose", kind="upload", name=name, target="play")
    assert found["data"]["rows"] == 20
    assert found["data"]["classes"] == ["no", "yes"]


def test_an_uploaded_model_or_network_is_opened(running: Any, tmp_path: Path) -> None:
    network = Network({"rain": ["no", "yes"], "grass": ["dry", "wet"]}, [("rain", "grass")])
    network = network.with_tables({"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
    write_network(network, tmp_path / "garden.bif")
    TAN().fit([["sun"], ["rain"]] * 5, ["play", "stay"] * 5).save(tmp_path / "sky.tanager")
    for file, kind in (("garden.bif", "network"), ("sky.tanager", "model")):
        running.post(f"/api/upload/{file}", content=(tmp_path / file).read_bytes())
        assert running.act("start", "columns", upload=file) == {"kind": kind}
        assert running.act("start", "choose", kind=kind, name=file)["data"] == {"kind": kind, "name": file}
        assert not running.session.has_rows
    assert network_of(running.session).names == ("class", "x0")
    running.act("session", "undo")
    assert network_of(running.session) == network
    chance = DecisionNetwork({name: network.values(name) for name in network}, {}, [], network.arcs, network.tables)
    for file, diagram in (("chance.xdsl", chance), ("choice.xdsl", chance.with_utility("joy", ["rain"], [1.0, 0.0]))):
        write_decisions(diagram, tmp_path / file)
        running.post(f"/api/upload/{file}", content=(tmp_path / file).read_bytes())
    running.act("start", "choose", kind="network", name="chance.xdsl")
    assert network_of(running.session) == network
    refused = running.post("/api/start/choose", json={"kind": "network", "name": "choice.xdsl"})
    assert "page Decide" in refused.json()["error"]
    running.act("session", "undo")
    assert running.post("/api/upload/garden.bif", content=b"network x {").json()["result"]["name"] == "garden 2.bif"
    response = running.post("/api/start/choose", json={"kind": "network", "name": "garden 2.bif"})
    assert response.status_code == 422
    assert network_of(running.session) == network


def test_files_of_this_machine_cannot_be_chosen_from_the_page(running: Any) -> None:
    for kind in ("file", "model", "network", "upload"):
        body = {"kind": kind, "name": "/etc/passwd", "target": "x"}
        assert running.post("/api/start/choose", json=body).status_code == 422


def test_undo_and_redo_go_through_the_history() -> None:
    session = Session()
    begin(session, IRIS)
    begin(session, DataChoice(kind="dataset", name="wine", target="class"))
    session.go_to(1)
    assert session.document.data == IRIS
    session.go_to(2)
    assert session.document.data is not None
    assert session.document.data.name == "wine"
    session.go_to(1)
    begin(session, IRIS)
    assert [entry.label for entry in session.entries] == ["start", "opened iris", "opened iris"]
    session.close()


def test_a_session_goes_on_from_its_file(tmp_path: Path) -> None:
    first = Session(tmp_path / "my.studio")
    begin(first, IRIS)
    again = Session(tmp_path / "my.studio")
    again.open((tmp_path / "my.studio").read_bytes())
    assert again.entries == first.entries
    assert again.prepared.checksum == first.prepared.checksum
    for session in (first, again):
        session.close()


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"format": "x"}', b'{"format":"x","version":1,"entries":[],"position":0}']
)
def test_a_file_that_is_no_session_is_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError, match="no session of the studio"):
        read_session(content)


def test_a_data_set_is_chosen_with_the_mouse_and_undone_with_the_keyboard(tab: Any, running: Any) -> None:
    tab.get_by_role("button", name="iris").click()
    tab.get_by_text("iris: 150 rows").wait_for()
    tab.keyboard.press("Control+z")
    tab.get_by_text("no data yet").wait_for()
    tab.get_by_role("button", name="Redo").click()
    tab.get_by_text("iris: 150 rows").wait_for()


def test_two_tabs_show_the_same_session(tab: Any, running: Any) -> None:
    other = tab.context.new_page()
    other.goto(running.url)
    other.get_by_role("button", name="wine").click()
    tab.get_by_text("wine: 178 rows").wait_for()


@pytest.mark.parametrize("late", ["start/choose", "network/forms"])
def test_a_page_that_was_chosen_stays_whatever_comes_late_for_another(tab: Any, running: Any, late: str) -> None:
    waiting: list[Any] = []
    tab.route(f"**/api/{late}", lambda route: waiting.append((route, route.fetch())))
    tab.get_by_role("button", name="iris").click()
    tab.get_by_text("iris: 150 rows").wait_for()
    if late == "network/forms":
        tab.locator('#main[data-page="data"]').wait_for()
        tab.get_by_role("link", name="Network").click()
        tab.locator('#main[data-page="network"]').wait_for()
    while not waiting:
        tab.evaluate("() => new Promise(requestAnimationFrame)")
    tab.get_by_role("link", name="Decide").click()
    costs = tab.get_by_role("tab", name="What errors cost")
    costs.wait_for()
    for route, response in waiting:
        with tab.expect_event("requestfinished", lambda request, route=route: request.url == route.request.url):
            route.fulfill(response=response)
    tab.evaluate("() => new Promise((done) => setTimeout(done))")
    assert tab.locator("#main").get_attribute("data-page") == "decide"
    assert costs.count() == 1
