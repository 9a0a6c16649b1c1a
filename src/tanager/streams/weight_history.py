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
        self.rows = np.zeros(0, dtype=np.int64)
        self.weights = np.zeros((0, n_members))

    def add(self, n_before: int, path: np.ndarray) -> None:
        """Take in the weights after each of some rows, of which so many came before."""
        first = -(n_before + 1) % self.every
        if first >= len(path):
            return
        self.rows = np.concatenate([self.rows, np.arange(n_before + 1 + first, n_before + 1 + len(path), self.every)])
        self.weights = np.concatenate([self.weights, path[first :: self.every]])
        while len(self.rows) > MOST:
            self.every *= 2
            left = self.rows % self.every == 0
            self.rows, self.weights = self.rows[left], self.weights[left]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All points."""
        return {"history-rows": self.rows.astype(float), "history-weights": self.weights}

    def take_arrays(self, every: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Take back what ``to_arrays`` gave."""
        n = len(arrays["history-rows"]) if "history-rows" in arrays else 0
        kinds = {"history-rows": saved.numbers(n), "history-weights": saved.numbers(n, self.weights.shape[1])}
        own = saved.read("history of its weights", {name: arrays.get(name) for name in kinds}, kinds)
        if n > MOST:
            raise ModelFileError(f"the history of its weights has {n:,} points, expected {MOST} at most")
        self.every = every
        self.rows = np.array(own["history-rows"]).astype(np.int64)
        self.weights = np.array(own["history-weights"], dtype=float)
