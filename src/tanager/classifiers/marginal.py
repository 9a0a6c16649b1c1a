"""Exact answers of a tree when cells are missing: sum-product from the leaves to the roots, many rows at once."""

from __future__ import annotations

import numpy as np

from tanager.classifiers.forms import ProductOfSums, View

LeftOut = tuple[np.ndarray, np.ndarray | None]  # labels and weights of rows that are to be answered without themselves


def score_tree(view: View, codes: np.ndarray, *, log_joint: bool, left_out: LeftOut | None = None) -> np.ndarray:
    """Posteriors (or log joints) of rows of a forest, every missing value summed out.

    Each column sends its parent the vector sum_v P(v | y, parent value) times what v's own children sent, in logs.
    """
    form = view.form
    assert isinstance(form, ProductOfSums)
    m, k = len(codes), view.counts.n_classes
    n_values = view.counts.schema.n_values
    parent = [p[0] if p else -1 for p in form.parents]
    sent: list[list[np.ndarray]] = [[] for _ in parent]  # (rows, own codes, classes) from each child
    total = _log_prior(view, m, left_out)
    for i in _leaves_first(parent):
        if n_values[i] == 0:
            continue
        table = _table(view, i, parent[i])
        inside = sum(sent[i], np.zeros((m, table.shape[1], k))) + _mask(codes[:, i], int(n_values[i]), table.shape[1])
        # (rows, parent codes, own codes, classes) -> sum over own codes
        message = _log_sum(table[None] + inside[:, None], axis=2)
        if left_out is not None:
            message += _without_itself(view, i, parent[i], codes, left_out)[:, None]
        if parent[i] < 0:
            total += message[:, 0]
        elif n_values[parent[i]]:
            sent[parent[i]].append(message)
        else:  # a parent without values can only be missing
            total += _log_sum(_table(view, i, -1)[None] + inside[:, None], axis=2)[:, 0]
    return total if log_joint else _normalised(total, view, left_out)


def _log_prior(view: View, m: int, left_out: LeftOut | None) -> np.ndarray:
    """log P(y) with priors and class weights: the answer to rows that are missing altogether."""
    nothing = np.full((m, view.counts.n_features), 255, dtype=np.uint8)
    if left_out is None:
        return view.score(nothing, log_joint=True)
    return view.leave_one_out(nothing, *left_out, log_joint=True)


def _table(view: View, i: int, p: int) -> np.ndarray:
    """log P(x_i | y, parent): (parent codes or 1, own codes, classes); an unseen value may have a code of its own."""
    n_codes = view.counts.schema.n_values + view.smooth_unseen
    outer = int(n_codes[p]) if p >= 0 else 1
    probe = np.full((outer * int(n_codes[i]), view.counts.n_features), 65535, dtype=np.uint16)
    probe[:, i] = np.tile(np.arange(n_codes[i]), outer)
    if p >= 0:
        probe[:, p] = np.repeat(np.arange(outer), n_codes[i])
    with np.errstate(divide="ignore"):
        values = np.log(view.term(i, (p,) if p >= 0 else (), probe))
    return values.reshape(outer, int(n_codes[i]), view.counts.n_classes)


def _mask(column: np.ndarray, n_values: int, n_codes: int) -> np.ndarray:
    """0 where a row may have the code, -inf where not: (rows, codes, 1). A missing cell may have any known value."""
    missing = column >= n_codes
    mask = np.full((len(column), n_codes), -np.inf)
    mask[missing, :n_values] = 0.0
    mask[~missing, column[~missing]] = 0.0
    return mask[:, :, None]


def _without_itself(view: View, i: int, p: int, codes: np.ndarray, left_out: LeftOut) -> np.ndarray:
    """What leaving a row out changes in log P(x_i | y, parent): nothing unless both are present. (rows, classes)"""
    parents = (p,) if p >= 0 else ()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(view.term(i, parents, codes, left_out)) - np.log(view.term(i, parents, codes))
    return np.nan_to_num(change, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _normalised(total: np.ndarray, view: View, left_out: LeftOut | None) -> np.ndarray:
    """Posteriors; where every class is impossible, the class prior by Laplace's rule."""
    possible = np.isfinite(total.max(axis=1))
    counts = np.tile(view.counts.class_counts, (len(total), 1))
    if left_out is not None:
        labels, weights = left_out
        counts[np.arange(len(total)), labels] -= 1.0 if weights is None else weights
    total = np.where(possible[:, None], total, np.log(np.maximum(counts, 0.0) + 1))
    proba = np.exp(total - total.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


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
