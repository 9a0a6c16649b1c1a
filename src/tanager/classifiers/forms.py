"""The two ways to combine families of counts, and a view that answers with them.

A classifier says which families and which of the two ways; it neither counts nor loops over rows.

    product of sums   P(y, x) = P(y) prod_i sum_{pa in PA_i} w P(x_i | y, pa)
    sum of products   P(y, x) = sum_s w P(y, x_s) prod_{j not in s} P(x_j | y, x_s)  over s seen often enough
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tanager import _kernels
from tanager.counts.estimates import Estimate
from tanager.counts.joint import JointCounts

ParentSet = tuple[int, ...]
COMPILED_LIMIT = 2**28  # cells of compiled tables beyond which rows are answered straight from the counts


@dataclass(frozen=True)
class ProductOfSums:
    """Every column has one or more parent sets (beside the class); their estimates are summed, the sums multiplied."""

    child: tuple[int, ...]
    parents: tuple[ParentSet, ...]
    weight: tuple[float, ...]

    @classmethod
    def one_each(cls, parents: Iterable[ParentSet]) -> ProductOfSums:
        """A single network: one parent set per column."""
        parents = tuple(tuple(p) for p in parents)
        return cls(tuple(range(len(parents))), parents, (1.0,) * len(parents))

    @property
    def n_networks(self) -> int:
        """How many networks vote: the product of the number of parent sets with a weight."""
        return math.prod(Counter(c for c, w in zip(self.child, self.weight, strict=True) if w > 0).values())

    def families(self) -> list[tuple[int, ...]]:
        """Families beyond pairs, with all their prefixes, as parents and child."""
        wide = {
            (*parents[:size], child)
            for child, parents in zip(self.child, self.parents, strict=True)
            for size in range(2, len(parents) + 1)
        }
        return sorted(wide, key=lambda family: (len(family), family))

    def build(self, plan: _kernels.Plan, unit: float) -> None:
        """Tell the kernels."""
        plan.product(list(self.child), [list(p) for p in self.parents], list(self.weight))


@dataclass(frozen=True)
class SumOfProducts:
    """Members with super-parents on which all other columns depend; their joint probabilities are averaged.

    A member speaks for a row when its super-parents are present and were seen at least ``min_count`` times together.
    Where none speaks, ``otherwise`` answers.
    """

    members: tuple[ParentSet, ...]
    weight: tuple[float, ...]
    min_count: float
    otherwise: ProductOfSums | SumOfProducts | None = None

    def families(self) -> list[tuple[int, ...]]:
        """Members with two super-parents read triples; these are counted with order 3."""
        return []

    def build(self, plan: _kernels.Plan, unit: float) -> None:
        """Tell the kernels."""
        plan.sum([list(s) for s in self.members], list(self.weight), self.min_count * unit)


Form = ProductOfSums | SumOfProducts


class View:
    """A form bound to counts: scores rows straight from the counts, or from compiled tables for batches.

    The tables are made again only when the counts have changed.
    """

    def __init__(
        self,
        counts: JointCounts,
        form: Form,
        estimate: Estimate,
        *,
        smooth_unseen: bool = False,
        priors: Sequence[float] = (),
        factor: Sequence[float] = (),
        fast: bool = True,
    ) -> None:
        self.counts, self.form, self.smooth_unseen = counts, form, smooth_unseen
        self.layout, self.unit = counts.store, counts.scale
        self.plan = _kernels.Plan(
            counts.store, estimate.kind, estimate.strength * self.unit, self.unit, smooth_unseen, fast
        )
        form.build(self.plan, self.unit)
        self.priors = list(priors)
        self.rest: View | None = None
        if isinstance(form, SumOfProducts) and form.otherwise is not None:
            self.rest = View(counts, form.otherwise, estimate, smooth_unseen=smooth_unseen, priors=priors, fast=fast)
            self.plan.otherwise(self.rest.plan)
        self.weigh_classes(factor)
        self.n_cells = self.plan.n_cells()
        self._compiled: _kernels.Compiled | None = None
        self._compiled_version = -1
        self.form_version = counts.version  # of the counts that the form was chosen for

    @property
    def valid(self) -> bool:
        """Whether the counts still have the layout (and the scale) that this view was made for."""
        return self.counts.store is self.layout and self.counts.scale == self.unit

    def weigh_classes(self, factor: Sequence[float]) -> None:
        """Set the factors of the classes; empty for none."""
        self.plan.classes(self.priors, list(factor))
        if self.rest is not None:
            self.rest.weigh_classes(factor)

    def score(self, codes: np.ndarray, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posterior probabilities, or logs of the joint, one row per row and one column per class."""
        out = np.empty((len(codes), self.counts.n_classes))
        current = self._compiled_version == self.counts.version
        if not current and self.n_cells < COMPILED_LIMIT and codes.size >= self.n_cells / 8:
            self._compiled, self._compiled_version, current = self.plan.compile(), self.counts.version, True
        if not current or self._compiled is None:
            self.plan.score(codes, out, log_joint, n_jobs=n_jobs)
            return out
        self._compiled.score(codes, out, log_joint, n_jobs)
        silent = np.isnan(out[:, 0])  # rows that no compiled member can answer
        if silent.any():
            rest = np.empty((int(silent.sum()), self.counts.n_classes))
            self.plan.score(codes[silent], rest, log_joint, n_jobs=n_jobs)
            out[silent] = rest
        return out

    def leave_one_out(
        self,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        log_joint: bool = False,
        n_jobs: int = 1,
    ) -> np.ndarray:
        """Posterior (or log of the joint) of each row as if it had never been counted."""
        out = np.empty((len(codes), self.counts.n_classes))
        self.plan.score(codes, out, log_joint, labels, weights, self.unit, n_jobs)
        return out

    def term(
        self,
        child: int,
        parents: ParentSet,
        codes: np.ndarray,
        left_out: tuple[np.ndarray, np.ndarray | None] | None = None,
    ) -> np.ndarray:
        """P(child | class, parents) for every row and class, NaN where one of them is missing."""
        out = np.empty((len(codes), self.counts.n_classes))
        labels, weights = left_out or (None, None)
        self.plan.term(self.plan.terms().index((child, list(parents))), codes, out, labels, weights, self.unit)
        return out

    def stream(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, out: np.ndarray) -> int:
        """Answer each row from the rows before it, then learn it. Returns the rows done before something new came."""
        done = self.plan.stream(codes, labels, weights, out, self.unit)
        self.counts.version += 1
        return done
