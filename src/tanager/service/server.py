"""The service as a process: a socket, an event loop, and signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from tanager.errors import OptionError
from tanager.service.app import Service
from tanager.service.connections import ConnectionLimits, ConnectionTable, Phase
from tanager.service.http_protocol import HttpProtocol

GRACE_SECONDS = 30  # for requests that are under way when the service stops
FORCE_SECONDS = 1.0  # after the first Ctrl-C; one that comes sooner was most likely sent twice by mistake
TLS_GOODBYE = 2.0  # seconds for the other side to agree that a connection ends
BACKLOG = 2048  # connections that the system keeps waiting until they are accepted
ACCEPTS = 16  # connections that are accepted at a time, so that requests get their turn
ACCEPT_PAUSE = 0.05  # seconds until the next try where there is no descriptor left
FILES = 32 + ACCEPTS  # descriptors that are kept for models, logs and snapshots, and for connections that are ending
FEWEST = 8  # connections, with fewer of which there is no point in serving


class Server(uvicorn.Server):
    """A server that stops cleanly: requests under way are finished. SIGHUP makes it check the model files."""

    def __init__(
        self,
        service: Service,
        ready: Callable[[], None],
        limits: ConnectionLimits | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = limits or within_descriptors(ConnectionLimits())
        self.table = service.connections = ConnectionTable(limits, clock)
        self.tls = tls
        self._joining: set[asyncio.Task[None]] = set()  # connections that are being opened
        config = uvicorn.Config(
            service.app,
            http=HttpProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=limits.idle,  # type: ignore[arg-type]
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self.service, self.ready = service, ready
        self._reload: asyncio.Task[None] | None = None
        self._stopped_at = 0.0

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        self.table.sweep()
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, but for who accepts connections.

        An event loop that accepts them by itself takes all that there are, and those that have not agreed on TLS are
        known to nobody: it runs out of descriptors, and then nobody can connect.
        """
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        self.servers = []
        for listening in sockets or ():
            listening.setblocking(False)
            self._listen_to(listening)
        self.started = True
        self.ready()

    def _listen_to(self, listening: socket.socket) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Take in some of the connections that wait."""
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPTS):
            try:
                wire, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError:  # no descriptor is left
                self.table.make_room()
                loop.remove_reader(listening)
                loop.call_later(ACCEPT_PAUSE, self._listen_to, listening)
                return
            wire.setblocking(False)
            task = loop.create_task(self._join(wire))
            self._joining.add(task)
            task.add_done_callback(self._joining.discard)

    async def _join(self, wire: socket.socket) -> None:
        """Open a connection: agree on TLS, where there is any, and let HTTP begin."""
        loop, seconds = asyncio.get_running_loop(), max(self.table.limits.head, 0.001)
        parts = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        http = HttpProtocol(self.service, self.table, wire, **parts)
        tls: dict[str, Any] = {}
        if self.tls is not None and not http.has_room:  # saying so would take TLS first
            wire.close()
            return
        if self.tls is not None:
            tls = {"ssl": self.tls, "ssl_handshake_timeout": seconds, "ssl_shutdown_timeout": TLS_GOODBYE}
        try:
            await loop.connect_accepted_socket(lambda: http, wire, **tls)
        except OSError:  # errors of TLS, a client that has gone, time that is up
            wire.close()
        finally:
            if http.transport is None:
                self.table.remove(http)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in sockets or ():
            asyncio.get_running_loop().remove_reader(listening)
        self.table.give_up(Phase.HEAD)  # uvicorn does not know of those that have not agreed on TLS
        await super().shutdown(sockets)

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
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0].lower()
        raise OptionError(
            f"cannot listen at {host}, port {port}: {why}. Choose another --port (0 is any free one) or --host."
        ) from None


def within_descriptors(limits: ConnectionLimits) -> ConnectionLimits:
    """The limits, with no more connections than this process may have open."""
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 64
    most = _raise_descriptors(limits.connections + used + FILES) - used - FILES
    if most < FEWEST:
        raise OptionError(f"this process may open only {most + used + FILES} files and connections. Raise ulimit -n.")
    return replace(limits, connections=min(limits.connections, most))


def _raise_descriptors(wanted: int) -> int:
    """How many descriptors this process may have, raised to so many where the system lets it."""
    try:
        import resource
    except ImportError:  # not a POSIX system, and without such a limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard) or soft >= wanted:
        return wanted
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS (1.2 or later) with a certificate, those that vouch for it, and its key; files in PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password="")  # without one, it would ask at the terminal
    except (OSError, ValueError) as error:  # errors of TLS are among them
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise OptionError(
            f"cannot use --tls-cert {certificate} with --tls-key {key}: {str(why).replace('_', ' ').lower()}. "
            "Give a certificate and its key in PEM, the key without a password."
        ) from None
    return context


def run(
    service: Service,
    listening: socket.socket,
    ready: Callable[[], None],
    limits: ConnectionLimits | None = None,
    tls: ssl.SSLContext | None = None,
) -> None:
    """Serve until a signal; `ready` is called when requests can come."""
    server = Server(service, ready, limits, tls)
    gc.collect()
    gc.freeze()  # a collection over all loaded modules and models takes longer than a small prediction
    server.run(sockets=[listening])
