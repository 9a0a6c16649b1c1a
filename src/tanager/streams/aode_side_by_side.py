"""AODEs with different half-lives side by side: counts of pairs of columns, which a row looks up once for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import _kernels
from tanager.classifiers.aode import AODE
from tanager.learning.counts_classifier import CountsClassifier
from tanager.streams.pool import Pool
from tanager.streams.side_by_side import SideBySide, is_plain

if TYPE_CHECKING:
    from tanager.streams.side_by_side import PooledRows

NEAR = 2**18  # bytes that stay in a near cache


class AodesSideBySide(SideBySide):
    """One store whose classes are (class, model), with the layout that the counts of every model have."""

    def __init__(self, models: Sequence[CountsClassifier]) -> None:
        super().__init__(models)
        first, base = self.counts[0], models[0]
        assert isinstance(base, AODE)
        self._tables = {name: self._stacked(name) for name in first.raw_cells()}
        classes, singles, pairs = (self._tables[name] for name in ("classes", "singles", "pairs"))
        self._estimate = float(base.estimate.strength), float(base.min_count)
        self._store = _kernels.Store(first.offsets, first.schema.n_values, classes, singles, pairs, [], [])

    @classmethod
    def suits(cls, models: Sequence[object]) -> bool:
        return len(models) > 1 and all(type(model) is AODE and is_plain(model) for model in models)

    def _stacked(self, name: str) -> np.ndarray:
        """A table of all models: (..., classes x models)."""
        own = [counts.raw_cells()[name] for counts in self.counts]
        cells = np.empty((*own[0].shape, len(own)))
        for part in _parts(cells):
            for m, table in enumerate(own):
                cells[part, ..., m] = table[part]
        return cells.reshape(*own[0].shape[:-1], -1)

    def _answer(self, codes: np.ndarray, out: np.ndarray) -> None:
        _kernels.answer_half_lives(self._store, self.units, *self._estimate, codes, out)

    def _stream(self, *rows: Any, **late: Any) -> int:
        return _kernels.stream_half_lives(self._store, self.units, *self._estimate, *rows, **late)

    def _bind(self, fade: np.ndarray, pool: Pool) -> PooledRows:
        return _kernels.PooledAodes(self._store, self.units, *self._estimate, fade, self._halved, pool.settings)

    def _copy_back(self) -> None:
        _kernels.mirror_pairs(self._store)
        shape = (self.n_classes, len(self.models))
        tables = {name: cells.reshape(*cells.shape[:-1], *shape) for name, cells in self._tables.items()}
        for name, cells in tables.items():
            for part in _parts(cells):
                for m, counts in enumerate(self.counts):
                    counts.raw_cells()[name][part] = cells[part, ..., m]


def _parts(cells: np.ndarray) -> Iterator[slice]:
    """Parts of a table that fit into the cache: cells of the models lie side by side, and all models go over them."""
    size = max(1, NEAR // max(1, cells[0].nbytes))
    return (slice(at, at + size) for at in range(0, len(cells), size))
