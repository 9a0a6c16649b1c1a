"""A studio that is killed goes on from its session file, and open tabs come back by themselves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from waiting import PATIENCE

TOKEN = "a-token-of-a-real-process"
COMMAND = [sys.executable, "-c", "from tanager.cli.main import main; main()", "studio", "--no-browser"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def studio(port: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own; it is killed, not stopped, at the end."""
    environment = os.environ | {"TANAGER_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    command = [*COMMAND, "--port", str(port), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        assert process.stdout is not None
        told = ""
        while "studio is at" not in told:
            line = process.stdout.readline()
            assert line, f"it did not start: {told}"
            told += line
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def act(port: int, page: str, action: str, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx2.post(f"http://127.0.0.1:{port}/api/{page}/{action}", json=body, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


@pytest.mark.long
def test_a_killed_studio_goes_on_where_it_was_and_so_does_the_page(browser: Any, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "my.studio"
    table = tmp_path / "days.csv"
    table.write_text("sky,wind,play\n" + "sun,1.5,yes\nrain,2.5,no\nsun,3.5,no\n" * 10)
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.set_default_timeout(1000 * PATIENCE)
    url = f"http://127.0.0.1:{port}/?token={TOKEN}"
    with studio(port, str(table), "--target", "play", "--session", str(file)):
        tab.goto(f"{url}#data")
        tab.get_by_text("days.csv: 30 rows, 2 columns").wait_for()
        act(port, "data", "change", edit={"what": "leave out", "names": ["wind"]})
        tab.get_by_text("days.csv: 30 rows, 1 column").wait_for()
    tab.get_by_text("The studio does not answer; trying again").wait_for()
    with studio(port, "--session", str(file)):
        tab.locator("#link", has_text="does not answer").wait_for(state="hidden")
        tab.get_by_text("days.csv: 30 rows, 1 column").wait_for()
        tab.get_by_role("button", name="Undo").click()  # the history is there, too
        tab.get_by_text("days.csv: 30 rows, 2 columns").wait_for()
    tab.close()


@pytest.mark.long
def test_a_session_waits_for_its_uploaded_file(browser: Any, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "my.studio"
    table = tmp_path / "days.csv"
    table.write_text("sky,wind,play\n" + "sun,1.5,yes\nrain,2.5,no\nsun,3.5,no\n" * 10)
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.set_default_timeout(1000 * PATIENCE)
    with studio(port, "--session", str(file)):
        tab.goto(f"http://127.0.0.1:{port}/?token={TOKEN}")
        tab.locator("#file").set_input_files(table)
        tab.locator("#begin").click()
        tab.get_by_text("days.csv: 30 rows, 2 columns").wait_for()
    with studio(port, "--session", str(file)):
        tab.get_by_text("days.csv is not here").first.wait_for()
        assert act(port, "session", "summary")["data"]["lost"]
        tab.locator("#file").set_input_files(table)
        tab.get_by_text("days.csv: 30 rows, 2 columns").wait_for()
    tab.close()
