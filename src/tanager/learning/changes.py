"""Which other values of a row would turn the answer: every value of every column is tried, then every pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tanager.encoding.categories import cell_number
from tanager.encoding.cells import other_cells
from tanager.encoding.schema import Column
from tanager.encoding.typing import Label
from tanager.errors import OptionError, check_whole, nearest
from tanager.learning.classifier import Classifier, check_row

MAX_ROWS = 2_000_000  # that one question may ask the model for
AT_ONCE = 50_000  # of them in one batch


@dataclass(frozen=True)
class Change:
    """Other cells for a row, and what the model then answers."""

    values: dict[str, Any]  # column: the cell to put there
    shown: dict[str, str]  # the same for people: of a number, the bin that it must lie in
    answer: Any
    probability: float  # of the answer, after the change
    gain: float  # by how much the change has raised it

    def __str__(self) -> str:
        return f"{', '.join(f'{name} = {text}' for name, text in self.shown.items())}: {self.answer!r}"


def nearest_changes(
    model: Classifier,
    row: Mapping[str, Any],
    wanted: Label | None = None,
    *,
    columns: Iterable[str] | None = None,
    max_columns: int = 2,
) -> list[Change]:
    """The changes of a row that turn the model's answer: with the fewest columns, then with the largest gain first.

    All values of single columns are tried; where none turns the answer, all pairs of values of two columns, and so on.
    Numbers are moved just into another bin. The list is empty where nothing turns the answer. It says what the *model*
    would answer about another row, and nothing about what would happen to a person or thing whose values are changed.

    Parameters
    ----------
    model : Classifier
        Fitted.
    row : mapping from column to cell
        Absent columns are missing, and may be filled in.
    wanted : label, default=None
        The answer to reach. Default: any other.
    columns : iterable of str, default=None
        The columns that may change. Default: all. Gaussian columns, which have no bins, stay as they are.
    max_columns : int, default=2
        How many columns may change at most.

    Returns
    -------
    list of Change
        The changes; each says which columns become what, and what the answer is then.

    Examples
    --------
    >>> from tanager import NaiveBayes, nearest_changes
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> model = NaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> for change in nearest_changes(model, {"sky": "rain", "wind": "no"}):
    ...     print(change, round(change.probability, 3))
    sky = sun: 'play' 0.917
    """
    row = check_row(row, "nearest_changes")
    check_whole("max_columns", max_columns, 1)
    before = np.asarray(model.predict_proba([dict(row)]))
    answer = model.decide(before).tolist()[0]
    _check_wanted(model, answer, wanted)
    grid = _Grid.of(model, row, columns)
    for size in range(1, min(max_columns, len(grid.columns)) + 1):
        if found := _turning(model, grid, size, before[0], answer, wanted):
            return sorted(found, key=lambda change: -change.gain)
    return []


def _check_wanted(model: Classifier, answer: Any, wanted: Any) -> None:
    known = model.class_codes
    if wanted is not None and wanted not in known:
        raise OptionError(f"wanted={wanted!r} is none of the classes.{nearest(wanted, known)}")
    if wanted is not None and wanted == answer:
        raise OptionError(f"wanted={wanted!r} is the answer already.")


def _turning(model: Classifier, grid: _Grid, size: int, before: np.ndarray, answer: Any, wanted: Any) -> list[Change]:
    """All changes of so many columns after which the model answers otherwise, or as is wanted."""
    found = []
    for places in grid.rows(size):
        proba = np.asarray(model.predict_proba(grid.table(places)))
        answers = model.decide(proba)
        for r in np.flatnonzero(answers != answer if wanted is None else answers == wanted).tolist():
            label = answers.tolist()[r]
            c = model.class_codes[label]
            values, shown = grid.change(places[r])
            found.append(Change(values, shown, label, float(proba[r, c]), float(proba[r, c] - before[c])))
    return found


@dataclass(frozen=True)
class _Grid:
    """A row, and the cells that could stand in it: the first of a column is the present one."""

    cells: dict[str, np.ndarray]  # of all columns
    shown: dict[str, list[str]]
    columns: tuple[str, ...]  # those that may change

    @classmethod
    def of(cls, model: Classifier, row: Mapping[str, Any], columns: Iterable[str] | None) -> _Grid:
        schema = model.encoder_.schema
        allowed = frozenset(schema.names) if columns is None else _checked(columns, frozenset(schema.names))
        cells, shown = {}, {}
        for column in schema.columns:
            others = other_cells(column, row.get(column.name)) if column.name in allowed else {}
            cells[column.name] = _array(column, [row.get(column.name), *others.values()])
            shown[column.name] = ["", *(str(column.describe(code)) for code in others)]
        return cls(cells, shown, tuple(name for name in schema.names if len(shown[name]) > 1))

    def rows(self, size: int) -> Iterator[np.ndarray]:
        """All rows with other cells in so many columns, in batches: for each column that may change, which cell."""
        sets = [(which, [len(self.shown[self.columns[i]]) - 1 for i in which]) for which in self._sets(size)]
        n_rows = sum(prod(sizes) for _, sizes in sets)
        if n_rows > MAX_ROWS:
            raise OptionError(
                f"changing {size} of {len(self.columns)} columns gives {n_rows:,} rows, and at most {MAX_ROWS:,} are "
                "tried. Name the columns that may change: columns=[...]."
            )
        parts: list[np.ndarray] = []
        for which, sizes in sets:
            for start in range(0, prod(sizes), AT_ONCE):
                numbers = np.arange(start, min(start + AT_ONCE, prod(sizes)))
                places = np.zeros((len(numbers), len(self.columns)), dtype=np.int32)
                places[:, which] = 1 + np.column_stack(np.unravel_index(numbers, sizes))
                parts.append(places)
                if sum(map(len, parts)) >= AT_ONCE:
                    yield np.concatenate(parts)
                    parts = []
        if parts:
            yield np.concatenate(parts)

    def _sets(self, size: int) -> list[list[int]]:
        return [list(which) for which in combinations(range(len(self.columns)), size)]

    def table(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """The rows, as columns."""
        by_column = dict(zip(self.columns, places.T, strict=True))
        stays = np.zeros(len(places), dtype=np.int32)
        return {name: cells[by_column.get(name, stays)] for name, cells in self.cells.items()}

    def change(self, places: np.ndarray) -> tuple[dict[str, Any], dict[str, str]]:
        """What differs in one row: the cells, and their text."""
        changed = [(name, place) for name, place in zip(self.columns, places.tolist(), strict=True) if place]
        values = {name: self.cells[name].tolist()[place] for name, place in changed}
        return values, {name: self.shown[name][place] for name, place in changed}


def _checked(columns: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    found = frozenset([columns] if isinstance(columns, str) else columns)
    for name in found - known:
        raise OptionError(f"columns names {name!r}, which the model has not learned.{nearest(name, known)}")
    return found


def _array(column: Column, cells: Sequence[Any]) -> np.ndarray:
    """Cells of a column; numbers as numbers, which are encoded faster."""
    if column.kind == "numeric":
        return np.array([cell_number(cell, column.name) for cell in cells])
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out
