"""The plan of a forest: what each member looks at, how it groups values, and what depends on what; drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.encoding import Column, Schema
from tanager.scoring.forest import MOST_CELLS

# Fewest and most bins of a number, and most parents: from networks like deep trees to smooth densities. Which of them a
# table asks for differs, so members take turns, and their weights decide.
GRANULARITIES = ((2, 4, 10), (3, 6, 8), (4, 12, 6), (8, 24, 4), (16, 64, 3))
MOST_COLUMNS = 64  # that one member looks at
MOST_GROUPS = 64  # of the values of a category
MERGED = 0.5  # share of the members that merge values of categories at random
SHARPNESS = (0.0, 1.0)  # how much parents are drawn by what they tell about the class; members take turns
_COARSE = np.arange(1, 8) / 8  # bins that the information of a column is estimated with
INFORMATION_ROWS = 5000
_LEAST_CELLS, _CELLS_PER_ROW = 1024, 4  # of a family


@dataclass(frozen=True)
class ForestPlan:
    """Families of columns by member. A slot is a value of a column, or (its last one) a missing value."""

    n_slots: tuple[int, ...]
    groups: np.ndarray  # (members, slots): the group of every slot
    families: np.ndarray  # (families, 2 + parents): member, column, parents; -1 where there are fewer

    def part(self, which: np.ndarray) -> ForestPlan:
        """Some of the families."""
        return ForestPlan(self.n_slots, self.groups, self.families[which])


def draw_plan(
    schema: Schema,
    slots: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    n_members: int,
    seed: int,
    masses: Sequence[np.ndarray] | None = None,
) -> ForestPlan:
    """Draw the members of a forest for rows of these slots (columns, rows), class codes and weights.

    ``masses`` are what the slots of each column weigh in all rows, where these are only the first of them.
    """
    rng = np.random.default_rng(seed)
    if masses is None:
        masses = [
            np.bincount(own, weights, minlength=column.n_values + 1)
            for column, own in zip(schema.columns, slots, strict=True)
        ]
    columns = [_Values(column, own) for column, own in zip(schema.columns, masses, strict=True)]
    information = _information(columns, slots, labels, weights, n_classes)
    starts = np.cumsum([0, *(column.n_slots for column in columns)])
    places = [start + own.order for start, own in zip(starts, columns, strict=False)]
    later = np.triu(np.ones((min(len(columns), MOST_COLUMNS),) * 2, dtype=bool))
    groups = np.zeros((n_members, starts[-1]), dtype=np.uint8)
    most_cells = min(MOST_CELLS, max(_LEAST_CELLS, _CELLS_PER_ROW * int(masses[0].sum() if masses else 0)))
    families: list[list[int]] = []
    none, width = [-1] * max(most for *_, most in GRANULARITIES), 2
    for member in range(n_members):
        fewest, most, most_parents = GRANULARITIES[member % len(GRANULARITIES)]
        merged = rng.random() < MERGED
        order = np.argsort(-(np.log(information) + rng.gumbel(size=len(columns))), kind="stable")[:MOST_COLUMNS]
        if member == 0:
            order = np.argsort(-information, kind="stable")[:MOST_COLUMNS]
        looks_at = order.tolist()
        drawn = [columns[i].drawn(rng, int(rng.integers(fewest, most + 1)), merged) for i in looks_at]
        own, n_values = _numbered(drawn)
        groups[member, np.concatenate([places[i] for i in looks_at])] = own
        groups[member, starts[order + 1] - 1] = n_values  # missing values are the last group
        n_groups = dict(zip(looks_at, (n_values + 1).tolist(), strict=True))
        k = int(rng.integers(0, most_parents + 1))
        ranks = rng.gumbel(size=(len(order), len(order)))
        ranks += SHARPNESS[member % len(SHARPNESS)] * np.log(information[order])
        ranks[later] = -np.inf  # columns that come later
        candidates = order[np.argsort(-ranks, axis=1, kind="stable")].tolist()
        for at, i in enumerate(looks_at):
            parents = _fitting(candidates[at][:at], n_groups, i, k, most_cells)
            families.append([member, i, *parents, *none[len(parents) :]])
        width = max(width, 2 + k)
    table = np.array(families, dtype=np.int32).reshape(-1, 2 + len(none))[:, :width]
    return ForestPlan(tuple(column.n_slots for column in columns), groups, np.ascontiguousarray(table))


def _fitting(candidates: list[int], n_groups: dict[int, int], child: int, k: int, most_cells: int) -> list[int]:
    """The first k candidates whose combinations are not too many."""
    parents, cells = list[int](), n_groups[child]
    for parent in candidates if k else ():
        if cells * n_groups[parent] <= most_cells:
            cells *= n_groups[parent]
            parents.append(parent)
            if len(parents) == k:
                break
    return parents


class _Values:
    """The values of one column: in which order they are grouped, and where each lies among the rows."""

    def __init__(self, column: Column, masses: np.ndarray) -> None:
        n = column.n_values
        self.n_slots = n + 1
        self.ordered = is_ordered(column)
        self.order = value_order(column)
        masses = masses[:n][self.order]
        self.middles = (np.cumsum(masses) - masses / 2) / max(masses.sum(), 1e-9)

    def drawn(self, rng: np.random.Generator, n_bins: int, merged: bool) -> tuple[np.ndarray, int]:
        """Groups of the values in their order, some of them perhaps without a value, and how many there are.

        Numbers are in about so many bins of jittered equal frequency.
        """
        n = self.n_slots - 1
        if self.ordered:
            cuts = np.sort((np.arange(1, n_bins) + rng.uniform(-0.5, 0.5, n_bins - 1)) / n_bins)
            return self.binned(cuts), n_bins
        if n > MOST_GROUPS or (merged and n > 2):
            n_groups = int(rng.integers(2, min(n, MOST_GROUPS) + 1))
            return rng.integers(0, n_groups, n), n_groups
        return self.order, n

    def binned(self, cuts: np.ndarray) -> np.ndarray:
        """The bin of each value, by shares of the rows at which to cut."""
        return np.searchsorted(cuts, self.middles)

    def coarse(self) -> np.ndarray:
        """A few groups to estimate information with, one for every slot; missing values are the last."""
        groups = self.binned(_COARSE) if self.ordered else np.arange(self.n_slots - 1) % 256
        own = np.empty(self.n_slots, dtype=np.int64)
        own[self.order] = groups
        own[-1] = int(groups.max(initial=-1)) + 1
        return own


def is_ordered(column: Column) -> bool:
    """Whether the values are numbers, or have an order, so that neighbours are alike."""
    numbers = (isinstance(value, int | float) and not isinstance(value, bool) for value in column.values)
    category = column.kind == "categorical" and not column.other and column.n_values > 2 and all(numbers)
    return column.kind in ("numeric", "ordinal") or category


def value_order(column: Column) -> np.ndarray:
    """The codes of a column from small to large, or by name: whatever row came first."""
    order = np.arange(column.n_values)
    if column.by_value:
        names = column.values if is_ordered(column) else [f"{type(value).__name__} {value}" for value in column.values]
        order[: len(column.values)] = np.argsort(np.array(names), kind="stable")
    return order


def _numbered(drawn: Sequence[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Groups of several columns without those that have no value, and how many are left of each.

    Given with how many there may be. All columns at once: they are many, and most have few values.
    """
    most = np.array([n + 1 for _, n in drawn])  # one more, so that each column has a place even without values
    starts, sizes = np.cumsum(most) - most, [len(own) for own, _ in drawn]
    flat = np.concatenate([own for own, _ in drawn]) + np.repeat(starts, sizes)
    seen = np.zeros(int(most.sum()), dtype=np.int64)
    seen[flat] = 1
    numbers = np.cumsum(seen)
    before = numbers[starts] - seen[starts]
    return numbers[flat] - 1 - np.repeat(before, sizes), numbers[starts + most - 1] - before


def _information(
    columns: list[_Values], slots: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_classes: int
) -> np.ndarray:
    """What each column tells about the class, by itself; never quite nothing."""
    labels, weights = labels[:INFORMATION_ROWS], weights[:INFORMATION_ROWS]  # rows come in random order
    found = np.full(len(columns), 1e-4)
    for i, column in enumerate(columns):
        groups = column.coarse()[slots[i, :INFORMATION_ROWS]]
        size = (int(groups.max(initial=0)) + 1) * n_classes
        joint = np.bincount(groups * n_classes + labels, weights, minlength=size)
        shares = joint.reshape(-1, n_classes) / max(float(weights.sum()), 1e-9)
        alone = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
        seen = shares > 0
        told = float(np.sum(shares[seen] * np.log(shares[seen] / alone[seen])))
        found[i] += round(max(0.0, told), 9)  # columns that are alike stay so, whatever the order of rows
    return found
