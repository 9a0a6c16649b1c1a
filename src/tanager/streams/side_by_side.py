"""SideBySide: the counts of models with different half-lives in one store, so that a row is looked up once for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.estimates import Lidstone
from tanager.encoding import Schema
from tanager.encoding.typing import RowOfCodes
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.recut import move_cuts
from tanager.streams.pool import Pool

if TYPE_CHECKING:
    from tanager import _kernels

    PooledRows: TypeAlias = _kernels.PooledAodes | _kernels.PooledNaives

SMALL = 2**20  # bytes of counts side by side that are copied at once, whoever comes
ONE_CALL = 40_000  # cells that could be read while a block, be it of one row, is on its way to the kernels
MOST_BYTES = 2**28  # of the counts side by side, which are there twice


def is_plain(model: Any) -> bool:
    """Whether a model is counts and one structure, by Lidstone's rule, with nothing laid around them."""
    estimate = model.estimate
    counted = model.window is None and model.recut is None and model.unseen == "ignore"
    weighed = model.priors is not None or model.class_weight is not None or model.calibrate
    lidstone = type(estimate) is Lidstone and estimate.strength > 0
    return counted and lidstone and not weighed and not model.gaussian and model.subsumption is None


class SideBySide(ABC):
    """The counts of several models as one store with (class, model) as its classes, for the kernels.

    While it is there, it is what has been learned; ``write_back`` brings the models up to date.
    """

    def __init__(self, models: Sequence[CountsClassifier]) -> None:
        self.models = models
        self.counts = [model.counts_ for model in models]
        self.n_classes = self.counts[0].n_classes
        self.units = np.array([counts.scale for counts in self.counts])
        self._halved = np.zeros(len(models), dtype=np.int64)
        self._clocks = [model.memory.clock for model in models if model.memory.clock is not None]
        timed = any(clock.timed for clock in self._clocks)
        self._fade = None if timed else self._fading(1, None)  # of any row
        self._rows: tuple[Any, PooledRows] | None = None  # what takes single rows, with a pool of these settings
        self._learned = False  # a row that the models have not
        self._taken: Schema | None = None  # columns all of whose values are known to have come

    @classmethod
    @abstractmethod
    def suits(cls, models: Sequence[object]) -> bool:
        """Whether models can have their counts side by side: alike but for their half-life, nothing laid around."""

    @classmethod
    def fits(cls, models: Sequence[CountsClassifier]) -> bool:
        """Whether the counts have one layout, with classes to tell apart, and are small enough to be there twice."""
        first, n_values = models[0].counts_, models[0].encoder_.schema.n_values
        alike = all(np.array_equal(model.counts_.offsets, first.offsets) for model in models)
        known = all(model.counts_.n_classes == first.n_classes for model in models)
        size = max(first.nbytes, first.estimate_bytes(n_values, first.n_classes, first.order))
        return alike and known and first.n_classes > 0 and size * len(models) <= MOST_BYTES

    @classmethod
    def cells_to_pay(cls, models: Sequence[CountsClassifier]) -> int:
        """How many cells each model reads until that took as long as it takes to lay counts side by side and back.

        All cells are copied, of which a row reads few. Small counts are copied as fast as a row reaches the kernels.
        """
        size = models[0].counts_.nbytes
        return 0 if size * len(models) <= SMALL else size // 8

    @staticmethod
    def cells_read(models: Sequence[CountsClassifier], n_rows: int) -> int:
        """How many cells each model reads for so many rows."""
        counts = models[0].counts_
        return n_rows * counts.n_classes * counts.n_features**counts.order

    def is_of_some(self, models: Sequence[CountsClassifier]) -> bool:
        """Whether some of these models have counts that are here."""
        return any(model.counts_ is own for model in models for own in self.counts)

    # --- what the kernels do ------------------------------------------------------------------------------------

    @abstractmethod
    def _answer(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Posteriors of rows into ``out``."""

    @abstractmethod
    def _stream(self, *rows: Any, **late: Any) -> int:
        """Answer rows and learn them: codes, labels, weights, fade, halved, judged; answered and answers."""

    @abstractmethod
    def _bind(self, fade: np.ndarray, pool: Pool) -> PooledRows:
        """What takes single rows, all of which fade so, with a pool."""

    @abstractmethod
    def _copy_back(self) -> None:
        """Copy all cells to the counts of the models."""

    @abstractmethod
    def _lanes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where columns begin, raw cells of classes (classes, models), and of columns (slots, classes, models)."""

    def joint(self, i: int) -> np.ndarray:
        """What the model that forgets least has counted of a column, (classes, values), in units of its own."""
        offsets, classes, singles = self._lanes()
        longest = int((classes.sum(axis=0) / self.units).argmax())
        n_values = self.models[0].encoder_.schema[i].n_values
        own: np.ndarray = singles[offsets[i] : offsets[i] + n_values, :, longest].T
        return own

    def move_cuts(self, schema: Schema, shares: Mapping[int, np.ndarray]) -> SideBySide:
        """The models side by side by other cut points: see ``JointCounts.move_cuts``."""
        self.write_back()
        for model in self.models:
            move_cuts(model, schema, shares)
        return type(self)(self.models)

    def take_vocabulary(self, schema: Schema) -> None:
        """Columns have these values from now on."""
        if schema is not self._taken:
            self._take_values(schema)
            self._taken = schema

    @abstractmethod
    def _take_values(self, schema: Schema) -> None:
        """The same, where some of them may be new."""

    @abstractmethod
    def _has_room(self) -> bool:
        """Whether there is room for all values that the encoder has met by now: more slots where that takes them."""

    # --- rows ---------------------------------------------------------------------------------------------------

    def answer(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities of the classes by every model: (rows, models, classes)."""
        out = self._room(len(codes))
        self._answer(codes, out)
        return out

    def _pooled(self, pool: Pool) -> PooledRows | None:
        """What answers and learns single rows, together with a pool; None where members fade by time, or lack room."""
        if self._fade is None or not self._has_room():
            return None
        if self._rows is None or self._rows[0] is not pool.settings:
            self._rows = pool.settings, self._bind(self._fade, pool)
        return self._rows[1]

    def answer_row(self, codes: RowOfCodes, pool: Pool) -> list[float] | None:
        """What a pool makes of the answers to one row, which is often the next to be learned; None: go another way."""
        rows = self._pooled(pool)
        return None if rows is None else rows.answer(codes)

    def run(self, block: Block, asked: Query | None) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Answer and learn rows: answers to them, and to those asked for instead, if any. A new value costs nothing.

        None where some row comes later than its time, and so has another weight for every model.
        """
        n, self._rows = len(block), None  # what was said of a row holds no longer
        fade = self._fade if n == 1 and self._fade is not None else self._fading(n, block.times)
        if fade is None or not self._has_room():
            return None
        judged, answers = self._room(n), None if asked is None else self._room(n)
        rows = block.codes, block.labels, block.weights, fade, self._halved, judged
        went = self._stream(*rows, answered=None if asked is None else asked.codes, answers=answers)
        self._learned = self._learned or went > 0
        for clock in self._clocks:
            clock.pass_rows(went, None if block.times is None else block.times[:went])
        return judged[:went], None if answers is None else answers[:went]

    def learn(self, block: Block) -> bool:
        """Learn rows and answer none of them; False, and nothing has changed, where one comes late or lacks room."""
        n, self._rows = len(block), None
        fade = self._fading(n, block.times)
        if fade is None or not self._has_room():
            return False
        done = 0
        while done < n:  # Ctrl-C is heard between two calls
            rest = block.part(slice(done, None))
            of_rest = np.ascontiguousarray(fade[:, done:])
            done += self._stream(rest.codes, rest.labels, rest.weights, of_rest, self._halved, None)
        self._learned = True
        for clock in self._clocks:
            clock.pass_rows(n, block.times)
        return True

    def learn_row(self, codes: RowOfCodes, label: int, weight: float, pool: Pool) -> bool:
        """Answer and learn one row without a time, and let a pool learn from that; False: it must go another way."""
        rows = self._pooled(pool)
        if rows is None or not rows.learn(codes, label, weight):
            return False
        self._learned = True
        for clock in self._clocks:
            clock.learned += 1
        return True

    def _fading(self, n: int, times: np.ndarray | None) -> np.ndarray | None:
        """What every model keeps before each of some rows, (models, rows); None where one comes late."""
        steps = [model.memory.steps(n, times) for model in self.models]
        if any(own.late is not None for own in steps):
            return None
        return np.array([np.ones(n) if own.fade is None else own.fade for own in steps])

    def _room(self, n: int) -> np.ndarray:
        return np.empty((n, len(self.models), self.n_classes))

    def write_back(self) -> None:
        """Let the models have what was learned."""
        if not self._learned:
            return
        self._learned = False
        self._copy_back()
        for m, counts in enumerate(self.counts):
            counts.note_raw_cells(float(self.units[m]), int(self._halved[m]))
        self._halved[:] = 0
