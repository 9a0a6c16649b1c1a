"""Models that run along a stream, and how many of their answers are wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tanager import _kernels, saved
from tanager.counts.block import Block, Query
from tanager.encoding import Schema
from tanager.encoding.values import is_missing
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import StreamPart
from tanager.learning.classifier import Classifier
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.stream import Lap, answer_and_learn_encoded, codes_to_answer, grow_counts, plain_view, run_lap
from tanager.scoring.decision import TIE
from tanager.scoring.view import View

LONG_RUN = 5  # the error in the long run is over that many times the rows that count as recent
CLEAR = 2.0  # standard deviations that one model must be ahead of another to be called better

# Plan, codes, unit of the counts, whether half of the pairs lags behind, whether it knows anything, two shares.
Watched = tuple[
    _kernels.ScoringPlan, np.ndarray, float, bool, bool, tuple[float, float, float], tuple[float, float, float]
]


@dataclass
class Share:
    """How many of the recent rows are of a kind; older ones fade: each weighs 1 - 1/rows of the one after it."""

    rows: float
    count: float = 0.0
    of: float = 0.0

    def add(self, these: np.ndarray) -> None:
        """Take in rows in their order, 1 where they are of the kind and 0 where not."""
        self.count, self.of = _kernels.fading_share(these, 1 - 1 / self.rows, self.count, self.of)

    @property
    def mean(self) -> float:
        """The share; 0 before the first row."""
        return self.count / self.of if self.of else 0.0

    @property
    def in_kernels(self) -> tuple[float, float, float]:
        """What the kernels go on from: how much a row keeps of the weight of the next, and both sums."""
        return 1 - 1 / self.rows, self.count, self.of


SHARE = saved.row(saved.number(1.0), saved.number(0.0), saved.number(0.0))  # in a file


class Duel:
    """A challenger and the model it is compared with, over the recent rows on which just one of them was right."""

    def __init__(self, recent: float) -> None:
        self.won, self.lost = Share(recent), Share(recent)

    def add(self, challenger: np.ndarray, other: np.ndarray) -> None:
        """Take in answers of both to the same rows, 1 where wrong."""
        ahead = other - challenger
        self.won.add(np.maximum(ahead, 0.0))
        self.lost.add(np.maximum(-ahead, 0.0))

    def is_won(self) -> bool:
        """Whether the challenger is better, by more than chance would have it (a sign test)."""
        return self.won.count - self.lost.count > CLEAR * math.sqrt(self.won.count + self.lost.count)

    def __str__(self) -> str:
        return f"it alone was right on {self.won.count:.0f} of the recent rows, the other on {self.lost.count:.0f}"


@dataclass
class Ahead:
    """Encoded rows that are to come, from one of them on, in the codes of a schema.

    With late labels others are answered meanwhile (``asked``), by the model in front alone.
    """

    block: Block
    schema: Schema
    first: int
    asked: Query | None = None

    @cached_property
    def plain(self) -> bool:
        """Whether all of them have a label and weigh 1."""
        return self.block.weights is None and bool(self.block.labelled.all())

    def part(self, rows: slice) -> Block:
        """Some of them, by their places among all rows."""
        return self.block.part(slice(rows.start - self.first, rows.stop - self.first))

    def to_answer(self, rows: slice) -> Query | None:
        """Rows to answer in place of some of them; None where it is these."""
        return None if self.asked is None else self.asked.part(slice(rows.start - self.first, rows.stop - self.first))

    def codes(self, rows: slice) -> np.ndarray:
        """Codes of some of them."""
        return self.block.codes[rows.start - self.first : rows.stop - self.first]

    def labels(self, rows: slice) -> np.ndarray:
        """Class codes of some of them."""
        return self.block.labels[rows.start - self.first : rows.stop - self.first]


class Runner:
    """A model in a stream, and its answers: 1 where wrong, NaN where there was no label or no weight.

    An answer is wrong where another class was more probable than the true one; before the model has learned anything,
    none is.
    """

    def __init__(self, model: Classifier, began: int, recent: int) -> None:
        self.model: Any = model  # a CountsClassifier where rows are encoded for it
        self.began = began  # row of the stream
        self.block: list[np.ndarray] = []  # answers since the last block ended
        # In the first rows of a stream, where another model fixes the columns: how many rows that one had kept when
        # this one began, and from how many its columns were learned; None elsewhere.
        self.since: int | None = None
        self.stage: int | None = None
        self.ahead: Ahead | None = None  # rows of a table that is being run through
        self.changes: list[tuple[int, str, float]] = []  # by "fade" or "shrink": after which row, to what
        self._knows = False  # for certain
        self._view: View | None = None  # what answers in the kernels, as long as it fits
        self.recent, self.long_run = Share(recent), Share(LONG_RUN * recent)

    def knows(self) -> bool:
        """Whether it has learned anything to answer from."""
        model = self.model
        if not self._knows and model.has_learned:  # which counts the rows of a warm-up
            learned = not isinstance(model, CountsClassifier) or bool(model.class_count_.any())
            if not learned or model.n_warm_up_rows:
                return learned
            self._knows = True
        return self._knows

    def run(self, rows: StreamPart) -> Answers:
        """Answer and learn rows; the classes and the answers. With late labels a single row."""
        model, knew = self.model, self.knows()
        if rows.answered is not None:
            return self._run_late(rows, knew)
        given = rows.X, rows.y, rows.weights, rows.times
        proba = model.test_then_train(*given) if knew else self._run_first(rows)
        place = model.class_codes
        codes = np.array([place.get(label, -1) for label in rows.y.tolist()])
        odd = codes < 0 if rows.weights is None else (codes < 0) | (rows.weights == 0)
        own = proba[np.arange(len(codes)), codes] if len(place) else 0.0
        wrong = np.where(odd, np.nan, own < proba.max(axis=1, initial=0.0) - TIE)
        self.block.append(wrong)
        return model.classes_, proba

    def _run_first(self, rows: StreamPart) -> np.ndarray:
        """Rows before which nothing was learned: they are answered evenly until one of them was."""
        model, m, done = self.model, len(rows), 0
        while done < m and not self.knows():
            first = rows.part(done, done + 1)
            if not is_missing(first.y[0]):
                model.partial_fit(first.X, first.y, sample_weight=first.weights, times=first.times)
            done += 1
        rest = rows.part(done, m)
        answers = model.test_then_train(rest.X, rest.y, rest.weights, rest.times) if done < m else None
        k = len(model.classes_)
        out = np.full((m, k), 1 / max(1, k))
        if answers is not None:
            out[done:] = answers
        return out

    def _run_late(self, rows: StreamPart, knew: bool) -> Answers:
        """One row whose label has come, and another one to answer."""
        model, weight = self.model, 1.0 if rows.weights is None else rows.weights[0]
        own = model.stream_proba(rows.X)[0].tolist() if knew else []
        self._check_answer(dict(zip(model.class_codes, own, strict=False)), rows.y.tolist()[0], weight)
        given = rows.X, rows.y, rows.weights, rows.times
        proba = model.test_then_train(*given, rows.answered) if knew else self._run_first(StreamPart(*given))
        return model.classes_, proba  # the row may have brought a class

    def run_encoded(self, rows: slice, out: np.ndarray, asked: Query | None = None) -> None:
        """Answer and learn rows that are encoded ahead; rows without weight are passed over.

        ``asked``: rows to answer instead of them. What is judged is what would have been said of those to learn.
        """
        model = self.model
        assert isinstance(model, CountsClassifier)
        assert self.ahead is not None
        lap = Lap(self.ahead.part(rows), asked, out, None if asked is None else np.empty_like(out))
        block, judged = lap.block, out if lap.judged is None else lap.judged
        knows = self.knows()
        if self.ahead.plain and (knows or self._plain_view(model) is not None):
            self._run_plain(model, lap)
            if not knows:  # there was nothing to answer the first row from
                out[0] = judged[0] = 1 / out.shape[1]
            wrong = np.empty(len(block))
            _kernels.wrong_answers(judged, block.labels, TIE, wrong)
            self.block.append(wrong)
            return
        counted = block.labelled if block.weights is None else block.labelled & (block.weights > 0)
        first = 0
        if not knows and counted.any():  # nothing to answer the first row from
            first = int(np.argmax(counted)) + 1
            row = block.part(slice(first - 1, first))
            grow_counts(model, row)  # it may have a value that its columns had not when the model began
            model.learn_block(row)
        out[:first] = judged[:first] = 1 / out.shape[1]
        if not self.knows():
            out[:] = judged[:] = 1 / out.shape[1]
        elif first < len(block):
            self._run_rest(model, lap.part(slice(first, None)))
        own = judged[np.arange(len(block)), np.where(counted, block.labels, 0)]
        self.block.append(np.where(counted, own < judged.max(axis=1) - TIE, np.nan))

    def _run_plain(self, model: CountsClassifier, lap: Lap) -> None:
        """Answer and learn labelled rows of weight 1. Blocks are short: what answers is looked for once."""
        view = self._plain_view(model)
        answered = None if lap.asked is None else codes_to_answer(model, lap.asked)
        done = 0 if view is None else view.stream_on(lap.block, lap.out, answered, lap.judged)
        if done < len(lap.block):
            self.settle()
            run_lap(model, lap.part(slice(done, None)))

    def watched(self, rows: slice) -> Watched | None:
        """What the kernels need to answer and learn whole blocks of these rows; None where they cannot."""
        model, ahead = self.model, self.ahead
        assert ahead is not None
        if not ahead.plain or self.block or not isinstance(model, CountsClassifier):
            return None
        view = self._plain_view(model)
        if view is None or view.counts.sparse:  # which look for room before each block
            return None
        shares = self.recent.in_kernels, self.long_run.in_kernels
        return view.plan, ahead.codes(rows), view.counts.scale, view.lags_behind, self.knows(), *shares

    def codes_to_answer(self, rows: slice) -> np.ndarray | None:
        """What else the kernels need with late labels: the codes of rows to answer in place of these."""
        assert self.ahead is not None
        asked = self.ahead.to_answer(rows)
        return None if asked is None else codes_to_answer(self.model, asked)

    def went_on(self, lags_behind: bool, recent: tuple[float, float], long_run: tuple[float, float]) -> None:
        """The kernels have done so, and this has come of it."""
        assert self._view is not None
        self._view.went_on(lags_behind)
        self.recent.count, self.recent.of = recent
        self.long_run.count, self.long_run.of = long_run

    def settle(self) -> None:
        """Let others have all that was learned of rows that were encoded ahead."""
        if self._view is not None:
            self._view.settle()

    def _plain_view(self, model: CountsClassifier) -> View | None:
        if self._view is None or not self._view.valid or self._view.counts is not model.counts_:
            self._view = plain_view(model)
        return self._view

    def _run_rest(self, model: CountsClassifier, lap: Lap) -> None:
        weights = lap.block.weights
        if weights is None or (some := weights > 0).all():
            run_lap(model, lap)
        else:  # in ``fit`` alone, where no label is late
            lap.out[some] = answer_and_learn_encoded(model, lap.block.part(some))
            lap.out[~some] = 1 / lap.out.shape[1]

    def run_one(self, row: Mapping[str, Any], y: Any, weight: float, time: Any) -> None:
        """Answer and learn one row."""
        self._check_answer(self.model.predict_proba_one(row) if self.knows() else {}, y, weight)
        self.model.learn_one(row, y, weight, time)

    def _check_answer(self, proba: dict[Any, float], y: Any, weight: float) -> None:
        known = self.model.code_of(y) is not None and y in proba
        if weight == 0 or (not known and is_missing(y)):
            self.block.append(np.array([np.nan]))
        else:
            own = proba[y] if known else 0.0
            self.block.append(np.array([float(own < max(proba.values(), default=0.0) - TIE)]))

    def change(self, row: int, what: str, to: float) -> None:
        """Let the model "fade" or "shrink" after a row of the stream."""
        self.settle()
        getattr(self.model, what)(to)
        self.changes.append((row, what, to))

    def for_all_columns(self, model: CountsClassifier, block: Block) -> Runner:
        """The same with a model that is to learn, from all columns, the rows since this one began."""
        began = self.began
        for row, what, to in [*self.changes, (len(block), "", 0.0)]:
            if len(part := block.part(slice(began, row)).counted()):
                model.learn_block(part)
            if what:
                getattr(model, what)(to)
            began = row
        return Runner.from_state(self.state(), model)

    def end_block(self) -> np.ndarray:
        """The answers of the block that ends here, now part of the shares."""
        wrong = self._answers()
        if math.isnan(wrong.sum()):
            wrong = wrong[~np.isnan(wrong)]
        self.recent.add(wrong)
        self.long_run.add(wrong)
        self.block = []
        return wrong

    def _answers(self) -> np.ndarray:
        return self.block[0] if len(self.block) == 1 else np.concatenate([np.empty(0), *self.block])

    # --- files --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All but the model, as plain data."""
        block = [None if np.isnan(wrong) else wrong for wrong in self._answers().tolist()]
        shares = [astuple(self.recent), astuple(self.long_run)]
        return {"began": self.began, "block": block, "shares": shares, "since": self.since, "stage": self.stage}

    @classmethod
    def from_state(cls, state: dict[str, Any], model: Classifier) -> Runner:
        """What ``state`` gave, and the model."""
        expected = {
            "began": saved.whole(),
            "block": saved.items(saved.maybe(saved.number(0.0, 1.0))),
            "shares": saved.row(SHARE, SHARE),
            "since": saved.maybe(saved.whole()),
            "stage": saved.maybe(saved.whole()),
        }
        absent = {"since": None, "stage": None}  # in older files
        began, block, shares, since, stage = saved.read("answers of its models", absent | state, expected).values()
        runner = cls(model, began, 1)
        runner.since, runner.stage = since, stage
        runner.block = [np.array([np.nan if wrong is None else wrong for wrong in block])]
        runner.recent, runner.long_run = (Share(*share) for share in shares)
        return runner
