"""The OpenAPI description, made from the table of paths and the Structs that the service itself decodes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

import tanager
from tanager.service.errors import CODES
from tanager.service.paths import Path
from tanager.service.wire import Failed

_TEXT = {"/metrics": "text/plain"}
_DEADLINE: dict[str, Any] = {
    "name": "X-Deadline",
    "in": "header",
    "description": "Unix time in seconds by which the answer should be ready.",
    "schema": {"type": "number"},
}


def describe(paths: Sequence[Path], *, token: bool) -> dict[str, Any]:
    """The whole description, as plain data for JSON."""
    structs = list(dict.fromkeys(s for path in paths for s in (path.takes, path.gives) if s is not None))
    references, components = msgspec.json.schema_components(
        [*structs, Failed], ref_template="#/components/schemas/{name}"
    )
    reference = dict(zip([*structs, Failed], references, strict=True))
    described: dict[str, Any] = {}
    for path in paths:
        described.setdefault(path.path, {})[path.method.lower()] = _operation(path, reference, token=token)
    security = {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}} if token else {}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tanager", "version": tanager.__version__, "description": _codes()},
        "paths": described,
        "components": {"schemas": components, **security},
    }


def _operation(path: Path, reference: dict[Any, Any], *, token: bool) -> dict[str, Any]:
    answer = {"schema": reference[path.gives]} if path.gives else {}
    kind = _TEXT.get(path.path, "application/json")
    made: dict[str, Any] = {
        "summary": path.about,
        "operationId": f"{path.method.lower()}{path.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "responses": {
            "200": {"description": _first_line(path.gives) or path.about, "content": {kind: answer}},
            "default": {
                "description": _first_line(Failed),
                "content": {"application/json": {"schema": reference[Failed]}},
            },
        },
    }
    parameters: list[dict[str, Any]] = []
    if "{name}" in path.path:
        parameters.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    if path.work == "predict":
        parameters.append(_DEADLINE)
    if parameters:
        made["parameters"] = parameters
    if path.takes:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": reference[path.takes]}}}
    if token and not path.open:
        made["security"] = [{"bearer": []}]
    return made


def _first_line(struct: type[msgspec.Struct] | None) -> str:
    return (struct.__doc__ or "").partition("\n")[0] if struct else ""


def _codes() -> str:
    lines = [f"- `{code}` ({status}): {about}" for code, (status, about) in CODES.items()]
    return "\n".join(["Codes of errors:", "", *lines])
