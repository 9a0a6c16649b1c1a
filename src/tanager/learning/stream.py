"""Streams of counting classifiers: single rows in microseconds, whole arrays row by row in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tanager.counts.forgetting import Steps
from tanager.encoding import Column, Schema
from tanager.encoding.chunks import rows_of_dicts, take_rows
from tanager.encoding.validation import check_times
from tanager.encoding.values import is_missing, plain
from tanager.learning.memory import LIGHT
from tanager.learning.one_row import check_row


@dataclass
class Block:
    """Encoded rows to learn, rows to answer instead of them (or None), and room for the answers.

    ``numbers`` are the cells of columns without codes, where there are any.
    """

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None
    times: np.ndarray | None
    numbers: np.ndarray | None
    asked: np.ndarray | None
    asked_numbers: np.ndarray | None
    out: np.ndarray

    def part(self, rows: slice) -> Block:
        """Some of the rows."""
        parts: list[Any] = [getattr(self, item.name) for item in fields(self)]
        return Block(*[None if part is None else part[rows] for part in parts])  # type: ignore[arg-type]


class StreamMixin:
    """learn_one, predict_proba_one and test_then_train straight from and into the counts."""

    _view: Any

    def learn_one(self: Any, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0, time: Any = None) -> Any:
        """Learn one row. New keys are new columns, absent keys are missing; a missing label teaches nothing."""
        check_row(row, "learn_one")
        if not hasattr(self, "counts_") or self._warm is not None:
            return super().learn_one(row, y, sample_weight, time)  # type: ignore[misc]
        label = self._class_codes().get(y)
        if label is None and is_missing(y):
            return self
        if sample_weight != 0:  # cells that cannot be used are refused before a new class is taken in
            if self.encoder_.new_names(row):
                self._add_columns([row])
            codes = self.encoder_.update_row(row)
        if label is None:
            self._add_classes(np.array([plain(y)]))
            label = self._class_codes()[y]
        if sample_weight == 0:
            return self
        self._sync()
        if self._clock is not None:
            times = check_times(None if time is None else [time], 1)
            steps, numbers = self._steps(1, times), self._numbers_of([row])
            self._add_one(numbers, codes, label, float(sample_weight), times, steps)
            return self
        self.counts_.learn_row(codes, label, sample_weight)
        if self._keeps() or not self._answers_by_kernel():  # there is more to learn than counts
            weights = None if sample_weight == 1.0 else np.array([float(sample_weight)])
            labels, numbers = np.array([label], dtype=np.uint16), self._numbers_of([row])
            self._learned(numbers, labels, weights)
            self._keep(numbers, codes[None, :], labels, weights)
        return self

    def predict_proba_one(self: Any, row: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        if not self._has_learned():
            return {}
        codes = self.encoder_.encode_row(row, self.unseen)
        view = self._structure(fresh=False)
        if self._answers_by_kernel():
            proba = view.plan.one(codes)
        else:
            proba = self._score_codes(codes[None, :], view, [row], log_joint=False)[0].tolist()
        return dict(zip(self._class_codes(), proba, strict=True))

    def _add_columns(self: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take in names that are no column yet: categorical, missing in all rows so far."""
        known = self.encoder_.schema
        new = dict.fromkeys(name for row in rows for name in self.encoder_.new_names(row) if not is_missing(row[name]))
        if self.schema is not None or not new:
            return
        self.encoder_.extend(Column(name, "categorical", reason="appeared in the stream") for name in new)
        # Three columns may be needed together where there were not even three.
        wider = self._shape(self.encoder_.schema) if len(known) < 3 else {}
        self.counts_.add_columns(self.encoder_.schema, **wider)
        self.n_features_in_ = len(self.encoder_.schema.names)
        if hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(self.encoder_.schema.names, dtype=object)
        if self._rows is not None:
            self._rows.add_columns(len(new))
        self._view = None

    def _answer_first(self: Any, one: Any) -> np.ndarray:
        view = self._structure(fresh=False)
        return self._score_codes(self._encode(one), view, one, log_joint=False)

    def _test_some(
        self: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, times: np.ndarray | None, answered: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Answer and learn at least one row, and stop where a class or (for the kernel) a value is new."""
        plain_rows = 0
        if hasattr(self, "counts_") and self._streams_by_kernel():
            plain_rows = min(self._known_names(X, self._plain_rows(y, weights)), self._rows_of_stage(len(y)))
        if plain_rows == 0:
            return self._test_first(X, y, weights, times, answered)
        X, y = take_rows(X, 0, plain_rows), y[:plain_rows]
        weights, times = (None if part is None else part[:plain_rows] for part in (weights, times))
        labels, _ = self._labels(y)
        codes = self.encoder_.update(X, _where_labelled(labels, weights), type(self).__name__)
        asked = None if answered is None else take_rows(answered, 0, plain_rows)
        to_ask, numbers = (None, None) if asked is None else (self._encode(asked), self._numbers_of(asked))
        out = np.empty((len(codes), len(self.classes_)))
        self._test_codes(Block(codes, labels, weights, times, self._numbers_of(X), to_ask, numbers, out))
        self._sync()
        if self._warm is not None:
            self._warmed(X, labels, weights, times)
        return self.classes_, out

    def _streams_by_kernel(self: Any) -> bool:
        """Whether whole streams run compiled."""
        return self._answers_by_kernel()

    def _with_numbers(self, proba: np.ndarray, numbers: np.ndarray | None) -> np.ndarray:
        """Answers of the counts, and of columns without codes."""
        return proba

    def _run_numbers(self: Any, block: Block, steps: Steps, leaving: Any) -> None:
        """Let columns without codes speak too, and learn them; `leaving` are the rows of the window."""

    def _judging(self) -> dict[str, Any]:
        """What the kernel should find out about members on the way, and where to write it."""
        return {}

    def _streamed(self, view: Any, judging: dict[str, Any], n_rows: int) -> None:
        """The kernel has gone through so many rows, and found this."""

    def _rows_of_stage(self: Any, most: int) -> int:
        """How many rows the present cut points hold for; in a warm-up they change where the rows have doubled."""
        if self._warm is None:
            return most
        self._settle()
        return min(most, min(2 * self._warm.stage, self.warm_up) - self._warm.n_rows)

    def _warmed(self: Any, X: Any, labels: np.ndarray, weights: np.ndarray | None, times: np.ndarray | None) -> None:
        """Rows of a warm-up were counted: keep them, for the cut points to come."""
        warm = self._warm
        warm.append(X, labels, weights, times)
        if warm.n_rows >= self.warm_up:
            self._freeze(self.warm_up)
        elif warm.n_rows < 2 * warm.stage:
            warm.counted = warm.n_rows

    def _test_codes(self: Any, block: Block) -> None:
        """Answer and learn encoded rows, as many at a time as one view can answer."""
        steps = Steps(None, None, None) if self._clock is None else self._steps(len(block.codes), block.times)
        if steps.late is not None:
            block.weights = steps.late if block.weights is None else block.weights * steps.late
        done, end = 0, len(block.codes)
        while done < end:
            view = self._structure(fresh=False)
            most = self._fresh_rows(end - done, None if block.weights is None else block.weights[done:])
            part = slice(done, done + most)
            went = 0
            if steps.fade is None or not self._clock.decay.per_class:
                went = self._run(view, block.part(part), steps.part(part))
            if went == 0:  # this row has a value that no row before it had, or is not for the kernel
                went, part = 1, slice(done, done + 1)
                self._run_one(view, block.part(part), steps.part(part))
            done += went

    def _run(self: Any, view: Any, block: Block, steps: Steps) -> int:
        """Answer and learn rows in the kernel, up to one with a new value; rows leave the window on the way."""
        codes, labels, weights = block.codes, block.labels, block.weights
        if self._rows is not None:
            self._rows.follow(self.counts_)
            beside = (block.times, block.numbers) if self.window is not None else ()
            self._rows.append(codes, labels, weights, *beside)
            self._rows.check_budget(self.max_memory, type(self).__name__)
        queue = None if steps.gone is None else self._rows.queue
        leaving = None
        if queue is not None and block.numbers is not None:
            leaving = self._rows.numbers, queue[1], queue[2] / self._rows.scale
        options = {"answered": block.asked, "fade": steps.fade, "queue": queue, "gone": steps.gone}
        judging = self._judging()
        went: int = view.stream(codes, labels, weights, block.out, **options, **judging)
        self._streamed(view, judging, went)
        if block.numbers is not None and went:
            behind = None if leaving is None else tuple(part[: len(part) - len(codes) + went] for part in leaving)
            self._run_numbers(block.part(slice(went)), steps.part(slice(went)), behind)
        if self._rows is not None:
            self._rows.drop_last(len(codes) - went)
            self._rows_learned(steps, went)
        if self._clock is not None:
            self._clock.pass_rows(went, None if block.times is None else block.times[:went])
        return went

    def _rows_learned(self: Any, steps: Steps, n: int) -> None:
        """The kernel has counted the last n rows that are kept; those that left the window go."""
        rows = self._rows
        if steps.gone is not None:
            rows.scale, rows.halvings = self.counts_.scale, self.counts_.halvings  # the kernel has weighed them
            rows.drop(int(steps.gone[:n].sum()))
            return
        if steps.fade is not None and n:
            later = np.cumsum(np.log(steps.fade[:n])[::-1])[::-1] - np.log(steps.fade[:n])
            own = rows.raw[-n:] / rows.scale * np.exp(later)
            rows.follow(self.counts_)
            rows.raw[-n:] = own * rows.scale
            rows.prune(LIGHT)

    def _run_one(self: Any, view: Any, block: Block, steps: Steps) -> None:
        """Answer and learn one row, with room for its values."""
        asked, numbers = (block.codes, block.numbers) if block.asked is None else (block.asked, block.asked_numbers)
        block.out[:] = self._with_numbers(view.score(self._unseen(asked), n_jobs=1), numbers)
        if block.labels[0] == np.iinfo(block.labels.dtype).max:
            return  # no label, nothing to learn
        self._grow_counts_to(block.codes[0])
        weight = 1.0 if block.weights is None else float(block.weights[0])
        if self._clock is not None:
            step = Steps(steps.fade, None, steps.gone)  # weights are late ones already
            self._add_one(block.numbers, block.codes[0], int(block.labels[0]), weight, block.times, step)
            return
        self.counts_.learn_row(block.codes[0], int(block.labels[0]), weight)
        self._learned(block.numbers, block.labels, block.weights)
        self._keep(block.numbers, block.codes, block.labels, block.weights)

    def _plain_rows(self: Any, y: np.ndarray, weights: np.ndarray | None) -> int:
        """How many rows from the first on have a known class and a weight; or no class, where that changes nothing."""
        free = self._clock is None and self._rows is None and self._warm is None and self.unseen == "ignore"
        odd = np.zeros(len(y), dtype=bool) if weights is None else weights[: len(y)] == 0
        known = self._class_codes()
        values = np.unique(y) if y.dtype != object else np.array(list(dict.fromkeys(y.tolist())), dtype=object)
        for label in values.tolist():
            if label not in known and not (free and is_missing(label)):
                odd |= y == label if not is_missing(label) else np.array([is_missing(other) for other in y.tolist()])
        return int(np.argmax(odd)) if odd.any() else len(y)

    def _known_names(self: Any, X: Any, most: int) -> int:
        """How many rows from the first on bring no new column, which only dicts can."""
        if not rows_of_dicts(X):
            return most
        return next((r for r, row in enumerate(X[:most]) if self.encoder_.new_names(row)), most)

    def _fresh_rows(self: Any, most: int, weights: np.ndarray | None) -> int:
        """How many rows the present view may answer in turn: until its form must be learned again."""
        if not self._adaptive():
            return most
        room = self._due() - self._age()
        if weights is None or self._clock is not None:
            return int(min(most, max(0.0, room) + 1))
        return min(most, 1 + int(np.searchsorted(np.cumsum(weights), room, side="right")))

    def _unseen(self: Any, codes: np.ndarray) -> np.ndarray:
        """Codes beyond the counts as prediction would see them."""
        n_values = self.counts_.schema.n_values
        beyond = (codes >= n_values) & (codes != np.iinfo(codes.dtype).max)
        marker = n_values if self.unseen == "smooth" else np.iinfo(codes.dtype).max
        return np.where(beyond, marker, codes).astype(codes.dtype)

    def _grow_counts_to(self: Any, row: np.ndarray) -> None:
        """Let the counts know the values up to those of this row; values have codes in order of appearance."""
        columns = list(self.counts_.schema.columns)
        for i, (column, code) in enumerate(zip(self.encoder_.schema.columns, row.tolist(), strict=True)):
            if columns[i].n_values <= code != np.iinfo(row.dtype).max:
                at_end = code + 1 >= column.n_values
                columns[i] = (
                    column
                    if at_end
                    else replace(
                        column, values=column.values[: code + 1], other=False, n_codes=min(column.n_codes, code + 1)
                    )
                )
        self.counts_.grow(Schema(tuple(columns)), self.classes_)


def _where_labelled(labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Weights that are 0 where there is no label: such a row teaches no new value."""
    known = labels != np.iinfo(labels.dtype).max
    if known.all():
        return weights
    return known.astype(float) if weights is None else np.where(known, weights, 0.0)
