"""How long Python does not hear signals: Ctrl-C is handled where the interpreter, or a kernel, looks for signals."""

from __future__ import annotations

import math
import signal
import time
import traceback
from contextlib import AbstractContextManager
from types import FrameType


class Hearing(AbstractContextManager["Hearing"]):
    """A signal for every few milliseconds of the processor, and the longest work between two that were handled.

    Time is the processor's, of all threads: what else the machine does matters little. After ``most`` seconds the work
    is ended by ``error``.

    >>> with Hearing() as hearing:
    ...     _ = sum(range(1000))
    >>> hearing.longest < 10
    True
    """

    def __init__(self, every: float = 0.01, *, most: float = math.inf, error: type[Exception] = TimeoutError) -> None:
        self.every, self.most, self.error = every, most, error
        self.longest, self.where = 0.0, ""

    def __enter__(self) -> Hearing:
        self._before = signal.signal(signal.SIGPROF, self._heard)
        self._start = self._last = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.every, self.every)
        return self

    def __exit__(self, *_error: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._heard(signal.SIGPROF, None)
        signal.signal(signal.SIGPROF, self._before)

    def _heard(self, _number: int, frame: FrameType | None) -> None:
        now = time.process_time()
        if now - self._last > self.longest:
            self.longest, self.where = now - self._last, _place(frame)
        self._last = time.process_time()
        if frame is not None and now - self._start > self.most:
            raise self.error


def _place(frame: FrameType | None) -> str:
    """The lines that were at work, the outermost of the library first."""
    lines = [] if frame is None else traceback.extract_stack(frame)
    ours = [f"{line.filename.partition('tanager/')[2]}:{line.lineno}" for line in lines if "tanager/" in line.filename]
    return " > ".join(ours[-4:])
