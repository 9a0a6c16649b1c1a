"""Whatever is sent, the service answers in its one shape, never with a fault of its own, and goes on."""

import contextlib
import json
import re
import socket

import httpx2
import pytest
from fuzz import requests as odd_requests
from hypothesis import given
from hypothesis import strategies as st
from serving import LABELS, Asker, close, live, make_service, write_model

from profiles import examples
from tanager import AnytimeAODE
from tanager.service.errors import CODES
from tanager.service.messages import PredictResponse

NAMES = ["colour", "size", "wild", "siz", "", "\x00", "a" * 300, "ü"]
ODD = [
    0,
    -1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    10**400,
    1e308,
    -1e-308,
    1e-400,
    True,
    None,
    "",
    "NaN",
    "inf",
    "1e999",
]

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.just("long " * 2000)
cells = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words | st.sampled_from([*ODD, "red"])
nested = st.recursive(
    cells, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8
)
rows = st.dictionaries(st.sampled_from(NAMES), cells | nested, max_size=4)
labels = st.sampled_from([*LABELS[:3], "newt"]) | cells | nested
ids = st.sampled_from(["a", "b", ""]) | words
fields = {
    "row": rows | nested,
    "rows": st.lists(rows | st.lists(cells, max_size=3), max_size=4) | nested,
    "columns": st.lists(st.sampled_from(NAMES), max_size=3) | nested,
    "budget_us": cells,
    "members": cells,
    "label": labels,
    "labels": st.lists(labels, max_size=4),
    "weights": st.lists(cells, max_size=4),
    "times": st.lists(cells, max_size=4),
    "id": ids | nested,
    "ids": st.lists(ids, max_size=3) | nested,
    "rwo": cells,
}
likely = st.lists(st.sampled_from(list(fields)), max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: fields[name] for name in names})
)
raw = st.binary(max_size=200) | st.sampled_from(
    [
        b"[" * 100_000,
        b'{"row":' * 50_000,
        b'{"row": {"size": ' + b"9" * 5000 + b"}}",
        b'{"row": {"size": NaN}}',
        b'{"row": {"colour": "\\ud800"}}',
        b'{"row": {"\\udfff": 1}}',
        b'{"row": {"colour": "\xed\xa0\x80"}}',
        b'{"row": {"size": 1e999}}',
        b'{"row": {"size": 1}, "row": {"size": 2}}',
        b"\xef\xbb\xbf{}",
        b"null",
        b'""',
    ]
)
bodies = raw | likely.map(lambda data: json.dumps(data).encode()) | nested.map(lambda data: json.dumps(data).encode())
headers = st.dictionaries(
    st.sampled_from(["content-type", "x-deadline", "x-request-id", "authorization", "accept", "content-encoding"]),
    st.binary(max_size=30).filter(lambda value: not set(value) & set(b"\r\n\0"))
    | st.sampled_from([b"nan", b"1e400", b"-5", b"application/json"]),
    max_size=3,
)
paths = st.sampled_from(["/predict", "/learn", "/models/pets/predict", "/models/pets/learn", "/models/pets/reload"])


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    service = make_service(write_model(tmp_path_factory.mktemp("fuzz") / "pets.tanager", AnytimeAODE()))
    yield Asker(service)
    close(service)


def check(ask, said):
    """The one shape, no fault, and a service that goes on."""
    if said.status != 200:
        assert said.status < 500, said.body
        assert CODES[said.error.code][0] == said.status
        assert said.error.message
        assert len(said.body) < 5000, "an error quotes little of what was sent"
    answer = ask.predict({"row": {"colour": "red", "size": 2.0}}).as_(PredictResponse)
    assert abs(sum(answer.probabilities[0]) - 1) < 1e-9


@examples(100)
@given(paths, bodies)
def test_no_body_is_answered_by_a_fault(ask, path, body):
    check(ask, ask("POST", path, body=body))


@given(paths, likely.map(lambda data: json.dumps(data).encode()), headers)
def test_no_header_is_answered_by_a_fault(ask, path, body, headers):
    check(ask, ask("POST", path, body=body, **headers))


@given(st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS", "PURGE"]), st.text(max_size=60))
def test_no_path_is_answered_by_a_fault(ask, method, path):
    quoted = "".join(f"%{byte:02x}" for byte in path.encode("utf-8", "replace"))
    said = ask(method, f"/{quoted}")
    if method != "HEAD":
        check(ask, said)


def test_some_odd_requests_of_the_fuzzer_go_well():
    """``python -m fuzz.requests`` sends tens of thousands."""
    assert odd_requests.run(400, seed=0, models=["aode"], fresh=200).failures == []


def test_a_label_that_arrays_of_text_cannot_hold_is_refused_before_it_is_written(ask):
    """Found by ``fuzz/requests.py``: the NUL at the end was lost, and the class was not found again."""
    before = ask("GET", "/models").data
    for label in ("\0", "fish\0"):
        for data in ({"row": {}, "label": label}, {"rows": [{}, {}], "labels": [label, "fish"]}):
            said = ask.learn(data)
            assert (said.status, said.error.code) == (422, "bad_value")
            assert "NUL" in said.error.message
    assert ask("GET", "/models").data == before


# --- bytes on the wire ----------------------------------------------------------------------------------------------

lines = st.sampled_from(
    [
        b"POST /predict HTTP/1.1",
        b"GET /health HTTP/1.1",
        b"GET /models/%ff%00 HTTP/1.1",
        b"GET http://[::1 HTTP/1.1",
        b"POST /predict HTTP/1.0",
        b"PRI * HTTP/2.0",
        b"CONNECT a:1 HTTP/1.1",
        b"\x00",
    ]
) | st.binary(max_size=40)
fields_sent = st.lists(
    st.sampled_from(
        [
            b"content-type: application/json",
            b"content-length: 11",
            b"content-length: -1",
            b"content-length: 99999999999999999999999999",
            b"transfer-encoding: chunked",
            b"expect: 100-continue",
            b"upgrade: websocket",
            b"connection: upgrade",
            b"x-deadline: \xff",
            b"host",
            b": nothing",
        ]
    )
    | st.binary(max_size=20),
    max_size=4,
)
ends = st.sampled_from([b'{"row": {}}', b"b\r\n" + b'{"row": {}}' + b"\r\n0\r\n\r\n", b"", b"zz\r\n"]) | st.binary(
    max_size=30
)


@pytest.fixture(scope="module")
def port(ask):
    with live(ask.service) as port:
        yield port


@given(lines, fields_sent, ends)
def test_no_bytes_on_the_wire_are_answered_by_a_fault(port, line, fields, end):
    sent = b"\r\n".join([line, b"host: localhost", *fields, b"connection: close", b"", end])
    with socket.create_connection(("127.0.0.1", port), timeout=600) as wire:
        wire.sendall(sent)
        with contextlib.suppress(OSError):  # it may have hung up already
            wire.shutdown(socket.SHUT_WR)
        heard = b""
        with contextlib.suppress(ConnectionResetError):
            while part := wire.recv(65536):
                heard += part
    for status in re.findall(rb"HTTP/1\.1 (\d\d\d)", heard):
        assert int(status) < 500, heard
    answer = httpx2.post(f"http://127.0.0.1:{port}/predict", json={"row": {"colour": "red", "size": 2.0}})
    assert answer.json()["labels"] == ["fish"]
