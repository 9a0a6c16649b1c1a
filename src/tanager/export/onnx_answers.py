"""From slots to the logs of the joint with every class, in an ONNX graph.

All tables of a kind lie in one array, which one ``Gather`` reads: a graph has some dozens of nodes, however many
columns and terms there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager.export.answers import (
    Answer,
    Calibrated,
    Filled,
    Grouped,
    Mean,
    Mixture,
    Normal,
    NormalMean,
    NormalSums,
    Pooled,
    Product,
    Resolved,
    Staged,
)
from tanager.export.graph import LOWEST, Graph, Input
from tanager.export.onnx_columns import Cells
from tanager.export.tables import Sum, Table, log
from tanager.scoring.decision import TIE
from tanager.scoring.pooled import SMALLEST

MOST = 1e150  # deviations, as in counts/normals.py


@dataclass(frozen=True)
class Slots:
    """The slots of some columns in a graph, (rows, columns), and how many each column has."""

    name: str
    n_slots: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Where the slots of every column begin when those of all lie side by side, and their number."""
        return np.concatenate([[0], np.cumsum(self.n_slots)])

    @property
    def missing(self) -> np.ndarray:
        """The slot of a missing value."""
        return (self.n_slots - 1).astype(np.int32)

    def size(self, columns: Sequence[int]) -> int:
        """How many combinations of slots these columns have."""
        return math.prod(int(self.n_slots[i]) for i in columns)


class Writer:
    """Writes answers to a graph; each gives the logs of the joint, (rows, classes)."""

    def __init__(self, graph: Graph, cells: Cells) -> None:
        self.graph, self.cells = graph, cells

    def write(self, answer: Answer, slots: Slots) -> str:
        """The logs, up to what all classes of a row share."""
        makers: dict[type, Callable[[Any, Slots], str]] = {
            Product: self._product,
            Mean: self._mean,
            Staged: self._staged,
            Filled: self._filled,
            Resolved: self._resolved,
            Grouped: self._grouped,
            Normal: self._normal,
            NormalSums: self._normal_sums,
            NormalMean: self._normal_mean,
            Calibrated: self._calibrated,
            Pooled: self._pooled,
            Mixture: self._mixture,
        }
        return makers[type(answer)](answer, slots)

    def _or(self, logs: str, otherwise: str | np.ndarray) -> str:
        """Other logs where every class is impossible."""
        graph = self.graph
        return graph("Where", graph("Less", graph.largest(logs, 1), LOWEST), otherwise, logs)

    # Where tables are read

    def _index(self, tables: Sequence[Table], slots: Slots, shape: tuple[int, ...] | None = None) -> str:
        """Where every row reads every table, (rows, tables) or of that shape, when they lie one behind the other."""
        graph, shape = self.graph, shape or (len(tables),)
        base = np.concatenate([[0], np.cumsum([slots.size(t.columns) for t in tables])])[:-1]
        index = ""
        for depth in range(max(len(t.columns) for t in tables)):  # from the last column, whose slots lie side by side
            known = [depth < len(t.columns) for t in tables]
            columns = [t.columns[-1 - depth] if own else 0 for t, own in zip(tables, known, strict=True)]
            steps = [
                slots.size(t.columns[len(t.columns) - depth :]) if own else 0
                for t, own in zip(tables, known, strict=True)
            ]
            own_slots = slots.name
            if columns != list(range(len(slots.n_slots))) or len(shape) > 1:
                own_slots = graph("Gather", slots.name, np.array(columns).reshape(shape), axis=1)
            if set(steps) != {1}:
                own_slots = graph("Mul", own_slots, np.array(steps, dtype=np.int32).reshape(shape))
            index = graph("Add", index, own_slots) if index else own_slots
        return graph("Add", index, base.astype(np.int32).reshape(shape))

    def _lines(self, pages: Sequence[Table], slots: Slots) -> str:
        """The sums along lines of pages: one slot of every column, (rows, pages, numbers)."""
        graph = self.graph
        line = graph("Mul", self._index(pages, slots), np.int32(slots.starts[-1]))
        place = graph("Add", slots.name, slots.starts[:-1].astype(np.int32))
        # Columns before pages: what is added up are long rows of numbers that lie side by side.
        index = graph("Add", graph("Unsqueeze", line, np.array([1])), graph("Unsqueeze", place, np.array([2])))
        return graph.sum(graph("Gather", _flat(pages), index), 1)

    # A product of sums

    def _product(self, answer: Product, slots: Slots, *, comparable: bool = False) -> str:
        """With ``comparable`` nothing is left out that all classes of a row share."""
        graph = self.graph
        start = [t.cells for t in answer.factors if not t.columns]
        tables = [t for t in answer.factors if t.columns]
        parts = []
        if tables:
            cells = _flat(tables)
            if not comparable and cells.dtype == np.float64:
                top = cells.max(axis=1, keepdims=True)
                cells = cells - np.where(np.isneginf(top), 0.0, top)
            parts.append(self._added_up(graph("Gather", cells, self._index(tables, slots)), len(tables), cells.dtype))
        if answer.sums:
            parts.append(graph.sum(graph("Log", self._sums(answer.sums, slots)), 1))
        logs = parts[0] if parts else self._zeros(slots)
        for part in parts[1:]:
            logs = graph("Add", logs, part)
        for numbers in start:
            logs = graph("Add", logs, numbers)
        return logs if answer.last_resort is None else self._or(logs, answer.last_resort)

    def _added_up(self, read: str, n_tables: int, kind: Any) -> str:
        """The sums over tables. Those of floats are added one after the other, to round as the kernels do."""
        graph = self.graph
        if kind == np.float64:
            return graph.sum(read, 1)
        sums = graph("CumSum", read, np.array(1))
        return graph.cast(graph("Gather", sums, np.array(n_tables - 1), axis=1), np.float64)

    def _zeros(self, slots: Slots) -> str:
        """A zero for every row, (rows, 1)."""
        graph = self.graph
        first = graph("Gather", slots.name, np.array([0]), axis=1)
        return graph.cast(graph("Mul", first, np.int32(0)), np.float64)

    def _sums(self, sums: Sequence[Sum], slots: Slots) -> str:
        """The sums of all columns, (rows, columns, classes)."""
        graph, k = self.graph, sums[0].terms[0].cells.shape[-1]
        counted = _some_say_nothing(sums)
        terms = [[_with_presence(t) if counted else t for t in one.terms] for one in sums]
        narrow = all(len(t.columns) <= 2 for own in terms for t in own)
        if narrow and 2 * sum(map(len, terms)) >= len(sums) * len(slots.n_slots):
            total = self._lines([_page(one.child, own, slots) for one, own in zip(sums, terms, strict=True)], slots)
        else:
            total = self._terms(terms, slots)
        if any(one.otherwise is not None for one in sums):
            total = self._or_alone(total, sums, slots, counted)
        if any(one.classes is not None for one in sums):
            speaks = np.array([[one.classes is None or c in one.classes for c in range(k)] for one in sums])
            total = graph("Where", speaks, total, 1.0)
        return total

    def _terms(self, terms: Sequence[Sequence[Table]], slots: Slots) -> str:
        """The sums of terms with any parents; columns with fewer terms than others have some that are 0."""
        graph, widest = self.graph, max(map(len, terms))
        nothing = Table((), np.zeros(terms[0][0].cells.shape[-1]))
        tables = [own[at] if at < len(own) else nothing for at in range(widest) for own in terms]
        index = self._index(tables, slots, shape=(widest, len(terms)))
        return graph.sum(graph("Gather", _flat(tables), index), 1)

    def _or_alone(self, total: str, sums: Sequence[Sum], slots: Slots, counted: bool) -> str:
        """A column alone, where all its terms lack a parent: their sum is 0, or a further number says that."""
        graph, k = self.graph, sums[0].terms[0].cells.shape[-1]
        tables = [one.otherwise or Table((one.child,), np.ones((int(slots.n_slots[one.child]), k))) for one in sums]
        alone = graph("Gather", _flat(tables), self._index(tables, slots))
        if not counted:
            return graph("Where", graph("Greater", graph.largest(total, 2), 0.0), total, alone)
        n_terms = graph("Slice", total, np.array([k]), np.array([k + 1]), np.array([2]))
        own = graph("Slice", total, np.array([0]), np.array([k]), np.array([2]))
        return graph("Where", graph("Greater", n_terms, 0.5), own, alone)

    # A sum of products

    def _mean(self, answer: Mean, slots: Slots) -> str:
        graph = self.graph
        logs = graph("Add", graph.log_sum_exp(self._lines(answer.pages, slots), 1), answer.factors)
        other = answer.last_resort if answer.otherwise is None else self.write(answer.otherwise, slots)
        return self._or(logs, other)

    def _staged(self, answer: Staged, slots: Slots) -> str:
        graph = self.graph
        naive = graph("Unsqueeze", self._product(answer.naive, slots, comparable=True), np.array([1]))
        members = [graph("Add", self._lines(level, slots), answer.factors) for level in answer.levels]
        takes_part = self._taking_part(answer, members, slots)
        logs = members[0] if len(members) == 1 else graph("Concat", *members, axis=1)
        if answer.mix == "posterior":
            naive, logs = (self._posteriors(one) for one in (naive, logs))
            logs = graph("Add", logs, log(np.concatenate(answer.weights))[:, None])
        logs = graph("Where", takes_part, logs, -np.inf)
        if math.isfinite(answer.margin) and len(answer.last_resort) > 1:
            logs = graph("Where", self._still_open(answer, naive, logs, takes_part), logs, -np.inf)
        if answer.mix == "replace":
            total = self._or(graph.log_sum_exp(logs, 1), graph("Squeeze", naive, np.array([1])))
        else:
            total = graph.log_sum_exp(graph("Concat", naive, logs, axis=1), 1)
        return self._or(total, answer.last_resort)

    def _posteriors(self, logs: str) -> str:
        """Logs of the posteriors of several members, minus infinity where one gives no class a chance."""
        graph = self.graph
        possible = graph("Greater", graph.largest(logs, 2), LOWEST)
        return graph("Where", possible, self.log_posterior(graph("Where", possible, logs, 0.0), axis=2), -np.inf)

    def _taking_part(self, answer: Staged, members: Sequence[str], slots: Slots) -> str:
        """Which members a row is answered with, (rows, members, 1): the first so many that are eligible.

        Those of a further level where none of those before gives a class a chance.
        """
        graph, found, used, settled = self.graph, [], "", ""
        for level, logs in zip(answer.levels, members, strict=True):
            own = np.concatenate([_eligible(page, slots) for page in level])
            here = graph("Gather", own, self._index(level, slots))
            if settled:
                here = graph("And", here, graph("Not", settled))
            if answer.limit >= 0:
                so_far = graph("CumSum", graph.cast(here, np.int32), np.array(1))
                so_far = graph("Add", so_far, used) if used else so_far
                used = graph.largest(so_far, 1)
                here = graph("And", here, graph("LessOrEqual", so_far, np.int32(answer.limit)))
            found.append(here)
            chance = graph("Greater", graph("Squeeze", graph.largest(logs, 2), np.array([2])), LOWEST)
            some = graph.cast(graph.largest(graph.cast(graph("And", here, chance), np.int32), 1), np.bool_)
            settled = graph("Or", settled, some) if settled else some
        every = found[0] if len(found) == 1 else graph("Concat", *found, axis=1)
        return graph("Unsqueeze", every, np.array([2]))

    def _still_open(self, answer: Staged, naive: str, logs: str, takes_part: str) -> str:
        """Whether a row is not done before each of its members, (rows, members, 1): no class was ahead twice."""
        graph = self.graph
        stages = graph("Concat", naive, logs, axis=1)
        top = graph("Max", graph("ReduceMax", stages, np.array([1, 2]), keepdims=1), LOWEST)
        each = graph("Exp", graph("Sub", stages, top))
        if answer.mix == "replace":
            first = graph("Slice", each, np.array([0]), np.array([1]), np.array([1]))
            rest = graph(
                "CumSum", graph("Mul", each, np.array([0.0] + [1.0] * _n_members(answer))[:, None]), np.array(1)
            )
            total = graph("Where", graph("Greater", graph.largest(rest, 2), 0.0), rest, first)
        else:
            total = graph("CumSum", each, np.array(1))
        leader = self._leader(total, math.exp(-answer.margin))
        before = graph("Slice", leader, np.array([0]), np.array([-1]), np.array([1]))
        after = graph("Slice", leader, np.array([1]), np.array([2**31]), np.array([1]))
        same = graph("And", graph("Equal", before, after), graph("GreaterOrEqual", after, np.int64(0)))
        ends = graph.cast(graph("And", same, takes_part), np.int32)
        return graph("Less", graph("CumSum", ends, np.array(1), exclusive=1), np.int32(1))

    def _leader(self, total: str, odds: float) -> str:
        """The class that is ahead of all others by these odds after every stage, (rows, stages, 1); -1 for none."""
        graph = self.graph
        two, which = graph.several("TopK", total, np.array([2]), n_outputs=2, axis=2)
        first = graph("Slice", two, np.array([0]), np.array([1]), np.array([2]))
        second = graph("Slice", two, np.array([1]), np.array([2]), np.array([2]))
        far = graph("Or", graph("Equal", second, 0.0), graph("Less", second, graph("Mul", first, odds)))
        leader = graph("Slice", which, np.array([0]), np.array([1]), np.array([2]))
        return graph("Where", graph("And", far, graph("Greater", first, 0.0)), leader, np.int64(-1))

    # What changes slots

    def _filled(self, answer: Filled, slots: Slots) -> str:
        fill = np.where(answer.slots >= 0, answer.slots, slots.missing).astype(np.int32)
        graph = self.graph
        filled = graph("Where", graph("Equal", slots.name, slots.missing), fill, slots.name)
        return self.write(answer.inner, Slots(filled, slots.n_slots))

    def _resolved(self, answer: Resolved, slots: Slots) -> str:
        graph = self.graph
        place = graph("Add", slots.name, slots.starts[:-1].astype(np.int32))
        line = graph("Unsqueeze", graph("Mul", place, np.int32(slots.starts[-1])), np.array([2]))
        index = graph("Add", line, graph("Unsqueeze", place, np.array([1])))
        repeated = graph.sum(graph("Gather", answer.repeats.astype(np.int32).ravel(), index), 2)
        left = graph("Where", graph("Greater", repeated, np.int32(0)), slots.missing, slots.name)
        return self.write(answer.inner, Slots(left, slots.n_slots))

    def _grouped(self, answer: Grouped, slots: Slots) -> str:
        graph, (n_members, width) = self.graph, answer.groups.shape
        first = (np.arange(n_members)[:, None] * width + slots.starts[:-1]).astype(np.int32)
        index = graph("Add", graph("Unsqueeze", slots.name, np.array([1])), first)
        groups = graph("Gather", answer.groups.astype(np.int32).ravel(), index)
        flat = graph("Reshape", groups, np.array([0, n_members * len(slots.n_slots)]))
        return self.write(answer.inner, Slots(flat, answer.n_groups.ravel()))

    # What is laid around an answer

    def _normal(self, answer: Normal, slots: Slots) -> str:
        graph = self.graph
        x, there = self._numbers(answer)
        density = self._density(graph("Unsqueeze", x, np.array([1])), answer.mean, answer.inverse, answer.top)
        ratio = graph("Sub", density, graph.largest(density, 1))
        ratio = graph("Where", graph("Unsqueeze", there, np.array([1])), ratio, 0.0)
        return graph("Add", self.write(answer.inner, slots), graph.sum(ratio, 2))

    def _numbers(self, answer: Normal | NormalSums | NormalMean) -> tuple[str, str]:
        """Numbers within reach, and whether they are there, (rows, columns)."""
        graph = self.graph
        x = self.cells.numbers_of(answer.columns)
        there = graph("Less", graph("Abs", x), np.inf)
        return graph("Min", graph("Max", graph("Where", there, x, answer.low), answer.low), answer.high), there

    def _density(self, x: str, mean: Input, inverse: Input, top: Input) -> str:
        """Logs of normal densities."""
        graph = self.graph
        away = graph("Mul", graph("Sub", x, mean), inverse)
        away = graph("Min", graph("Max", away, -MOST), MOST)
        return graph("Add", graph("Mul", graph("Mul", away, away), -0.5), top)

    def _read_densities(self, x: str, tables: Sequence[Table], slots: Slots, shape: tuple[int, ...]) -> str:
        """Logs of the densities of numbers (rows, 1, ..., 1, columns, 1) in tables of that shape."""
        graph, k = self.graph, tables[0].cells.shape[-1] // 3
        cells, axis = _flat(tables), np.array([len(shape) + 1])
        if any(table.columns for table in tables):
            read = graph("Gather", cells, self._index(tables, slots, shape))
        else:
            read = graph.constant(cells.reshape(1, *shape, -1))
        parts = [graph("Slice", read, np.array([at * k]), np.array([at * k + k]), axis) for at in range(3)]
        return self._density(x, *parts)

    def _normal_sums(self, answer: NormalSums, slots: Slots) -> str:
        graph, widest = self.graph, max(map(len, answer.terms))
        x, there = self._numbers(answer)
        numbers = graph("Unsqueeze", x, np.array([1, 3]))
        k = answer.terms[0][0].cells.shape[-1] // 3
        nothing = Table((), np.repeat([0.0, 0.0, -np.inf], k))
        tables = [own[at] if at < len(own) else nothing for at in range(widest) for own in answer.terms]
        sums = graph.log_sum_exp(self._read_densities(numbers, tables, slots, (widest, len(answer.terms))), 1)
        if any(table is not None for table in answer.otherwise):
            alone = [nothing if table is None else table for table in answer.otherwise]
            other = self._read_densities(graph("Unsqueeze", x, np.array([2])), alone, slots, (len(alone),))
            sums = graph("Where", graph("Less", graph.largest(sums, 2), LOWEST), other, sums)
        said = graph("And", graph("Unsqueeze", there, np.array([2])), graph("Greater", graph.largest(sums, 2), LOWEST))
        sums = graph("Where", said, sums, 0.0)
        return graph("Add", self.write(answer.inner, slots), graph.sum(sums, 1))

    def _normal_mean(self, answer: NormalMean, slots: Slots) -> str:
        graph, shape = self.graph, (len(answer.pages), len(answer.columns))
        x, there = self._numbers(answer)
        tables = [table for own in answer.densities for table in own]
        logs = self._read_densities(graph("Unsqueeze", x, np.array([1, 3])), tables, slots, shape)
        logs = graph("Where", graph("Unsqueeze", there, np.array([1, 3])), logs, 0.0)
        members = graph("Add", self._lines(answer.pages, slots), graph.sum(logs, 2))
        total = graph("Add", graph.log_sum_exp(members, 1), answer.factors)
        return self._or(total, self.write(answer.otherwise, slots))

    def _calibrated(self, answer: Calibrated, slots: Slots) -> str:
        graph = self.graph
        return graph("Add", graph("Mul", self.write(answer.inner, slots), answer.power), answer.offsets)

    def _pooled(self, answer: Pooled, slots: Slots) -> str:
        graph = self.graph
        logs = []
        for inner, weight in zip(answer.inner, answer.weights, strict=True):
            own = self.log_posterior(self.write(inner, slots))
            if answer.how == "log":
                logs.append(graph("Mul", graph("Max", own, SMALLEST), weight))
            else:
                logs.append(graph("Unsqueeze", graph("Add", own, log(weight)), np.array([1])))
        pool = graph("Sum", *logs) if answer.how == "log" else graph.log_sum_exp(graph("Concat", *logs, axis=1), 1)
        return graph("Add", pool, answer.factors)

    def _mixture(self, answer: Mixture, slots: Slots) -> str:
        graph, k = self.graph, len(answer.factors)
        logs = self.log_posterior(self._side_by_side(answer.inner, slots, k), axis=2)
        if answer.ranks is not None:
            chosen = chosen_classes(graph, graph("Exp", logs), answer.ranks, axis=2)
            slots = Slots(graph.cast(chosen, np.int32), np.full(len(answer.inner), k))
        shares = graph.sum(graph("Gather", _flat(answer.shares), self._index(answer.shares, slots)), 1)
        logs = graph("Add", logs, graph("Unsqueeze", shares, np.array([2])))
        total = graph("Add", graph.log_sum_exp(logs, 1), answer.factors)
        return self._or(total, answer.factors)

    def _side_by_side(self, inner: Sequence[Answer], slots: Slots, k: int) -> str:
        """The logs of several answers, (rows, answers, classes); products of the same columns are read as one."""
        graph = self.graph
        products = [one for one in inner if isinstance(one, Product) and not one.sums]
        columns = {tuple(t.columns for t in one.factors) for one in products}
        if len(products) < len(inner) or len(columns) > 1:
            each = [graph("Unsqueeze", self.write(one, slots), np.array([1])) for one in inner]
            return graph("Concat", *each, axis=1)
        together = zip(*(one.factors for one in products), strict=True)
        tables = [Table(own[0].columns, np.concatenate([t.cells for t in own], axis=-1)) for own in together]
        logs = graph("Reshape", self._product(Product(tuple(tables), (), None), slots), np.array([0, len(inner), k]))
        last_resort = np.array([one.last_resort for one in products])
        return graph("Where", graph("Less", graph.largest(logs, 2), LOWEST), last_resort, logs)

    def log_posterior(self, logs: str, axis: int = 1) -> str:
        """Logs of the probabilities that follow from logs of the joint."""
        graph = self.graph
        top = graph("Sub", logs, graph.largest(logs, axis))
        return graph("Sub", top, graph("Log", graph.sum(graph("Exp", top), axis, keep=True)))


def _page(child: int, terms: Sequence[Table], slots: Slots) -> Table:
    """The terms of a column as a page (see ``member_tables``): its own slots stand for the term without a parent."""
    starts = slots.starts
    cells = np.zeros((int(slots.n_slots[child]), int(starts[-1]), terms[0].cells.shape[-1]))
    for term in terms:
        parent = term.columns[0]
        own = term.cells[:, None] if len(term.columns) == 1 else np.moveaxis(term.cells, 0, 1)
        cells[:, starts[parent] : starts[parent + 1]] += own
    return Table((child,), cells)


def _eligible(page: Table, slots: Slots) -> np.ndarray:
    """In which combinations of slots a member is eligible."""
    first = slots.starts[page.columns[0]]
    return np.isfinite(page.cells[..., first, :]).any(axis=-1).ravel()


def _n_members(answer: Staged) -> int:
    return sum(map(len, answer.levels))


def _flat(tables: Sequence[Table]) -> np.ndarray:
    """The cells of tables one behind the other, (cells, numbers)."""
    return np.concatenate([t.cells.reshape(-1, t.cells.shape[-1]) for t in tables])


def _present(table: Table) -> np.ndarray:
    """1 in the cells in which all columns are present, (slots ..., 1); of a table of the child alone, everywhere."""
    present = np.ones((*table.cells.shape[:-1], 1))
    for axis in range(len(table.columns) if len(table.columns) > 1 else 0):
        np.moveaxis(present, axis, 0)[-1] = 0.0
    return present


def _with_presence(table: Table) -> Table:
    """The table with one number more in every cell."""
    return Table(table.columns, np.concatenate([table.cells, _present(table)], axis=-1))


def _some_say_nothing(sums: Sequence[Sum]) -> bool:
    """Whether a sum of zeros may also come from terms that are there, but give no class a chance."""
    return any(
        bool((_present(t)[..., 0] > (t.cells > 0).any(axis=-1)).any())
        for one in sums
        if one.otherwise is not None
        for t in one.terms
    )


def chosen_classes(graph: Graph, gain: str, ranks: np.ndarray, axis: int, tie: float = TIE) -> str:
    """The classes of largest gain along an axis; of those that are nearly equal, that of the least rank."""
    best = graph("GreaterOrEqual", gain, graph("Sub", graph.largest(gain, axis), tie))
    prefer = (ranks.shape[-1] - ranks).astype(np.int32)
    return graph("ArgMax", graph("Where", best, prefer, np.int32(0)), axis=axis, keepdims=0)
