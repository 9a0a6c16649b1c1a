"""Requests to learn that come again under their key count once, over HTTP."""

import asyncio

import httpx2
import pytest
from serving import Asker

ROW = {"row": {"colour": "red", "size": 2.0}, "label": "fish"}


def rows(ask):
    return ask("GET", "/models/pets").data["rows"]


def test_a_request_under_a_key_counts_once_and_says_so(ask, service):
    first = ask.learn(ROW, idempotency_key="order-17").data
    again = ask.learn(ROW, idempotency_key="order-17").data
    assert (first["repeated"], again) == (False, first | {"repeated": True})
    assert rows(ask) == 41
    assert ask.learn(ROW, idempotency_key="order-18").data["sequence"] == 2
    assert ask.learn(ROW).data["sequence"] == 3
    assert 'tanager_learned_rows_total{model="pets"} 3.0' in ask("GET", "/metrics").body.decode()
    assert not service.served["pets"]._turns


def test_labels_of_ids_count_once_and_unknown_ids_are_named_again(ask):
    ask.predict({"rows": [ROW["row"]] * 2, "ids": ["a", "b"]})
    body = {"ids": ["x", "a", "b"], "labels": ["fish"] * 3}
    first = ask.learn(body, idempotency_key="k").data
    again = ask.learn(body, idempotency_key="k").data
    assert (first["learned"], first["unknown_ids"]) == (2, ["x"])
    assert again == first | {"repeated": True}
    assert rows(ask) == 42


def test_a_key_of_another_request_and_a_key_that_cannot_be_read_are_refused(ask):
    ask.learn(ROW, idempotency_key="k")
    other = ask.learn(ROW | {"label": "bird"}, idempotency_key="k")
    assert (other.status, other.error.code) == (422, "key_reused")
    for bad in ("", "two words", "x" * 201):
        refused = ask.learn(ROW, idempotency_key=bad)
        assert (refused.status, refused.error.where) == (400, "Idempotency-Key")
    assert rows(ask) == 41


@pytest.mark.parametrize("body", [ROW, {"id": "a", "label": "fish"}])
def test_requests_of_one_key_at_the_same_time_count_once(ask, service, body):
    ask.predict({"row": ROW["row"], "id": "a"})

    async def together():
        transport = httpx2.ASGITransport(service.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(
                *(client.post("/learn", json=body, headers={"idempotency-key": "k"}) for _ in range(5))
            )

    answers = [answer.json() for answer in asyncio.run(together())]
    assert [answer["learned"] for answer in answers] == [1] * 5
    assert sorted(answer["repeated"] for answer in answers) == [False] + [True] * 4
    assert rows(ask) == 41


def test_a_key_counts_after_a_restart(services, model_file):
    first = services(model_file)
    Asker(first).learn(ROW, idempotency_key="k")
    first.served["pets"].store.close()
    ask = Asker(services(model_file))
    assert ask.learn(ROW, idempotency_key="k").data["repeated"]
    assert rows(ask) == 41
