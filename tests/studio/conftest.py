"""A studio that runs beside the test, and a real browser in front of it where there is one."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import httpx2
import pytest

from tanager.service.server import listen
from tanager.studio.app import Studio
from tanager.studio.server import StudioServer
from tanager.studio.session import Session
from waiting import PATIENCE

TOKEN = "a-token-for-tests-only"
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module", autouse=True)
def _sets_of_scikit_learn() -> Iterator[None]:
    """The tests speak of the sets that come with scikit-learn, and a folder of data sets has an iris of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TANAGER_DATA", raising=False)
        yield


@dataclass
class RunningStudio:
    """A studio at its address."""

    session: Session
    address: str

    @property
    def url(self) -> str:
        """What a person opens."""
        return f"{self.address}/?token={TOKEN}"

    def act(self, page: str, action: str, **body: Any) -> Any:
        """Ask as the page does."""
        response = self.post(f"/api/{page}/{action}", json=body)
        assert response.status_code == 200, response.text
        if response.headers["content-type"] != "application/json" or "content-disposition" in response.headers:
            return response.content
        return response.json()["result"]

    def post(self, path: str, **options: Any) -> httpx2.Response:
        """Any request with the token."""
        headers = {"Authorization": f"Bearer {TOKEN}"} | options.pop("headers", {})
        return httpx2.post(self.address + path, headers=headers, timeout=PATIENCE, **options)


@pytest.fixture
def running() -> Iterator[RunningStudio]:
    """A studio with an empty session, in a thread."""
    session, ready = Session(), threading.Event()
    with listen("127.0.0.1", 0) as listening:
        server = StudioServer(Studio(session, TOKEN), ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        assert ready.wait(PATIENCE)
        yield RunningStudio(session, f"http://127.0.0.1:{listening.getsockname()[1]}")
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven as by a person.

    While it is driven, an event loop runs in this thread, in which other tests could not run one of theirs.
    """
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip("needs Debian's chromium and the extra `browser`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Any, running: RunningStudio) -> Iterator[Any]:
    """A tab of 1280 x 800 that shows the studio; errors of its scripts fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(1000 * PATIENCE)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(running.url)
    yield page
    context.close()
    assert errors == []
