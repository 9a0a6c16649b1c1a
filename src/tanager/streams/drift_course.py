"""The way of DriftAware along a stream: rows are encoded, answered and learned; after a block the policy acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tanager.counts.block import Block, Query
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.codes import widened
from tanager.encoding.tables import read_table
from tanager.encoding.typing import Label, Time
from tanager.encoding.values import is_missing
from tanager.learning.answer_then_learn import Answers
from tanager.learning.batch import Batch, StreamPart
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.first_rows import keep_for_warm_up, rows_of_stage
from tanager.learning.stream import encode_next, encode_rows, rows_at_once
from tanager.streams.drift_models import RunningModels
from tanager.streams.drift_policy import Policy
from tanager.streams.last_numbers import UNKNOWN
from tanager.streams.runner import Ahead, Runner
from tanager.streams.watched_blocks import run_blocks

ROWS_AT_ONCE = 4096  # are encoded; a model that begins encodes the rest of them again, where its cut points are new


class Course:
    """Leads the models along the rows, and lets the policy act where a block of ``every`` rows ends."""

    def __init__(self, models: RunningModels, policy: Policy, every: int) -> None:
        self.models, self.policy, self._every = models, policy, every
        self.n_rows = 0  # of the stream so far

    def answer_and_learn(self, rows: StreamPart) -> Answers:
        """Answer and learn as many rows as can be encoded at once; else those up to the end of a block.

        One alone if the model knows nothing yet, or where labels are late and rows cannot be encoded.
        """
        self.models.settle_columns()
        knows = self.models.front.knows()
        if knows:
            out = self._run_laps(rows) if self.models.warming is None else self._run_stage(rows)
            if len(out):
                return self.models.classes, out
        size = min(len(rows), self._rows_of_block) if knows and rows.answered is None else 1
        warming = self.models.follow_warm_up()
        part = rows.part(0, size if warming is None else rows_of_stage(warming[0], size))
        even = self.models.classes, even_answers(self.models.classes, 1)
        last = self.models.watched_numbers  # those of the rows that fix the columns are not kept
        (classes, proba), *_ = [runner.run(part) for runner in self.models.running]
        if self.models.reader is not None:
            self._read_on(self.models.reader, part)
        self.models.end_warm_up_with(warming)
        self.models.follow_classes()
        if last is not None:
            last.add(
                last.read(self.models.front.model, part.X), self.models.front.model.label_codes(part.y)[0], part.weights
            )
        self._step(len(part))
        return (classes, proba) if knows else even

    def _run_stage(self, rows: StreamPart) -> np.ndarray:
        """Answer and learn first rows of the stream while their columns stay as they are; the answers.

        No row where the first of them cannot be encoded, or does not count.
        """
        none = np.empty((0, len(self.models.classes)))
        warming = self.models.follow_warm_up()
        lap = None if warming is None else self._encode(rows.part(0, rows_of_stage(warming[0], len(rows))))
        if warming is None or lap is None:
            return none
        (first, warm), (block, rows, asked) = warming, lap
        counted = Batch(None, block.labels, block.weights).counted
        n = len(block) if counted.all() else int(counted.argmin())
        if n == 0:
            return none
        reads, began = self.models.reader is not None, self.n_rows
        self.models.ahead_of_kept = began - warm.n_rows
        try:
            asked = None if asked is None else asked.part(slice(n))
            return self.run_encoded(block.part(slice(n)), rows.part(0, n), asked)
        finally:  # what was learned is kept, also where somebody has interrupted
            self.models.ahead_of_kept = None
            done = self.n_rows - began
            if done and reads:
                self._read_on(first, rows.part(0, done))
            elif done and not first.columns_fixed:  # as they are once it has faded
                some = block.part(slice(done))
                keep_for_warm_up(first, Batch(rows.part(0, done).X, some.labels, some.weights, some.times))
            self.models.end_warm_up_with(warming)
            self.models.follow_classes()

    def _read_on(self, reader: CountsClassifier, rows: StreamPart) -> None:
        """Let the model that fixes the columns have these rows; without a label or a weight they do not count."""
        odd = [is_missing(label) for label in rows.y.tolist()]
        if rows.weights is not None:
            odd = [missing or not weight for missing, weight in zip(odd, rows.weights.tolist(), strict=True)]
        parts = [rows] if not any(odd) else [rows.part(r, r + 1) for r, one in enumerate(odd) if not one]
        for part in parts:
            reader.partial_fit(part.X, part.y, sample_weight=part.weights, times=part.times)

    def _run_laps(self, rows: StreamPart) -> np.ndarray:
        """Answer and learn rows while they can be encoded for all models; the answers."""
        answers = [np.empty((0, len(self.models.classes)))]
        if self.models.share_columns and not rows_of_dicts(rows.X):
            answered = None if rows.answered is None else read_table(rows.answered)
            rows = replace(rows, X=read_table(rows.X), answered=answered)  # so that columns are read once
        done = 0
        while done < len(rows) and self.models.all_fixed:
            lap = self._encode(rows.part(done, min(done + ROWS_AT_ONCE, len(rows))))
            if lap is None:
                break
            answers.append(self.run_encoded(*lap))
            done += len(answers[-1])
        return np.concatenate(answers)

    def _encode(self, rows: StreamPart) -> tuple[Block, StreamPart, Query | None] | None:
        """Encode rows for the model in front: as many as have known classes and columns. None if the first has not.

        These rows too, and those that are to be answered instead where labels are late.
        """
        front, back = self.models.front.model, None if self.models.back is None else self.models.back.model
        alike = back is not None and back.encoder_.schema == front.encoder_.schema
        encoded = encode_next(front, rows)
        if encoded is None:
            return None
        if back is not None and alike:
            back.encoder_.adopt(front.encoder_.schema)
        block, asked = encoded
        return block, rows.part(0, len(block)), asked

    def run_encoded(self, block: Block, rows: StreamPart | None = None, asked: Query | None = None) -> np.ndarray:
        """Answer and learn encoded rows, block by block; the answers of whichever model is in front.

        ``rows``: the same as they came. None: all models have the columns of the one in front, for good. ``asked``: the
        rows to answer instead of them, where labels are late.
        """
        out = np.empty((len(block), len(self.models.classes)))
        self.models.front.ahead = Ahead(block, self.models.front.model.encoder_.schema, 0, asked)
        # Also what models had that are gone: the next may begin with the same columns.
        encoded = [self.models.front.ahead]
        last = None if rows is None else self.models.watched_numbers
        numbers = None if last is None or rows is None else last.read(self.models.front.model, rows.X)
        labels = widened(block.labels)
        done, at_once = 0, rows_at_once(self.models.front.model)  # Ctrl-C is heard between calls of the kernels
        try:
            while done < len(block):
                for runner in self.models.running:
                    if runner.ahead is None:
                        runner.ahead = self._look_ahead(runner.model, encoded, rows, numbers, done)
                if asked is not None and rows is not None:
                    self._encode_to_answer(self.models.front, rows)
                n_quiet, signal = self._run_quiet(slice(done, min(len(block), done + max(at_once, self._every))), out)
                part = slice(done, done + (n_quiet or min(len(block) - done, self._rows_of_block)))
                if not n_quiet:
                    self._run_part(part, out[part])
                if last is not None and rows is not None and numbers is not None:
                    last.add(numbers[part], labels[part], None if block.weights is None else block.weights[part])
                done = part.stop
                if n_quiet:
                    self.n_rows += n_quiet
                    self.policy.act(signal, self.n_rows)
                else:
                    self._step(part.stop - part.start)
        finally:
            self.models.settle()
        for runner in self.models.running:
            runner.ahead = None
            runner.model.take_vocabulary(runner.model.encoder_.schema)
        self.models.follow_classes()
        return out

    def _run_part(self, rows: slice, out: np.ndarray) -> None:
        """Run rows of a block; the answers are those of the model in front."""
        front, back = self.models.front, self.models.back
        if back is not None:
            back.run_encoded(rows, out)
        assert front.ahead is not None
        front.run_encoded(rows, out, front.ahead.to_answer(rows))

    @staticmethod
    def _encode_to_answer(front: Runner, rows: StreamPart) -> None:
        """Encode the rows to answer for a model that has just taken over, whose columns are cut otherwise."""
        ahead = front.ahead
        assert ahead is not None
        if ahead.asked is None:
            ahead.asked = front.model.encode(rows.part(ahead.first, len(rows)).answered)

    def _run_quiet(self, rows: slice, out: np.ndarray) -> tuple[int, str | None]:
        """Run blocks after which nothing is to be decided, and the next; how many rows went, what was said last."""
        if self.n_rows % self._every:
            return 0, None
        policy = self.policy
        quiet = policy.quiet_after(self.n_rows)
        return run_blocks(self.models.running, policy.duel, policy.detector, quiet, rows, self._every, out)

    def _look_ahead(
        self,
        model: CountsClassifier,
        encoded: list[Ahead],
        rows: StreamPart | None,
        numbers: np.ndarray | None,
        done: int,
    ) -> Ahead:
        """The rows that are to come in a model's own codes; encoded anew where no model has had the same columns."""
        schema = model.encoder_.schema
        alike = [ahead for ahead in encoded if ahead.schema is schema]
        if rows is None or alike:
            return (alike or encoded)[0]
        first = encoded[0]  # from the first row on
        to_come = slice(done, len(rows))
        block, codes = first.part(to_come), None
        if self.models.last is not None and numbers is not None:
            codes = self.models.last.recode(block.codes, first.schema, schema, numbers[to_come])
        if codes is not None:
            block = replace(block, codes=codes)
        else:
            block = encode_rows(model, rows.part(done, len(rows)), block.labels)
        encoded.append(Ahead(block, model.encoder_.schema, done))  # which may have met new values
        return encoded[-1]

    @property
    def _rows_of_block(self) -> int:
        """How many rows are left until the present block ends."""
        return self._every - self.n_rows % self._every

    def learn_one(self, row: Mapping[str, Any], y: Label, sample_weight: float, time: Time | None) -> None:
        """Answer one row, for the detector, and learn it."""
        self.models.settle_columns()
        warming, last = self.models.follow_warm_up(), self.models.watched_numbers
        for runner in self.models.running:
            runner.run_one(row, y, sample_weight, time)
        if self.models.reader is not None:
            self.models.reader.learn_one(row, y, sample_weight, time)
        self.models.end_warm_up_with(warming)
        self.models.follow_classes()
        if last is not None:
            weights = None if sample_weight == 1.0 else np.array([sample_weight])
            label = self.models.front.model.code_of(y)
            codes = np.array([UNKNOWN if label is None else label], dtype=np.uint16)
            last.add(last.read_row(self.models.front.model, row), codes, weights)
        self._step(1)

    def _step(self, n_rows: int) -> None:
        """After rows were learned: look at the errors where a block ends."""
        self.n_rows += n_rows
        if self.n_rows % self._every == 0:
            self.policy.look(self.n_rows)
            if self.models.reader is not None:  # who has just taken over answers by the cut points of now
                self.models.follow_warm_up()
            self.models.follow_classes()


def even_answers(classes: np.ndarray, n_rows: int) -> np.ndarray:
    """What is answered while nothing is known."""
    return np.full((n_rows, len(classes)), 1 / max(1, len(classes)))
