"""SuperParentTAN: a tree-augmented naive Bayes grown arc by arc, by leave-one-out accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.counts.block import Block
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, SchemaMismatch, is_number
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.scoring.decision import decide, posterior
from tanager.scoring.forms import Form, ProductOfSums

TINY = 1e-300  # stands for a probability of zero in logarithms


@dataclass(eq=False, repr=False, kw_only=True)
class SuperParentTAN(CountsClassifier):
    """A tree-augmented naive Bayes whose arcs are added only while leave-one-out accuracy rises.

    Each step finds the best super-parent for all orphans together, then its favourite child. More accurate than TAN on
    small data, much slower to learn: O(rows columns³). Keeps the rows, as codes.

    Parameters
    ----------
    min_gain : float, default=0.0
        How much accuracy an arc must add.

    Attributes
    ----------
    parents_ : dict
        The parents (one or none) of every column beside the class.

    Notes
    -----
    Keogh and Pazzani (1999).

    Examples
    --------
    Either column alone says nothing, so an arc between the two is worth having:

    >>> from tanager import SuperParentTAN
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]] * 2
    >>> SuperParentTAN().fit(X, ["play", "play", "stay", "stay"] * 2).parents_
    {'x0': (), 'x1': ('x0',)}
    """

    min_gain: float = 0.0

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)

    def check_options(self) -> None:
        super().check_options()
        if not is_number(self.min_gain, 0):
            raise OptionError(f"min_gain={self.min_gain!r}: give an accuracy gain of at least 0.")

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("SuperParentTAN looks at the rows again, and counts alone do not hold them. Use fit.")
        parents: list[tuple[int, ...]] = [()] * counts.n_features
        joint = self._left_out(parents, rows, log_joint=True)
        current = self._quality(posterior(joint), rows)
        while True:
            orphans = [i for i, p in enumerate(parents) if not p]
            options = {
                s: [c for c in orphans if c != s and c not in _ancestors(s, parents)] for s in range(len(parents))
            }
            options = {s: children for s, children in options.items() if children}
            if not options:
                break
            best = max(options, key=lambda s: (self._with(parents, s, options[s], rows), -s))
            arcs = _Arcs(self, best, options[best], rows)
            gained = {c: self._quality(posterior(joint + arcs.gain(c)), rows) for c in options[best]}
            child = max(gained, key=lambda c: (gained[c], -c))
            if not gained[child][0] > current[0] + self.min_gain:
                break
            parents[child] = (best,)
            joint, current = joint + arcs.gain(child), gained[child]
        return ProductOfSums.one_each(parents)

    def _with(self, parents: list[Any], s: int, children: list[int], rows: KeptRows) -> tuple[float, float]:
        changed = [(s,) if i in children else p for i, p in enumerate(parents)]
        return self._quality(self._left_out(changed, rows), rows)

    def _left_out(self, parents: list[Any], rows: KeptRows, *, log_joint: bool = False) -> np.ndarray:
        """Probabilities (or log joints) of the classes under these parents, every row left out."""
        view = self.view_of(ProductOfSums.one_each(parents))
        return view.leave_one_out(rows.block, log_joint=log_joint, n_jobs=self.n_threads)

    def _quality(self, proba: np.ndarray, rows: KeptRows) -> tuple[float, float]:
        """Accuracy, and the sum of probabilities of the true classes for ties."""
        labels, weights = rows.block.labels, rows.block.weights
        right = decide(proba, self.counts_.class_counts, None) == labels
        own = proba[np.arange(len(labels)), labels]
        if weights is None:
            return float(right.sum() / max(len(labels), 1)), round(float(own.sum()), 9)
        return float(right @ weights / max(weights.sum(), 1e-300)), round(float(own @ weights), 9)


class _Arcs:
    """What arcs from one super-parent to each of some children add to the log joint of every row, left out."""

    def __init__(self, model: SuperParentTAN, s: int, children: list[int], rows: KeptRows) -> None:
        sets = [(c, parents) for c in children for parents in ((), (s,))]
        form = ProductOfSums(tuple(c for c, _ in sets), tuple(p for _, p in sets), (1.0,) * len(sets))
        self.view, self.s, self.rows = model.view_of(form), s, rows.block

    def gain(self, c: int) -> np.ndarray:
        """log P(x_c | y, x_s) - log P(x_c | y); 0 where one of them is missing."""
        if self.rows.weights is not None:
            return self._gain(c, self.rows)
        # Of a row of weight 1 only the class and two cells matter: look at each combination once.
        all_codes, all_labels = self.rows.codes, self.rows.labels
        missing = int(np.iinfo(all_codes.dtype).max)
        sizes = self.view.counts.schema.n_values[[self.s, c]] + 1  # missing comes last
        own = [np.minimum(all_codes[:, i], size - 1) for i, size in zip((self.s, c), sizes, strict=True)]
        seen, place = np.unique(
            (all_labels.astype(np.int64) * sizes[0] + own[0]) * sizes[1] + own[1], return_inverse=True
        )
        codes = np.full((len(seen), all_codes.shape[1]), missing, dtype=all_codes.dtype)
        for i, cell, size in ((c, seen % sizes[1], sizes[1]), (self.s, seen // sizes[1] % sizes[0], sizes[0])):
            codes[:, i] = np.where(cell == size - 1, missing, cell)
        labels = (seen // (sizes[0] * sizes[1])).astype(all_labels.dtype)
        gain: np.ndarray = self._gain(c, Block(codes, labels))[place]
        return gain

    def _gain(self, c: int, rows: Block) -> np.ndarray:
        with_arc, without = (self.view.term(c, parents, rows) for parents in ((self.s,), ()))
        return np.nan_to_num(np.log(np.maximum(with_arc, TINY)) - np.log(np.maximum(without, TINY)), nan=0.0)


def _ancestors(i: int, parents: list[tuple[int, ...]]) -> set[int]:
    found: set[int] = set()
    while parents[i]:
        i = parents[i][0]
        found.add(i)
    return found
