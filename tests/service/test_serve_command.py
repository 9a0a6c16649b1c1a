"""``tanager serve`` as the system runs it: what it prints, signals, exit codes, and state that is there again."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import httpx2
import pytest
from serving import LABELS, ROWS, Asker, response, write_model

from tanager import NaiveBayes
from tanager.cli.serve import curl_line
from tanager.service.messages import PredictResponse
from waiting import PATIENCE, wait_for

COMMAND = [sys.executable, "-c", "from tanager.cli.main import main; main()", "serve"]
ROW = {"colour": "red", "size": 2.0}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


class Process:
    """A running command, its first lines, and a client for it."""

    def __init__(self, folder, *words, before=(), **env):
        plain = {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", **env}
        self.process = subprocess.Popen(
            [*before, *COMMAND, *map(str, words), "--port", "0"],
            cwd=folder,
            env={k: v for k, v in os.environ.items() if k != "TANAGER_TOKEN"} | plain,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = []
        while not self.said or "curl" not in self.said[-1]:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.said.append(line)
        url = re.search(r"https?://\S+", "".join(self.said))[0]
        self.client = httpx2.Client(base_url=url)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.ended()

    def ended(self):
        self.client.close()
        self.out, self.err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@pytest.fixture
def start(tmp_path):
    """Starts the command in a folder with pets.tanager in it; what still runs in the end is killed."""
    write_model(tmp_path / "pets.tanager")
    running = []

    def call(*words, **env):
        running.append(Process(tmp_path, *words, **env))
        return running[-1]

    yield call
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_it_ends_well_and_what_was_learned_is_there_again(start, tmp_path):
    first = start("pets.tanager", "--log")
    said = "".join(first.said)
    assert "pets: AODE, 2 classes, 40 rows" in said
    assert re.search(r"serving at http://127.0.0.1:\d+ after [\d.]+ s; stop with Ctrl-C", said)
    before = first.client.post("/predict", json={"rows": ROWS[:4]}).json()["probabilities"]
    assert first.client.post("/learn", json={"rows": ROWS, "labels": LABELS[::-1]}).json()["sequence"] == 1
    after = first.client.post("/predict", json={"rows": ROWS[:4]}).json()["probabilities"]
    assert end_in_the_middle_of_a_request(first) == 0
    assert first.out.endswith("stopped\n")
    assert re.search(r"\d{4}-\S+ 127.0.0.1:\d+ POST /learn 200 \d+ B [\d.]+ ms \S+", first.err)

    again = start("pets.tanager")
    assert "80 rows" in again.said[0]
    assert again.client.post("/predict", json={"rows": ROWS[:4]}).json()["probabilities"] == after != before
    write_model(tmp_path / "pets.tanager", labels=["cat", "cat", "dog", "dog"] * 10)
    again.process.send_signal(signal.SIGHUP)  # says that there is a new file
    wait_for(lambda: again.client.post("/predict", json={"row": ROW}).json()["labels"] == ["cat"])
    assert again.stop(signal.SIGINT) == 0
    kept = r"of 80 rows with 1 entries that were learned here, is kept in pets.tanager.state/retired-\S+\.\n"
    assert re.fullmatch(rf"pets.tanager is a new model .*{kept}pets: a new model file was loaded\n", again.err)


def end_in_the_middle_of_a_request(one):
    """Says stop while half of a request is there; the other half is read, and answered, before the end."""
    body = b'{"row": {"colour": "red"}}'
    kind = b"content-type: application/json\r\nexpect: 100-continue\r\n"
    address = ("127.0.0.1", one.client.base_url.port)
    with socket.create_connection(address, timeout=PATIENCE) as wire:
        wire.sendall(
            b"POST /predict HTTP/1.1\r\nhost: localhost\r\n%scontent-length: %d\r\n\r\n" % (kind, len(body)) + body[:5]
        )
        assert response(wire).startswith(b"HTTP/1.1 100")  # it is waiting for the body
        one.process.send_signal(signal.SIGTERM)
        wait_for(lambda: is_closed(address))
        wire.sendall(body[5:])
        assert response(wire).startswith(b"HTTP/1.1 200")
    return one.ended()


def is_closed(address):
    """Whether nobody takes new connections there any more."""
    try:
        socket.create_connection(address).close()
    except ConnectionError:
        return True
    return False


@pytest.mark.long
def test_two_models_a_token_and_a_folder_for_their_state(start, tmp_path):
    write_model(tmp_path / "more.tanager")
    one = start("pets.tanager", "more.tanager", "--state", "kept", TANAGER_TOKEN="secret")
    assert "secret" not in "".join(one.said)
    assert one.client.get("/models").status_code == 401
    names = one.client.get("/models", headers={"authorization": "Bearer secret"}).json()["models"]
    assert [line["name"] for line in names] == ["pets", "more"]
    one.process.send_signal(signal.SIGTERM)  # as timeout does: to the process, and again to its group
    assert one.stop() == 0
    assert one.err == ""
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"pets", "more"}
    assert not (tmp_path / "pets.tanager.state").exists()


def test_the_line_to_try_has_dates_as_people_write_them(services, tmp_path):
    days = [f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 11)]
    model = NaiveBayes(dates="parts").fit({"sold": days, "size": ["S", "L"] * 60}, ["no"] * 60 + ["yes"] * 60)
    model.save(tmp_path / "sales.tanager")
    ask = Asker(services(tmp_path / "sales.tanager"))
    body = re.search(r"--json '(.*)'", curl_line(ask.service, "http://127.0.0.1:8000"))[1]
    assert json.loads(body)["row"] == {"sold": "2024-06-20 12:00", "size": "S"}
    assert ask.predict(body=body.encode()).as_(PredictResponse).labels[0] in ("no", "yes")


def test_the_line_to_try_works(ask):
    command = curl_line(ask.service, "http://127.0.0.1:8000")
    assert command.startswith("curl http://127.0.0.1:8000/predict --json ")
    body = re.search(r"--json '(.*)'", command)[1]
    assert ask.predict(body=body.encode()).as_(PredictResponse).labels == ["fish"]
