"""A second model learns all that a service learns, from its log, each entry once."""

import asyncio

import pytest

pytest.importorskip("msgspec", reason="needs the extra serve")

import tanager
from tanager import AODE, NaiveBayes
from tanager.errors import DataError
from tanager.following import learn_log
from tanager.service.durable import DurableModel
from tanager.service.journal import JournalError


def rows(n, shift=0):
    return [{"sky": ["sun", "rain"][(i + shift) % 2], "wind": "abc"[i % 3]} for i in range(n)], [
        ["yes", "no"][(i + shift) % 2] for i in range(n)
    ]


@pytest.fixture
def served(tmp_path):
    path = tmp_path / "served.tanager"
    AODE(warm_up=2).partial_fit(*rows(2)).save(path)
    return path


@pytest.fixture
def follower(tmp_path, served):
    path = tmp_path / "follower.tanager"
    tanager.load(served).save(path)
    return path


def teach(served, *batches, **options):
    store = DurableModel(served, **options)
    for X, y in batches:
        asyncio.run(store.learn(X, y))
    store.close()


def test_the_log_is_learned_once_and_the_follower_answers_like_the_service(served, follower):
    teach(served, rows(7), rows(50, 1))
    state = f"{served}.state"
    followed = learn_log(follower, state, stop_at_end=True)
    assert followed.n_rows == 57
    assert learn_log(follower, state, stop_at_end=True).n_rows == 0
    teach(served, rows(5))
    assert learn_log(follower, state, stop_at_end=True).n_rows == 5
    store = DurableModel(served)
    X = rows(6)[0]
    assert (tanager.load(follower).predict_proba(X) == store.model.predict_proba(X)).all()
    store.close()


def test_a_live_service_is_followed(served, follower):
    store = DurableModel(served)
    asyncio.run(store.learn(*rows(9)))
    assert learn_log(follower, f"{served}.state", stop_at_end=True).n_rows == 9
    store.close()


def test_entries_that_are_in_snapshots_only_are_named(served, follower, tmp_path):
    for _ in range(3):
        teach(served, *[rows(5)] * 4, snapshot_rows=5, segment_bytes=100)
    state = f"{served}.state"
    with pytest.raises(JournalError, match=r"entries 1 to \d+ are in its snapshots only"):
        learn_log(follower, state, stop_at_end=True)
    snapshots = sorted((tmp_path / "served.tanager.state" / "current").glob("*.tanager"))
    follower.write_bytes(snapshots[0].read_bytes())
    after = int("".join(filter(str.isdigit, snapshots[0].stem)))
    learn_log(follower, state, after=after, stop_at_end=True)
    assert tanager.load(follower).class_count_.sum() == 2 + 60


def test_an_entry_that_the_follower_cannot_learn_is_named(served, tmp_path):
    teach(served, rows(3))
    other = tmp_path / "other.tanager"
    NaiveBayes(warm_up=2).partial_fit([{"colour": "red"}, {"colour": "blue"}], ["yes", "no"]).save(other)
    with pytest.raises(DataError, match=r"entry 1: row 0 has a column 'sky', which the model does not know"):
        learn_log(other, f"{served}.state", stop_at_end=True)
    with pytest.raises(DataError, match=r"no folder 'current'"):
        learn_log(other, tmp_path, stop_at_end=True)
