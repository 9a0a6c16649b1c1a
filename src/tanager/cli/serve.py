"""``tanager serve``: models over HTTP, with a time budget for every prediction."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tanager.cli.options import examples
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted
from tanager.errors import OptionError

if TYPE_CHECKING:  # these need the extra `serve`
    from ssl import SSLContext

    from tanager.encoding.schema import Column
    from tanager.service.app import Service
    from tanager.service.models import ModelStore, ServedModel

NEEDED = ("starlette", "uvicorn", "httptools", "msgspec", "prometheus_client")


@click.command(
    epilog=examples(
        "tanager serve iris.tanager",
        "tanager serve iris.tanager spam.tanager --port 0 --target-ms 5",
        "TANAGER_TOKEN=secret tanager serve iris.tanager --host 0.0.0.0",
    )
)
@click.argument("models", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen at; 0.0.0.0 is all addresses.")
@click.option(
    "--port", default=8000, type=click.IntRange(0, 65535), metavar="N", help="Port to listen at; 0 is any free one."
)
@click.option(
    "--target-ms",
    default=10.0,
    type=click.FloatRange(0.1),
    metavar="MS",
    help="Latency that 99 % of the responses should keep.",
)
@click.option(
    "--max-budget-ms",
    default=100.0,
    type=click.FloatRange(0),
    metavar="MS",
    help="Maximum time for one prediction.",
)
@click.option(
    "--token-file", metavar="FILE", help="File with the token that requests must send.  [default: $TANAGER_TOKEN]"
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name of this service in requests, beside addresses and localhost; *.NAME is all below it, * any. Repeat it.",
)
@click.option("--tls-cert", metavar="FILE", help="Certificate (PEM), to serve HTTPS.")
@click.option("--tls-key", metavar="FILE", help="Key of the certificate (PEM, without a password).")
@click.option(
    "--max-body-mb", default=8.0, type=click.FloatRange(0.001), metavar="MB", help="Maximum size of a request."
)
@click.option(
    "--body-seconds", default=10.0, type=click.FloatRange(0), metavar="S", help="Maximum time for a request to arrive."
)
@click.option("--max-rows", default=10_000, type=click.IntRange(1), metavar="N", help="Maximum rows of a request.")
@click.option("--max-queue", default=1000, type=click.IntRange(1), metavar="N", help="Maximum requests that wait.")
@click.option(
    "--max-connections", default=1000, type=click.IntRange(8), metavar="N", help="Maximum connections at a time."
)
@click.option(
    "--head-seconds",
    default=10.0,
    type=click.FloatRange(0),
    metavar="S",
    help="Maximum time for the head of a request, from the first byte or the connection on.",
)
@click.option(
    "--idle-seconds",
    default=30.0,
    type=click.FloatRange(0),
    metavar="S",
    help="Maximum time between two requests on a connection.",
)
@click.option(
    "--remember", default=100_000, type=click.IntRange(0), metavar="N", help="Maximum rows that wait for labels."
)
@click.option(
    "--remember-minutes", default=60.0, type=click.FloatRange(0), metavar="N", help="How long rows wait for labels."
)
@click.option(
    "--state",
    metavar="FOLDER",
    help="Folder for learned rows, with a folder for each model in it.  [default: MODEL.state beside MODEL]",
)
@click.option(
    "--snapshot-rows", default=100_000, type=click.IntRange(1), metavar="N", help="Rows learned between two snapshots."
)
@click.option(
    "--accept-loss", is_flag=True, help="Where learned rows are lost or damaged on disk, go on with those before them."
)
@click.option("--read-only", is_flag=True, help="Do not learn and do not write: serve the files as they are.")
@click.option("--no-improve", is_flag=True, help="Do not improve models while there are no requests.")
@click.option("--log", is_flag=True, help="Log every request on stderr, and connections that are dropped.")
def command(
    models: tuple[str, ...],
    host: str,
    port: int,
    log: bool,
    max_connections: int,
    head_seconds: float,
    idle_seconds: float,
    tls_cert: str | None,
    tls_key: str | None,
    **options: Any,
) -> None:
    """Serve MODELS made by fit over HTTP: they predict, and learn.

    Every prediction gets the time that the load leaves it: anytime models (fit --model anytime) use all their members
    when there is time, and naive Bayes alone at the peak. Learned rows are safe on disk before the response is sent.
    Stop it with Ctrl-C or SIGTERM; SIGHUP makes it check for new model files.
    """
    start = time.monotonic()
    screen = Screen()
    names = _names(models)
    _check_extra()
    check_inputs(*models, options["token_file"], tls_cert, tls_key)
    token = _token(options["token_file"])
    _set_up_log(log)
    with screen.waiting("starting"):
        from tanager.service import connections, server
    limits = connections.ConnectionLimits(max_connections, head=head_seconds, idle=idle_seconds)
    limits = server.within_descriptors(limits)
    tls = _tls(tls_cert, tls_key)
    with server.listen(host, port) as listening:
        with screen.waiting("starting"):
            service = _service(names, models, token=token, log=log, **options)

        def ready() -> None:
            _announce(screen, service, listening, time.monotonic() - start, "http" if tls is None else "https")

        server.run(service, listening, ready, limits, tls)
    screen.say("stopped")


def _set_up_log(log: bool) -> None:
    """Warnings on stderr, and where asked for a line for every request, with its time."""
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.WARNING)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    if log:
        from tanager.service.app import access_logger

        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
        access_logger.addHandler(handler)
        access_logger.setLevel(logging.INFO)
        access_logger.propagate = False


def _tls(certificate: str | None, key: str | None) -> SSLContext | None:
    from tanager.service.server import tls_context

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise OptionError("--tls-cert and --tls-key go together: give the certificate and its key.")
    return tls_context(certificate, key)


def _names(paths: tuple[str, ...]) -> list[str]:
    """The names of models: their files without folder and ending."""
    names = [Path(path).stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"two of the models have the name {name!r}. Rename one of the files.")
    return names


def _check_extra() -> None:
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise OptionError(f'serving needs {absent[0]}, which is not installed. Run: pip install "tanager[serve]"')


def _token(path: str | None) -> str | None:
    """The token from a file or from the environment; None: requests need no token."""
    token = os.environ.get("TANAGER_TOKEN") if path is None else Path(path).read_text(encoding="utf-8").strip()
    if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
        raise OptionError("the token must be printable ASCII text without spaces.")
    return token


def _service(
    names: list[str],
    paths: tuple[str, ...],
    *,
    token: str | None,
    log: bool,
    target_ms: float,
    max_budget_ms: float,
    max_body_mb: float,
    body_seconds: float,
    hosts: tuple[str, ...],
    max_rows: int,
    max_queue: int,
    no_improve: bool,
    **options: Any,
) -> Service:
    from tanager.service.access import Access
    from tanager.service.app import Limits, Service

    served: dict[str, ServedModel] = {}
    try:
        for name, path in zip(names, paths, strict=True):
            served[name] = _served(name, path, **options)
    except BaseException:
        for one in served.values():
            one.store.close()
        raise
    size = int(max_body_mb * (1 << 20))
    return Service(
        served,
        target=target_ms / 1000,
        most=max_budget_ms / 1000,
        access=Access(token, hosts),
        limits=Limits(body=size, rows=max_rows, queue=max_queue, seconds=body_seconds),
        improves=not no_improve,
        log=log,
    )


def _served(
    name: str,
    path: str,
    *,
    state: str | None,
    snapshot_rows: int,
    accept_loss: bool,
    read_only: bool,
    remember: int,
    remember_minutes: float,
    **_: Any,
) -> ServedModel:
    """A model under its name; with --state it has a folder of that name there."""
    from tanager.service.models import ServedModel

    folder = None if state is None else Path(state) / name
    store = _store(path, folder, snapshot_rows, accept_loss=accept_loss, read_only=read_only)
    seconds = remember_minutes * 60
    return ServedModel(name, store, remember=remember, remember_seconds=seconds, read_only=read_only)


def _store(path: str, folder: Path | None, snapshot_rows: int, *, accept_loss: bool, read_only: bool) -> ModelStore:
    """The model file as it is, or with all that it has learned while being served."""
    if read_only:
        from tanager.service.models import ReadOnlyModel

        return ReadOnlyModel(path)
    from tanager.service.durable import DurableModel

    return DurableModel(path, folder, snapshot_rows=snapshot_rows, accept_loss=accept_loss)


def _announce(screen: Screen, service: Service, listening: socket.socket, seconds: float, scheme: str) -> None:
    """Print the models, the address, and a command to try it."""
    host, port = listening.getsockname()[:2]
    url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    for served in service.served.values():
        model = served.summary()
        classes = counted(len(model.classes), "class", "classes")
        screen.say(f"{model.name}: {model.kind}, {classes}, {model.rows:,.0f} rows")
    screen.say(f"serving at {url} after {seconds:.1f} s; stop with Ctrl-C. Try:")
    screen.say(f"  {curl_line(service, url)}")


def _example(column: Column) -> object:
    """A cell that the column may have."""
    if column.part == "date":
        return column.shown_cut(0) if column.cuts else "2024-01-01"
    return (*column.values, *(float(f"{cut:g}") for cut in column.cuts), 0)[0]


def curl_line(service: Service, url: str) -> str:
    """A shell command that requests one prediction."""
    import json

    served = next(iter(service.served.values()))
    schema = served.model.encoder_.schema.columns if hasattr(served.model, "encoder_") else ()
    row = {column.name: _example(column) for column in [own for own in schema if not own.source][:2]}
    path = "predict" if len(service.served) == 1 else f"models/{served.name}/predict"
    token = ' -H "Authorization: Bearer $TANAGER_TOKEN"' if service.access.token else ""
    body = json.dumps({"row": row}).replace("'", "'\\''")
    return f"curl {url}/{path}{token} --json '{body}'"
