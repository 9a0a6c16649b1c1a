"""From counts to tables: P(child | parents) under any smoothing rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import _kernels
from tanager.counts.estimates import BackOff, BDeu, Estimate, LearnedBackOff, Lidstone, PriorCounts, as_estimate
from tanager.networks.data import Count, counter

if TYPE_CHECKING:
    from tanager.networks.network import Network


def tables(network: Network, data: Any, smoothing: object, target: str | None) -> dict[str, np.ndarray]:
    """The tables of all families."""
    rule, count = as_estimate(smoothing), counter(network, data, target)
    return {name: _family(count, name, network.parents(name), rule, target or "class") for name in network}


def _family(count: Count, child: str, parents: Sequence[str], rule: Estimate, target: str) -> np.ndarray:
    """P(child | parents), the child last."""
    # Back-off drops the last parent first, and never the class: so the class comes first.
    ordered = sorted(parents, key=lambda name: name != target)
    if isinstance(rule, LearnedBackOff):
        table = _learned_table(count, child, ordered, rule, target)
    else:
        table = _table(count, child, ordered, rule, target)
    return table.transpose([*(ordered.index(parent) for parent in parents), len(parents)])


def _table(count: Count, child: str, parents: Sequence[str], rule: Estimate, target: str) -> np.ndarray:
    cells = count(*parents, child)
    return normalised(cells + _pseudo(count, child, parents, rule, cells, target))


def _learned_table(count: Count, child: str, parents: Sequence[str], rule: LearnedBackOff, target: str) -> np.ndarray:
    """Level after level, each with a strength of its own; the first knows the class, if that is a parent."""
    first = int(target in parents)
    levels = [count(*parents[:size], child) for size in range(first, len(parents) + 1)]
    cells = [np.ascontiguousarray(level if first else level[None]) for level in levels]
    strengths = _kernels.back_off_strengths(cells, rule.strength, int(child == target), rule.prior)
    r = max(levels[0].shape[-1], 1)
    table = np.full(levels[0].shape, 1.0 / r)
    for level, strength in zip(levels, strengths, strict=True):
        table = table if level.ndim == table.ndim else table[..., None, :]
        table = normalised(level + strength * table)
    return table


def _pseudo(
    count: Count, child: str, parents: Sequence[str], rule: Estimate, cells: np.ndarray, target: str
) -> np.ndarray:
    """The pseudo-counts of the rule, in a shape that broadcasts to the cells."""
    r = max(cells.shape[-1], 1)
    if isinstance(rule, PriorCounts):
        alone = count(child)
        laplace = 0.0 if alone.all() else 1.0  # a value that never occurs would keep a probability of zero
        return rule.strength * normalised(alone + laplace) if parents else np.full(len(alone), laplace)
    if isinstance(rule, BackOff):
        if not parents or list(parents) == [target]:
            return np.full(r, rule.at_first / r)
        return rule.strength * _table(count, child, parents[:-1], rule, target)[..., None, :]
    if isinstance(rule, Lidstone):
        return np.full(r, rule.strength)
    contexts = max(cells.size // r, 1) if isinstance(rule, BDeu) else 1
    return np.full(r, rule.strength / (r * contexts))


def normalised(cells: np.ndarray) -> np.ndarray:
    """Cells divided by their sum along the last axis; uniform if the sum is 0."""
    sums = cells.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, cells / np.where(sums > 0, sums, 1.0), 1.0 / max(cells.shape[-1], 1))
