"""What Prometheus can ask for."""

from __future__ import annotations

from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tanager.service.wire import Predicted

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_MEMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The numbers of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        one: Any = {"registry": self.registry}
        self._requests = Counter("tanager_requests", "Requests by path and status.", ["path", "status"], **one)
        self._latency = Histogram(
            "tanager_request_seconds", "From the head of a request to its answer.", ["path"], buckets=_SECONDS, **one
        )
        self._rows = Counter("tanager_rows", "Rows that were answered.", ["model"], **one)
        self._members = Histogram(
            "tanager_members", "Members used per row, as the mean of a request.", ["model"], buckets=_MEMBERS, **one
        )
        self._budget = Histogram(
            "tanager_budget_seconds", "Time that the model was given.", ["model"], buckets=(0, *_SECONDS), **one
        )
        self._learned = Counter("tanager_learned_rows", "Rows that were learned and are safe.", ["model"], **one)
        self._improved = Counter("tanager_improve_seconds", "Idle time spent on a better model.", ["model"], **one)
        self._queue = Gauge("tanager_queue_length", "Predictions that wait for their turn.", **one)
        self._load = Gauge("tanager_load", "What the controller sees.", ["what"], **one)
        self._state = Gauge("tanager_state", "What is on disk, and what is not yet.", ["model", "what"], **one)
        self._of = cache(lambda metric, *labels: metric.labels(*labels))  # looking them up takes longer than counting

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request has its answer."""
        self._of(self._requests, path, str(status)).inc()
        self._of(self._latency, path).observe(seconds)

    def predicted(self, answer: Predicted) -> None:
        """Rows have their answers."""
        n = len(answer.labels)
        self._of(self._rows, answer.model).inc(n)
        if answer.members is not None:
            self._of(self._members, answer.model).observe(sum(answer.members) / n)
        if answer.budget_us is not None:
            self._of(self._budget, answer.model).observe(answer.budget_us / 1e6)

    def learned(self, model: str, n_rows: int) -> None:
        """Rows are learned and safe."""
        self._of(self._learned, model).inc(n_rows)

    def improved(self, model: str, seconds: float) -> None:
        """Idle time was used."""
        self._of(self._improved, model).inc(seconds)

    def text(self, queued: int, load: dict[str, float], states: dict[str, dict[str, Any]]) -> bytes:
        """All numbers as Prometheus reads them; the arguments are how things stand now."""
        self._queue.set(queued)
        for what, value in load.items():
            self._load.labels(what).set(value)
        for model, state in states.items():
            for what, value in state.items():
                if isinstance(value, int | float):
                    self._state.labels(model, what).set(value)
        return generate_latest(self.registry)
