"""What is measured: every classifier at growing numbers of rows, columns, values and classes, one at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from experiments.growth.theory import Subject
from tanager import DriftAware, EvolvingNaiveBayes, HalfLives, HoeffdingTree, MemoryBudgetError, OptionError
from tanager.evaluate import Table
from tanager.learning.part_scorer import PartScorer

BASE = {"rows": 2000, "columns": 12, "values": 3, "classes": 2}
GRID = {
    "rows": (500, 2000, 8000, 32_000, 128_000, 512_000, 2_048_000),
    "columns": (6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256),
    "values": (2, 3, 4, 8, 12, 16, 24, 32, 48, 64),
    "classes": (2, 3, 4, 8, 12, 16, 24, 32, 48, 64),
}
MOST_SECONDS = 1.0  # what the next size may take, by how the last two have grown
MOST_BYTES = 2e8  # of the size before it
ENOUGH = 0.05  # seconds after which a measurement is not repeated
REPEATS = 3
N_ASKED = 3000  # rows to answer, at most; none is asked about twice, since LBR remembers its rules
MEASURES = ("learning", "memory", "answering")


def rows_of(rows: int, columns: int, values: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A column is often that before it, and sometimes the class; all columns together tell as much as ever.

    With as many columns as you like the class stays uncertain, so that a search has work to do at every size.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    X = rng.integers(0, values, (rows, columns), dtype=np.uint8)
    for i in range(columns):
        chance = rng.random(rows)
        told = min(0.5, 2.0 / columns)
        X[:, i] = np.where(chance < told, y % values, X[:, i])
        if i:
            X[:, i] = np.where(chance > 0.6, X[:, i - 1], X[:, i])
    return X, y


def measure(
    subjects: Sequence[Subject], n_sizes: int | None, progress: Callable[[int, int, str], None] = lambda *_: None
) -> Table:
    """A line for every classifier and size: seconds to learn, bytes learned, and seconds for an answer."""
    lines: list[list[Any]] = []
    for at, subject in enumerate(subjects):
        progress(at, len(subjects), subject.name)
        for along in GRID:
            lines += [[subject.name, along, *line] for line in _along(subject, along, GRID[along][:n_sizes])]
    progress(len(subjects), len(subjects), "all")
    return Table(["classifier", "along", *BASE, *MEASURES], lines)


def _along(subject: Subject, along: str, sizes: Sequence[int]) -> Iterator[list[Any]]:
    """One size grows; it ends before what would take too long or too much memory."""
    before = 0.0
    for size in sizes:
        shape = BASE | {along: size}
        try:
            found = costs(subject.model, shape)
        except (MemoryBudgetError, OptionError):  # too much memory, or too long by the learner's own measure
            return
        yield [*shape.values(), *found]
        spent = max(found[0], found[2] * 60)
        if found[1] > MOST_BYTES or (before and spent * max(spent / before, 1.0) > MOST_SECONDS):
            return
        before = spent


def costs(model: Any, shape: dict[str, int]) -> tuple[float, int, float]:
    """Seconds to learn, bytes of what was learned, seconds for one answer."""
    X, y = rows_of(**shape)

    def learn() -> None:
        model.fit(X, y).predict_proba(X[:1])  # what is put off until the first answer belongs to learning

    seconds = _best([learn] * REPEATS)
    asked = rows_of(**shape | {"rows": N_ASKED}, seed=1)[0]
    return seconds, learned_bytes(model), _answer_seconds(model, asked)


def _answer_seconds(model: Any, asked: np.ndarray) -> float:
    """Seconds for one row of a batch, after a first batch for which tables may have been made."""
    few, rest = asked[:10], asked[10:]
    model.predict_proba(few)
    each = _best([lambda: model.predict_proba(rest[:10])]) / 10
    size = max(10, min((len(rest) - 10) // 4, math.ceil(ENOUGH / 2 / max(each, 1e-9))))
    parts = [rest[10 + size * turn :][:size] for turn in range(4)]
    model.predict_proba(parts[0])
    return _best([lambda part=part: model.predict_proba(part) for part in parts[1:]]) / size


def _best(ways: Sequence[Callable[[], Any]]) -> float:
    """Seconds of this thread for the quickest of some runs, of which there are fewer where each takes long."""
    spans: list[float] = []
    for way in ways:
        start = time.thread_time()
        way()
        spans.append(time.thread_time() - start)
        if sum(spans) > ENOUGH:
            break
    return min(spans)


def learned_bytes(model: Any) -> int:
    """Bytes of counts and kept rows; of trees also those of the classifiers that answer the rows."""
    if isinstance(model, DriftAware):
        return learned_bytes(model.model_)
    if isinstance(model, HalfLives):
        return sum(learned_bytes(member) for member in model.members_)
    if isinstance(model, HoeffdingTree):
        return model.n_bytes_
    if isinstance(model, EvolvingNaiveBayes):
        return sum(array.nbytes for array in model.__getstate__()["_kernel"].values() if isinstance(array, np.ndarray))
    rows = model.memory.rows
    size = int(model.counts_.nbytes)
    if rows is None:
        return size
    size += sum(rows.part(name).nbytes for name in ("codes", "labels", "weights"))
    if isinstance(model.scorer_, PartScorer):
        parts = {id(portion.model): portion.model for portion in model.scorer_.route(rows.block)}
        size += sum(int(part.counts_.nbytes) for part in parts.values())
    return size
