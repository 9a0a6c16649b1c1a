"""Effects on the cells of a stream after its rows were drawn: irrelevant columns, noise, missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.generate.sources import MISSING, Column, Noise, missing_cells, other_codes


@dataclass(frozen=True)
class Effects:
    """What is done to the cells after the rows were drawn, in the order of the fields."""

    irrelevant: int = 0
    noise: float = 0.0
    flip: bool = False
    missing: float = 0.0
    how: str = "mcar"

    def __str__(self) -> str:
        parts = [f"{self.irrelevant} irrelevant columns"] if self.irrelevant else []
        parts += [f"{100 * self.noise:g} % {'flipped' if self.flip else 'noise'}"] if self.noise else []
        more = "" if self.how == "mcar" else " (by class)"
        parts += [f"{100 * self.missing:g} % missing{more}"] if self.missing else []
        return ", ".join(parts)

    def columns(self, own: Sequence[Column]) -> tuple[Column, ...]:
        """The columns of a source, followed by irrelevant ones: binary, or numbers of the same range."""
        first = own[0] if own[0].numeric else Column(own[0].name, (0, 1))
        return (*own, *(replace(first, name=f"irrelevant{i + 1}") for i in range(self.irrelevant)))

    def apply(
        self, X: np.ndarray, y: np.ndarray, columns: Sequence[Column], n_classes: int, rng: np.random.Generator
    ) -> np.ndarray:
        """The cells with all effects; X itself may be changed. ``columns`` include the irrelevant ones."""
        X = self._add_irrelevant(X, columns, rng)
        self._add_noise(X, columns, rng)
        self._remove_cells(X, y, n_classes, rng)
        return X

    def _add_irrelevant(self, X: np.ndarray, columns: Sequence[Column], rng: np.random.Generator) -> np.ndarray:
        if not self.irrelevant:
            return X
        n = X.shape[1]
        wide = np.empty((len(X), len(columns)), dtype=X.dtype, order="F")
        wide[:, :n] = X
        for i, column in enumerate(columns[n:]):
            wide[:, n + i] = _uniform_cells(column, len(X), rng)
        return wide

    def _add_noise(self, X: np.ndarray, columns: Sequence[Column], rng: np.random.Generator) -> None:
        if not self.noise:
            return
        for i, column in enumerate(columns):
            hit = np.flatnonzero(rng.random(len(X), dtype=np.float32) < self.noise)
            if self.flip and column.values is not None:
                X[hit, i] = other_codes(X[hit, i], len(column.values), rng)
            else:
                X[hit, i] = _uniform_cells(column, len(hit), rng)

    def _remove_cells(self, X: np.ndarray, y: np.ndarray, n_classes: int, rng: np.random.Generator) -> None:
        if not self.missing:
            return
        rates = self._missing_rates(n_classes).astype(np.float32)[y] if self.how == "mar" else self.missing
        gap = MISSING if X.dtype == np.uint8 else np.nan
        for i in range(X.shape[1]):
            X[rng.random(len(X), dtype=np.float32) < rates, i] = gap

    def _missing_rates(self, n_classes: int) -> NDArray[np.float64]:
        """The probability of a missing cell in each class."""
        share = 2 * np.arange(n_classes) / max(n_classes - 1, 1) if self.how == "mar" else np.ones(n_classes)
        return self.missing * share

    def cell_noise(self, columns: Sequence[Column]) -> Noise:
        """The noise on the columns of the source."""
        return Noise.of(columns, [self._kept(column) for column in columns])

    def _kept(self, column: Column) -> float:
        """The probability that a cell is kept, if all other cells are uniform over the values.

        With ``flip`` a hit cell never keeps its value. This is the same as uniform replacement at a higher rate.
        """
        n_values = len(column.values or ())
        return 1 - self.noise * (n_values / (n_values - 1) if self.flip and n_values > 1 else 1.0)

    def log_missing(self, X: np.ndarray, n_classes: int) -> NDArray[np.float64] | None:
        """log P(which cells are missing | class), (n_rows, n_classes); None if it does not depend on the class."""
        if self.how == "mcar" or not self.missing:
            return None
        n_missing = missing_cells(X).sum(axis=1)[:, None]
        rates = self._missing_rates(n_classes)
        with np.errstate(divide="ignore", invalid="ignore"):
            gone, there = n_missing * np.log(rates), (X.shape[1] - n_missing) * np.log1p(-rates)
        # 0 * log(0) is 0 here, not NaN: no cell is missing in a class where none can be.
        both: NDArray[np.float64] = np.nan_to_num(gone, neginf=-np.inf) + np.nan_to_num(there, neginf=-np.inf)
        return both


def _uniform_cells(column: Column, n: int, rng: np.random.Generator) -> np.ndarray:
    """Cells that are uniform over the values, or over the range of numbers."""
    if column.values is None:
        return rng.uniform(column.low, column.high, n)
    return rng.integers(0, len(column.values), n, dtype=np.uint8)
