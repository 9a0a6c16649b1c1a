"""SideBySide: the counts of AODEs with different half-lives in one store, so that a row is looked up once for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

import numpy as np

from tanager import _kernels
from tanager.classifiers.aode import AODE
from tanager.counts.block import Block, Query
from tanager.counts.estimates import Lidstone
from tanager.learning.counts_classifier import CountsClassifier

NEAR = 2**18  # bytes that stay in a near cache
SMALL = 2**22  # bytes of counts side by side that are copied at once, whoever comes
MOST_BYTES = 2**28  # of the counts side by side, which are there twice


def suits(models: Sequence[object]) -> TypeGuard[Sequence[AODE]]:
    """Whether models can have their counts side by side: AODEs alike but for their half-life, nothing laid around."""
    return len(models) > 1 and all(type(model) is AODE and _is_plain(model) for model in models)


def _is_plain(model: AODE) -> bool:
    estimate = model.estimate
    counted = model.window is None and model.recut is None and model.unseen == "ignore"
    weighed = model.priors is not None or model.class_weight is not None or model.calibrate
    lidstone = type(estimate) is Lidstone and estimate.strength > 0
    return counted and lidstone and not weighed and not model.gaussian and model.subsumption is None


class SideBySide:
    """The counts of several models as one store with (class, model) as its classes, for the kernels.

    While it is there, it is what has been learned; ``write_back`` brings the models up to date.
    """

    def __init__(self, models: Sequence[AODE]) -> None:
        self.models = models
        self.counts = [model.counts_ for model in models]
        first = self.counts[0]
        self.n_classes = first.n_classes
        self._tables = {name: self._stacked(name) for name in first.raw_cells()}
        self.units = np.array([counts.scale for counts in self.counts])
        self._halved = np.zeros(len(models), dtype=np.int64)
        classes, singles, pairs = (self._tables[name] for name in ("classes", "singles", "pairs"))
        self._estimate = float(models[0].estimate.strength), float(models[0].min_count)
        self._clocks = [model.memory.clock for model in models if model.memory.clock is not None]
        timed = any(clock.timed for clock in self._clocks)
        self._fade = None if timed else self._fading(1, None)  # of any row
        self._said: tuple[bytes, np.ndarray] | None = None  # codes of a row and the answers to it; none learned since
        self._store = _kernels.Store(first.offsets, first.schema.n_values, classes, singles, pairs, [], [])
        self._learned = False  # a row that the models have not

    @staticmethod
    def rows_to_pay(models: Sequence[AODE]) -> int:
        """How many rows it takes until the time is gained that it takes to lay counts side by side and back.

        All cells are copied, of which a row reads few. Small counts are copied as fast as a row reaches the kernels.
        """
        counts = models[0].counts_
        if counts.nbytes * len(models) <= SMALL:
            return 0
        return int(counts.nbytes / (8 * counts.n_classes * counts.n_features**2))

    def _stacked(self, name: str) -> np.ndarray:
        """A table of all models: (..., classes x models)."""
        own = [counts.raw_cells()[name] for counts in self.counts]
        cells = np.empty((*own[0].shape, len(own)))
        for part in _parts(cells):
            for m, table in enumerate(own):
                cells[part, ..., m] = table[part]
        return cells.reshape(*own[0].shape[:-1], -1)

    @staticmethod
    def fits(models: Sequence[AODE]) -> bool:
        """Whether the counts have one layout, with classes to tell apart, and are small enough to be there twice."""
        first = models[0].counts_
        alike = all(np.array_equal(model.counts_.offsets, first.offsets) for model in models)
        known = all(model.counts_.n_classes == first.n_classes for model in models)
        return alike and known and first.n_classes > 0 and first.nbytes * len(models) <= MOST_BYTES

    def is_of(self, models: Sequence[CountsClassifier]) -> bool:
        """Whether these are the counts that the models have; they count anew where their columns change."""
        return all(model.counts_ is own for model, own in zip(models, self.counts, strict=True))

    def answer(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities of the classes by every model: (rows, models, classes)."""
        out = self._room(len(codes))
        _kernels.answer_half_lives(self._store, self.units, *self._estimate, codes, out)
        return out

    def answer_row(self, codes: np.ndarray) -> np.ndarray:
        """``answer`` of one row, which is often the next to be learned."""
        said = self.answer(codes[None, :])
        self._said = codes.tobytes(), said
        return said

    def run(self, block: Block, asked: Query | None) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Answer and learn rows up to one with a new value: answers to them, and to those asked for instead, if any.

        None where some row comes later than its time, and so has another weight for every model.
        """
        n, self._said = len(block), None
        fade = self._fade if n == 1 and self._fade is not None else self._fading(n, block.times)
        if fade is None:
            return None
        judged, answers = self._room(n), None if asked is None else self._room(n)
        went = _kernels.stream_half_lives(
            self._store,
            self.units,
            *self._estimate,
            codes=block.codes,
            labels=block.labels,
            weights=block.weights,
            fade=fade,
            halved=self._halved,
            judged=judged,
            answered=None if asked is None else asked.codes,
            answers=answers,
        )
        self._learned = self._learned or went > 0
        for clock in self._clocks:
            clock.pass_rows(went, None if block.times is None else block.times[:went])
        return judged[:went], None if answers is None else answers[:went]

    def run_row(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """``run`` of one row without a time, by the shortest way; None where it must go another one."""
        if self._fade is None:
            return None
        said, self._said = self._said, None
        known = said is not None and said[0] == codes.tobytes()
        judged = said[1] if said is not None and known else np.empty((1, len(self.models), self.n_classes))
        at, room = self._estimate, None if known else judged
        rows = codes[None, :]
        if not _kernels.stream_half_lives(
            self._store, self.units, *at, rows, labels, weights, self._fade, self._halved, room
        ):
            return None
        self._learned = True
        for clock in self._clocks:
            clock.learned += 1
        return judged

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
        _kernels.mirror_pairs(self._store)
        shape = (self.n_classes, len(self.models))
        tables = {name: cells.reshape(*cells.shape[:-1], *shape) for name, cells in self._tables.items()}
        for name, cells in tables.items():
            for part in _parts(cells):
                for m, counts in enumerate(self.counts):
                    counts.raw_cells()[name][part] = cells[part, ..., m]
        for m, counts in enumerate(self.counts):
            counts.note_raw_cells(float(self.units[m]), int(self._halved[m]))
        self._halved[:] = 0


def _parts(cells: np.ndarray) -> Iterator[slice]:
    """Parts of a table that fit into the cache: cells of the models lie side by side, and all models go over them."""
    size = max(1, NEAR // max(1, cells[0].nbytes))
    return (slice(at, at + size) for at in range(0, len(cells), size))
