"""Predictions stand in one line and are answered one at a time, each within the budget that the load leaves it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from tanager.service.controller import Controller
from tanager.service.errors import ServiceError
from tanager.service.models import Served
from tanager.service.rows import Batch
from tanager.service.wire import Predicted

SMALL = 2000  # cells; answering so many takes about as long as handing them to another thread

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True, eq=False)
class Job:
    """Rows that wait for their answer, and what they may cost. Moments are of ``time.perf_counter``.

    ``arrived`` is when the request was read completely; making rows of it took ``reading`` seconds.
    """

    served: Served
    batch: Batch
    budget: float | None
    members: int | None
    deadline: float | None
    arrived: float
    reading: float
    answer: asyncio.Future[tuple[Predicted, bytes]]


class Line:
    """First come, first served. A job is done on the event loop where it is small, else in a thread.

    Whoever has come while one is answered is read before the next one's turn; so the controller knows how many wait.
    """

    def __init__(self, controller: Controller, longest: int) -> None:
        self.controller, self.longest = controller, longest
        self.waiting: deque[Job] = deque()
        self.waiting_rows = 0
        self.busy = False
        self.last = time.perf_counter()  # when something was going on
        self._writing = 0.0  # seconds that an answer takes beside the model, as they were lately
        self._pool = ThreadPoolExecutor(1, "predict")

    def join(self, job: Job) -> asyncio.Future[tuple[Predicted, bytes]]:
        """Stand in line; the future gets the answer and its JSON."""
        if len(self.waiting) >= self.longest:
            raise ServiceError("busy", f"{len(self.waiting):,} requests are waiting. Try again in a second.")
        self.controller.arrived(len(job.batch), job.arrived)
        self.waiting.append(job)
        self.waiting_rows += len(job.batch)
        if not self.busy:
            self.busy = True
            asyncio.get_running_loop().call_soon(self._next)
        return job.answer

    def _next(self) -> None:
        """Whose turn it is."""
        job = self.waiting.popleft()
        self.waiting_rows -= len(job.batch)
        start = time.perf_counter()
        budget = self._budget(job, start)
        lock = job.served.store.lock
        if len(job.batch) * job.served.n_columns <= SMALL and lock.acquire(blocking=False):
            try:
                done = _work(job, budget)
            finally:
                lock.release()
            self._done(job, start, *done)
            return
        working = asyncio.get_running_loop().run_in_executor(self._pool, _work, job, budget)
        working.add_done_callback(lambda work: self._done(job, start, *work.result()))

    def _budget(self, job: Job, now: float) -> float:
        """The least of what the load leaves, what the request wants, and what is left until its deadline."""
        waited = now - job.arrived
        budget = self.controller.budget(len(job.batch), waited, len(self.waiting), self.waiting_rows, now)
        if job.members is not None:  # who names the members is not given fewer because of the load
            budget = self.controller.most
        if job.budget is not None:
            budget = min(budget, job.budget)
        if job.deadline is not None:
            budget = min(budget, job.deadline - now - self._writing)
        return max(0.0, budget)

    def _done(self, job: Job, start: float, answer: Predicted | None, body: bytes, error: Exception | None) -> None:
        """Hand over the answer, tell the controller, and let the next one have its turn."""
        self.last = now = time.perf_counter()
        if answer is not None:
            n = len(answer.labels)
            members = sum(answer.members) / n if answer.members else 0.0
            model_seconds = answer.time_us / 1e6
            self.controller.finished(n, members, model_seconds, now - start + job.reading, now)
            self._writing += 0.1 * (now - start - model_seconds - self._writing)
        if not job.answer.done():
            if answer is not None:
                job.answer.set_result((answer, body))
            elif error is not None:
                job.answer.set_exception(error)
        if self.waiting:
            asyncio.get_running_loop().call_soon(self._next)
        else:
            self.busy = False

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


def _work(job: Job, budget: float) -> tuple[Predicted | None, bytes, Exception | None]:
    """The answer and its JSON, or the error; never raises, so that the line goes on whatever happens."""
    try:
        answer = job.served.predict(job.batch, budget, job.members)
        return answer, _encode(answer), None
    except Exception as error:
        return None, b"", error
