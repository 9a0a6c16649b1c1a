"""Kept rows: a row of bytes is kept as one of an array is, however the arrays around it come and go."""

from __future__ import annotations

import pickle

import numpy as np

from tanager.counts.block import Block
from tanager.learning.rows import KeptRows


def block(codes: np.ndarray, label: int) -> Block:
    return Block(codes[None, :], np.array([label], dtype=np.uint8), np.array([1.0]))


def test_rows_of_bytes_are_kept_as_those_of_arrays():
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 9, (200, 3)).astype(np.uint8)
    by_bytes, by_array = KeptRows.none(3, 0), KeptRows.none(3, 0)
    for r, codes in enumerate(cells):
        for rows, row in ((by_bytes, codes.tobytes()), (by_array, codes)):
            if not rows.append_row(row, r % 2, 1.0 + r):
                rows.append(block(codes, r % 2).weighing(np.array([1.0 + r])))
            if r % 5 == 4:
                rows.drop(2)
        if r == 100:
            by_bytes = pickle.loads(pickle.dumps(by_bytes))
    for own, other in zip(by_bytes.queue, by_array.queue, strict=True):
        np.testing.assert_array_equal(own, other)
    assert by_bytes.row(7) == by_array.row(7)


def test_a_row_of_bytes_goes_a_longer_way_among_wide_codes():
    rows = KeptRows.of(block(np.array([300, 1], dtype=np.uint16), 0))
    rows.append(block(np.array([2, 1], dtype=np.uint16), 1))
    assert not rows.append_row(b"\2\1", 1, 1.0)
    assert len(rows) == 2


def test_single_rows_are_kept_whatever_became_of_the_arrays():
    rng = np.random.default_rng(1)
    single, together = KeptRows.none(2, 0), KeptRows.none(2, 0)
    changes = {
        20: lambda rows: rows.keep(np.arange(0, len(rows), 2)),
        40: lambda rows: rows.move_classes(np.array([1, 0])),
        60: lambda rows: rows.recode(rows.part("codes")[:, ::-1].copy()),
        80: lambda rows: rows.move_classes(np.array([300, 2])),  # labels of two bytes
    }
    for r in range(100):
        codes, label = rng.integers(0, 9, 2).astype(np.uint8), int(rng.integers(0, 2)) if r <= 80 else 300
        if not single.append_row(codes.tobytes(), label, 2.0):
            single.append(Block(codes[None, :], np.array([label], dtype=np.uint16), np.array([2.0])))
        together.append(Block(codes[None, :], np.array([label], dtype=np.uint16), np.array([2.0])))
        for rows in (single, together):
            changes.get(r, lambda rows: None)(rows)
    for own, other in zip(single.queue, together.queue, strict=True):
        np.testing.assert_array_equal(own, other)
