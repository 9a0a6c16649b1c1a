"""Information is worked out once for counts that do not change, and anew where they do."""

import gc
import weakref

import numpy as np

from tanager import Column, JointCounts, Schema
from tanager.structure import measures
from tanager.structure.measures import conditional_information, pair_sums


def counts_of(rows, labels):
    schema = Schema(tuple(Column(f"x{i}", "codes", n_codes=3) for i in range(rows.shape[1])))
    return JointCounts(schema, [0, 1]).update(rows, labels)


def random_rows(seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (40, 4)).astype(np.uint8), rng.integers(0, 2, 40).astype(np.uint8)


def test_sums_follow_the_counts():
    rows, labels = random_rows()
    counts, other = counts_of(rows[:30], labels[:30]), counts_of(*random_rows(1))
    first = pair_sums(counts)
    assert pair_sums(counts) is first
    counts.update(rows[30:], labels[30:])
    np.testing.assert_array_equal(pair_sums(counts), pair_sums(counts_of(rows, labels)))
    assert (conditional_information(other) != conditional_information(counts)).any()


def test_counts_are_not_kept_for_their_sums():
    counts = counts_of(*random_rows())
    pair_sums(counts)
    gone = weakref.ref(counts)
    del counts
    gc.collect()
    assert gone() is None
    assert measures._last is None
