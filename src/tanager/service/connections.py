"""Open connections: what each of them waits for, how long it may, and which one goes when there are too many."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

SWEEP = 50  # connections that are ended at a time, ten times a second, so that requests get their turn


class Phase(Enum):
    """What a connection waits for. Members are in the order in which connections are given up for new ones."""

    HEAD = "head"  # the rest of the head of a request, or anything at all since the connection was made
    IDLE = "idle"  # the next request
    REST = "rest"  # the rest of a body that was answered before it had come
    TAKING = "taking"  # that the client takes a response
    BODY = "body"  # a body; the application that reads it has a limit of its own
    ANSWER = "answer"  # the response, which is being made

    # By identity: phases are keys of a dictionary that every request moves through, and hashing by name takes longer.
    __hash__ = object.__hash__


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections there may be, and how many seconds each phase may take in all, however little comes."""

    connections: int = 1000
    head: float = 10.0
    taking: float = 30.0
    idle: float = 30.0  # which uvicorn keeps

    def seconds(self, phase: Phase) -> float | None:
        """How long a connection may be in a phase; None: somebody else sees to that."""
        return {Phase.HEAD: self.head, Phase.REST: self.head, Phase.TAKING: self.taking}.get(phase)


class Connection(Protocol):
    """What the table asks of a connection."""

    def late(self, phase: Phase) -> None:
        """It has been in this phase for too long, and must end."""

    def give_way(self) -> None:
        """It must end at once, for a new one."""


class ConnectionTable:
    """All connections by phase, in the order in which they came to it.

    As all connections may stay in a phase for the same time, the first of a phase is always the next that is late: no
    connection needs a timer of its own, and one look at the first of each phase now and then is enough.

    >>> class Client:
    ...     def __init__(self, name): self.name = name
    ...     def late(self, phase): print(self.name, "is late:", phase.value)
    ...     def give_way(self): print(self.name, "gives way")
    >>> now = 0.0
    >>> table = ConnectionTable(ConnectionLimits(connections=2, head=10), clock=lambda: now)
    >>> first, second = Client("first"), Client("second")
    >>> table.add(first), table.add(second)
    (True, True)
    >>> table.add(Client("third"))
    first gives way
    True
    >>> now = 10.0
    >>> table.move(second, Phase.ANSWER)
    >>> table.sweep()
    third is late: head
    """

    def __init__(self, limits: ConnectionLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits, self.clock = limits, clock
        self._since: dict[Phase, OrderedDict[Connection, float]] = {phase: OrderedDict() for phase in Phase}
        self._phase: dict[Connection, Phase] = {}
        self._timed = [(phase, most) for phase in Phase if (most := limits.seconds(phase)) is not None]

    def __len__(self) -> int:
        return len(self._phase)

    def sizes(self) -> dict[str, int]:
        """How many connections are in each phase."""
        return {phase.value: len(there) for phase, there in self._since.items()}

    def add(self, connection: Connection) -> bool:
        """Take in a new connection; where there is no room, another gives way. False where all are being answered."""
        while len(self._phase) >= self.limits.connections:
            if not self.make_room():
                return False
        self._phase[connection] = Phase.HEAD
        self._since[Phase.HEAD][connection] = self.clock()
        return True

    def make_room(self) -> bool:
        """Let the connection go that is missed least; False where all are being answered."""
        for phase in Phase:
            if phase is not Phase.ANSWER and self._since[phase]:
                oldest = next(iter(self._since[phase]))
                self.remove(oldest)
                oldest.give_way()
                return True
        return False

    def give_up(self, phase: Phase) -> None:
        """End all connections of a phase."""
        for connection in list(self._since[phase]):
            self.remove(connection)
            connection.give_way()

    def move(self, connection: Connection, phase: Phase) -> None:
        """A connection enters a phase. One that is no longer here stays away."""
        before = self._phase.get(connection)
        if before is not None and before is not phase:
            del self._since[before][connection]
            self._phase[connection] = phase
            self._since[phase][connection] = self.clock()

    def phase(self, connection: Connection) -> Phase | None:
        """What a connection waits for; None where it is not here."""
        return self._phase.get(connection)

    def remove(self, connection: Connection) -> None:
        """A connection has ended."""
        phase = self._phase.pop(connection, None)
        if phase is not None:
            del self._since[phase][connection]

    def sweep(self) -> None:
        """End connections that are late; where a thousand are late at once, some now and the others soon."""
        now, left = self.clock(), SWEEP
        for phase, most in self._timed:
            there = self._since[phase]
            while left and there and now - there[oldest := next(iter(there))] >= most:
                self.remove(oldest)
                oldest.late(phase)
                left -= 1
