"""Events: what every open tab hears of, as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tanager.errors import OptionError
from tanager.studio.plain_json import to_json

WAITING = 256  # events that a slow tab may have in front of it, before it is told to ask for everything again
PULSE_SECONDS = 15.0  # between signs of life, so that a connection whose tab has gone is noticed


class Events:
    """Passes events to all tabs. ``send`` may be called from any thread."""

    def __init__(self, most: int = 32) -> None:
        self.most = most  # tabs
        self._queues: set[asyncio.Queue[bytes | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def n_tabs(self) -> int:
        """How many tabs listen."""
        return len(self._queues)

    def send(self, kind: str, data: Any) -> None:
        """Tell all tabs; a thread that computes does not wait for them."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            message = b"event: " + kind.encode() + b"\ndata: " + to_json(data) + b"\n\n"
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(self._pass_on, message)

    def close(self) -> None:
        """End all streams, so that the server can stop."""
        for queue in list(self._queues):
            _force(queue, None)

    def _pass_on(self, message: bytes) -> None:
        for queue in list(self._queues):
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                _force(queue, b"event: missed\ndata: null\n\n")
            else:
                queue.put_nowait(message)

    def listen(self) -> AsyncIterator[bytes]:
        """The events from now on, for one tab; refused where there are too many."""
        if len(self._queues) >= self.most:
            raise OptionError(f"{self.most} tabs are open already. Close some of them.")
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._queues.add(queue)
        return self._stream(queue)

    async def _stream(self, queue: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
        try:
            yield b": hello\n\n"
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), PULSE_SECONDS)
                except TimeoutError:
                    message = b": still here\n\n"
                if message is None:
                    return
                yield message
        finally:
            self._queues.discard(queue)


def _force(queue: asyncio.Queue[bytes | None], message: bytes | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(message)
