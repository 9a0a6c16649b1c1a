"""Each row of a topic is learned once and answered once, whatever happens in between."""

from __future__ import annotations

import json
import random
import re

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from brokers import PARTITIONS, Cluster
from click.testing import CliRunner

import tanager
from tanager import AODE, NaiveBayes, kafka
from tanager.cli.main import main
from tanager.errors import DataError, OptionError
from tanager.following import FollowingModel
from tanager.kafka import KafkaFailure, Record, answer, decode_json, learn
from tanager.service.journal import JournalError

QUIET = {"log_level": 0}
SAVE = FollowingModel.save


@pytest.fixture(scope="module")
def cluster():
    return Cluster()


@pytest.fixture
def topic(request):
    return re.sub(r"\W", "-", request.node.name)


def made_rows(n, seed=0):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        label = rng.choice(["no", "yes"])
        sky = rng.choice(["sun", "rain"] if label == "yes" else ["rain", "snow", None])
        rows.append({"sky": sky, "wind": rng.choice("abc"), "class": label})
    return rows


def learned_from(rows, model=None):
    X = [{name: row.get(name) for name in ("sky", "wind")} for row in rows]
    return (model or AODE(categorical=True)).partial_fit(X, [row["class"] for row in rows])


@pytest.fixture
def path(tmp_path):
    """A model that has learned two rows."""
    path = tmp_path / "model.tanager"
    learned_from(made_rows(2, 99), AODE(warm_up=2)).save(path)
    return path


def options(cluster, **more):
    return {"servers": cluster.servers, "target": "class", "stop_at_end": True, "config": QUIET} | more


def same(path, *parts):
    """Whether a model file has counted exactly these rows."""
    twin = learned_from(made_rows(2, 99), AODE(warm_up=2))
    for rows in parts:
        learned_from(rows, twin)
    X = [{name: row[name] for name in ("sky", "wind")} for row in made_rows(50, 7)]
    ours = tanager.load(path)
    order = [twin.classes_.tolist().index(label) for label in ours.classes_]
    apart = abs(ours.predict_proba(X) - twin.predict_proba(X)[:, order]).max()
    return ours.class_count_.sum() == twin.class_count_.sum() and apart < 1e-12


def test_a_file_learns_a_topic_once_and_goes_on_where_it_stopped(cluster, topic, path):
    rows, more = made_rows(60), made_rows(30, 1)
    cluster.send(topic, rows)
    assert learn(path, topic, **options(cluster)).n_rows == 60
    assert same(path, rows)
    assert learn(path, topic, **options(cluster)).n_rows == 0
    cluster.send(topic, more)
    followed = learn(path, topic, **options(cluster))
    assert (followed.n_rows, sum(followed.positions.values())) == (30, 90)
    assert same(path, rows, more)
    assert sum(cluster.committed(topic, "tanager-model")) == 90


def test_whoever_is_killed_reads_the_rows_since_the_last_file_again(cluster, topic, path, monkeypatch):
    """Killed after a save and before its commit, and in the middle of learning."""
    rows = made_rows(200)
    cluster.send(topic, rows)
    monkeypatch.setattr("tanager.kafka.BATCH", 10)

    class Killed(BaseException):
        pass

    def killed_at(n):
        def progress(n_rows, _):
            if n_rows >= n:
                monkeypatch.setattr("tanager.following.FollowingModel.save", lambda self: None)
                raise Killed

        return progress

    for seed in range(6):
        with monkeypatch.context() as patch:
            patch.setattr("tanager.kafka._Topic.commit", lambda *_: None)
            monkeypatch.setattr("tanager.following.FollowingModel.save", SAVE)
            with pytest.raises(Killed):
                learn(path, topic, **options(cluster, save_rows=15, progress=killed_at(10 + 5 * seed)))
    monkeypatch.setattr("tanager.following.FollowingModel.save", SAVE)
    learn(path, topic, **options(cluster))
    assert same(path, rows)


def test_partitions_are_shared_by_two_files_whose_merge_has_all(cluster, topic, path, tmp_path):
    rows = made_rows(80)
    cluster.send(topic, rows)
    other = tmp_path / "other.tanager"
    NaiveBayes().save(path)
    NaiveBayes().save(other)
    learn(path, topic, **options(cluster, partitions=[0, 1]))
    learn(other, topic, **options(cluster, partitions=[2, 3]))
    both = tanager.load(path).merge(tanager.load(other))
    assert both.class_count_.sum() == 80
    assert len(both.read_up_to) == 4


def test_rows_without_label_or_value_are_left_out(cluster, topic, path):
    cluster.send(topic, [*made_rows(8), None, {"sky": "sun"}, {"sky": "sun", "class": None}])
    followed = learn(path, topic, **options(cluster))
    assert (followed.n_rows, followed.n_left_out) == (8, 3)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"\xff\x00", "JSON object"),
        (b"[1, 2]", "JSON object"),
        ({"sky": ["sun"], "class": "yes", "w": 1}, "is a list"),
        ({"skyy": "sun", "class": "yes", "w": 1}, "Did you mean 'sky'"),
        ({"sky": "sun", "class": 7, "w": 1}, "not text"),
        ({"sky": "sun", "class": "yes", "w": "much"}, "'w': 'much' is not a number"),
        ({"sky": "sun", "class": "yes", "w": -1}, "weight"),
    ],
)
def test_a_bad_message_is_named_by_its_place_and_nothing_of_it_is_learned(cluster, topic, path, bad, words):
    rows = [row | {"w": 1} for row in made_rows(9)]
    cluster.send(topic, [*rows[:5], bad, *rows[5:]], partition=2)
    with pytest.raises(DataError, match=r"partition 2, offset 5: ") as error:
        learn(path, topic, **options(cluster, weight="w"))
    assert words in str(error.value)
    assert same(path, rows[:5])
    followed = learn(path, topic, **options(cluster, weight="w", skip_bad=True))
    assert (followed.n_rows, followed.n_left_out) == (4, 1)
    assert same(path, rows)


def test_rows_that_the_brokers_do_not_have_any_more_are_a_loss(cluster, topic, path):
    """The topic ends before the offset in the file: it was deleted and made anew."""
    cluster.send(topic, made_rows(4))
    model = tanager.load(path)
    model.note_read_up_to({f"kafka:{topic}/0": 50})
    model.save(path)
    with pytest.raises(KafkaFailure, match=r"partition 0: the model has learned up to offset 50, .*--accept-loss"):
        learn(path, topic, **options(cluster))
    assert learn(path, topic, **options(cluster, accept_loss=True)).n_rows == 4


def test_latest_learns_what_comes_after_the_start(cluster, topic, path):
    cluster.send(topic, made_rows(8))
    assert learn(path, topic, **options(cluster, begin="latest")).n_rows == 0


def test_one_process_at_a_time(cluster, topic, path):
    cluster.send(topic, made_rows(4))
    following = FollowingModel(path)
    with pytest.raises(JournalError, match="in use by process"):
        learn(path, topic, **options(cluster))
    following.close()


def test_wrong_options_say_what_to_do(cluster, topic, path, tmp_path):
    cluster.send(topic, made_rows(4))
    with pytest.raises(OptionError, match="begin='middle': use one of earliest, latest"):
        learn(path, topic, **options(cluster, begin="middle"))
    with pytest.raises(OptionError, match="localhost:9092"):
        learn(path, topic, **options(cluster, servers=""))
    with pytest.raises(OptionError, match="target="):
        learn(path, topic, **options(cluster, target=None))
    with pytest.raises(KafkaFailure, match="no partition 9"):
        learn(path, topic, **options(cluster, partitions=[9]))
    with pytest.raises(FileNotFoundError):
        learn(tmp_path / "absent", topic, **options(cluster))
    with pytest.raises(OptionError, match="answered again"):
        answer(path, topic, topic, servers=cluster.servers)


def test_a_row_that_cannot_be_answered_is_answered_with_an_error(path):
    """Without brokers."""
    values = [b'{"sky": "sun", "id": 7}', b"nonsense", b'{"sky": ["sun"]}', b'{"sky": null}']
    records = [Record("rows", 0, at, None, value, 0.0) for at, value in enumerate(values)]
    model = tanager.load(path)
    answers = [content for _, content in kafka._answers(model, records, decode_json)]
    assert ["error" in content for content in answers] == [False, True, True, False]
    expected = model.predict_proba_one({"sky": "sun"})
    assert answers[0] == {"label": max(expected, key=expected.get), "probabilities": pytest.approx(expected, abs=1e-12)}


@pytest.mark.long  # a group takes seconds to form
def test_every_row_gets_one_answer_under_its_key(cluster, topic, path):
    rows = made_rows(30)
    learn_topic, out = topic, f"{topic}-out"
    cluster.send(learn_topic, [*rows, b"nonsense", None, {"sky": {"a": 1}}])
    cluster.send(out, [None] * PARTITIONS)  # makes the topic
    answered = answer(path, learn_topic, out, servers=cluster.servers, stop_when_idle=True, config=QUIET)
    assert (answered.n_rows, answered.n_errors) == (32, 2)
    found = {m.headers()[0][1].decode(): m for m in cluster.read(out) if m.value() is not None}
    assert len(found) == 32
    model = tanager.load(path)
    for r, row in enumerate(rows):
        message = found[f"{learn_topic}/{r % PARTITIONS}/{r // PARTITIONS}"]
        content = json.loads(message.value())
        assert message.key() == f"k{r}".encode()
        expected = model.predict_proba_one({"sky": row["sky"], "wind": row["wind"]})
        assert content["probabilities"] == pytest.approx(expected, abs=1e-12)
        assert content["label"] == max(expected, key=expected.get)
    assert sum("error" in json.loads(m.value()) for m in found.values()) == 2


def test_an_interrupt_in_the_middle_of_learning_leaves_the_file_as_it_was(cluster, topic, path, monkeypatch):
    rows = made_rows(20)
    cluster.send(topic, rows)

    def interrupted(model, entry, lock):
        learned_from(rows[:3], model)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tanager.following.learn_entry", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learn(path, topic, **options(cluster))
    assert same(path)
    learn(path, topic, **options(cluster))
    assert same(path, rows)


def test_the_command_follows_a_topic(cluster, topic, path, monkeypatch):
    monkeypatch.setattr("tanager.cli.follow.stop_signal", lambda: lambda: False)  # keeps the signals of the tests
    cluster.send(topic, made_rows(12))
    words = ["follow", str(path), "--servers", cluster.servers, "--topic", topic, "--once", "--target", "class"]
    words += ["--config", "log_level=0"]
    done = CliRunner().invoke(main, words)
    assert done.stdout == f"12 rows of topic {topic} learned\nWritten to {path}\n"
    assert "0 rows" in CliRunner().invoke(main, words).stdout
