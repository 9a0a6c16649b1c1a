"""WeightHistory: the weights of members along a stream, at so many points that a picture can be drawn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tanager import saved
from tanager.errors import ModelFileError

MOST = 512  # points; where there are more, every other one goes


class WeightHistory:
    """Weights after every so many rows; the more rows there are, the further apart the points."""

    def __init__(self, n_members: int) -> None:
        self.every = 1
        self._take(np.zeros(0, dtype=np.int64), np.zeros((0, n_members)))

    def _take(self, rows: np.ndarray, weights: np.ndarray) -> None:
        """Go on with these points, in arrays with room for one more: single rows come one by one."""
        self._n = len(rows)
        self._rows = np.concatenate([rows, np.zeros(MOST + 1 - self._n, dtype=np.int64)])
        self._weights = np.concatenate([weights, np.zeros((MOST + 1 - self._n, weights.shape[1]))])

    def __getstate__(self) -> tuple[int, np.ndarray, np.ndarray]:
        return self.every, self.rows, self.weights

    def __setstate__(self, state: tuple[int, np.ndarray, np.ndarray]) -> None:
        self.every = state[0]
        self._take(*state[1:])

    @property
    def rows(self) -> np.ndarray:
        """How many rows were seen at each point."""
        return self._rows[: self._n]

    @property
    def weights(self) -> np.ndarray:
        """The weights then, (points, members)."""
        return self._weights[: self._n]

    def add(self, n_before: int, path: np.ndarray) -> None:
        """Take in the weights after each of some rows, of which so many came before."""
        first = -(n_before + 1) % self.every
        if first >= len(path):
            return
        if len(path) == 1:
            self.add_row(n_before, path[0])
            return
        new = np.arange(n_before + 1 + first, n_before + 1 + len(path), self.every)
        rows, weights = np.concatenate([self.rows, new]), np.concatenate([self.weights, path[first :: self.every]])
        self._take(*self._thinned(rows, weights))

    def add_row(self, n_before: int, weights: np.ndarray) -> None:
        """Take in the weights after one row."""
        if (n_before + 1) % self.every:
            return
        self._rows[self._n], self._weights[self._n] = n_before + 1, weights
        self._n += 1
        if self._n > MOST:
            self._take(*self._thinned(self._rows, self._weights))

    def _thinned(self, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every other point, as long as there are too many."""
        while len(rows) > MOST:
            self.every *= 2
            left = rows % self.every == 0
            rows, weights = rows[left], weights[left]
        return rows, weights

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All points."""
        return {"history-rows": self.rows.astype(float), "history-weights": self.weights.copy()}

    def take_arrays(self, every: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``to_arrays`` gave."""
        n = len(arrays["history-rows"]) if "history-rows" in arrays else 0
        kinds = {"history-rows": saved.numbers(n), "history-weights": saved.numbers(n, self.weights.shape[1])}
        own = saved.read("history of its weights", {name: arrays.get(name) for name in kinds}, kinds)
        if n > MOST:
            raise ModelFileError(f"the history of its weights has {n:,} points, expected {MOST} at most")
        self.every = every
        self._take(np.array(own["history-rows"]).astype(np.int64), np.array(own["history-weights"], dtype=float))
