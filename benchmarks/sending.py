"""The sender of ``tanager load`` against clients for all purposes: what a request costs it, and how many it can send.

``python -m benchmarks.sending`` prints the table. The service is a stand-in that answers every request at once with the
same body, in a process of its own; so what is measured is the sender.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import socket
import time
from collections.abc import Awaitable, Callable, Sequence

import httpx2
import msgspec
import numpy as np

from tanager.cli.sending import Address, ConnectionPool, Request, precise_loop, send

N = 3000
ROW = {"row": {f"column {i}": 0.5 * i for i in range(20)}}
BODY = msgspec.json.encode({"labels": ["yes"], "members": [3], "probabilities": [[0.25, 0.75]], "time_us": 41.2})
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)


class StandIn(asyncio.Protocol):
    """Answers when a whole request is there; requests here are smaller than a packet."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        head, found, rest = self.held.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r")[0]) if found else -1
        if 0 <= length <= len(rest):
            self.held = b""
            self.transport.write(ANSWER)


def serve(listening: socket.socket) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(StandIn, sock=listening)
        await server.serve_forever()

    asyncio.run(main())


# --- three ways to ask ----------------------------------------------------------------------------------------------


class ByHand(asyncio.Protocol):
    """A connection that finds the end of a response by itself, as the sender once did."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self, message: bytes) -> asyncio.Future[tuple[int, bytes]]:
        self.buffer, self.length, self.status = b"", -1, 0
        self.answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        self.transport.write(message)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.length < 0:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            head = head.lower()
            self.status, self.buffer = int(head.split(None, 2)[1]), rest
            self.length = int(head.split(b"\ncontent-length:")[1].split(b"\r")[0])
        if len(self.buffer) >= self.length:
            self.answer.set_result((self.status, self.buffer))


Ask = Callable[[], Awaitable[tuple[int, bytes]]]


async def ours(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    address = Address(url)
    pool, message = ConnectionPool(address), address.post("predict", ROW)

    async def close() -> None:
        pool.close()

    return lambda: pool.request(message), close


async def by_hand(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    address = Address(url)
    message, idle = address.post("predict", ROW), list[ByHand]()

    async def ask() -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()
        connection = idle.pop() if idle else (await loop.create_connection(ByHand, address.host, address.port))[1]
        answer = await connection.ask(message)
        idle.append(connection)
        return answer

    async def close() -> None:
        for connection in idle:
            connection.transport.close()

    return ask, close


async def general(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    client = httpx2.AsyncClient(base_url=url, limits=httpx2.Limits(max_connections=256))
    content, headers = msgspec.json.encode(ROW), {"Content-Type": "application/json"}

    async def ask() -> tuple[int, bytes]:
        response = await client.post("/predict", content=content, headers=headers)
        return response.status_code, response.content

    return ask, client.aclose


WAYS = {"our sender (httptools)": ours, "parsed by hand": by_hand, "httpx2": general}


async def _measure(way: str, url: str, side_by_side: int) -> tuple[float, float]:
    """CPU seconds per request, and requests per second, with so many under way at a time."""
    ask, close = await WAYS[way](url)

    async def some(n: int) -> None:
        for _ in range(n):
            status, body = await ask()
            assert status == 200
            assert msgspec.json.decode(body)["labels"] == ["yes"]

    await asyncio.gather(*(some(5) for _ in range(side_by_side)))
    used, start = time.process_time(), time.perf_counter()
    await asyncio.gather(*(some(N // side_by_side) for _ in range(side_by_side)))
    used, taken = time.process_time() - used, time.perf_counter() - start
    await close()
    n = side_by_side * (N // side_by_side)
    return used / n, n / taken


def lateness(url: str, rate: float) -> float:
    """How late our sender is at a rate (p99), in seconds."""
    address = Address(url)
    due: Sequence[float] = (np.arange(int(2 * rate)) / rate).tolist()
    replies = send(address, [Request(address.post("predict", ROW))] * len(due), due)
    return float(np.quantile([reply.sent - reply.due for reply in replies], 0.99))


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    process = multiprocessing.get_context("fork").Process(target=serve, args=(listening,), daemon=True)
    process.start()
    print(f"load {os.getloadavg()[0]:.1f}\n{'way':<24}{'under way':>10}{'CPU/request':>13}{'requests/s':>12}")
    for side_by_side in (1, 64):
        for way in WAYS:
            rounds = []
            for _ in range(3):
                with asyncio.Runner(loop_factory=precise_loop) as runner:
                    rounds.append(runner.run(_measure(way, url, side_by_side)))
            used, rate = min(one[0] for one in rounds), max(one[1] for one in rounds)
            print(f"{way:<24}{side_by_side:>10}{1e6 * used:>10.0f} us{rate:>12,.0f}", flush=True)
    for rate in (500, 1000, 2000):
        print(f"our sender at {rate:,}/s: p99 {1e3 * lateness(url, rate):.1f} ms late", flush=True)
    process.terminate()


if __name__ == "__main__":
    main()
