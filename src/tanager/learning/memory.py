"""Memory: all that a model has learned, and the one place where rows enter it, fade and leave.

Counts, the moments of Gaussian columns and kept rows follow the same steps (see ``counts/forgetting.py``): before a row
is added everything fades, after it the oldest rows may leave. A block of rows is added with the weights that its rows
have at its end, which is the same up to rounding.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tanager import saved
from tanager.counts.align import cut_columns
from tanager.counts.block import Block, in_blocks
from tanager.counts.context_moments import ContextMoments
from tanager.counts.forgetting import SMALLEST, Clock, Decay, Steps, Window
from tanager.counts.joint import JointCounts, sparse_families
from tanager.counts.memory import check_budget
from tanager.counts.moments import Moments
from tanager.encoding import Schema
from tanager.encoding.codes import row_array
from tanager.encoding.typing import RowOfCodes
from tanager.errors import DataError, ModelFileError, SchemaMismatch
from tanager.learning.rows import KeptRows

LIGHT = 1e-9  # kept rows of less weight are dropped
ROWS_AT_ONCE = 8192  # that are looked at again together


class RowsElsewhere(Protocol):
    """Learned rows that cannot be brought here: work is done where they are, and its results are added."""

    def count(self, blank: JointCounts) -> JointCounts:
        """All rows, counted into counts of this shape."""
        ...

    def total(self, work: Callable[[Block], np.ndarray], rows_at_once: int = ROWS_AT_ONCE) -> np.ndarray:
        """The sum of the whole numbers that ``work``, which can be pickled, makes of blocks of rows."""
        ...

    def choose(self, some: Callable[[Block], Block]) -> Block:
        """The rows that ``some``, which can be pickled, takes of those that differ: of every part, then of these."""
        ...


class Listener(Protocol):
    """Who is told of rows that were added."""

    def add(self, block: Block) -> None:
        """Of many rows."""
        ...

    def add_row(self, codes: np.ndarray, label: int, weight: float) -> None:
        """Of a row that counts."""
        ...


class Memory:
    """Joint counts and what stands beside them: moments, kept rows and the clock of a model that forgets.

    Parameters
    ----------
    counts : JointCounts
        Of the columns with codes.
    moments : Moments, ContextMoments or None
        Of Gaussian columns: per class alone, where they have no codes, or per class and values of parents.
    keeps_rows : bool
        Whether rows are kept, because a structure is chosen by looking at them again. A window keeps them anyway.
    until_chosen : bool
        Whether they are kept no longer than until a structure is chosen; see ``let_rows_go``.
    decay, window : Decay, Window or None
        How old rows are forgotten.
    owner : str
        Who to name in errors.
    way_out : str
        What to advise where kept rows take too much memory.
    """

    def __init__(
        self,
        counts: JointCounts,
        moments: Moments | ContextMoments | None = None,
        *,
        keeps_rows: bool = False,
        until_chosen: bool = False,
        decay: Decay | None = None,
        window: Window | None = None,
        max_memory: Any = None,
        owner: str = "the model",
        way_out: str = "Raise max_memory.",
    ) -> None:
        self.counts, self.moments = counts, moments
        self.decay, self.window = decay, window
        self.max_memory, self.owner, self.way_out = max_memory, owner, way_out
        self.clock = None if decay is None and window is None else Clock(decay, window)
        self._by_rows = self.clock is None or not (self.clock.timed or self.per_class)
        self.rows = KeptRows() if keeps_rows or window is not None else None
        self.until_chosen = until_chosen and window is None
        self.read: Callable[[], Iterable[Block]] | None = None  # gives learned rows again, where none are kept
        self.elsewhere: RowsElsewhere | None = None  # where learned rows are, if neither kept nor read
        self.listener: Listener | None = None  # is told of rows that were added

    @property
    def n_learned(self) -> float:
        """How many rows were learned, whether they still count or not."""
        return self.counts.n_rows if self.clock is None else float(self.clock.learned)

    @property
    def counts_only(self) -> bool:
        """Whether a row leaves no trace but in the counts."""
        return self.clock is None and self.rows is None and self.moments is None and self.listener is None

    @property
    def numbers_only(self) -> bool:
        """Whether a row leaves no trace but in the counts and in the moments of Gaussian columns without parents."""
        plain = self.clock is None and self.rows is None and self.listener is None
        return plain and isinstance(self.moments, Moments)

    @property
    def codes_only(self) -> bool:
        """Whether a row leaves no trace but in counts and rows, and what is forgotten depends on rows alone."""
        return self._by_rows and self.moments is None

    @property
    def number_columns(self) -> list[int]:
        """The places of Gaussian columns, whose numbers come with the rows."""
        if isinstance(self.moments, ContextMoments):
            return list(self.moments.children)
        return [i for i, column in enumerate(self.counts.schema.columns) if column.kind == "continuous"]

    @property
    def number_names(self) -> list[str]:
        """The names of Gaussian columns."""
        return [self.counts.schema.names[i] for i in self.number_columns]

    @property
    def holds_all_rows(self) -> bool:
        """Whether the kept rows are those behind the counts."""
        return self.rows is not None and math.isclose(self.rows.weight, self.counts.n_rows, rel_tol=1e-5, abs_tol=1e-8)

    @property
    def has_let_rows_go(self) -> bool:
        """Whether a structure was chosen for good, and its families alone go on learning."""
        return self.until_chosen and not self.can_look_again

    def follow(self, schema: Schema, classes: np.ndarray) -> None:
        """The encoder has met new values: make room for them in the counts. A column that was cut brings its values
        together in bins.
        """
        if schema is not self.counts.schema:
            if schema == self.counts.schema:
                self.counts.schema = schema
            else:
                cut = cut_columns(schema, self.counts.schema)
                if isinstance(self.moments, ContextMoments):
                    self.moments.make_room(schema.n_values)
                self.counts.grow(schema, classes)
                if self.rows is not None:
                    self.rows.map_codes(cut)

    # --- rows enter ---------------------------------------------------------------------------------------------

    def add(self, block: Block, n_jobs: int = 1) -> None:
        """Learn rows."""
        if self.clock is None:
            self._enter(block, n_jobs)
            return
        block = block.counted()
        if len(block):
            self._add_fading(block, self.steps(len(block), block.times), self.clock, n_jobs)

    def steps(self, n_rows: int, times: np.ndarray | None) -> Steps:
        """What happens around each of the next rows."""
        if self.clock is None:
            return Steps(None, None, None)
        kept = (0, None) if self.rows is None else (len(self.rows), self.rows.times)
        return self.clock.steps(n_rows, *kept, times)

    def _enter(self, block: Block, n_jobs: int) -> None:
        self.reserve(block)
        self.counts.update(block.codes, block.labels, block.weights, n_jobs=n_jobs)
        self._beside_counts(block)

    def reserve(self, block: Block) -> None:
        """Have room for the numbers of rows, before any of them is counted: what is refused leaves nothing behind."""
        if self.moments is not None and block.numbers is not None:
            self.moments.reserve(block)

    def _beside_counts(self, block: Block) -> None:
        """Rows were counted: what else is to be learned of them."""
        if self.moments is not None and block.numbers is not None:
            self.moments.add_block(block)
        if self.rows is not None:
            self.rows.follow(self.counts)
            self.keep(block)
            if self.clock is not None and self.window is None:
                self.rows.prune(LIGHT)
        if self.listener is not None:
            self.listener.add(block)

    def keep(self, block: Block) -> None:
        """Keep rows; only those of a window need their times again, when they leave."""
        assert self.rows is not None
        if self.window is None:
            block = Block(block.codes, block.labels, block.weights, None, block.numbers)
        room = self.rows.nbytes
        self.rows.append(block)
        if self.rows.nbytes != room:
            self.rows.check_budget(self.max_memory, self.owner, self.way_out)

    def _add_fading(self, block: Block, steps: Steps, clock: Clock, n_jobs: int) -> None:
        left = self._fade(steps, block.labels)  # of each row at the end of the block
        if left is not None:
            block = block.weighing(left if block.weights is None else block.weights * left)
        self._enter(block, n_jobs)
        clock.pass_rows(len(block), block.times)
        if steps.gone is not None:
            self.drop_oldest(int(steps.gone.sum()))

    def _fade(self, steps: Steps, labels: np.ndarray) -> np.ndarray | None:
        """Fade all that was learned by what a block of rows brings; what is left of each of these rows at its end."""
        if steps.fade is None:
            return None
        logs = np.log(steps.fade)
        if self.per_class:
            later = np.zeros(len(labels))
            factors = np.ones(self.counts.n_classes)
            for c in np.unique(labels).tolist():
                own = np.flatnonzero(labels == c)
                sums = np.cumsum(logs[own][::-1])[::-1]
                later[own], factors[c] = sums - logs[own], max(np.exp(sums[0]), SMALLEST)
            self.counts.decay_classes(factors)
            if self.moments is not None:
                self.moments.decay(factors[:, None])
            if self.rows is not None:
                self.rows.fade_classes(factors)
        else:
            sums = np.cumsum(logs[::-1])[::-1]
            later = sums - logs
            self._fade_all(max(float(np.exp(sums[0])), SMALLEST))
        left = np.exp(later)
        return left if steps.late is None else left * steps.late

    @property
    def per_class(self) -> bool:
        """Whether a new row makes the rows of its class fade, and no others."""
        return self.decay is not None and self.decay.per_class

    def _fade_all(self, factor: float) -> None:
        self.counts.decay(factor)
        if self.moments is not None:
            self.moments.decay(factor)

    def add_row(self, block: Block, steps: Steps | None = None) -> None:
        """``add`` for one labelled row whose codes are known to fit: the least work."""
        self.reserve(block)
        weight = 1.0 if block.weights is None else float(block.weights[0])
        if self.clock is None:
            self.counts.learn_row(block.codes[0], int(block.labels[0]), weight)
            self._beside_counts(block)
            return
        steps = self.steps(1, block.times) if steps is None else steps
        if steps.fade is not None:
            if self.per_class:
                self._fade(steps, block.labels)
            else:
                self._fade_all(steps.fade[0])
        if steps.late is not None:
            weight *= steps.late[0]
        self.counts.learn_row(block.codes[0], int(block.labels[0]), weight)
        if not (self.rows is None and self.moments is None and self.listener is None):
            self._beside_counts(block.weighing(None if weight == 1.0 else np.array([weight])))
        self.clock.pass_rows(1, block.times)
        if steps.gone is not None:
            self.drop_oldest(int(steps.gone[0]))

    def add_numbers(self, codes: RowOfCodes, numbers: np.ndarray, label: int, weight: float) -> None:
        """``add_row`` where there are ``numbers_only``."""
        assert isinstance(self.moments, Moments)
        self.counts.learn_row(codes, label, weight)
        self.moments.add_row(numbers, label, weight)

    def add_codes(self, codes: RowOfCodes, label: int, weight: float) -> None:
        """``add_row`` where there are ``codes_only``, for a row without a time."""
        counts, rows, window = self.counts, self.rows, self.window
        if self.decay is not None:
            counts.decay(max(self.decay.per_row, SMALLEST))
        counts.learn_row(codes, label, weight)
        if rows is not None:
            if counts.scale != rows.scale or counts.halvings != rows.halvings:
                rows.follow(counts)
            if not rows.append_row(codes, label, weight):
                own = row_array(codes)[None, :]
                self.keep(Block(own, np.array([label], dtype=np.uint16), np.array([weight])))
            if self.clock is not None and window is None:
                rows.prune(LIGHT)
        if self.listener is not None:
            self.listener.add_row(row_array(codes), label, weight)
        if self.clock is not None:
            self.clock.learned += 1
        if rows is not None and window is not None and window.rows is not None:
            self.drop_oldest(max(0, len(rows) - window.rows))

    # --- rows leave ---------------------------------------------------------------------------------------------

    def drop_oldest(self, n: int) -> None:
        """The oldest rows leave the window."""
        rows = self.rows
        if n == 0 or rows is None:
            return
        if n == 1 and self.moments is None:
            self.counts.forget_row(*rows.oldest)
            rows.drop(1)
            return
        codes, labels, raw = (part[:n] for part in rows.queue)
        if self.moments is not None and rows.numbers is not None:
            self.moments.remove_block(Block(codes, labels, raw, None, rows.numbers[:n]), rows.scale)
        self.counts.forget_rows(codes, labels, raw)
        rows.drop(n)

    def remove(self, block: Block, n_jobs: int = 1) -> None:
        """Take learned rows out again. ``times`` say when they were learned, where rows fade."""
        block = block.weighing(self._left_of(block))
        rows = self.rows
        if rows is None:
            self._remove_unkept(block, n_jobs)
            return
        given = block.weighing(np.ones(len(block))) if block.weights is None and self.window is None else block
        left = rows.without(given)
        (codes, labels, raw), numbers = rows.queue, rows.numbers
        which = left < raw
        weights = (raw - left)[which]
        block = Block(codes[which], labels[which], weights, None, None if numbers is None else numbers[which])
        scale = rows.scale  # the moments get weights times the scale: the very numbers that they once got
        self.counts.subtract(block.codes, block.labels, weights / scale, n_jobs=n_jobs)
        rows.weigh(left)
        if self.moments is not None and block.numbers is not None:
            self.moments.remove_block(block, scale)

    def _remove_unkept(self, block: Block, n_jobs: int) -> None:
        """Take rows out of counts and moments. Either may find that they were never learned; then nothing changes."""
        moments = None if block.numbers is None else self.moments
        if moments is not None and self.decay is None:
            moments.remove_learned(block)
        elif moments is not None:
            moments.remove_block(block)
        try:
            self.counts.subtract(block.codes, block.labels, block.weights, n_jobs=n_jobs)
        except DataError:
            if moments is not None:
                moments.add_block(block)
            raise

    def _left_of(self, block: Block) -> np.ndarray | None:
        """What rows to be removed weigh now; refused where that cannot be known."""
        weights, times, decay = block.weights, block.times, self.decay
        if decay is None or self.clock is None or self.window is not None:
            return weights
        if decay.per_class or times is None:
            way = "Learn without per_class" if decay.per_class else "Give times= (rows: their numbers, from 1)"
            raise DataError(f"with a decay, what is left of a row depends on when it was learned. {way} to unlearn it.")
        now = self.clock.now if decay.timed else float(self.clock.learned)
        age = (now or 0.0) - times
        if (age < 0).any():
            raise DataError("times: a row to be unlearned is newer than all that were learned; nothing was changed.")
        left = np.exp(decay.rate * age)
        return left if weights is None else weights * left

    def fade(self, factor: float) -> None:
        """All that was learned fades by a factor at once."""
        self._fade_all(factor)
        if self.rows is not None:
            self.rows.follow(self.counts)

    def advance(self, now: float) -> None:
        """Let time pass without a row: what fades by time fades, and rows that are too old leave."""
        clock, rows = self.clock, self.rows
        assert clock is not None
        if self.decay is not None and self.decay.timed and clock.now is not None:
            self.fade(max(float(np.exp(self.decay.rate * (now - clock.now))), SMALLEST))
        clock.now = now
        if self.window is not None and self.window.seconds is not None and rows is not None and rows.times is not None:
            self.drop_oldest(int(np.searchsorted(rows.times, now - self.window.seconds, side="right")))

    def without(self, taken: np.ndarray, n_jobs: int = 1) -> Memory:
        """A copy without some of the kept rows: ``taken`` is the weight that leaves of each of them."""
        assert self.rows is not None
        block = self.rows.block
        gone = taken > 0.0
        if block.weights is None and (taken[gone] == 1.0).all():
            leaving, staying = block.part(np.flatnonzero(gone)), block.part(np.flatnonzero(~gone))
        else:
            left = (1.0 if block.weights is None else block.weights) - taken
            there = left > LIGHT
            leaving = block.weighing(None if (taken[gone] == 1.0).all() else taken).part(gone)
            staying = block.weighing(None if (left[there] == 1.0).all() else left).part(there)
        rest = copy.copy(self)
        rest.counts = self.counts.copy()
        rest.counts.subtract(leaving.codes, leaving.labels, leaving.weights, n_jobs=n_jobs)
        if self.moments is not None:
            rest.moments = copy.deepcopy(self.moments)
            rest.moments.remove_block(leaving)
        rest.rows = KeptRows()
        rest.rows.follow(rest.counts)
        rest.rows.append(staying)
        rest.clock, rest.listener = copy.copy(self.clock), None
        return rest

    # --- what else happens --------------------------------------------------------------------------------------

    def move_classes(self, places: np.ndarray, classes: np.ndarray) -> None:
        """There are more classes: class c is now places[c]."""
        self.counts.grow(self.counts.schema, classes)
        if self.rows is not None:
            self.rows.move_classes(places)
        if self.moments is not None:
            self.moments = self.moments.move_classes(places, len(classes))

    def add_columns(self, schema: Schema, n_new: int, **wider: Any) -> None:
        """Columns have come at the end of the schema, missing in all rows so far."""
        self.counts.add_columns(schema, **wider)
        if self.rows is not None:
            self.rows.add_columns(n_new)

    # --- learned rows are looked at again -----------------------------------------------------------------------

    @property
    def can_look_again(self) -> bool:
        """Whether learned rows can be looked at again: they are kept, can be read, or are reached where they are."""
        return self.rows is not None or self.read is not None or self.elsewhere is not None

    def look_again(self) -> Iterable[Block]:
        """All learned rows, with what they weigh now."""
        if self.rows is not None:
            return [self.rows.block] if len(self.rows) else []
        return [] if self.read is None else self.read()

    def total(self, work: Callable[[Block], np.ndarray]) -> np.ndarray:
        """The sum of the whole numbers that ``work`` makes of all learned rows, some of them at a time."""
        if self.elsewhere is not None:
            return self.elsewhere.total(work)
        return sum((work(block) for block in in_blocks(self.look_again(), ROWS_AT_ONCE)), np.zeros((), dtype=np.int64))

    def count_families(self, families: list[tuple[int, ...]], shape: Mapping[str, Any], n_jobs: int = 1) -> None:
        """Count families that the counts do not hold, in one more pass over the learned rows."""
        old = self.counts
        if not families or old.holds(families=families):
            return
        if not self.can_look_again:
            old.require(self.owner, families=families)
            return
        if self.rows is not None and not self.holds_all_rows:
            raise SchemaMismatch(
                f"{self.owner} must count further families, but its counts hold a weight of {old.n_rows:g} "
                f"and the rows it kept {self.rows.weight:g}: they were faded or merged. Fit on the rows again."
            )
        n_rows = math.ceil(old.n_rows) if self.rows is None else len(self.rows)
        tables = _tables_for(families, shape, old.n_features)
        sparse = sparse_families(tables["families"], old.n_slots, old.n_classes, n_rows)
        shared = old.may_take_families(tables["order"], tables.get("anchors", ()))
        if shared:
            counts = old.only_families(tables["families"], sparse, self.max_memory)
        else:
            options: dict[str, Any] = {**tables, "spare": old.spare, "max_memory": self.max_memory}
            counts = JointCounts(old.schema, old.classes, sparse=sparse, **options)
            counts.take_scale(old)
        if self.elsewhere is not None:
            counts = self.elsewhere.count(counts)
        else:
            for block in self.look_again():
                counts.update(block.codes, block.labels, block.weights, n_jobs=n_jobs)
        counts = old.with_families_of(counts) if shared else counts
        check_budget(
            counts.nbytes,
            self.max_memory,
            f"counting {len(families):,} families of up to {max(map(len, families))} columns in {n_rows:,} rows",
            "Use fewer parents, fewer bins or columns, or raise max_memory.",
        )
        self.counts = counts

    def let_rows_go(self, families: Sequence[tuple[int, ...]]) -> None:
        """A structure with these families was chosen for good: they are counted from now on, and no row is kept."""
        if not self.until_chosen or not self.can_look_again:
            return
        self.rows = self.read = self.elsewhere = None
        if set(families) != set(self.counts.families):
            self.counts = self.counts.narrowed(self.counts.order, families)

    def start_again(self, counts: JointCounts, rows: Block, n_jobs: int = 1) -> None:
        """Count these rows, and no others, into other counts: bins have moved. The clock goes on."""
        counts.update(rows.codes, rows.labels, rows.weights, n_jobs=n_jobs)
        self.counts = counts
        if self.rows is not None:
            self.rows = KeptRows.of(rows)

    # --- files --------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Plain data, with arrays under "arrays"."""
        header, arrays = self.counts.to_header()
        if self.moments is not None:
            arrays |= self.moments.to_arrays()
        if self.rows is not None and len(self.rows):
            rows = self.rows.block
            cells = {"weights": rows.weights, "times": rows.times, "numbers": rows.numbers}
            arrays |= {"rows-codes": rows.codes, "rows-labels": rows.labels}
            arrays |= {f"rows-{name}": cell for name, cell in cells.items() if cell is not None}
        return {"counts": header, "clock": None if self.clock is None else self.clock.to_plain(), "arrays": arrays}

    def take_state(self, state: Mapping[str, Any]) -> None:
        """Take back what ``to_state`` gave beside the counts, which are ours already."""
        arrays = state["arrays"]
        if self.moments is not None:
            self.moments = self.moments.with_arrays(arrays)
        if self.rows is not None and "rows-codes" in arrays:
            self.rows = _stored_rows(arrays, self.counts, len(self.number_columns))
        elif self.rows is not None and self.counts.n_rows > LIGHT:
            if self.window is not None:
                raise ModelFileError("the rows of its window are not there")
            self.rows = None  # it was made from counts, which do not hold them
        elif self.rows is not None:  # all of them were taken away again
            self.rows = KeptRows.none(self.counts.n_features, len(self.number_columns))
            self.rows.follow(self.counts)
        if self.clock is not None:
            self.clock.take_plain(state["clock"])


def _tables_for(families: list[tuple[int, ...]], shape: Mapping[str, Any], n_columns: int) -> dict[str, Any]:
    """Counts of this shape that hold the families, too: in tables of their own, or many of one column together."""
    if shape["order"] == 3:
        return {**shape, "families": [family for family in families if len(family) > 3]}
    if len(families) > n_columns and {*map(len, families)} == {3}:
        common = [i for i in sorted(families[0]) if all(i in family for family in families)]
        if common:
            return {**shape, "anchors": (*shape.get("anchors", ()), common[0]), "families": []}
    return {**shape, "families": families}


def _stored_rows(arrays: Mapping[str, np.ndarray], counts: JointCounts, n_numbers: int) -> KeptRows:
    """The kept rows of a model file, with codes that the counts know."""
    n_rows = len(arrays["rows-codes"])
    expected = {
        "codes": saved.array("u1 u2", n_rows, counts.n_features),
        "labels": saved.array("u1 u2", n_rows, most=counts.n_classes - 1),
        "weights": saved.array("f8", n_rows, least=0.0),
        "times": saved.numbers(n_rows),
        "numbers": saved.numbers(n_rows, n_numbers, gaps=True),
    }
    needed = {"codes", "labels"} | ({"numbers"} if n_numbers else set())
    kinds = {f"rows-{name}": kind for name, kind in expected.items() if name in needed or f"rows-{name}" in arrays}
    own = {name.removeprefix("rows-"): cells for name, cells in saved.read("kept rows", arrays, kinds).items()}
    codes, labels, times, numbers = own["codes"], own["labels"], own.get("times"), own.get("numbers")
    weights = own.get("weights", np.ones(n_rows))
    if not ((codes < counts.schema.n_values) | (codes == np.iinfo(codes.dtype).max)).all():
        raise ModelFileError("its kept rows have values that its counts do not know")
    if times is not None and not (np.diff(times) >= 0).all():
        raise ModelFileError("its kept rows are not in the order of time")
    rows = KeptRows()
    rows.follow(counts)
    rows.append(Block(codes, labels, weights, times, numbers))
    return rows
