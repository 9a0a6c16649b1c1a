"""Sample: rows as codes, in which any set of variables can be counted. Structure learners put their questions to it.

``JointCounts`` holds what is counted beforehand; a search over networks asks for families and conditional tables as it
goes. Every answer is remembered, so that thresholds, folds and learners share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tanager.encoding.schema import Schema
from tanager.errors import SchemaMismatch, nearest


class Information(NamedTuple):
    """What two variables tell about each other given others, over the rows in which all of them are present."""

    value: float  # I(X; Z | C) in nats, never negative, rounded to 12 decimals
    rows: float  # M, the weight of these rows
    df: float  # degrees of freedom, structural zeros removed
    naive_df: float  # (a_x - 1)(a_z - 1) times all configurations of C
    pearson: float  # Pearson's X²


class Sample:
    """Rows of codes over named variables, the class among them where there is one.

    Parameters
    ----------
    codes : array (n_rows, n_variables), uint8 or uint16
        The largest value of the type, and every code beyond the values, means missing.
    values : sequence of sequences
        The values of every variable, in the order of their codes.
    names : sequence of str
        The names of the variables.
    weights : array or None
        Of the rows.
    """

    def __init__(
        self,
        codes: np.ndarray,
        values: Sequence[Sequence[object]],
        names: Sequence[str],
        weights: np.ndarray | None = None,
    ) -> None:
        self.codes = np.asfortranarray(codes)
        self.values = tuple(tuple(v) for v in values)
        self.names = tuple(names)
        self.weights = weights
        self.n_values = np.array([len(v) for v in self.values], dtype=np.int64)
        self._information: dict[tuple[int, int, frozenset[int]], Information] = {}
        self._scores: dict[tuple[object, ...], float] = {}

    @classmethod
    def of_rows(
        cls,
        codes: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        schema: Schema,
        classes: Iterable[object],
        target: str = "class",
    ) -> Sample:
        """The columns of a schema and, last, the class, under a name that no column has."""
        while target in schema:
            target += "_"
        values = [[column.describe(v) for v in range(column.n_values)] for column in schema.columns]
        wide = max(codes.dtype, labels.dtype)
        both = np.empty((len(codes), codes.shape[1] + 1), dtype=wide, order="F")
        for part, place in ((codes, slice(0, -1)), (labels[:, None], slice(-1, None))):
            both[:, place] = np.where(part == np.iinfo(part.dtype).max, np.iinfo(wide).max, part)
        return cls(both, [*values, list(classes)], [*schema.names, target], weights)

    def index(self, name: str | int) -> int:
        """Position of a variable given by name or position; refused where there is none."""
        if isinstance(name, str):
            if name not in self.names:
                raise SchemaMismatch(f"there is no variable {name!r}.{nearest(name, self.names)}")
            return self.names.index(name)
        if not 0 <= name < len(self.names):
            raise SchemaMismatch(f"there is no variable {name!r}; they are numbered from 0 to {len(self.names) - 1}.")
        return int(name)

    @property
    def n_rows(self) -> float:
        """Total weight of the rows."""
        return float(len(self.codes) if self.weights is None else self.weights.sum())

    def count(self, *variables: int) -> np.ndarray:
        """How often the values of these variables occurred together, one axis each; rows that lack one are left out."""
        shape = tuple(int(self.n_values[i]) for i in variables)
        columns = self.codes[:, list(variables)].astype(np.int64)
        known = (columns < np.array(shape, dtype=np.int64)).all(axis=1) if variables else np.ones(len(columns), bool)
        cells = np.zeros(len(columns), dtype=np.int64)
        for column, size in zip(columns.T, shape, strict=True):
            cells = cells * size + column
        w = None if self.weights is None else self.weights[known]
        size = int(np.prod(shape, dtype=np.int64))
        return np.bincount(cells[known], w, minlength=size).astype(float).reshape(shape)

    def information(self, x: int, z: int, given: Iterable[int] = ()) -> Information:
        """I(X; Z | given) with its degrees of freedom; the same whichever comes first."""
        c = frozenset(int(i) for i in given)
        key = (min(x, z), max(x, z), c)
        if key not in self._information:
            self._information[key] = self._work_out(key[0], key[1], sorted(c))
        return self._information[key]

    def _work_out(self, x: int, z: int, given: list[int]) -> Information:
        table = self.count(x, z, *given).reshape(int(self.n_values[x]), int(self.n_values[z]), -1)
        rows = table.sum()

        def n_log_n(n: np.ndarray) -> float:
            return float((n * np.log(np.where(n > 0, n, 1.0))).sum())

        xc, zc, c = table.sum(1), table.sum(0), table.sum((0, 1))
        total = n_log_n(table) + n_log_n(c) - n_log_n(xc) - n_log_n(zc)
        value = max(round(total / rows, 12), 0.0) if rows > 0 else 0.0
        r_x, r_z = (xc > 0).sum(0), (zc > 0).sum(0)
        df = float(((r_x - 1) * (r_z - 1))[c > 0].sum())
        expected = xc[:, None] * zc[None] / np.where(c > 0, c, 1.0)
        pearson = float(((table - expected) ** 2 / np.where(expected > 0, expected, 1.0))[expected > 0].sum())
        naive = float((table.shape[0] - 1) * (table.shape[1] - 1) * table.shape[2])
        return Information(value, float(rows), df, naive, pearson)

    def where(self, variable: int, value: int) -> Sample:
        """The rows in which a variable has a value, as a sample of their own."""
        return self.take(np.flatnonzero(self.codes[:, variable] == value))

    def take(self, rows: np.ndarray) -> Sample:
        """Some rows, by position, as a sample of their own."""
        weights = None if self.weights is None else self.weights[rows]
        return Sample(self.codes[rows], self.values, self.names, weights)
