"""JointCounts: how often values occurred together with each class. Everything that tanager learns from rows is here.

Counts are a value with an algebra: ``update`` adds rows, ``subtract`` takes rows away, ``merge`` adds other counts,
``decay`` fades, ``project`` forgets columns. All cells are float64: with unit weights every count is a whole number and
exact up to 2^53, whatever the order of rows, chunks, threads or machines.

Memory layout (the kernels read it as it is; the class is always innermost): column i owns ``n_slots[i]`` slots, first
its values, then spare ones, and last the slot for *missing*, which is counted like a value. So the weight of rows with
x_i = v and x_j missing is a cell too, and the total behind P(x_j | y, x_i = v) is N(v, y) less that cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from tanager import _kernels, archive, saved
from tanager.counts.align import (
    as_label_array,
    class_map,
    extends,
    labels_from_plain,
    labels_to_plain,
    union_column,
    union_labels,
    value_map,
)
from tanager.counts.display import counts_html
from tanager.counts.memory import as_bytes, check_budget, readable
from tanager.encoding.codes import refuse_full_codes, row_array, widened
from tanager.encoding.schema import Schema
from tanager.encoding.typing import RowOfCodes
from tanager.encoding.validation import check_weights
from tanager.errors import DataError, ModelFileError, OptionError, SchemaMismatch, is_whole, nearest
from tanager.listed import Listed, names_in

Family = tuple[int, ...]  # parents in order of importance, then the child
_ROUNDING = 1e-6  # what cells may be below zero when rows were taken away
_ONE_PIECE = 1 << 24  # cells of triples that stand one behind the other
_MOST_BITS = 332  # of the scale: some 1e100
_SMALL_TABLE = 2**18  # bytes of a table of all cells that is not worth being sparse
MOST_SPARE = 2**25  # bytes of a table that are kept for the one after the next
_SLOTS_IN_FILES = "rooms"  # the name of n_slots in files; it stays, so that old and new files read each other
_GROWTH = (2.0, 1.25)  # of a vocabulary, where its cells move; the second where the first takes too much memory
_FEW_CLASSES = 8  # fewer numbers NumPy adds up one after the other, as Python does


def place_of(schema: Schema, name: str | int) -> int:
    """Position of a column given by name or position; refused where there is none."""
    if isinstance(name, str):
        if name not in schema:
            raise SchemaMismatch(f"there is no column {name!r}.{nearest(name, schema.names)}")
        return schema.index(name)
    if not is_whole(name) or name >= len(schema):
        raise SchemaMismatch(f"there is no column {name!r}; columns are numbered from 0 to {len(schema) - 1}.")
    return int(name)


def sparse_families(families: Sequence[Family], n_slots: np.ndarray, n_classes: int, n_rows: int) -> list[Family]:
    """The families that take less memory as contexts that occur in so many rows.

    A small table of all cells is quicker, and may also be counted and answered from in blocks.
    """
    slots = np.asarray(n_slots, dtype=float).tolist()
    most = max(slots, default=0.0) ** max(map(len, families), default=0)
    if 8 * most * n_classes <= _SMALL_TABLE:
        return []
    contexts = {family: math.prod(slots[i] for i in family[:-1]) for family in families}
    block = {family: 8 * slots[family[-1]] * n_classes for family in families}
    return [f for f in families if contexts[f] > n_rows and contexts[f] * block[f] > _SMALL_TABLE]


def _whole(cells: np.ndarray) -> bool:
    return bool(np.array_equal(cells, np.rint(cells)))


class JointCounts(Listed):
    """How often values of columns and classes came together: what all classifiers learn from.

    Counts can be added (``merge``), taken apart (``subtract``) and made to fade (``decay``), so that rows can be
    learned in parts, on many machines, and unlearned. A fitted model has them as ``counts_``.

    Parameters
    ----------
    schema : Schema
        The columns and their values.
    classes : sequence
        The class labels, in the order of their codes.
    order : {1, 2, 3}
        How many columns are counted together with the class: 1 counts each column, 2 all pairs as well, 3 all triples.
    anchors : sequence of int
        Positions of columns; with ``order=2`` all triples with one of them are counted as well.
    families : sequence of tuples of int
        Further columns that are counted together, by position: the parents, then the child.
    sparse : sequence of tuples of int
        Those of the families for which only combinations of values that occur take memory, instead of all.
    max_memory : int, str or None
        The most that the counts may take, in bytes or as text such as "500 MB". Where they would need more, an error
        says so before they are made. None: no limit.
    spare : int
        Room for so many further values of each column; 1 is needed to answer for values never seen.

    Examples
    --------
    >>> import numpy as np
    >>> from tanager.encoding.schema import Column, Schema
    >>> schema = Schema((Column("sky", "categorical", ("sun", "rain")), Column("wind", "categorical", ("no", "yes"))))
    >>> counts = JointCounts(schema, ["play", "stay"])
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint8)
    >>> counts.update(codes, np.array([0, 0, 1], dtype=np.uint8)).n_rows
    3.0
    >>> counts.joint("sky", "wind")[0]
    array([[1., 1.],
           [0., 0.]])
    """

    unlisted = names_in("""
        blank forget_row forget_rows from_header lay_out_like learn_row learn_rows make_sure_of_room
        may_take_families move_cuts narrowed note_raw_cells only_families only_pairs pairs places_of raw_cells raw_now
        refuse_full_codes require reserve singles store take_away take_scale to_header with_families_of with_modes
    """)

    def __init__(
        self,
        schema: Schema,
        classes: Iterable[object],
        *,
        order: int = 2,
        anchors: Sequence[int] = (),
        families: Sequence[Family] = (),
        sparse: Sequence[Family] = (),
        max_memory: int | float | str | None = None,
        spare: int = 0,
    ) -> None:
        if order not in (1, 2, 3):
            raise OptionError(f"order={order!r} is not an option; counts are of order 1, 2 or 3.")
        self.schema = schema
        self.classes = as_label_array(classes)
        self.order = order
        self.anchors = tuple(anchors)
        self.families = tuple(tuple(family) for family in families)
        self.sparse = frozenset(tuple(family) for family in sparse) & frozenset(self.families)
        self.max_memory = max_memory
        self.spare = spare
        self.scale = 1.0  # cells hold true counts times this; see decay
        self.halvings = 0  # how often all cells were halved because the scale had grown too large; see raw_now
        self.version = 0  # goes up with every change; views compare it
        self._allocate(schema.n_values + spare)

    # --- layout -------------------------------------------------------------------------------------------------

    def blank(self, classes: Iterable[object] | None = None) -> JointCounts:
        """Counts of the same columns and layout in which nothing is counted yet, of these classes or the same."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, scale=1.0, halvings=0, version=0)
        if classes is not None:
            other.classes = as_label_array(classes)
        other._take(_zeros(other._shapes()))
        return other

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.schema.columns)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def nbytes(self) -> int:
        """How many bytes the counts take."""
        dense = sum(array.nbytes for array in self._arrays().values())
        return dense + sum(table.nbytes for table in self._sparse_tables())

    @staticmethod
    def estimate_bytes(
        n_values: Sequence[int] | np.ndarray,
        n_classes: int,
        order: int = 2,
        anchors: Sequence[int] = (),
        families: Sequence[Family] = (),
    ) -> float:
        """Bytes that counts of this shape take, without making them.

        Parameters
        ----------
        n_values : sequence of int or array
            Number of values of each column.
        n_classes : int
            Number of classes.
        order : int, default=2
            Columns counted together with the class.
        anchors : sequence of int, default=()
            Places of columns that are counted with all pairs of others.
        families : sequence of Family, default=()
            Sets of columns that are counted together.

        Returns
        -------
        float
            A number of bytes.

        Examples
        --------
        >>> JointCounts.estimate_bytes([2] * 19, 2)
        52912.0
        """
        n_slots = np.asarray(n_values, dtype=float) + 1
        width = n_slots.sum()
        cells = 1 + width
        if order >= 2:
            cells += width**2
        after = width - np.cumsum(n_slots)  # slots of later columns
        if order == 3:
            cells += float((n_slots * after**2)[:-2].sum())
        else:
            cells += sum(n_slots[s] * width**2 for s in anchors)
        for size in {len(family) for family in families}:
            cells += float(n_slots[[family for family in families if len(family) == size]].prod(axis=1).sum())
        return float(cells * n_classes * 8)

    def _allocate(self, capacity: np.ndarray) -> None:
        self._lay_out(capacity)
        self._take(_zeros(self._shapes()))

    def _lay_out(self, capacity: np.ndarray) -> None:
        """Have slots for so many values of each column; refused where that takes too much memory."""
        needed = self.estimate_bytes(capacity, self.n_classes, self.order, self.anchors, self._dense_families())
        if needed > as_bytes(self.max_memory):
            check_budget(needed, self.max_memory, *self._too_much(needed, capacity))
        self.n_slots = capacity.astype(np.int64) + 1
        self.offsets = np.concatenate([[0], np.cumsum(self.n_slots)]).astype(np.int64)

    def _too_much(self, needed: float, capacity: np.ndarray) -> tuple[str, str]:
        """What takes more memory than there is, and the way out, in words."""
        dense = self._dense_families()
        of = f"of {self.n_features:,} columns with {int(self.schema.n_values.sum()):,} values"
        if needed > 2 * self.estimate_bytes(capacity, self.n_classes, self.order, self.anchors):
            most = max(len(family) for family in dense)
            what = f"counting {len(dense):,} families of up to {most} {of}"
            return what, "Use fewer parents, fewer bins or columns, or raise max_memory."
        pairs = self.estimate_bytes(capacity, self.n_classes, 2)
        wide = self.order == 3 or needed > 2 * pairs  # triples with an anchor take most
        what = f"counting {'triples' if wide else ('single columns', 'pairs')[self.order - 1]} {of}"
        smaller = f"AODE counts pairs, which need {readable(pairs)}; " if wide else ""
        way_out = (
            f"Use a classifier of lower order ({smaller}NaiveBayes counts single columns), fewer bins or columns, "
            "or raise max_memory."
        )
        return what, way_out

    def _dense_families(self) -> list[Family]:
        return [family for family in self.families if family not in self.sparse]

    def _parent_slots(self, family: Family) -> tuple[int, ...]:
        return tuple(int(self.n_slots[i]) for i in family[:-1])

    def _empty_sparse(self, family: Family) -> _kernels.SparseTable:
        """A table without contexts."""
        slots = self._parent_slots(family)
        if math.prod(slots) >= 2**62:
            names = ", ".join(repr(self.schema.names[i]) for i in family[:-1])
            raise OptionError(
                f"the columns {names} have more combinations of values than can be numbered. Use fewer parents, or "
                "max_values or n_bins for columns with fewer values."
            )
        return _kernels.SparseTable(slots, int(self.n_slots[family[-1]]), self.n_classes)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every table but sparse ones, by its name in files."""
        width, k = int(self.offsets[-1]), self.n_classes
        shapes: dict[str, tuple[int, ...]] = {"classes": (k,), "singles": (width, k)}
        if self.order >= 2:
            shapes["pairs"] = (width, width, k)
        for anchor, first in self._starts():
            side = width - int(self.offsets[first])
            shapes[f"triples-{anchor}-{first}"] = (side, side, int(self.n_slots[anchor]) * k)
        slots = self.n_slots.tolist()
        for number, family in enumerate(self.families):
            if family not in self.sparse:
                shapes[f"family-{number}"] = (*[slots[i] for i in family], k)
        return shapes

    def _starts(self) -> list[tuple[int, int]]:
        """Anchor and first other column of every table of triples."""
        if self.order == 3:
            return [(s, s + 1) for s in range(self.n_features - 2)]
        return [(s, 0) for s in self.anchors]

    def _take(self, tables: dict[str, np.ndarray]) -> None:
        """Use these tables, of the shapes that the layout says; sparse ones are empty."""
        self._classes, self._singles = tables["classes"], tables["singles"]
        self._pairs = tables.get("pairs")
        self._triples = [(anchor, first, tables[f"triples-{anchor}-{first}"]) for anchor, first in self._starts()]
        self._families: list[np.ndarray | _kernels.SparseTable] = [
            self._empty_sparse(family) if family in self.sparse else tables[f"family-{number}"]
            for number, family in enumerate(self.families)
        ]
        self._handle: _kernels.Store | None = None
        self._rows_left = 0  # that fit into the budget whatever they are; see make_sure_of_room

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the kernels' handle, which is made again when asked for; sparse tables as arrays."""
        families = [table if isinstance(table, np.ndarray) else table.occupied() for table in self._families]
        return self.__dict__ | {"_handle": None, "_families": families}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The kernels write into the tables; such as are mapped from a file read-only (joblib does so) are copied."""
        self.__dict__.update(state)
        sparse: dict[int, Any] = {n: own for n, own in enumerate(self._families) if not isinstance(own, np.ndarray)}
        self._take({name: np.require(cells, requirements=("C", "W")) for name, cells in self._arrays().items()})
        for number, (keys, cells) in sparse.items():
            self._fill_sparse(number, keys, cells)

    def _fill_sparse(self, number: int, keys: np.ndarray, blocks: np.ndarray) -> None:
        """Add the blocks (slots of the child, classes) of some contexts."""
        table = self._families[number]
        assert isinstance(table, _kernels.SparseTable)
        at, child = np.nonzero(blocks.any(axis=2))
        table.add(keys[at], child, np.ascontiguousarray(blocks[at, child]))

    def _sparse_tables(self) -> list[_kernels.SparseTable]:
        return [table for table in self._families if isinstance(table, _kernels.SparseTable)]

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"classes": self._classes, "singles": self._singles}
        if self._pairs is not None:
            arrays["pairs"] = self._pairs
        arrays |= {f"triples-{anchor}-{first}": cells for anchor, first, cells in self._triples}
        dense = {n: cells for n, cells in enumerate(self._families) if isinstance(cells, np.ndarray)}
        return arrays | {f"family-{number}": cells for number, cells in dense.items()}

    @property
    def singles(self) -> np.ndarray:
        """The raw cells of all single columns, slot by slot and class by class."""
        return self._singles

    @property
    def pairs(self) -> np.ndarray:
        """The raw cells of all pairs; refused where only single columns were counted."""
        if self._pairs is None:
            raise SchemaMismatch("these counts hold single columns only. Count pairs with order=2.")
        return self._pairs

    def raw_cells(self) -> dict[str, np.ndarray]:
        """The raw cells of all tables but sparse ones, by their names in files; who writes says so afterwards."""
        return self._arrays()

    def clear(self) -> None:
        """Set all counts to zero; columns, values and classes stay."""
        for cells in self._arrays().values():
            cells.fill(0.0)
        for number, family in enumerate(self.families):
            if family in self.sparse:
                self._families[number], self._handle = self._empty_sparse(family), None
        self.scale, self.version = 1.0, self.version + 1

    def note_raw_cells(self, scale: float, halvings: int) -> None:
        """The raw cells were written anew: counted on elsewhere, with another scale, and halved so often."""
        self.scale, self.halvings, self.version = scale, self.halvings + halvings, self.version + 1

    @property
    def store(self) -> _kernels.Store:
        """The kernels' handle on these arrays."""
        if self._handle is None:
            families = [(list(family), cells) for family, cells in zip(self.families, self._families, strict=True)]
            self._handle = _kernels.Store(
                self.offsets, self.schema.n_values, self._classes, self._singles, self._pairs, self._triples, families
            )
        return self._handle

    def holds(self, order: int = 1, anchors: Sequence[int] = (), families: Sequence[Family] = ()) -> bool:
        """Whether so many columns, and these sets of columns, were counted together.

        Parameters
        ----------
        order : int, default=1
            Columns counted together with the class.
        anchors : sequence of int, default=()
            Places of columns that are counted with all pairs of others.
        families : sequence of Family, default=()
            Sets of columns that are counted together.

        Returns
        -------
        bool
            True or False.
        """
        if self.n_features < 3:  # there are no triples to count
            order, anchors = min(order, 2), ()
        if self.order == 3:
            families, anchors = [family for family in families if len(family) > 3], ()
        held = {frozenset(family) for family in self.families if family not in self.sparse}
        sparse = {(frozenset(family), family[-1]) for family in self.sparse}  # which serve this child alone
        anchored = set(self.anchors)
        missing = any(
            (len(f) != 3 or anchored.isdisjoint(f)) and frozenset(f) not in held and (frozenset(f), f[-1]) not in sparse
            for f in families
        )
        return order <= self.order and anchored.issuperset(anchors) and not missing

    def _held(self) -> tuple[int, set[str], set[frozenset[str]]]:
        """What was counted, by name: order, anchors and families."""
        names = self.schema.names
        families = {frozenset(names[i] for i in family) for family in self.families}
        return self.order, {names[s] for s in self.anchors}, families

    def require(self, name: str, order: int = 1, anchors: Sequence[int] = (), families: Sequence[Family] = ()) -> None:
        """Refuse, for the classifier `name`, where less was counted than it needs."""
        if not self.holds(order, anchors, families):
            width = max([order, 3 if anchors else 1, *(len(family) for family in families)])
            way = f"Count again with order={width}" if width <= 3 else "Count again with its families"
            raise SchemaMismatch(
                f"{name} needs joint counts of {width} columns with the class, these are of order {self.order}. "
                f"{way}, or fit on the rows."
            )

    def _blank(self, schema: Schema, classes: Iterable[object], **changes: Any) -> JointCounts:
        options: dict[str, Any] = {
            "order": self.order,
            "anchors": self.anchors,
            "families": self.families,
            "sparse": self.sparse,
            "spare": self.spare,
        }
        return JointCounts(schema, classes, max_memory=self.max_memory, **(options | changes))

    # --- rows ---------------------------------------------------------------------------------------------------

    def update(
        self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int = 1
    ) -> JointCounts:
        """Add rows. Codes and labels are uint8 or uint16; the largest value of the type marks what is missing.

        A row with a missing label is left out. Columns of kind "codes" grow by themselves.

        Parameters
        ----------
        codes : array of shape (n_rows, n_columns)
            Codes of the values.
        labels : array of shape (n_rows,)
            Codes of the classes.
        weights : array of shape (n_rows,), default=None
            How much each row counts. None: all alike.
        n_jobs : int, default=1
            Threads.

        Returns
        -------
        JointCounts
            These counts.
        """
        self._count(codes, labels, check_weights(weights, len(codes)), 1, n_jobs)
        return self

    def subtract(
        self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int = 1
    ) -> JointCounts:
        """Take rows away again, as if they had never been seen. Rows that were never added are refused.

        Parameters
        ----------
        codes : array of shape (n_rows, n_columns)
            Codes of the values.
        labels : array of shape (n_rows,)
            Codes of the classes.
        weights : array of shape (n_rows,), default=None
            How much each row counts. None: all alike.
        n_jobs : int, default=1
            Threads.

        Returns
        -------
        JointCounts
            These counts.

        Examples
        --------
        >>> import numpy as np
        >>> from tanager import JointCounts
        >>> from tanager.encoding import Column, Schema
        >>> schema = Schema((Column("sky", "categorical", ("sun", "rain")),))
        >>> codes, labels = np.array([[0], [0], [1]], dtype=np.uint8), np.array([0, 1, 1], dtype=np.uint8)
        >>> counts = JointCounts(schema, ["play", "stay"], order=1).update(codes, labels)
        >>> counts.subtract(codes[:1], labels[:1]).joint("sky")
        array([[0., 0.],
               [1., 1.]])
        """
        weights = check_weights(weights, len(codes))
        self._count(codes, labels, weights, -1, n_jobs)
        tables, sparse = list(self._arrays().values()), self._sparse_tables()
        least = -_ROUNDING * self.scale
        if any(table.size and table.min() < least for table in tables) or any(t.least() < least for t in sparse):
            self._count(codes, labels, weights, 1, n_jobs)
            raise DataError("cannot subtract: some of these rows were never added to the counts; nothing was changed.")
        for table in tables:
            _clear_below(table, 1e-9 * self.scale)
        for sparse_table in sparse:
            sparse_table.clear_below(1e-9 * self.scale)
        return self

    # --- room for rows ------------------------------------------------------------------------------------------

    def make_sure_of_room(self, codes: np.ndarray) -> None:
        """Refuse rows, before they are added, with which sparse families would need more than ``max_memory``.

        A row brings at most one new context to each of them, so only now and then are contexts looked at.
        """
        if not self.sparse or self.max_memory is None:
            return
        self._rows_left -= len(codes)
        if self._rows_left >= 0:
            return
        each = {family: self._context_bytes(family) for family in self.sparse}
        now, budget = self.nbytes, as_bytes(self.max_memory)
        self._rows_left = int((budget - now) / sum(each.values())) - len(codes)
        if self._rows_left >= 0:
            return
        self._rows_left = 0
        tables = zip(self.families, self._families, strict=True)
        new = {f: own.n_new(self._contexts(f, codes)) for f, own in tables if isinstance(own, _kernels.SparseTable)}
        check_budget(
            now + sum(each[family] * n for family, n in new.items()),
            self.max_memory,
            f"counting {len(codes):,} more rows, with {sum(new.values()):,} new combinations of parents in "
            f"{len(new):,} families,",
            "Use fewer parents, bins or columns, let old rows go (window=), or raise max_memory.",
        )

    def _context_bytes(self, family: Family) -> int:
        return 8 * int(self.n_slots[family[-1]]) * self.n_classes + 24

    def _contexts(self, family: Family, codes: np.ndarray) -> np.ndarray:
        """The combinations of values of a family's parents in these rows, as a sparse table numbers them."""
        keys = np.zeros(len(codes), dtype=np.int64)
        for i in family[:-1]:
            keys = keys * int(self.n_slots[i]) + np.minimum(codes[:, i], self.n_slots[i] - 1)
        return np.unique(keys)

    def learn_row(self, codes: RowOfCodes, label: int, weight: float = 1.0) -> None:
        """``update`` for one row whose codes are known to fit: the least work there is."""
        if self.sparse:
            self.make_sure_of_room(row_array(codes)[None])
        if not self.store.learn_one(codes, label, weight * self.scale):
            raise DataError("the row has a value or class that these counts do not know. Grow them first.")
        self.version += 1

    def learn_rows(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> None:
        """``update`` for a few rows whose codes are known to fit: the least work per call."""
        self.make_sure_of_room(codes)
        done = self.store.learn(codes, labels, weights, self.scale)
        self.version += 1
        if done < len(codes):
            raise DataError(f"row {done} has a value or class that these counts do not know. Grow them first.")

    def forget_row(self, codes: np.ndarray, label: int, raw: float) -> None:
        """Take one row out again: the least work there is. See ``forget_rows``."""
        if not self.store.forget_one(codes, label, raw):
            raise DataError("the row has a value or class that these counts do not know: it was never added.")
        self.version += 1

    def forget_rows(self, codes: np.ndarray, labels: np.ndarray, raw: np.ndarray) -> None:
        """Take rows out again by ``raw``, the weight of each times the scale when it was added.

        Unlike ``subtract`` this looks at no other cells; so rows that were never added are not noticed, and no cell
        falls below zero.
        """
        done = self.store.forget(codes, labels, raw)
        self.version += 1
        if done < len(codes):
            raise DataError(f"row {done} has a value or class that these counts do not know: it was never added.")

    def take_scale(self, other: JointCounts) -> None:
        """Count with the scale of other counts from the first row on: kept rows have their weights times it."""
        self.scale, self.halvings, self.version = other.scale, other.halvings, other.version

    def raw_now(self, raw: np.ndarray, halvings: int) -> np.ndarray:
        """Raw weights that were right when ``self.halvings`` was this, as they are now."""
        return raw if halvings == self.halvings else np.ldexp(raw, halvings - self.halvings)

    def _count(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, sign: int, n_jobs: int) -> None:
        if codes.dtype == np.uint8 and self.schema.n_values.max(initial=0) > 255:
            codes = widened(codes)  # in which 255 is a value, and no longer marks what is missing
        if sign > 0:
            self.make_sure_of_room(codes)
        if self.scale != 1.0:
            weights = np.full(len(codes), self.scale) if weights is None else weights * self.scale
        needed = self.store.count(codes, labels, weights, sign=sign, n_jobs=n_jobs)
        self.version += 1
        if needed is None:
            return
        if sign < 0:
            raise DataError("cannot subtract: some of these rows have values that were never counted.")
        self._grow_codes(needed)
        self._count(
            codes, labels, weights if self.scale == 1.0 or weights is None else weights / self.scale, sign, n_jobs
        )

    def _grow_codes(self, needed: np.ndarray) -> None:
        """Make room in columns of kind "codes"; all other columns have their values from an encoder."""
        if needed[-1] > self.n_classes:
            raise DataError(f"label code {needed[-1] - 1} is none of the {self.n_classes} classes.")
        columns = list(self.schema.columns)
        for i, (column, size) in enumerate(zip(columns, needed[:-1], strict=True)):
            if size <= column.n_values:
                continue
            if column.kind != "codes":
                raise DataError(f"column {column.name!r}: code {size - 1} is none of its {column.n_values} values.")
            columns[i] = replace(column, n_codes=int(size))
        self.grow(self.schema.with_all(columns), self.classes)

    def refuse_full_codes(self, codes: np.ndarray) -> None:
        """Refuse code arrays that use every value of their type, so that none is left to mark what is missing."""
        missing = np.asarray(self._singles[self.offsets[1:] - 1].any(axis=1))
        refuse_full_codes(codes, self.schema.names, self.schema.n_values, missing)

    # --- the algebra --------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> float:
        """Total weight of the rows counted."""
        if len(self._classes) < _FEW_CLASSES:  # a stream asks at every row, and NumPy takes longer to begin
            return float(sum(self._classes.tolist()) / self.scale)
        return float(self._classes.sum() / self.scale)

    @property
    def class_counts(self) -> np.ndarray:
        """N(y), one number per class."""
        return self._classes / self.scale

    def column(self, name: str | int) -> int:
        """The position of a column that is given by its name, or by its position.

        Parameters
        ----------
        name : str or int
            A name, or a place.

        Returns
        -------
        int
            Its place, from 0.
        """
        return place_of(self.schema, name)

    def joint(self, *columns: str | int) -> np.ndarray:
        """N(y, columns...): the class first, then one axis per column, missing cells left out.

        Parameters
        ----------
        *columns : str or int
            Names or places of columns.

        Returns
        -------
        array of shape (n_classes, n_values, ...)
            Sums of weights.

        Examples
        --------
        >>> from tanager import AODE
        >>> X = {"sky": ["sun", "sun", "rain"], "wind": ["weak", "weak", "strong"]}
        >>> counts = AODE().fit(X, ["play", "stay", "stay"]).counts_
        >>> counts.joint("sky")  # rows are play and stay, columns sun and rain
        array([[1., 0.],
               [1., 1.]])
        >>> counts.joint("sky", "wind").shape
        (2, 2, 2)
        """
        places = [self.column(name) for name in columns]
        inner = tuple(slice(0, int(self.schema.n_values[i])) for i in places)
        return np.moveaxis(self._table(places)[inner], -1, 0) / self.scale

    def _table(self, places: Sequence[int]) -> np.ndarray:
        """The raw cells of some columns, a view: one axis of all slots per column, then the class."""
        span = [slice(int(self.offsets[i]), int(self.offsets[i + 1])) for i in places]
        if len(places) == 0:
            return self._classes
        if len(places) == 1:
            return self._singles[span[0]]
        if len(places) == 2 and self._pairs is not None:
            return self._pairs[span[0], span[1]]
        for entry in self._triples if len(places) == 3 else ():
            others = [i for i in places if i != entry[0]]
            if len(others) == 2 and min(others) >= entry[1]:
                axes = [places.index(i) for i in (*others, entry[0])]
                return np.moveaxis(self._triple(entry, *others), [0, 1, 2], axes)
        for family, cells in zip(self.families, self._families, strict=True):
            if len(family) == len(places) and set(family) == set(places):
                table = cells if isinstance(cells, np.ndarray) else self._dense(family, cells)
                return np.moveaxis(table, range(len(family)), [places.index(i) for i in family])
        names = ", ".join(repr(self.schema.names[i]) for i in places)
        raise SchemaMismatch(
            f"these counts of order {self.order} do not hold the joint counts of {names}. "
            "Count with order=3, or register the family."
        )

    def _dense(self, family: Family, table: _kernels.SparseTable) -> np.ndarray:
        """All cells of a sparse table, a copy; refused where that needs more than the budget."""
        shape = (*self._parent_slots(family), int(self.n_slots[family[-1]]), self.n_classes)
        names = ", ".join(repr(self.schema.names[i]) for i in family)
        way_out = "Answers do not need it; use fewer parents or bins, or raise max_memory."
        check_budget(8.0 * math.prod(shape), self.max_memory or "16 GB", f"a table of all values of {names}", way_out)
        cells = np.zeros((math.prod(shape[:-2]), *shape[-2:]))
        keys, blocks = table.occupied()
        cells[keys] = blocks
        return cells.reshape(shape)

    def _occupied(self, places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The cells of some columns that are not zero: slots, a column for each, and counts by class."""
        for family, table in zip(self.families, self._families, strict=True):
            if isinstance(table, _kernels.SparseTable) and len(family) == len(places) and set(family) == set(places):
                keys, blocks = table.occupied()
                at, child = np.nonzero(blocks.any(axis=2))
                parents = np.array(np.unravel_index(keys[at], self._parent_slots(family))).reshape(
                    len(family) - 1, len(at)
                )
                slots = np.vstack([parents, child]).T
                return slots[:, [family.index(i) for i in places]], blocks[at, child]
        cells = self._table(places)
        slots = np.argwhere(cells.any(axis=-1))
        return slots, cells[tuple(slots.T)].reshape(len(slots), self.n_classes)

    def decay(self, factor: float) -> JointCounts:
        """Multiply all counts by a factor in (0, 1]. This takes no time: new rows get larger weights instead.

        Parameters
        ----------
        factor : float
            What is left of the counts.

        Returns
        -------
        JointCounts
            These counts.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X = {"sky": ["sun", "sun", "rain"], "wind": ["weak", "weak", "strong"]}
        >>> counts = NaiveBayes().fit(X, ["play", "stay", "stay"]).counts_
        >>> counts.decay(0.5).joint("sky")
        array([[0.5, 0. ],
               [0.5, 0.5]])
        """
        if not 0 < factor <= 1:
            raise OptionError(f"decay({factor!r}): the factor must be above 0 and at most 1.")
        (size, power), (factor_size, factor_power) = math.frexp(self.scale), math.frexp(factor)
        if power - factor_power > _MOST_BITS:
            self.store.halve(power - factor_power)
            self.halvings += power - factor_power
            self.scale = size / factor_size
        else:
            self.scale /= factor
        self.version += 1
        return self

    def decay_classes(self, factors: Sequence[float] | np.ndarray) -> JointCounts:
        """Multiply the counts of each class by a factor of its own in (0, 1]. This takes time, as all counts change.

        Parameters
        ----------
        factors : sequence of float or array
            What is left of the counts of each class.

        Returns
        -------
        JointCounts
            These counts.
        """
        factors = np.asarray(factors, dtype=float)
        if factors.shape != (self.n_classes,):
            raise OptionError(
                f"decay_classes: there are {self.n_classes} classes, and {factors.size} factors were given."
            )
        if not ((factors > 0) & (factors <= 1)).all():
            raise OptionError("decay_classes: every factor must be above 0 and at most 1.")
        for table in self._arrays().values():
            cells = table.reshape(-1, self.n_classes)  # the class is innermost in all of them
            cells *= factors
        for sparse_table in self._sparse_tables():
            sparse_table.weigh_classes(factors.tolist())
        self.version += 1
        return self

    def grow(self, schema: Schema, classes: Iterable[object], room_for: Schema | None = None) -> JointCounts:
        """Make room for more values and classes: ``schema`` and ``classes`` have all that are counted now, and more.

        Parameters
        ----------
        schema : Schema
            The columns with all their values.
        classes : iterable of object
            All classes.
        room_for : Schema, default=None
            The same columns with values that are about to come: where cells have to move, these get slots.

        Returns
        -------
        JointCounts
            These counts.
        """
        classes = as_label_array(classes)
        same_classes = len(classes) == self.n_classes
        wanted = schema.n_values + self.spare
        if same_classes and (wanted <= self.n_slots - 1).all() and extends(schema, self.schema):
            self.schema, self._handle, self.version = schema, None, self.version + 1
            return self
        new = self._blank(schema, classes)
        new._allocate(self._capacity(wanted, len(classes), room_for))
        if not self.sparse and np.array_equal(new.n_slots, self.n_slots) and extends(schema, self.schema):
            new._copy_classes(self)
        elif (
            same_classes
            and not self.families
            and not self._triples
            and (new.n_slots >= self.n_slots).all()  # where memory is short, spare slots are given up
            and extends(schema, self.schema)
        ):
            new._copy_slots(self)
        else:
            new._absorb(self, list(range(self.n_features)), 1.0)
        new.scale, new.halvings, new.version = self.scale, self.halvings, self.version + 1
        self.__dict__.update(new.__dict__)
        return self

    def _capacity(self, wanted: np.ndarray, n_classes: int, room_for: Schema | None) -> np.ndarray:
        """Slots where cells have to move: some to spare in columns that grow, so that a growing vocabulary costs a move
        only now and then; as many as memory allows.
        """
        known = self.n_slots - 1
        most = min(2 * self.nbytes + 2**24, as_bytes(self.max_memory))
        for growth in _GROWTH if self.n_rows else ():
            spacious = np.ceil(growth * known).astype(np.int64)
            capacity = np.where(wanted > known, np.maximum(wanted, spacious), known)
            if room_for is not None:
                coming = room_for.n_values + self.spare
                capacity = np.maximum(capacity, coming if growth == _GROWTH[0] else np.minimum(coming, spacious))
            if self.estimate_bytes(capacity, n_classes, self.order, self.anchors, self._dense_families()) <= most:
                return capacity
        return wanted

    def move_cuts(
        self, schema: Schema, shares: Mapping[int, np.ndarray], *, memory: SpareMemory | None = None
    ) -> JointCounts:
        """Count by other cut points: what a bin holds goes to its parts by their shares, and bins may become one.

        Where rows are gone, nobody knows in which part of a bin they were. A guess spreads those of a class over the
        parts as other rows of the class are spread.

        Parameters
        ----------
        schema : Schema
            The same columns, some of them with other cut points.
        shares : dict of int to array
            For each of these columns, by its place: for every interval between neighbouring cut points, old and new
            ones taken together, the share that it gets of the old bin that it is in, class by class: (intervals,
            classes). Those of one bin add up to 1.
        memory : SpareMemory, default=None
            What pairs are made of, in place of new memory. Of these, the lower triangle alone is there then.

        Returns
        -------
        JointCounts
            These counts.

        Examples
        --------
        >>> from tanager.encoding.schema import Column, Schema
        >>> before, after = (Schema((Column("age", "numeric", cuts=cuts),)) for cuts in ((10.0, 20.0), (10.0, 30.0)))
        >>> counts = JointCounts(before, ["no", "yes"])
        >>> codes, labels = np.array([[0], [1], [2], [2]], dtype=np.uint8), np.array([0, 0, 1, 1], dtype=np.uint8)
        >>> shares = np.array([[1, 1], [1, 1], [0.5, 0.25], [0.5, 0.75]])
        >>> counts.update(codes, labels).move_cuts(after, {0: shares}).joint("age")
        array([[1. , 1. , 0. ],
               [0. , 0.5, 1.5]])
        """
        if self.order > 2 or self._triples or self.families:
            raise SchemaMismatch("cut points can move where single columns and pairs are counted, and no more.")
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, schema=schema, version=self.version + 1)
        changed = np.array([a.cuts != b.cuts for a, b in zip(schema.columns, self.schema.columns, strict=True)])
        new._lay_out(np.where(changed, schema.n_values + self.spare, self.n_slots - 1))
        shapes, pairs = new._shapes(), self._pairs
        tables = _zeros({name: shape for name, shape in shapes.items() if memory is None or name != "pairs"})
        if memory is not None and pairs is not None:
            tables["pairs"] = memory.table(shapes["pairs"])
        new._take(tables)
        new._classes[:] = self._classes
        _kernels.move_cuts(self.store, *_parts(self, new, shares), new.store)
        if pairs is not None and memory is None:
            _kernels.mirror_pairs(new.store)
        self.__dict__.update(new.__dict__)
        return self

    def lay_out_like(self, other: JointCounts, schema: Schema) -> None:
        """Have the columns of a schema, and slots as other counts have them; all cells are to be written then."""
        self.schema, self.n_slots, self.offsets = schema, other.n_slots, other.offsets
        if any(
            cells.shape != shape for cells, shape in zip(self._arrays().values(), self._shapes().values(), strict=True)
        ):
            self._take({name: np.empty(shape) for name, shape in self._shapes().items()})
        self._handle = None

    def reserve(self, n_slots: np.ndarray) -> None:
        """Give counts that are still empty the slots that counts over the same columns had."""
        if (n_slots > self.n_slots).any():
            self._allocate(np.maximum(n_slots, self.n_slots) - 1)

    def _copy_slots(self, other: JointCounts) -> None:
        """Take the cells of counts of the same columns and classes with fewer slots, all of them at once."""
        column = np.repeat(np.arange(len(other.n_slots)), other.n_slots)
        slot = np.arange(len(column)) - other.offsets[column]
        missing = slot == other.n_slots[column] - 1
        places = self.offsets[column] + np.where(missing, self.n_slots[column] - 1, slot)
        self._classes[:] = other._classes
        self._singles[places] = other._singles
        if self._pairs is not None:
            self._pairs[np.ix_(places, places)] = other.pairs

    def _copy_classes(self, other: JointCounts) -> None:
        """Take the cells of counts with the same slots, and some of our classes, into empty ones."""
        if not other.n_classes:
            return
        places = class_map(other.classes, self.classes)
        ends = [*(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
        for name, cells in self._arrays().items():
            mine, theirs = cells.reshape(-1, self.n_classes), other._arrays()[name].reshape(-1, other.n_classes)
            begin = 0
            for end in ends:  # classes that stay neighbours go together: whole runs of cells, no look-up of each
                first = int(places[begin])
                mine[:, first : first + end - begin] = theirs[:, begin:end]
                begin = end

    def merge(self, other: JointCounts) -> JointCounts:
        """Add other counts to these. Values are matched, and new ones taken in; cut points must agree.

        Parameters
        ----------
        other : JointCounts
            Counts over the same columns.

        Returns
        -------
        JointCounts
            These counts.

        Raises
        ------
        SchemaMismatch
            Where columns or cut points differ.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X = {"sky": ["sun", "sun", "rain"], "wind": ["weak", "weak", "strong"]}
        >>> counts = NaiveBayes().fit(X, ["play", "stay", "stay"]).counts_
        >>> more = NaiveBayes().fit({"sky": ["snow"], "wind": ["weak"]}, ["stay"]).counts_
        >>> counts.merge(more).n_rows, counts.schema["sky"].values
        (4.0, ('sun', 'rain', 'snow'))
        """
        if self._same_layout(other):
            factor = self.scale / other.scale
            for mine, theirs in zip(self._arrays().values(), other._arrays().values(), strict=True):
                mine += theirs if factor == 1.0 else theirs * factor
            self.version += 1
            return self
        places = self.places_of(other)
        columns = tuple(
            union_column(mine, other.schema.columns[i]) for mine, i in zip(self.schema.columns, places, strict=True)
        )
        if self._held() != other._held():
            raise SchemaMismatch(
                f"cannot merge counts of order {self.order} with counts of order {other.order} "
                "or with other families. Count both parts alike, or project to what they share."
            )
        self.grow(self.schema.with_all(columns), union_labels(self.classes, other.classes))
        self._absorb(other, places, self.scale / other.scale)
        self.version += 1
        return self

    def take_away(self, other: JointCounts) -> JointCounts:
        """Take away counts of some of the rows, which have the same layout; that they were added is not checked.

        Parameters
        ----------
        other : JointCounts
            Counts of rows that are in these, over the same columns and classes.

        Returns
        -------
        JointCounts
            These counts.
        """
        assert self._same_layout(other)
        for mine, theirs in zip(self._arrays().values(), other._arrays().values(), strict=True):
            mine -= theirs
        self.version += 1
        return self

    def _same_layout(self, other: JointCounts) -> bool:
        """Whether every cell of ours means the same as the cell of theirs in the same place, and no table is sparse."""
        shapes = ((own.order, own.anchors, own.families, own.n_slots.tolist()) for own in (self, other))
        return (
            not self.sparse
            and not other.sparse
            and len({repr(shape) for shape in shapes}) == 1
            and self.schema == other.schema
            and self.classes.tolist() == other.classes.tolist()
        )

    def __add__(self, other: JointCounts) -> JointCounts:
        return self.copy().merge(other)

    def copy(self) -> JointCounts:
        """An independent copy.

        Returns
        -------
        JointCounts
            The copy.
        """
        new = self.blank()
        theirs = new._arrays()
        for name, cells in self._arrays().items():
            theirs[name][...] = cells
        for number, table in enumerate(self._families):
            if isinstance(table, _kernels.SparseTable):
                new._fill_sparse(number, *table.occupied())
        new.scale, new.halvings, new.version = self.scale, self.halvings, self.version
        return new

    def with_modes(self) -> tuple[JointCounts, np.ndarray]:
        """The counts of the same rows with the most frequent value in place of every missing one; and these values.

        Of single columns and pairs. A column without values keeps its gaps, and has no value to be filled with (-1).
        """
        if self.order > 2 or self.anchors or self.families:
            raise SchemaMismatch("missing values are filled in counts of single columns and of pairs alone.")
        filled, modes = self.copy(), np.full(self.n_features, -1)
        for i in range(self.n_features):
            seen = self.joint(i).sum(axis=0)
            if len(seen) == 0:
                continue
            modes[i] = int(np.argmax(seen))
            gap, mode = int(filled.offsets[i + 1]) - 1, int(filled.offsets[i] + modes[i])
            tables = [filled._singles]
            if filled._pairs is not None:
                tables += [filled._pairs, filled._pairs.swapaxes(0, 1)]
            for table in tables:
                table[mode] += table[gap]
                table[gap] = 0.0
        return filled, modes

    def project(self, columns: Sequence[str | int], order: int | None = None) -> JointCounts:
        """Counts of some of the columns, in the order given; all others are summed out.

        Parameters
        ----------
        columns : sequence of str or int
            Names or places of columns.
        order : int, default=None
            Columns counted together with the class. None: as many as here.

        Returns
        -------
        JointCounts
            New counts.

        Examples
        --------
        >>> from tanager import AODE
        >>> X = {"sky": ["sun", "sun", "rain"], "wind": ["weak", "weak", "strong"]}
        >>> counts = AODE().fit(X, ["play", "stay", "stay"]).counts_
        >>> counts.project(["wind"]).schema.names
        ('wind',)
        """
        places = [self.column(name) for name in columns]
        whole = places == list(range(self.n_features))  # a copy, for tables as before
        order = self.order if order is None else order
        if order > self.order:
            raise OptionError(f"counts of order {self.order} cannot be projected to order {order}.")
        back = {old: new for new, old in enumerate(places)}
        new = self._blank(
            self.schema if whole else Schema(tuple(self.schema.columns[i] for i in places)),
            self.classes,
            order=order,
            anchors=tuple(back[s] for s in self.anchors if s in back and order > 1),
            families=tuple(tuple(back[i] for i in f) for f in self.families if set(f) <= set(places)),
            sparse=tuple(tuple(back[i] for i in f) for f in self.sparse if set(f) <= set(places)),
        )
        new._absorb(self, places, 1.0)
        new.scale, new.halvings, new.version = self.scale, self.halvings, self.version
        return new

    def narrowed(self, order: int, families: Sequence[Family]) -> JointCounts:
        """The same counts with fewer sets of columns: of a lower order, with families that are counted already."""
        sets = {frozenset(family) for family in self.sparse}
        sparse = [family for family in families if frozenset(family) in sets]
        new = self._blank(self.schema, self.classes, order=order, anchors=(), families=families, sparse=sparse)
        new._absorb(self, range(self.n_features), 1.0)
        new.scale, new.halvings, new.version = self.scale, self.halvings, self.version + 1
        return new

    def only_pairs(self) -> JointCounts:
        """These counts without what is wider than pairs. They share their tables, so change neither."""
        new = JointCounts.__new__(JointCounts)
        new.__dict__ |= self.__dict__
        new.order, new.anchors, new.families, new.sparse = min(self.order, 2), (), (), frozenset()
        new._triples, new._families = [], []
        new._handle, new._rows_left, new.version = None, 0, self.version + 1
        return new

    def may_take_families(self, order: int, anchors: Sequence[int]) -> bool:
        """Whether counts of this order with further families need nothing else that is not here."""
        no_room = np.array_equal(self.n_slots, self.schema.n_values + self.spare + 1)  # for other values than families
        return no_room and self.order == order and self.anchors == tuple(anchors)

    def only_families(
        self, families: Sequence[Family], sparse: Sequence[Family], max_memory: int | float | str | None
    ) -> JointCounts:
        """Counts of the same columns and classes, nothing counted yet, that hold families beside single columns."""
        new = JointCounts.__new__(JointCounts)
        shape = {"order": 1, "anchors": (), "families": tuple(families), "sparse": frozenset(sparse)}
        new.__dict__.update(self.__dict__, max_memory=max_memory, **shape)
        shapes = new._shapes()
        needed = 8 * sum(map(math.prod, shapes.values()))
        if needed > as_bytes(max_memory):
            check_budget(needed, max_memory, *new._too_much(needed, self.n_slots - 1))
        new._take(_zeros(shapes))
        return new

    def with_families_of(self, other: JointCounts) -> JointCounts:
        """These counts with the families of others of the same rows. They share their tables, so use neither again."""
        new = JointCounts.__new__(JointCounts)
        new.__dict__ |= self.__dict__
        new.families, new.sparse, new._families = other.families, other.sparse, other._families
        new._handle, new._rows_left, new.version = None, 0, self.version + 1
        return new

    def places_of(self, other: JointCounts) -> list[int]:
        """For each of our columns its position in `other`."""
        if set(self.schema.names) != set(other.schema.names):
            odd = sorted(set(self.schema.names) ^ set(other.schema.names))
            gone = {column.name for schema in (self.schema, other.schema) for column in schema.left_out}
            why = f" The other leaves it out: learn both with keep=[{odd[0]!r}]." if odd[0] in gone else ""
            raise SchemaMismatch(f"cannot merge counts over different columns: {odd[0]!r} is in one of them only.{why}")
        return [other.schema.names.index(name) for name in self.schema.names]

    def add_columns(self, schema: Schema, **shape: Any) -> JointCounts:
        """Move to a schema with further columns at the end; all rows counted so far have them missing.

        Wider counts (a higher ``order``, ``anchors``, ``families``) can begin with the new columns only.

        Parameters
        ----------
        schema : Schema
            The columns, with further ones at the end.
        **shape : object
            Order, anchors and families from now on.

        Returns
        -------
        JointCounts
            These counts.
        """
        new = self._blank(schema, self.classes, **shape)
        places: list[int | None] = [*range(self.n_features), *[None] * (len(schema.columns) - self.n_features)]
        new._absorb(self, places, 1.0)
        new.scale, new.halvings, new.version = self.scale, self.halvings, self.version + 1
        self.__dict__.update(new.__dict__)
        return self

    def _absorb(self, other: JointCounts, places: Sequence[int | None], factor: float) -> None:
        """Add the cells of `other` times a factor. Our column i is its column places[i]; values are matched.

        A column that `other` does not have (None) was missing in all its rows.
        """
        to_class = class_map(other.classes, self.classes)
        there = {i: place for i, place in enumerate(places) if place is not None}
        ours, theirs = [], []  # slots within a column that belong together; missing last
        for i, place in enumerate(places):
            known = np.arange(0) if place is None else value_map(other.schema.columns[place], self.schema.columns[i])
            ours.append(np.append(known, self.n_slots[i] - 1))
            theirs.append(np.append(np.arange(len(known)), 0 if place is None else other.n_slots[place] - 1))

        def add(mine: np.ndarray, columns: Sequence[int]) -> None:
            shared = [i for i in columns if i in there]
            source = other._table([there[i] for i in shared])
            cells = source[np.ix_(*(theirs[i] for i in shared))] if shared else source
            shape = [len(theirs[i]) if i in shared else 1 for i in columns]
            cells = cells.reshape(*shape, len(to_class)) * factor
            np.add.at(mine, np.ix_(*(ours[i] for i in columns), to_class), cells)

        self._classes[to_class] += other._classes * factor
        rows = np.concatenate([self.offsets[i] + ours[i] for i in there] or [np.arange(0)])
        source = np.concatenate([other.offsets[at] + theirs[i] for i, at in there.items()] or [np.arange(0)])

        def add_all(mine: np.ndarray, at: tuple[np.ndarray, ...], cells: np.ndarray) -> None:
            if len(np.unique(rows)) == len(rows):
                mine[at] += cells
            else:  # values beyond a cap fall together
                np.add.at(mine, at, cells)

        # Where the classes stay the same, whole lines of them are found by one look-up.
        same = len(to_class) == self.n_classes and (to_class == np.arange(self.n_classes)).all()
        classes = () if same else (to_class,)
        add_all(self._singles, np.ix_(rows, *classes), other._singles[source] * factor)
        for i in range(self.n_features):
            if i not in there:
                add(self._table([i]), [i])
        if self._pairs is not None:
            cells = other.pairs[np.ix_(source, source)]
            add_all(self._pairs, np.ix_(rows, rows, *classes), cells if factor == 1.0 else cells * factor)
            for i, j in permutations(range(self.n_features), 2):
                if places[i] is None or places[j] is None:
                    add(self._table([i, j]), [i, j])
        if not self._absorb_triples(other, places, ours, theirs, to_class, factor):
            for entry in self._triples:
                anchor, first, _ = entry
                others = [i for i in range(first, self.n_features) if i != anchor]
                for j, m in permutations(others, 2):
                    add(self._triple(entry, j, m), [j, m, anchor])
        for family, table in zip(self.families, self._families, strict=True):
            if isinstance(table, np.ndarray):
                add(table, family)
                continue
            shared = [i for i in family if i in there]
            slots, cells = other._occupied([there[i] for i in shared])
            found = {i: np.full(len(slots), self.n_slots[i] - 1) for i in family}
            for at, i in enumerate(shared):
                to = np.full(int(other.n_slots[there[i]]), -1)
                to[theirs[i]] = ours[i]
                found[i] = to[slots[:, at]]
            own = np.zeros((len(slots), self.n_classes))
            own[:, to_class] = cells * factor
            keys = np.zeros(len(slots), dtype=np.int64)
            for i in family[:-1]:
                keys = keys * int(self.n_slots[i]) + found[i]
            table.add(keys, found[family[-1]], own)

    def _absorb_triples(
        self,
        other: JointCounts,
        places: Sequence[int | None],
        ours: list[np.ndarray],
        theirs: list[np.ndarray],
        to_class: np.ndarray,
        factor: float,
    ) -> bool:
        """Add the triples of `other`, anchor by anchor, where it has the same columns in the same order.

        False where it has not, or where values fall together: pair by pair is slower, and does for all.
        """
        same = list(places) == list(range(other.n_features)) and self._starts() == other._starts()
        if not same or any(len(np.unique(own)) < len(own) for own in ours):
            return False
        for (anchor, first, mine), (_, _, cells) in zip(self._triples, other._triples, strict=True):
            columns = range(first, self.n_features)
            to, source = (
                np.concatenate([counts.offsets[i] - counts.offsets[first] + slots[i] for i in columns])
                for counts, slots in ((self, ours), (other, theirs))
            )
            n, k = int(other.n_slots[anchor]), other.n_classes
            found = cells.reshape(*cells.shape[:2], n, k)[np.ix_(source, source, theirs[anchor])]
            inside = mine.reshape(*mine.shape[:2], int(self.n_slots[anchor]), self.n_classes)
            inside[np.ix_(to, to, ours[anchor], to_class)] += found if factor == 1.0 else found * factor
        return True

    def _triple(self, entry: tuple[int, int, np.ndarray], j: int, m: int) -> np.ndarray:
        """The cells of columns j, m and the entry's anchor, a view."""
        anchor, first, cells = entry
        start = self.offsets[first]
        block = cells[
            self.offsets[j] - start : self.offsets[j + 1] - start, self.offsets[m] - start : self.offsets[m + 1] - start
        ]
        return block.reshape(*block.shape[:2], int(self.n_slots[anchor]), self.n_classes)

    def __eq__(self, other: object) -> bool:
        """Same columns, values, classes and counts; the order of columns, values and classes does not matter.

        Whole counts must agree exactly, weighted and faded ones up to rounding.
        """
        if not isinstance(other, JointCounts):
            return NotImplemented
        if self._held() != other._held():
            return False
        if set(self.schema.names) != set(other.schema.names) or set(self.classes.tolist()) != set(
            other.classes.tolist()
        ):
            return False
        places = self.places_of(other)
        for mine, place in zip(self.schema.columns, places, strict=True):
            theirs = other.schema.columns[place]
            if (mine.kind, mine.cuts, mine.n_values, set(mine.values)) != (
                theirs.kind,
                theirs.cuts,
                theirs.n_values,
                set(theirs.values),
            ):
                return False
        aligned = self._blank(self.schema, self.classes)
        aligned._allocate(self.n_slots - 1)
        aligned._absorb(other, places, self.scale / other.scale)
        pairs = [*zip(self._arrays().values(), aligned._arrays().values(), strict=True)]
        for own, others in zip(self._sparse_tables(), aligned._sparse_tables(), strict=True):
            (keys, cells), (other_keys, other_cells) = own.occupied(), others.occupied()
            if not np.array_equal(keys, other_keys):
                return False
            pairs.append((cells, other_cells))
        faded = self.scale != 1.0 or other.scale != 1.0
        return all(
            np.array_equal(a, b)
            or ((faded or not (_whole(a) and _whole(b))) and np.allclose(a, b, rtol=1e-9, atol=1e-9 * self.scale))
            for a, b in pairs
        )

    def __repr__(self) -> str:
        return (
            f"JointCounts(order {self.order}: {self.n_rows:g} rows, {self.n_features} columns, "
            f"{self.n_classes} classes, {readable(self.nbytes)})"
        )

    def _repr_html_(self) -> str:
        return counts_html(self)

    # --- files --------------------------------------------------------------------------------------------------

    def to_header(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain data and arrays that say all; see ``from_header``."""
        header = {
            "schema": self.schema.to_dict(),
            "order": self.order,
            "anchors": list(self.anchors),
            "families": [list(family) for family in self.families],
            "spare": self.spare,
            "max_memory": self.max_memory,
            "scale": self.scale,
            "classes": labels_to_plain(self.classes),
        }
        arrays = {_SLOTS_IN_FILES: self.n_slots, **self._arrays()}
        if self.sparse:
            header["sparse"] = [list(family) for family in sorted(self.sparse)]
        for number, table in enumerate(self._families):
            if isinstance(table, _kernels.SparseTable):
                arrays[f"family-{number}-contexts"], arrays[f"family-{number}"] = table.occupied()
        return header, arrays

    @classmethod
    def from_header(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> JointCounts:
        """The counts that ``to_header`` described; nothing is allocated before all shapes are checked."""
        new = cls.__new__(cls)
        new.schema = Schema.from_dict(header["schema"])
        new.classes = labels_from_plain(header["classes"])
        layout = saved.read("counts", {"sparse": []} | header, _layout(len(new.schema)))
        new.order, new.spare, new.scale, new.anchors, new.families, sparse, new.max_memory = layout.values()
        new.sparse, new.halvings, new.version = frozenset(sparse), 0, 0
        as_bytes(new.max_memory)  # refuses what is no size
        slots = saved.array("i8", len(new.schema), least=1, most=2**24 - 1)
        new.n_slots = saved.field("counts", arrays, _SLOTS_IN_FILES, slots)
        new._check_layout()
        new.offsets = np.concatenate([[0], np.cumsum(new.n_slots)]).astype(np.int64)
        tables: dict[str, np.ndarray] = {}
        for name, shape in new._shapes().items():
            tables[name] = saved.field("counts", arrays, name, new._cells_in_files(*shape))
        new._take(tables)
        new._check_sums()
        for number, family in enumerate(new.families):
            if family in new.sparse:
                new._fill_sparse(number, *new._read_sparse(f"family-{number}", family, arrays))
        return new

    def _read_sparse(self, name: str, family: Family, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Contexts and blocks of a sparse table in a file; refused where they do not fit."""
        contexts = saved.array("i8", None, least=0, most=math.prod(self._parent_slots(family)) - 1)
        keys = saved.field("counts", arrays, f"{name}-contexts", contexts)
        if not np.all(np.diff(keys) > 0):
            raise ModelFileError(f"its table {name!r} has contexts twice")
        blocks = self._cells_in_files(len(keys), int(self.n_slots[family[-1]]), self.n_classes)
        return keys, saved.field("counts", arrays, name, blocks)

    def _cells_in_files(self, *shape: int) -> saved.Kind:
        least, most = -_ROUNDING * self.scale, saved.LARGEST * self.scale
        return saved.array("f8", *shape, least=least, most=most)

    def _check_sums(self) -> None:
        """Refuse tables that are not of the same rows: the cells of every column sum to all of them."""
        off = _ROUNDING * (self.scale + float(np.abs(self._classes).sum()))
        starts = self.offsets[:-1]
        sound = np.abs(np.add.reduceat(self._singles, starts) - self._classes).max(initial=0.0) <= off
        if sound and self._pairs is not None:
            wrong = np.abs(np.add.reduceat(self._pairs, starts, axis=1) - self._singles[:, None, :])
            wrong[np.arange(len(wrong)), np.repeat(np.arange(len(starts)), self.n_slots)] = 0.0  # no pair with itself
            sound = wrong.max(initial=0.0) <= off
        if not sound:
            raise ModelFileError("its tables do not count the same rows")

    def _check_layout(self) -> None:
        """Refuse a header whose parts do not belong together."""
        if not (self.n_slots > self.schema.n_values + self.spare).all():
            raise ModelFileError("its columns have fewer slots than values")
        if not self.sparse <= {*self.families}:
            raise ModelFileError("its counts say of a family that it is sparse, and do not have it")

    def to_bytes(self) -> bytes:
        """These counts as bytes, with a checksum; ``from_bytes`` reads them back.

        Returns
        -------
        bytes
            The bytes.

        Examples
        --------
        >>> from tanager import NaiveBayes
        >>> X = {"sky": ["sun", "sun", "rain"], "wind": ["weak", "weak", "strong"]}
        >>> counts = NaiveBayes().fit(X, ["play", "stay", "stay"]).counts_
        >>> from tanager import JointCounts
        >>> JointCounts.from_bytes(counts.to_bytes()) == counts
        True
        """
        header, arrays = self.to_header()
        return archive.pack({"kind": "counts", "counts": header}, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> JointCounts:
        """Counts from bytes; damaged or foreign bytes get one clear sentence.

        Parameters
        ----------
        data : bytes
            What ``to_bytes`` gave.

        Returns
        -------
        JointCounts
            The counts.

        Raises
        ------
        ModelFileError
            Where the bytes are damaged, or no counts.
        """
        header, arrays = archive.unpack(data, "the data")
        if header.get("kind") != "counts":
            raise ModelFileError(f"the data hold a {header.get('kind')}, not counts.")
        with archive.reading("the data"):
            return cls.from_header(header["counts"], arrays)


class SpareMemory:
    """What a table is made of that grows again and again: to get new memory takes longer than to write it.

    The table before the present one is read while this is written, and is done with when the next one is asked for.
    """

    def __init__(self) -> None:
        self._cells, self._before = np.empty(0), np.empty(0)

    def table(self, shape: tuple[int, ...]) -> np.ndarray:
        """The next table; its cells hold anything."""
        size = math.prod(shape)
        cells = self._before if self._before.size >= size else np.empty(size + size // 2)
        self._before = self._cells if cells.nbytes <= MOST_SPARE else np.empty(0)
        self._cells = cells
        return cells[:size].reshape(shape)


def _parts(
    old: JointCounts, new: JointCounts, shares: Mapping[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slots of the old counts, one for each part that they fall into; the new slot of each part, and its shares."""
    missing, now = old.offsets[1:] - 1, new.offsets[1:] - 1
    parts, to, share = [], [], []
    done = 0  # columns before a changed one stay as they are, with their spare slots
    for i in [*sorted(shares), old.n_features]:
        of_others = np.arange(old.offsets[done], old.offsets[i])
        parts.append(of_others)
        to.append(of_others + (new.offsets[done] - old.offsets[done]))
        share.append(np.ones((len(of_others), old.n_classes)))
        if i < old.n_features:
            before, after = np.array(old.schema[i].cuts), np.array(new.schema[i].cuts)
            ends = np.unique(np.r_[before, after, np.inf])  # of the intervals between all cut points
            parts += [old.offsets[i] + np.searchsorted(before, ends, side="left"), missing[i : i + 1]]
            to += [new.offsets[i] + np.searchsorted(after, ends, side="left"), now[i : i + 1]]
            share += [np.asarray(shares[i], dtype=np.float64), np.ones((1, old.n_classes))]
        done = i + 1
    return np.concatenate(parts), np.concatenate(to), np.concatenate(share)


def _layout(n_features: int) -> dict[str, saved.Kind]:
    """What a file says about counts of so many columns beside schema, classes and tables."""
    columns = saved.items(saved.whole(0, n_features - 1), distinct=True)
    return {
        "order": saved.whole(1, 3),
        "spare": saved.whole(0, 2**16 - 1),
        "scale": saved.number(saved.SMALLEST_SCALE, saved.LARGEST_SCALE),
        "anchors": columns,
        "families": saved.items(columns, distinct=True),
        "sparse": saved.items(columns, distinct=True),
        "max_memory": saved.anything(),
    }


def _clear_below(table: np.ndarray, least: float) -> None:
    """Set what is closer to zero than this to zero, some cells at a time: those fit into the cache."""
    cells = table.reshape(-1)
    for at in range(0, len(cells), 1 << 15):
        some = cells[at : at + (1 << 15)]
        np.copyto(some, 0.0, where=np.abs(some) < least)


def _zeros(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Tables of these shapes, all zero. Families stand one behind the other in one piece: there may be very many.

    So do triples, whose memory then comes in large pages, which takes less time; but tables that are larger still are
    best made one by one, as their memory is used again.
    """
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    triples = [name for name in sizes if name.startswith("triples-")]
    if sum(sizes[name] for name in triples) > _ONE_PIECE:
        triples = []
    wide = {name: size for name, size in sizes.items() if name.startswith("family-") or name in triples}
    tables = {name: np.zeros(shape) for name, shape in shapes.items() if name not in wide}
    cells, at = np.zeros(sum(wide.values())), 0
    for name, size in wide.items():
        tables[name] = cells[at : at + size].reshape(shapes[name])
        at += size
    return tables
