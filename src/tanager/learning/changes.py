"""Which other values of a row would turn the answer at the least cost: sets of columns are tried by what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import fsum, inf, isclose, prod
from typing import Any

import numpy as np

from tanager.encoding.categories import cell_number
from tanager.encoding.cells import other_cells
from tanager.encoding.schema import Column
from tanager.encoding.typing import Label
from tanager.errors import OptionError, check_whole, is_number, nearest
from tanager.learning.classifier import Classifier
from tanager.learning.reading import check_row

MAX_ROWS = 2_000_000  # that one question may ask the model for
AT_ONCE = 50_000  # of them in one batch

Columns = tuple[int, ...]  # some that may change, ascending


@dataclass(frozen=True)
class Change:
    """Other cells for a row, and what the model then answers."""

    values: dict[str, Any]  # column: the cell to put there
    shown: dict[str, str]  # the same for people: of a number, the bin that it must lie in
    answer: Any
    probability: float  # of the answer, after the change
    gain: float  # by how much the change has raised it
    cost: float = 1.0  # of all columns that change

    def __str__(self) -> str:
        return f"{', '.join(f'{name} = {text}' for name, text in self.shown.items())}: {self.answer!r}"


def nearest_changes(
    model: Classifier,
    row: Mapping[str, Any],
    wanted: Label | None = None,
    *,
    columns: Iterable[str] | None = None,
    fixed: Iterable[str] = (),
    costs: Mapping[str, float] | None = None,
    max_columns: int = 2,
    max_rows: int | None = None,
) -> list[Change]:
    """The changes of a row that turn the model's answer at the least cost, those with the largest gain first.

    All values of single columns are tried; where none turns the answer, all pairs of values of two columns, and so on.
    With costs, sets of columns are tried by what they cost together, the cheapest first. All changes that are returned
    cost the same, and none that costs less turns the answer. Numbers are moved just into another bin. The list is empty
    where nothing turns the answer. It says what the *model* would answer about another row, and nothing about what
    would happen to a person or thing whose values are changed.

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
    fixed : iterable of str, default=()
        Columns that may not change: age, place of birth.
    costs : mapping from column to number, default=None
        What it costs to change a column, above 0; 1 for those that are not named. With all 1, the fewest columns.
    max_columns : int, default=2
        How many columns may change at most.
    max_rows : int, default=None
        How many rows the model may be asked for; more are refused. Default: two million.

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
    >>> nearest_changes(model, {"sky": "rain", "wind": "no"}, fixed=["sky"])
    []
    """
    row = check_row(row, "nearest_changes")
    check_whole("max_columns", max_columns, 1)
    check_whole("max_rows", max_rows, 1, or_none=True)
    before = np.asarray(model.predict_proba([dict(row)]))
    answer = model.decide(before).tolist()[0]
    _check_wanted(model, answer, wanted)
    known = frozenset(model.encoder_.schema.names)
    allowed = (known if columns is None else _checked("columns", columns, known)) - _checked("fixed", fixed, known)
    grid = _Grid.of(model, row, allowed, _checked_costs(costs, known))
    for cost, sets in grid.by_cost(max_columns, MAX_ROWS if max_rows is None else max_rows):
        if found := _turning(model, grid, sets, cost, before[0], answer, wanted):
            return sorted(found, key=lambda change: -change.gain)
    return []


def _check_wanted(model: Classifier, answer: Any, wanted: Any) -> None:
    known = model.class_codes
    if wanted is not None and wanted not in known:
        raise OptionError(f"wanted={wanted!r} is none of the classes.{nearest(wanted, known)}")
    if wanted is not None and wanted == answer:
        raise OptionError(f"wanted={wanted!r} is the answer already.")


def _turning(
    model: Classifier, grid: _Grid, sets: list[Columns], cost: float, before: np.ndarray, answer: Any, wanted: Any
) -> list[Change]:
    """All changes of these sets of columns after which the model answers otherwise, or as is wanted."""
    found = []
    for places in grid.rows(sets):
        proba = np.asarray(model.predict_proba(grid.table(places)))
        answers = model.decide(proba)
        for r in np.flatnonzero(answers != answer if wanted is None else answers == wanted).tolist():
            label = answers.tolist()[r]
            c = model.class_codes[label]
            values, shown = grid.change(places[r])
            found.append(Change(values, shown, label, float(proba[r, c]), float(proba[r, c] - before[c]), cost))
    return found


@dataclass(frozen=True)
class _Grid:
    """A row, and the cells that could stand in it: the first of a column is the present one."""

    cells: dict[str, np.ndarray]  # of all columns
    shown: dict[str, list[str]]
    columns: tuple[str, ...]  # those that may change
    costs: Mapping[str, float]

    @classmethod
    def of(
        cls, model: Classifier, row: Mapping[str, Any], allowed: frozenset[str], costs: Mapping[str, float]
    ) -> _Grid:
        schema = model.encoder_.schema
        cells, shown = {}, {}
        for column in schema.columns:
            if column.part:  # a date stays as it is
                cells[column.table_name], shown[column.table_name] = _array(column, [row.get(column.table_name)]), [""]
                continue
            others = other_cells(column, row.get(column.name)) if column.name in allowed else {}
            cells[column.name] = _array(column, [row.get(column.name), *others.values()])
            shown[column.name] = ["", *(str(column.describe(code)) for code in others)]
        return cls(cells, shown, tuple(name for name, others in shown.items() if len(others) > 1), costs)

    def by_cost(self, max_columns: int, max_rows: int) -> Iterator[tuple[float, list[Columns]]]:
        """All sets of columns that cost the same, the cheapest first; refused once there are too many rows to try."""
        own = [float(self.costs.get(name, 1.0)) for name in self.columns]
        n_values = [len(self.shown[name]) - 1 for name in self.columns]
        waiting: list[tuple[float, Columns]] = [(cost, (i,)) for i, cost in enumerate(own)]
        heapify(waiting)
        n_rows = 0
        while waiting:
            cost, sets = waiting[0][0], list[Columns]()
            while waiting and isclose(waiting[0][0], cost):
                sets.append(heappop(waiting)[1])
            n_rows += sum(prod(n_values[i] for i in which) for which in sets)
            self._check_size(len(sets[-1]), n_rows, max_rows)
            yield cost, sets
            for which in sets:  # each larger set is reached once, from the one without its last column
                for i in range(which[-1] + 1, len(own) if len(which) < max_columns else 0):
                    heappush(waiting, (fsum(own[j] for j in (*which, i)), (*which, i)))
                self._check_size(len(which) + 1, len(waiting), max_rows)

    def _check_size(self, size: int, n_rows: int, max_rows: int) -> None:
        if n_rows > max_rows:
            raise OptionError(
                f"changing {size} of {len(self.columns)} columns gives {n_rows:,} rows or more, and at most "
                f"{max_rows:,} are tried. Name the columns that may change: columns=[...]."
            )

    def rows(self, sets: list[Columns]) -> Iterator[np.ndarray]:
        """All rows with other cells in these columns, in batches: for each column that may change, which cell."""
        parts: list[np.ndarray] = []
        for which in sets:
            sizes = [len(self.shown[self.columns[i]]) - 1 for i in which]
            for start in range(0, prod(sizes), AT_ONCE):
                numbers = np.arange(start, min(start + AT_ONCE, prod(sizes)))
                places = np.zeros((len(numbers), len(self.columns)), dtype=np.int32)
                places[:, list(which)] = 1 + np.column_stack(np.unravel_index(numbers, sizes))
                parts.append(places)
                if sum(map(len, parts)) >= AT_ONCE:
                    yield np.concatenate(parts)
                    parts = []
        if parts:
            yield np.concatenate(parts)

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


def _checked(option: str, columns: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    found = frozenset([columns] if isinstance(columns, str) else columns)
    for name in sorted(found - known):
        raise OptionError(f"{option} names {name!r}, which the model has not learned.{nearest(name, known)}")
    return found


def _checked_costs(costs: Mapping[str, float] | None, known: frozenset[str]) -> Mapping[str, float]:
    found = {} if costs is None else costs
    _checked("costs", found, known)
    for name, cost in found.items():
        if not is_number(cost, 0) or not 0 < cost < inf:
            raise OptionError(f"costs[{name!r}]={cost!r}: give a number above 0, or name the column in fixed=.")
    return found


def _array(column: Column, cells: Sequence[Any]) -> np.ndarray:
    """Cells of a column; numbers as numbers, which are encoded faster."""
    if column.kind == "numeric" and not column.part:
        return np.array([cell_number(cell, column.name) for cell in cells])
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out
