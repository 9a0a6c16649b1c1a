"""Counts make room for values that come one after the other, without moving their cells for each of them."""

import numpy as np
import pytest

from tanager.counts.joint import JointCounts
from tanager.encoding.schema import Column, Schema


def towns(n: int) -> Schema:
    columns = [Column("town", "categorical", tuple(f"t{v}" for v in range(n)))]
    return Schema((*columns, *(Column(f"x{i}", "numeric", cuts=tuple(range(199))) for i in range(7))))


@pytest.mark.parametrize("max_memory", ["2 GB", "70 MB"])
def test_large_counts_do_not_move_for_every_new_value(monkeypatch, max_memory):
    """A vocabulary that may not double, as pairs would take too much memory, grows by a quarter at a time."""
    moves = []
    copy_slots = JointCounts._copy_slots
    monkeypatch.setattr(JointCounts, "_copy_slots", lambda *both: (moves.append(1), copy_slots(*both))[1])
    counts = JointCounts(towns(400), ["no", "yes"], max_memory=max_memory)
    codes, labels = np.zeros((1, 8), dtype=np.uint16), np.zeros(1, dtype=np.uint16)
    counts.update(codes, labels)
    for n in range(401, 561):
        before = counts.nbytes
        counts.grow(towns(n), ["no", "yes"])
        assert counts.nbytes <= 2 * before + 2**24
        codes[0, 0] = n - 1
        counts.update(codes, labels)
    assert len(moves) <= 4
    found = counts.joint("town")
    assert found[:, 400:].tolist() == [[1.0] * 160, [0.0] * 160]
    assert found.sum() == 161
