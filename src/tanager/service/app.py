"""The service as an ASGI application: routes, limits, the token, and the work between requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tanager.errors import TanagerError
from tanager.service import messages
from tanager.service.access import Access, Headers
from tanager.service.connections import ConnectionTable
from tanager.service.controller import Controller
from tanager.service.docs_page import docs_page
from tanager.service.errors import ServiceError, from_decoder, from_library, quoted, suggestion
from tanager.service.explaining import MOST_EXPLAINED, column_importance, explain_rows, nomogram_of
from tanager.service.metrics import CONTENT_TYPE, Metrics
from tanager.service.models import ServedModel
from tanager.service.openapi import describe
from tanager.service.queueing import Job, RequestQueue
from tanager.service.routes import ROUTES, SINGLE_MODEL_ROUTES, RouteSpec
from tanager.service.rows import check_length, request_ids, request_rows, request_table

logger = logging.getLogger("tanager.service")
access_logger = logging.getLogger("tanager.access")

IDLE_SECONDS = 0.02  # without a request, after which models are improved
IMPROVE_SECONDS = 0.002  # at a time; a request that comes meanwhile waits no longer than this
WATCH_SECONDS = 1.0  # between checks of the model files

LOGGED_PATH = 200  # characters of a path in the log

JSON, HTML = b"application/json", b"text/html; charset=utf-8"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Limits:
    """Limits of one request, and of all that wait."""

    body: int = 8 << 20  # bytes
    bodies: int = 256 << 20  # bytes of all requests that are not answered yet
    rows: int = 10_000
    queue: int = 1000  # requests that wait
    seconds: float = 10.0  # until the body of a request has arrived


@dataclass(slots=True)
class Call:
    """A request: the model in its path, the headers, the decoded body, and when the body was read."""

    name: str | None
    headers: dict[bytes, bytes]
    body: Any = None  # what the route takes
    arrived: float = 0.0


Handler = Callable[[Call], Awaitable[bytes]]


@dataclass(eq=False)
class Service:
    """All models that one process serves; ``app`` is the ASGI application.

    Predictions wait in one queue; learning does not wait for them. Between requests models are improved, and model
    files checked for changes.
    """

    served: dict[str, ServedModel]
    target: float = 0.010
    most: float = 0.100
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    improves: bool = True
    log: bool = False

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.controller = Controller(self.target, self.most)
        self.queue = RequestQueue(self.controller, self.limits.queue)
        self.stopping = False
        self.connections: ConnectionTable | None = None  # of the server, once there is one
        self.body_bytes = 0  # of requests that are not answered yet
        # Starlette tries routes in their order, so the most used ones come first.
        self.routes: tuple[RouteSpec, ...] = (SINGLE_MODEL_ROUTES if len(self.served) == 1 else ()) + ROUTES
        self.handlers: dict[str, Handler] = {
            "predict": self.predict,
            "learn": self.learn,
            "explain": self.explain,
            "importance": self.importance,
            "nomogram": self.nomogram,
            "models": self.models,
            "model": self.model,
            "reload": self.reload,
            "health": self.health,
            "prometheus": self.prometheus,
            "openapi": self.openapi,
            "docs": self.docs,
        }
        self._learning = 0  # requests to learn that are not answered yet
        self._request_numbers = count()
        self._process_id = secrets.token_hex(4)  # makes request ids differ between runs
        self._tasks: list[asyncio.Task[None]] = []
        self._warned: dict[str, str] = {}  # what was last wrong with a model file
        description = describe(self.routes, token=self.access.token is not None)
        self._description, self._docs = _encode(description), docs_page(description).encode()
        self.app = self._make_app()

    def _make_app(self) -> Starlette:
        routes = [Route(route.path, Endpoint(self, route), methods=[route.method]) for route in self.routes]
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: self._unknown_route})
        app.router.redirect_slashes = False
        return app

    # --- routes -------------------------------------------------------------------------------------------------

    async def predict(self, call: Call) -> bytes:
        """Predict rows."""
        served, request = self._find(call.name), call.body
        rows = request_rows(request, self.limits.rows)
        if rows is None:
            raise ServiceError("wrong_shape", 'there are no rows to predict: send "row" or "rows".')
        ids = request_ids(request)
        check_length("ids", ids, len(rows))
        await served.settle()
        job = Job(
            served=served,
            rows=rows,
            budget=None if request.budget_us is None else request.budget_us / 1e6,
            members=request.members,
            deadline=_deadline(call.headers),
            arrived=call.arrived,
            reading=time.perf_counter() - call.arrived,
            response=asyncio.get_running_loop().create_future(),
        )
        response, body = await self.queue.submit(job)
        if ids is not None:
            served.pending.add(ids, rows.dicts(), time.monotonic())
        self.metrics.count_prediction(response)
        return body

    async def learn(self, call: Call) -> bytes:
        """Learn rows; the response is sent when they are safe on disk."""
        served = self._find(call.name)
        if self._learning >= self.limits.queue:
            raise ServiceError("busy", f"{self._learning:,} requests to learn are waiting. Try again in a second.")
        self._learning += 1
        try:
            response = await served.learn(call.body, self.limits.rows, _idempotency_key(call.headers))
        finally:
            self._learning -= 1
            self.queue.last_activity = time.perf_counter()
        if not response.repeated:
            self.metrics.count_learned(served.name, response.learned)
        return _encode(response)

    async def explain(self, call: Call) -> bytes:
        """Explain predictions."""
        served, request = self._find(call.name), call.body
        rows = request_rows(request, min(self.limits.rows, MOST_EXPLAINED))
        if rows is None:
            raise ServiceError("wrong_shape", 'there are no rows to explain: send "row" or "rows".')
        return await self._look_into(served, explain_rows, rows, request)

    async def importance(self, call: Call) -> bytes:
        """Measure how much each column matters."""
        served, request = self._find(call.name), call.body
        rows = request_table(request.rows, request.columns, self.limits.rows)
        for name in ("labels", "weights"):
            check_length(name, getattr(request, name), len(rows))
        return await self._look_into(served, column_importance, rows, request)

    async def nomogram(self, call: Call) -> bytes:
        """Say what each value of each column adds."""
        return await self._look_into(self._find(call.name), nomogram_of, call.body)

    async def _look_into(self, served: ServedModel, look: Callable[..., msgspec.Struct], *asked: Any) -> bytes:
        """What a look at a model says, which may take a while: in a thread of its own."""
        await served.settle()
        response = await asyncio.to_thread(look, served, *asked)
        self.queue.last_activity = time.perf_counter()
        return _encode(response)

    async def models(self, call: Call) -> bytes:
        """List the models."""
        summaries = [await asyncio.to_thread(served.summary) for served in self.served.values()]
        return _encode(messages.ModelList(summaries))

    async def model(self, call: Call) -> bytes:
        """Describe one model."""
        return _encode(await asyncio.to_thread(self._find(call.name).info))

    async def reload(self, call: Call) -> bytes:
        """Load a new model file."""
        return _encode(await asyncio.to_thread(self._find(call.name).reload))

    async def health(self, call: Call) -> bytes:
        """Whether the service is up."""
        return _encode(messages.HealthResponse("stopping" if self.stopping else "ok"))

    async def prometheus(self, call: Call) -> bytes:
        """Metrics for Prometheus."""
        states = {name: served.store.status() for name, served in self.served.items()}
        sizes = {} if self.connections is None else self.connections.sizes()
        load = self.controller.status(time.perf_counter())
        return self.metrics.render(len(self.queue.waiting), load, states, sizes)

    async def openapi(self, call: Call) -> bytes:
        """The description of all routes."""
        return self._description

    async def docs(self, call: Call) -> bytes:
        """The same as a page."""
        return self._docs

    def _find(self, name: str | None) -> ServedModel:
        if name is None:
            return next(iter(self.served.values()))
        if name not in self.served:
            hint = suggestion(name, self.served) or f" The models are {', '.join(self.served)}."
            raise ServiceError("unknown_model", f"no model {quoted(name)} is served here.{hint}", "the path")
        return self.served[name]

    # --- every request ------------------------------------------------------------------------------------------

    def check_access(self, route: RouteSpec, headers: Headers) -> None:
        """Refuse requests from where none may come or without the token, and all requests while the service stops."""
        if route.public:
            return
        self.access.check_sender(headers, changes=route.method != "GET")
        self.access.check_token(headers)
        if self.stopping:
            raise ServiceError("stopping", "this service is shutting down. Try again when it is back.")

    def request_id(self, headers: dict[bytes, bytes]) -> bytes:
        """The id that the request came with, if it is short printable ASCII; else a new one."""
        given = headers.get(b"x-request-id", b"")
        if 0 < len(given) <= 100 and all(33 <= byte < 127 for byte in given):
            return given
        return f"{self._process_id}-{next(self._request_numbers):x}".encode()

    def record(self, scope: Scope, path: str, status: int, seconds: float, request_id: bytes, size: int) -> None:
        """Count a response, and log it where asked for: who asked what and got what. No query, header or body."""
        self.metrics.count_request(path, status, seconds)
        if self.log:
            raw = scope["raw_path"].decode("ascii", "backslashreplace")  # still quoted, so it cannot forge a log line
            what = f"{scope['method']} {raw[:LOGGED_PATH]}"
            took = f"{status} {size} B {seconds * 1000:.1f} ms"
            access_logger.info("%s %s %s %s", address(scope.get("client")), what, took, request_id.decode())

    def record_refused(self, client: tuple[str, int] | None, error: ServiceError) -> None:
        """Count, and log, what was answered before there was a request."""
        self.metrics.count_request("other", error.status, 0.0)
        if self.log:
            access_logger.info("%s - %d %s", address(client), error.status, error.message)

    def record_dropped(self, client: tuple[str, int] | None, why: str) -> None:
        """Count, and log, a connection that was ended without a response."""
        self.metrics.count_dropped(why)
        if self.log:
            access_logger.info("%s - dropped: %s", address(client), why)

    async def _unknown_route(self, request: Request, error: Exception) -> Response:
        """The response where the router finds no route for a path or method."""
        assert isinstance(error, HTTPException)
        path, known = request.scope["path"], [route.path for route in self.routes]
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "another method")
            failure = ServiceError("wrong_method", f"{path} takes {allowed}, not {request.method}.", "the method")
        else:
            hint = suggestion(path, known) or " See /docs for all paths."
            failure = ServiceError("unknown_path", f"there is nothing at {quoted(path)}.{hint}", "the path")
        request_id = self.request_id(dict(request.scope["headers"]))
        body = failure.body()
        self.record(request.scope, "other", failure.status, 0.0, request_id, len(body))
        headers = {"x-request-id": request_id.decode(), **(error.headers or {})}
        return Response(body, failure.status, headers, "application/json")

    # --- between requests ---------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._tasks = [asyncio.create_task(self._watch_files())]
        if self.improves:
            self._tasks.append(asyncio.create_task(self._improve_models()))
        yield
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.queue.close()
        for served in self.served.values():
            await asyncio.to_thread(served.store.close)

    async def _improve_models(self) -> None:
        """While there are no requests, improve the models in short slices."""
        while True:
            await asyncio.sleep(IDLE_SECONDS)
            for served in self.served.values():
                await self._improve_while_idle(served)

    async def _improve_while_idle(self, served: ServedModel) -> None:
        more = True
        while more and not self.queue.busy and time.perf_counter() - self.queue.last_activity >= IDLE_SECONDS:
            start = time.perf_counter()
            try:
                more = await asyncio.to_thread(served.improve, IMPROVE_SECONDS)
            except Exception:
                logger.exception("improving %s failed", served.name)
                return
            if more:
                self.metrics.count_improvement(served.name, time.perf_counter() - start)

    async def _watch_files(self) -> None:
        """Load model files that have changed."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            await self.reload_all()

    async def reload_all(self) -> None:
        """Load every model file that has changed; one that cannot be used gets one warning, not one every second."""
        for served in self.served.values():
            try:
                response = await asyncio.to_thread(served.reload)
            except ServiceError as error:
                if self._warned.get(served.name) != error.message:
                    logger.warning("%s: %s", served.name, error.message)
                self._warned[served.name] = error.message
            except Exception:
                logger.exception("checking the file of %s failed", served.name)
            else:
                self._warned.pop(served.name, None)
                if response.reloaded:
                    logger.warning("%s: a new model file was loaded", served.name)


class Endpoint:
    """One route as an ASGI application: reads the request, calls its handler, and writes the response or the error."""

    def __init__(self, service: Service, route: RouteSpec) -> None:
        self.service, self.route = service, route
        self.handler = service.handlers[route.handler]
        self.fields = route.request.__struct_fields__ if route.request else ()
        self.decode = msgspec.json.Decoder(route.request).decode if route.request else None
        self.content_type = {"prometheus": CONTENT_TYPE, "docs": HTML}.get(route.handler, JSON)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        start = time.perf_counter()
        headers = dict(scope["headers"])
        request_id = self.service.request_id(headers)
        more: tuple[tuple[bytes, bytes], ...] = ()
        content_type, status = self.content_type, 200
        try:
            body = await self._respond(scope, headers, receive)
        except Disconnected:
            return
        except Exception as error:
            failure = self._failure(error, request_id)
            body, content_type, status, more = failure.body(), JSON, failure.status, _headers_of(failure)
        self.service.record(scope, self.route.path, status, time.perf_counter() - start, request_id, len(body))
        head = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), (b"x-request-id", request_id)]
        await send({"type": "http.response.start", "status": status, "headers": [*head, *more]})
        await send({"type": "http.response.body", "body": body})

    async def _respond(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        self.service.check_access(self.route, scope["headers"])
        call = Call(scope["path_params"].get("name"), headers)
        if self.decode is None:
            return await self.handler(call)
        with Bodies(self.service) as bodies:  # rows take memory until they are answered
            body = await _read(receive, headers, self.service.limits, bodies)
            call.arrived = time.perf_counter()
            try:
                call.body = self.decode(body)
            except (ValueError, RecursionError) as error:
                raise from_decoder(error, body, self.fields) from None
            return await self.handler(call)

    def _failure(self, error: Exception, request_id: bytes) -> ServiceError:
        """Any error in the one form. An unexpected one is logged, and only its id is sent: it may hold private data."""
        if isinstance(error, TanagerError | OSError):
            failure = from_library(error)
            if failure.status >= 500 and failure is not error:
                logger.error("request %s to %s failed: %s", request_id.decode(), self.route.path, error)
            return failure
        logger.error("request %s to %s failed", request_id.decode(), self.route.path, exc_info=error)
        sentence = f"an unexpected error; the log of the service has the details under {request_id.decode()}."
        return ServiceError("unexpected", sentence)


class Disconnected(Exception):
    """The client closed the connection."""


class Bodies:
    """The share of one request in the bytes that all requests may take together."""

    def __init__(self, service: Service) -> None:
        self.service, self.size = service, 0

    def __enter__(self) -> Bodies:
        return self

    def __exit__(self, *_: object) -> None:
        self.service.body_bytes -= self.size

    def add(self, size: int) -> None:
        """So many more bytes have come; refused where one request, or all together, would take too much."""
        limits = self.service.limits
        if self.size + size > limits.body:
            raise _too_large(limits)
        if self.service.body_bytes + size > max(limits.bodies, limits.body):
            raise ServiceError("busy", f"{self.service.body_bytes >> 20} MB of requests are waiting. Try again later.")
        self.size += size
        self.service.body_bytes += size


async def _read(receive: Receive, headers: dict[bytes, bytes], limits: Limits, bodies: Bodies) -> bytes:
    """The body, where it is declared as JSON, not too large and not too slow."""
    declared = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if declared != JSON:
        found = quoted(declared.decode("latin-1")) if declared else "nothing"
        sentence = f"the body is declared as {found}. Send Content-Type: application/json."
        raise ServiceError("wrong_content_type", sentence, "Content-Type")
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length[:19]) > limits.body:  # int() of endless digits would take long
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _collect(receive, bodies)
    except TimeoutError:
        raise ServiceError("too_slow", f"the body did not arrive within {limits.seconds:g} s. Send it again.") from None


async def _collect(receive: Receive, bodies: Bodies) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        bodies.add(len(part))
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)


def _too_large(limits: Limits) -> ServiceError:
    sentence = f"the body is larger than {limits.body / (1 << 20):g} MB. Send fewer rows at once."
    return ServiceError("too_large", sentence, "Content-Length")


def _headers_of(failure: ServiceError) -> tuple[tuple[bytes, bytes], ...]:
    """Headers of an error: when to try again, how to sign in; and the connection ends where a body was left unread.

    ("busy" may leave one unread, too; what is left of it has its own limit, and a client that comes again saves time.)
    """
    if failure.code == "busy":
        return ((b"retry-after", b"1"),)
    if failure.code == "unauthorized":
        return ((b"www-authenticate", b"Bearer"),)
    if failure.code in ("too_large", "too_slow", "stopping"):
        return ((b"connection", b"close"),)
    return ()


def address(client: tuple[str, int] | None) -> str:
    """Where a request came from, as the log has it."""
    return "-" if client is None else f"[{client[0]}]:{client[1]}" if ":" in client[0] else f"{client[0]}:{client[1]}"


def _idempotency_key(headers: dict[bytes, bytes]) -> str | None:
    """The key under which a request to learn counts once."""
    given = headers.get(b"idempotency-key")
    if given is None:
        return None
    if not 0 < len(given) <= 200 or any(not 32 < byte < 127 for byte in given):
        sentence = "Idempotency-Key must be 1 to 200 printable ASCII characters without spaces."
        raise ServiceError("bad_http", sentence, "Idempotency-Key")
    return given.decode()


def _deadline(headers: dict[bytes, bytes]) -> float | None:
    """When the response should be ready, on the clock of ``time.perf_counter``."""
    given = headers.get(b"x-deadline")
    if given is None:
        return None
    try:
        moment = float(given)
    except ValueError:
        moment = math.nan
    if not math.isfinite(moment):
        raise ServiceError("bad_http", "X-Deadline is not a number. Send a Unix time in seconds.", "X-Deadline")
    return time.perf_counter() + moment - time.time()
