"""SuperParentTAN: a tree-augmented naive Bayes grown arc by arc, by leave-one-out accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.classifiers.base import CountsClassifier
from tanager.classifiers.choose import row_probabilities
from tanager.classifiers.decide import decide
from tanager.classifiers.forms import Form, ProductOfSums
from tanager.classifiers.rows import Rows
from tanager.classifiers.single import SingleNetworkMixin
from tanager.counts.joint import JointCounts
from tanager.errors import OptionError, SchemaMismatch, is_number


@dataclass(eq=False, repr=False, kw_only=True)
class SuperParentTAN(SingleNetworkMixin, CountsClassifier):
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

    def _check_options(self) -> None:
        super()._check_options()
        if not is_number(self.min_gain, 0):
            raise OptionError(f"min_gain={self.min_gain!r}: give an accuracy gain of at least 0.")

    def _needs_rows(self) -> bool:
        return True

    def _form(self, counts: JointCounts, rows: Rows | None) -> Form:
        if rows is None:
            raise SchemaMismatch("SuperParentTAN looks at the rows again, and counts alone do not hold them. Use fit.")
        parents: list[tuple[int, ...]] = [()] * counts.n_features
        current = self._accuracy(parents, rows)
        while True:
            orphans = [i for i, p in enumerate(parents) if not p]
            options = {
                s: [c for c in orphans if c != s and c not in _ancestors(s, parents)] for s in range(len(parents))
            }
            options = {s: children for s, children in options.items() if children}
            if not options:
                break
            best = max(options, key=lambda s: (self._with(parents, s, options[s], rows), -s))
            child = max(options[best], key=lambda c: (self._with(parents, best, [c], rows), -c))
            gained = self._with(parents, best, [child], rows)
            if not gained[0] > current[0] + self.min_gain:
                break
            parents[child] = (best,)
            current = gained
        return ProductOfSums.one_each(parents)

    def _with(self, parents: list[Any], s: int, children: list[int], rows: Rows) -> tuple[float, float]:
        changed = [(s,) if i in children else p for i, p in enumerate(parents)]
        return self._accuracy(changed, rows)

    def _accuracy(self, parents: list[Any], rows: Rows) -> tuple[float, float]:
        """Leave-one-out accuracy, and the sum of probabilities of the true classes for ties."""
        proba, labels, weights = row_probabilities(self, ProductOfSums.one_each(parents), rows)
        w = np.ones(len(labels)) if weights is None else weights
        right = decide(proba, self.counts_.class_counts, None) == labels
        return float((right * w).sum() / max(w.sum(), 1e-300)), round(
            float((proba[np.arange(len(labels)), labels] * w).sum()), 9
        )


def _ancestors(i: int, parents: list[tuple[int, ...]]) -> set[int]:
    found: set[int] = set()
    while parents[i]:
        i = parents[i][0]
        found.add(i)
    return found
