"""Pictures of the studio's pages: `python docs/pictures/studio.py [page ...]` writes studio-PAGE.png beside this file.

Needs Debian's chromium and the extra `browser`; some pages show data sets of the folder that TANAGER_DATA names. A page
is one function here, which leads a fresh tab to what is to be seen.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from tanager.service.server import listen
from tanager.studio.app import Studio
from tanager.studio.server import StudioServer
from tanager.studio.session import Session

HERE = Path(__file__).parent
TOKEN = "a-token-for-pictures"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]


@contextmanager
def studio() -> Iterator[str]:
    """The address of a studio with an empty session."""
    ready = threading.Event()
    with listen("127.0.0.1", 0) as listening:
        server = StudioServer(Studio(Session(), TOKEN), ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        ready.wait()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/?token={TOKEN}"
        server.should_exit = True
        thread.join()


def choose(tab: Any, name: str) -> None:
    """Begin with a data set."""
    tab.get_by_placeholder("Search data sets").fill(name)
    tab.get_by_role("button", name=name).first.click()
    tab.get_by_text(f"{name}: ").wait_for()


def go(tab: Any, title: str) -> None:
    """Open a page."""
    tab.get_by_role("link", name=title, exact=True).click()
    tab.locator(f"#nav a[aria-current]:text-is('{title}')").wait_for()


def learn(tab: Any, learner: str) -> None:
    """Learn a network."""
    go(tab, "Network")
    tab.locator("#learner").select_option(learner)
    tab.locator("#learn").click()
    tab.locator("#accuracy").wait_for()


# --- pages ------------------------------------------------------------------------------------------------------------


def data(tab: Any) -> None:
    """Adult, with a cut point of age that was moved, and what that costs."""
    choose(tab, "adult")
    tab.locator("[data-name=age]").click()
    tab.locator(".column-name:text-is('age')").wait_for()
    tab.locator(".cut").nth(5).focus()
    for _ in range(4):
        tab.keyboard.press("Shift+ArrowLeft")
    tab.locator("#automatic:not([disabled])").wait_for()
    tab.locator(".differences").wait_for()


def compare(tab: Any) -> None:
    """All classifiers on a small data set, by folds."""
    choose(tab, "breast_cancer")
    go(tab, "Compare")
    tab.locator("#start").click()
    tab.locator(".compared tbody tr").first.wait_for()
    tab.locator("#start:not([disabled])").wait_for()


def decide(tab: Any) -> None:
    """The oil wildcatter, with the numbers of its profit."""
    go(tab, "Decide")
    tab.get_by_role("button", name="oil wildcatter").click()
    tab.locator("#expected-utility").wait_for()
    tab.locator("g.node[data-name=profit]").click()


def ask(tab: Any) -> None:
    """Heart disease, with two findings and what to look at next."""
    choose(tab, "heart-c")
    learn(tab, "tan")
    go(tab, "Ask")
    tab.locator(".asks li").first.wait_for()
    for name, value in (("exang", "yes"), ("sex", "female")):
        tab.locator(f'.bar[data-name="{name}"]', has_text=value).click()
        tab.get_by_role("button", name=f"Forget {name}").wait_for()


def why(tab: Any) -> None:
    """A wrong answer about heart disease, with its nomogram."""
    choose(tab, "heart-c")
    learn(tab, "tan")
    go(tab, "Why")
    tab.get_by_role("tab", name="Nomogram").click()
    tab.locator(".nomogram").wait_for()
    tab.locator(".turns li").first.wait_for()


def network(tab: Any) -> None:
    """A network of Adult while an arc is being dragged: what it would do is there before it is dropped."""
    choose(tab, "adult")
    go(tab, "Network")
    tab.locator("#learn").click()
    tab.locator("#accuracy").wait_for()
    places = [tab.locator(f"g.node[data-name={name}] rect").bounding_box() for name in ("class", "occupation")]
    for begin, place in zip((True, False), places, strict=True):
        tab.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2, steps=4)
        if begin:
            tab.mouse.down()
    tab.locator("#against-candidate").get_by_text("log loss").wait_for()


def stream(tab: Any) -> None:
    """Six models in a stream of a tree that drifts suddenly."""
    choose(tab, "iris")
    go(tab, "Stream")
    tab.locator("#source").select_option("tan")
    for name in ("AODE, fading", "evolving naive Bayes", "anytime AODE"):
        tab.get_by_label(name, exact=True).check()
    tab.locator("#begin").click()
    tab.locator("#state", has_text="done").wait_for()


def export(tab: Any) -> None:
    """The script of a session with a column left out and a learned network."""
    choose(tab, "wine")
    go(tab, "Data")
    tab.get_by_text("malic").first.wait_for()
    go(tab, "Network")
    tab.get_by_role("button", name="Learn").first.click()
    tab.locator(".graph .arc").first.wait_for(state="attached")
    go(tab, "Export")
    tab.get_by_text("# learned by").wait_for()


# --- all of them ------------------------------------------------------------------------------------------------------


def main(wanted: list[str]) -> None:
    """Draw the pages that are asked for, or all."""
    pages: dict[str, Callable[[Any], None]] = {
        name: own for name, own in globals().items() if callable(own) and (own.__doc__ and own.__module__ == "__main__")
    }
    helpers = ("studio", "choose", "go", "learn", "main")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for name, lead in pages.items():
            if name in helpers or (wanted and name not in wanted):
                continue
            with studio() as address:
                tab = browser.new_page(viewport={"width": 1280, "height": 800})
                tab.goto(address)
                lead(tab)
                tab.wait_for_timeout(800)  # until nothing moves any more
                path = HERE / f"studio-{name}.png"
                tab.screenshot(path=path)
                Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)  # a third of the size
                tab.close()
                print(f"studio-{name}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
