"""Errors of requests: all have one JSON form, with a code from the table here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from tanager.errors import (
    DataError,
    MemoryBudgetError,
    ModelFileError,
    OptionError,
    SchemaMismatch,
    TanagerError,
    nearest,
)
from tanager.service.journal import JournalError
from tanager.service.keys import KeyReused
from tanager.service.messages import ErrorDetail, ErrorResponse

CODES = {
    "bad_http": (400, "not a valid HTTP request, or a header cannot be read"),
    "bad_json": (400, "the body is not valid JSON"),
    "unauthorized": (401, "the bearer token is missing or wrong"),
    "wrong_origin": (403, "a web page of another origin sent the request"),
    "read_only": (403, "the service was started with --read-only"),
    "unknown_path": (404, "there is nothing at this path"),
    "unknown_model": (404, "no model of that name is served"),
    "wrong_method": (405, "the path exists, but takes another method"),
    "too_slow": (408, "the request did not arrive in time"),
    "too_large": (413, "the body has too many bytes"),
    "too_many_rows": (413, "one request has too many rows"),
    "wrong_content_type": (415, "the body is not declared as application/json"),
    "wrong_host": (421, "the Host header has a name that the service does not know as its own"),
    "wrong_shape": (422, "the JSON does not have the form that the path takes"),
    "wrong_type": (422, "a value is of another type than expected"),
    "unknown_field": (422, "the request has a field that does not exist"),
    "unknown_column": (422, "a row has a column that the model does not have"),
    "bad_value": (422, "a cell, label, weight or time cannot be used"),
    "key_reused": (422, "the Idempotency-Key was that of another request"),
    "bad_option": (422, "the model does not support what the request asks for"),
    "bad_model_file": (422, "the model file cannot be used; the old model stays in use"),
    "nothing_learned": (422, "the model has learned nothing yet, so it cannot answer"),
    "too_much_memory": (422, "learning this would take more than max_memory"),
    "busy": (429, "too many requests are waiting"),
    "unexpected": (500, "an error in the service itself; see its log, under the request id"),
    "stopping": (503, "the service is shutting down"),
    "not_durable": (507, "the log could not be written, and nothing was learned"),
}


class ServiceError(TanagerError):
    """A request that is refused: code, message, and the place in the request."""

    def __init__(self, code: str, message: str, where: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.where = code, message, where

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return CODES[self.code][0]

    def body(self) -> bytes:
        """The error as JSON."""
        where = None if self.where is None else _cut(self.where, 3 * _LONGEST)
        return msgspec.json.encode(ErrorResponse(ErrorDetail(self.code, _cut(self.message, 10 * _LONGEST), where)))


_OF_LIBRARY: dict[type[Exception], str] = {
    SchemaMismatch: "unknown_column",
    KeyReused: "key_reused",
    DataError: "bad_value",
    OptionError: "bad_option",
    MemoryBudgetError: "too_much_memory",
    ModelFileError: "bad_model_file",
}


def from_library(error: TanagerError | OSError) -> ServiceError:
    """An error that the library raised on purpose."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, OSError):
        return ServiceError("not_durable", f"nothing was learned: {error.strerror or 'the disk failed'}.")
    if isinstance(error, JournalError):
        return ServiceError("not_durable", f"nothing was learned: {without_folders(str(error))}")
    code = next((code for kind, code in _OF_LIBRARY.items() if isinstance(error, kind)), "bad_value")
    return ServiceError(code, str(error))


def without_folders(text: str) -> str:
    """A sentence about files, without saying where they are: that is for the log, not for whoever asks.

    >>> without_folders("cannot write to '/var/lib/tanager/1.log': no space left on device.")
    "cannot write to '1.log': no space left on device."
    """
    return re.sub(r"'[^']*/([^'/]*)'", r"'\1'", text)


_LONGEST = 80  # characters of what errors quote
_PLACE = re.compile(r" - at `(?:key in )?`?\$?(.*?)`*$")
_NAMES = {
    "array": "a list",
    "object": "an object",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def from_decoder(error: Exception, body: bytes, fields: tuple[str, ...]) -> ServiceError:
    """An error of the JSON decoder, with the full place; the decoder itself does not name the columns of a row."""
    if not isinstance(error, msgspec.ValidationError):
        return ServiceError("bad_json", _malformed(_lower(str(error).removeprefix("JSON is malformed: ")), body))
    text = str(error)
    unknown = re.search(r"unknown field `(.*)`", text)
    if unknown:
        hint = suggestion(unknown[1], fields) or f" The fields are {', '.join(fields)}."
        return ServiceError("unknown_field", f"there is no field {quoted(unknown[1])}.{hint}", unknown[1])
    place = _PLACE.search(text)
    where = (place[1].removeprefix(".") if place else "") or "the body"
    if where.endswith("[...]"):
        return _wrong_cell(where.removesuffix("[...]"), body)
    return ServiceError("wrong_type", f"{_wrong_kind(where, _PLACE.sub('', text))} See /docs for the format.", where)


# What the fields of requests take, with an example.
_FORMS = {
    "row": 'an object of columns and cells, such as {"colour": "red", "size": 3}',
    "rows": 'a list of rows, such as [{"colour": "red"}, {"colour": "blue"}], or of lists of cells with "columns"',
    "columns": 'a list of names of columns, such as ["colour", "size"]',
    "label": 'text, a number, true or false, such as "yes"',
    "labels": 'a list with a label for every row, such as ["yes", "no"]',
    "weights": "a list with a number for every row, such as [1, 0.5]",
    "times": "a list with a number for every row, such as [1, 2]",
    "ids": 'a list with an id for every row, such as ["a", "b"]',
    "what_if": 'an object, such as {"wanted": "yes"}',
    "the body": 'an object, such as {"row": {"colour": "red", "size": 3}}',
}


def _malformed(why: str, body: bytes) -> str:
    """What is wrong with a body that is no JSON, and what to do.

    >>> _malformed("invalid character (byte 6)", b'{"a": NaN}')
    'the body is not valid JSON, which has no NaN (byte 6). Send null for a missing cell.'
    >>> _malformed("input data was truncated", b"")
    'the body is empty; it takes an object, such as {"row": {"colour": "red", "size": 3}}.'
    >>> _malformed("trailing comma in object (byte 8)", b'{"a": 1,}')
    'the body is not valid JSON: trailing comma in object (byte 8). Check it with: python -m json.tool'
    """
    if not body.strip():
        return f"the body is empty; it takes {_FORMS['the body']}."
    place = re.search(r"\(byte (\d+)\)", why)
    no_number = place and re.match(rb"NaN|-?Infinity", body[int(place[1]) :].removeprefix(b"-"))
    if place and no_number:  # which Python's own json writes and reads
        name = no_number[0].decode()
        return f"the body is not valid JSON, which has no {name} {place[0]}. Send null for a missing cell."
    return f"the body is not valid JSON: {why}. Check it with: python -m json.tool"


def _wrong_kind(where: str, text: str) -> str:
    """What a field takes, and what was found, from the decoder's "Expected `object | null`, got `array`".

    >>> _wrong_kind("columns", "Expected `array | null`, got `int`")
    'columns is a whole number; it takes a list of names of columns, such as ["colour", "size"].'
    >>> _wrong_kind("members", "Expected `int` >= 0")
    'members: expected a whole number >= 0.'
    """
    kinds = re.fullmatch(r"Expected `(.*)`, got `(.*)`", text)
    if kinds is None:
        return f"{where}: {re.sub('`(.*?)`', lambda found: _in_words(found[1]), _lower(text))}."
    return f"{where} is {_in_words(kinds[2])}; it takes {_FORMS.get(where) or _in_words(kinds[1])}."


def _in_words(kinds: str) -> str:
    """``object | null`` as ``an object or null``."""
    return " or ".join(dict.fromkeys(_NAMES.get(kind, kind) for kind in kinds.split(" | ")))


def _wrong_cell(place: str, body: bytes) -> ServiceError:
    """The cell of a row (given by its place) that the decoder refused."""
    try:
        whole: Any = msgspec.json.decode(body)
        number = re.fullmatch(r"rows\[(\d+)\]", place)
        row = whole["rows"][int(number[1])] if number else whole[place]
        name, cell = next((name, cell) for name, cell in row.items() if not is_cell(cell))
    except (ValueError, LookupError, StopIteration, RecursionError):
        name, cell = "", None
    where = f"{place}.{name}" if name else place
    kind, way_out = _NAMES.get("array" if isinstance(cell, list) else "object" if isinstance(cell, dict) else ""), ""
    if kind is None:
        kind, way_out = "out of range", ' Send a larger whole number as text, such as "12345678901234567890".'
    return ServiceError(
        "wrong_type", f"{where} is {kind}; a cell is text, a number of 64 bits, true, false or null.{way_out}", where
    )


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name; long names are not compared, since that takes long."""
    return nearest(name, known) if len(name) <= _LONGEST else ""


def quoted(value: object) -> str:
    """A value as an error quotes it; only the beginning of a long one.

    >>> quoted("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ...'"
    """
    return repr(_cut(value, _LONGEST) if isinstance(value, str) else value)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} ..."


def is_cell(cell: object) -> bool:
    """Whether a row can hold this: text, a boolean, null, or a number that 64 bits can hold."""
    whole = isinstance(cell, int) and not -(2**63) <= cell < 2**63
    return not (whole or isinstance(cell, list | dict))


def _lower(text: str) -> str:
    """Without a capital at the beginning, unless the word is all capitals (JSON), and without a full stop."""
    return (text if text[1:2].isupper() else text[:1].lower() + text[1:]).rstrip(".")
