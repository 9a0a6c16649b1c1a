"""What is run: every classifier over every stream, test then train, and how many answers were right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from experiments.bouckaert_streams.sources import IN_FRONT, SOURCES, STREAMS, Rows
from tanager import AODE, FANC, SPC, TAN, TC, NaiveBayes
from tanager.counts.joint import JointCounts
from tanager.encoding import Column, Schema
from tanager.learning.shared_counts import joint_shape

CLASSIFIERS = {"NB": NaiveBayes, "TAN": TAN, "AODE": AODE, "FANC": FANC, "SPC": SPC, "SPCr": SPC, "TC": TC}
SEED, MORE_SEEDS = 1, range(2, 11)  # of the sources with long streams, and of those that show the spread
ONE_BY_ONE = 0.01  # of the rows of a long stream are answered and learned row by row
BLOCK = 65_536  # rows that are answered together from the counts of those before them, at most
DENSITY = 10  # stretches for every factor of ten of rows; a block never goes beyond one
JURY = 1_000  # rows before a checkpoint that all super-parents are asked about, at most

Line = list[Any]
RESULTS = ("source", "seed", "stream", "n_rows", "asked", *CLASSIFIERS, "best", "super_parent")
TIMES = ("source", "seed", "stream", "what", "way", "n_rows", "seconds")
ORDERED = ("FANC", "SPC", "TC")  # whose answers depend on the order of the columns
ORDERS = ("source", "seed", "stream", "order", "asked", *ORDERED)


class Task(NamedTuple):
    """One stream: where it comes from, its rows, those answered and learned row by row, and stretches by rows."""

    source: str
    seed: int
    stream: str
    n_rows: int
    one_by_one: int = 0
    density: int = 1

    def __str__(self) -> str:
        return f"{self.source} source {self.seed}, {self.stream}, {self.n_rows:,} rows"


def tasks(n_rows: int, density: int, n_short: int, seeds: Sequence[int]) -> list[Task]:
    """Long streams of one source of each kind, those that take longest first; and short ones of further sources."""
    long = [
        Task(source, SEED, stream, n_rows, int(ONE_BY_ONE * n_rows), density)
        for stream in sorted(STREAMS, key=lambda stream: stream != "irrelevant")
        for source in SOURCES
    ]
    spread = [Task(source, seed, stream, n_short) for stream in STREAMS for seed in seeds for source in SOURCES]
    moved = [Task(source, seed, IN_FRONT, n_short) for seed in (SEED, *seeds) for source in SOURCES]
    return long + moved + spread


def checkpoints(n_rows: int, density: int) -> list[int]:
    """So many for every factor of ten, from 100 rows on."""
    steps = [round(10 ** (power / density)) for power in range(2 * density, 12 * density)]
    return [*(step for step in steps if step < n_rows), n_rows]


def pieces(rows: Rows, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Rows of a stream, cut at the checkpoints, and how many rows there are up to the end of each piece."""
    ends = iter(checkpoints(n_rows, DENSITY))
    end, done = next(ends), 0
    for codes, labels in rows.chunks(n_rows, BLOCK):
        start = 0
        while start < len(codes):
            piece = slice(start, min(len(codes), start + end - done))
            done += piece.stop - start
            yield codes[piece], labels[piece], done
            start = piece.stop
            end = next(ends, n_rows) if done == end else end


class Clock:
    """Rows, and seconds of the processor, by what was done with them and in which way."""

    def __init__(self) -> None:
        self.spent: dict[tuple[str, str], tuple[int, float]] = {}

    @contextmanager
    def __call__(self, what: str, n_rows: int, way: str = "blocks") -> Iterator[None]:
        start = time.process_time()
        yield
        rows, seconds = self.spent.get((what, way), (0, 0.0))
        self.spent[what, way] = rows + n_rows, seconds + time.process_time() - start


class Voters:
    """All classifiers, as views of one store of counts; for the first rows each over counts of its own as well.

    SPCr answers with the super-parent that has given the true classes the largest sum of probabilities so far: at each
    checkpoint all of them are asked about rows that are not learned yet.
    """

    def __init__(self, n_columns: int, one_by_one: int) -> None:
        self.schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=2) for i in range(n_columns)))
        self.counts = self._empty(*CLASSIFIERS.values())
        self.models = {name: kind.from_counts(self.counts) for name, kind in CLASSIFIERS.items()}
        self.candidates = [SPC.from_counts(self.counts, super_parent=s) for s in range(n_columns)]
        self.sums = np.zeros(n_columns)
        self.one_by_one = one_by_one
        self.own = {name: self._alone(name) for name in CLASSIFIERS} if one_by_one else {}
        self.clock = Clock()

    def _empty(self, *kinds: Any) -> JointCounts:
        """Counts of no rows, as wide as these classifiers need."""
        return JointCounts(self.schema, np.array([0, 1]), **joint_shape([kind() for kind in kinds], self.schema))

    def _alone(self, name: str) -> Any:
        """A classifier over counts of its own; for SPCr of all triples, as any column may be the super-parent."""
        return CLASSIFIERS[name].from_counts(self._empty(TC if name == "SPCr" else CLASSIFIERS[name]))

    @property
    def super_parent(self) -> int:
        """Of SPCr; of equals the first."""
        return int(np.argmax(self.sums))

    def answers(self, codes: np.ndarray, labels: np.ndarray, done: int) -> dict[str, np.ndarray]:
        """Whether each classifier says the second class, for rows up to ``done``, from those before them."""
        row_by_row = done <= self.one_by_one
        answers = {}
        for name in CLASSIFIERS:
            with self.clock(name, len(codes), "row by row" if row_by_row else "blocks"):
                proba = self._in_turn(name, codes, labels) if row_by_row else self._at_once(name, codes)
                answers[name] = proba[:, 1] > proba[:, 0]
        return answers

    def _in_turn(self, name: str, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Each row from all rows before it."""
        model = self.own[name]
        if name == "SPCr" and model.super_parent != self.super_parent:
            model = self.own[name] = SPC.from_counts(model.counts_, super_parent=self.super_parent)
        return model.test_then_train(codes, labels)

    def _at_once(self, name: str, codes: np.ndarray) -> np.ndarray:
        """All rows from those before the first of them."""
        model = self.candidates[self.super_parent] if name == "SPCr" else self.models[name]
        return model.predict_proba(codes)

    def hear(self, codes: np.ndarray, labels: np.ndarray) -> None:
        """Let the super-parents compete."""
        with self.clock("choosing super-parents", len(codes)):
            own = np.arange(len(labels)), labels
            self.sums += [model.predict_proba(codes)[own].sum() for model in self.candidates]

    def learn(self, codes: np.ndarray, labels: np.ndarray) -> None:
        """Count the rows, once for all."""
        with self.clock("counting", len(codes)):
            self.counts.update(codes, labels)


def run(task: Task) -> tuple[Task, list[Line], list[Line]]:
    """The right answers on every stretch of a stream, and the seconds of the processor."""
    rows = Rows(task.source, task.seed, task.stream)
    voters = Voters(len(rows.names), task.one_by_one)
    kept = set(checkpoints(task.n_rows, task.density))
    lines: list[Line] = []
    right, asked = np.zeros(len(CLASSIFIERS) + 1, dtype=int), 0
    parts = pieces(rows, task.n_rows)
    while True:
        with voters.clock("making rows", BLOCK):
            part = next(parts, None)
        if part is None:
            break
        codes, labels, done = part
        answers = voters.answers(codes, labels, done)
        with voters.clock("best answers", len(codes)):
            answers["best"] = rows.best_answers(codes)
        if done in kept:
            voters.hear(codes[-JURY:], labels[-JURY:])
        voters.learn(codes, labels)
        right += [np.count_nonzero(own == labels) for own in answers.values()]
        asked += len(codes)
        if done in kept:
            lines.append([*task[:3], done, asked, *right.tolist(), rows.names[voters.super_parent]])
            right, asked = np.zeros_like(right), 0
    times = [[*task[:3], what, way, *spent] for (what, way), spent in voters.clock.spent.items()]
    return task, lines, times


def in_other_orders(task: Task) -> tuple[Task, list[Line]]:
    """The right answers to the second half of a short stream from its first half, with columns in several orders."""
    (codes, labels), (asked, truth) = Rows(task.source, task.seed, task.stream).chunks(task.n_rows, task.n_rows // 2)
    counts = TC().fit(codes, labels).counts_
    lines: list[Line] = []
    for order in ("given", "mi", "ig_sum"):
        models = [CLASSIFIERS[name].from_counts(counts, column_order=order) for name in ORDERED]
        right = [np.count_nonzero(model.predict(asked) == truth) for model in models]
        lines.append([*task[:3], order, len(truth), *right])
    return task, lines
