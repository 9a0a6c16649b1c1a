"""tanager load: rows sent by the clock to a small stand-in of the service, and what is said about its answers."""

import gc
import importlib.util
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from csv_files import write_rows

pytest.importorskip("msgspec", reason="needs the extra 'serve'")

from tanager.cli.load import arrivals
from tanager.cli.sending import Address, Request, send
from waiting import PATIENCE, wait_for

INFO = {
    "name": "weather",
    "kind": "AnytimeAODE",
    "target": "play",
    "classes": ["no", "yes"],
    "columns": [
        {"name": "sky", "kind": "categorical", "values": ["rain", "sun"]},
        {"name": "wind", "kind": "categorical", "values": [1, 2]},
        {"name": "heat", "kind": "numeric", "cuts": [20.5]},
    ],
}


def named(body, row):
    return dict(zip(body["columns"], row, strict=True))


class Weather(BaseHTTPRequestHandler):
    """Says yes to sun, with two members for every second request; keeps what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path, None))
        self.say({"models": [{"name": name} for name in self.server.names]} if self.path == "/models" else INFO)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        self.server.tokens.add(self.headers["Authorization"])
        assert self.server.answering.wait(PATIENCE)
        if self.server.broken or (self.path.endswith("learn") and self.loses_response()):
            self.close_connection = True
            return
        if self.server.busy:
            self.say({"error": {"code": "busy", "message": "too many requests are waiting.", "where": None}}, 429)
        elif self.path.endswith("learn"):
            self.say({"model": "weather", "learned": 1, "sequence": 1, "unknown_ids": []})
        else:
            rows = [body["row"]] if "row" in body else [named(body, row) for row in body["rows"]]
            labels = ["yes" if row["sky"] == "sun" else "no" for row in rows]
            self.say({"labels": labels, "members": [2 * (len(self.server.asked) % 2)] * len(rows)})

    def loses_response(self):
        """Whether the response to a key is lost: for every third one, the first time."""
        keys, key = self.server.keys, self.headers["Idempotency-Key"]
        keys.append(key)
        return self.server.forgetful and keys.count(key) == 1 and len(set(keys)) % 3 == 0

    def say(self, content, status=200):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.fixture(autouse=True)
def _tests_stay_frozen(monkeypatch):
    """The command thaws what it froze, and all collected tests with it, which later collections would look through."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


@pytest.fixture
def weather():
    """A service at ``weather.url`` that a test may make slow, busy or silent."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Weather) as server:
        server.daemon_threads = True
        server.url = f"http://127.0.0.1:{server.server_port}"
        server.asked, server.tokens, server.names, server.keys, server.forgetful = [], set(), ["weather"], [], False
        server.answering, server.busy, server.broken = threading.Event(), False, False
        server.answering.set()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.answering.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def days(run):
    """days.csv: four rows, of which the service gets three right."""
    rows = [
        ["sun", 1, 25.5, "a", "yes"],
        ["rain", 2, 18, "b", "no"],
        ["sun", "", 30, "c", "yes"],
        ["sun", 1, 9, "d", "no"],
    ]
    write_rows("days.csv", ["sky", "wind", "heat", "note", "play"], rows)
    return "days.csv"


QUICK = ("--rates", "80", "--seconds", 0.25, "--arrivals", "even")


def bodies(weather, verb="predict"):
    return [body for path, body in weather.asked if path == f"/models/weather/{verb}"]


def test_rows_are_sent_in_turn_as_the_model_knows_them(run, weather, days):
    document = run("load", days, "--url", weather.url, *QUICK, "--json").document
    assert [document[key] for key in ("model", "kind", "target", "rows")] == ["weather", "AnytimeAODE", "play", 1]
    (line,) = document["rates"]
    assert (line["rate"], line["sent"], line["answered"], line["errors"]) == (80, 20, 20, {})
    assert line["accuracy"] == 0.75
    assert line["members"] == pytest.approx(1, abs=0.11)
    assert line["naive_share"] == pytest.approx(0.5, abs=0.06)
    assert 0 < line["p50_ms"] <= line["p90_ms"] <= line["p99_ms"] <= line["max_ms"]
    sent = sorted(bodies(weather)[:4], key=lambda body: body["row"]["heat"])
    assert sent == [
        {"row": {"sky": "sun", "wind": 1, "heat": 9}},
        {"row": {"sky": "rain", "wind": 2, "heat": 18}},
        {"row": {"sky": "sun", "wind": 1, "heat": 25.5}},
        {"row": {"sky": "sun", "wind": None, "heat": 30}},
    ]


def test_the_table_has_a_line_for_every_rate(run, weather, days):
    done = run("load", days, "--url", weather.url, "--rates", "20,40", "--seconds", 0.5)
    assert f"weather (AnytimeAODE) at {weather.url}: 1 row of days.csv in a request" in done.out
    head, *lines = done.out.splitlines()[2:5]
    assert " ".join(head.split()) == "rate sent answered p50 p90 p99 max members naive accuracy"
    assert [line.split()[0] for line in lines] == ["20/s", "40/s"]
    assert max(map(len, done.out.splitlines())) <= 90
    assert "note: 1 column that the model was not fitted on ('note'): ignored." in done.err


def test_several_rows_make_a_request_and_the_file_begins_again(run, weather, days):
    options = ("--rows", 3, "--budget-us", 250, "--members", 1, "--token", "secret")
    (line,) = run("load", days, "--url", weather.url, *QUICK, *options, "--json").document["rates"]
    assert line["rows_with_class"] == 60
    body = bodies(weather)[0]
    assert body["columns"] == ["sky", "wind", "heat"]
    assert [len(body["rows"]), body["budget_us"], body["members"]] == [3, 250, 1]
    assert weather.tokens == {"Bearer secret"}
    run("load", days, "--url", weather.url, *QUICK, "--rows", 6)
    rows = bodies(weather)[-1]["rows"]
    assert sorted(row[0] for row in rows[:4]) == ["rain", "sun", "sun", "sun"]
    assert rows[4:] == rows[:2]


def test_rows_are_learned_after_their_answers(run, weather, days):
    (line,) = run("load", days, "--url", weather.url, *QUICK, "--learn", "--json").document["rates"]
    assert line["learned"] == 20
    assert line["learn_p99_ms"] > 0
    assert {"row": {"sky": "rain", "wind": 2, "heat": 18}, "label": "no"} in bodies(weather, "learn")
    assert (
        "Learned at 80/s: 20 requests, p99"
        in run("load", days, "--url", weather.url, *QUICK, "--learn", "--rows", 2).out
    )
    assert bodies(weather, "learn")[-1]["labels"] == ["yes", "no"]


def test_rows_whose_response_was_lost_are_sent_again_under_their_key(run, weather, days):
    weather.forgetful = True
    (line,) = run("load", days, "--url", weather.url, *QUICK, "--learn", "--json").document["rates"]
    assert (line["learned"], line["errors"]) == (20, {})
    assert len(set(weather.keys)) == 20
    assert len(weather.keys) > 20


def test_the_same_rows_have_another_key_in_every_run(run, weather, days):
    for _ in range(2):
        run("load", days, "--url", weather.url, *QUICK, "--learn")
    assert len(weather.keys) == len(set(weather.keys)) == 40


def test_without_classes_there_is_no_accuracy(run, weather, days):
    lines = [line.rsplit(",", 1)[0] for line in Path(days).read_text().splitlines()]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    document = run("load", "new.csv", "--url", weather.url, *QUICK, "--json").document
    assert document["target"] is None
    assert document["rates"][0]["accuracy"] is None


def test_latency_counts_from_when_a_request_was_due(weather):
    """A slow service cannot hide its delays by slowing the sender down."""
    weather.answering.clear()
    message = Address(weather.url, model="weather").post("predict", {"row": {"sky": "sun"}})
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send, Address(weather.url), [Request(message)] * 5, [0.0, 0.01, 0.02, 0.03, 0.04])
        wait_for(lambda: len(bodies(weather)) == 5)  # one after the other, the second would wait for the first
        time.sleep(0.1)
        weather.answering.set()
    assert all(reply.latency >= 0.1 for reply in sending.result())


def test_answers_that_do_not_come_are_counted(run, weather, days):
    weather.answering.clear()
    options = ("--rates", "20", "--seconds", 0.3, "--wait", 0.1)
    done = run("load", days, "--url", weather.url, *options, "--json")
    (line,) = done.document["rates"]
    assert line["errors"] == {"unanswered": line["sent"]}
    assert line["max_ms"] > 100
    assert "Errors at 20/s:" in run("load", days, "--url", weather.url, *options).out


def test_refusals_are_counted_by_their_code(run, weather, days):
    weather.busy = True
    (line,) = run("load", days, "--url", weather.url, *QUICK, "--json").document["rates"]
    assert (line["answered"], line["errors"], line["p50_ms"]) == (0, {"busy": 20}, None)
    options = ("--plot", "load.svg") if importlib.util.find_spec("matplotlib") else ()
    assert "Errors at 80/s: 20 busy." in run("load", days, "--url", weather.url, *QUICK, *options).out


def test_broken_connections_are_counted(run, weather, days):
    weather.broken = True
    (line,) = run("load", days, "--url", weather.url, *QUICK, "--json").document["rates"]
    assert line["errors"] == {"unreachable": 20}


def test_arrivals_are_even_or_a_matter_of_chance():
    np.testing.assert_allclose(arrivals(10, 0.5, even=True), [0, 0.1, 0.2, 0.3, 0.4])
    times = np.array(arrivals(1000, 20, seed=3))
    assert len(times) == pytest.approx(20_000, rel=0.03)
    gaps = np.diff(times)
    assert gaps.min() >= 0
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)  # as between events that know nothing of each other


def test_the_picture_is_written(run, weather, days):
    pytest.importorskip("matplotlib", reason="plots need matplotlib, the extra 'plot'")
    done = run("load", days, "--url", weather.url, *QUICK, "--plot", "load.png")
    assert "The picture is in load.png." in done.out
    assert Path("load.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["days.cvs"], "there is no file 'days.cvs'"),
        (["days.csv", "--rates", "10,fast"], "write requests per second with commas, such as 50,200,800"),
        (["days.csv", "--rates", "0"], "'0' is not a list of rates"),
        (["days.csv", "--rates", "1e6"], "that would be 5,000,000 requests; 200,000 are the most"),
        (["days.csv", "--seconds", "0"], "at most 600 s altogether"),
        (["days.csv", "--seconds", "1000"], "at most 600 s altogether"),
        (["days.csv", "--url", "127.0.0.1:8000"], "write it as http://127.0.0.1:8000"),
        (["days.csv", "--url", "http://127.0.0.1:80a"], "write it as http://127.0.0.1:8000"),
        (["days.csv", "--url", "http://192.0.2.1:8000"], "192.0.2.1 is not this machine"),
        (["days.csv", "--url", "http://example.org"], "example.org is not this machine"),
        (["days.csv", "--url", "http://127.0.0.1:1"], "Start one with: tanager serve MODEL"),
        (["days.csv", "--plot", "nowhere/load.png"], "there is no folder 'nowhere'"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(refused, days, words, sentence):
    assert sentence in refused("load", *words)


def test_a_file_must_fit_the_model(refused, weather, days):
    write_rows("other.csv", ["a", "b"], [[1, 2]])
    words = ("--url", weather.url)
    assert "none of the columns that 'weather' has learned: sky, wind, heat" in refused("load", "other.csv", *words)
    assert "no column 'ply'. Did you mean 'play'?" in refused("load", days, *words, "--target", "ply")
    write_rows("unlabelled.csv", ["sky"], [["sun"]])
    assert "--learn needs the classes" in refused("load", "unlabelled.csv", *words, "--learn")


def test_of_several_models_one_must_be_chosen(refused, run, weather, days):
    weather.names = ["weather", "iris"]
    assert "serves weather, iris. Choose one with --model." in refused("load", days, "--url", weather.url)
    assert run("load", days, "--url", weather.url, "--model", "weather", *QUICK).code == 0


def test_something_else_at_the_address_is_noticed(refused, weather, days, monkeypatch):
    monkeypatch.setattr(Weather, "do_GET", lambda self: self.say(b"<html>"))
    assert "is not a tanager service" in refused("load", days, "--url", weather.url)
    error = {"error": {"code": "unauthorized", "message": "the token is missing.", "where": None}}
    monkeypatch.setattr(Weather, "do_GET", lambda self: self.say(error, 401))
    assert refused("load", days, "--url", weather.url) == "tanager load: the token is missing."


def test_rows_come_from_all_over_the_file_and_are_the_same_at_every_rate(run, weather):
    rows = [["sun" if at < 500 else "rain", at % 3, at, "yes" if at < 500 else "no"] for at in range(1000)]
    write_rows("sorted.csv", ["sky", "wind", "heat", "play"], rows)
    quick = ("--rates", "40,80", "--seconds", 0.5, "--arrivals", "even", "--json")
    document = run("load", "sorted.csv", "--url", weather.url, *quick).document
    heats = [body["row"]["heat"] for body in bodies(weather)]
    first, second = heats[:20], heats[20:]
    assert len(second) == 40
    assert set(first) == set(second)
    assert len(set(first)) == 20
    assert 4 < sum(heat < 500 for heat in first) < 16
    assert [line["accuracy"] for line in document["rates"]] == [1.0, 1.0]


def test_rows_of_a_sorted_file_are_sent_in_a_random_order_also_where_all_are_sent(run, weather):
    write_rows("sorted.csv", ["sky", "wind", "heat", "play"], [["sun", 1, at, "yes"] for at in range(20)])
    run("load", "sorted.csv", "--url", weather.url, "--rates", "40", "--seconds", 0.5, "--arrivals", "even")
    heats = [body["row"]["heat"] for body in bodies(weather)]
    assert sorted(heats) == list(range(20))
    assert heats != sorted(heats)
