"""Which rows are held out: dealt out by what they are, not by the order in which they came."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

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
    ranks, once = _ranks(sample), np.minimum(weights, 1.0)
    order = np.lexsort((once, *beside, _mixed(ranks, seed), ranks[-1]))
    end = np.cumsum(weights[order])
    start = end - weights[order]
    if n_parts > FEW_PARTS:  # parts beyond the weight of all rows would be empty
        n_parts = min(n_parts, max(FEW_PARTS, math.ceil(weights.sum())))
    wanted = n_parts if first is None else min(first, n_parts)
    dealt = np.empty((wanted, len(weights)))
    for part in range(wanted):  # the part owns [part, part + 1), and the same again after every n_parts
        dealt[part, order] = _owned(end, part, n_parts) - _owned(start, part, n_parts)
    return dealt


def _mixed(ranks: np.ndarray, seed: int) -> np.ndarray:
    """A number for every row, as if drawn at random, but the same for rows that are the same."""
    mixed = np.full(ranks.shape[1], seed % 2**63 + 1, dtype=np.uint64)
    for own in ranks:
        mixed ^= own
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _owned(up_to: np.ndarray, part: int, n_parts: int) -> np.ndarray:
    """How much of the stretch from 0 on a part owns."""
    rounds = np.floor(up_to / n_parts)
    return rounds + np.clip(up_to - rounds * n_parts - part, 0.0, 1.0)


def _ranks(sample: Sample) -> np.ndarray:
    """The variables (lines) of all rows as ranks of their values by name, so that the order of codes does not matter."""
    ranks: list[int] = []  # of the values of all variables, each followed by what is missing
    for values in sample.values:
        names = [f"{type(value).__name__} {value}" for value in values]
        places = sorted(range(len(names)), key=names.__getitem__)
        own = [len(names)] * (len(names) + 1)
        for rank, place in enumerate(places):
            own[place] = rank
        ranks += own
    n_values = sample.n_values[:, None]
    first = np.cumsum(n_values + 1, axis=0) - (n_values + 1)
    return np.array(ranks, dtype=np.uint64)[np.minimum(sample.codes.T, n_values) + first]


def _weighted(rows: KeptRows, weights: np.ndarray) -> KeptRows:
    """The rows that have a weight."""
    kept, block = weights > 1e-12, rows.block
    plain = np.where(np.abs(weights - 1) < 1e-9, 1.0, weights)[kept]
    return KeptRows.of(Block(block.codes[kept], block.labels[kept], plain))
