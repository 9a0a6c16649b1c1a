"""Which rows are held out: dealt out by what they are, not by the order in which they came."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from tanager import _kernels
from tanager.counts.block import Block
from tanager.counts.sample import Sample
from tanager.learning.rows import KeptRows

FEW_PARTS = 64


def dealt_parts(sample: Sample, rows: KeptRows, n_parts: int, seed: int) -> Iterator[tuple[KeptRows, KeptRows]]:
    """For each part in turn the rows without it, and those in it. The sample is of these rows, the class last."""
    dealt = deal(sample, n_parts, seed)
    total = dealt.sum(axis=0)
    return ((_weighted(rows, total - own), _weighted(rows, own)) for own in dealt)


def deal(
    sample: Sample, n_parts: int, seed: int, numbers: np.ndarray | None = None, first: int | None = None
) -> np.ndarray:
    """The weight of every row in each part (parts, rows), or in the ``first`` parts, dealt out in turn class by class.

    Rows that are the same follow each other, and a row of weight two is dealt like two rows; so the parts depend on
    what the rows are, not on the order in which they came. The last variable is the class; ``numbers`` are the cells of
    Gaussian columns, by which rows of the same codes differ.
    """
    weights = np.ones(len(sample.codes)) if sample.weights is None else sample.weights
    beside = () if numbers is None else tuple(numbers.T)
    # By class, then at random; of rows that are the same the lighter first: below 1 they are left out otherwise.
    ranks, once = [_ranks(values) for values in sample.values], np.minimum(weights, 1.0)
    classes = np.array(ranks[-1])[np.minimum(sample.codes[:, -1], len(sample.values[-1]))]
    mixed = _kernels.mixed_rows(sample.codes, sample.n_values, np.array([*chain(*ranks)]), seed % 2**63 + 1)
    order = np.lexsort((once, *beside, mixed, classes))
    end = np.cumsum(weights[order])
    start = end - weights[order]
    if n_parts > FEW_PARTS:  # parts beyond the weight of all rows would be empty
        n_parts = min(n_parts, max(FEW_PARTS, math.ceil(weights.sum())))
    wanted = n_parts if first is None else min(first, n_parts)
    first_end, in_end = _rounds(end, n_parts)
    first_start, in_start = _rounds(start, n_parts)
    dealt = np.empty((wanted, len(weights)))
    for part in range(wanted):  # the part owns [part, part + 1), and the same again after every n_parts
        own = (first_end + np.clip(in_end - part, 0.0, 1.0)) - (first_start + np.clip(in_start - part, 0.0, 1.0))
        dealt[part, order] = own
    return dealt


def _rounds(up_to: np.ndarray, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """How often every part has had its turn by then, and how far the round under way has come."""
    rounds = np.floor(up_to / n_parts)
    return rounds, up_to - rounds * n_parts


def _ranks(values: Sequence[object]) -> list[int]:
    """Of values in the order of their names, so that the order of codes does not matter; what is missing comes last."""
    names = [f"{type(value).__name__} {value}" for value in values]
    ranks = [len(names)] * (len(names) + 1)
    for rank, place in enumerate(sorted(range(len(names)), key=names.__getitem__)):
        ranks[place] = rank
    return ranks


def _weighted(rows: KeptRows, weights: np.ndarray) -> KeptRows:
    """The rows that have a weight."""
    kept, block = weights > 1e-12, rows.block
    plain = np.where(np.abs(weights - 1) < 1e-9, 1.0, weights)[kept]
    return KeptRows.of(Block(block.codes[kept], block.labels[kept], plain))
