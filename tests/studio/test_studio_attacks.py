"""What strangers, broken tabs and hostile files may try: the studio refuses, stays awake, and keeps its memory."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tanager.studio.document import DataChoice
from tanager.studio.events import WAITING
from tanager.studio.pages.start import begin
from waiting import PATIENCE, wait_for

TOKEN = "a-token-for-tests-only"
SECRET = "def guarded"  # a line of the server's own source
EVIL = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script>"


def raw(running: Any, request: bytes) -> bytes:
    """The answer to bytes that no client library would send."""
    parts = urlsplit(running.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                found += chunk
    return found


def is_awake(running: Any) -> bool:
    return running.act("session", "summary")["position"] >= 0


# --- who asks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "[::1",
        "a" * 5000,
    ],
)
def test_the_page_itself_is_not_given_under_another_name(running: Any, host: str) -> None:
    answer = raw(running, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert b"200 OK" not in answer
    assert b"<!doctype" not in answer


def test_two_hosts_and_forwarded_names_do_not_help(running: Any) -> None:
    two = raw(running, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert b"200 OK" not in two
    headers = {"Host": "evil.example", "X-Forwarded-Host": "127.0.0.1", "X-Forwarded-For": "127.0.0.1"}
    assert httpx2.get(running.address, headers=headers).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://localhost:1", "https://127.0.0.1", "file://", "http://127.0.0.1.evil.example"]
)
def test_other_pages_of_this_machine_are_others_too(running: Any, origin: str) -> None:
    assert running.post("/api/session/summary", json={}, headers={"Origin": origin}).status_code == 403
    assert httpx2.get(f"{running.address}/api/events", headers={"Origin": origin}).status_code in (401, 403)


def test_no_other_page_is_told_that_it_may_ask(running: Any) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = httpx2.request("OPTIONS", f"{running.address}/api/session/summary", headers=headers)
    assert answer.status_code >= 400
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("given", ["", "Bearer", f"Bearer {TOKEN[:-1]}", f"bearer {TOKEN}", f"Basic {TOKEN}"])
def test_less_than_the_token_is_not_enough(running: Any, given: str) -> None:
    assert running.post("/api/session/summary", json={}, headers={"Authorization": given}).status_code == 401
    assert httpx2.post(f"{running.address}/api/session/summary?token={TOKEN}", json={}).status_code == 401


# --- where they ask ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/../../../../../../etc/passwd",
        "/%2e%2e/app.py",
        "/..%2fapp.py",
        "/..%5c..%5capp.py",
        "/static/../app.py",
        "/pages/..%2f..%2fapp.py",
        "/%00/index.html",
        "/index.html%00.js",
        "/" + "a/" * 4000,
        "//etc/passwd",
        "/api/../../app.py",
        "http://evil.example/app.py",
    ],
)
def test_no_spelling_of_a_path_leads_to_another_file(running: Any, path: str) -> None:
    answer = raw(running, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert b"200 OK" not in answer
    assert SECRET.encode() not in answer
    assert b"root:" not in answer
    assert is_awake(running)


@pytest.mark.parametrize(
    "name", ["..", "../../x", ".hidden", "a" * 3000, "x%00y", "%2e%2e%2f%2e%2e%2fx", "con:aux|nul", "  "]
)
def test_uploads_stay_in_their_folder_whatever_they_are_called(running: Any, name: str) -> None:
    answer = running.post(f"/api/upload/{name}", content=b"a,b\n1,2\n")
    assert answer.status_code in (200, 404, 405, 422)
    for path in running.session.uploads.values():
        assert path.resolve().parent == running.session.folder.resolve()
    assert is_awake(running)


# --- what they send ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"position":' * 50_000,
        b'{"position": 1e999}',
        b'{"position": NaN}',
        b"\xff\xfe",
        b'{"position": 18446744073709551616}',
        b"null",
    ],
    ids=["deep list", "deep object", "huge number", "NaN", "no UTF-8", "beyond 64 bits", "null"],
)
def test_bodies_that_no_page_sends_get_a_sentence(running: Any, body: bytes) -> None:
    answer = running.post("/api/session/go_to", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert "go_to" in answer.json()["error"] or "redo" in answer.json()["error"]


def test_a_small_file_that_unfolds_to_a_giant_table_is_refused(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tanager.studio.prepared.MAX_CELLS", 100_000)
    bomb = gzip.compress(b"a,b,class\n" + b"1,2,x\n3,4,y\n" * 500_000)
    assert running.post("/api/upload/bomb.csv.gz", content=bomb).status_code == 200
    answer = running.post("/api/start/choose", json={"kind": "upload", "name": "bomb.csv.gz", "target": "class"})
    assert answer.status_code == 422
    assert "more than 100,000 cells" in answer.json()["error"]
    assert is_awake(running)


@pytest.mark.parametrize(
    "document",
    [
        {"data": {"kind": "file", "name": "/nowhere/x.csv", "target": "y"}},
        {"data": {"kind": "upload", "name": "gone.csv", "target": "y"}},
        {"data": {"kind": "dataset", "name": "../../etc/passwd", "target": "class"}},
        {"data": {"kind": "dataset", "name": "iris", "target": "class"}, "columns": {"left_out": ["no such column"]}},
        {"data": {"kind": "dataset", "name": "iris", "target": "class"}, "arcs": [["a", "b"], ["b", "a"]]},
        {"data": {"kind": "dataset", "name": "iris", "target": "class"}, "model": {"name": "__import__"}},
        {
            "data": {"kind": "dataset", "name": "iris", "target": "class"},
            "model": {"name": "AODE", "options": {"x": 1}},
        },
    ],
    ids=["no file", "no upload", "no data set", "no column", "a cycle", "no classifier", "no option"],
)
def test_a_session_file_of_another_leaves_a_studio_that_answers(running: Any, document: dict[str, Any]) -> None:
    content = json.dumps(
        {
            "format": "tanager studio",
            "version": 1,
            "entries": [{"label": "start", "document": {}}, {"label": EVIL, "document": document, "code": ["x"]}],
            "position": 1,
        }
    )
    running.post("/api/session/open", json={"content": content})
    found = running.act("session", "summary")  # the frame is there in any case
    assert found["history"][1]["label"] == EVIL
    for page, action in (("export", "show"), ("stream", "choices")):
        answer = running.post(f"/api/{page}/{action}", json={})
        assert answer.status_code in (200, 422)
    assert running.act("session", "undo")["data"] is None


def test_a_script_does_not_run_what_a_session_file_says(running: Any, tmp_path: Path) -> None:
    begin(running.session, DataChoice(kind="dataset", name="iris", target="class"))
    proof = tmp_path / "proof"
    running.session.change("x\nimport os", running.session.document, (f"open({str(proof)!r}, 'w')",))
    script = running.act("export", "show")["script"]
    assert "\nimport os" not in script  # the words of a step stay a comment
    assert not proof.exists()


# --- tabs that misbehave ----------------------------------------------------------------------------------------------


def memory() -> int:
    """Bytes in use by this process."""
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("needs Linux's /proc")
    gc.collect()
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def listener(running: Any, *, finish: bool = True) -> socket.socket:
    """A tab that asks for events, and then does not read; or one that has not even ended its question."""
    parts = urlsplit(running.address)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    request = f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    connection.sendall(request.encode() + (b"\r\n" if finish else b"X-Slow: "))
    return connection


def test_fifty_odd_tabs_neither_stop_the_studio_nor_fill_its_memory(running: Any) -> None:
    half = [listener(running, finish=False) for _ in range(15)]
    slow = [listener(running) for _ in range(25)]
    for connection in slow:
        assert connection.recv(12) == b"HTTP/1.1 200"
    gone = [listener(running) for _ in range(7)]
    for connection in gone:
        connection.recv(12)
        connection.close()
    running.session.events.send("note", {"text": "x" * 100_000})
    before = memory()
    for _ in range(500):  # 50 MB for each of 25, if they were kept
        running.session.events.send("note", {"text": "x" * 100_000})
    assert is_awake(running)
    assert memory() - before < 4 * WAITING * 100_000
    with listener(running) as honest:
        said = b""
        while b"hello" not in said:  # the next words come after a long while
            said += (part := honest.recv(65536))
            assert part, said
    for connection in [*half, *slow]:
        connection.close()
    assert is_awake(running)


def test_there_is_an_end_to_the_number_of_tabs_and_room_again_when_they_close(running: Any) -> None:
    most = running.session.events.most
    tabs = [listener(running) for _ in range(most)]
    for tab in tabs:
        assert tab.recv(12) == b"HTTP/1.1 200"
    with listener(running) as one_more:
        assert one_more.recv(12) == b"HTTP/1.1 422"
    for tab in tabs:
        tab.close()

    def is_empty() -> bool:
        running.session.events.send("note", None)  # a tab that is gone is noticed when there is something to tell it
        return running.session.events.n_tabs == 0

    wait_for(is_empty)


# --- names that are scripts -------------------------------------------------------------------------------------------

PAGES = ["start", "data", "compare", "network", "ask", "why", "stream", "decide", "export"]


def test_names_and_values_are_text_on_every_page(tab: Any, running: Any) -> None:
    header = f'"{EVIL}a","{EVIL}b","{EVIL}class"'
    rows = "\n".join(f'"{EVIL}{i % 3}",{i % 7},"{EVIL}{"yes" if i % 3 else "no"}"' for i in range(60))
    name = running.post("/api/upload/evil%3Cscript%3E.csv", content=f"{header}\n{rows}\n".encode()).json()["result"][
        "name"
    ]
    running.act("start", "choose", kind="upload", name=name, target=f"{EVIL}class")
    for page in PAGES:
        tab.goto(f"{running.url}#{page}")
        tab.locator(f'#main[data-page="{page}"]').wait_for()
        tab.locator('#main:not(:has-text("Loading …")) > *').first.wait_for()
        assert tab.locator("main script, main img").count() == 0
        assert tab.evaluate("window.pwned") is None
    tab.goto(f"{running.url}#stream")
    tab.get_by_label("evolving naive Bayes").check()
    tab.locator("#begin").click()
    tab.locator("#state", has_text="done").wait_for()
    tab.get_by_role("img", name="Fuzzy sets of").first.wait_for()
    assert tab.evaluate("window.pwned") is None
