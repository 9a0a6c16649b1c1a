"""What a byte costs the service, of clients that send one at a time, all in the same moment.

``python -m benchmarks.trickle`` prints the processor time of the service for a byte of a head and of a body. A thousand
such bytes at once are that much work before the next request has its turn.
"""

from __future__ import annotations

import socket
import time

from benchmarks.keys import learning, processor_seconds

CLIENTS, ROUNDS, PAUSE = 300, 60, 0.1
HEAD = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
BEGINNINGS = {"a head": b"GET /models/", "a body": HEAD + b"content-length: 1000\r\n\r\n{"}


def microseconds(port: int, pid: int, beginning: bytes) -> float:
    """Processor time of the service for a byte after this beginning."""
    wires = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
    for wire in wires:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.sendall(beginning)
    time.sleep(0.5)
    before = processor_seconds(pid)
    for _ in range(ROUNDS):
        for wire in wires:
            wire.sendall(b"a")
        time.sleep(PAUSE)
    used = processor_seconds(pid) - before
    for wire in wires:
        wire.close()
    return 1e6 * used / (CLIENTS * ROUNDS)


if __name__ == "__main__":
    with learning() as (port, pid):
        for what, beginning in BEGINNINGS.items():
            print(f"a byte of {what}: {microseconds(port, pid, beginning):.0f} us of the processor")
