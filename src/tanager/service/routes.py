"""The routes of the service: what each takes and returns. The application and its OpenAPI page are made from this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from tanager.service import messages


@dataclass(frozen=True)
class RouteSpec:
    """One route: the method of ``Service`` that handles it, the body it takes, and the body it returns (None: text).

    ``example`` is a body to start from, with columns and labels that stand for those of the model.
    """

    method: str
    path: str
    handler: str
    summary: str
    request: type[Struct] | None = None
    response: type[Struct] | None = None
    public: bool = False  # needs no token
    example: Mapping[str, Any] | None = None


_ROW = {"colour": "red", "size": 3}


def _predict(path: str) -> RouteSpec:
    bodies = messages.PredictRequest, messages.PredictResponse
    return RouteSpec("POST", path, "predict", "Predict rows.", *bodies, example={"row": _ROW})


def _explain(path: str) -> RouteSpec:
    summary = "Explain predictions, and say what would turn them."
    return RouteSpec(
        "POST", path, "explain", summary, messages.ExplainRequest, messages.ExplainResponse, example={"row": _ROW}
    )


def _importance(path: str) -> RouteSpec:
    summary = "Measure how much each column matters, by rows with labels."
    return RouteSpec("POST", path, "importance", summary, messages.ImportanceRequest, messages.ImportanceResponse)


def _nomogram(path: str) -> RouteSpec:
    summary = "Say what each value of each column adds to the log-odds of an answer."
    return RouteSpec("POST", path, "nomogram", summary, messages.NomogramRequest, messages.NomogramResponse)


def _learn(path: str) -> RouteSpec:
    summary = "Learn rows with labels, or labels of rows predicted before."
    example = {"row": _ROW, "label": "yes"}
    return RouteSpec("POST", path, "learn", summary, messages.LearnRequest, messages.LearnResponse, example=example)


ROUTES = (
    _predict("/models/{name}/predict"),
    _learn("/models/{name}/learn"),
    _explain("/models/{name}/explain"),
    _importance("/models/{name}/importance"),
    _nomogram("/models/{name}/nomogram"),
    RouteSpec("GET", "/models", "models", "List the models.", response=messages.ModelList),
    RouteSpec("GET", "/models/{name}", "model", "Describe one model.", response=messages.ModelInfo),
    RouteSpec("POST", "/models/{name}/reload", "reload", "Load a new model file.", response=messages.ReloadResponse),
    RouteSpec("GET", "/health", "health", "Whether the service is up.", response=messages.HealthResponse, public=True),
    RouteSpec("GET", "/metrics", "prometheus", "Metrics for Prometheus."),
    RouteSpec("GET", "/openapi.json", "openapi", "This description."),
    RouteSpec("GET", "/docs", "docs", "The same, as a page to read."),
)
# Where only one model is served, requests need not name it.
SINGLE_MODEL_ROUTES = (
    _predict("/predict"),
    _learn("/learn"),
    _explain("/explain"),
    _importance("/importance"),
    _nomogram("/nomogram"),
)
