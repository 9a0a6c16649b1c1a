"""Naive Bayes with different half-lives side by side. New values find room without a look at what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager import _kernels
from tanager.classifiers.naive_bayes import NaiveBayes
from tanager.counts.memory import as_bytes
from tanager.encoding import Schema
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.stream import grow_counts_to
from tanager.streams.pool import Pool
from tanager.streams.side_by_side import SideBySide, is_plain

if TYPE_CHECKING:
    from tanager.streams.side_by_side import PooledRows


class NaivesSideBySide(SideBySide):
    """Cells (slots, classes x models), with a slot for every value that the encoder has met.

    How many of them have come is a number per column, which the kernel raises with the row that brings a value: how
    many there are is part of every answer, but the encoder reads ahead.
    """

    def __init__(self, models: Sequence[CountsClassifier]) -> None:
        super().__init__(models)
        first = self.counts[0]
        self._schema = models[0].encoder_.schema
        self._pseudo = float(models[0].estimate.strength)
        self._n_values = first.schema.n_values.astype(np.int64)
        self._offsets = _offsets(np.maximum(self._n_values, self._schema.n_values))
        own = [counts.raw_cells() for counts in self.counts]
        self._classes = np.stack([cells["classes"] for cells in own], axis=-1).reshape(-1)
        self._cells = np.zeros((self._offsets[-1], len(self._classes)))
        here, theirs = self._places(self._offsets), self._places(first.offsets)
        for m, cells in enumerate(own):
            self._lane(m)[here] = cells["singles"][theirs]

    @classmethod
    def suits(cls, models: Sequence[object]) -> bool:
        return len(models) > 1 and all(type(model) is NaiveBayes and _is_plain(model) for model in models)

    def _lane(self, m: int) -> np.ndarray:
        """The cells of one model, (slots, classes); a view."""
        return self._lanes()[2][..., m]

    def _places(self, offsets: np.ndarray) -> np.ndarray:
        """Where a layout has the values that have come, and missing cells, column after column."""
        n_slots = self._n_values + 1
        column = np.repeat(np.arange(len(n_slots)), n_slots)
        slot = np.arange(len(column)) - _offsets(self._n_values)[column]
        missing = slot == self._n_values[column]
        places: np.ndarray = np.where(missing, offsets[column + 1] - 1, offsets[column] + slot)
        return places

    def _lanes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shape = self.n_classes, len(self.models)
        return self._offsets, self._classes.reshape(shape), self._cells.reshape(-1, *shape)

    @property
    def _held(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        return self._offsets, self._n_values, self._classes, self._cells, self.units, self._pseudo

    def _answer(self, codes: np.ndarray, out: np.ndarray) -> None:
        _kernels.answer_naive_half_lives(*self._held, codes, out)

    def _stream(self, *rows: Any, **late: Any) -> int:
        return _kernels.stream_naive_half_lives(*self._held, *rows, **late)

    def _bind(self, fade: np.ndarray, pool: Pool) -> PooledRows:
        return _kernels.PooledNaives(*self._held, fade, self._halved, pool.settings)

    def _has_room(self) -> bool:
        schema = self.models[0].encoder_.schema
        if schema is self._schema:
            return True
        n_values = np.maximum(schema.n_values, np.diff(self._offsets) - 1)
        if n_values.sum() * self.n_classes * 8 > as_bytes(self.counts[0].max_memory):
            return False  # the models refuse it, with a sentence
        self._schema, offsets = schema, _offsets(n_values)
        if offsets[-1] > self._offsets[-1]:
            cells = np.zeros((offsets[-1], len(self._classes)))
            cells[self._places(offsets)] = self._cells[self._places(self._offsets)]
            self._offsets, self._cells, self._rows = offsets, cells, None
        return True

    def _take_values(self, schema: Schema) -> None:
        if (schema.n_values > self._n_values).any() and self._has_room():
            np.maximum(self._n_values, schema.n_values, out=self._n_values)
            self._learned, self._rows = True, None  # what was said of a row holds no longer

    def _copy_back(self) -> None:
        here = self._places(self._offsets)
        for m, (model, counts) in enumerate(zip(self.models, self.counts, strict=True)):
            if model.counts_ is not counts:
                continue  # its columns have changed, and it has counted the rows anew
            grow_counts_to(model, self._n_values - 1)
            own = counts.raw_cells()
            own["classes"][:] = self._classes.reshape(self.n_classes, -1)[:, m]
            own["singles"][self._places(counts.offsets)] = self._lane(m)[here]


def _is_plain(model: NaiveBayes) -> bool:
    return is_plain(model) and model.fit_by == "likelihood"


def _offsets(n_values: np.ndarray) -> np.ndarray:
    """Where the slots of columns begin, with one for missing cells behind the values of each; and where all end."""
    return np.concatenate([[0], np.cumsum(n_values + 1)]).astype(np.int64)
