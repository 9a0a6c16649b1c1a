"""The sender of ``tanager load``: requests at fixed times, whether or not earlier ones are answered (an open loop).

Over asyncio and httptools: the sender shares the machine with the service, and a general HTTP client takes more than
ten times the processor time for a request (``python -m benchmarks.sending``). Latencies count from when a request was
due, so that a sender or a service that falls behind cannot hide it.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import secrets
import selectors
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httptools
import msgspec

from tanager.errors import OptionError, TanagerError

MAX_CONNECTIONS = 256  # requests that are due beyond them wait in the sender, and this wait is part of their latency
RETRY_PAUSES = (0.05, 0.2, 1.0)  # seconds before rows to learn are sent again whose response was lost
OK, UNANSWERED, UNREACHABLE, NOT_TANAGER = "ok", "unanswered", "unreachable", "not_tanager"


class Unreachable(TanagerError):
    """There is no service at an address, or another one."""


@dataclass(frozen=True)
class Request:
    """A request in its final bytes, the true classes of its rows, and the request to send once it is answered."""

    message: bytes
    labels: Sequence[Any] = ()
    then: bytes | None = None


@dataclass
class Reply:
    """The outcome of a request. Times are seconds since the start; ``done`` is the end of waiting where none came."""

    due: float
    sent: float = math.nan
    done: float = math.nan
    code: str = UNANSWERED
    labels: Sequence[Any] = ()
    members: Sequence[int] | None = None
    learned: float = math.nan  # seconds that the request to learn took
    learned_code: str | None = None

    @property
    def latency(self) -> float:
        """Seconds from when the request was due."""
        return self.done - self.due


class Address:
    """The address of a service; makes the bytes of requests to it."""

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
        """A GET request."""
        return f"GET {self._base}{path} HTTP/1.1\r\n{self._lines}\r\n".encode()

    def post(self, verb: str, body: Mapping[str, Any]) -> bytes:
        """A request to ``predict`` or ``learn``."""
        content = msgspec.json.encode(body)
        path = f"/models/{quote(self.model, safe='')}/{verb}" if self.model else f"/{verb}"
        head = f"POST {self._base}{path} HTTP/1.1\r\n{self._lines}Content-Type: application/json\r\n"
        return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def with_key(message: bytes, key: str) -> bytes:
    """A request to learn under a key: however often it is sent, it counts once.

    >>> with_key(b"POST /learn HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n{}", "7")
    b'POST /learn HTTP/1.1\\r\\nIdempotency-Key: 7\\r\\nHost: here\\r\\n\\r\\n{}'
    """
    line, _, rest = message.partition(b"\r\n")
    return line + f"\r\nIdempotency-Key: {key}\r\n".encode() + rest


class Connection(asyncio.Protocol):
    """A connection that takes one request after the other."""

    transport: asyncio.Transport
    keep_alive = True
    _response: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpResponseParser(self)

    def request(self, message: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; the future gets status and body when the whole response is there."""
        self._body: list[bytes] = []
        self._response = response = asyncio.get_running_loop().create_future()
        self.transport.write(message)
        return response

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():  # data that no request asked for
            self.transport.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self._response.done():
                self._response.set_exception(error)

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        self._body.append(part)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self.keep_alive = self._parser.should_keep_alive()
        if self._response is not None and not self._response.done():
            self._response.set_result((self._parser.get_status_code(), b"".join(self._body)))

    def connection_lost(self, error: Exception | None) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionResetError())


class ConnectionPool:
    """Connections to a service, opened as they are needed and reused."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)

    async def request(self, message: bytes) -> tuple[int, bytes]:
        """Send a request; returns the status and the body of the response."""
        async with self._free:
            connection = await self._connection()
            try:
                response = await connection.request(message)
            except BaseException:
                connection.transport.close()  # the response may still come, and would be taken for the next one
                raise
            if connection.keep_alive:
                self._idle.append(connection)
            return response

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        loop, secure = asyncio.get_running_loop(), self.address.secure or None
        return (await loop.create_connection(Connection, self.address.host, self.address.port, ssl=secure))[1]

    def close(self) -> None:
        """Close the idle connections."""
        for connection in self._idle:
            connection.transport.close()


def get_json(address: Address, path: str) -> Any:
    """The JSON that a GET request returns; raises Unreachable where there is no such service."""

    async def get() -> tuple[int, bytes]:
        pool = ConnectionPool(address)
        try:
            return await asyncio.wait_for(pool.request(address.get(path)), 10)
        finally:
            pool.close()

    try:
        status, body = asyncio.run(get())
        content = msgspec.json.decode(body)
        if status != 200:
            raise Unreachable(content["error"]["message"])
    except (OSError, TimeoutError) as error:
        known = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        why = (known or "it timed out").lower()
        raise Unreachable(f"no response from {address.url} ({why}). Start one with: tanager serve MODEL") from None
    except (LookupError, TypeError, ValueError, httptools.HttpParserError):
        raise Unreachable(f"{address.url} is not a tanager service. Check the address.") from None
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

    Responses are waited for until ``wait`` seconds after the last request. ``tick`` is called with the number of
    requests sent so far.
    """
    gc.collect()
    gc.freeze()  # a collection over all loaded modules would stop the sender for a tenth of a second
    try:
        with asyncio.Runner(loop_factory=precise_loop) as runner:
            return runner.run(_send(address, requests, due, wait, tick))
    finally:
        gc.unfreeze()


def precise_loop() -> asyncio.AbstractEventLoop:
    """An event loop whose timers are precise to microseconds; with epoll, asyncio rounds them up to milliseconds."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


async def _send(
    address: Address, requests: Iterable[Request], due: Sequence[float], wait: float, tick: Callable[[int], None]
) -> list[Reply]:
    pool, replies, tasks = ConnectionPool(address), list[Reply](), list[asyncio.Task[None]]()
    run = secrets.token_hex(8)  # the same rows may be sent, and are to be learned, several times
    start = time.perf_counter() + 0.01
    for n, (request, at) in enumerate(zip(requests, due, strict=False)):
        pause = start + at - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        replies.append(Reply(at))
        tasks.append(asyncio.create_task(_exchange(pool, request, replies[-1], start, f"{run}-{n}")))
        tick(n + 1)
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=wait)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    pool.close()
    return replies


async def _exchange(pool: ConnectionPool, request: Request, reply: Reply, start: float, key: str) -> None:
    """Send one request, and under a key the one that follows it."""
    reply.sent = time.perf_counter() - start
    try:
        status, body = await pool.request(request.message)
        reply.done = time.perf_counter() - start
        _read_response(reply, status, body)
        if request.then is not None and reply.code == OK:
            reply.learned_code = UNANSWERED
            status, body = await _learn(pool, with_key(request.then, key))
            reply.learned = time.perf_counter() - start - reply.done
            reply.learned_code = OK if status == 200 else _code(body)
    except asyncio.CancelledError:
        pass
    except OSError:
        _fail(reply, UNREACHABLE)
    except (LookupError, TypeError, ValueError, httptools.HttpParserError):
        _fail(reply, NOT_TANAGER)
    finally:
        if math.isnan(reply.done):
            reply.done = time.perf_counter() - start


async def _learn(pool: ConnectionPool, message: bytes) -> tuple[int, bytes]:
    """Send rows to learn under a key; again where the connection broke: they may have been learned or not."""
    for pause in RETRY_PAUSES:
        try:
            return await pool.request(message)
        except OSError:
            await asyncio.sleep(pause)
    return await pool.request(message)


def _fail(reply: Reply, code: str) -> None:
    """Note an error for the request that was under way."""
    if reply.learned_code is None:
        reply.code = code
    else:
        reply.learned_code = code


def _read_response(reply: Reply, status: int, body: bytes) -> None:
    if status != 200:
        reply.code = _code(body)
        return
    content = msgspec.json.decode(body)
    reply.labels, reply.members = content["labels"], content["members"]
    reply.code = OK


def _code(body: bytes) -> str:
    """The code of an error."""
    return str(msgspec.json.decode(body)["error"]["code"])
