"""Locked rows: numbers of tables that a person has set stay as they are, whatever the rows say.

A locked row is P(child | these values of all parents). It answers where the whole family is there; where a parent is
missing, the estimate with the parents before it does, as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tanager.counts.block import Block, Query
from tanager.encoding import Schema
from tanager.networks.network import Network
from tanager.networks.tables import LockedRows
from tanager.scoring.calibration import TINY, log_factors
from tanager.scoring.decision import posterior
from tanager.scoring.explain import PartList
from tanager.scoring.forms import ParentSet, ProductOfSums
from tanager.scoring.view import View


@dataclass(frozen=True)
class LockedRow:
    """One row as codes: the values of the columns among the parents, the class (None where it is no parent), and logs.

    The logs are one for every value of the child or, in a row of the class, for every class.
    """

    columns: tuple[int, ...]
    values: tuple[int, ...]
    label: int | None
    logs: np.ndarray

    def where(self, codes: np.ndarray) -> np.ndarray:
        """Which rows have these values."""
        found = np.ones(len(codes), dtype=bool)
        for i, v in zip(self.columns, self.values, strict=True):
            found &= codes[:, i] == v
        return found


@dataclass(frozen=True)
class LockedTables:
    """All locked rows that answers depend on: those of the class, and those of its children by column."""

    of_class: tuple[LockedRow, ...]
    of_columns: Mapping[int, tuple[LockedRow, ...]]

    @classmethod
    def read(
        cls, network: Network, target: str, locked: LockedRows, schema: Schema, classes: Sequence[object]
    ) -> LockedTables:
        """From rows over the values of a network to rows over the codes of a schema.

        Values that only the network has were never seen, so that no row can have them. Those that the network lacks
        have a probability of 0.
        """
        of_class: tuple[LockedRow, ...] = ()
        of_columns = {}
        for name, rows in network.checked_rows(locked).items():
            parents = network.parents(name)
            if name != target and target not in parents:
                continue  # answers do not depend on it
            places = {
                other: network.places(other, classes if other == target else _values(schema, other))
                for other in (*parents, name)
            }
            found = [_row(dict(zip(parents, at, strict=True)), own, places, name, target, schema) for at, own in rows]
            known = tuple(row for row in found if row is not None)
            if name == target:
                of_class = known
            else:
                of_columns[schema.index(name)] = known
        return cls(of_class, of_columns)

    def put(self, i: int, logs: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Logs of P(x_i | class, parents), one line per row, with the locked numbers in them."""
        logs = logs.copy()
        for row in self.of_columns.get(i, ()):
            there = np.flatnonzero(row.where(codes) & (codes[:, i] < len(row.logs)))
            logs[there, row.label] = row.logs[codes[there, i]]
        return logs

    def put_class(self, logs: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The same for logs of P(class | its parents)."""
        logs = logs.copy()
        for row in self.of_class:
            logs[row.where(codes)] = row.logs
        return logs


def _values(schema: Schema, name: str) -> list[object]:
    return [schema[name].describe(v) for v in range(schema[name].n_values)]


def _row(
    given: Mapping[str, int],
    numbers: np.ndarray,
    places: Mapping[str, Sequence[int]],
    name: str,
    target: str,
    schema: Schema,
) -> LockedRow | None:
    """A row by codes; None where a value of a parent was never seen. ``places`` are those of our values in the network.

    Zero stands for a very small probability, so that rows in which every class is impossible still have an answer.
    """
    if any(place not in places[parent] for parent, place in given.items()):
        return None
    codes = {parent: list(places[parent]).index(place) for parent, place in given.items()}
    label = codes.pop(target, None)
    own = np.append(numbers, 0.0)[list(places[name])]  # place -1 is the last
    logs = np.log(np.maximum(own, TINY))
    return LockedRow(tuple(schema.index(parent) for parent in codes), tuple(codes.values()), label, logs)


def log_factor(view: View, child: int, parents: ParentSet, rows: Query | Block, n_jobs: int = 1) -> np.ndarray:
    """Logs of P(x_child | class, parents), a line per row, 0 where x_child is missing; rows of a block are left out."""
    return without_prior(view, ProductOfSums((child,), (parents,), (1.0,)), rows, n_jobs)


def without_prior(view: View, form: ProductOfSums, rows: Query | Block, n_jobs: int = 1) -> np.ndarray:
    """Logs of a product over columns without P(class), which may be 0 and so cannot be divided by."""
    k = view.counts.n_classes
    even = View(view.counts, form, view.estimate, smooth_unseen=view.smooth_unseen, priors=[1.0 / k] * k)
    return _logs(even, rows, n_jobs) + np.log(k)


def _logs(view: View, rows: Query | Block, n_jobs: int) -> np.ndarray:
    if isinstance(rows, Block):
        return view.leave_one_out(rows, log_joint=True, n_jobs=n_jobs)
    return view.score(rows, log_joint=True, n_jobs=n_jobs)


class Locked:
    """Answers of a view whose families have locked rows."""

    compiled = None

    def __init__(self, view: View, tables: LockedTables) -> None:
        assert isinstance(view.form, ProductOfSums)
        self.view, self.tables, self.form = view, tables, view.form
        self._parents = dict(zip(self.form.child, self.form.parents, strict=True))
        self._columns = [i for i in self.form.child if i in tables.of_columns]

    def _without(self, columns: Iterable[int]) -> ProductOfSums:
        gone = set(columns)
        kept = tuple(i for i in self.form.child if i not in gone)
        parents = tuple(self._parents[i] for i in kept)
        return replace(self.form, child=kept, parents=parents, weight=(1.0,) * len(kept), free=())

    def _joint(self, rows: Query | Block, n_jobs: int) -> np.ndarray:
        """Logs of the joint: what is estimated, and one factor for every column with locked rows."""
        rest = self._without(self._columns)
        if self.tables.of_class:
            alone = self.view.with_form(replace(rest, child=(), parents=(), weight=()))
            own = _logs(alone, rows, n_jobs) - log_factors(self.view)
            joint = self.tables.put_class(own, rows.codes) + log_factors(self.view)
            joint += without_prior(self.view, replace(rest, class_parents=()), rows, n_jobs)
        else:
            joint = _logs(self.view.with_form(rest), rows, n_jobs)
        for i in self._columns:
            joint += self._factor(i, rows, n_jobs)
        return joint

    def _factor(self, i: int, rows: Query | Block, n_jobs: int = 1) -> np.ndarray:
        return self.tables.put(i, log_factor(self.view, i, self._parents[i], rows, n_jobs), rows.codes)

    def score(self, query: Query, *, log_joint: bool = False, n_jobs: int = 1) -> np.ndarray:
        """Posteriors or log joints."""
        joint = self._joint(query, n_jobs)
        return joint if log_joint else posterior(joint)

    def leave_one_out(self, block: Block, *, n_jobs: int = 1) -> np.ndarray:
        """Posteriors of learned rows, each left out; locked numbers never knew them."""
        return posterior(self._joint(block, n_jobs))

    def explain(self, query: Query, answer: int, against: int) -> tuple[float, PartList]:
        """Log-odds of the class by itself, and of every column."""
        parts: PartList = []
        for i in self.form.child:
            logs = self._factor(i, query)[0]
            parents = tuple(j for j in self._parents[i] if query.codes[0, j] < self.view.counts.schema.n_values[j])
            if query.codes[0, i] < self.view.counts.schema.n_values[i] + self.view.smooth_unseen:
                parts.append((i, parents, float(logs[answer] - logs[against])))
        joint = self._joint(query, 1)[0]
        return float(joint[answer] - joint[against]) - sum(part[2] for part in parts), parts
