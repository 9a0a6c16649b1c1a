"""ContextMoments: weight, mean and variance of number columns per class and values of parents.

What joint counts are to columns with codes, these are to columns described by a normal distribution: a *context* is one
combination of values of some parents, and every context has, for every class and every number column (*child*), exact
sums of its rows (``ExactSums``), from which weight, mean and deviation are read. Lines are laid out set after set, the
class innermost:

    line = start of the set + k * place of the context + class

The first set is (), the class alone; contexts that were never seen are read there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tanager.counts.block import Block
from tanager.counts.exact_sums import Cells, ExactSums
from tanager.counts.memory import as_bytes, check_budget
from tanager.counts.moments import LeftOut, fade, never_learned
from tanager.counts.normals import (
    AllRows,
    Normals,
    all_rows,
    by_rule,
    centre_of,
    normals_of,
    pool,
    shrunk,
    usable_numbers,
    within_reach,
)
from tanager.errors import ModelFileError

ParentSet = tuple[int, ...]

# A context is read as if so many further rows were in it that are distributed as its class. Of 0.5, 1, 2, 5 and 10, one
# had the least log loss for TAN and was within 1 % of the least for AODE and FANC, by cross-validation on the data of
# docs/gaussian.md.
PSEUDO_ROWS = 1.0

_ENTRIES = 2**20  # rows times sets that are added at once
_DIGITS = 12  # of a line and child, where numbers are ordinary; more are looked for when they are needed
_READ = 6 * 8  # bytes of a line and child: its moments and its normal distribution, when they are read


class _Answers(NamedTuple):
    """What is read from all lines: moments, those of all rows, and distributions by line and by context."""

    cells: Cells
    every: AllRows
    normals: Normals
    inside: Normals


class ContextMoments:
    """Moments of some columns (``children``) in every context of some parent sets, with the operations of counts.

    Parameters
    ----------
    children : sequence of int
        The places of the number columns, in the order in which their numbers come with the rows.
    sets : iterable of tuples of int
        Parent sets, in any order; () is always among them.
    n_values : array of int
        For how many values of each column there is room; it grows with the codes that come.
    ddof : int
        What is taken off the weight that a sum of squares is divided by, 0 or 1.
    max_memory, beside
        The budget, and how many bytes of it are taken already.
    """

    def __init__(
        self,
        children: Sequence[int],
        sets: Iterable[ParentSet],
        n_values: np.ndarray,
        n_classes: int,
        *,
        ddof: int = 0,
        max_memory: int | float | str | None = None,
        beside: float = 0.0,
        owner: str = "the model",
    ) -> None:
        self.children = tuple(children)
        self.sets = tuple(sorted({(), *(tuple(sorted(p)) for p in sets)}, key=lambda p: (len(p), p)))
        self.n_values, self.n_classes = np.array(n_values, dtype=np.int64), n_classes
        self.max_memory, self.beside, self.owner = max_memory, beside, owner
        self.ddof = ddof
        self._check_budget(self.n_values, _DIGITS * len(self.children))
        self._lay_out()
        self.sums = ExactSums(self.n_lines, len(self.children))

    def _needed(self, n_values: np.ndarray, width: int) -> float:
        contexts = sum(math.prod(int(n_values[i]) for i in p) for p in self.sets)
        return self.beside + float(contexts) * self.n_classes * (len(self.children) * _READ + width * 8)

    def _check_budget(self, n_values: np.ndarray, width: int) -> None:
        check_budget(
            self._needed(n_values, width),
            self.max_memory,
            f"{self.owner} with normal distributions of {len(self.children):,} columns",
            "Name fewer columns in gaussian=, cut into fewer bins, or raise max_memory.",
        )

    @property
    def _width(self) -> int:
        """Digits of a line: of the present ones, or of ordinary numbers."""
        return max(self.sums.digits.shape[1], _DIGITS * len(self.children))

    def _lay_out(self) -> None:
        sizes = [math.prod(int(self.n_values[i]) for i in p) * self.n_classes for p in self.sets]
        starts = np.cumsum([0, *sizes])
        self.n_lines = int(starts[-1])
        self.place = {p: at for at, p in enumerate(self.sets)}
        self._ranges = {p: slice(int(a), int(b)) for p, a, b in zip(self.sets, starts, starts[1:], strict=False)}
        self._starts = starts[:-1]
        self._by_size = self._grouped(range(len(self.sets)))
        self._answers: _Answers | None = None

    def _grouped(self, places: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Some sets by their size: which of ``places`` they are, where they start, and their columns."""
        by_size: dict[int, list[int]] = {}
        for q, at in enumerate(places):
            by_size.setdefault(len(self.sets[at]), []).append(q)
        groups = [(size, np.array(which), [places[q] for q in which]) for size, which in by_size.items()]
        columns = [np.array([self.sets[at] for at in some], dtype=np.int64) for _, _, some in groups]
        return [
            (which, self._starts[some], parents.reshape(len(some), size))
            for (size, which, some), parents in zip(groups, columns, strict=True)
        ]

    def child_of(self, i: int) -> int:
        """Which of the children column i is; -1 where it is none."""
        return self.children.index(i) if i in self.children else -1

    @property
    def cells(self) -> Cells:
        """Weight, mean and deviation of every line and child."""
        return self.sums.read(np.arange(self.n_lines))

    @property
    def by_class(self) -> Cells:
        """Weight, mean and deviation (divided by n - ddof) of every class and child."""
        return by_rule(self.sums.read(np.arange(self.n_classes)), self.ddof)

    @property
    def weight(self) -> np.ndarray:
        """The weight of the rows of every line and child."""
        return self.cells.weight

    @property
    def mean(self) -> np.ndarray:
        """Their mean, 0 where there are none."""
        return self.cells.mean

    @property
    def n_columns(self) -> int:
        """How many numbers come with a row."""
        return len(self.children)

    def lines(self, codes: np.ndarray, places: Sequence[int] | None = None) -> np.ndarray:
        """For every row and set (or those in some ``places``) the line of its context, for the first class in it.

        Negative where a parent is missing, and that of the class alone where a value is new.
        """
        wide, absent = codes.astype(np.int64), codes == np.iinfo(codes.dtype).max
        out = np.empty((len(codes), len(self.sets if places is None else places)), dtype=np.int64)
        for which, starts, columns in self._by_size if places is None else self._grouped(places):
            at, known = np.zeros((len(codes), len(columns)), dtype=np.int64), np.ones((len(codes), 1), dtype=bool)
            missing = np.zeros((len(codes), 1), dtype=bool)
            for parents in columns.T:
                known = known & (wide[:, parents] < self.n_values[parents])
                missing = missing | absent[:, parents]
                at = at * self.n_values[parents] + wide[:, parents]
            found = np.where(known, starts + at * self.n_classes, 0)
            out[:, which] = np.where(missing, -1, found)
        return out

    # --- rows come and go ---------------------------------------------------------------------------------------

    def reserve(self, block: Block) -> None:
        """Have room for the values and digits of rows; where that is too much, it is refused and nothing changes."""
        block = block.counted()
        values, raw = usable_numbers(block.numbers), self.sums.raw(len(block), block.weights)
        windows = self.sums.windows_for(values, raw)
        n_values = np.maximum(self.n_values, _highest(block.codes)[: len(self.n_values)] + 1)
        self._check_budget(n_values, max(int(windows[..., 1].sum()), _DIGITS * len(self.children)))
        self.make_room(n_values)
        self.sums.widen(windows)

    def add_block(self, block: Block) -> None:
        """Add rows; those without a label or a weight are passed over, and a missing number counts for its column."""
        block = block.counted()
        if len(block):
            self.make_room(_highest(block.codes) + 1)
            self._add(block, self.sums.raw(len(block), block.weights))

    def remove_block(self, block: Block, scale: float = 1.0) -> None:
        """Take rows away; weights are multiplied by a scale, where one is given."""
        block = block.counted()
        self._add(block, self.sums.raw(len(block), block.weights, scale), subtract=True)

    def remove_learned(self, block: Block) -> None:
        """Take rows away that do not fade; where these cannot have been learned, DataError, and nothing is changed."""
        self.remove_block(block)
        if not self.sums.possible(np.arange(self.n_classes)):  # every row is in the lines of its class
            self.add_block(block)
            raise never_learned()

    def _add(self, block: Block, raw: np.ndarray, subtract: bool = False) -> None:
        values, step = usable_numbers(block.numbers), max(1, _ENTRIES // len(self.sets))
        for rows in (slice(at, at + step) for at in range(0, len(block), step)):
            part = block.part(rows)
            lines = self.lines(part.codes)
            lines = np.where(lines < 0, -1, lines + part.labels[:, None].astype(np.int64))
            self.sums.add(values[rows], raw[rows], lines, subtract=subtract)
        self._answers = None

    def decay(self, factor: float | np.ndarray) -> ContextMoments:
        """Multiply the weights by a factor, or by one per class (first axis). Means stay."""
        fade(self.sums, factor, self.n_classes)
        self._answers = None
        return self

    # --- other layouts ------------------------------------------------------------------------------------------

    def make_room(self, n_values: np.ndarray) -> None:
        """Have room for codes below these; twice as much as before where there is too little."""
        old = self.n_values
        n_values = n_values[: len(old)]
        if (n_values <= old).all():
            return
        roomy = np.where(n_values > old, np.maximum(n_values, 2 * old), old)
        fits = self._needed(roomy, self._width) <= as_bytes(self.max_memory)
        self._become(self.moved(self.blank(n_values=roomy if fits else np.maximum(n_values, old))))

    def add_columns(self, n_values: np.ndarray, sets: Iterable[ParentSet]) -> None:
        """Columns have come at the end, missing in all rows so far; with them parent sets."""
        self._become(self.moved(self.blank(n_values=np.append(self.n_values, n_values), sets=sets)))

    def move_classes(self, places: np.ndarray, n_classes: int) -> ContextMoments:
        """The same moments among more classes: class c is now places[c]."""
        return self.moved(self.blank(n_classes=n_classes), classes=places)

    def blank(self, **changes: Any) -> ContextMoments:
        """Empty moments of the same kind, some things apart."""
        names = ("children", "sets", "n_values", "n_classes", "ddof", "max_memory", "beside", "owner")
        return ContextMoments(**({name: getattr(self, name) for name in names} | changes))

    def _become(self, other: ContextMoments) -> None:
        self.__dict__.update(other.__dict__)

    def moved(
        self,
        new: ContextMoments,
        *,
        columns: Sequence[int] | None = None,
        values: Mapping[int, np.ndarray] | None = None,
        classes: np.ndarray | None = None,
    ) -> ContextMoments:
        """These moments in another layout, which is empty: sets that both have.

        Our column i is columns[i] there, its value v is values[i][v], and our class c is classes[c].
        """
        where = list(range(len(self.n_values))) if columns is None else list(columns)
        to_class = np.arange(self.n_classes) if classes is None else np.asarray(classes)
        child = np.array([new.children.index(where[i]) for i in self.children])
        old_lines, new_lines = np.arange(self.n_lines), np.arange(new.n_lines)
        taken, places = [], []
        for p in self.sets:
            target = tuple(sorted(where[i] for i in p))
            if target not in new.place:
                continue
            known = [np.arange(self.n_values[i]) if values is None else values[i] for i in p]
            axes = sorted(range(len(p)), key=lambda q: where[p[q]])
            index = np.ix_(*(known[q] for q in axes), to_class)
            own = old_lines[self._ranges[p]].reshape(*self.n_values[list(p)], self.n_classes)
            own = own.transpose(*axes, len(p))[*(slice(len(known[q])) for q in axes)]
            shape = (*new.n_values[list(target)], new.n_classes)
            taken.append(own.ravel())
            places.append(new_lines[new._ranges[target]].reshape(shape)[index].ravel())
        # A child that is at place g here is at child[g] there; the others there have no rows yet.
        order = np.argsort(child)
        assert len(child) == new.n_columns
        new.sums = self.sums.project(order.tolist()).moved(new.n_lines, np.concatenate(places), np.concatenate(taken))
        return new

    def merge(self, other: ContextMoments) -> ContextMoments:
        """Add other moments of the same layout."""
        self.sums.merge(other.sums)
        self._answers = None
        return self

    def at_scale(self, scale: float) -> ContextMoments:
        """The same moments, with another scale of the weights."""
        new = self.blank()
        new.sums = self.sums.at_scale(scale)
        return new

    # --- answers ------------------------------------------------------------------------------------------------

    def without(self, lines: np.ndarray, values: np.ndarray, left_out: LeftOut) -> Cells:
        """The moments of these contexts for the class of each row, which is left out: rows, sets and columns."""
        labels, weights = left_out
        return self.sums.read_without(lines + labels[:, None], values, self.sums.raw(len(values), weights))

    def normals(self, lines: np.ndarray, values: np.ndarray) -> tuple[Normals, np.ndarray, np.ndarray]:
        """Normal distributions for rows in some contexts (rows, sets), where each context is, and numbers to ask for.

        A context is read with ``PSEUDO_ROWS`` rows of its class beside its own; else the rules are those of
        ``tanager.counts.normals``. Few rows get distributions of their own, many those of all contexts, which are kept
        until a row comes or goes.
        """
        if self._answers is not None or lines.size * self.n_classes >= self.n_lines:
            every = self._all.every
            return self._all.normals, lines, within_reach(values, every)
        own = self.sums.read(np.arange(self.n_classes))
        every = all_rows(own, 0, self.ddof)
        cells = self.sums.read(np.maximum(lines, 0)[:, :, None] + np.arange(self.n_classes))
        normals = self._shrunk(cells, own, every).each(lambda part: part.reshape(-1, self.n_columns))
        places = np.arange(lines.size).reshape(lines.shape) * self.n_classes
        return normals, np.where(lines < 0, -1, places), within_reach(values, every)

    def normals_without(
        self, lines: np.ndarray, values: np.ndarray, labels: np.ndarray, rest: Cells, classes: tuple[Cells, AllRows]
    ) -> tuple[Normals, np.ndarray, np.ndarray]:
        """``normals`` of rows that are left out of their class, whose contexts then have the moments in ``rest``.

        ``classes`` are those of ``classes_without``.
        """
        own, every = classes
        at = np.maximum(lines, 0)[:, :, None] + np.arange(self.n_classes)
        cells = Cells(*(part[at] for part in self._all.cells))
        _exchange(cells, labels, rest)
        wide = every.each(lambda part: part[:, None, None])
        normals = self._shrunk(cells, Cells(*(part[:, None] for part in own)), wide)
        places = np.arange(lines.size).reshape(lines.shape) * self.n_classes
        flat = normals.each(lambda part: part.reshape(-1, self.n_columns))
        return flat, np.where(lines < 0, -1, places), within_reach(values, every)

    def log_density_of_all(self, lines: np.ndarray, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Log density of each of these columns in a context of its own (rows, columns), among rows of all classes."""
        normals, every = self.normals_of_all(lines, columns)
        return normals.log_density(within_reach(values, every)[:, columns])

    def normals_of_all(self, lines: np.ndarray, columns: np.ndarray) -> tuple[Normals, AllRows]:
        """The distributions of these columns in contexts of their own, among rows of all classes; and of all rows."""
        at = np.maximum(lines, 0)
        if self._answers is not None or lines.size * self.n_classes >= self.n_lines:
            return self._all.inside.each(lambda part: part[at // self.n_classes, columns]), self._all.every
        every = all_rows(self.sums.read(np.arange(self.n_classes)), 0, self.ddof)
        cells = self.sums.read(at[:, :, None] + np.arange(self.n_classes))
        picked = Cells(*(part[:, np.arange(len(columns)), :, columns].transpose(1, 0, 2) for part in cells))
        return self._inside(pool(picked, axis=2), every.each(lambda part: part[columns])), every

    def log_density_of_all_without(
        self,
        lines: np.ndarray,
        values: np.ndarray,
        columns: np.ndarray,
        labels: np.ndarray,
        rest: Cells,
        every: AllRows,
    ) -> np.ndarray:
        """The same of rows that are left out of their class, whose contexts then have the moments in ``rest``."""
        sets = np.arange(len(columns))
        at = np.maximum(lines, 0)[:, :, None] + np.arange(self.n_classes)
        cells = Cells(*(part[at, columns[:, None]] for part in self._all.cells))
        for part, left in zip(cells, rest, strict=True):
            part[np.arange(len(lines))[:, None], sets, labels[:, None]] = left[:, sets, columns]
        normals = self._inside(pool(cells, axis=2), every.each(lambda part: part[:, columns]))
        return normals.log_density(within_reach(values, every)[:, columns])

    def classes_without(self, values: np.ndarray, left_out: LeftOut) -> tuple[Cells, AllRows]:
        """The moments of every class (rows, classes, columns) and of all rows, each row left out of its class."""
        own = self.sums.read(np.arange(self.n_classes))
        own = Cells(*(np.repeat(part[None], len(values), axis=0) for part in own))
        rest = self.without(np.zeros((len(values), 1), dtype=np.int64), values, left_out)
        for part, left in zip(own, rest, strict=True):
            part[np.arange(len(values)), left_out[0]] = left[:, 0]
        return own, all_rows(own, 1, self.ddof)

    @property
    def _all(self) -> _Answers:
        """What all lines say; kept until a row comes or goes."""
        if self._answers is None:
            cells = self.cells
            by_context = Cells(*(part.reshape(-1, self.n_classes, self.n_columns) for part in cells))
            own = Cells(*(part[0] for part in by_context))
            every = all_rows(own, 0, self.ddof)
            normals = self._shrunk(by_context, own, every).each(lambda part: part.reshape(-1, self.n_columns))
            inside = self._inside(pool(by_context, axis=1), every)
            self._answers = _Answers(cells, every, normals, inside)
        return self._answers

    def _shrunk(self, cells: Cells, own: Cells, every: AllRows) -> Normals:
        """Distributions of contexts beside those of their classes, and of all rows."""
        centre = centre_of(by_rule(own, self.ddof), every)
        return normals_of(*shrunk(by_rule(cells, self.ddof), *centre, PSEUDO_ROWS), every)

    def _inside(self, cells: Cells, every: AllRows) -> Normals:
        """Distributions of the rows of all classes in contexts."""
        return normals_of(*shrunk(by_rule(cells, self.ddof), every.mean, every.deviation, PSEUDO_ROWS), every)

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        return self.sums.to_arrays("contexts") | {"contexts-n_values": self.n_values}

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> ContextMoments:
        """The same kind of moments with a state that ``to_arrays`` returned. Raises ModelFileError for another."""
        n_values = arrays["contexts-n_values"]
        if n_values.shape != self.n_values.shape or n_values.dtype != np.int64 or (n_values < self.n_values).any():
            raise ModelFileError("the contexts of its normal distributions do not match its columns")
        new = self.blank(n_values=n_values)
        new.sums = ExactSums.from_arrays(arrays, "contexts", new.n_lines, self.n_columns)
        return new


def _highest(codes: np.ndarray) -> np.ndarray:
    """The largest code of every column, missing ones left out; -1 where there is none."""
    missing = codes == np.iinfo(codes.dtype).max
    return np.where(missing, -1, codes.astype(np.int64)).max(axis=0, initial=-1)


def _exchange(cells: Cells, labels: np.ndarray, rest: Cells) -> None:
    """Put other moments in the place of those of the class of each row: (rows, sets, classes, columns)."""
    rows, sets = np.arange(len(labels))[:, None], np.arange(cells.mean.shape[1])
    for part, left in zip(cells, rest, strict=True):
        part[rows, sets, labels[:, None]] = left
