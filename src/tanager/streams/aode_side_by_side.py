"""AODEs with different half-lives side by side: counts of pairs of columns, which a row looks up once for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import _kernels
from tanager.classifiers.aode import AODE
from tanager.counts.joint import SpareMemory
from tanager.counts.memory import as_bytes
from tanager.encoding import Schema
from tanager.errors import MemoryBudgetError
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.recut import move_cuts
from tanager.learning.stream import with_first_values
from tanager.streams.pool import Pool
from tanager.streams.side_by_side import MOST_BYTES, SideBySide, is_plain

if TYPE_CHECKING:
    from tanager.streams.side_by_side import PooledRows

NEAR = 2**18  # bytes that stay in a near cache


class AodesSideBySide(SideBySide):
    """One store whose classes are (class, model), with slots for every value that the encoder has met."""

    def __init__(self, models: Sequence[CountsClassifier]) -> None:
        super().__init__(models)
        base, first = models[0], self.counts[0]
        assert isinstance(base, AODE)
        self._estimate = float(base.estimate.strength), float(base.min_count)
        self._n_values = first.schema.n_values.astype(np.int64)
        self._joined = first.blank(range(self.n_classes * len(models)))
        self._joined.max_memory = None  # the models have theirs
        self._memory = SpareMemory()
        own = [counts.raw_cells() for counts in self.counts]
        for name, cells in self._tables() if any(tables["classes"].any() for tables in own) else ():
            for part in _parts(cells):
                for m, tables in enumerate(own):
                    cells[part, ..., m] = tables[name][part]

    @classmethod
    def suits(cls, models: Sequence[object]) -> bool:
        return len(models) > 1 and all(type(model) is AODE and is_plain(model) for model in models)

    def _tables(self) -> Iterator[tuple[str, np.ndarray]]:
        """The names of all tables, and their cells, (..., classes, models); views."""
        shape = self.n_classes, len(self.models)
        return ((name, own.reshape(*own.shape[:-1], *shape)) for name, own in self._joined.raw_cells().items())

    def _lanes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        tables = dict(self._tables())
        return self._joined.offsets, tables["classes"], tables["singles"]

    @property
    def _held(self) -> tuple[_kernels.Store, np.ndarray, np.ndarray, float, float]:
        return self._joined.store, self._n_values, self.units, *self._estimate

    def _answer(self, codes: np.ndarray, out: np.ndarray) -> None:
        _kernels.answer_half_lives(*self._held, codes, out)

    def _stream(self, *rows: Any, **late: Any) -> int:
        return _kernels.stream_half_lives(*self._held, *rows, **late)

    def _bind(self, fade: np.ndarray, pool: Pool) -> PooledRows:
        return _kernels.PooledAodes(*self._held, fade, self._halved, pool.settings)

    def _has_room(self) -> bool:
        schema = self.models[0].encoder_.schema
        if schema is self._joined.schema:
            return True
        if not self._fits(schema):
            return False  # the models refuse it, with a sentence, or go on alone
        slots = self._joined.n_slots
        self._joined.grow(schema, self._joined.classes)
        if self._joined.n_slots is not slots:
            self._rows = None
        return True

    def _fits(self, schema: Schema) -> bool:
        needed = self._joined.estimate_bytes(schema.n_values, self.n_classes)
        return needed <= min(as_bytes(self.counts[0].max_memory), MOST_BYTES / len(self.models))

    def _take_values(self, schema: Schema) -> None:
        if (schema.n_values > self._n_values).any() and self._has_room():
            np.maximum(self._n_values, schema.n_values, out=self._n_values)
            self._learned, self._rows = True, None  # what was said of a row holds no longer

    def move_cuts(self, schema: Schema, shares: Mapping[int, np.ndarray]) -> SideBySide:
        if not self._fits(schema):
            raise MemoryBudgetError("counts by so many cut points would not fit.")
        of_lanes = {i: np.repeat(own, len(self.models), axis=1) for i, own in shares.items()}
        self._joined.move_cuts(schema, of_lanes, memory=self._memory)
        for i in shares:
            self._n_values[i] = schema[i].n_values
        for model in self.models:
            move_cuts(model, schema, None)
        self._learned, self._rows = True, None
        return self

    def _copy_back(self) -> None:
        _kernels.mirror_pairs(self._joined.store)
        schema = self._joined.schema
        fewer = np.flatnonzero(self._n_values < schema.n_values).tolist()  # the encoder may read ahead
        if fewer:
            schema = schema.with_columns({i: with_first_values(schema[i], int(self._n_values[i])) for i in fewer})
        own: dict[int, dict[str, np.ndarray]] = {}
        for m, (model, counts) in enumerate(zip(self.models, self.counts, strict=True)):
            if model.counts_ is counts:  # else its columns have changed, and it has counted the rows anew
                counts.lay_out_like(self._joined, schema)
                own[m] = counts.raw_cells()
        for name, cells in self._tables():
            for part in _parts(cells):
                for m, tables in own.items():
                    tables[name][part] = cells[part, ..., m]


def _parts(cells: np.ndarray) -> Iterator[slice]:
    """Parts of a table that fit into the cache: cells of the models lie side by side, and all models go over them."""
    size = max(1, NEAR // max(1, cells[0].nbytes))
    return (slice(at, at + size) for at in range(0, len(cells), size))
