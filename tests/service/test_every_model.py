"""Every classifier can be served: it answers and learns through the service as it does in Python."""

import asyncio
import threading

import numpy as np
import pytest

from registry import PLAIN, STREAMING
from tanager import AODE, NaiveBayes
from tanager.service.log_entries import LogEntry, check_entry, learn_entry
from tanager.service.messages import LearnRequest
from tanager.service.models import ServedModel
from tanager.service.rows import RequestRows

MODELS = [
    *PLAIN,
    NaiveBayes(gaussian=True),
    NaiveBayes(decay=50),
    AODE(window=30),
    *(build() for build in STREAMING.values()),
]
COLOURS, SIZES = ["red", "green", "blue"], [0.5, 1.5, 2.5, 3.5]


def some_rows(n, seed):
    rng = np.random.default_rng(seed)
    rows = [
        {"colour": COLOURS[rng.integers(3)], "size": SIZES[rng.integers(4)] + 0.1 * r, "age": int(rng.integers(5))}
        for r in range(n)
    ]
    return rows, ["big" if row["size"] + row["age"] > 5 else "small" for row in rows]


class Held:
    """A model in memory, with the checks of a real store."""

    def __init__(self, model):
        self.model, self.lock, self.sequence = model, threading.RLock(), 0

    async def learn(self, rows, labels, weights=None, times=None, key=None):
        entry = LogEntry(rows, labels, weights, times)
        check_entry(self.model, entry)
        learn_entry(self.model, entry, self.lock)
        self.sequence += 1
        return self.sequence

    def status(self):
        return {}


@pytest.mark.parametrize("model", MODELS, ids=[f"{i}-{type(model).__name__}" for i, model in enumerate(MODELS)])
def test_every_classifier_can_be_served(model):
    rows, labels = some_rows(40, 0)
    model = type(model)(**model.get_params(deep=False)).fit(rows, labels)
    served = ServedModel("m", Held(model), remember=10, remember_seconds=10)
    names = ["age", "size", "colour"]
    cells = [[row[name] for name in names] for row in rows[:5]]
    expected = model.predict_proba(rows[:5])
    for batch in (RequestRows(rows[:5]), RequestRows(cells, names)):
        answer = served.predict(batch, 1.0, None)
        np.testing.assert_allclose(answer.probabilities, expected, rtol=0, atol=1e-9)
        assert answer.labels == model.predict(rows[:5]).tolist()
    one = served.predict(RequestRows(rows[:1], single=True), 1.0, None)
    assert one.labels == answer.labels[:1]
    gappy = served.predict(RequestRows([{"size": None}, {}]), 1.0, None)
    assert np.allclose(np.sum(gappy.probabilities, axis=1), 1)
    more, their_labels = some_rows(3, 1)
    learned = asyncio.run(served.learn(LearnRequest(rows=more, labels=their_labels), 10))
    assert learned.learned == 3
    assert served.predict(RequestRows(rows[:1], single=True), 1.0, None).sequence == 1
    assert served.info().classes == served.summary().classes == ["big", "small"]
    served.improve(0.001)
    assert asyncio.run(served.learn(LearnRequest(row=more[0], label="huge"), 10)).learned == 1
    assert served.predict(RequestRows(rows[:2]), 1.0, None).classes == ["big", "huge", "small"]
