"""The service as a process: a socket, an event loop, and signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tanager.errors import OptionError
from tanager.service.app import Service
from tanager.service.errors import ServiceError

MAX_HEAD = 64 << 10  # bytes of path and headers
_INVALID_HTTP = "Invalid HTTP request received."  # as uvicorn reports it
GRACE_SECONDS = 30  # for requests that are under way when the service stops
FORCE_SECONDS = 1.0  # after the first Ctrl-C; one that comes sooner was most likely sent twice by mistake


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with errors in the form of this service, and with a limit for the size of the head."""

    _head = 0  # bytes of the head so far

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response(f"the head of the request is longer than {MAX_HEAD >> 10} KB. Shorten it.")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head = -(1 << 62)  # what follows is the body, which has its own limit

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._head = 0

    def send_400_response(self, msg: str) -> None:
        sentence = "this is not a valid HTTP request. Check its URL and headers." if msg == _INVALID_HTTP else msg
        body = ServiceError("bad_http", sentence).body()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()


class Server(uvicorn.Server):
    """A server that stops cleanly: requests under way are finished. SIGHUP makes it check the model files."""

    def __init__(self, service: Service, ready: Callable[[], None]) -> None:
        config = uvicorn.Config(
            service.app,
            http=HttpProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self.service, self.ready = service, ready
        self._reload: asyncio.Task[None] | None = None
        self._stopped_at = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(RuntimeError, ValueError):  # a thread that is not the main one gets no signals
            loop.add_signal_handler(signal.SIGTERM, self.stop)
            loop.add_signal_handler(signal.SIGINT, self.interrupt)
            loop.add_signal_handler(signal.SIGHUP, self.reload)
        yield

    def stop(self) -> None:
        """Take no new requests, and finish those under way. A second call changes nothing: some send a signal twice."""
        if not self.should_exit:
            self._stopped_at = time.monotonic()
        self.service.stopping = self.should_exit = True

    def interrupt(self) -> None:
        """Ctrl-C: stop. A second one, after a while, ends the process at once. Nothing learned is lost."""
        self.stop()
        if time.monotonic() - self._stopped_at > FORCE_SECONDS:
            logging.getLogger("uvicorn.error").disabled = True  # it would report the requests that are cut short
            self.force_exit = True

    def reload(self) -> None:
        """Check the model files now."""
        self._reload = asyncio.get_running_loop().create_task(self.service.reload_all())


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0].lower()
        raise OptionError(
            f"cannot listen at {host}, port {port}: {why}. Choose another --port (0 is any free one) or --host."
        ) from None


def run(service: Service, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until a signal; `ready` is called when requests can come."""
    gc.collect()
    gc.freeze()  # a collection over all loaded modules and models takes longer than a small prediction
    Server(service, ready).run(sockets=[listening])
