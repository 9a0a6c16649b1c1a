"""Requests sent by the clock, whether or not earlier ones are answered: what a service is measured with.

HTTP/1.1 in a few lines over asyncio, since the sender takes its time from the same machine: a request costs it about a
quarter of what a client for all purposes takes. Latencies count from when a request was due, so that a sender or a
service that falls behind cannot hide it.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import selectors
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from tanager.errors import OptionError, TanagerError

CONNECTIONS = 256  # at most, side by side; what is due beyond them waits here, and the wait counts
OK, UNANSWERED, UNREACHABLE, FOREIGN = "ok", "unanswered", "unreachable", "not_tanager"


class Unreachable(TanagerError):
    """Nobody answers at an address, or somebody else."""


@dataclass(frozen=True)
class Request:
    """A request as it goes over the wire, the true classes of its rows, and what is sent when it is answered."""

    message: bytes
    labels: Sequence[Any] = ()
    then: bytes | None = None


@dataclass
class Reply:
    """What became of a request. Times are seconds since the first was due; without an answer, when it was given up."""

    due: float
    sent: float = math.nan
    done: float = math.nan
    code: str = UNANSWERED
    labels: Sequence[Any] = ()
    members: Sequence[int] | None = None
    learned: float = math.nan  # seconds of the request that followed
    learned_code: str | None = None

    @property
    def latency(self) -> float:
        return self.done - self.due


class Address:
    """Where a service is, and how requests to it are written."""

    def __init__(self, url: str, token: str | None = None, model: str | None = None) -> None:
        try:
            parts = urlsplit(url)
            self.host, self.port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            parts, self.host = urlsplit(""), ""
        if parts.scheme not in ("http", "https") or not self.host:
            raise OptionError(f"--url {url}: write it as http://127.0.0.1:8000 or with https://.")
        self.url, self.model, self.secure = url.rstrip("/"), model, parts.scheme == "https"
        token_line = f"Authorization: Bearer {token}\r\n" if token else ""
        self._base, self._lines = parts.path.rstrip("/"), f"Host: {parts.netloc}\r\n{token_line}"

    def get(self, path: str) -> bytes:
        return f"GET {self._base}{path} HTTP/1.1\r\n{self._lines}\r\n".encode()

    def post(self, verb: str, body: Any) -> bytes:
        """A request to predict or learn."""
        import msgspec

        content = msgspec.json.encode(body)
        path = f"/models/{quote(self.model, safe='')}/{verb}" if self.model else f"/{verb}"
        head = f"POST {self._base}{path} HTTP/1.1\r\n{self._lines}Content-Type: application/json\r\n"
        return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


class Connection(asyncio.Protocol):
    """One request after the other; ``answer`` is resolved when the whole of it is there."""

    answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, message: bytes) -> asyncio.Future[tuple[int, bytes]]:
        self.buffer, self.length = b"", -1
        self.answer = answer = asyncio.get_running_loop().create_future()
        self.transport.write(message)
        return answer

    def data_received(self, data: bytes) -> None:
        if self.answer is None or self.answer.done():  # nothing was asked
            self.transport.close()
            return
        self.buffer += data
        try:
            if self._whole():
                self.answer.set_result((self.status, self.buffer))
        except (LookupError, ValueError) as error:
            self.answer.set_exception(error)

    def _whole(self) -> bool:
        """Read the head when it is there, and say whether all of the body is."""
        if self.length < 0:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return False
            head = head.lower()
            self.status, self.kept = int(head.split(None, 2)[1]), b"\nconnection: close" not in head
            self.length, self.buffer = int(head.split(b"\ncontent-length:")[1].split(b"\r")[0]), rest
        return len(self.buffer) >= self.length

    def connection_lost(self, error: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(ConnectionResetError())


class Line:
    """Connections to a service, opened as they are needed and kept."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(CONNECTIONS)

    async def ask(self, message: bytes) -> tuple[int, bytes]:
        """Send a request; the status and the body of the answer."""
        async with self._free:
            connection = await self._connection()
            try:
                answer = await connection.ask(message)
            except BaseException:
                connection.transport.close()
                raise
            if connection.kept:
                self._idle.append(connection)
            return answer

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        loop, secure = asyncio.get_running_loop(), self.address.secure or None
        return (await loop.create_connection(Connection, self.address.host, self.address.port, ssl=secure))[1]

    def close(self) -> None:
        for connection in self._idle:
            connection.transport.close()


def ask(address: Address, path: str) -> Any:
    """What a GET request answers, as JSON; raises Unreachable where there is no such service."""
    import msgspec

    async def get() -> tuple[int, bytes]:
        line = Line(address)
        try:
            return await asyncio.wait_for(line.ask(address.get(path)), 10)
        finally:
            line.close()

    try:
        status, body = asyncio.run(get())
        content = msgspec.json.decode(body)
        if status != 200:
            raise Unreachable(content["error"]["message"])
    except (OSError, TimeoutError) as error:
        known = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        why = (known or "it is silent").lower()
        raise Unreachable(f"no answer from {address.url} ({why}). Start one with: tanager serve MODEL") from None
    except (LookupError, TypeError, ValueError):
        raise Unreachable(f"{address.url} does not answer as tanager serve does. Check the address.") from None
    return content


def send(
    address: Address,
    requests: Iterable[Request],
    due: Sequence[float],
    *,
    wait: float = 5.0,
    tick: Callable[[int], None] = lambda n: None,
) -> list[Reply]:
    """Send requests at the times (in seconds from now) at which they are due; one reply for each.

    Answers are waited for until so many seconds after the last request. ``tick`` is called with the number of requests
    sent so far.
    """
    gc.collect()
    gc.freeze()  # or looking for garbage among all that is loaded would stop the sender for a tenth of a second
    try:
        with asyncio.Runner(loop_factory=_precise_loop) as runner:
            return runner.run(_send(address, requests, due, wait, tick))
    finally:
        gc.unfreeze()


def _precise_loop() -> asyncio.AbstractEventLoop:
    """An event loop that wakes up to the microsecond; the usual one rounds up to milliseconds."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


async def _send(
    address: Address, requests: Iterable[Request], due: Sequence[float], wait: float, tick: Callable[[int], None]
) -> list[Reply]:
    line, replies, tasks = Line(address), [], []
    start = time.perf_counter() + 0.01
    for n, (request, at) in enumerate(zip(requests, due, strict=False)):
        pause = start + at - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        replies.append(Reply(at))
        tasks.append(asyncio.create_task(_exchange(line, request, replies[-1], start)))
        tick(n + 1)
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=wait)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    line.close()
    return replies


async def _exchange(line: Line, request: Request, reply: Reply, start: float) -> None:
    """One request, and the one that follows it."""
    reply.sent = time.perf_counter() - start
    try:
        status, body = await line.ask(request.message)
        reply.done = time.perf_counter() - start
        _read(reply, status, body)
        if request.then is not None and reply.code == OK:
            reply.learned_code = UNANSWERED
            status, body = await line.ask(request.then)
            reply.learned = time.perf_counter() - start - reply.done
            reply.learned_code = OK if status == 200 else _code(body)
    except asyncio.CancelledError:
        pass
    except OSError:
        _failed(reply, UNREACHABLE)
    except (LookupError, TypeError, ValueError):
        _failed(reply, FOREIGN)
    finally:
        if math.isnan(reply.done):
            reply.done = time.perf_counter() - start


def _failed(reply: Reply, code: str) -> None:
    if reply.learned_code is None:
        reply.code = code
    else:
        reply.learned_code = code


def _read(reply: Reply, status: int, body: bytes) -> None:
    import msgspec

    if status != 200:
        reply.code = _code(body)
        return
    content = msgspec.json.decode(body)
    reply.labels, reply.members = content["labels"], content["members"]
    reply.code = OK


def _code(body: bytes) -> str:
    """The code of an error."""
    import msgspec

    return str(msgspec.json.decode(body)["error"]["code"])
