"""Encoded rows on their way: a ``Block`` of rows to learn, a ``Query`` of rows to answer.

Codes, labels, weights, times and numbers belong together, row by row; they travel as one thing from the encoder to the
counts and the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
        known: np.ndarray = self.labels != np.iinfo(self.labels.dtype).max
        return known

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
        which = self.labelled
        if self.weights is not None:
            which = which & (self.weights > 0)
        return self if which.all() else self.part(which)


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
    """Blocks with the same arrays, one after the other."""
    if len(blocks) == 1:
        return blocks[0]

    def cells(name: str) -> Any:
        arrays = [getattr(block, name) for block in blocks]
        return None if arrays[0] is None else np.concatenate(arrays)

    return Block(*(cells(name) for name in Block.__dataclass_fields__))


def _some(cells: np.ndarray | None, rows: slice | np.ndarray) -> np.ndarray | None:
    return None if cells is None else cells[rows]
