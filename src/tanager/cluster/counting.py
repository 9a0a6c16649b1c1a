"""The runs that count: every part into counts of one shape, which are added; and sums of whole numbers over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tanager.cluster.plan import Engine, Plan, Rows, filled
from tanager.cluster.wire import pack, unpack
from tanager.counts.block import Block, distinct, in_blocks, joined
from tanager.counts.joint import JointCounts
from tanager.learning.memory import ROWS_AT_ONCE
from tanager.learning.merge import add_memory


def count_part(plan: Plan, rows: Iterable[Rows]) -> bytes:
    """What a part has counted; no bytes where it has no row."""
    model = plan.empty_model()
    memory = model.memory
    memory.rows = None
    n = 0
    for chunk in filled(rows):
        n += 1
        model.learn_block(plan.encoded(model, chunk))
    return pack(memory) if n else b""


def merge_counts(parts: list[bytes]) -> bytes:
    """What several parts have counted, in order; one of them is unpacked at a time."""
    total = unpack(parts[0])
    for part in parts[1:]:
        add_memory(total, unpack(part))
    return pack(total)


# --- further runs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsInParts:
    """The learned rows, where they are: see ``tanager.learning.memory.RowsElsewhere``. Each call is one more run."""

    plan: Plan
    run: Engine

    def count(self, blank: JointCounts) -> JointCounts:
        """All rows, counted into counts of this shape."""
        found = self.run(partial(count_families_part, self.plan, pack(blank)), merge_families)
        assert found is not None
        counts: JointCounts = unpack(found)
        counts.take_scale(blank)
        return counts

    def total(self, work: Callable[[Block], np.ndarray], rows_at_once: int = ROWS_AT_ONCE) -> np.ndarray:
        """The sum of the whole numbers that ``work`` makes of blocks of rows."""
        found = self.run(partial(total_part, self.plan, pack(work), rows_at_once), merge_totals)
        assert found is not None
        return np.asarray(unpack(found))

    def choose(self, some: Callable[[Block], Block]) -> Block:
        """The rows that ``some`` takes of those that differ: of every part, then of these."""
        packed = pack(some)
        found = self.run(partial(choose_part, self.plan, packed), partial(merge_chosen, packed))
        assert found is not None
        chosen: Block = unpack(found)
        return chosen


def count_families_part(plan: Plan, blank: bytes, rows: Iterable[Rows]) -> bytes:
    """A part counted into counts of another shape."""
    counts = unpack(blank)
    for block in plan.blocks(rows):
        counts.update(block.codes, block.labels, block.weights)
    return pack(counts)


def merge_families(parts: list[bytes]) -> bytes:
    """Counts of several parts."""
    total: JointCounts = unpack(parts[0])
    for part in parts[1:]:
        total.merge(unpack(part))
    return pack(total)


def total_part(plan: Plan, packed: bytes, rows_at_once: int, rows: Iterable[Rows]) -> bytes:
    """What the rows of a part add up to; no bytes where it has none that count."""
    work, total = unpack(packed), None
    counted = (block.counted() for block in plan.blocks(rows))
    for block in in_blocks(counted, rows_at_once):
        if len(block):
            total = work(block) if total is None else total + work(block)
    return b"" if total is None else pack(total)


def merge_totals(parts: list[bytes]) -> bytes:
    """The sum of several parts: of whole numbers, so that their order does not matter."""
    return pack(sum(unpack(part) for part in parts))


def choose_part(plan: Plan, packed: bytes, rows: Iterable[Rows]) -> bytes:
    """The rows that are taken of a part, those that are the same as one row of their weight."""
    some, chosen = unpack(packed), None
    for block in plan.blocks(rows):
        own = some(distinct(block))
        chosen = own if chosen is None else some(distinct(joined([chosen, own])))
    return b"" if chosen is None else pack(chosen)


def merge_chosen(packed: bytes, parts: list[bytes]) -> bytes:
    """The rows that are taken of what was taken of several parts."""
    return pack(unpack(packed)(distinct(joined([unpack(part) for part in parts]))))
