"""A structure that answers keep was chosen at some row; after a crash it is the same, chosen at the same row."""

import asyncio
import os
import random
import threading

import numpy as np
import pytest
from crashes import crash
from serving import Asker, make_service

from tanager import KDB, TAN, BestOf, DriftAware, NaiveBayes, SelectiveKDB
from tanager.service.durable import DurableModel
from tanager.service.journal import JournalError
from tanager.service.log_entries import decode_entry
from tanager.service.messages import LearnResponse, PredictResponse
from waiting import PATIENCE

INF = float("inf")
MODELS = {
    "KDB": lambda: KDB(refresh=INF, warm_up=20),
    "KDB, calibrated": lambda: KDB(refresh=INF, warm_up=20, calibrate=True),
    "KDB, chosen again": lambda: KDB(refresh=30, warm_up=20),
    "SelectiveKDB": lambda: SelectiveKDB(refresh=INF, warm_up=20),
    "TAN": lambda: TAN(refresh=INF, warm_up=20),
    "BestOf": lambda: BestOf(refresh=INF, warm_up=20),
}


def some(n, seed):
    """Rows in which b follows a at first, and c does later."""
    draw = random.Random(seed)
    rows = []
    for r in range(n):
        a, other = draw.randrange(3), draw.randrange(3)
        b, c = (a, other) if r < 40 else (other, a)
        rows.append({"a": f"a{a}", "b": f"b{b}", "c": f"c{c}", "s": draw.random()})
    return rows, [draw.choice(["yes", "no"]) for _ in rows]


ROWS, LABELS = some(300, 1)
ASKED, _ = some(20, 2)


def opened(path):
    return DurableModel(path, sync_every=0.0)


def learn(durable, start, stop):
    asyncio.run(durable.learn(ROWS[start:stop], LABELS[start:stop]))


def ask(durable):
    with durable.lock:
        return durable.model.predict_proba(ASKED)


def unfitted(folder, model):
    path = folder / "model.tanager"
    model.save(path)
    return path


@pytest.mark.parametrize("settled", [True, False], ids=["as the service asks", "without a word to the log"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_learned_again_from_the_log_answers_as_the_one_before_the_crash(tmp_path, name, settled):
    durable = opened(unfitted(tmp_path, MODELS[name]()))
    draw, at = random.Random(7), 0
    while at < 300:
        n = draw.choice([1, 4, 50])
        learn(durable, at, at + n)
        at += n
        if at >= 70 and draw.random() < 0.4:
            if settled and durable.choice_is_open:
                asyncio.run(durable.choose())
            ask(durable)
    crash(durable)
    again = opened(tmp_path / "model.tanager")
    assert again.model.structure_ == durable.model.structure_
    np.testing.assert_array_equal(ask(again), durable.model.predict_proba(ASKED))
    again.close()


def test_a_choice_that_was_answered_holds_also_where_rows_come_after_a_crash_before_anybody_asks(tmp_path):
    path = unfitted(tmp_path, MODELS["KDB"]())
    service = make_service(path)
    durable = service.served["model"].store
    asked = Asker(service)
    asked.learn({"rows": ROWS[:40], "labels": LABELS[:40]}).as_(LearnResponse)
    asked.predict({"rows": ASKED}).as_(PredictResponse)
    chosen = durable.model.structure_
    crash(durable)
    service.queue.close()
    again = opened(path)
    for start in range(40, 300, 50):
        learn(again, start, start + 50)
    assert again.model.structure_ == chosen
    never_asked = KDB(refresh=INF, warm_up=20).partial_fit(ROWS, LABELS)
    assert never_asked.structure_ != chosen  # so that this test can fail
    again.close()


def test_the_log_has_a_choice_once(tmp_path):
    durable = opened(unfitted(tmp_path, MODELS["KDB"]()))
    learn(durable, 0, 40)

    async def choose_together():
        await asyncio.gather(*(durable.choose() for _ in range(5)))

    asyncio.run(choose_together())
    asyncio.run(durable.choose())
    assert not durable.choice_is_open
    learn(durable, 40, 41)
    entries = [decode_entry(payload) for _, payload in durable._journal.replay()]
    assert [(len(entry.rows), entry.chosen) for entry in entries] == [(40, False), (0, True), (1, False)]
    durable.close()


def test_predictions_go_on_where_a_choice_cannot_be_written_and_the_next_entry_has_it(tmp_path, monkeypatch):
    path = unfitted(tmp_path, MODELS["KDB"]())
    service = make_service(path)
    durable, asked = service.served["model"].store, Asker(service)
    asked.learn({"rows": ROWS[:40], "labels": LABELS[:40]}).as_(LearnResponse)

    def full(_):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(JournalError):
            asyncio.run(durable.choose())
        asked.predict({"rows": ASKED}).as_(PredictResponse)
    learn(durable, 40, 300)
    crash(durable)
    service.queue.close()
    again = opened(path)
    assert again.model.structure_ == durable.model.structure_
    again.close()


def test_no_answer_chooses_between_the_writing_of_an_entry_and_its_learning(tmp_path, monkeypatch):
    durable = opened(unfitted(tmp_path, MODELS["KDB"]()))
    learn(durable, 0, 40)
    free, sync = [], durable._journal.sync

    def look():
        free.append(durable.lock.acquire(blocking=False))
        if free[-1]:
            durable.lock.release()

    def watched():
        sync()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(PATIENCE)

    monkeypatch.setattr(durable._journal, "sync", watched)
    learn(durable, 40, 80)
    assert free == [False]
    ask(durable)
    learn(durable, 80, 120)
    assert free == [False, True]
    monkeypatch.undo()
    crash(durable)


def test_a_model_that_cannot_choose_is_not_asked_to_at_every_request(tmp_path, monkeypatch):
    durable = opened(unfitted(tmp_path, MODELS["KDB"]()))
    learn(durable, 0, 40)
    monkeypatch.setattr(type(durable.model), "choose", lambda self: None)
    asyncio.run(durable.choose())
    assert not durable.choice_is_open
    learn(durable, 40, 41)
    assert durable.choice_is_open
    durable.close()


def test_drift_aware_models_can_be_served_before_they_have_learned_anything(tmp_path):
    durable = opened(unfitted(tmp_path, DriftAware(NaiveBayes(), every=10)))
    learn(durable, 0, 3)
    learn(durable, 3, 60)
    assert durable.failed == 0
    crash(durable)
    again = opened(tmp_path / "model.tanager")
    np.testing.assert_array_equal(ask(again), durable.model.predict_proba(ASKED))
    again.close()
