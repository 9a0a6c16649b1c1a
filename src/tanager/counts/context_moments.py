"""ContextMoments: weight, mean and variance of number columns per class and values of parents.

What joint counts are to columns with codes, these are to columns described by a normal distribution: a *context* is one
combination of values of some parents, and every context has, for every class and every number column (*child*), the
weight W of its rows, their mean and the sum S of squared deviations. Lines are laid out set after set, the class
innermost:

    weight, mean, squares   (lines, children)     line = start of the set + k * place of the context + class

The first set is (), the class alone; contexts that were never seen are read there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tanager.counts.block import Block
from tanager.counts.memory import as_bytes, check_budget
from tanager.counts.moments import NOTHING, variance_floor
from tanager.errors import ModelFileError

ParentSet = tuple[int, ...]
LeftOut = tuple[np.ndarray, np.ndarray]  # labels and weights of rows that are answered as if they had not been learned

# A context is read as if so many further rows were in it that are distributed as its class. Of 0.5, 1, 2, 5 and 10, one
# had the least log loss for TAN and was within 1 % of the least for AODE and FANC, by cross-validation on the data of
# docs/gaussian.md.
PSEUDO_ROWS = 1.0

LARGEST = 1e100  # numbers beyond are taken as this: their squares, and the sums of these, stay finite
_ENTRIES = 2**20  # rows times sets that are added at once
_NAMES = ("weight", "mean", "squares")
_BYTES = 6 * 8  # of a line and child: its moments, and the normal distributions made from them


class Cells(NamedTuple):
    """Weight, mean and sum of squared deviations, in arrays of one shape."""

    weight: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Cells:
        """All three, changed alike."""
        return Cells(change(self.weight), change(self.mean), change(self.squares))


class Normals(NamedTuple):
    """Means of normal distributions, halves of their inverse variances, and logs of their densities at the mean."""

    mean: np.ndarray
    scale: np.ndarray
    top: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Normals:
        """All three, changed alike."""
        return Normals(change(self.mean), change(self.scale), change(self.top))

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """The log density of values of the same shape; 0 where they are missing."""
        out = values - self.mean
        out *= out
        out *= self.scale
        np.subtract(self.top, out, out=out)
        return np.where(np.isnan(values), 0.0, out)


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
        max_memory: int | float | str | None = None,
        beside: float = 0.0,
        owner: str = "the model",
    ) -> None:
        self.children = tuple(children)
        self.sets = tuple(sorted({(), *(tuple(sorted(p)) for p in sets)}, key=lambda p: (len(p), p)))
        self.n_values, self.n_classes = np.array(n_values, dtype=np.int64), n_classes
        self.max_memory, self.beside, self.owner = max_memory, beside, owner
        check_budget(
            self._needed(self.n_values),
            max_memory,
            f"{owner} with normal distributions of {len(self.children):,} columns",
            "Name fewer columns in gaussian=, cut into fewer bins, or raise max_memory.",
        )
        self._lay_out()
        self.weight, self.mean, self.squares = (np.zeros((self.n_lines, len(self.children))) for _ in range(3))
        self.low, self.high = (np.full(len(self.children), bound) for bound in (np.inf, -np.inf))

    def _needed(self, n_values: np.ndarray) -> float:
        contexts = sum(math.prod(int(n_values[i]) for i in p) for p in self.sets)
        return self.beside + float(contexts) * self.n_classes * len(self.children) * _BYTES

    def _lay_out(self) -> None:
        sizes = [math.prod(int(self.n_values[i]) for i in p) * self.n_classes for p in self.sets]
        starts = np.cumsum([0, *sizes])
        self.n_lines = int(starts[-1])
        self.place = {p: at for at, p in enumerate(self.sets)}
        self._ranges = {p: slice(int(a), int(b)) for p, a, b in zip(self.sets, starts, starts[1:], strict=False)}
        self._starts = starts[:-1]
        self._by_size = self._grouped(range(len(self.sets)))
        self._normals: Normals | None = None

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
    def _cells(self) -> Cells:
        return Cells(self.weight, self.mean, self.squares)

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

    def add_block(self, block: Block) -> None:
        """Add rows; those without a label or a weight are passed over, and a missing number counts for its column."""
        block = block.counted()
        if len(block):
            values = usable_numbers(block.numbers)
            self.make_room(_highest(block.codes) + 1)
            self.low, self.high = np.fmin(self.low, _least(values)), np.fmax(self.high, -_least(-values))
            for rows in self._pieces(len(block)):
                self._merge(*self._moments_of(block.part(rows), values[rows]))

    def remove_block(self, block: Block) -> None:
        """Take rows away. The ranges of the columns stay as they were."""
        block = block.counted()
        values = usable_numbers(block.numbers)
        for rows in self._pieces(len(block)):
            self._subtract(*self._moments_of(block.part(rows), values[rows]))

    def _pieces(self, n: int) -> list[slice]:
        step = max(1, _ENTRIES // len(self.sets))
        return [slice(at, at + step) for at in range(0, n, step)]

    def _moments_of(self, block: Block, values: np.ndarray) -> tuple[np.ndarray, Cells]:
        """The lines that some rows are in, and the moments of these rows there."""
        present = ~np.isnan(values)
        own = present * (1.0 if block.weights is None else block.weights[:, None])
        lines = self.lines(block.codes)
        known = lines >= 0
        lines = (lines + block.labels[:, None])[known]
        if len(block) == 1:
            touched = lines
            shape = len(touched), self.n_columns
            cells = Cells(own, np.where(present, values, 0.0), np.zeros((1, self.n_columns)))
            return touched, cells.each(lambda part: np.broadcast_to(part, shape))
        from scipy.sparse import csr_matrix

        rows, _ = np.nonzero(known)
        touched, which = np.unique(lines, return_inverse=True)
        pick = csr_matrix((np.ones(len(rows)), (which, rows)), shape=(len(touched), len(block)))
        # Deviations from the mean of all these rows: what rounding costs is small against the least variance.
        centre = np.divide(
            np.where(present, values, 0.0).sum(axis=0),
            present.sum(axis=0),
            out=np.zeros(self.n_columns),
            where=present.any(axis=0),
        )
        away = np.where(present, values - centre, 0.0)
        weight, sums, squares = pick @ own, pick @ (own * away), pick @ (own * away**2)
        shift = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
        return touched, Cells(weight, centre + shift, np.maximum(squares - sums * shift, 0.0))

    def _merge(self, lines: np.ndarray, new: Cells) -> None:
        """Add moments to some lines, by the rule of Chan, Golub and LeVeque."""
        weight, mean, squares = self._cells.each(lambda part: part[lines])
        total = weight + new.weight
        share = np.divide(new.weight, total, out=np.zeros_like(total), where=total > 0)
        shift = new.mean - mean
        self.mean[lines] = mean + shift * share
        self.squares[lines] = squares + new.squares + shift**2 * weight * share
        self.weight[lines] = total
        self._normals = None

    def _subtract(self, lines: np.ndarray, gone: Cells) -> None:
        left = without(self._cells.each(lambda part: part[lines]), gone)
        self.weight[lines], self.mean[lines], self.squares[lines] = left
        self._normals = None

    def decay(self, factor: float | np.ndarray) -> ContextMoments:
        """Multiply the weights by a factor, or by one per class (first axis). Means stay."""
        shape = -1, self.n_classes, self.n_columns
        for name in ("weight", "squares"):
            setattr(self, name, (getattr(self, name).reshape(shape) * factor).reshape(-1, self.n_columns))
        self._normals = None
        return self

    # --- other layouts ------------------------------------------------------------------------------------------

    def make_room(self, n_values: np.ndarray) -> None:
        """Have room for codes below these; twice as much as before where there is too little."""
        old = self.n_values
        n_values = n_values[: len(old)]
        if (n_values <= old).all():
            return
        roomy = np.where(n_values > old, np.maximum(n_values, 2 * old), old)
        fits = self._needed(roomy) <= as_bytes(self.max_memory)
        self._become(self.moved(self.blank(n_values=roomy if fits else np.maximum(n_values, old))))

    def add_columns(self, n_values: np.ndarray, sets: Iterable[ParentSet]) -> None:
        """Columns have come at the end, missing in all rows so far; with them parent sets."""
        self._become(self.moved(self.blank(n_values=np.append(self.n_values, n_values), sets=sets)))

    def move_classes(self, places: np.ndarray, n_classes: int) -> ContextMoments:
        """The same moments among more classes: class c is now places[c]."""
        return self.moved(self.blank(n_classes=n_classes), classes=places)

    def blank(self, **changes: Any) -> ContextMoments:
        """Empty moments of the same kind, some things apart."""
        names = ("children", "sets", "n_values", "n_classes", "max_memory", "beside", "owner")
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
        for p in self.sets:
            target = tuple(sorted(where[i] for i in p))
            if target not in new.place:
                continue
            known = [np.arange(self.n_values[i]) if values is None else values[i] for i in p]
            axes = sorted(range(len(p)), key=lambda q: where[p[q]])
            index = np.ix_(*(known[q] for q in axes), to_class, child)
            taken = (*(slice(len(known[q])) for q in axes),)
            for name in _NAMES:
                old = getattr(self, name)[self._ranges[p]].reshape(
                    *self.n_values[list(p)], self.n_classes, self.n_columns
                )
                here = old.transpose(*axes, len(p), len(p) + 1)[taken]
                shape = (*new.n_values[list(target)], new.n_classes, new.n_columns)
                getattr(new, name)[new._ranges[target]].reshape(shape)[index] = here
        new.low[child], new.high[child] = self.low, self.high
        return new

    def merge(self, other: ContextMoments) -> ContextMoments:
        """Add other moments of the same layout."""
        self._merge(np.arange(self.n_lines), other._cells)
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return self

    # --- answers ------------------------------------------------------------------------------------------------

    def normals(self, lines: np.ndarray, values: np.ndarray, left_out: LeftOut | None) -> tuple[Normals, np.ndarray]:
        """Normal distributions for rows in some contexts (rows, sets), and where each context is among them.

        A context is read with ``PSEUDO_ROWS`` rows of its class beside its own; a class without values takes the
        moments of all classes. Variances have the least of ``Moments``. With ``left_out`` each row is first taken out
        of its own class. Few rows get distributions of their own, many those of all contexts, which are kept until a
        row comes or goes.
        """
        if left_out is None and (self._normals is not None or lines.size * self.n_classes >= self.n_lines):
            return self._all_normals(), lines
        own = np.arange(lines.size).reshape(lines.shape) * self.n_classes
        normals = self._normals_at(np.maximum(lines, 0), values, left_out)
        return normals.each(lambda part: part.reshape(-1, self.n_columns)), np.where(lines < 0, -1, own)

    def log_density_of_all(
        self, lines: np.ndarray, values: np.ndarray, columns: np.ndarray, left_out: LeftOut | None
    ) -> np.ndarray:
        """Log density of each of these columns in a context of its own (rows, columns), among rows of all classes."""
        at, x = np.maximum(lines, 0)[:, :, None] + np.arange(self.n_classes), values[:, columns]
        cells = pool(self._cells.each(lambda part: part[at, columns[:, None]]), axis=2)
        every = self._of_classes(columns)[1].each(lambda part: np.broadcast_to(part, x.shape))
        if left_out is not None:
            gone = _single(x, left_out[1][:, None])
            cells, every = without(cells, gone), without(every, gone)
        return self._as_normal(*shrunk(cells, *centre_of(every, every)), columns).log_density(x)

    def _all_normals(self) -> Normals:
        """The normal distributions of all lines; kept until a row comes or goes."""
        if self._normals is None:
            cells = self._cells.each(lambda part: part.reshape(-1, self.n_classes, self.n_columns))
            normals = self._as_normal(*shrunk(cells, *centre_of(*self._of_classes(slice(None)))), slice(None))
            self._normals = normals.each(lambda part: part.reshape(-1, self.n_columns))
        return self._normals

    def _of_classes(self, columns: slice | np.ndarray) -> tuple[Cells, Cells]:
        """The moments of every class, and those of all classes together."""
        own = self._cells.each(lambda part: part[: self.n_classes, columns])
        return own, pool(own, axis=0)

    def _normals_at(self, lines: np.ndarray, values: np.ndarray, left_out: LeftOut | None) -> Normals:
        """The distributions of these contexts alone, with or without the rows: rows, sets, classes and columns."""
        own, every = self._of_classes(slice(None))
        at = lines[:, :, None] + np.arange(self.n_classes)
        cells = self._cells.each(lambda part: part[at])
        if left_out is not None:
            labels, weights = left_out
            row, gone = np.arange(len(lines)), _single(values, weights[:, None])
            own = own.each(lambda part: np.repeat(part[None], len(lines), axis=0))
            less = without(own.each(lambda part: part[row, labels]), gone)
            for part, left in zip(own, less, strict=True):
                part[row, labels] = left
            rows = row[:, None], np.arange(lines.shape[1]), labels[:, None]
            less = without(cells.each(lambda part: part[rows]), gone.each(lambda part: part[:, None]))
            for part, left in zip(cells, less, strict=True):
                part[rows] = left
            own = own.each(lambda part: part[:, None])
            every = without(every.each(lambda part: np.broadcast_to(part, values.shape)), gone)
            every = every.each(lambda part: part[:, None, None])
        return self._as_normal(*shrunk(cells, *centre_of(own, every)), slice(None))

    def _as_normal(self, mean: np.ndarray, variance: np.ndarray, columns: slice | np.ndarray) -> Normals:
        variance = np.maximum(variance, variance_floor(self.low, self.high)[columns])
        return Normals(mean, 0.5 / variance, -0.5 * np.log(2 * np.pi * variance))

    # --- files --------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The state as named arrays."""
        names = (*_NAMES, "low", "high", "n_values")
        return {f"contexts-{name}": getattr(self, name) for name in names}

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> ContextMoments:
        """The same kind of moments with a state that ``to_arrays`` returned. Raises ModelFileError for another."""
        n_values = arrays["contexts-n_values"]
        if n_values.shape != self.n_values.shape or n_values.dtype != np.int64 or (n_values < self.n_values).any():
            raise ModelFileError("the contexts of its normal distributions do not match its columns")
        new = self.blank(n_values=n_values)
        for name in (*_NAMES, "low", "high"):
            found, empty = arrays[f"contexts-{name}"], getattr(new, name)
            if found.shape != empty.shape or found.dtype != np.float64 or np.isnan(found).any():
                raise ModelFileError(f"its moments ({name}) do not match its columns and classes")
            setattr(new, name, found)
        return new


def usable_numbers(numbers: np.ndarray | None) -> np.ndarray:
    """Numbers whose squares are finite; infinite ones are missing, as they are for ``Moments``."""
    assert numbers is not None  # they come with the rows where columns are Gaussian
    return np.where(np.isinf(numbers), np.nan, np.clip(numbers, -LARGEST, LARGEST))


def pool(cells: Cells, axis: int) -> Cells:
    """The moments of all rows along an axis."""
    weight, mean, squares = cells
    total = weight.sum(axis=axis)
    middle = (weight * mean).sum(axis=axis) / np.where(total > 0, total, 1.0)
    return Cells(total, middle, (squares + weight * (mean - np.expand_dims(middle, axis)) ** 2).sum(axis=axis))


def _single(values: np.ndarray, weights: np.ndarray) -> Cells:
    """The moments of single numbers; a missing one has no weight."""
    return Cells(weights * ~np.isnan(values), np.nan_to_num(values), np.zeros_like(values))


def without(cells: Cells, gone: Cells) -> Cells:
    """Moments less those of some of their rows: the rule of Chan, solved for what was before it."""
    weight, mean, squares = cells
    total = weight - gone.weight
    left = total > NOTHING
    share = np.divide(gone.weight, total, out=np.zeros_like(total), where=left)
    before = mean - (gone.mean - mean) * share
    part = np.divide(gone.weight, weight, out=np.zeros_like(total), where=left)
    rest = np.maximum(squares - gone.squares - (gone.mean - before) ** 2 * total * part, 0.0)
    return Cells(total, before, rest).each(lambda cell: np.where(left, cell, 0.0))


def centre_of(own: Cells, pooled: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every class, or of all classes where one has no values; 0 and 1 where none has."""
    mean, variance = np.where(pooled.weight > NOTHING, pooled.mean, 0.0), np.ones(pooled.weight.shape)
    np.divide(pooled.squares, pooled.weight, out=variance, where=pooled.weight > NOTHING)
    known = own.weight > NOTHING
    spread = np.broadcast_to(variance, own.weight.shape).copy()
    np.divide(own.squares, own.weight, out=spread, where=known)
    return np.where(known, own.mean, mean), spread


def shrunk(cells: Cells, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of contexts with ``PSEUDO_ROWS`` rows of their class (mean, variance) beside their own."""
    total = cells.weight + PSEUDO_ROWS
    away = np.where(cells.weight > NOTHING, cells.mean - mean, 0.0)
    share = cells.weight / total
    spread = (cells.squares + PSEUDO_ROWS * variance) / total + (1 - share) * share * away**2
    return mean + share * away, spread


def _highest(codes: np.ndarray) -> np.ndarray:
    """The largest code of every column, missing ones left out; -1 where there is none."""
    missing = codes == np.iinfo(codes.dtype).max
    return np.where(missing, -1, codes.astype(np.int64)).max(axis=0, initial=-1)


def _least(values: np.ndarray) -> np.ndarray:
    """The smallest number of every column; NaN where there is none."""
    return np.fmin.reduce(values, axis=0, initial=np.nan)
