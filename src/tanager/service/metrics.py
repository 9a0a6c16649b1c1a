"""The metrics of the service, for Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tanager.service.messages import PredictResponse, StoreStatus

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_MEMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._requests = Counter(
            "tanager_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self._latency = Histogram(
            "tanager_request_seconds",
            "From the head of a request to its response.",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._rows = Counter("tanager_rows", "Rows predicted.", ["model"], registry=registry)
        self._members = Histogram(
            "tanager_members",
            "Members used per row, as the mean of a request.",
            ["model"],
            buckets=_MEMBERS,
            registry=registry,
        )
        self._budget = Histogram(
            "tanager_budget_seconds",
            "Time that the model was given.",
            ["model"],
            buckets=(0, *_SECONDS),
            registry=registry,
        )
        self._learned = Counter(
            "tanager_learned_rows", "Rows learned and synced to disk.", ["model"], registry=registry
        )
        self._improved = Counter(
            "tanager_improve_seconds", "Idle time spent on improving the model.", ["model"], registry=registry
        )
        self._queue = Gauge("tanager_queue_length", "Predictions waiting in the queue.", registry=registry)
        self._load = Gauge("tanager_load", "The load as the controller measures it.", ["what"], registry=registry)
        self._state = Gauge(
            "tanager_state", "Entries in the log, in snapshots, and waiting.", ["model", "what"], registry=registry
        )
        self._connections = Gauge(
            "tanager_connections", "Connections by what they wait for.", ["phase"], registry=registry
        )
        self._dropped = Counter(
            "tanager_dropped_connections", "Connections ended without a response.", ["why"], registry=registry
        )
        # Looking a label up takes longer than counting.
        self._children: dict[tuple[Counter | Histogram, tuple[str, ...]], Any] = {}

    def _child(self, metric: Counter | Histogram, *labels: str) -> Any:
        key = metric, labels
        if key not in self._children:
            self._children[key] = metric.labels(*labels)
        return self._children[key]

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._child(self._requests, path, str(status)).inc()
        self._child(self._latency, path).observe(seconds)

    def count_prediction(self, response: PredictResponse) -> None:
        """Rows were predicted."""
        n = len(response.labels)
        self._child(self._rows, response.model).inc(n)
        if response.members is not None:
            self._child(self._members, response.model).observe(sum(response.members) / n)
        if response.budget_us is not None:
            self._child(self._budget, response.model).observe(response.budget_us / 1e6)

    def count_learned(self, model: str, n_rows: int) -> None:
        """Rows were learned and are on disk."""
        self._child(self._learned, model).inc(n_rows)

    def count_improvement(self, model: str, seconds: float) -> None:
        """Idle time was used."""
        self._child(self._improved, model).inc(seconds)

    def count_dropped(self, why: str) -> None:
        """A connection was ended without a response."""
        self._child(self._dropped, why).inc()

    def render(
        self, queued: int, load: dict[str, float], states: dict[str, StoreStatus], connections: dict[str, int]
    ) -> bytes:
        """All metrics in the text format of Prometheus; the arguments are the present values of gauges."""
        self._queue.set(queued)
        for phase, n in connections.items():
            self._connections.labels(phase).set(n)
        for what, level in load.items():
            self._load.labels(what).set(level)
        for model, state in states.items():
            for what, value in state.items():
                if isinstance(value, int | float):
                    self._state.labels(model, what).set(value)
        return generate_latest(self.registry)
