"""The service while a thousand clients hang on to it: p99 of predictions with them, beside p99 without, in one run.

A process of its own holds the connections: a third send nothing, a third a byte of a head every second, and a third a
byte of a body. Whoever is hung up on connects again. ``python -m benchmarks.slow_clients`` prints all quantiles.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np

from benchmarks.harness import Line, binary_rows
from benchmarks.service import served
from tanager import AODE
from tanager.cli.load import arrivals
from tanager.cli.sending import Address, Request, send

SLOW = 1000  # connections that hang on
RATE, SECONDS, ROUNDS = 200.0, 5.0, 3  # requests a second, seconds of a round, and rounds with and without
FRESH = 200  # requests of a round that come on connections of their own
HEAD = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
BEGINNINGS = b"", b"GET /models/", HEAD + b"content-length: 1000\r\n\r\n{"


@dataclass
class Measured:
    """Latencies in seconds, by whether slow clients hang on; and how many requests there were in all."""

    kept: dict[str, list[float]] = field(default_factory=lambda: {"without": [], "with": []})
    fresh: dict[str, list[float]] = field(default_factory=lambda: {"without": [], "with": []})
    sent: int = 0
    held: list[int] = field(default_factory=list)  # connections of slow clients that were open after each round

    @property
    def answered(self) -> int:
        return sum(len(found) for kind in (self.kept, self.fresh) for found in kind.values())


def measure() -> Measured:
    X, y = binary_rows(5000)
    found = Measured()
    names = [f"x{i}" for i in range(X.shape[1])]
    with served(AODE().fit(X, y)) as url:
        address = Address(url)
        requests = [
            Request(address.post("predict", {"row": dict(zip(names, row, strict=True))})) for row in X[:500].tolist()
        ]
        send(address, requests, [0.0] * 20)  # the first answers are slow
        for turn in range(ROUNDS):
            _round(address, requests, found, "without", turn)
            with hanging_on(address.port) as holder:
                _round(address, requests, found, "with", turn)
                found.held.append(_open(holder))
    return found


def _round(address: Address, requests: list[Request], found: Measured, how: str, turn: int) -> None:
    due = arrivals(RATE, SECONDS, seed=turn)
    replies = send(address, cycle(requests), due, wait=30.0)
    found.kept[how] += [reply.latency for reply in replies if reply.code == "ok"]
    for _, request in zip(range(FRESH), requests, strict=False):
        with contextlib.suppress(OSError):
            found.fresh[how].append(_on_its_own(address, request.message))
    found.sent += len(due) + FRESH


def _on_its_own(address: Address, message: bytes) -> float:
    """Seconds that a request takes with its connection."""
    start = time.perf_counter()
    with socket.create_connection((address.host, address.port), timeout=30) as wire:
        wire.sendall(message)
        if not wire.recv(65536).startswith(b"HTTP/1.1 200"):
            raise ConnectionError
    return time.perf_counter() - start


# --- clients that hang on -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def hanging_on(port: int) -> Iterator[subprocess.Popen[str]]:
    """A process with slow clients, from when all are connected on."""
    command = [sys.executable, "-m", "benchmarks.slow_clients", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def _open(holder: subprocess.Popen[str]) -> int:
    """How many connections a process with slow clients holds now."""
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    return int(holder.stdout.readline())


async def hold(port: int) -> None:
    """Be slow clients; for every line on stdin, say how many are connected."""
    now = [0]
    for n in range(SLOW):
        asyncio.create_task(_slow(port, BEGINNINGS[n % len(BEGINNINGS)], now))  # noqa: RUF006
    while now[0] < 0.9 * SLOW:
        await asyncio.sleep(0.05)
    print("ready", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(now[0], flush=True)


async def _slow(port: int, beginning: bytes, now: list[int]) -> None:
    while True:
        await asyncio.sleep(random.random())  # not all in the same moment
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            now[0] += 1
            try:
                writer.write(beginning)
                await _trickle(reader, writer, b"x" if beginning else b"")
            finally:
                now[0] -= 1
                writer.close()


async def _trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, byte: bytes) -> None:
    """A byte every second until the other side hangs up."""
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await reader.read()
            return
        writer.write(byte)


# --- the table ------------------------------------------------------------------------------------------------------


def p99(latencies: list[float]) -> float:
    return 1000 * float(np.quantile(latencies, 0.99))


def lines(found: Measured | None = None) -> Iterator[Line]:
    found = found or measure()
    for what, kind in (("kept connections", found.kept), ("connections of their own", found.fresh)):
        slow, alone = p99(kind["with"]), p99(kind["without"])
        name = f"p99 on {what}, {SLOW:,} slow clients / none"
        yield Line(name, f"{slow:.1f} ms / {alone:.1f} ms", slow / alone, 3.0)
    share = found.answered / found.sent
    yield Line(
        "the same: requests that were answered", f"{found.answered:,} of {found.sent:,}", share, 1.0, at_most=False
    )


def table(found: Measured) -> str:
    """Quantiles of all rounds."""
    made = [f"{'':<28}{'slow clients':>13}{'requests':>9}{'p50':>9}{'p99':>9}{'longest':>9}"]
    for what, kind in (("kept connections", found.kept), ("connections of their own", found.fresh)):
        for how, times in kind.items():
            clients = f"{np.mean(found.held):.0f}" if how == "with" else "none"
            times_ms = "".join(f"{1000 * float(np.quantile(times, q)):>6.1f} ms" for q in (0.5, 0.99, 1.0))
            made.append(f"{what:<28}{clients:>13}{len(times):>9,}{times_ms}")
    return "\n".join(made)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(hold(int(sys.argv[1])))
    else:
        result = measure()
        print(table(result))
        for line in lines(result):
            print(f"{line.what}: {line.figures}, {line.ratio:.3f}")
