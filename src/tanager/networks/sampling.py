"""Forward sampling of rows from a network: parents before children, one variable and block of rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.sample import Sample
from tanager.errors import OptionError
from tanager.networks import graph

if TYPE_CHECKING:
    from tanager.networks.network import Network

BLOCK = 1 << 16  # rows at a time, so that their random numbers stay in the cache


def draw(network: Network, n: int, random_state: Any, as_: str) -> Any:
    """n rows as a dict of columns, as codes or as a sample."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise OptionError(f"n={n!r}: give the number of rows, a whole number of at least 0.")
    codes = draw_codes(network, int(n), np.random.default_rng(random_state))
    if as_ == "codes":
        return codes
    values = [network.values(name) for name in network]
    if as_ == "sample":
        return Sample(codes, values, network.names)
    return {name: _array(own)[codes[:, i]] for i, (name, own) in enumerate(zip(network, values, strict=True))}


def _array(values: tuple[object, ...]) -> np.ndarray:
    """Values as an array of their type; of Python objects if they have several types."""
    return np.array(values, dtype=None if len(set(map(type, values))) == 1 else object)


def draw_codes(network: Network, n: int, rng: np.random.Generator) -> np.ndarray:
    """n rows of codes, one column per variable."""
    sizes = [len(network.values(name)) for name in network]
    codes = np.empty((n, len(sizes)), dtype=np.uint8 if max(sizes, default=0) < 255 else np.uint16, order="F")
    order = graph.topological(network.parent_indices) or []
    steps = [(i, network.parent_indices[i], thresholds(network.tables[network.names[i]])) for i in order]
    numbers = np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        block = codes[start : start + BLOCK]
        for i, parents, ends in steps:
            u = rng.random(out=numbers[: len(block)])
            at = np.ravel_multi_index([block[:, p] for p in parents], [sizes[p] for p in parents]) if parents else 0
            block[:, i] = 0
            for end in ends:
                block[:, i] += u >= end[at]
    return codes


def thresholds(table: np.ndarray) -> np.ndarray:
    """Cumulative probabilities: per value except the last, its upper end in [0, 1) in each context.

    A value of probability 0 has the same upper end as the one before, and is never drawn.
    """
    sums = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)
    return np.ascontiguousarray((sums / sums[:, -1:]).T[:-1])
