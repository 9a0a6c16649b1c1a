"""Whether rows come in an order that matters: by time, so that neighbours are alike, or sorted.

Random folds, and leaving out single rows, then flatter: the answer to a row stands beside it. The test counts runs of
equal labels (Wald and Wolfowitz 1940, for several classes): rows in random order have many, rows in an order have few.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

STRICT = 10.0  # standard deviations by which runs must be fewer than in random order
ALIKE = 0.2  # and neighbours must be alike so much beyond chance, where 1 is always
LEAST_ROWS = 30  # below, a column can rise by chance
SURE = 4.0  # standard deviations by which runs are fewer where rows are said to be sorted by class
RUNS_PER_CLASS = 4  # rows with no more runs are sorted by class, maybe in a few parts
WORDS_OF_TIME = ("date", "time", "timestamp", "datetime", "day", "year", "month", "hour")


class LabelRuns:
    """Counts runs of equal labels, chunk after chunk.

    Examples
    --------
    >>> runs = LabelRuns()
    >>> runs.add([0, 0, 1], ["up", "down"])
    >>> runs.add([0, 1], ["down", "up"])
    >>> runs.n_runs, runs.n_rows
    (3, 5)
    """

    def __init__(self) -> None:
        self.n_runs = 0
        self.classes: Counter[Any] = Counter()
        self._last: Any = None

    @property
    def n_rows(self) -> int:
        """The rows so far."""
        return sum(self.classes.values())

    def add(self, codes: Any, labels: Sequence[Any]) -> None:
        """Some more rows: the codes of their classes, and the labels that these stand for."""
        codes = np.asarray(codes)
        if not len(codes):
            return
        new = not self.classes or labels[codes[0]] != self._last
        self.n_runs += int(new) + int(np.count_nonzero(codes[1:] != codes[:-1]))
        self._last = labels[codes[-1]]
        counts = np.bincount(codes, minlength=len(labels)).tolist()
        self.classes.update({label: n for label, n in zip(labels, counts, strict=True) if n})

    @property
    def sorted_by_class(self) -> bool:
        """Whether each class comes in one piece, or in a few."""
        return self.n_runs <= RUNS_PER_CLASS * len(self.classes) and self.deviations >= SURE

    @property
    def deviations(self) -> float:
        """By how many standard deviations runs are fewer than in random order."""
        n, counts = self.n_rows, list(self.classes.values())
        squares, cubes = sum(c**2 for c in counts), sum(c**3 for c in counts)
        expected = (n * (n + 1) - squares) / n if n else 0.0
        variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1)) if n > 1 else 0.0
        return (expected - self.n_runs) / math.sqrt(variance) if variance > 0 else 0.0

    @property
    def alike(self) -> float:
        """How often neighbours have the same label, where 0 is chance and 1 is always."""
        n = self.n_rows
        if n < 2:
            return 0.0
        chance = sum(c * (c - 1) for c in self.classes.values()) / (n * (n - 1))
        return ((n - self.n_runs) / (n - 1) - chance) / (1 - chance) if chance < 1 else 0.0


@dataclass(frozen=True)
class RowOrder:
    """What the order of rows is: ``"time"``, ``"alike"`` (neighbours), ``"class"``, ``"column"`` or ``"none"``."""

    kind: str
    column: str = ""
    alike: float = 0.0

    @property
    def flatters(self) -> bool:
        """Whether random folds and leaving out single rows promise too much."""
        return self.kind in ("time", "alike")

    def sentence(self, way_out: str) -> str:
        """What was seen, and what to do about it; empty where there is nothing to say."""
        if self.kind == "time":
            return f"rows are in the order of {self.column!r}: random folds and leave-one-out flatter. {way_out}"
        if self.kind == "alike":
            return (
                "labels of neighbouring rows are alike far beyond chance. If rows come in the order of time, random "
                f"folds and leave-one-out flatter. {way_out}"
            )
        if self.kind == "class":
            return (
                "rows are sorted by class: random folds and leave-one-out are right, but a stream, or folds in the "
                "order of rows, would meet classes that were never learned."
            )
        return ""


def ranked(codes: np.ndarray, values: Iterable[Any]) -> np.ndarray:
    """Codes of values as places of the values in their order, by which a column of dates as text rises.

    >>> ranked(np.array([0, 1, 2]), ["b", "a", "c"])
    array([1, 0, 2])
    """
    order = np.argsort(np.array([str(value) for value in values]), kind="stable")
    places = np.empty(len(order) + 1, dtype=np.int64)
    places[order], places[-1] = np.arange(len(order)), len(order)  # the last for what is missing
    return np.asarray(places[np.minimum(codes, len(order))])


def row_order(
    runs: LabelRuns, columns: Iterable[tuple[str, Callable[[], np.ndarray]]] = (), dates: Container[str] = ()
) -> RowOrder:
    """The order of rows, from their labels and their columns: names, and what gives their cells as ordered numbers.

    ``dates`` are the columns that hold dates; others are times by what they are called.
    A file that is sorted by its class, or by a column that is no time, is no stream: there random folds are right.

    Examples
    --------
    >>> runs = LabelRuns()
    >>> runs.add(np.repeat([0, 1] * 40, 5), ["up", "down"])
    >>> row_order(runs).kind
    'alike'
    >>> row_order(runs, [("day", lambda: np.arange(400))]).kind
    'time'
    >>> row_order(runs, [("price", lambda: np.repeat([1, 2], 200))]).kind
    'column'
    """
    alike, cells_of = runs.alike, dict(columns)
    if runs.sorted_by_class:
        return RowOrder("class", alike=alike)
    times = [name for name, cells in cells_of.items() if (name in dates or _means_time(name)) and _is_sorted(cells())]
    if times and runs.n_rows >= LEAST_ROWS:
        return RowOrder("time", times[0], alike)
    if runs.deviations < STRICT or alike < ALIKE:
        return RowOrder("none", alike=alike)
    for name, cells in cells_of.items():
        if _is_sorted(cells()):
            return RowOrder("column", name, alike)
    return RowOrder("alike", alike=alike)


def _is_sorted(cells: np.ndarray) -> bool:
    """Whether cells rise or fall, or few values stand together each; a constant column tells nothing."""
    if len(cells) < 2 or (cells[0] == cells).all():
        return False
    rises, falls = cells[1:] >= cells[:-1], cells[1:] <= cells[:-1]
    if rises.all() or falls.all():
        return True
    n_runs = int(np.count_nonzero(cells[1:] != cells[:-1])) + 1
    return n_runs <= len(cells) / 2 and n_runs == len(np.unique(cells))


def _means_time(name: str) -> bool:
    words = "".join(c if c.isalnum() else " " for c in str(name).lower()).split()
    return any(word in WORDS_OF_TIME for word in words)
