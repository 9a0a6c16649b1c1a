"""The description at /openapi.json is true: what it says can be sent, and what comes back is what it says."""

import re

import pytest
from serving import ROWS, Asker, write_model

from tanager import TAN
from tanager.service import messages
from tanager.service.errors import CODES
from tanager.service.openapi import describe
from tanager.service.routes import ROUTES

EXAMPLES = {
    "PredictRequest": [
        {"row": ROWS[0], "id": "a"},
        {"rows": ROWS[:2], "budget_us": 100, "ids": ["b", "c"]},
        {"columns": ["size"], "rows": [[1], [None]]},
    ],
    "ExplainRequest": [
        {"row": ROWS[0], "what_if": {"fixed": ["wild"], "costs": {"size": 2}}},
        {"rows": ROWS[:2], "answer": "fish", "against": "bird"},
        {"columns": ["size"], "rows": [[1], [None]]},
    ],
    "ImportanceRequest": [
        {"rows": ROWS[:3], "labels": ["fish", "fish", "bird"]},
        {"columns": ["size"], "rows": [[1], [None]], "labels": ["fish", "bird"], "weights": [1, 2], "learned": False},
    ],
    "NomogramRequest": [{}, {"row": ROWS[0], "answer": "fish", "against": "bird"}],
    "LearnRequest": [
        {"row": ROWS[0], "label": "fish"},
        {"rows": ROWS[:2], "labels": ["fish", "bird"], "weights": [1, 2]},
        {"ids": ["a", "b"], "labels": ["fish", "bird"]},
        {"id": "c", "label": "fish"},
    ],
}


def resolved(schema, whole):
    """A schema without references; those here do not go round in circles."""
    if isinstance(schema, list):
        return [resolved(part, whole) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return resolved(whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]], whole)
    return {key: resolved(part, whole) for key, part in schema.items()}


def fits(value, schema):
    """Whether a value is what a schema says; the part of JSON Schema that is used here."""
    if "anyOf" in schema:
        return any(fits(value, part) for part in schema["anyOf"])
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kind = schema.get("type")
    if kind in ("integer", "number"):
        number = isinstance(value, int if kind == "integer" else int | float) and not isinstance(value, bool)
        return number and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if kind is None:
        return True
    if not isinstance(value, kinds[kind]):
        return False
    if kind == "array":
        return all(fits(item, schema.get("items", {})) for item in value)
    if kind == "object":
        known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        named = all(name in value for name in schema.get("required", ()))
        others = [item for name, item in value.items() if name not in known]
        allowed = not others if more is False else all(fits(item, {} if more is True else more) for item in others)
        return named and allowed and all(fits(item, known[name]) for name, item in value.items() if name in known)
    return True


@pytest.fixture
def ask(services, tmp_path):
    """A service of a single network, which can be asked everything."""
    return Asker(services(write_model(tmp_path / "pets.tanager", TAN())))


@pytest.fixture
def described(ask):
    return ask("GET", "/openapi.json").data


def test_all_that_is_described_can_be_asked_and_answers_as_described(ask, described):
    asked = set()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            schema = resolved(operation, described)
            shape = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            bodies = EXAMPLES.get(shape.get("$ref", "").rpartition("/")[2], [None])
            for body in bodies:
                if body is not None:
                    assert fits(body, schema["requestBody"]["content"]["application/json"]["schema"])
                said = ask(method.upper(), path.replace("{name}", "pets"), body)
                assert said.status == 200, said.body
                (kind, content), *_ = schema["responses"]["200"]["content"].items()
                assert said.headers["content-type"].startswith(kind)
                if "schema" in content:
                    assert fits(said.data, content["schema"])
                asked.add(path)
    assert asked == {path.path for path in ask.service.routes}


def test_errors_are_described(ask, described):
    schema = resolved(described["paths"]["/predict"]["post"]["responses"]["default"], described)
    for body in ({}, {"row": 5}, {"rows": []}):
        said = ask.predict(body)
        assert fits(said.data, schema["content"]["application/json"]["schema"])


def test_the_checker_of_this_test_sees_differences(described):
    schema = resolved(described["components"]["schemas"]["PredictRequest"], described)
    assert fits({"row": {"a": 1}}, schema)
    for wrong in ({"row": {"a": [1]}}, {"rwo": {}}, {"members": -1}, {"rows": 5}, []):
        assert not fits(wrong, schema)


def test_answers_decode_strictly(ask):
    for path in ROUTES:
        if path.method == "GET" and path.response is not None:
            ask("GET", path.path.replace("{name}", "pets")).as_(path.response)
    assert ask.predict(EXAMPLES["PredictRequest"][0]).as_(messages.PredictResponse).labels == ["fish"]


def test_a_token_is_described_where_there_is_one(services, model_file):
    open_paths = {path.path for path in ROUTES if path.public}
    described = describe(ROUTES, token=True)
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert ("security" in operation) == (path not in open_paths)
    ask = Asker(services(model_file))
    assert "securitySchemes" not in ask("GET", "/openapi.json").data["components"]


def test_the_page_for_people_has_every_path_and_loads_nothing(ask):
    page = ask("GET", "/docs").body.decode()
    for route in ask.service.routes:
        assert f"<b>{route.method}</b> <code>{route.path}</code>" in page
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "required" in page
    for code in CODES:
        assert f"<code>{code}</code>" in page


def test_the_page_for_people_speaks_in_words_and_shows_a_request(ask):
    page = ask("GET", "/docs").body.decode()
    assert "<td><code>row</code></td><td>an object of columns and cells</td>" in page
    assert "a list of objects of columns and cells or lists of cells" in page
    assert "curl ADDRESS/predict --json" in page
    assert "As <code>/predict</code>, for the model of this name." in page
    for machine_words in ("string", "integer", "boolean", "or null or"):
        assert machine_words not in page
    links = set(re.findall(r"href='#(\w+)'", page))
    assert links >= {"WhatIf", "ExplainedRow", "ColumnInfo"}
    assert all(f"<h3 id='{name}'>" in page for name in links)


def test_malformed_json_is_told_once_with_its_place(ask):
    said = ask.predict(body=b'{"row": {"size": 3,}}')
    assert said.error.code == "bad_json"
    assert said.error.message.startswith("the body is not valid JSON: trailing comma in object (byte ")


def test_whoever_is_lost_is_shown_the_page_of_all_paths(ask):
    assert ask("GET", "/").error.message == "there is nothing at '/'. See /docs for all paths."
