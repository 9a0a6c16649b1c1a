"""Rows that are kept: by classifiers that choose their form by looking at rows again, and during a warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.counts.memory import check_budget
from tanager.encoding.chunks import n_rows, own_copy, stack
from tanager.errors import DataError

_NOTHING = 1e-9  # less weight than this is rounding


class Rows:
    """Encoded rows in the order they came."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def append(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Keep a copy of labelled rows."""
        known = labels != np.iinfo(labels.dtype).max
        w = np.ones(len(codes)) if weights is None else weights
        self._parts.append((codes[known].copy(), labels[known].copy(), w[known].copy()))

    def __len__(self) -> int:
        return sum(len(labels) for _, labels, _ in self._parts)

    def all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Codes, labels and weights (None where all are 1) of all rows."""
        if len(self._parts) > 1:
            wide = any(codes.dtype == np.uint16 for codes, _, _ in self._parts)
            codes = np.concatenate([_widened(part[0]) if wide else part[0] for part in self._parts])
            wide = any(labels.dtype == np.uint16 for _, labels, _ in self._parts)
            labels = np.concatenate([_widened(part[1]) if wide else part[1] for part in self._parts])
            self._parts = [(codes, labels, np.concatenate([part[2] for part in self._parts]))]
        codes, labels, weights = self._parts[0]
        return codes, labels, None if (weights == 1.0).all() else weights

    @property
    def weight(self) -> float:
        """Total weight of the rows kept."""
        return float(sum(weights.sum() for _, _, weights in self._parts))

    def replace(self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        """Keep these rows instead."""
        self._parts = [(codes, labels, weights)]

    def without(
        self, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is left when the weight of these rows is taken off the kept rows of the same values and class."""
        mine, my_labels, _ = self.all()
        left = self._parts[0][2].copy()
        places: dict[bytes, list[int]] = {}
        for at in range(len(mine)):
            places.setdefault(_key(mine[at], my_labels[at]), []).append(at)
        w = np.ones(len(codes)) if weights is None else weights
        for r, (row, label) in enumerate(zip(codes, labels, strict=True)):
            kept, rest = places.get(_key(row, label), []), float(w[r])
            while rest > _NOTHING:
                if not kept:
                    raise DataError(f"row {r} was never learned with this class and weight; nothing was changed.")
                taken = min(rest, left[kept[-1]])
                left[kept[-1]] -= taken
                rest -= taken
                if left[kept[-1]] <= _NOTHING:
                    kept.pop()
        keep = left > _NOTHING
        return mine[keep], my_labels[keep], left[keep]

    def move_classes(self, places: np.ndarray) -> None:
        """Class codes have moved: code c is now places[c]."""
        if not self._parts:
            return
        codes, labels, _ = self.all()
        moved = places[labels]
        dtype = np.uint8 if len(places) and places.max() < 255 else np.uint16
        self.replace(codes, moved.astype(dtype), self._parts[0][2])

    def add_columns(self, n_new: int) -> None:
        """Further columns have come; they are missing in all rows so far."""
        if self._parts:
            codes, labels, _ = self.all()
            missing = np.full((len(codes), n_new), np.iinfo(codes.dtype).max, dtype=codes.dtype)
            self.replace(np.hstack([codes, missing]), labels, self._parts[0][2])

    def check_budget(self, max_memory: Any, name: str) -> None:
        """Refuse to keep more rows than the budget allows."""
        kept = sum(codes.nbytes + labels.nbytes + weights.nbytes for codes, labels, weights in self._parts)
        check_budget(kept, max_memory, f"{name} keeps the rows it chooses its structure by, which", "Raise max_memory.")


def _widened(codes: np.ndarray) -> np.ndarray:
    if codes.dtype == np.uint16:
        return codes
    wide = codes.astype(np.uint16)
    wide[codes == 255] = 65535
    return wide


def _key(row: np.ndarray, label: Any) -> bytes:
    return _widened(row).tobytes() + int(label).to_bytes(4, "little")


class WarmUp:
    """The first rows of a stream, as they came, until kinds and cut points are fixed."""

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self.labels = np.array([], dtype=np.uint16)
        self._weights = np.array([])
        self.n_rows = 0
        self.counted = 0  # rows that the provisional counts hold
        self.stage = 0  # rows that the provisional cut points come from

    def append(self, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Keep more rows."""
        rows = n_rows(X)
        self._chunks.append(own_copy(X))
        self.labels = np.concatenate([self.labels, _widened(labels)])
        self._weights = np.concatenate([self._weights, np.ones(rows) if weights is None else weights])
        self.n_rows += rows

    @property
    def X(self) -> Any:
        """All rows as one table."""
        self._chunks = [stack(self._chunks)]
        return self._chunks[0]

    @property
    def weights(self) -> np.ndarray | None:
        """Weights, or None where all are 1."""
        return None if (self._weights == 1.0).all() else self._weights

    def move_classes(self, places: np.ndarray) -> None:
        """Class codes have moved: code c is now places[c]. The provisional counts are made anew."""
        known = self.labels != 65535
        self.labels[known] = places[self.labels[known]]
