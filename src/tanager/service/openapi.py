"""The OpenAPI description, made from the table of routes and the Structs that the service itself decodes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

import tanager
from tanager.service.errors import CODES
from tanager.service.messages import ErrorResponse
from tanager.service.routes import RouteSpec

_TEXT = {"/metrics": "text/plain", "/docs": "text/html"}
_DEADLINE: dict[str, Any] = {
    "name": "X-Deadline",
    "in": "header",
    "description": "Unix time in seconds by which the response should be ready.",
    "schema": {"type": "number"},
}
_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A key of the client's own for this request: sent again under it, it is learned once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]*$"},
}


Schemas = dict[Any, dict[str, Any]]  # the schema of every Struct


def describe(routes: Sequence[RouteSpec], *, token: bool) -> dict[str, Any]:
    """The whole description, as plain data for JSON."""
    structs = list(dict.fromkeys(s for route in routes for s in (route.request, route.response) if s is not None))
    references, components = msgspec.json.schema_components(
        [*structs, ErrorResponse], ref_template="#/components/schemas/{name}"
    )
    reference: Schemas = dict(zip([*structs, ErrorResponse], references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, reference, token=token)
    security = {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}} if token else {}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tanager", "version": tanager.__version__, "description": _codes()},
        "paths": paths,
        "components": {"schemas": components, **security},
    }


def _operation(route: RouteSpec, reference: Schemas, *, token: bool) -> dict[str, Any]:
    content = {"schema": reference[route.response]} if route.response else {}
    content_type = _TEXT.get(route.path, "application/json")
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "responses": {
            "200": {
                "description": _first_line(route.response) or route.summary,
                "content": {content_type: content},
            },
            "default": {
                "description": _first_line(ErrorResponse),
                "content": {"application/json": {"schema": reference[ErrorResponse]}},
            },
        },
    }
    parameters: list[dict[str, Any]] = []
    if "{name}" in route.path:
        parameters.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    if route.handler == "predict":
        parameters.append(_DEADLINE)
    if route.handler == "learn":
        parameters.append(_KEY)
    if parameters:
        operation["parameters"] = parameters
    if route.request:
        example = {"example": route.example} if route.example else {}
        body = {"application/json": {"schema": reference[route.request], **example}}
        operation["requestBody"] = {"required": True, "content": body}
    if token and not route.public:
        operation["security"] = [{"bearer": []}]
    return operation


def _first_line(struct: type[msgspec.Struct] | None) -> str:
    return (struct.__doc__ or "").partition("\n")[0] if struct else ""


def _codes() -> str:
    lines = [f"- `{code}` ({status}): {about}" for code, (status, about) in CODES.items()]
    return "\n".join(["Error codes:", "", *lines])
