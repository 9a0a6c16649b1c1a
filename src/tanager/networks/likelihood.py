"""The likelihood of data under a network: sums over families, from counts or row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.networks.data import as_sample, counter

if TYPE_CHECKING:
    from tanager.networks.network import Network


def log_likelihood(network: Network, data: Any, target: str | None) -> float:
    """Sum over all cells of all families of count times log probability."""
    count = counter(network, data, target)
    total = 0.0
    for name in network:
        cells = count(*network.parents(name), name)
        seen = cells > 0
        total += float((cells[seen] * _logs(network.tables[name][seen])).sum())
    return total


def conditional_log_likelihood(network: Network, data: Any, target: str) -> float:
    """Sum over the rows with a class of log P(class | all others)."""
    sample = as_sample(network, data)
    own = network.index(target)
    labels = sample.codes[:, own]
    rows = np.flatnonzero(labels < len(network.values(target)))
    scores = log_joint(network, sample.codes[rows], target)
    top = scores.max(axis=1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    log_sums = _logs(np.exp(scores - top).sum(axis=1)) + top[:, 0]
    right = scores[np.arange(len(rows)), labels[rows]]
    per_row = np.where(np.isneginf(right), -np.inf, right - np.where(np.isneginf(log_sums), 0.0, log_sums))
    return float(per_row.sum() if sample.weights is None else per_row @ sample.weights[rows])


def log_joint(network: Network, codes: np.ndarray, target: str) -> np.ndarray:
    """(n_rows, n_classes): log P(class, row) up to a constant per row. Factors with a missing value are left out.

    The codes are those of the network, one column per variable; the target's own column is not read.
    """
    k = len(network.values(target))
    scores = np.zeros((len(codes), k))
    for name in (target, *network.children(target)):
        family = [*network.parents(name), name]
        others = [other for other in family if other != target]
        # the class last, and one more slot per axis for missing values, which adds 0
        table = np.moveaxis(_logs(network.tables[name]), family.index(target), -1)
        padded = np.pad(table, [(0, 1)] * len(others) + [(0, 0)])
        slots = (np.minimum(codes[:, network.index(other)], len(network.values(other))) for other in others)
        scores += padded[tuple(slots)]
    return scores


def _logs(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))
