"""Encoded rows on their way: a ``Block`` of rows to learn, a ``Query`` of rows to answer.

Codes, labels, weights, times and numbers belong together, row by row; they travel as one thing from the encoder to the
counts and the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Query:
    """Encoded rows to answer. ``numbers`` are the cells of Gaussian columns, which have no codes."""

    codes: np.ndarray
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def part(self, rows: slice | np.ndarray) -> Query:
        """Some of the rows."""
        return Query(self.codes[rows], _some(self.numbers, rows))


@dataclass(frozen=True, slots=True)
class Block:
    """Encoded rows to learn: codes and class codes; weights (None: all 1), times and numbers where there are any.

    The largest value of the type of labels marks a row without one.
    """

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None = None
    times: np.ndarray | None = None
    numbers: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def query(self) -> Query:
        """The same rows, to be answered."""
        return Query(self.codes, self.numbers)

    @property
    def labelled(self) -> np.ndarray:
        """Which rows have a label."""
        known: np.ndarray = self.labels != _largest(self.labels.dtype)
        return known

    @property
    def counting(self) -> np.ndarray:
        """Which rows count: those with a label and a weight above zero."""
        return self.labelled if self.weights is None else self.labelled & (self.weights > 0)

    def part(self, rows: slice | np.ndarray) -> Block:
        """Some of the rows."""
        codes, labels = self.codes[rows], self.labels[rows]
        return Block(codes, labels, _some(self.weights, rows), _some(self.times, rows), _some(self.numbers, rows))

    def weighing(self, weights: np.ndarray | None) -> Block:
        """The same rows with other weights."""
        return Block(self.codes, self.labels, weights, self.times, self.numbers)

    @property
    def once(self) -> Block:
        """What leaves where each row is left out: of a row of weight two, which is two rows, one of them."""
        return self if self.weights is None else self.weighing(np.minimum(self.weights, 1.0))

    def counted(self) -> Block:
        """Only the rows that count: those with a label and a weight above zero."""
        if len(self.labels) == 1 and self.weights is None and self.labels.item(0) != _largest(self.labels.dtype):
            return self  # a row of a stream, and NumPy takes longer to begin
        which = self.counting
        return self if which.all() else self.part(which)


@lru_cache
def _largest(kind: np.dtype[Any]) -> int:
    """The largest value of a type of labels."""
    return int(np.iinfo(kind).max)


def in_blocks(blocks: Iterable[Block], size: int) -> Iterator[Block]:
    """The same rows, ``size`` at a time: float sums over blocks then do not depend on how the rows came."""
    rest: list[Block] = []
    for block in blocks:
        rows = joined([*rest, block])
        whole = len(rows) - len(rows) % size
        yield from (rows.part(slice(start, start + size)) for start in range(0, whole, size))
        rest = [rows.part(slice(whole, None))] if whole < len(rows) else []
    yield from rest


def joined(blocks: list[Block]) -> Block:
    """Blocks with the same arrays, one after the other; weights may be there in some alone, and are 1 in the others."""
    if len(blocks) == 1:
        return blocks[0]
    if any(block.weights is not None for block in blocks):
        blocks = [block.weighing(np.ones(len(block))) if block.weights is None else block for block in blocks]

    def cells(name: str) -> Any:
        arrays = [getattr(block, name) for block in blocks]
        return None if arrays[0] is None else np.concatenate(arrays)

    return Block(*(cells(name) for name in Block.__dataclass_fields__))


def distinct(block: Block) -> Block:
    """Rows that are the same as one row of their weight, in an order that depends on what they are alone.

    Rows without a label or a weight are left out. Numbers of Gaussian columns are not looked at: there must be none.

    >>> rows = Block(np.array([[2], [0], [2]], dtype=np.uint8), np.array([1, 0, 1], dtype=np.uint8))
    >>> distinct(rows).codes.tolist(), distinct(rows).weights.tolist()
    ([[0], [2]], [1.0, 2.0])
    """
    assert block.numbers is None
    block = block.counted()
    labels = np.ascontiguousarray(block.labels[:, None])
    keys = np.concatenate([np.ascontiguousarray(block.codes).view(np.uint8), labels.view(np.uint8)], axis=1)
    _, first, same = np.unique(keys.view(f"V{keys.shape[1]}"), return_index=True, return_inverse=True)
    weights = np.bincount(same.ravel(), block.weights, minlength=len(first)).astype(np.float64)
    return Block(block.codes[first], block.labels[first], weights)


def _some(cells: np.ndarray | None, rows: slice | np.ndarray) -> np.ndarray | None:
    return None if cells is None else cells[rows]
