"""The page at /docs: the OpenAPI description for people. One HTML file, with no script and nothing from elsewhere."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22303c; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; border-top: 1px solid #c9d1d8; padding-top: 1rem }
h2 b { color: #2f6f9f } h3 { font-size: 1rem; margin: .8rem 0 .2rem } code, pre { font-family: ui-monospace, monospace }
table { border-collapse: collapse } td, th { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0 }
th { color: #5b6975; font-weight: normal } pre { background: #f4f6f8; padding: .6rem; overflow-x: auto }
"""

Plain = dict[str, Any]
_NAMES = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}
_PLURALS = {
    "text": "texts",
    "a list of numbers": "lists of numbers",
    "a list of texts": "lists of texts",
    "a list of cells": "lists of cells",
    "an object of columns and cells": "objects of columns and cells",
}
_SCALARS = frozenset(_NAMES)
_REFERENCE = "#/components/schemas/"


def docs_page(description: Plain) -> str:
    """The page of a description as ``describe`` makes it.

    >>> page = docs_page({"info": {"title": "t", "version": "1", "description": ""}, "paths": {}, "components": {}})
    >>> page.startswith("<!doctype html>")
    True
    """
    info = description["info"]
    schemas = description["components"].get("schemas", {})
    told: dict[tuple[object, ...], str] = {}  # paths, by what they take and give
    operations = []
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            takes_and_gives = operation["summary"], *(_reference(part) for part in _bodies(operation))
            same = told.setdefault(takes_and_gives, path)
            operations.append(_operation(method, path, operation, schemas, same))
    title = f"{info['title']} {info['version']}"
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{_STYLE}</style>"
    lines = [
        f"<!doctype html><html lang='en'><head>{head}</head><body><h1>{escape(title)}</h1>",
        "<p>All paths, for people. For programs: <a href='openapi.json'>openapi.json</a>. A cell of a row is text, a "
        "number, true, false, or null where it is missing; a label is text, a number, true or false.</p>",
        *operations,
        *_parts(description["paths"], schemas),
        f"<h2>Errors</h2>{_list(info['description'])}</body></html>",
    ]
    return "\n".join(lines)


def _operation(method: str, path: str, operation: Plain, schemas: Plain, same: str) -> str:
    parts = [f"<h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"]
    if operation.get("security"):
        parts.append("<p>Needs the token: <code>Authorization: Bearer TOKEN</code>.</p>")
    if same != path:
        parts.append(f"<p>As <code>{escape(same)}</code>, for the model of this name.</p>")
        return "\n".join(parts)
    for parameter in operation.get("parameters", []):
        about = parameter.get("description", "part of the path")
        parts.append(f"<p><code>{escape(parameter['name'])}</code> ({parameter['in']}): {escape(about)}</p>")
    request, response = _bodies(operation)
    if request:
        parts.append(f"<h3>Request</h3>{_example(path, operation)}{_fields(request, schemas)}")
    if response:
        parts.append(f"<h3>Response</h3>{_fields(response, schemas)}")
    return "\n".join(parts)


def _bodies(operation: Plain) -> tuple[Plain, Plain]:
    """The schemas of the request and of the response; empty where there is none."""
    request = operation.get("requestBody")
    return _content(request).get("schema", {}) if request else {}, _content(operation["responses"]["200"]).get(
        "schema", {}
    )


def _content(part: Plain) -> Plain:
    """What a body of one type is."""
    (content,) = part["content"].values()
    return dict(content)


def _example(path: str, operation: Plain) -> str:
    """A request that can be sent with these words, once names and values are those of the model."""
    example = _content(operation["requestBody"]).get("example")
    return f"<pre>curl ADDRESS{escape(path)} --json '{escape(json.dumps(example))}'</pre>" if example else ""


def _parts(paths: Plain, schemas: Plain) -> list[str]:
    """The objects inside of requests and responses, each with its fields."""
    whole = {_reference(body) for methods in paths.values() for own in methods.values() for body in _bodies(own)}
    inner = [name for name in schemas if name not in whole and name not in ("ErrorResponse", "ErrorDetail")]
    head = ["<h2>Parts of requests and responses</h2>"] if inner else []
    return head + [f"<h3 id='{name}'>{name}</h3>{_fields(schemas[name], schemas)}" for name in inner]


def _reference(schema: Plain) -> str:
    """The name of an object that is described elsewhere; empty for others."""
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def _fields(schema: Plain, schemas: Plain) -> str:
    """What an object is, and its fields, each with its type and default."""
    schema = schemas[_reference(schema)] if "$ref" in schema else schema
    required = schema.get("required", [])
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>{_type(own, optional=name not in required)}</td>"
        f"<td>{'required' if name in required else _default(own)}</td></tr>"
        for name, own in schema.get("properties", {}).items()
    ]
    about = re.sub(r"``(.*?)``", r"<code>\1</code>", escape(schema.get("description", "")))
    head = "<tr><th>field</th><th>what it is</th><th></th></tr>"
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in re.split(r"\n\s*\n", about))
    return f"{paragraphs}<table>{head}{''.join(rows)}</table>"


def _default(schema: Plain) -> str:
    return f"default {escape(json.dumps(schema['default']))}" if schema.get("default") is not None else "optional"


def _type(schema: Plain, *, optional: bool = False) -> str:
    """A type in words, as HTML; that an ``optional`` field may be null goes without saying.

    >>> cell = {"anyOf": [{"type": kind} for kind in ("integer", "number", "string", "boolean", "null")]}
    >>> _type(cell), _type({"type": "array", "items": cell}), _type({"type": "object", "additionalProperties": cell})
    ('a cell', 'a list of cells', 'an object of columns and cells')
    >>> _type({"anyOf": [{"type": "number"}, {"type": "null"}]})
    'a number, or null'
    """
    if "$ref" in schema:
        name = _reference(schema)
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in schema:
        return _one_of(schema["anyOf"], optional=optional)
    if schema.get("type") == "array":
        return f"a list of {_several(schema['items'])}" if schema.get("items") else "a list"
    if isinstance(inner := schema.get("additionalProperties"), dict):
        return "an object of columns and cells" if _type(inner) == "a cell" else f"an object of {_several(inner)}"
    if "enum" in schema:
        return " or ".join(escape(json.dumps(value)) for value in schema["enum"])
    kind = str(schema.get("type", "anything"))
    return _NAMES.get(kind, "an object" if kind == "object" else kind)


def _one_of(schemas: list[Plain], *, optional: bool) -> str:
    """Several types; those of all cells and of all labels have a name of their own."""
    kinds = {schema.get("type") for schema in schemas}
    or_null = "null" in kinds
    others = [schema for schema in schemas if schema.get("type") != "null"]
    if kinds >= _SCALARS:
        scalar = "a label" if optional or not or_null else "a cell"
        others = [schema for schema in others if schema.get("type") not in _SCALARS]
        return " or ".join([scalar, *map(_type, others)])
    if "number" in kinds:  # a whole number is one
        others = [schema for schema in others if schema.get("type") != "integer"]
    words = " or ".join(dict.fromkeys(map(_type, others)))
    return words if optional or not or_null else f"{words}, or null"


def _several(schema: Plain) -> str:
    """The type of the members of a list, in the plural.

    >>> _several({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]})
    'numbers or texts'
    """
    words = _type(schema)
    if "$ref" in schema:
        return words
    return " or ".join(_PLURALS.get(one) or f"{one.removeprefix('a ')}s" for one in words.split(" or "))


def _list(text: str) -> str:
    """The error codes: a line each, with the code in backquotes."""
    lines = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    marked = []
    for line in lines:
        _, code, rest = line.split("`", 2)
        marked.append(f"<tr><td><code>{escape(code)}</code></td><td>{escape(rest.strip())}</td></tr>")
    return f"<table>{''.join(marked)}</table>"
