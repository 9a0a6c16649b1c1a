"""Learning a forest from rows: draw networks, learn strengths of back-off, weigh the factors on left-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from tanager import _kernels
from tanager.counts.block import Block
from tanager.encoding import Schema
from tanager.learning.forest_plan import MOST_COLUMNS, ForestPlan, draw_plan, is_ordered, value_order
from tanager.learning.forest_weights import LeftOutTerms, factor_weights
from tanager.scoring.forest import CLIP, Forest, encoded, log_prior
from tanager.stages import kernel_steps, tell

_LEVELS = 17  # of back-off: the class, and up to sixteen parents
STRENGTH_ROWS = 1000  # of each half, that strengths are learned by: a few numbers for each family need no more
_MOST_TERMS = 40_000_000  # numbers that are held while weights are learned: 160 MB
_FACTORS, _FACTORS_OF_CATEGORIES = 2000, 1000  # before those of no weight are dropped
_MANY_VALUES = 8  # more of them in an order can be joined to bins in many ways
_FEW_MEMBERS, _FEWEST_MEMBERS = 60, 20  # but there are so many, where one sees some columns alone, or cells are many


# Where to write strengths, and what is said about the judged rows of either half (see ``LeftOutTerms``).
Learned = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class DistinctRows:
    """Rows that differ from each other, in two halves and in an order as if drawn at random.

    Which half a row is in, and where, depends on what it is alone.
    """

    slots: np.ndarray  # (columns, rows)
    labels: np.ndarray
    weights: np.ndarray  # of all rows that are the same
    half: int  # how many the first half has

    @classmethod
    def of(cls, block: Block, schema: Schema) -> DistinctRows:
        slots, labels, _ = encoded(block, schema.n_values)
        mixed = marks(slots, labels, schema)
        _, first, place = np.unique(mixed, return_index=True, return_inverse=True)
        total = np.bincount(place, None if block.weights is None else block.weights, minlength=len(first))
        odd = in_second_half(mixed[first])
        order = np.argsort(odd, kind="stable")
        first, total = first[order], total[order].astype(np.float32)
        return cls(np.ascontiguousarray(slots[:, first]), labels[first], total, int(np.count_nonzero(~odd)))

    def some(self, at: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels and weights of n rows."""
        return self.labels[at : at + n], self.weights[at : at + n]


def marks(slots: np.ndarray, labels: np.ndarray, schema: Schema) -> np.ndarray:
    """A number for every row, as if drawn at random, that depends on what the row is alone."""
    mixed = np.ones(len(labels), dtype=np.uint64)
    for column, cells in zip(schema.columns, slots, strict=True):
        rank = np.append(np.argsort(value_order(column)), column.n_values).astype(np.uint64)
        mixed = _mix(mixed, rank[cells])
    return _mix(mixed, labels.astype(np.uint64))


def in_second_half(marks: np.ndarray) -> np.ndarray:
    """Which half rows with these marks are in."""
    return np.asarray((marks >> np.uint64(17)) & np.uint64(1) == 1)


def _mix(mixed: np.ndarray, cells: np.ndarray) -> np.ndarray:
    mixed = (mixed ^ cells) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


class AllRows:
    """The rows of a forest, all of them here."""

    masses = None

    def __init__(self, rows: DistinctRows, n_jobs: int) -> None:
        self.rows, self.n_jobs = rows, n_jobs

    def learn(self, plan: ForestPlan, n_judged: int, n_classes: int, to: Learned) -> None:
        """Learn strengths of back-off, and what families say about rows that are left out."""
        kernel = _kernels.Forest(list(plan.n_slots), plan.groups, plan.families, CLIP)
        rows = self.rows
        learned = rows.slots, rows.labels, rows.weights
        with kernel_steps("learning families"):
            kernel.learn(*learned, rows.half, STRENGTH_ROWS, n_judged, n_classes, *to, self.n_jobs)


@dataclass(frozen=True)
class ForestSizes:
    """How many members, factors (None: as many as the columns ask for) and rows to judge by; and the seed."""

    n_members: int
    max_factors: int | None
    validation_rows: int
    seed: int

    def members(self, schema: Schema, cells: int) -> int:
        """How many there are, where each has so many numbers to be weighed by."""
        n_columns, most = len(schema.columns), self.max_factors
        if most is None:
            most = _FACTORS_OF_CATEGORIES if of_categories(schema) else _FACTORS
        fewest = _FEW_MEMBERS if n_columns > MOST_COLUMNS else 1
        return min(
            self.n_members,
            max(fewest, most // max(1, n_columns)),
            max(_FEWEST_MEMBERS, _MOST_TERMS // max(1, cells)),
        )


def of_categories(schema: Schema) -> bool:
    """Whether no column has an order and many values, so that members cannot differ by their bins."""
    return not any(is_ordered(column) and column.n_values > _MANY_VALUES for column in schema.columns)


def forest_here(schema: Schema, class_counts: np.ndarray, sizes: ForestSizes, block: Block, n_jobs: int) -> Forest:
    """The forest for these rows."""
    return learn_forest(schema, AllRows(DistinctRows.of(block, schema), n_jobs), class_counts, sizes)[0]


class SomeRows(Protocol):
    """The first rows of either half, and what all rows say about the families of a plan; see ``AllRows``."""

    rows: DistinctRows
    n_jobs: int

    @property
    def masses(self) -> Sequence[np.ndarray] | None:
        """What the slots of each column weigh, where there are more rows than these."""
        ...

    def learn(self, plan: ForestPlan, n_judged: int, n_classes: int, to: Learned) -> None:
        """Learn strengths of back-off, and what families say about rows that are left out."""
        ...


@cache
def _linear_algebra() -> ThreadpoolController:
    """The threads of NumPy's products. To find them takes milliseconds, and NumPy is loaded once."""
    return ThreadpoolController()


def learn_forest(
    schema: Schema, source: SomeRows, class_counts: np.ndarray, sizes: ForestSizes
) -> tuple[Forest, np.ndarray]:
    """The forest for these rows, and which of the families that were drawn are in it.

    Neither the order of rows nor weights in place of repeated rows change it.
    """
    n_classes, n_columns, rows = len(class_counts), len(schema.columns), source.rows
    n_judged = [min(n, -(-sizes.validation_rows // 2)) for n in (rows.half, len(rows.labels) - rows.half)]
    cells = sum(n_judged) * n_classes * n_columns
    n_members = sizes.members(schema, cells)
    plan = draw_plan(schema, rows.slots, rows.labels, rows.weights, n_classes, n_members, sizes.seed, source.masses)
    if n_classes < 2 or cells == 0:
        plan = plan.part(np.zeros(0, dtype=np.int64))
    strengths = np.ones((len(plan.families), _LEVELS), dtype=np.float32)
    first, second = (LeftOutTerms.room(n, len(plan.families), n_classes) for n in n_judged)
    if len(plan.families):
        # Strengths that a row has helped to choose would flatter its own answer, most so where columns are many and
        # rows are few. So a half of the rows chooses them for the answers of the other half.
        source.learn(plan, max(n_judged), n_classes, (strengths, first, second))
    halves = (
        LeftOutTerms(first, CLIP / 127, *rows.some(0, n_judged[0]), n_classes),
        LeftOutTerms(second, CLIP / 127, *rows.some(rows.half, n_judged[1]), n_classes),
    )
    tell("weighing families")
    # Many small products: more threads than asked for would only wait.
    with _linear_algebra().limit(limits=source.n_jobs, user_api="blas"):
        found = factor_weights(halves, log_prior(class_counts), n_members)
    used = np.flatnonzero(found.factors > 0)
    forest = Forest(
        np.array(plan.n_slots, dtype=np.int64),
        plan.groups,
        plan.families[used],
        strengths[used],
        found.factors[used].astype(np.float32),
        found.prior,
    )
    return forest, used
