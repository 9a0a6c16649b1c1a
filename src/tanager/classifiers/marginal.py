"""Exact answers of a tree when cells are missing: sum-product from the leaves to the roots, many rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.classifiers.forms import ProductOfSums, View


def score_tree(model: Any, view: View, codes: np.ndarray, *, log_joint: bool) -> np.ndarray:
    """Posteriors (or log joints) of rows of a forest, every missing value summed out.

    Each column sends its parent the vector sum_v P(v | y, parent value) times what v's own children sent, in logs.
    """
    form = view.form
    assert isinstance(form, ProductOfSums)
    n, k = view.counts.n_features, view.counts.n_classes
    n_values = view.counts.schema.n_values
    parent = [p[0] if p else -1 for p in form.parents]
    tables = _tables(view, parent)
    sent: list[list[np.ndarray]] = [[] for _ in range(n)]  # (rows, own values, classes) from each child
    total = np.zeros((len(codes), k)) + _log_prior(model, view)
    for i in _leaves_first(parent):
        if n_values[i] == 0:
            continue
        inside = sum(sent[i], np.zeros((len(codes), int(n_values[i]), k)))
        observed = codes[:, i] < n_values[i]
        mask = np.zeros((len(codes), int(n_values[i])))
        mask[observed] = -np.inf
        mask[observed, codes[observed, i]] = 0.0
        inside = inside + mask[:, :, None]
        # (rows, parent values, own values, classes) -> sum over own values
        message = _log_sum(tables[i][None] + inside[:, None], axis=2)
        if parent[i] < 0:
            total += message[:, 0]
        else:
            sent[parent[i]].append(message)
    if log_joint:
        return total
    top = total.max(axis=1, keepdims=True)
    proba = np.exp(total - top)
    return proba / proba.sum(axis=1, keepdims=True)


def _log_prior(model: Any, view: View) -> np.ndarray:
    """log P(y) with priors and class weights: the answer to a row that is missing altogether."""
    nothing = np.full((1, view.counts.n_features), 255, dtype=np.uint8)
    return view.score(nothing, log_joint=True)[0]


def _tables(view: View, parent: list[int]) -> list[np.ndarray]:
    """log P(x_i | y, parent) for every column: (parent values or 1, own values, classes)."""
    n_values = view.counts.schema.n_values
    widest = int(n_values.max(initial=1))
    dtype = np.uint8 if widest < 255 else np.uint16
    empty = view.score(np.full((1, len(parent)), np.iinfo(dtype).max, dtype=dtype), log_joint=True)[0]
    tables = []
    for i, p in enumerate(parent):
        outer = int(n_values[p]) if p >= 0 else 1
        probe = np.full((max(outer, 1) * int(n_values[i]), len(parent)), np.iinfo(dtype).max, dtype=dtype)
        probe[:, i] = np.tile(np.arange(n_values[i]), max(outer, 1))
        alone = empty
        if p >= 0:
            probe[:, p] = np.repeat(np.arange(outer), n_values[i])
            parents_only = probe.copy()
            parents_only[:, i] = np.iinfo(dtype).max
            alone = view.score(parents_only, log_joint=True)
        table = view.score(probe, log_joint=True) - alone
        tables.append(table.reshape(max(outer, 1), int(n_values[i]), -1))
    return tables


def _leaves_first(parent: list[int]) -> list[int]:
    depth = {-1: -1}

    def of(i: int) -> int:
        chain = []
        while i not in depth:
            chain.append(i)
            i = parent[i]
        for j in reversed(chain):
            depth[j] = depth[parent[j]] + 1
        return depth[chain[0]] if chain else depth[i]

    return sorted(range(len(parent)), key=lambda i: (-of(i), i))


def _log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    top = x.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis=axis)
