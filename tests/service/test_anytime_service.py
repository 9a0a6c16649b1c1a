"""Anytime models behind the service: budgets buy members, and idle time makes them better."""

import time

import httpx2
import numpy as np
import pytest
from serving import LABELS, ROWS, Asker, live

from tanager import AnytimeA2DE, AnytimeAODE, NaiveBayes, generate
from tanager.service.app import Limits
from tanager.service.messages import ModelInfo, PredictResponse


@pytest.fixture
def pets(services, tmp_path):
    model = AnytimeAODE(member_order="given", stop="all").fit(ROWS, LABELS)
    model.save(tmp_path / "pets.tanager")
    service = services(tmp_path / "pets.tanager", target=1000.0, most=1000.0)  # beyond any delay of the machine
    return model, Asker(service)


def test_without_load_all_members_answer(pets):
    model, ask = pets
    answer = ask.predict({"rows": ROWS[:3]}).as_(PredictResponse)
    assert answer.members == [3, 3, 3]
    assert answer.complete
    assert answer.budget_us > 0
    np.testing.assert_allclose(answer.probabilities, model.predict_proba(ROWS[:3]), rtol=0, atol=1e-12)
    assert ask.predict({"row": ROWS[0]}).as_(PredictResponse).members == [3]
    assert ask.predict({"row": {"colour": "red"}}).as_(PredictResponse).members == [1]  # the others are missing


def test_a_deadline_in_the_past_is_answered_by_naive_bayes(pets):
    _, ask = pets
    answer = ask.predict({"rows": ROWS[:3]}, x_deadline=str(time.time() - 1)).as_(PredictResponse)
    assert (answer.members, answer.budget_us, answer.complete) == ([0, 0, 0], 0, False)
    naive = NaiveBayes().fit(ROWS, LABELS).predict_proba(ROWS[:3])
    np.testing.assert_allclose(answer.probabilities, naive, rtol=0, atol=1e-12)
    assert ask.predict({"rows": ROWS[:3], "budget_us": 0}).as_(PredictResponse).members == [0, 0, 0]


def test_members_are_as_many_as_asked_for(pets):
    model, ask = pets
    for members in range(4):
        answer = ask.predict({"rows": ROWS[:3], "members": members}).as_(PredictResponse)
        assert answer.members == [members] * 3
        expected = model.predict_proba(ROWS[:3], members=members)
        np.testing.assert_allclose(answer.probabilities, expected, rtol=0, atol=1e-12)


def test_the_order_of_members_is_told(pets, services, tmp_path):
    _, ask = pets
    told = ask("GET", "/models/pets").as_(ModelInfo).anytime
    assert (told.order, told.stop_after) == ([["colour"], ["size"], ["wild"]], 3)
    AnytimeA2DE().fit(ROWS, LABELS).save(tmp_path / "pairs.tanager")
    told = Asker(services(tmp_path / "pairs.tanager"))("GET", "/models/pairs").as_(ModelInfo).anytime
    assert sorted(told.order) == [["colour", "size"], ["colour", "wild"], ["size", "wild"]]
    assert 0 <= told.stop_after <= 3


def test_idle_time_judges_what_fit_had_no_time_for(services, tmp_path):
    X, y = generate.tan(random_state=3).take(3000)
    model = AnytimeAODE().fit(X, y, budget=0)
    model.save(tmp_path / "stream.tanager")
    service = services(tmp_path / "stream.tanager", limits=Limits())
    served = service.served["stream"]
    store = served.store
    assert not served.fully_improved
    with live(service) as port:
        while not served.fully_improved:
            time.sleep(0.02)
        assert httpx2.get(f"http://127.0.0.1:{port}/models/stream").status_code == 200
    whole = AnytimeAODE().fit(X, y)
    assert store.model.order_ == whole.order_
    assert store.model.n_members_ == whole.n_members_
