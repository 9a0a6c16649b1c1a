"""The service as an ASGI application: paths, limits, the token, and what goes on between requests."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import tanager
from tanager.errors import TanagerError
from tanager.service import wire
from tanager.service.controller import Controller
from tanager.service.errors import ServiceError, from_decoder, from_library, near, short
from tanager.service.line import Job, Line
from tanager.service.metrics import CONTENT_TYPE, Metrics
from tanager.service.models import Served
from tanager.service.openapi import describe
from tanager.service.paths import PATHS, SHORT, Path
from tanager.service.rows import batch_of, ids_of, same_length

logger = logging.getLogger("tanager.service")

IDLE = 0.02  # seconds without a request after which idle time is used
SLICE = 0.002  # seconds of idle time at once; who comes in between waits no longer
WATCH = 1.0  # seconds between looks at the model files

JSON = b"application/json"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Limits:
    """What one request and all of them together may take."""

    body: int = 8 << 20  # bytes
    rows: int = 10_000
    queue: int = 1000  # requests that wait
    seconds: float = 10.0  # for a request to arrive


@dataclass(slots=True)
class Call:
    """A request on its way: who is asked, the body (decoded), the headers, and when it was read."""

    name: str | None
    headers: dict[bytes, bytes]
    body: Any = None
    arrived: float = 0.0


@dataclass(eq=False)
class Service:
    """All that is served in one process; ``app`` is the ASGI application.

    Predictions stand in one line; learning goes beside it. Between requests models are improved, and model files
    watched.
    """

    served: dict[str, Served]
    target: float = 0.010
    most: float = 0.100
    token: str | None = None
    limits: Limits = field(default_factory=Limits)
    improves: bool = True
    log: bool = False

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.controller = Controller(self.target, self.most)
        self.line = Line(self.controller, self.limits.queue)
        self.stopping = False
        self.started = time.monotonic()
        self.paths: tuple[Path, ...] = (SHORT if len(self.served) == 1 else ()) + PATHS  # quickest first
        self._learning = 0
        self._ids = count()
        self._run = secrets.token_hex(4)
        self._tasks: list[asyncio.Task[None]] = []
        self._complaints: dict[str, str] = {}
        self._description = _encode(describe(self.paths, token=self.token is not None))
        self.app = self._app()

    def _app(self) -> Starlette:
        routes = [Route(path.path, Endpoint(self, path), methods=[path.method]) for path in self.paths]
        app = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._no_such_path},  # type: ignore[dict-item]
        )
        app.router.redirect_slashes = False
        return app

    # --- paths --------------------------------------------------------------------------------------------------

    async def predict(self, call: Call) -> bytes:
        """Answer rows."""
        served, asked = self._find(call.name), call.body
        batch = batch_of(asked, self.limits.rows)
        if batch is None:
            raise ServiceError("wrong_shape", 'there is nothing to answer: send "row" or "rows".')
        ids = ids_of(asked)
        same_length("ids", ids, len(batch))
        budget = None if asked.budget_us is None else asked.budget_us / 1e6
        loop = asyncio.get_running_loop()
        reading = time.perf_counter() - call.arrived
        job = Job(
            served, batch, budget, asked.members, _deadline(call.headers), call.arrived, reading, loop.create_future()
        )
        answer, body = await self.line.join(job)
        if ids is not None:
            served.remembered.add(ids, batch.dicts(), time.monotonic())
        self.metrics.predicted(answer)
        return body

    async def learn(self, call: Call) -> bytes:
        """Learn rows; the answer comes when they are safe on disk."""
        served = self._find(call.name)
        if self._learning >= self.limits.queue:
            raise ServiceError("busy", f"{self._learning:,} requests to learn are waiting. Try again in a second.")
        self._learning += 1
        try:
            learned = await served.learn(call.body, self.limits.rows)
        finally:
            self._learning -= 1
            self.line.last = time.perf_counter()
        self.metrics.learned(served.name, learned.learned)
        return _encode(learned)

    async def models(self, call: Call) -> bytes:
        """The list of models."""
        return _encode(wire.Models([await asyncio.to_thread(served.line) for served in self.served.values()]))

    async def model(self, call: Call) -> bytes:
        """All about one model."""
        return _encode(await asyncio.to_thread(self._find(call.name).info))

    async def reload(self, call: Call) -> bytes:
        """Take over a new model file."""
        return _encode(await asyncio.to_thread(self._find(call.name).reload))

    async def health(self, call: Call) -> bytes:
        """Whether the service is up."""
        return _encode(
            wire.Health(
                status="stopping" if self.stopping else "ok",
                version=tanager.__version__,
                uptime=round(time.monotonic() - self.started, 3),
                models=list(self.served),
                queued=len(self.line.waiting),
                load=self.controller.status(time.perf_counter()),
            )
        )

    async def numbers(self, call: Call) -> bytes:
        """Numbers for Prometheus."""
        states = {name: served.store.status() for name, served in self.served.items()}
        return self.metrics.text(len(self.line.waiting), self.controller.status(time.perf_counter()), states)

    async def openapi(self, call: Call) -> bytes:
        """The description of all paths."""
        return self._description

    def _find(self, name: str | None) -> Served:
        if name is None:
            return next(iter(self.served.values()))
        if name not in self.served:
            hint = near(name, self.served) or f" There are {', '.join(self.served)}."
            raise ServiceError("unknown_model", f"no model {short(name)} is served here.{hint}", "the path")
        return self.served[name]

    # --- at the door --------------------------------------------------------------------------------------------

    def admit(self, path: Path, headers: dict[bytes, bytes]) -> None:
        """Refuse who has no token, and everybody while we stop."""
        if path.open:
            return
        if self.token is not None:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self.token.encode()):
                raise ServiceError("unauthorized", "send the token of this service: Authorization: Bearer TOKEN.")
        if self.stopping:
            raise ServiceError("stopping", "this service is about to end. Try again when it is back.")

    def request_id(self, headers: dict[bytes, bytes]) -> bytes:
        """The id that the request came with, where it can be sent back as it is; else a new one."""
        given = headers.get(b"x-request-id", b"")
        if 0 < len(given) <= 100 and all(33 <= byte < 127 for byte in given):
            return given
        return f"{self._run}-{next(self._ids):x}".encode()

    def answered(self, scope: Any, path: str, status: int, seconds: float, own: bytes) -> None:
        """Count an answer, and log it where asked for."""
        self.metrics.answered(path, status, seconds)
        if self.log:
            asked = scope["raw_path"].decode("ascii", "backslashreplace")  # as it came: nothing in it breaks a line
            logger.info("%s %s %d %.1f ms %s", scope["method"], asked, status, seconds * 1000, own.decode())

    async def _no_such_path(self, request: Request, error: HTTPException) -> Response:
        """What the router says where no path fits."""
        path, known = request.scope["path"], [path.path for path in self.paths]
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "another method")
            failure = ServiceError("wrong_method", f"{path} takes {allowed}, not {request.method}.", "the method")
        else:
            hint = near(path, known) or " See /openapi.json for what there is."
            failure = ServiceError("unknown_path", f"there is nothing at {short(path)}.{hint}", "the path")
        own = self.request_id(dict(request.scope["headers"]))
        self.answered(request.scope, "other", failure.status, 0.0, own)
        given = {"x-request-id": own.decode(), **(error.headers or {})}
        return Response(failure.body(), failure.status, given, "application/json")

    # --- between requests ---------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._tasks = [asyncio.create_task(self._watch())]
        if self.improves:
            self._tasks.append(asyncio.create_task(self._improve()))
        yield
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.line.close()
        for served in self.served.values():
            await asyncio.to_thread(served.store.close)

    async def _improve(self) -> None:
        """While nobody asks for anything, make the models better, slice by slice."""
        while True:
            await asyncio.sleep(IDLE)
            for served in self.served.values():
                await self._improve_one(served)

    async def _improve_one(self, served: Served) -> None:
        more = True
        while more and not self.line.busy and time.perf_counter() - self.line.last >= IDLE:
            start = time.perf_counter()
            try:
                more = await asyncio.to_thread(served.improve, SLICE)
            except Exception:
                logger.exception("improving %s failed", served.name)
                return
            if more:
                self.metrics.improved(served.name, time.perf_counter() - start)

    async def _watch(self) -> None:
        """Take over model files that have changed."""
        while True:
            await asyncio.sleep(WATCH)
            await self.reload_all()

    async def reload_all(self) -> None:
        """Take over every model file that has changed; one that cannot be used is told once."""
        for served in self.served.values():
            try:
                done = await asyncio.to_thread(served.reload)
            except ServiceError as error:
                if self._complaints.get(served.name) != error.message:
                    logger.warning("%s: %s", served.name, error.message)
                self._complaints[served.name] = error.message
            except Exception:
                logger.exception("looking at the file of %s failed", served.name)
            else:
                self._complaints.pop(served.name, None)
                if done.reloaded:
                    logger.warning("%s: a new model file was taken over", served.name)


class Endpoint:
    """One path as an ASGI application: reads the request, and writes what the service says, or the error."""

    def __init__(self, service: Service, path: Path) -> None:
        self.service, self.path = service, path
        self.work = getattr(service, path.work)
        self.fields = path.takes.__struct_fields__ if path.takes else ()
        self.decode = msgspec.json.Decoder(path.takes).decode if path.takes else None
        self.content_type = CONTENT_TYPE if path.work == "numbers" else JSON

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        start = time.perf_counter()
        headers = dict(scope["headers"])
        own = self.service.request_id(headers)
        more: tuple[tuple[bytes, bytes], ...] = ()
        kind, status = self.content_type, 200
        try:
            body = await self._answer(scope, headers, receive)
        except Disconnected:
            return
        except Exception as error:
            failure = self._failure(error, own)
            body, kind, status, more = failure.body(), JSON, failure.status, _headers_of(failure)
        self.service.answered(scope, self.path.path, status, time.perf_counter() - start, own)
        head = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), (b"x-request-id", own), *more]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Any, headers: dict[bytes, bytes], receive: Any) -> bytes:
        self.service.admit(self.path, headers)
        call = Call(scope["path_params"].get("name"), headers)
        if self.decode is not None:
            body = await _read(receive, headers, self.service.limits)
            call.arrived = time.perf_counter()
            try:
                call.body = self.decode(body)
            except (ValueError, RecursionError) as error:
                raise from_decoder(error, body, self.fields) from None
        return await self.work(call)

    def _failure(self, error: Exception, own: bytes) -> ServiceError:
        """Any error as the one shape; what nobody has thought of is logged, and only its id goes out."""
        if isinstance(error, TanagerError | OSError):
            return from_library(error)
        logger.error("request %s to %s failed", own.decode(), self.path.path, exc_info=error)
        sentence = f"this should not have happened; the log of the service tells more about {own.decode()}."
        return ServiceError("unexpected", sentence)


class Disconnected(Exception):
    """The client has gone."""


async def _read(receive: Any, headers: dict[bytes, bytes], limits: Limits) -> bytes:
    """The body, where it is declared as JSON, not too large and not too slow."""
    declared = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if declared != JSON:
        found = short(declared.decode("latin-1")) if declared else "nothing"
        sentence = f"the body is declared as {found}. Send Content-Type: application/json."
        raise ServiceError("wrong_content_type", sentence, "Content-Type")
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length[:19]) > limits.body:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _collect(receive, limits)
    except TimeoutError:
        raise ServiceError("too_slow", f"the body did not arrive within {limits.seconds:g} s. Send it again.") from None


async def _collect(receive: Any, limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > limits.body:
            raise _too_large(limits)
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)


def _too_large(limits: Limits) -> ServiceError:
    sentence = f"the body is larger than {limits.body / (1 << 20):g} MB. Send fewer rows at once."
    return ServiceError("too_large", sentence, "Content-Length")


def _headers_of(failure: ServiceError) -> tuple[tuple[bytes, bytes], ...]:
    """What goes with an error: when to try again, how to sign in; and no further request after a body left unread."""
    if failure.code == "busy":
        return ((b"retry-after", b"1"),)
    if failure.code == "unauthorized":
        return ((b"www-authenticate", b"Bearer"),)
    if failure.code in ("too_large", "too_slow", "stopping"):
        return ((b"connection", b"close"),)
    return ()


def _deadline(headers: dict[bytes, bytes]) -> float | None:
    """When the answer should be ready, on our clock."""
    given = headers.get(b"x-deadline")
    if given is None:
        return None
    try:
        moment = float(given)
    except ValueError:
        moment = math.nan
    if not math.isfinite(moment):
        raise ServiceError("bad_http", "X-Deadline is no number. Send a Unix time in seconds.", "X-Deadline")
    return time.perf_counter() + moment - time.time()
