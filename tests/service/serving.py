"""Services to ask, without a network and with one."""

import asyncio
import contextlib
import json
import re
import threading
import time
from dataclasses import dataclass

import httpx2
import msgspec

from tanager import AODE
from tanager.service import messages, server
from tanager.service.access import Access
from tanager.service.app import Limits, Service
from tanager.service.durable import DurableModel
from tanager.service.models import ServedModel
from waiting import PATIENCE

ROWS = [
    {"colour": "red", "size": 1.5, "wild": True},
    {"colour": "red", "size": 2.5, "wild": False},
    {"colour": "blue", "size": 7.5, "wild": True},
    {"colour": "blue", "size": 8.5, "wild": None},
] * 10
LABELS = ["fish", "fish", "bird", "bird"] * 10


SMALL = Limits(rows=50)


def write_model(path, model=None, labels=LABELS):
    """A small model in a file: a column of text, one of numbers, one of booleans."""
    (model or AODE()).fit(ROWS, labels).save(path)
    return path


@dataclass
class Said:
    """An answer: its status, headers and JSON, decoded strictly where the shape is known."""

    status: int
    headers: dict
    body: bytes

    @property
    def data(self):
        return json.loads(self.body)

    def as_(self, struct):
        assert self.status == 200, self.body
        return msgspec.json.decode(self.body, type=struct)

    @property
    def error(self):
        assert self.status >= 400, self.body
        assert self.headers["content-type"] == "application/json"
        return msgspec.json.decode(self.body, type=messages.ErrorResponse).error


class Asker:
    """Asks a service as HTTP clients do."""

    def __init__(self, service):
        self.service = service

    def __call__(self, method, path, data=None, *, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None or body is not None:
            body = json.dumps(data).encode() if body is None else body
            named.setdefault("content-type", "application/json")
        return asyncio.run(self._ask(method, path, body, named))

    async def _ask(self, method, path, body, headers):
        transport = httpx2.ASGITransport(self.service.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.request(method, path, content=body, headers=headers)
        return Said(answer.status_code, dict(answer.headers), answer.content)

    def predict(self, data=None, path="/predict", **more):
        return self("POST", path, data, **more)

    def learn(self, data=None, path="/learn", **more):
        return self("POST", path, data, **more)


def make_service(
    *paths, read_only=False, remember=100, remember_seconds=60.0, limits=SMALL, token=None, hosts=(), **options
):
    """A service over model files; close it in the end."""
    served = {
        path.stem: ServedModel(
            path.stem,
            DurableModel(path, sync_every=0.0),
            remember=remember,
            remember_seconds=remember_seconds,
            read_only=read_only,
        )
        for path in paths
    }
    return Service(served, limits=limits, access=Access(token, hosts), **options)


def close(service):
    for served in service.served.values():
        served.store.close()
    service.queue.close()


@contextlib.contextmanager
def live(service, limits=None, tls=None, clock=None):
    """The service behind a real socket, in a thread; gives the port. ``clock`` is what connections are timed by."""
    place = server.listen("127.0.0.1", 0)
    ready = threading.Event()
    running = server.Server(service, ready.set, limits, tls, clock or time.monotonic)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield place.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def response(wire):
    """The next response on a connection, whole: its parts may come one after the other."""
    heard = b""
    while b"\r\n\r\n" not in heard:
        part = wire.recv(65536)
        assert part, f"the connection has ended after {heard!r}"
        heard += part
    head, _, body = heard.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        part = wire.recv(65536)
        assert part, f"the connection has ended after {heard!r}"
        heard, body = heard + part, body + part
    return heard
