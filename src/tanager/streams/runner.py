"""Models that run along a stream, and how many of their answers are wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from tanager import saved
from tanager.counts.block import Block
from tanager.encoding.values import is_missing
from tanager.learning.batch import StreamPart
from tanager.learning.classifier import Answers, Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.stream import answer_and_learn_encoded, learn_first_encoded
from tanager.scoring.decision import TIE

LONG_RUN = 5  # the error in the long run is over that many times the rows that count as recent
CLEAR = 2.0  # standard deviations that one model must be ahead of another to be called better


@dataclass
class Share:
    """How many of the recent rows are of a kind; older ones fade: each weighs 1 - 1/rows of the one after it."""

    rows: float
    count: float = 0.0
    of: float = 0.0

    def add(self, these: np.ndarray) -> None:
        """Take in rows in their order, 1 where they are of the kind and 0 where not."""
        fade = (1 - 1 / self.rows) ** np.arange(len(these), -1, -1)
        self.count = float(self.count * fade[0] + these @ fade[1:])
        self.of = float(self.of * fade[0] + fade[1:].sum())

    @property
    def mean(self) -> float:
        """The share; 0 before the first row."""
        return self.count / self.of if self.of else 0.0


SHARE = saved.row(saved.number(1.0), saved.number(0.0), saved.number(0.0))  # in a file


class Duel:
    """A challenger and the model it is compared with, over the recent rows on which just one of them was right."""

    def __init__(self, recent: float) -> None:
        self.won, self.lost = Share(recent), Share(recent)

    def add(self, challenger: np.ndarray, other: np.ndarray) -> None:
        """Take in answers of both to the same rows, 1 where wrong."""
        self.won.add((challenger < other).astype(float))
        self.lost.add((challenger > other).astype(float))

    def is_won(self) -> bool:
        """Whether the challenger is better, by more than chance would have it (a sign test)."""
        return self.won.count - self.lost.count > CLEAR * math.sqrt(self.won.count + self.lost.count)

    def __str__(self) -> str:
        return f"it alone was right on {self.won.count:.0f} of the recent rows, the other on {self.lost.count:.0f}"


class Runner:
    """A model in a stream, and its answers: 1 where wrong, NaN where there was no label or no weight.

    An answer is wrong where another class was more probable than the true one; before the model has learned anything,
    none is.
    """

    def __init__(self, model: Classifier, began: int, recent: int) -> None:
        self.model = model
        self.began = began  # row of the stream
        self.block: list[float] = []  # answers since the last block ended
        self.recent, self.long_run = Share(recent), Share(LONG_RUN * recent)

    def knows(self) -> bool:
        """Whether it has learned anything to answer from."""
        return self.model.has_learned

    def run(self, rows: StreamPart) -> Answers:
        """Answer and learn rows; the classes and the answers. With late labels a single row."""
        X, y, weights, times, answered = rows.X, rows.y, rows.weights, rows.times, rows.answered
        if answered is not None:
            own = self.model.stream_proba(X)[0].tolist() if self.knows() else []
            weight = 1.0 if weights is None else weights[0]
            self._check_answer(dict(zip(self.model.class_codes, own, strict=False)), y.tolist()[0], weight)
            proba = self.model.test_then_train(X, y, weights, times, answered)
            return self.model.classes_, proba
        proba = self.model.test_then_train(X, y, weights, times)
        place = self.model.class_codes
        codes = np.array([place.get(label, -1) for label in y.tolist()])
        odd = codes < 0 if weights is None else (codes < 0) | (weights == 0)
        own = proba[np.arange(len(codes)), codes] if len(place) else 0.0
        wrong = np.where(odd, np.nan, own < proba.max(axis=1, initial=0.0) - TIE)
        self.block += wrong.tolist()
        return self.model.classes_, proba

    def run_encoded(self, block: Block, encoded_by: CountsClassifier) -> None:
        """Answer and learn rows that another model has encoded; rows without label or weight are passed over."""
        assert isinstance(self.model, CountsClassifier)
        counted = block.labelled if block.weights is None else block.labelled & (block.weights > 0)
        wrong = np.where(counted, 0.0, np.nan)
        if not counted.all():
            block = block.part(counted)
        if len(block) and not self.knows():  # nothing to answer the first row from
            learn_first_encoded(self.model, encoded_by, block.part(slice(1)))
            counted[np.argmax(counted)], block = False, block.part(slice(1, None))
        if len(block):
            proba = answer_and_learn_encoded(self.model, block)
            own = proba[np.arange(len(block)), block.labels]
            wrong[counted] = own < proba.max(axis=1) - TIE
        self.block += wrong.tolist()

    def run_one(self, row: Mapping[str, Any], y: Any, weight: float, time: Any) -> None:
        """Answer and learn one row."""
        self._check_answer(self.model.predict_proba_one(row), y, weight)
        self.model.learn_one(row, y, weight, time)

    def _check_answer(self, proba: dict[Any, float], y: Any, weight: float) -> None:
        known = self.model.code_of(y) is not None and y in proba
        if weight == 0 or (not known and is_missing(y)):
            self.block.append(np.nan)
        else:
            own = proba[y] if known else 0.0
            self.block.append(float(own < max(proba.values(), default=0.0) - TIE))

    def end_block(self) -> np.ndarray:
        """The answers of the block that ends here, now part of the shares."""
        wrong = np.array(self.block)
        wrong = wrong[~np.isnan(wrong)]
        self.recent.add(wrong)
        self.long_run.add(wrong)
        self.block = []
        return wrong

    # --- files --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All but the model, as plain data."""
        block = [None if np.isnan(wrong) else wrong for wrong in self.block]
        shares = [astuple(self.recent), astuple(self.long_run)]
        return {"began": self.began, "block": block, "shares": shares}

    @classmethod
    def from_state(cls, state: dict[str, Any], model: Classifier) -> Runner:
        """What ``state`` gave, and the model."""
        expected = {
            "began": saved.whole(),
            "block": saved.items(saved.maybe(saved.number(0.0, 1.0))),
            "shares": saved.row(SHARE, SHARE),
        }
        began, block, shares = saved.read("answers of its models", state, expected).values()
        runner = cls(model, began, 1)
        runner.block = [np.nan if wrong is None else wrong for wrong in block]
        runner.recent, runner.long_run = (Share(*share) for share in shares)
        return runner
