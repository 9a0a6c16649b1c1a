"""The probabilities of a view as tables, with a slot for missing (and, where smoothed, for unseen) values.

They are asked for cell by cell from the view itself, so that every smoothing, scale and learned strength is in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tanager.counts.block import Query
from tanager.counts.estimates import Lidstone
from tanager.errors import MemoryBudgetError
from tanager.scoring.forms import Form, ParentSet, ProductOfSums, StagedSum, SumOfProducts, naive
from tanager.scoring.view import View

NOTHING = ProductOfSums((), (), ())  # no column at all: the classes alone
MISSING = np.uint16(65535)
MOST_BYTES = 2**31 - 2**20  # where ONNX files end


@dataclass(frozen=True)
class Table:
    """A number per class for every combination of slots of some columns: (slots ..., classes)."""

    columns: tuple[int, ...]
    cells: np.ndarray


def log(cells: np.ndarray) -> np.ndarray:
    """Logarithms, minus infinity of zero."""
    with np.errstate(divide="ignore"):
        return np.log(cells)


def check_size(n_bytes: float) -> None:
    """Refuse tables beyond what a file can hold."""
    if n_bytes > MOST_BYTES:
        raise MemoryBudgetError(
            f"the tables of this model would take {n_bytes / 2**30:.1f} GB, and a file holds at most 2 GB. Use fewer "
            "bins or columns, or a classifier with smaller families: AODE in place of A2DE, or TAN in place of KDB."
        )


class Reader:
    """Reads the families of a view."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.counts = view.counts
        self.n_classes = view.counts.n_classes
        self.limits = view.counts.schema.n_values + int(view.smooth_unseen)  # codes from here on are missing
        self.in_terms = view.in_terms()
        self._number: dict[tuple[int, ParentSet], int] = {}
        for at, (child, parents) in enumerate(self.in_terms.plan.terms()):
            self._number.setdefault((child, tuple(parents)), at)  # families without the class come later

    @property
    def n_slots(self) -> np.ndarray:
        """Slots of every column, with that for missing."""
        return self.limits + 1

    def rows(self, columns: Sequence[int]) -> np.ndarray:
        """A row of codes for every combination of slots of these columns, in order; all other columns are missing."""
        shape = [int(self.n_slots[i]) for i in columns]
        check_size(8.0 * self.n_classes * math.prod(shape))
        rows = np.full((math.prod(shape), len(self.limits)), MISSING, dtype=np.uint16)
        for i, slots in zip(columns, np.indices(shape, dtype=np.uint16), strict=True):
            rows[:, i] = np.where(slots.ravel() < self.limits[i], slots.ravel(), MISSING)
        return rows

    def shaped(self, columns: Sequence[int], cells: np.ndarray) -> np.ndarray:
        """Cells of such rows as a table."""
        return cells.reshape(*(int(self.n_slots[i]) for i in columns), self.n_classes)

    def term(self, child: int, parents: ParentSet) -> np.ndarray:
        """P(child | class, parents), over slots of parents and child; NaN where one of them is missing."""
        rows = self.rows((*parents, child))
        out = np.empty((len(rows), self.n_classes))
        self.in_terms.plan.term(self._number[child, parents], rows, out)
        return self.shaped((*parents, child), out)

    def term_or_shorter(self, child: int, parents: ParentSet) -> np.ndarray:
        """The same; where a parent is missing, given those before it. Still NaN where the child is missing."""
        cells = self.term(child, parents)
        for size in range(len(parents) - 1, -1, -1):
            shorter = self.term(child, parents[:size])
            wide = shorter.reshape(shorter.shape[:size] + (1,) * (len(parents) - size) + shorter.shape[size:])
            cells = np.where(np.isnan(cells), wide, cells)
        return cells

    def _with_form(self, form: Form) -> View:
        """Another form over some of the same families, with the strengths that were learned for them."""
        view = self.view.with_form(form)
        if self.view.learned:
            known, class_parents = self.view.strengths, form.class_parents if isinstance(form, ProductOfSums) else ()
            own = [s for child, parents in view.plan.terms() for s in known[child, tuple(parents)]]
            tail = self.view.plan.strengths()[-len(class_parents) :] if class_parents else []
            view.take_strengths([[*own, *tail]])
        return view

    def otherwise(self) -> View | None:
        """What answers where no member of a sum of products is eligible."""
        form = self.view.form
        if not isinstance(form, SumOfProducts) or form.otherwise is None:
            return None
        view, given = self.view.with_form(form.otherwise), self.view.given_strengths()
        if given is not None:  # those of a staged sum end with naive Bayes and its own
            view.take_strengths(given[: -2 if isinstance(form, StagedSum) else -1])
        return view

    def naive(self) -> View:
        """What a staged sum begins with."""
        view, given = self.view.with_form(naive(self.counts.n_features)), self.view.given_strengths()
        if given is not None:
            view.take_strengths(given[-2:-1])
        return view

    def classes(self, parents: ParentSet) -> Table:
        """Log of P(class | these columns), given priors and class weights included."""
        view = self._with_form(ProductOfSums((), (), (), class_parents=parents))
        return Table(parents, self.shaped(parents, view.score(Query(self.rows(parents)), log_joint=True)))

    def factors(self) -> np.ndarray:
        """Log of what given priors and class weights multiply the joint with."""
        plain = View(self.counts, NOTHING, self.view.estimate).score(Query(self.rows(())))[0]
        weighed = self.view.with_form(NOTHING).score(Query(self.rows(())), log_joint=True)[0]
        with np.errstate(invalid="ignore"):
            return np.where(plain > 0, weighed - log(plain), -np.inf)

    def last_resort(self) -> np.ndarray:
        """Log of what answers where every class is impossible: the classes by Laplace's rule."""
        return log(View(self.counts, NOTHING, Lidstone(1.0)).score(Query(self.rows(())))[0])

    def joints(self, form: SumOfProducts) -> list[np.ndarray]:
        """P(class, super-parents) of every member over their slots; NaN where the member is not eligible."""
        alone = SumOfProducts(form.members, form.weight, form.min_count, children=())
        plan = self._with_form(alone).plan
        out = np.empty((len(form.members) + len(plan.terms()), self.n_classes))
        found = []
        for m, member in enumerate(form.members):
            cells = []
            for row in self.rows(member):
                plan.parts(row[None], out)
                cells.append(out[m].copy())
            found.append(self.shaped(member, np.array(cells)))
        return found


@dataclass(frozen=True)
class Sum:
    """One column of a product of sums, with several parent sets.

    ``terms`` are probabilities times weights, 0 where a column is missing. ``otherwise``, of the column alone, takes
    the place of the sum where no term has all its columns; None where there is always one. ``classes`` are those that
    it speaks about, None for all.
    """

    child: int
    terms: tuple[Table, ...]
    otherwise: Table | None
    classes: tuple[int, ...] | None


def product_tables(reader: Reader) -> tuple[list[Table], list[Sum]]:
    """The factors of a product of sums: logs of those that are no sums, the class with its parents first; and sums."""
    form = reader.view.form
    assert isinstance(form, ProductOfSums)
    factors, sums = [reader.classes(form.class_parents)], []
    for child, own, classes in _groups(form, reader.n_classes):
        wide = [t for t in own if form.parents[t] and form.weight[t] != 0]
        base = sum(form.weight[t] for t in own if not form.parents[t])
        if len(wide) + (base > 0) > 1:
            sums.append(_sum(reader, form, child, wide, base, classes))
            continue
        parents, weight = (form.parents[wide[0]], form.weight[wide[0]]) if wide else ((), base if base > 0 else 1.0)
        factors.append(Table((*parents, child), _alone(reader, child, parents, weight, classes)))
    return factors, sums


def _groups(form: ProductOfSums, n_classes: int) -> list[tuple[int, list[int], tuple[int, ...] | None]]:
    """Per column the terms that are summed, and the classes that they are for (None: all)."""
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    only = form.only or ((),) * len(form.child)
    for child, c in product(dict.fromkeys(form.child), range(n_classes)):
        own = tuple(t for t, i in enumerate(form.child) if i == child and (not only[t] or c in only[t]))
        if own:
            groups.setdefault((child, own), []).append(c)
    return [(i, list(own), None if len(cs) == n_classes else tuple(cs)) for (i, own), cs in groups.items()]


def _alone(
    reader: Reader, child: int, parents: ParentSet, weight: float, classes: tuple[int, ...] | None
) -> np.ndarray:
    """Logs of the only term of a column: 0 where the column is missing, and for other classes."""
    whole, shorter = reader.term(child, parents), reader.term_or_shorter(child, parents)
    cells = log(np.where(np.isnan(whole), shorter, weight * whole))
    cells = np.where(np.isnan(cells), 0.0, cells)
    if classes is not None:
        others = [c for c in range(reader.n_classes) if c not in classes]
        cells[..., others] = 0.0
    return cells


def _sum(
    reader: Reader, form: ProductOfSums, child: int, wide: list[int], base: float, classes: tuple[int, ...] | None
) -> Sum:
    terms = [
        Table((*form.parents[t], child), np.nan_to_num(form.weight[t] * reader.term(child, form.parents[t]), nan=0.0))
        for t in wide
    ]
    alone = reader.term(child, ())
    if base > 0:  # a missing child is the factor 1
        terms.append(Table((child,), np.where(np.isnan(alone), 1.0, base * alone)))
    otherwise = None if base > 0 else Table((child,), np.nan_to_num(alone, nan=1.0))
    return Sum(child, tuple(terms), otherwise, classes)


def member_tables(reader: Reader) -> list[Table]:
    """The members of a sum of products as pages: for slots of super-parents, logs over the slots of all columns.

    One slot of every column is added up. Those of the first super-parent hold its own P(y, x_s) times the weight:
    minus infinity where the member is not eligible. Columns that are not read are 0.
    """
    form = reader.view.form
    assert isinstance(form, SumOfProducts)
    starts = np.concatenate([[0], np.cumsum(reader.n_slots)])
    children = range(reader.counts.n_features) if form.children is None else form.children
    check_size(
        sum(math.prod(reader.n_slots[list(member)].tolist()) for member in form.members)
        * starts[-1]
        * 8.0
        * reader.n_classes
    )
    pages = []
    for member, weight, joint in zip(form.members, form.weight, reader.joints(form), strict=True):
        own = np.where(np.isnan(joint), -np.inf, log(weight * joint))
        cells = np.zeros((*joint.shape[:-1], int(starts[-1]), reader.n_classes))
        first = member[0]
        cells[..., starts[first] : starts[first + 1], :] = own[..., None, :]
        for child in children:
            if child not in member:
                logs = log(reader.term(child, member))
                cells[..., starts[child] : starts[child + 1], :] = np.where(np.isnan(logs), 0.0, logs)
        pages.append(Table(member, cells))
    return pages
