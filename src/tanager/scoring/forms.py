"""The two ways to combine families of counts.

A classifier says which families and which of the two ways; it neither counts nor loops over rows.

    product of sums   P(y, x) = P(y | pa_y) prod_i sum_{pa in PA_i} w P(x_i | y, pa)
    sum of products   P(y, x) = sum_s w P(y, x_s) prod_{j not in s} P(x_j | y, x_s)  over s seen often enough

The members of a sum can also be added in stages: naive Bayes first, then one by one, with an answer after each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, combinations

from tanager import _kernels

ParentSet = tuple[int, ...]


@dataclass(frozen=True)
class ProductOfSums:
    """Every column has one or more parent sets (beside the class); their estimates are summed, the sums multiplied.

    Columns that are no child are not read. With ``class_parents``, P(y | these columns) takes the place of P(y).
    ``only`` says for every term to which classes it belongs (() for all): a multi-net has one term for each column
    and class. ``free`` are the families of a network that do not know the class; they matter only where a missing value
    is summed out. ``joined`` are sets of columns that are smoothed as one column with a value for every combination of
    theirs; each of them has the ones before it as parents, so that the factors multiply to P(all of them | y).
    """

    child: tuple[int, ...]
    parents: tuple[ParentSet, ...]
    weight: tuple[float, ...]
    class_parents: ParentSet = ()
    only: tuple[tuple[int, ...], ...] = ()
    free: tuple[tuple[int, ParentSet], ...] = ()
    joined: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def one_each(cls, parents: Iterable[ParentSet]) -> ProductOfSums:
        """A single network: one parent set per column."""
        parents = tuple(tuple(p) for p in parents)
        return cls(tuple(range(len(parents))), parents, (1.0,) * len(parents))

    @classmethod
    def of_pairs(
        cls, child: tuple[int, ...], parents: tuple[ParentSet, ...], weight: tuple[float, ...]
    ) -> ProductOfSums:
        """Any number of parent sets, of which none has more than one column: nothing is counted beyond pairs."""
        form = cls(child, parents, weight)
        form.__dict__["_wide"] = []
        return form

    @classmethod
    def of_blocks(cls, blocks: Iterable[Sequence[int]]) -> ProductOfSums:
        """Naive Bayes over blocks of columns, each of which is one column with a value for every combination."""
        columns = [tuple(block) for block in blocks]
        factors = sorted((i, block[:place]) for block in columns for place, i in enumerate(block))
        joined = tuple(sorted(block for block in columns if len(block) > 1))
        return cls(
            tuple(i for i, _ in factors), tuple(before for _, before in factors), (1.0,) * len(factors), joined=joined
        )

    def with_columns(self, columns: Iterable[int]) -> ProductOfSums:
        """The same with further columns, which depend on the class alone."""
        new = tuple(columns)
        child, parents = self.child + new, self.parents + ((),) * len(new)
        return replace(self, child=child, parents=parents, weight=self.weight + (1.0,) * len(new))

    @property
    def n_networks(self) -> int:
        """How many networks vote for a class: the product of the number of parent sets with a weight."""
        only = self.only or ((),) * len(self.child)
        voting = [t for t, weight in enumerate(self.weight) if weight > 0]
        classes = {c for classes in only for c in classes} or {0}
        return max(
            math.prod(Counter(self.child[t] for t in voting if not only[t] or c in only[t]).values()) for c in classes
        )

    def families(self) -> list[tuple[int, ...]]:
        """Families beyond pairs, with all their prefixes, as parents and child."""
        return list(self._wide)

    @cached_property
    def _wide(self) -> list[tuple[int, ...]]:
        """The same, worked out once: a stream asks whenever a column has got a new value."""
        if max(map(len, self.parents), default=0) < 2 and not self.free and len(self.class_parents) < 3:
            return []
        terms = chain(zip(self.child, self.parents, strict=True), self.free)
        wide = {(*parents, child) for child, parents in terms if len(parents) > 1}
        wide |= {(*f[:size], f[-1]) for f in wide if len(f) > 3 for size in range(2, len(f) - 1)}
        wide |= {self.class_parents[:size] for size in range(3, len(self.class_parents) + 1)}
        ordered = sorted(wide)  # an eighth of a million where collections have 500 columns
        return ordered if {*map(len, ordered)} == {3} else sorted(ordered, key=len)

    def build(self, plan: _kernels.ScoringPlan) -> None:
        """Describe the form to the kernels."""
        plan.product(self.child, self.parents, self.weight, self.class_parents, self.only, self.free, self.joined)


@dataclass(frozen=True)
class SumOfProducts:
    """Members with super-parents on which all other columns depend; their joint probabilities are averaged.

    A member is eligible for a row when its super-parents are present and were seen at least ``min_count`` times
    together. Where none is, ``otherwise`` answers. ``children`` are the columns that depend on the super-parents, None
    for all of them; the others are read as super-parents alone.
    """

    members: tuple[ParentSet, ...]
    weight: tuple[float, ...]
    min_count: float
    otherwise: ProductOfSums | SumOfProducts | None = None
    children: tuple[int, ...] | None = field(default=None, kw_only=True)

    def families(self) -> list[tuple[int, ...]]:
        """Two super-parents read triples, which are counted with order 3; wider sets are asked for beforehand."""
        return []

    def build(self, plan: _kernels.ScoringPlan) -> None:
        """Describe the form to the kernels."""
        plan.sum(self.members, self.weight, self.min_count, self.children)


@dataclass(frozen=True)
class StagedSum(SumOfProducts):
    """The members of a sum one after the other, in the order given, with naive Bayes before them all.

    There is an answer after every stage. ``mix`` says how it comes about: the mean of "joint" probabilities or of
    "posterior" ones, naive Bayes included; or "replace": naive Bayes until the first member is in, then the mean of the
    members. At most ``limit`` members take part (-1: all), and no more once the same class was ahead of all others by
    more than ``margin`` in log-odds twice in a row. Members that are not eligible for a row cost no stage.
    """

    mix: str = "joint"
    limit: int = -1
    margin: float = math.inf


Form = ProductOfSums | SumOfProducts


@lru_cache(maxsize=16)  # asked for again whenever a column of a stream has got a new value
def naive(n: int) -> ProductOfSums:
    """Naive Bayes over n columns: every column depends on the class alone."""
    return ProductOfSums.one_each(((),) * n)


def one_dependence(weights: Sequence[float], min_count: float) -> SumOfProducts:
    """One member per column, with weights; naive Bayes where none is eligible."""
    n = len(weights)
    return SumOfProducts(tuple((i,) for i in range(n)), tuple(float(w) for w in weights), min_count, naive(n))


def averaged(n: int, size: int, min_count: float) -> Form:
    """One member for every set of so many of n columns; where none is eligible, sets of one column less and so on."""
    if size < 2:
        return one_dependence([1.0] * n, min_count) if size else naive(n)
    fewer = averaged(n, size - 1, min_count)
    members = tuple(combinations(range(n), size))
    return SumOfProducts(members, (1.0,) * len(members), min_count, fewer) if n > size else fewer


def form_columns(form: Form) -> set[int]:
    """The columns that a form reads; of a sum, its children must be given."""
    if isinstance(form, SumOfProducts):
        return {*(form.children or ()), *(i for member in form.members for i in member)}
    return {*form.child, *form.class_parents, *(i for parents in form.parents for i in parents)}
