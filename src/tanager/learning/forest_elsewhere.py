"""A forest from rows that stay where they are: a few of them to judge by, and counts of every family of the plan.

What a family says depends on its counts and on the rows that are left out. So the kernels get, in place of all rows,
those few and one row for every cell of the counts, with the weight of all others in it: the same sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.counts.memory import as_bytes
from tanager.encoding import Schema
from tanager.learning.forest_learner import (
    STRENGTH_ROWS,
    DistinctRows,
    ForestSizes,
    Learned,
    in_second_half,
    learn_forest,
    marks,
)
from tanager.learning.forest_plan import INFORMATION_ROWS, ForestPlan
from tanager.learning.memory import RowsElsewhere
from tanager.scoring.forest import CLIP, Forest, encoded

ROWS_AT_ONCE = 1 << 19  # that a part counts together: every family is gone through for them
_BYTES_PER_CELL = 64  # two halves of eight bytes, here, packed, and where two parts are merged


@dataclass(frozen=True)
class FirstOfHalves:
    """Of some rows those that come first in either half; the first of all are among the first of every part."""

    schema: Schema
    n: int

    def __call__(self, block: Block) -> Block:
        slots, labels, _ = encoded(block, self.schema.n_values)
        mixed = marks(slots, labels, self.schema)
        order, odd = np.argsort(mixed, kind="stable"), in_second_half(mixed)
        return block.part(np.sort(np.concatenate([order[odd[order] == half][: self.n] for half in (False, True)])))


@dataclass(frozen=True)
class FamilyCounts:
    """What rows add to the counts of all families of a plan: (2 halves, cells)."""

    schema: Schema
    plan: ForestPlan
    n_classes: int

    def __call__(self, block: Block) -> np.ndarray:
        slots, labels, _ = encoded(block, self.schema.n_values)
        second = in_second_half(marks(slots, labels, self.schema)).astype(np.int64)
        place = second * self.n_classes + labels
        return np.concatenate(
            [
                family.counted(family.grouped(slots), place, block.weights, self.n_classes)
                for family in families_of(self.plan)
            ],
            axis=1,
        )


@dataclass(frozen=True)
class Family:
    """One family of a plan: its columns, parents first, and the group of every slot of each."""

    columns: list[int]
    groups: list[np.ndarray]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many groups each column has."""
        return tuple(int(own.max()) + 1 for own in self.groups)

    @property
    def n_cells(self) -> int:
        """Combinations of groups."""
        return int(np.prod(self.shape))

    def grouped(self, slots: np.ndarray) -> list[np.ndarray]:
        """The groups that rows are in, column by column."""
        return [own[slots[i]] for i, own in zip(self.columns, self.groups, strict=True)]

    def counted(
        self, groups: list[np.ndarray], place: np.ndarray, weights: np.ndarray | None, n_classes: int
    ) -> np.ndarray:
        """(2 halves, cells times classes); ``place`` says half and class of every row."""
        size = self.n_cells * n_classes
        cells = np.ravel_multi_index(groups, self.shape) * n_classes
        half, label = np.divmod(place, n_classes)
        return np.bincount(half * size + cells + label, weights, minlength=2 * size).reshape(2, size).astype(float)

    def kernel(self) -> _kernels.Forest:
        """This family alone, over groups instead of slots; the child is its first column."""
        sizes = [self.shape[-1], *self.shape[:-1]]
        groups = np.concatenate([np.arange(n, dtype=np.uint8) for n in sizes])[None]
        return _kernels.Forest(sizes, groups, np.arange(-1, len(sizes), dtype=np.int32).clip(0)[None], CLIP)

    def cells(self, counts: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One row for every cell with a count: its groups (child first), class and weight."""
        at = np.flatnonzero(counts > 0)
        *parents, child, label = np.unravel_index(at, (*self.shape, n_classes))
        slots = np.array([child, *parents], dtype=np.uint16).reshape(len(self.shape), -1)
        return slots, label.astype(np.uint16), counts[at].astype(np.float32)


def families_of(plan: ForestPlan) -> Iterator[Family]:
    """The families of a plan, one by one."""
    starts = np.cumsum([0, *plan.n_slots]).tolist()
    for member, child, *parents in plan.families.tolist():
        columns = [*(parent for parent in parents if parent >= 0), child]
        lines = plan.groups[member]
        yield Family(columns, [lines[starts[i] : starts[i + 1]].astype(np.int64) for i in columns])


@dataclass
class RowsToReach:
    """Rows that are elsewhere as ``learn_forest`` wants them. Keeps the counts of families for the tables."""

    schema: Schema
    elsewhere: RowsElsewhere
    counts: JointCounts
    validation_rows: int
    max_memory: int | str | None
    n_jobs: int = 1
    rows: DistinctRows = field(init=False)
    learned: list[tuple[Family, np.ndarray]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        n = max(INFORMATION_ROWS, STRENGTH_ROWS, -(-self.validation_rows // 2))
        self.rows = DistinctRows.of(self.elsewhere.choose(FirstOfHalves(self.schema, n)), self.schema)

    @property
    def masses(self) -> list[np.ndarray]:
        """What the slots of each column weigh in all rows."""
        total = self.counts.class_counts.sum()
        known = [self.counts.joint(i).sum(axis=0)[: column.n_values] for i, column in enumerate(self.schema.columns)]
        return [np.append(own, total - own.sum()) for own in known]

    def learn(self, plan: ForestPlan, n_judged: int, n_classes: int, to: Learned) -> None:
        """Count families, as many at a time as memory allows, and learn from the counts."""
        strengths, terms = to[0], to[1:]
        for part in _in_batches(plan, n_classes, as_bytes(self.max_memory)):
            counts, at = self.elsewhere.total(FamilyCounts(self.schema, part, n_classes), ROWS_AT_ONCE), 0
            for family in families_of(part):
                f, size = len(self.learned), family.n_cells * n_classes
                rows = self._instead(family, counts[:, at : at + size], n_classes)
                own = np.empty_like(terms[0][:, :1]), np.empty_like(terms[1][:, :1])
                sizes = STRENGTH_ROWS, n_judged, n_classes
                family.kernel().learn(*rows, *sizes, strengths[f : f + 1], *own, self.n_jobs)
                for each, mine in zip(terms, own, strict=True):
                    each[:, f : f + 1] = mine
                self.learned.append((family, counts[:, at : at + size].sum(axis=0).astype(np.float32)))
                at += size

    def _instead(
        self, family: Family, counts: np.ndarray, n_classes: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Rows with these counts in either half: groups, classes, weights, and how many are of the first half."""
        few = self.rows
        groups, second = family.grouped(few.slots), np.arange(len(few.labels)) >= few.half
        taken = family.counted(groups, second * n_classes + few.labels.astype(np.int64), few.weights, n_classes)
        slots = np.array([groups[-1], *groups[:-1]], dtype=np.uint16).reshape(len(groups), -1)
        first, last = slice(0, few.half), slice(few.half, None)
        rest = [family.cells(own, n_classes) for own in counts - taken]
        parts = [
            (slots[:, first], few.labels[first], few.weights[first]),
            rest[0],
            (slots[:, last], few.labels[last], few.weights[last]),
            rest[1],
        ]
        together = [np.ascontiguousarray(np.concatenate([part[i] for part in parts], axis=-1)) for i in range(3)]
        return together[0], together[1], together[2], few.half + len(rest[0][1])

    def tables(self, forest: Forest, used: np.ndarray, n_classes: int) -> np.ndarray:
        """The tables of the forest that was learned from these rows."""
        out = [np.zeros(0, dtype=np.float32)]
        for f, place in enumerate(used.tolist()):
            family, counts = self.learned[place]
            rows, levels = family.cells(counts, n_classes), (forest.strengths[f : f + 1], forest.factors[f : f + 1])
            out.append(family.kernel().tables(*rows, n_classes, *levels, self.n_jobs).cells())
        return np.concatenate(out)


def _in_batches(plan: ForestPlan, n_classes: int, budget: float) -> Iterator[ForestPlan]:
    """Parts of a plan whose counts fit into a budget; a family by itself in any case."""
    sizes = [family.n_cells * n_classes * _BYTES_PER_CELL for family in families_of(plan)]
    start, held = 0, 0
    for f, size in enumerate(sizes):
        if held + size > budget and f > start:
            yield plan.part(np.arange(start, f))
            start, held = f, 0
        held += size
    yield plan.part(np.arange(start, len(sizes)))


def forest_elsewhere(
    schema: Schema,
    class_counts: np.ndarray,
    sizes: ForestSizes,
    elsewhere: RowsElsewhere,
    counts: JointCounts,
    max_memory: int | str | None,
    n_jobs: int,
) -> tuple[Forest, np.ndarray]:
    """The forest for rows that are elsewhere, and its tables."""
    source = RowsToReach(schema, elsewhere, counts, sizes.validation_rows, max_memory, n_jobs)
    forest, used = learn_forest(schema, source, class_counts, sizes)
    return forest, source.tables(forest, used, len(class_counts))
