"""SuperParentTAN: a tree-augmented naive Bayes grown arc by arc, by leave-one-out answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.counts.joint import JointCounts
from tanager.errors import check_option
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.left_out import LeftOut, best_change, check_search
from tanager.learning.network_view import blanket_of, network_of, parents_of
from tanager.learning.rows import KeptRows
from tanager.scoring.forms import Form, ProductOfSums, naive
from tanager.structure.measures import conditional_information
from tanager.structure.orders import descending

MANY_COLUMNS = 100  # beyond, not every arc is tried
SUPER_PARENTS = 16  # that are tried then
PAIRS_PER_COLUMN = 2  # of which both arcs are tried then


@dataclass(eq=False, repr=False, kw_only=True)
class SuperParentTAN(CountsClassifier):
    """A tree-augmented naive Bayes whose arcs are added only while leave-one-out answers become better.

    Each step finds the best super-parent for all orphans together, then its favourite child. More accurate than TAN on
    small data, much slower to learn: O(rows columns³). Keeps the rows it has learned, a byte or two per cell.

    Parameters
    ----------
    search : {"super_parent", "arcs"}, default="super_parent"
        Look for a super-parent first, or try every arc in each step (HC), which takes longer.
    criterion : {"accuracy", "log_loss", "auc"}, default="accuracy"
        What is best, over all rows, each left out. Ties in accuracy go to the larger probability of the true classes.
    min_gain : float, default=0.0
        How much an arc must gain.

    Attributes
    ----------
    parents_ : dict
        The parents (one or none) of every column beside the class.

    Notes
    -----
    Keogh and Pazzani (1999). With more than 100 columns not all of them are tried as parents. Super-parents are the 16
    columns s with the largest sum of I(x_s; x_j | y) over all others j; search="arcs" tries both arcs between the pairs
    with the largest I(x_i; x_j | y), twice as many pairs as there are columns.

    Examples
    --------
    Either column alone says nothing, so an arc between the two is worth having:

    >>> from tanager import SuperParentTAN
    >>> X = [["sun", "warm"], ["rain", "cold"], ["sun", "cold"], ["rain", "warm"]] * 2
    >>> SuperParentTAN().fit(X, ["play", "play", "stay", "stay"] * 2).parents_
    {'x0': (), 'x1': ('x0',)}
    """

    search: str = "super_parent"
    criterion: str = "accuracy"
    min_gain: float = 0.0

    outlives_new_values = True

    parents_ = property(parents_of)
    network_ = property(network_of)
    blanket_ = property(blanket_of)

    def check_options(self) -> None:
        super().check_options()
        check_option("search", self.search, ("super_parent", "arcs"))
        check_search(self.criterion, self.min_gain)

    def _needs_rows(self) -> bool:
        return True

    def _structure(self, counts: JointCounts, rows: KeptRows | None) -> Form:
        left_out = LeftOut(self, rows, self.criterion, naive(counts.n_features))
        promising = _promising(counts, self.search)
        by_super_parent = self.search == "super_parent"
        if left_out.searches_by_kernel:
            found = left_out.search_tree(
                [*promising.items()], by_super_parent=by_super_parent, min_gain=float(self.min_gain)
            )
            return ProductOfSums.one_each([() if s < 0 else (s,) for s in found])
        return ProductOfSums.one_each(self._ranked(left_out, promising))

    def _ranked(self, left_out: LeftOut, promising: dict[int, list[int]]) -> list[tuple[int, ...]]:
        """The search of the kernels for a criterion that ranks all rows anew after each change."""
        n = self.counts_.n_features
        alone = left_out.factors([ProductOfSums((c,), ((),), (1.0,)) for c in range(n)])  # P(x_c | y)
        every = [(s, c) for s, children in promising.items() for c in children]
        arcs = dict(zip(every, left_out.arc_factors(every, alone), strict=True))
        parents: list[tuple[int, ...]] = [()] * n
        current = left_out.quality()
        while options := _possible(parents, promising):
            if self.search == "super_parent":
                changes = [[arcs[s, c] for c in children] for s, children in options]
                options = [options[best_change(left_out, changes)[0]]]
            tried = [(s, c) for s, children in options for c in children]
            least = current[0] + self.min_gain
            best, quality = best_change(left_out, [[arcs[arc]] for arc in tried], above=least)
            if not quality[0] > least:
                break
            s, c = tried[best]
            left_out.make([arcs[s, c]])
            parents[c], current = (s,), quality
        return parents


def _promising(counts: JointCounts, search: str) -> dict[int, list[int]]:
    """Columns that are tried as a parent, each with its possible children: of many columns, those that depend most."""
    n = counts.n_features
    if n <= MANY_COLUMNS:
        return {s: [c for c in range(n) if c != s] for s in range(n)}
    dependence = conditional_information(counts)
    if search == "super_parent":
        best = descending(dependence.sum(axis=1))[:SUPER_PARENTS]
        return {s: [c for c in range(n) if c != s] for s in sorted(best)}
    found: dict[int, list[int]] = {s: [] for s in range(n)}
    first, second = np.triu_indices(n, 1)
    for place in descending(dependence[first, second])[: PAIRS_PER_COLUMN * n]:
        i, j = int(first[place]), int(second[place])
        found[i].append(j)
        found[j].append(i)
    return {s: sorted(children) for s, children in found.items()}


def _possible(parents: list[tuple[int, ...]], promising: dict[int, list[int]]) -> list[tuple[int, list[int]]]:
    """Columns that can be a parent, each with the orphans that it can be a parent of."""
    options = []
    for s, children in promising.items():
        above = _ancestors(s, parents)
        options.append((s, [c for c in children if not parents[c] and c not in above]))
    return [(s, children) for s, children in options if children]


def _ancestors(i: int, parents: list[tuple[int, ...]]) -> set[int]:
    found: set[int] = set()
    while parents[i]:
        i = parents[i][0]
        found.add(i)
    return found
