"""The studio as a process: a socket of this machine alone, an event loop, and Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from tanager.studio.app import Studio

MAX_CONNECTIONS = 200
IDLE_SECONDS = 30


class StudioServer(uvicorn.Server):
    """A server that says when it is ready, and that ends the streams of open tabs when it stops."""

    def __init__(self, studio: Studio, ready: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            studio.app,
            http="httptools",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=3,
        )
        super().__init__(config)
        self.studio, self.ready = studio, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.studio.session.events.close()
        await super().shutdown(sockets)
