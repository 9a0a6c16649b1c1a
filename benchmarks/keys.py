"""Learning over HTTP with an Idempotency-Key and without, in turns, on one connection each: what a key costs a client.

``python -m benchmarks.keys`` prints quantiles of both, and the processor time of the service for a request.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.service import TANAGER
from tanager import AODE

ROUNDS, REQUESTS = 20, 50  # rounds of each kind, and requests of a round
BODY = json.dumps({"row": {"a": "x", "b": 1.5}, "label": "yes"})


@contextmanager
def learning() -> Iterator[tuple[int, int]]:
    """A service that learns: its port and the id of its process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.tanager"
        AODE().fit([{"a": "x", "b": 1.0}, {"a": "y", "b": 2.5}] * 20, ["yes", "no"] * 20).save(path)
        words = [str(TANAGER), "serve", str(path), "--port", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield next(int(at[1]) for line in process.stdout if (at := re.search(r":(\d+) ", line))), process.pid
            finally:
                process.terminate()


def round_trip(connection: http.client.HTTPConnection, *, keyed: bool) -> float:
    """Seconds until a row is learned."""
    headers = {"content-type": "application/json"} | ({"idempotency-key": secrets.token_hex(12)} if keyed else {})
    start = time.perf_counter()
    connection.request("POST", "/learn", BODY, headers)
    response = connection.getresponse()
    response.read()
    assert response.status == 200
    return time.perf_counter() - start


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure() -> None:
    """Print what was found."""
    times: dict[bool, list[float]] = {False: [], True: []}
    used = {False: 0.0, True: 0.0}
    with learning() as (port, pid):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for keyed in times:
            round_trip(connection, keyed=keyed)
        for turn in range(2 * ROUNDS):
            keyed = bool(turn % 2)
            before = processor_seconds(pid)
            times[keyed] += [round_trip(connection, keyed=keyed) for _ in range(REQUESTS)]
            used[keyed] += processor_seconds(pid) - before
        connection.close()
    for keyed, found in times.items():
        p50, p90, p99 = 1000 * np.quantile(found, [0.5, 0.9, 0.99])
        each = f"{1e6 * used[keyed] / len(found):.0f} us of the processor"
        name = "with a key" if keyed else "without"
        print(f"{name:<12}{len(found):>6,} requests   p50 {p50:.2f} ms   p90 {p90:.2f} ms   p99 {p99:.2f} ms   {each}")


if __name__ == "__main__":
    measure()
