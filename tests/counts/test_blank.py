"""JointCounts.blank: the same layout, with nothing counted, and nothing shared."""

import numpy as np
import pytest

from tanager.counts.joint import JointCounts
from tanager.encoding.schema import Column, Schema

SCHEMA = Schema(tuple(Column(name, "categorical", ("u", "v", "w")) for name in "abc"))
SHAPES = (
    {"order": 1},
    {"order": 2, "anchors": (1,)},
    {"order": 3},
    {"order": 2, "families": ((0, 1, 2),), "sparse": ((0, 1, 2),)},
)


@pytest.mark.parametrize("shape", SHAPES)
def test_blank_counts_count_as_new_ones_do(shape):
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(0, 3, (40, 3)).astype(np.uint8), rng.integers(0, 2, 40).astype(np.uint8)
    first = JointCounts(SCHEMA, ["x", "y"], spare=1, **shape)
    first.update(codes, labels)
    first.decay(0.5)
    before = first.class_counts
    blank, new = first.blank(), JointCounts(SCHEMA, ["x", "y"], spare=1, **shape)
    assert (blank.n_rows, blank.scale, blank.halvings, blank.version) == (0, 1.0, 0, 0)
    assert blank == new
    assert blank.update(codes[:9], labels[:9]) == new.update(codes[:9], labels[:9])
    np.testing.assert_array_equal(first.class_counts, before)
