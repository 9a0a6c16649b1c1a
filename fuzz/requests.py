"""Odd requests to the service: bodies by calling its application, heads through a real socket.

    python -m fuzz.requests --count 20000 --seed 1

Whatever is sent, there must be a response in the one form of the service, or the end of the connection: no status of
500 or more, no traceback in the log, no number that is not finite, and nothing that takes longer than ``PATIENCE``.
What fails is printed with what was sent; it becomes a case in ``tests/service``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import math
import random
import re
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tanager import AODE, AnytimeAODE, NaiveBayes
from tanager.service import server
from tanager.service.access import Access
from tanager.service.app import Limits, Service
from tanager.service.connections import ConnectionLimits
from tanager.service.durable import DurableModel
from tanager.service.errors import CODES
from tanager.service.models import ServedModel

PATIENCE = 30.0  # seconds for one request
FRESH = 2000  # requests after which another service takes over, so that what was learned stays small
MODELS: dict[str, Callable[[], Any]] = {
    "aode": AODE,
    "anytime": AnytimeAODE,
    "window": lambda: AODE(window=200),
    "gaussian": lambda: NaiveBayes(gaussian=True),
}
ROWS = [{"colour": "red", "size": 1.5, "wild": True}, {"colour": "blue", "size": 7.5, "wild": None}] * 20
LABELS = ["fish", "bird"] * 20
NAMES = ["colour", "size", "wild", "siz", "", "\x00", "a" * 300, "ü", "row"]
FIELDS = ["row", "rows", "columns", "budget_us", "members", "label", "labels", "weights", "times", "id", "ids", "rwo"]
TEXTS = ["", "red", "NaN", "inf", "1e999", "null", "\ud800", "\x00", "ü" * 50, "x" * 10_000, "fish", "-0", "0x10"]
NUMBERS = [0, -1, 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**400, 1e308, -1e308, 1e155, 5e-324, 1e-400, -0.0, 0.1]
PATHS = ["/predict", "/learn", "/models/pets/predict", "/models/pets/learn", "/models/pets/reload", "/models/pets"]
MORE_PATHS = [
    "/health",
    "/metrics",
    "/models",
    "/openapi.json",
    "/models/pet",
    "/",
    "/%00",
    "//",
    "/models//learn",
    "/é",
]
METHODS = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "PURGE", "get"]
VALUES = [
    b"",
    b"nan",
    b"1e400",
    b"-5",
    b"application/json",
    b"text/plain",
    b"\xff\xfe",
    b"x" * 3000,
    b"gzip",
    b"null",
    b"*",
]
FIELD_NAMES = [
    b"content-type",
    b"x-deadline",
    b"x-request-id",
    b"authorization",
    b"origin",
    b"host",
    b"accept",
    b"expect",
]


class Odd:
    """Odd things, drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, some: list[Any]) -> Any:
        return self.random.choice(some)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def cell(self) -> Any:
        kind = self.random.randrange(7)
        if kind == 0:
            return self.one([None, True, False])
        if kind == 1:
            return self.random.uniform(-10, 10)
        if kind == 2:
            return self.random.randint(-20, 20)
        if kind == 3:
            return self.one(["red", "blue", "green", f"new {self.random.randrange(50)}"])
        return self.one(NUMBERS if kind < 6 else TEXTS)

    def nested(self, depth: int = 0) -> Any:
        if depth > 3 or self.chance(0.5):
            return self.cell()
        n = self.random.randrange(4)
        if self.chance(0.5):
            return [self.nested(depth + 1) for _ in range(n)]
        return {self.one([*NAMES, *FIELDS]): self.nested(depth + 1) for _ in range(n)}

    def good_row(self) -> dict[str, Any]:
        size = self.random.uniform(-10, 10) if self.chance(0.8) else self.one([1e308, -1e308, 1e155, 5e-324, 2**62])
        row = {"colour": self.one(["red", "blue", f"new {self.random.randrange(50)}"]), "size": size}
        return {name: cell for name, cell in (row | {"wild": self.chance(0.5)}).items() if self.chance(0.8)}

    def row(self) -> Any:
        if self.chance(0.5):
            return self.good_row()
        if self.chance(0.1):
            return self.nested()
        return {
            self.one(NAMES[:3] if self.chance(0.8) else NAMES): self.cell() for _ in range(self.random.randrange(4))
        }

    def many(self, make: Callable[[], Any]) -> Any:
        return self.nested() if self.chance(0.1) else [make() for _ in range(self.random.randrange(6))]

    def label(self) -> Any:
        return self.one(["fish", "bird", "newt"]) if self.chance(0.7) else self.nested()

    def identity(self) -> Any:
        return self.one(["a", "b", "c", "d"]) if self.chance(0.7) else self.nested()

    def field(self, name: str) -> Any:
        makers: dict[str, Callable[[], Any]] = {
            "row": self.row,
            "rows": lambda: self.many(self.row if self.chance(0.6) else lambda: [self.cell() for _ in range(2)]),
            "columns": lambda: self.many(lambda: self.one(NAMES)) if self.chance(0.5) else ["colour", "size"],
            "label": self.label,
            "labels": lambda: self.many(self.label),
            "weights": lambda: self.many(self.cell),
            "times": lambda: self.many(self.cell),
            "id": self.identity,
            "ids": lambda: self.many(self.identity),
        }
        return makers.get(name, self.cell)()

    def message(self) -> dict[str, Any]:
        """Something close to a request; about half of them are good ones."""
        kind = self.random.randrange(5)
        if kind == 0:
            return {name: self.field(name) for name in self.random.sample(FIELDS, self.random.randrange(5))}
        if kind == 1:
            return {"row": self.row(), "label": self.label()}
        if kind == 2:
            rows = [self.good_row() if self.chance(0.9) else self.row() for _ in range(self.random.randrange(1, 5))]
            return {"rows": rows, "labels": [self.label() for _ in rows]} | (
                {"weights": [abs(self.random.gauss(0, 1)) for _ in rows]} if self.chance(0.3) else {}
            )
        row = self.good_row()
        return {"row": row} if kind == 3 else {"rows": [row, self.row()]} | {self.one(FIELDS): self.cell()}

    def body(self) -> bytes:
        whole = json.dumps(self.message(), allow_nan=True).encode("utf-8", "surrogatepass")
        kind = self.random.randrange(12)
        if kind == 0:
            return self.random.randbytes(self.random.randrange(200))
        if kind == 1:
            return self.one([b"[", b'{"row":', b'{"rows":[', b'{"a":', b"-", b"9", b" ", b"\\"]) * self.one(
                [1, 50, 20_000]
            )
        if kind == 2:
            return whole[: self.random.randrange(len(whole) + 1)]
        if kind == 3:
            return self.damaged(whole)
        if kind == 4:
            return whole.decode("utf-8", "replace").encode(self.one(["utf-16", "utf-32", "utf-8-sig", "utf-7"]))
        return whole

    def damaged(self, data: bytes) -> bytes:
        """Some bytes changed, cut out, doubled or put in."""
        found = bytearray(data)
        for _ in range(self.random.randrange(1, 5)):
            at = self.random.randrange(len(found) + 1)
            end = min(len(found), at + self.random.randrange(8))
            found[at:end] = self.one(
                [b"", found[at:end] * 2, self.random.randbytes(3), b"\r\n", b"\x00", b'"', b"1e999"]
            )
        return bytes(found)

    def headers(self) -> list[tuple[bytes, bytes]]:
        found = [] if self.chance(0.05) else [(b"host", b"localhost")]
        if not self.chance(0.05):
            found.append((b"content-type", b"application/json"))
        for _ in range(self.random.randrange(3) if self.chance(0.4) else 0):
            found.append((self.one(FIELD_NAMES), self.one(VALUES)))
        return found

    def head(self) -> bytes:
        """Bytes for a socket: most of them almost HTTP."""
        if self.chance(0.05):
            return self.random.randbytes(self.random.randrange(300))
        path = self.one(PATHS + MORE_PATHS).encode() + self.one([*[b""] * 8, b"?a=1", b"#x", b"%ff", b"x" * 70_000])
        line = (
            self.one([m.encode() for m in METHODS])
            + b" "
            + path
            + self.one([*[b" HTTP/1.1"] * 6, b" HTTP/1.0", b" HTTP/9", b""])
        )
        body, fields = self.body()[:2000], [name + b": " + value for name, value in self.headers()]
        framing = self.random.randrange(6)
        if framing < 3:
            fields.append(b"content-length: %d" % len(body))
        elif framing == 3:
            fields.append(b"transfer-encoding: chunked")
            body = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
        else:
            odd = [b"content-length: -1", b"content-length: 1e3", b"content-length: " + b"9" * 30, b"content-length: 0"]
            odd += [
                b"transfer-encoding: gzip",
                b"transfer-encoding: chunked, x",
                b"content-length: 5\r\ncontent-length: 6",
            ]
            fields.append(self.one(odd))
        if self.chance(0.3):
            more = [
                b"expect: 100-continue",
                b"upgrade: websocket\r\nconnection: upgrade",
                b"connection: close",
                b": x",
                b"x",
            ]
            more += [b"x: " + b"y" * 70_000, b"\r\n".join([b"x: y"] * 150), b"origin: null", b" folded", b"x\x00: 1"]
            fields.append(self.one(more))
        sent = b"\r\n".join([line, *fields, b"", body])
        if self.chance(0.2):
            sent += self.head() if self.chance(0.5) else sent
        return self.damaged(sent) if self.chance(0.2) else sent


class Watch(logging.Handler):
    """Keeps what was logged with a traceback, or as an error."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.seen.append(self.format(record))


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} in a response")


def complaint(status: int, headers: dict[str, str], body: bytes, method: str) -> str | None:
    """What is wrong with a response; None where nothing is."""
    if status >= 500:
        return f"status {status}"
    if method == "HEAD" or not headers.get("content-type", "").startswith("application/json"):
        return None if status == 200 else f"an error of {headers.get('content-type')}" if method != "HEAD" else None
    try:
        data = json.loads(body, parse_constant=refuse_constant)
    except ValueError as error:
        return f"no JSON: {error}"
    if status != 200:
        error = data.get("error", {})
        known = error.get("code") in CODES and CODES[error["code"]][0] == status and error.get("message")
        return None if known and len(body) < 5000 else "an error of another form"
    for row in data.get("probabilities", ()):
        if not all(isinstance(p, float) and math.isfinite(p) for p in row) or abs(sum(row) - 1) > 1e-9:
            return f"probabilities {row}"
    return None


@contextlib.contextmanager
def service(model: str, folder: Path) -> Iterator[Service]:
    """A service over a new model."""
    path = folder / "pets.tanager"
    MODELS[model]().fit(ROWS, LABELS).save(path)
    store = DurableModel(path, sync_every=0.0)
    served = ServedModel("pets", store, remember=100, remember_seconds=60.0)
    made = Service({"pets": served}, limits=Limits(rows=50, body=1 << 20), access=Access(), improves=False)
    try:
        yield made
    finally:
        store.close()
        made.queue.close()


class Run:
    """All requests: how many, what came of them, and what went wrong."""

    def __init__(self, seed: int) -> None:
        self.odd, self.watch = Odd(seed), Watch()
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0

    def note(self, sent: object, wrong: str | None) -> None:
        if self.watch.seen:
            wrong = f"{wrong or ''} log: {self.watch.seen.pop()}"
        if wrong:
            self.failures.append(f"{wrong}\n  sent: {str(sent)[:2000]}")

    # --- bodies, by calling the application -----------------------------------------------------------------------

    async def bodies(self, made: Service, count: int) -> None:
        for _ in range(count):
            path = self.odd.one(PATHS[:4] if self.odd.chance(0.9) else PATHS + MORE_PATHS)
            method = "POST" if self.odd.chance(0.95) else self.odd.one(METHODS)
            headers, body = self.odd.headers(), self.odd.body()
            if self.odd.chance(0.7):  # where it may be welcome
                path = "/learn" if b'"label' in body else "/predict"
            start = time.perf_counter()
            try:
                wrong = await asyncio.wait_for(self._call(made, method, path, headers, body), PATIENCE)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            self.slowest = max(self.slowest, time.perf_counter() - start)
            self.note((method, path, headers, body), wrong)

    async def _call(self, made: Service, method: str, path: str, headers: Any, body: bytes) -> str | None:
        cut = self.odd.random.randrange(len(body) + 1) if self.odd.chance(0.3) else len(body)
        parts = [body[:cut], body[cut:]]
        coming: list[dict[str, Any]] = [
            {"type": "http.request", "body": part, "more_body": at == 0} for at, part in enumerate(parts)
        ]
        gone = self.odd.chance(0.02)
        if gone:
            coming[1] = {"type": "http.disconnect"}
        heard: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return coming.pop(0) if coming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            heard.append(message)

        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "root_path": "",
            "http_version": "1.1",
            "scheme": "http",
        }
        await made.app(scope, receive, send)  # type: ignore[arg-type]
        if not heard:
            return None if gone else "no response"
        first, content = heard[0], b"".join(message.get("body", b"") for message in heard[1:])
        self.statuses[first["status"]] += 1
        named = {name.decode(): value.decode() for name, value in first["headers"]}
        return complaint(first["status"], named, content, method)

    # --- heads, through a socket ------------------------------------------------------------------------------------

    def heads(self, port: int, count: int) -> None:
        for _ in range(count):
            sent = self.odd.head()
            start = time.perf_counter()
            try:
                wrong = self._talk(port, sent)
            except TimeoutError:
                wrong = "no end of the connection"
            self.slowest = max(self.slowest, time.perf_counter() - start)
            self.note(sent, wrong)

    def _talk(self, port: int, sent: bytes) -> str | None:
        heard = b""
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
            with contextlib.suppress(OSError):  # it may have been refused already
                cut = self.odd.random.randrange(len(sent) + 1)
                for part in (sent[:cut], sent[cut:]) if self.odd.chance(0.3) else (sent,):
                    wire.sendall(part)
                wire.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while part := wire.recv(65536):
                    heard += part
        return self._responses(heard)

    def _responses(self, heard: bytes) -> str | None:
        """Look at all responses of a connection; those to HEAD have no body, which their length does not tell."""
        while heard:
            head, found, rest = heard.partition(b"\r\n\r\n")
            status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
            if status is None or not found:
                return f"no HTTP: {heard[:200]!r}"
            if status[1] == b"100":
                heard = rest
                continue
            self.statuses[int(status[1])] += 1
            headers = dict(line.lower().split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:])
            size = int(headers["content-length"])
            bodyless = rest[:5] == b"HTTP/" or not rest
            body = b"" if bodyless else rest[:size]
            wrong = complaint(int(status[1]), headers, body, "HEAD" if bodyless else "POST")
            if wrong:
                return wrong
            heard = rest if bodyless else rest[size:]
        return None


@contextlib.contextmanager
def listening(made: Service) -> Iterator[int]:
    """The service at a port. Heads have a second: half of the odd ones never end."""
    place, ready = server.listen("127.0.0.1", 0), threading.Event()
    running = server.Server(made, ready.set, ConnectionLimits(head=1.0, idle=0.2))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        ready.wait(PATIENCE)
        yield place.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join(PATIENCE)


def run(count: int, seed: int, models: list[str], fresh: int = FRESH) -> Run:
    """Send so many requests: three of five by calling the application, the others through a socket."""
    done = Run(seed)
    logging.getLogger().addHandler(done.watch)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    left, turn = count, 0
    while left > 0:
        part = min(left, fresh)
        with tempfile.TemporaryDirectory() as folder, service(models[turn % len(models)], Path(folder)) as made:
            if turn % 5 in (0, 2, 4):
                asyncio.run(done.bodies(made, part))
            else:
                with listening(made) as port:
                    done.heads(port, part)
        left, turn = left - part, turn + 1
    logging.getLogger().removeHandler(done.watch)
    return done


def main() -> int:
    """Send requests, print what came of them, and say by the exit code whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="requests to send")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", default="aode,anytime,window,gaussian", help=f"of {', '.join(MODELS)}")
    options = parser.parse_args()
    start = time.perf_counter()
    done = run(options.count, options.seed, options.models.split(","))
    for failure in done.failures[:20]:
        print(failure, file=sys.stderr)
    said = ", ".join(f"{status}: {n:,}" for status, n in sorted(done.statuses.items()))
    print(f"{options.count:,} requests in {time.perf_counter() - start:.0f} s, slowest {done.slowest:.2f} s; {said}")
    print(f"{len(done.failures)} went wrong")
    return 1 if done.failures else 0


if __name__ == "__main__":
    sys.exit(main())
