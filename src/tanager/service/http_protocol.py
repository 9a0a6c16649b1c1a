"""HTTP on one connection: uvicorn's protocol, with limits for what comes before the application is called.

uvicorn closes connections that idle between two requests. It does not end those whose head never ends, and keeps every
connection there is; the table of connections does that here.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tanager.service.app import Service
from tanager.service.connections import ConnectionTable, Phase
from tanager.service.errors import ServiceError

MAX_HEAD = 64 << 10  # bytes of path and headers
MAX_FIELDS = 100  # headers
MAX_PIPELINE = 16  # requests on a connection that wait while the first one is answered
_LATE = {
    Phase.HEAD: "sent nothing",
    Phase.REST: "the rest of a body took too long",
    Phase.TAKING: "did not take the response",
}
_STATUS = {400: "Bad Request", 408: "Request Timeout", 429: "Too Many Requests"}


class HttpProtocol(HttpToolsProtocol):
    """A connection: errors in the form of this service, limits for the head, and its phase for the table."""

    def __init__(self, service: Service, table: ConnectionTable, wire: socket.socket, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.service, self.table, self.wire = service, table, wire
        # In the table from the first moment: with TLS it takes a while until there is a transport, or for ever.
        self.has_room = table.add(self)
        self._in_head = self._in_body = False  # of a request that has begun
        self._came = 0  # bytes of a head that is not complete
        self._head = self._fields = 0  # bytes and number of what the parser has found in the head
        self._why = ""  # the parser was stopped, and why

    # --- from the network ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self.has_room:
            self._refuse(ServiceError("busy", "all connections are busy. Try again in a second."))

    def connection_lost(self, exc: Exception | None) -> None:
        self.table.remove(self)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn leaves it behind where there was an error

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.table.phase(self) in (Phase.IDLE, Phase.TAKING) and not self.flow.write_paused:
            self.table.move(self, Phase.HEAD)
        if not self._in_body:
            self._came += len(data)
        super().data_received(data)
        # The parser tells of a header when it is complete; one without an end is noticed here.
        if not self._in_body and self._came > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response(_too_long())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._move_on()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._move_on()

    # --- from the parser ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head, self._fields = True, 0, 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._fields += 1
        self._count(len(name) + len(value) + 4)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINE:
            self._stop(f"more than {MAX_PIPELINE} requests came before the first was answered. Wait for responses.")
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._stop(f"the request is of HTTP {version}. Send HTTP/1.1.")
        if version == "1.1" and not any(name == b"host" for name, _ in self.headers):
            self._stop("the request has no Host header. Send one.")
        super().on_headers_complete()
        self.cycle.transport = Written(self.transport)  # type: ignore[assignment]
        self._in_head, self._in_body, self._came = False, True, 0
        self._move_on()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_body = False
        self._came = 0
        self._move_on()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._move_on()

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > MAX_HEAD:
            self._stop(_too_long())
        if self._fields > MAX_FIELDS:
            self._stop(f"the request has more than {MAX_FIELDS} headers. Send fewer.")

    def _stop(self, why: str) -> None:
        """Make the parser give up; uvicorn then calls ``send_400_response``."""
        self._why = why
        raise ValueError(why)

    # --- phases -------------------------------------------------------------------------------------------------

    def _move_on(self) -> None:
        """Enter the phase that follows from what has come, and from what was answered."""
        answered = self.cycle is None or self.cycle.response_complete
        if self.flow.write_paused:  # whatever else it does: who does not take responses gets no more time for it
            phase = Phase.TAKING
        elif not answered or self.pipeline:
            phase = Phase.BODY if self._in_body and not self.pipeline else Phase.ANSWER
        elif self._in_body:
            phase = Phase.REST
        elif self._in_head:
            phase = Phase.HEAD
        else:
            phase = Phase.TAKING if self.transport.get_write_buffer_size() else Phase.IDLE
        self.table.move(self, phase)

    def late(self, phase: Phase) -> None:
        """End a connection that has been in a phase for too long; half a head gets a response first."""
        if phase is Phase.TAKING and not self.transport.get_write_buffer_size():  # all was taken since
            self.table.add(self)
            self.table.move(self, Phase.IDLE)
            return
        if (
            phase is Phase.HEAD
            and self.transport is not None
            and (self._in_head or self._came)
            and not self.transport.get_write_buffer_size()
        ):
            seconds = self.table.limits.head
            self._refuse(ServiceError("too_slow", f"the head of the request did not arrive within {seconds:g} s."))
            return
        self._drop(_LATE[phase])

    def give_way(self) -> None:
        """End a connection for a new one."""
        self._drop("gave way to a new connection")

    def _abandon(self) -> None:
        """Nothing that is still being answered may be written: the connection is about to end."""
        for cycle in (self.cycle, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def _drop(self, why: str) -> None:
        self._abandon()
        if self.transport is not None:
            self.service.record_dropped(self.client, why)
            self.transport.abort()
            return
        with contextlib.suppress(OSError):  # the client may have gone
            self.service.record_dropped(self.wire.getpeername(), why)
            self.wire.shutdown(socket.SHUT_RDWR)  # TLS then finds the end of the connection

    # --- errors -------------------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls for anything that is no HTTP; its own words say no more than that."""
        if self.pipeline or (self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body):
            # A complete request is waiting for its response, and must not get this one in its place.
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        if self._in_body and self.cycle.response_complete:  # the rest of a request that has its response already
            self.transport.close()
            return
        why = self._why or (
            msg if msg == _too_long() else "this is not a valid HTTP request. Check its URL and headers."
        )
        self._refuse(ServiceError("bad_http", why))

    def _refuse(self, error: ServiceError) -> None:
        """Write an error as the last thing on this connection."""
        self._abandon()
        self.service.record_refused(self.client, error)
        body = error.body()
        head = f"HTTP/1.1 {error.status} {_STATUS[error.status]}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        if self.transport.get_write_buffer_size():  # the client does not read; closing would wait for it
            self.transport.abort()
        else:
            self.transport.close()


class Written:
    """The transport as a response sees it: what is written after the connection has ended goes nowhere.

    A client may go at any moment, and a transport ends before the application can hear of it; uvloop then raises.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.close, self.is_closing = transport.close, transport.is_closing

    def write(self, data: bytes) -> None:
        """Write, where there is somebody to write to."""
        if not self.transport.is_closing():
            self.transport.write(data)


def _too_long() -> str:
    return f"the head of the request is longer than {MAX_HEAD >> 10} KB. Shorten it."
