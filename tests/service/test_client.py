"""The clients, against a small service that repeats what it was asked."""

import asyncio
import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

httpx2 = pytest.importorskip("httpx2", reason="needs the extra 'serve'")

from tanager.client import RETRY_PAUSES, AsyncClient, Client, ServiceError  # noqa: E402
from tanager.errors import DataError, OptionError  # noqa: E402

ROW = {"sky": "sun", "wind": 3}


class Echo:
    """Answers like a service of one model, and keeps what it was asked; breaks the first `broken` connections."""

    def __init__(self, broken=0, error=httpx2.ConnectError):
        self.broken, self.error, self.requests = broken, error, []

    def __call__(self, request):
        self.requests.append(request)
        if len(self.requests) <= self.broken:
            raise self.error("connection refused", request=request)
        return self.answer(request)

    async def later(self, request):
        return self(request)

    def answer(self, request):
        verb = request.url.path.rsplit("/")[-1]
        if verb == "predict":
            n = max(len(self.body.get("rows", [])), 1)
            common = {"model": "weather", "sequence": 7, "classes": ["no", "yes"], "labels": ["yes"] * n}
            numbers = {"members": [2] * n, "budget_us": 500.0, "time_us": 250.0}
            return self.say({**common, **numbers, "probabilities": [[0.25, 0.75]] * n, "complete": True})
        if verb == "explain":
            return self.say({"model": "weather", "sequence": 7, "explanations": [{"answer": "yes"}]})
        if verb == "learn":
            return self.say({"model": "weather", "learned": 1, "sequence": 8, "unknown_ids": ["b"]})
        return self.say({"path": request.url.path})

    @staticmethod
    def say(content, status=200):
        return httpx2.Response(status, json=content)

    @property
    def body(self):
        return json.loads(self.requests[-1].content)


def client_of(echo, **options):
    return Client("http://test", transport=httpx2.MockTransport(echo), **options)


def sent(*args, verb="predict", **options):
    """The body that a call sends."""
    echo = Echo()
    with client_of(echo) as client:
        getattr(client, verb)(*args, **options)
    return echo.body


def test_a_client_is_printed_with_its_address_and_without_its_token():
    with Client("http://127.0.0.1:8000", token="secret", model="pets") as client:
        assert repr(client) == "Client('http://127.0.0.1:8000', model='pets')"


def test_rows_are_explained():
    assert client_of(Echo()).explain(ROW) == [{"answer": "yes"}]
    assert sent(ROW, verb="explain") == {"row": ROW}
    assert sent([ROW], verb="explain", answer=np.str_("yes"), what_if=True) == {
        "rows": [ROW],
        "answer": "yes",
        "what_if": {},
    }
    asked = {"wanted": "no", "costs": {"wind": 2}}
    assert sent(ROW, verb="explain", against="no", what_if=asked) == {"row": ROW, "against": "no", "what_if": asked}


def test_an_answer_has_labels_probabilities_members_and_times():
    answer = client_of(Echo()).predict([ROW, ROW])
    assert (answer.model, answer.sequence, answer.classes) == ("weather", 7, ["no", "yes"])
    assert (answer.labels, answer.label) == (["yes", "yes"], "yes")
    np.testing.assert_array_equal(answer.proba, [[0.25, 0.75]] * 2)
    np.testing.assert_array_equal(answer.members, [2, 2])
    assert (answer.budget, answer.seconds, answer.complete) == (0.0005, 0.00025, True)


def test_models_without_members_and_budgets_say_none():
    echo = Echo()
    plain = {"model": "nb", "sequence": 0, "classes": [0, 1], "labels": [1], "probabilities": [[0.1, 0.9]]}
    echo.answer = lambda request: echo.say(
        {**plain, "members": None, "budget_us": None, "time_us": 9.0, "complete": True}
    )
    answer = client_of(echo).predict(ROW)
    assert answer.members is None
    assert answer.budget is None


FRAME = pd.DataFrame({"sky": ["sun", None], "wind": [1.5, np.nan], "n": [1, 2]})
CELLS = {"columns": ["sky", "wind", "n"], "rows": [["sun", 1.5, 1], [None, None, 2]]}


@pytest.mark.parametrize(
    ("rows", "columns", "body"),
    [
        (ROW, None, {"row": ROW}),
        ([ROW, {"sky": None}], None, {"rows": [ROW, {"sky": None}]}),
        (iter([ROW]), None, {"rows": [ROW]}),
        (pd.Series(ROW), None, {"row": ROW}),
        (FRAME, None, CELLS),
        (FRAME.astype({"sky": "category", "n": "Int64"}), None, CELLS),
        (pl.from_pandas(FRAME), None, CELLS),
        (pa.Table.from_pandas(FRAME), None, CELLS),
        (FRAME.to_numpy(), ["sky", "wind", "n"], CELLS),
        (np.array([[1.0, 2.5]]), ("a", "b"), {"columns": ["a", "b"], "rows": [[1, 2.5]]}),
        ({"n": np.int64(3), "x": np.float32(0.5), "b": np.bool_(True)}, None, {"row": {"n": 3, "x": 0.5, "b": True}}),
        ({"when": datetime(1970, 1, 2, tzinfo=UTC), "never": pd.NaT}, None, {"row": {"when": 86400, "never": None}}),
        ([], None, {"rows": []}),
    ],
)
def test_rows_may_be_dicts_frames_and_arrays(rows, columns, body):
    assert sent(rows, columns=columns) == body


@pytest.mark.parametrize(
    ("rows", "columns", "sentence"),
    [
        ([[1, 2]], None, "rows without column names: give dicts or a frame"),
        (None, None, "rows without column names"),
        ([1, 2], ["a", "b"], "put a single row into a list"),
        (["ab"], ["a", "b"], "put a single row into a list"),
    ],
)
def test_rows_that_cannot_be_sent_are_refused(rows, columns, sentence):
    with pytest.raises(DataError, match=sentence):
        sent(rows, columns=columns)


def test_what_is_not_asked_for_is_not_sent():
    assert sent(ROW, budget=0.002, members=3, ids="a") == {"row": ROW, "budget_us": 2000, "members": 3, "id": "a"}
    assert sent([ROW], ids=["a"]) == {"rows": [ROW], "ids": ["a"]}


def test_a_deadline_and_a_token_are_headers():
    echo = Echo()
    client_of(echo, token="secret").predict(ROW, deadline=1234.5)
    assert echo.requests[0].headers["X-Deadline"] == "1234.5"
    assert echo.requests[0].headers["Authorization"] == "Bearer secret"
    assert echo.requests[0].headers["Content-Type"] == "application/json"


def test_labels_are_learned_with_their_rows_or_by_their_ids():
    learned = client_of(Echo()).learn(ROW, "yes")
    assert (learned.model, learned.learned, learned.sequence, learned.unknown_ids) == ("weather", 1, 8, ["b"])
    assert sent(ROW, "yes", verb="learn") == {"row": ROW, "label": "yes"}
    body = sent([ROW, ROW], np.array([1, 0]), weights=[1, 0.5], times=pd.to_datetime([0, 1], unit="s"), verb="learn")
    assert body == {"rows": [ROW, ROW], "labels": [1, 0], "weights": [1, 0.5], "times": [0, 1]}
    assert sent(ROW, True, weights=2, verb="learn") == {"row": ROW, "label": True, "weights": [2]}
    assert sent("a", "yes", verb="label") == {"id": "a", "label": "yes"}
    assert sent(["a", "b"], pd.Series(["yes", "no"]), verb="label") == {"ids": ["a", "b"], "labels": ["yes", "no"]}


@pytest.mark.parametrize(
    ("model", "call", "path"),
    [
        (None, lambda c: c.predict(ROW), "/predict"),
        ("a b/c", lambda c: c.predict(ROW), "/models/a%20b%2Fc/predict"),
        ("m", lambda c: c.learn(ROW, 1), "/models/m/learn"),
        ("m", lambda c: c.label("a", 1), "/models/m/learn"),
        (None, lambda c: c.models(), "/models"),
        ("m", lambda c: c.model(), "/models/m"),
        (None, lambda c: c.model("n"), "/models/n"),
        ("m", lambda c: c.health(), "/health"),
    ],
)
def test_every_call_has_its_path(model, call, path):
    echo = Echo()
    call(client_of(echo, model=model))
    assert echo.requests[0].url.raw_path.decode() == path


def test_errors_carry_code_message_place_and_status():
    echo = Echo()
    echo.answer = lambda request: echo.say(
        {"error": {"code": "unknown_column", "message": "there is no 'wnd'.", "where": "row.wnd"}}, 422
    )
    with pytest.raises(ServiceError, match=r"there is no 'wnd'. \(unknown_column\)") as caught:
        client_of(echo).predict({"wnd": 1})
    error = caught.value
    assert (error.code, error.message, error.where, error.status) == (
        "unknown_column",
        "there is no 'wnd'.",
        "row.wnd",
        422,
    )


@pytest.mark.parametrize("content", ["<html>", "[]", '{"error": "no"}', "{}"])
@pytest.mark.parametrize("status", [200, 404])
def test_answers_of_something_else_are_refused(content, status):
    echo = Echo()
    echo.answer = lambda request: httpx2.Response(status, text=content)
    with pytest.raises(ServiceError, match="is not a tanager service") as caught:
        client_of(echo).predict(ROW)
    assert (caught.value.code, caught.value.status) == ("not_tanager", status)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("tanager.client.RETRY_PAUSES", (0, 0))


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.ReadError])
def test_predictions_are_asked_for_again_when_a_connection_breaks(error, impatient):
    echo = Echo(broken=len(RETRY_PAUSES), error=error)
    assert client_of(echo).predict(ROW).label == "yes"
    assert len(echo.requests) == 1 + len(RETRY_PAUSES)


def test_in_the_end_a_silent_service_is_an_error(impatient):
    with pytest.raises(
        ServiceError, match=r"no response from http://test: connection refused\. Is tanager serve running"
    ):
        client_of(Echo(broken=99)).predict(ROW)
    echo = Echo(broken=99, error=httpx2.ReadTimeout)
    with pytest.raises(ServiceError, match="no response from http://test within 3 seconds") as caught:
        client_of(echo, timeout=3).health()
    assert (caught.value.code, caught.value.status, len(echo.requests)) == ("timeout", 0, 1)


@pytest.mark.parametrize("verb", ["learn", "label"])
def test_learning_is_sent_again_under_the_same_key(verb, impatient):
    echo = Echo(broken=1)
    getattr(client_of(echo), verb)("a" if verb == "label" else ROW, "yes")
    first, again = (request.headers["idempotency-key"] for request in echo.requests)
    assert first == again
    getattr(client_of(echo), verb)("a" if verb == "label" else ROW, "yes")
    assert echo.requests[-1].headers["idempotency-key"] != first


def test_where_no_response_comes_the_error_names_the_key(impatient):
    with pytest.raises(ServiceError, match="It is not known whether the rows were learned; with key='order-17' they"):
        client_of(Echo(broken=99)).learn(ROW, "yes", key="order-17")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "localhost", "http://", "http://127.0.0.1:80a", None])
def test_addresses_are_checked(url):
    with pytest.raises(OptionError, match="write it as 'http://127"):
        Client(url)


def test_a_model_must_be_named_to_be_described():
    with pytest.raises(OptionError, match="which model"):
        client_of(Echo()).model()


def test_the_async_client_does_the_same(impatient):
    async def talk():
        echo = Echo(broken=2)
        async with AsyncClient("http://test", transport=httpx2.MockTransport(echo.later)) as client:
            answers = await asyncio.gather(*(client.predict(ROW, members=3) for _ in range(3)))
            learned = await client.learn([ROW], ["yes"])
            health = await client.health()
        assert [answer.label for answer in answers] == ["yes"] * 3
        assert learned.sequence == 8
        assert health == {"path": "/health"}
        silent = AsyncClient("http://test", transport=httpx2.MockTransport(Echo(broken=99).later))
        with pytest.raises(ServiceError, match="no response from"):
            await silent.models()

    asyncio.run(talk())
