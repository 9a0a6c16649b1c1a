"""AODEs with different half-lives side by side: counts of pairs of columns, which a row looks up once for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import _kernels
from tanager.classifiers.aode import AODE
from tanager.encoding import Schema
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.recut import move_cuts
from tanager.streams.pool import Pool
from tanager.streams.side_by_side import SideBySide, is_plain

if TYPE_CHECKING:
    from tanager.streams.side_by_side import PooledRows

NEAR = 2**18  # bytes that stay in a near cache


class AodesSideBySide(SideBySide):
    """One store whose classes are (class, model), with the layout that the counts of every model have."""

    def __init__(self, models: Sequence[CountsClassifier]) -> None:
        super().__init__(models)
        base = models[0]
        assert isinstance(base, AODE)
        self._estimate = float(base.estimate.strength), float(base.min_count)
        self._joined = self.counts[0].blank(range(self.n_classes * len(models)))
        own = [counts.raw_cells() for counts in self.counts]
        for name, cells in self._tables():
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

    def move_cuts(self, schema: Schema, shares: Mapping[int, np.ndarray]) -> SideBySide:
        for model in self.models:
            move_cuts(model, schema, None)  # the first one says so where there is not enough memory
        of_lanes = {i: np.repeat(own, len(self.models), axis=1) for i, own in shares.items()}
        self._joined.move_cuts(schema, of_lanes, mirrored=False)
        self._learned, self._rows = True, None
        return self

    def _answer(self, codes: np.ndarray, out: np.ndarray) -> None:
        _kernels.answer_half_lives(self._joined.store, self.units, *self._estimate, codes, out)

    def _stream(self, *rows: Any, **late: Any) -> int:
        return _kernels.stream_half_lives(self._joined.store, self.units, *self._estimate, *rows, **late)

    def _bind(self, fade: np.ndarray, pool: Pool) -> PooledRows:
        return _kernels.PooledAodes(self._joined.store, self.units, *self._estimate, fade, self._halved, pool.settings)

    def _copy_back(self) -> None:
        _kernels.mirror_pairs(self._joined.store)
        own = [counts.raw_cells() for counts in self.counts]
        for name, cells in self._tables():
            for part in _parts(cells):
                for m, tables in enumerate(own):
                    tables[name][part] = cells[part, ..., m]


def _parts(cells: np.ndarray) -> Iterator[slice]:
    """Parts of a table that fit into the cache: cells of the models lie side by side, and all models go over them."""
    size = max(1, NEAR // max(1, cells[0].nbytes))
    return (slice(at, at + size) for at in range(0, len(cells), size))
