"""The queue of predictions: answered one at a time, each within the budget that the load leaves it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from tanager.service.controller import Controller
from tanager.service.errors import ServiceError
from tanager.service.messages import PredictResponse
from tanager.service.models import ServedModel
from tanager.service.rows import RequestRows

SMALL_CELLS = 2000  # cells; predicting so many takes about as long as handing them to another thread
SMOOTHING = 0.1  # weight of the newest response in the mean time for writing one

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True, eq=False)
class Job:
    """Rows that wait for their prediction, and what they may cost. Times are of ``time.perf_counter``.

    ``arrived`` is when the request was read completely; decoding and checking it took ``reading`` seconds.
    """

    served: ServedModel
    rows: RequestRows
    budget: float | None
    members: int | None
    deadline: float | None
    arrived: float
    reading: float
    response: asyncio.Future[tuple[PredictResponse, bytes]]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a job: a response and its JSON, or an error."""

    response: PredictResponse | None = None
    body: bytes = b""
    error: Exception | None = None


class RequestQueue:
    """First in, first out. A small job runs on the event loop, a large one in a thread.

    One job at a time: models use the processor alone, so two at once would both take twice as long. Between two jobs
    the event loop reads the requests that came meanwhile, so that the controller knows how many wait.
    """

    def __init__(self, controller: Controller, max_length: int) -> None:
        self.controller, self.max_length = controller, max_length
        self.waiting: deque[Job] = deque()
        self.waiting_rows = 0
        self.busy = False
        self.last_activity = time.perf_counter()
        self._overhead = 0.0  # mean seconds that a response takes in addition to the model
        self._pool = ThreadPoolExecutor(1, "predict")

    def submit(self, job: Job) -> asyncio.Future[tuple[PredictResponse, bytes]]:
        """Append a job; the future gets the response and its JSON."""
        if len(self.waiting) >= self.max_length:
            raise ServiceError("busy", f"{len(self.waiting):,} requests are waiting. Try again in a second.")
        self.controller.arrived(len(job.rows), job.arrived)
        self.waiting.append(job)
        self.waiting_rows += len(job.rows)
        if not self.busy:
            self.busy = True
            asyncio.get_running_loop().call_soon(self._run_next)
        return job.response

    def _run_next(self) -> None:
        job = self.waiting.popleft()
        self.waiting_rows -= len(job.rows)
        start = time.perf_counter()
        budget = self._budget(job, start)
        lock = job.served.store.lock
        # The event loop must not wait for the lock: learning may hold it for the time of 500 rows.
        if len(job.rows) * job.served.n_columns <= SMALL_CELLS and lock.acquire(blocking=False):
            try:
                outcome = _predict(job, budget)
            finally:
                lock.release()
            self._finish(job, start, outcome)
            return
        running = asyncio.get_running_loop().run_in_executor(self._pool, _predict, job, budget)
        running.add_done_callback(lambda done: self._finish(job, start, done.result()))

    def _budget(self, job: Job, now: float) -> float:
        """The least of what the load leaves, what the request asks for, and what is left until its deadline."""
        waited = now - job.arrived
        budget = self.controller.budget(len(job.rows), waited, len(self.waiting), self.waiting_rows, now)
        if job.members is not None:  # a request that names its members gets them whatever the load
            budget = self.controller.most
        if job.budget is not None:
            budget = min(budget, job.budget)
        if job.deadline is not None:
            budget = min(budget, job.deadline - now - self._overhead)
        return max(0.0, budget)

    def _finish(self, job: Job, start: float, outcome: _Outcome) -> None:
        """Hand over the response, tell the controller what it cost, and start the next job."""
        self.last_activity = now = time.perf_counter()
        response = outcome.response
        if response is not None:
            n = len(response.labels)
            members = sum(response.members) / n if response.members else 0.0
            model_seconds = response.time_us / 1e6
            self.controller.finished(n, members, model_seconds, now - start + job.reading, now)
            self._overhead += SMOOTHING * (now - start - model_seconds - self._overhead)
        if not job.response.done():  # a client that has gone has cancelled it
            if response is not None:
                job.response.set_result((response, outcome.body))
            elif outcome.error is not None:
                job.response.set_exception(outcome.error)
        if self.waiting:
            asyncio.get_running_loop().call_soon(self._run_next)
        else:
            self.busy = False

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


def _predict(job: Job, budget: float) -> _Outcome:
    """The response or the error. Never raises: an exception in a callback would stop the queue for good."""
    try:
        response = job.served.predict(job.rows, budget, job.members)
        return _Outcome(response, _encode(response))
    except Exception as error:
        return _Outcome(error=error)
