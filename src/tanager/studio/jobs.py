"""Jobs: long work of a page, in a thread of its own, with progress that all tabs see, and an end at any time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tanager.errors import OptionError, TanagerError
from tanager.studio.events import Events

PAUSE = 0.05  # seconds between two reports of progress

logger = logging.getLogger("tanager.studio")


class Cancelled(TanagerError):
    """The user has stopped a job."""


@dataclass(eq=False)
class Job:
    """One piece of long work. The function that does it calls ``report`` now and then, which ends it if it must."""

    page: str
    number: int
    events: Events
    state: str = "running"  # or "done", "failed", "cancelled"
    done: float = 0.0
    total: float = 0.0
    text: str = ""
    result: Any = None
    _last: float = 0.0
    paused: bool = False
    _cancel: threading.Event = field(default_factory=threading.Event)
    _go: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    def report(self, done: float, total: float, text: str = "", result: Any = None) -> None:
        """Progress, and what is there so far; raises Cancelled where the user has had enough."""
        if self._cancel.is_set():
            raise Cancelled("stopped.")
        self.done, self.total, self.text = done, total, text
        if result is not None:
            self.result = result
        now = time.monotonic()
        if now - self._last >= PAUSE or result is not None:
            self._last = now
            self.tell()

    def pause(self) -> None:
        """Let it rest with its next ``rest``, until ``resume``."""
        self._go.clear()
        self.paused = True
        self.tell()

    def resume(self) -> None:
        """Let it go on."""
        self.paused = False
        self._go.set()
        self.tell()

    def rest(self, seconds: float = 0.0) -> None:
        """Wait so long, and as long as it is paused; the end that the user asks for comes at once."""
        if seconds > 0:
            self._cancel.wait(seconds)
        while self.paused and not self._cancel.is_set():
            self._go.wait()
        if self._cancel.is_set():
            raise Cancelled("stopped.")

    @property
    def cancelled(self) -> bool:
        """Whether the user has asked for an end."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ask for an end; it comes with the next report."""
        self._cancel.set()
        self._go.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, however; whether it has."""
        return self._ended.wait(seconds)

    def end(self) -> None:
        """It has ended: tell all who wait."""
        self._ended.set()
        self.tell()

    def tell(self) -> None:
        """Tell all tabs how it stands."""
        self.events.send("job", self.summary())

    def summary(self) -> dict[str, Any]:
        """How it stands, as plain data."""
        names = ("page", "number", "state", "paused", "done", "total", "text", "result")
        return {name: getattr(self, name) for name in names}


class Jobs:
    """The last job of every page."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._numbers = count(1)

    def start(self, page: str, work: Callable[[Job], Any]) -> dict[str, Any]:
        """Do work(job) in a thread; what it returns is the result. A page has one job at a time."""
        with self._lock:
            running = self._jobs.get(page)
            if running is not None and running.state == "running":
                raise OptionError("this is running already. Stop it first, or wait for its end.")
            job = self._jobs[page] = Job(page, next(self._numbers), self._events)
        threading.Thread(target=self._run, args=(job, work), name=f"studio-{page}", daemon=True).start()
        return job.summary()

    def _run(self, job: Job, work: Callable[[Job], Any]) -> None:
        try:
            job.result = work(job)
            job.state = "done"
        except Cancelled:
            job.state = "cancelled"
        except TanagerError as error:
            job.state, job.text = "failed", str(error)
        except Exception:
            logger.exception("the job of page %s failed", job.page)
            job.state, job.text = "failed", "an error in the studio itself; its terminal says more."
        job.end()

    def find(self, page: str) -> Job | None:
        """The last job of a page."""
        return self._jobs.get(page)

    def cancel(self, page: str) -> None:
        """Stop the job of a page, if one is running."""
        job = self._jobs.get(page)
        if job is not None:
            job.cancel()

    def cancel_all(self) -> None:
        """Stop all jobs, when the server stops."""
        for page in list(self._jobs):
            self.cancel(page)
