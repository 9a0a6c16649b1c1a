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


def docs_page(description: Plain) -> str:
    """The page of a description as ``describe`` makes it.

    >>> page = docs_page({"info": {"title": "t", "version": "1", "description": ""}, "paths": {}, "components": {}})
    >>> page.startswith("<!doctype html>")
    True
    """
    info = description["info"]
    schemas = description["components"].get("schemas", {})
    operations = [
        _operation(method, path, operation, schemas)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    title = f"{info['title']} {info['version']}"
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{_STYLE}</style>"
    lines = [
        f"<!doctype html><html lang='en'><head>{head}</head><body><h1>{escape(title)}</h1>",
        "<p>All paths, for people. For programs: <a href='openapi.json'>openapi.json</a>.</p>",
        *operations,
        f"<h2>Errors</h2>{_list(info['description'])}</body></html>",
    ]
    return "\n".join(lines)


def _operation(method: str, path: str, operation: Plain, schemas: Plain) -> str:
    parts = [f"<h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"]
    if operation.get("security"):
        parts.append("<p>Needs the token: <code>Authorization: Bearer TOKEN</code>.</p>")
    for parameter in operation.get("parameters", []):
        about = parameter.get("description", "part of the path")
        parts.append(f"<p><code>{escape(parameter['name'])}</code> ({parameter['in']}): {escape(about)}</p>")
    body = operation.get("requestBody")
    if body:
        parts.append(f"<h3>Request</h3>{_fields(_schema(body), schemas)}")
    answer = _schema(operation["responses"]["200"])
    if answer:
        parts.append(f"<h3>Response</h3>{_fields(answer, schemas)}")
    return "\n".join(parts)


def _schema(part: Plain) -> Plain:
    """The schema of a body of one type."""
    (content,) = part["content"].values()
    schema: Plain = content.get("schema", {})
    return schema


def _fields(schema: Plain, schemas: Plain) -> str:
    """The fields of an object, each with its type and default."""
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    required = schema.get("required", [])
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(own))}</td>"
        f"<td>{'required' if name in required else _default(own)}</td></tr>"
        for name, own in schema.get("properties", {}).items()
    ]
    about = re.sub(r"``(.*?)``", r"<code>\1</code>", escape(schema.get("description", "").partition("\n")[0]))
    head = "<tr><th>field</th><th>type</th><th></th></tr>"
    return f"<p>{about}</p><table>{head}{''.join(rows)}</table>"


def _default(schema: Plain) -> str:
    return f"default {escape(json.dumps(schema['default']))}" if schema.get("default") is not None else "optional"


def _type(schema: Plain) -> str:
    """A type in words: ``list of number or null``."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_type(own) for own in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    if "enum" in schema:
        return " or ".join(json.dumps(value) for value in schema["enum"])
    return str(schema.get("type", "anything"))


def _list(text: str) -> str:
    """The error codes: a line each, with the code in backquotes."""
    lines = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    marked = []
    for line in lines:
        _, code, rest = line.split("`", 2)
        marked.append(f"<tr><td><code>{escape(code)}</code></td><td>{escape(rest.strip())}</td></tr>")
    return f"<table>{''.join(marked)}</table>"
