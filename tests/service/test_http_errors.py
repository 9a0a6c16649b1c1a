"""What holds for all paths: names, methods, the token, limits, ids of requests, and one shape for errors."""

import asyncio
import contextlib
import logging
import re
import socket
import time

import httpx2
import msgspec
import pytest
from serving import ROWS, Asker, close, live, response, write_model

from tanager.service.access import Access
from tanager.service.app import Bodies, Limits
from tanager.service.errors import CODES, ServiceError
from tanager.service.messages import ErrorResponse, HealthResponse, ModelInfo, ModelList, PredictResponse
from waiting import PATIENCE, wait_for

ROW = {"colour": "red", "size": 2.0}
HEAD = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_models_are_listed_and_described(ask):
    (line,) = ask("GET", "/models").as_(ModelList).models
    assert (line.name, line.kind, line.classes, line.rows, line.sequence) == ("pets", "AODE", ["bird", "fish"], 40, 0)
    info = ask("GET", "/models/pets").as_(ModelInfo)
    assert [(column.name, column.kind) for column in info.columns] == [
        ("colour", "categorical"),
        ("size", "numeric"),
        ("wild", "categorical"),
    ]
    assert info.columns[0].values == ["red", "blue"]
    assert info.options["min_count"] == 1
    assert (info.class_rows, info.learns, info.anytime) == ([20, 20], True, None)


def test_two_models_are_asked_by_name(services, model_file, tmp_path):
    ask = Asker(services(model_file, write_model(tmp_path / "more.tanager")))
    for name in ("pets", "more"):
        assert ask.predict({"row": ROW}, f"/models/{name}/predict").as_(PredictResponse).model == name
    assert ask.learn({"row": ROW, "label": "fish"}, "/models/more/learn").status == 200
    assert [line.sequence for line in ask("GET", "/models").as_(ModelList).models] == [0, 1]
    assert ask.predict({"row": ROW}).error.code == "unknown_path"  # which of the two?
    error = ask.predict({"row": ROW}, "/models/mor/predict").error
    assert error.code == "unknown_model"
    assert "Did you mean 'more'?" in error.message


@pytest.mark.parametrize(
    "path", ["/predct", "/", "/models/pets/predict/", "//predict", "/models//predict", "/%00", "/é"]
)
def test_a_path_that_is_not_there_is_told(ask, path):
    said = ask.predict({"row": ROW}, path)
    assert said.status == 404
    assert said.error.code in ("unknown_path", "unknown_model")


def test_another_method_is_told(ask):
    said = ask("GET", "/predict")
    assert (said.status, said.error.code, said.headers["allow"]) == (405, "wrong_method", "POST")
    assert ask("DELETE", "/models/pets").error.code == "wrong_method"


def test_a_body_must_be_declared_as_json(ask):
    said = ask.predict(body=b'{"row": {}}', content_type="application/x-www-form-urlencoded")
    assert (said.status, said.error.code) == (415, "wrong_content_type")
    assert ask.predict(body=b'{"row": {}}', content_type="Application/JSON; charset=utf-8").status == 200


def test_every_request_has_an_id_and_keeps_its_own(ask):
    assert ask("GET", "/health", x_request_id="mine-1").headers["x-request-id"] == "mine-1"
    ids = {ask("GET", path).headers["x-request-id"] for path in ("/health", "/models", "/nothing")}
    assert len(ids) == 3
    assert ask("GET", "/health", x_request_id="x" * 101).headers["x-request-id"] != "x" * 101


# --- the token ----------------------------------------------------------------------------------------------------


def test_a_token_is_asked_for_everywhere_but_at_health(services, model_file):
    ask = Asker(services(model_file, token="secret"))
    for method, path in (
        ("GET", "/models"),
        ("GET", "/metrics"),
        ("POST", "/predict"),
        ("POST", "/models/pets/reload"),
    ):
        for given in (
            {},
            {"authorization": "Bearer secre"},
            {"authorization": "secret"},
            {"authorization": "Bearer é".encode()},
        ):
            said = ask(method, path, **given)
            assert (said.status, said.error.code, said.headers["www-authenticate"]) == (401, "unauthorized", "Bearer")
    assert ask("GET", "/health").status == 200
    assert ask.predict({"row": ROW}, authorization="Bearer secret").status == 200


# --- names and origins ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "a.localhost", "127.0.0.1:80", "[::1]:8000", "10.1.2.3"]
)
def test_addresses_and_localhost_are_names_that_no_page_can_take(ask, host):
    assert ask("GET", "/models", host=host).status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "localhost.evil.example", "0x7f.1"])
def test_a_strange_name_is_refused(ask, host):
    for method, path in (("GET", "/models"), ("POST", "/learn"), ("GET", "/metrics"), ("GET", "/openapi.json")):
        assert (said := ask(method, path, host=host)).error.code == "wrong_host"
        assert said.status == 421


def test_names_can_be_allowed(services, model_file):
    for hosts, allowed, refused in (
        (
            ("api.example", "*.inner.example"),
            ["API.example:1", "a.b.inner.example"],
            ["inner.example", "x.api.example"],
        ),
        (("*",), ["any.example"], []),
    ):
        ask = Asker(services(model_file, hosts=hosts))
        assert [ask("GET", "/models", host=host).status for host in allowed] == [200] * len(allowed)
        assert [ask("GET", "/models", host=host).status for host in refused] == [421] * len(refused)
        close(ask.service)


def test_with_a_token_any_name_will_do_unless_names_are_given(services, model_file):
    ask = Asker(services(model_file, token="secret"))
    assert ask("GET", "/models", host="any.example", authorization="Bearer secret").status == 200
    close(ask.service)
    ask = Asker(services(model_file, token="secret", hosts=("api.example",)))
    assert ask("GET", "/models", host="any.example", authorization="Bearer secret").status == 421


def test_two_names_are_one_too_many():
    with pytest.raises(ServiceError, match="two Host headers"):
        Access().check_sender([(b"host", b"localhost"), (b"host", b"evil.example")], changes=False)


@pytest.mark.parametrize(
    "given",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
    ids=str,
)
def test_pages_of_others_change_nothing(ask, model_file, given):
    write_model(model_file, labels=["cat", "cat", "dog", "dog"] * 10)
    for path, data in (
        ("/models/pets/reload", None),
        ("/learn", {"row": ROW, "label": "fish"}),
        ("/predict", {"row": ROW}),
    ):
        said = ask("POST", path, data, **given)
        assert (said.status, said.error.code) == (403, "wrong_origin")
    assert ask.predict({"row": ROW}).as_(PredictResponse).labels == ["fish"]
    assert ask("GET", "/models").as_(ModelList).models[0].sequence == 0


def test_a_page_of_the_service_itself_is_answered(ask):
    same = {"host": "localhost:8000", "origin": "http://localhost:8000", "sec_fetch_site": "same-origin"}
    assert ask.predict({"row": ROW}, **same).status == 200


# --- limits -------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_before_it_is_read(services, model_file):
    service = services(model_file, limits=Limits(body=100))
    said = Asker(service).predict({"row": {"colour": "x" * 200}})
    assert (said.status, said.error.code, said.headers["connection"]) == (413, "too_large", "close")
    with live(service) as port, socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(HEAD + b"content-length: 101\r\n\r\n")
        assert b"413" in response(wire)
    with live(service) as port, socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n" + (b"40\r\n" + b" " * 64 + b"\r\n") * 2)
        assert b"413" in response(wire)


def test_a_large_body_comes_in_many_pieces(services, model_file):
    body = {"rows": ROWS * 200}
    with (
        live(services(model_file, limits=Limits())) as port,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        for _ in range(2):
            answer = client.post("/predict", json=body)
            assert len(answer.request.content) > 300_000
            assert len(answer.json()["labels"]) == 8000


def test_a_body_that_does_not_come_is_not_waited_for(services, model_file):
    service = services(model_file, limits=Limits(seconds=0))
    with live(service) as port, socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(HEAD + b"content-length: 50\r\n\r\n{")
        assert b"408" in response(wire)


def test_requests_beyond_the_queue_are_asked_to_come_again(services, model_file):
    service = services(model_file, limits=Limits(queue=2))

    async def crowd():
        transport = httpx2.ASGITransport(service.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = [client.post("/predict", json={"row": ROW}) for _ in range(6)]
            return [answer.status_code for answer in await asyncio.gather(*asked)]

    statuses = asyncio.run(crowd())
    assert statuses.count(200) >= 2
    assert set(statuses) == {200, 429}
    assert Asker(service).predict({"row": ROW}).status == 200


def test_all_bodies_together_have_a_limit(services, model_file):
    service = services(model_file, limits=Limits(body=100, bodies=150))
    ask = Asker(service)
    small, large = {"row": {"colour": "red"}}, {"row": {"colour": "x" * 60}}
    with Bodies(service) as other:
        other.add(100)
        said = ask.predict(large)
        assert (said.status, said.error.code, said.headers["retry-after"]) == (429, "busy", "1")
        assert ask.predict(small).status == 200
    assert ask.predict(large).status == 200
    assert service.body_bytes == 0


def test_while_it_stops_the_service_takes_no_requests(ask, service):
    service.stopping = True
    said = ask.predict({"row": ROW})
    assert (said.status, said.error.code) == (503, "stopping")
    assert ask("GET", "/health").as_(HealthResponse).status == "stopping"


# --- what is no HTTP ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"garbage\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /predict HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"\x16\x03\x01\x02",
    ],
    ids=["words", "version", "length", "tls"],
)
def test_what_is_no_http_gets_the_same_shape(service, sent):
    with live(service) as port:
        with socket.create_connection(("127.0.0.1", port)) as wire:
            wire.sendall(sent)
            head, _, body = response(wire).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400")
        assert msgspec.json.decode(body, type=ErrorResponse).error.code == "bad_http"
        assert httpx2.post(f"http://127.0.0.1:{port}/predict", json={"row": ROW}).status_code == 200


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"x-long: " + b"x" * (80 << 10), b"longer than 64 KB"),  # and no end of it
        ((b"x-long: " + b"x" * (3 << 10) + b"\r\n") * 40 + b"\r\n", b"longer than 64 KB"),
        (b"x: \r\n" * 200 + b"\r\n", b"more than 100 headers"),
    ],
    ids=["one", "complete", "many"],
)
def test_endless_headers_come_to_an_end(service, sent, said):
    """A head that is too long is refused however it arrives: in one piece, or byte by byte."""
    with live(service) as port, socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
        with contextlib.suppress(OSError):  # it may have been refused already
            wire.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + sent)
        heard = response(wire)
        assert b"400" in heard
        assert said in heard


# --- faults -------------------------------------------------------------------------------------------------------


def test_a_fault_is_logged_and_told_in_the_same_shape_without_details(ask, service, monkeypatch, caplog):
    def broken(*_):
        raise ZeroDivisionError("secret details")

    monkeypatch.setattr(service.served["pets"], "predict", broken)
    with caplog.at_level(logging.ERROR):
        said = ask.predict({"row": ROW}, x_request_id="mine")
    assert (said.status, said.error.code) == (500, "unexpected")
    assert "mine" in said.error.message
    assert b"secret" not in said.body
    assert "ZeroDivisionError: secret details" in caplog.text
    monkeypatch.undo()
    assert ask.predict({"row": ROW}).status == 200


def test_every_code_has_a_status_and_every_error_its_shape():
    for code, (status, about) in CODES.items():
        error = ServiceError(code, "It is so.", "rows[1]")
        assert error.status == status
        assert about
        assert msgspec.json.decode(error.body(), type=ErrorResponse).error.code == code


# --- metrics and the log ------------------------------------------------------------------------------------------


def test_metrics_count_what_happens(ask):
    ask.predict({"rows": ROWS[:3]})
    ask.predict({"row": {"siz": 1}})
    ask.learn({"rows": ROWS[:2], "labels": ["fish", "bird"]})
    text = ask("GET", "/metrics").body.decode()
    for line in (
        'tanager_requests_total{path="/predict",status="200"} 1.0',
        'tanager_requests_total{path="/predict",status="422"} 1.0',
        'tanager_request_seconds_count{path="/predict"} 2.0',
        'tanager_rows_total{model="pets"} 3.0',
        'tanager_learned_rows_total{model="pets"} 2.0',
        'tanager_state{model="pets",what="rows_since_snapshot"} 2.0',
        "tanager_queue_length 0.0",
    ):
        assert f"\n{line}\n" in text
    assert 'tanager_load{what="utilisation"}' in text


def test_health_tells_strangers_nothing(services, model_file):
    for token in (None, "secret"):
        ask = Asker(services(model_file, token=token))
        assert ask("GET", "/health", host="anything.example").data == {"status": "ok"}
        close(ask.service)


def test_a_description_says_nothing_about_folders(ask, model_file):
    folder = str(model_file.parent)
    model_file.write_bytes(b"nonsense")
    refused = ask("POST", "/models/pets/reload")
    for said in (ask("GET", "/models"), ask("GET", "/models/pets"), refused):
        assert folder not in said.body.decode()
    assert "'pets.tanager'" in refused.error.message


def test_a_line_is_logged_for_every_request_where_asked_for(services, model_file, caplog):
    ask = Asker(services(model_file, log=True))
    with caplog.at_level(logging.INFO, "tanager.access"):
        said = ask.predict({"row": ROW}, "/predict?secret=1", x_request_id="mine")
        ask("GET", "/nothing")
    first, second = caplog.messages
    assert re.fullmatch(rf"127.0.0.1:\d+ POST /predict 200 {len(said.body)} B [\d.]+ ms mine", first)
    assert re.fullmatch(r"127.0.0.1:\d+ GET /nothing 404 \d+ B 0.0 ms \S+", second)


# --- idle time and new files --------------------------------------------------------------------------------------


class Improving:
    """A model with something to do between requests."""

    def __init__(self, model, slices):
        self.model, self.left = model, slices

    def __getattr__(self, name):
        return getattr(self.model, name)

    def improve(self, seconds):
        self.left -= 1
        return self.left > 0


def test_idle_time_is_used_until_nothing_is_left_to_do(service):
    served = service.served["pets"]
    served.store.model = Improving(served.store.model, 5)
    with live(service) as port:
        wait_for(lambda: served.store.model.left <= 0)
        assert httpx2.post(f"http://127.0.0.1:{port}/predict", json={"row": ROW}).status_code == 200
        assert 'tanager_improve_seconds_total{model="pets"}' in httpx2.get(f"http://127.0.0.1:{port}/metrics").text
        time.sleep(0.1)
        assert served.store.model.left == 0
        served.store.model.left = 3
        httpx2.post(f"http://127.0.0.1:{port}/learn", json={"row": ROW, "label": "fish"})  # there is more to do now
        wait_for(lambda: served.store.model.left == 0)


def test_idle_time_is_left_alone_where_the_service_says_so(services, model_file):
    service = services(model_file, improves=False)
    served = service.served["pets"]
    served.store.model = Improving(served.store.model, 5)
    with live(service):
        time.sleep(0.1)
    assert served.store.model.left == 5


def test_a_new_model_file_is_taken_over(ask, model_file):
    assert ask("POST", "/models/pets/reload").data == {"model": "pets", "reloaded": False, "sequence": 0}
    ask.learn({"row": ROW, "label": "fish"})
    write_model(model_file, labels=["cat", "cat", "dog", "dog"] * 10)
    assert ask("POST", "/models/pets/reload").data == {"model": "pets", "reloaded": True, "sequence": 0}
    assert ask.predict({"row": ROW}).as_(PredictResponse).labels == ["cat"]


def test_a_model_file_that_cannot_be_used_is_refused_and_the_old_model_goes_on(ask, model_file):
    model_file.write_bytes(b"nonsense")
    said = ask("POST", "/models/pets/reload")
    assert (said.status, said.error.code) == (422, "bad_model_file")
    assert ask.predict({"row": ROW}).as_(PredictResponse).labels == ["fish"]


def test_model_files_are_watched(services, model_file, monkeypatch, caplog):
    monkeypatch.setattr("tanager.service.app.WATCH_SECONDS", 0.02)
    service = services(model_file)
    ask = Asker(service)
    with live(service), caplog.at_level(logging.WARNING):
        write_model(model_file, labels=["cat", "cat", "dog", "dog"] * 10)
        wait_for(lambda: "a new model file was loaded" in caplog.text)
        assert ask.predict({"row": ROW}).as_(PredictResponse).labels == ["cat"]
        model_file.write_bytes(b"nonsense")
        wait_for(lambda: "cannot be used, and the old model stays in use" in caplog.text)
