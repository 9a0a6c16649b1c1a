"""Rows drawn from a Bayesian network, fixed or changing, and their probabilities with missing and noisy cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tanager.errors import DataError
from tanager.generate.sources import MAX_VALUES, MISSING, Column, Noise, Source, missing_cells
from tanager.networks import graph
from tanager.networks.inference import elimination_order
from tanager.networks.network import Network
from tanager.networks.sampling import draw_codes, thresholds

CELLS = 1 << 17  # of intermediate tables, over all rows that are processed at once
MAX_CELLS = 1 << 20  # of the intermediate tables of one row; beyond that no posterior is computed


class NetworkSource(Source):
    """Rows drawn from a network: its variables are the columns, one of them is the class."""

    def __init__(self, network: Network, target: str = "class", text: str = "network") -> None:
        network.require_tables(network.names)
        for name in network:
            if len(network.values(name)) > MAX_VALUES:
                raise DataError(
                    f"variable {name!r} has {len(network.values(name)):,} values; at most {MAX_VALUES} are possible."
                )
        self.network, self.target, self.text = _class_first(network, target), target, text
        self.columns = tuple(Column(name, self.network.values(name)) for name in self.network.names[1:])
        self.classes = self.network.values(target)

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        codes = draw_codes(self.network, len(rows), rng)
        return codes[:, 1:], codes[:, 0]

    def prior(self, rows: np.ndarray) -> np.ndarray:
        return self.network.posterior(self.target)[None, :]

    def log_joint(self, X: np.ndarray, rows: np.ndarray, noise: Noise) -> np.ndarray | None:
        gaps = np.ones(len(X), dtype=bool) if noise.any else missing_cells(X).any(axis=1)
        if gaps.any() and self._largest > MAX_CELLS:
            return None
        logs = np.empty((len(X), len(self.classes)))
        logs[~gaps] = self._log_whole(X[~gaps], rows[~gaps])
        left, size = np.flatnonzero(gaps), max(CELLS // self._largest, 1) if gaps.any() else 1
        for start in range(0, len(left), size):
            some = left[start : start + size]
            logs[some] = self._log_gaps(X[some], rows[some], noise.keep)
        return logs

    def _log_whole(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Complete rows: look up every family, for all classes at once."""
        logs = np.zeros((len(X), len(self.classes)))
        for i, family in enumerate(self._families):
            others = [j for j in family if j != 0]
            at = _place([X[:, j - 1] for j in others], [self._sizes[j] for j in others])
            logs += self._log_cells(i, at, rows)
        return logs

    def _log_cells(self, i: int, at: Any, rows: np.ndarray) -> np.ndarray:
        """log P(variable i | parents) at these indices of its family without the class; one column per class."""
        return np.asarray(self._log_by_class[i][at])

    @cached_property
    def _log_by_class(self) -> list[np.ndarray]:
        with np.errstate(divide="ignore"):
            return [np.log(cells) for cells in _class_last(self._tables, self._families)]

    def _log_gaps(self, X: np.ndarray, rows: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Rows with missing or noisy cells: variable elimination for all rows at once, which lie along the last axis.

        Every column is a hidden variable; its cell is evidence about it, certain or not.
        """
        factors = list(zip(self._families, self._at(rows), strict=True))
        factors += [((i + 1,), self._cell_likelihood(X[:, i], i, keep[i])) for i in range(X.shape[1])]
        scales = np.zeros(len(X))
        for variable, scope in self._steps:
            touching = [factor for factor in factors if variable in factor[0]]
            factors = [factor for factor in factors if variable not in factor[0]]
            rest = tuple(i for i in scope if i != variable)
            cells = _product(touching, (variable, *rest), self._sizes).sum(axis=0)
            top = cells.max(axis=tuple(range(cells.ndim - 1)))  # rescale: products over many columns would underflow
            top = np.where(top > 0, top, 1.0)
            scales += np.log(top)
            factors.append((rest, cells / top))
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(_product(factors, (0,), self._sizes)) + scales).T)

    def _at(self, rows: np.ndarray) -> list[np.ndarray]:
        """The tables at these rows, along the last axis; of length 1 if they are the same for all rows."""
        return [table[..., None] for table in self._tables]

    def _cell_likelihood(self, cells: np.ndarray, i: int, keep: float) -> np.ndarray:
        """P(observed cell | true value), for every true value and row; 1 for a missing cell."""
        n_values = self._sizes[i + 1]
        table = np.column_stack([keep * np.eye(n_values) + (1 - keep) / n_values, np.ones(n_values)])
        return table[:, np.where(cells == MISSING, n_values, cells)]

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(self.network.values(name)) for name in self.network]

    @cached_property
    def _families(self) -> list[tuple[int, ...]]:
        return [(*parents, i) for i, parents in enumerate(self.network.parent_indices)]

    @cached_property
    def _tables(self) -> list[np.ndarray]:
        return [self.network.tables[name] for name in self.network]

    @cached_property
    def _steps(self) -> list[tuple[int, tuple[int, ...]]]:
        return elimination_order(self._families, [0], self._sizes)

    @cached_property
    def _largest(self) -> int:
        return max((prod(self._sizes[i] for i in scope) for _, scope in self._steps), default=1)


class ChangingNetwork(NetworkSource):
    """A network whose tables change linearly from those of one network to those of another, between two rows."""

    def __init__(self, first: NetworkSource, second: NetworkSource, start: int, stop: int) -> None:
        super().__init__(
            first.network, first.target, f"{first.text} turning into another from row {start:,} to {stop:,}"
        )
        self._second, self.start, self.stop = second.network, start, stop

    def share(self, rows: np.ndarray) -> np.ndarray:
        """How far the change has gone: 0 at the start, 1 from the stop on."""
        return np.clip((rows - self.start) / (self.stop - self.start), 0.0, 1.0)

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        codes = np.empty((len(rows), len(self._sizes)), dtype=np.uint8, order="F")
        share = self.share(rows)
        for i, parents, first, second in self._draws:
            at = _place([codes[:, p] for p in parents], [self._sizes[p] for p in parents])
            u = rng.random(len(rows))
            codes[:, i] = 0
            for a, b in zip(first, second, strict=True):
                codes[:, i] += u >= (1 - share) * a[at] + share * b[at]
        return codes[:, 1:], codes[:, 0]

    @cached_property
    def _draws(self) -> list[tuple[int, tuple[int, ...], np.ndarray, np.ndarray]]:
        order = graph.topological(self.network.parent_indices) or []
        return [
            (i, self.network.parent_indices[i], thresholds(self._tables[i]), thresholds(self._second_tables[i]))
            for i in order
        ]

    def prior(self, rows: np.ndarray) -> np.ndarray:
        """P(class) at these rows. Only the class and its ancestors matter."""
        own = [self.target, *self.network.ancestors(self.target)]
        first, then = (NetworkSource(network.keep(own), self.target) for network in (self.network, self._second))
        nothing = np.full((len(rows), len(own) - 1), MISSING, dtype=np.uint8)
        few = ChangingNetwork(first, then, self.start, self.stop)
        return np.asarray(np.exp(few._log_gaps(nothing, rows, np.ones(len(own) - 1))))

    def _log_cells(self, i: int, at: Any, rows: np.ndarray) -> np.ndarray:
        share, (first, then) = self.share(rows)[:, None], self._by_class
        with np.errstate(divide="ignore"):
            return np.asarray(np.log((1 - share) * first[i][at] + share * then[i][at]))

    @cached_property
    def _by_class(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        return _class_last(self._tables, self._families), _class_last(self._second_tables, self._families)

    def _at(self, rows: np.ndarray) -> list[np.ndarray]:
        share = self.share(rows)
        tables = zip(self._tables, self._second_tables, strict=True)
        return [(1 - share) * first[..., None] + share * then[..., None] for first, then in tables]

    @cached_property
    def _second_tables(self) -> list[np.ndarray]:
        return [self._second.table_in_order(name, self.network.parents(name)) for name in self.network]

    def changes(self) -> Iterator[int]:
        return iter((self.start, self.stop))


def _class_first(network: Network, target: str) -> Network:
    """The same network with the class as its first variable."""
    network.index(target)
    names = [target, *(name for name in network if name != target)]
    return Network({name: network.values(name) for name in names}, network.arcs, network.tables)


def _place(codes: Sequence[np.ndarray], sizes: Sequence[int]) -> Any:
    """The index of the values of several variables in a flat table of all of them."""
    return np.ravel_multi_index(tuple(codes), tuple(sizes)) if codes else 0


def _class_last(tables: Sequence[np.ndarray], families: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Tables as (values of the family without the class, classes); one column if the class is not in the family."""
    flat = []
    for table, family in zip(tables, families, strict=True):
        moved = np.moveaxis(table, family.index(0), -1) if 0 in family else table[..., None]
        flat.append(np.ascontiguousarray(moved).reshape(-1, moved.shape[-1]))
    return flat


def _product(
    factors: Sequence[tuple[tuple[int, ...], np.ndarray]], scope: tuple[int, ...], sizes: Sequence[int]
) -> np.ndarray:
    """The product of factors whose last axis is rows, over a scope that has all their variables."""
    total: Any = 1.0
    for own, cells in sorted(
        factors, key=lambda factor: factor[1].size
    ):  # small ones first, so that few intermediate products are large
        axes = sorted(range(len(own)), key=lambda axis: scope.index(own[axis]))
        moved = cells.transpose(*axes, len(own))
        total = total * moved.reshape(*(sizes[i] if i in own else 1 for i in scope), -1)
    return np.asarray(total)
