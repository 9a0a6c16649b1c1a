"""The client, its page and the sender of ``tanager load`` against the service itself."""

import asyncio
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from serving import LABELS, ROWS, live, write_model
from sklearn.datasets import load_iris

from tanager import TAN, AnytimeAODE, importance, nomogram
from tanager.cli.sending import Address, Request, get_json, send
from tanager.client import AsyncClient, Client, ServiceError

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def anytime(services, tmp_path):
    """The address of a service over an anytime model of pets."""
    with live(services(write_model(tmp_path / "pets.tanager", AnytimeAODE(stop="all")), target=0.1)) as port:
        yield f"http://127.0.0.1:{port}"


def test_answers_are_those_of_the_model(anytime):
    model = AnytimeAODE(stop="all").fit(ROWS, LABELS)
    with Client(anytime) as client:
        answer = client.predict(ROWS[:4])
        np.testing.assert_allclose(answer.proba, model.predict_proba(ROWS[:4]), rtol=1e-12)
        assert answer.labels == ["fish", "fish", "bird", "bird"]
        np.testing.assert_array_equal(answer.members, model.members_used_)
        assert answer.complete
        np.testing.assert_array_equal(client.predict(ROWS[:2], members=0).members, [0, 0])
        assert client.models()["models"][0]["name"] == "pets"
        assert client.model("pets")["kind"] == "AnytimeAODE"
        assert client.health()["status"] == "ok"


def test_rows_are_learned_now_or_when_their_labels_are_known(anytime):
    with Client(anytime, model="pets") as client:
        assert client.learn(ROWS[0], "fish").learned == 1
        client.predict(ROWS[:2], ids=["a", "b"])
        learned = client.label(["a", "c"], ["bird", "fish"])
        assert (learned.learned, learned.unknown_ids) == (1, ["c"])
        assert client.model()["rows"] == len(ROWS) + 2


def test_columns_that_matter_and_what_their_values_add(services, tmp_path):
    model = TAN().fit(ROWS, LABELS)
    with (
        live(services(write_model(tmp_path / "pets.tanager", TAN()))) as port,
        Client(f"http://127.0.0.1:{port}") as client,
    ):
        for rows in (ROWS, pd.DataFrame(ROWS)):
            told = client.importance(rows, LABELS)
            assert [own["column"] for own in told["columns"]] == [*importance(model, ROWS, LABELS).columns]
        new = client.importance(ROWS[0], ["fish"], learned=False)
        assert new["log_loss"] == pytest.approx(-np.log(model.predict_proba(ROWS[:1])[0, 1]))
        whole, one = client.nomogram(), client.nomogram(ROWS[0], answer="bird", against="fish")
        assert [axis["at"] for axis in whole["axes"]] == [None] * 3
        assert one["log_odds"] == pytest.approx(nomogram(model, ROWS[0], "bird", "fish").total)


def test_what_is_refused_says_where(anytime):
    with Client(anytime) as client, pytest.raises(ServiceError, match="Did you mean 'colour'") as caught:
        client.predict([{"color": "red"}])
    assert (caught.value.code, caught.value.where, caught.value.status) == ("unknown_column", "rows[0].color", 422)


def test_what_is_ignored_is_told(anytime):
    with Client(anytime) as client:
        answer = client.predict([ROWS[0], {"color": "red"}])
    assert answer.warnings == ["1 column that the model was not fitted on ('color'): ignored."]


def test_many_may_be_under_way(anytime):
    async def talk():
        async with AsyncClient(anytime) as client:
            return await asyncio.gather(*(client.predict(row) for row in ROWS))

    assert [answer.label for answer in asyncio.run(talk())] == LABELS


def test_the_sender_reads_what_the_service_says(anytime):
    address = Address(anytime, model="pets")
    assert get_json(address, "/models/pets")["target"] is None
    made = Request(
        address.post("predict", {"row": ROWS[0]}), ["fish"], address.post("learn", {"row": ROWS[0], "label": "fish"})
    )
    wrong = Request(address.post("predict", {"row": {"color": 1}}))
    replies = send(address, [made, wrong, made], [0.0, 0.01, 0.02])
    assert [reply.code for reply in replies] == ["ok", "unknown_column", "ok"]
    assert [reply.learned_code for reply in replies] == ["ok", None, "ok"]
    assert list(replies[0].labels) == ["fish"]
    assert replies[0].members[0] > 0


def test_the_page_of_the_client_runs(services, tmp_path, capsys):
    data = load_iris(as_frame=True)
    path = tmp_path / "iris.tanager"
    AnytimeAODE(stop="all").fit(data.data, data.target_names[data.target]).save(path)
    names = {}
    with live(services(path, target=0.1)) as port:
        for code in BLOCKS:
            exec(compile(code.replace("127.0.0.1:8000", f"127.0.0.1:{port}"), "client.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    claims = re.findall(r"print\(.*\)  # (.*)", PAGE)
    assert len(claims) == 3
    assert all(claim in printed for claim in claims)
