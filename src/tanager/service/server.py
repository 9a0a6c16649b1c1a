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
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tanager.errors import OptionError
from tanager.service.app import Service
from tanager.service.errors import ServiceError

HEAD = 64 << 10  # bytes of path and headers
_NO_HTTP = "Invalid HTTP request received."  # uvicorn's words
GRACE = 30  # seconds for requests that are under way when we stop
IMPATIENT = 1.0  # seconds after which a second Ctrl-C means at once


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with our shape for requests that are no HTTP, and an end to endless headers."""

    _head = 0

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._head > HEAD and not self.transport.is_closing():
            self.send_400_response(f"the head of the request is longer than {HEAD >> 10} KB. Shorten it.")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head = -(1 << 62)  # what follows is body

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._head = 0

    def send_400_response(self, msg: str) -> None:
        sentence = "this is no HTTP request. Check its URL and headers." if msg == _NO_HTTP else msg
        body = ServiceError("bad_http", sentence).body()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()


class Server(uvicorn.Server):
    """A server that ends well: signals let it finish what it has taken, and SIGHUP looks at the model files."""

    def __init__(self, service: Service, ready: Callable[[], None]) -> None:
        config = uvicorn.Config(
            service.app,
            http=Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)
        self.service, self.ready = service, ready
        self._reload: asyncio.Task[None] | None = None
        self._asked = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(RuntimeError, ValueError):  # a thread that is not the main one gets no signals
            loop.add_signal_handler(signal.SIGTERM, self.stop)
            loop.add_signal_handler(signal.SIGINT, self.interrupt)
            loop.add_signal_handler(signal.SIGHUP, self.look)
        yield

    def stop(self) -> None:
        """No new requests; those taken are finished. Asking again changes nothing: some send a signal twice."""
        if not self.should_exit:
            self._asked = time.monotonic()
        self.service.stopping = self.should_exit = True

    def interrupt(self) -> None:
        """Ctrl-C: stop, and when somebody has waited for that and asks again, end at once. Nothing learned is lost."""
        self.stop()
        if time.monotonic() - self._asked > IMPATIENT:
            logging.getLogger("uvicorn.error").disabled = True  # it would complain of what is cut short
            self.force_exit = True

    def look(self) -> None:
        """Look at the model files now."""
        self._reload = asyncio.get_running_loop().create_task(self.service.reload_all())


def listen(host: str, port: int) -> socket.socket:
    """A socket at that place; port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0].lower()
        raise OptionError(
            f"cannot listen at {host}, port {port}: {why}. Choose another --port (0 is any free one) or --host."
        ) from None


def run(service: Service, place: socket.socket, ready: Callable[[], None]) -> Any:
    """Serve until a signal says stop; `ready` is called when requests are taken."""
    gc.collect()
    gc.freeze()  # what was loaded stays; looking at it again and again would take longer than small answers do
    Server(service, ready).run(sockets=[place])
