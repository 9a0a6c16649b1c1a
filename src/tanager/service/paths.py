"""The paths of the service: what each takes and gives. Routes and the OpenAPI description are both made from this."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from tanager.service import wire


@dataclass(frozen=True)
class Path:
    """One path: the method of ``Service`` that answers, what the body holds, and what comes back (None: text)."""

    method: str
    path: str
    work: str
    about: str
    takes: type[Struct] | None = None
    gives: type[Struct] | None = None
    open: bool = False  # answered without a token


PATHS = (
    Path("POST", "/models/{name}/predict", "predict", "Answer rows.", wire.Predict, wire.Predicted),
    Path("POST", "/models/{name}/learn", "learn", "Learn rows, or labels of rows.", wire.Learn, wire.Learned),
    Path("GET", "/models", "models", "List the models.", gives=wire.Models),
    Path("GET", "/models/{name}", "model", "All about one model.", gives=wire.ModelInfo),
    Path("POST", "/models/{name}/reload", "reload", "Take over a new model file.", gives=wire.Reloaded),
    Path("GET", "/health", "health", "Whether the service is up.", gives=wire.Health, open=True),
    Path("GET", "/metrics", "numbers", "Numbers for Prometheus."),
    Path("GET", "/openapi.json", "openapi", "This description."),
)
# Where one model is served, its name need not be said.
SHORT = (
    Path("POST", "/predict", "predict", "Answer rows.", wire.Predict, wire.Predicted),
    Path("POST", "/learn", "learn", "Learn rows, or labels of rows.", wire.Learn, wire.Learned),
)
