"""Normal distributions given the class and values of parents, as tables.

A cell holds, one behind the other, the means of all classes, the inverse deviations and the logs at the mean. Where
there is no distribution the log is minus infinity; where the density is to be 1, all are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.counts.context_moments import ContextMoments
from tanager.export.tables import Reader, Table
from tanager.scoring.densities import ProductOfDensities, SumOfDensities
from tanager.scoring.forms import ParentSet


class NormalReader:
    """Reads distributions of number columns in the contexts of parent sets."""

    def __init__(self, reader: Reader, moments: ContextMoments) -> None:
        self.reader, self.moments = reader, moments
        nothing = self._lines(())
        ends = (np.full((1, moments.n_columns), end) for end in (-np.inf, np.inf))
        self.low, self.high = (moments.normals(nothing, end)[2][0] for end in ends)  # what numbers are brought to

    def _lines(self, parents: ParentSet) -> np.ndarray:
        """The context of every combination of slots, (rows, 1); negative where a parent is missing."""
        place = self.moments.place[tuple(sorted(parents))]
        return self.moments.lines(self.reader.rows(parents), [place])

    def _table(self, parents: ParentSet, parts: Sequence[np.ndarray]) -> Table:
        """Mean, inverse and top (rows, classes) as a table."""
        shape = [int(self.reader.n_slots[i]) for i in parents]
        return Table(parents, np.concatenate(parts, axis=1).reshape(*shape, -1))

    def term(self, g: int, parents: ParentSet) -> Table:
        """The distributions of a number; none where a parent is missing."""
        lines, k = self._lines(parents), self.moments.n_classes
        normals, found, _ = self.moments.normals(lines, np.zeros((len(lines), self.moments.n_columns)))
        at = np.maximum(found, 0) + np.arange(k)
        mean, inverse, top = (part[at, g] for part in normals)
        absent = found < 0
        return self._table(
            parents, [*(np.where(absent, 0.0, x) for x in (mean, inverse)), np.where(absent, -np.inf, top)]
        )

    def term_or_shorter(self, g: int, parents: ParentSet) -> Table:
        """The same; where a parent is missing, given those before it."""
        cells, k = self.term(g, parents).cells, self.moments.n_classes
        for size in range(len(parents) - 1, -1, -1):
            shorter = self.term(g, parents[:size]).cells
            wide = shorter.reshape(shorter.shape[:-1] + (1,) * (len(parents) - size) + shorter.shape[-1:])
            cells = np.where(np.isneginf(cells[..., -k:]).any(axis=-1, keepdims=True), wide, cells)
        return Table(parents, cells)

    def inside(self, g: int, parents: ParentSet) -> Table:
        """The distribution of a number in its own bin, among rows of all classes; 1 where it is missing."""
        lines, k = self._lines(parents), self.moments.n_classes
        normals, _ = self.moments.normals_of_all(lines, np.array([g]))
        return self._table(parents, [np.repeat(np.where(lines < 0, 0.0, part), k, axis=1) for part in normals])

    def one(self, parents: ParentSet) -> Table:
        """Density 1, whatever the number."""
        n_rows = len(self.reader.rows(parents))
        return self._table(parents, [np.zeros((n_rows, self.moments.n_classes))] * 3)


def product_densities(scorer: ProductOfDensities, reader: NormalReader) -> tuple[list[list[Table]], list[Table | None]]:
    """For every number the terms of its sum, and what takes their place where all lack a parent; None: they do."""
    k = reader.moments.n_classes
    terms: list[list[Table]] = []
    otherwise: list[Table | None] = []
    for g in range(reader.moments.n_columns):
        sets = scorer.sets.get(g, [])
        if len(sets) <= 1:
            terms.append([reader.term_or_shorter(g, own) for own, _ in sets] or [reader.one(())])
            otherwise.append(None)
            continue
        weighed = []
        for own, weight in sets:
            table = reader.term(g, own)
            table.cells[..., -k:] += np.log(weight)
            weighed.append(table)
        terms.append(weighed)
        otherwise.append(reader.term(g, ()))
    return terms, otherwise


def member_densities(scorer: SumOfDensities, reader: NormalReader) -> list[list[Table]]:
    """For every member the distributions of all numbers; of its own super-parent that in its bin."""
    children = reader.moments.children
    return [
        [reader.inside(g, s) if i in s else reader.term(g, s) for g, i in enumerate(children)]
        for s in scorer.form.members
    ]
