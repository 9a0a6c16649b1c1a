"""Families are counted beside what was counted already, as they are among all else."""

import numpy as np
import pytest

from tanager import AODE, Column, JointCounts, Schema
from tanager.errors import MemoryBudgetError

FAMILIES = [(0, 1, 2), (3, 1, 0), (0, 1, 2, 3)]


@pytest.mark.parametrize("sparse", [[], [(0, 1, 2, 3)]])
def test_families_counted_alone_are_those_counted_with_pairs(sparse):
    rng = np.random.default_rng(0)
    table, y = rng.integers(0, 3, (80, 4)).astype(str), rng.integers(0, 2, 80)
    model = AODE().fit(table, y)
    rows, counts = model.known_rows(table, y), model.counts_
    alone = counts.only_families(FAMILIES, sparse, "2 GB").update(rows.codes, rows.labels)
    both = counts.with_families_of(alone)
    whole = JointCounts(counts.schema, counts.classes, families=FAMILIES, sparse=sparse, spare=counts.spare)
    assert both == whole.update(rows.codes, rows.labels)
    for family in FAMILIES:
        np.testing.assert_array_equal(both.joint(*family), whole.joint(*family))


def test_families_that_take_too_much_memory_are_refused():
    counts = AODE().fit([["a", "b", "c", "d"], ["e", "f", "g", "h"]], [0, 1]).counts_
    with pytest.raises(MemoryBudgetError, match="counting 3 families of up to 4 of 4 columns"):
        counts.only_families(FAMILIES, [], 1000)


def test_pairs_alone_are_those_of_wider_counts_and_share_their_cells():
    rng = np.random.default_rng(0)
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=3) for i in range(5)))
    counts = JointCounts(schema, [0, 1], order=3, families=[(0, 1, 2, 3)], spare=1)
    counts.update(rng.integers(0, 3, (50, 5)).astype(np.uint8), rng.integers(0, 2, 50).astype(np.uint8))
    counts.decay(0.5)
    pairs = counts.only_pairs()
    assert pairs == counts.narrowed(2, ())
    assert pairs.holds(order=2)
    assert not pairs.holds(order=3)
    assert not pairs.holds(families=[(0, 1, 2)])
    assert np.shares_memory(pairs.pairs, counts.pairs)
    assert counts.holds(order=3, families=[(0, 1, 2, 3)])
