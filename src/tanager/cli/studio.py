"""``tanager studio``: look at a network in the browser, change it, and see at once what that does."""

from __future__ import annotations

import os
import secrets
import webbrowser
from importlib.util import find_spec
from pathlib import Path

import click

from tanager.cli.options import examples, target_option
from tanager.cli.reading import check_inputs, open_data, target_column
from tanager.cli.screen import Screen
from tanager.errors import OptionError

NEEDED = ("starlette", "uvicorn", "httptools", "msgspec")
SHORTEST_TOKEN = 16


@click.command(
    epilog=examples(
        "tanager studio heart.csv --target class",
        "tanager studio heart.tanager",
        "tanager studio alarm.bif",
        "tanager studio heart.csv --session heart.studio",
    )
)
@click.argument("data", required=False)
@target_option
@click.option(
    "--session", "path", metavar="FILE", help="Keep the session in this file after every step, and go on from there."
)
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), metavar="N", help="Port to listen at; 0 is any free one."
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(data: str | None, target: str | None, path: str | None, port: int, no_browser: bool) -> None:
    """Open a page in the browser: look at DATA, learn a network, change it, and ask it.

    DATA is a table, a model file or a network file (BIF, XMLBIF); without it the page lets you choose a data set or
    drop a file. The page is for this machine alone, and its address has a token in it ($TANAGER_TOKEN, or a new one
    each time). Stop with Ctrl-C.
    """
    screen = Screen()
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise OptionError(f'the studio needs {absent[0]}, which is not installed. Run: pip install "tanager[serve]"')
    check_inputs(data)
    token = _token()
    with screen.waiting("starting"):
        from tanager.service.server import listen
        from tanager.studio.app import Studio
        from tanager.studio.document import DataChoice
        from tanager.studio.pages.start import begin, kind_of
        from tanager.studio.server import StudioServer
        from tanager.studio.session import Session

        session = Session(path)
        try:
            if path is not None and os.path.exists(path):
                session.open(Path(path).read_bytes())
            elif data is not None and (kind := kind_of(data)) != "upload":
                begin(session, DataChoice(kind=kind, name=os.path.abspath(data)))
            elif data is not None:
                column = target_column(open_data(data), target)
                begin(session, DataChoice(kind="file", name=os.path.abspath(data), target=column))
        except BaseException:
            session.close()
            raise
    with listen("127.0.0.1", port) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/?token={token}"

        def ready() -> None:
            screen.say(f"the studio is at {url}; stop with Ctrl-C.")
            if not no_browser:
                webbrowser.open(url)

        StudioServer(Studio(session, token), ready).run(sockets=[listening])
    screen.say("stopped")


def _token() -> str:
    """From the environment, or a new one."""
    token = os.environ.get("TANAGER_TOKEN")
    if token is None:
        return secrets.token_urlsafe(24)
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise OptionError(f"TANAGER_TOKEN must have {SHORTEST_TOKEN} letters, digits, - or _ at least.")
    return token
