"""What is evaluated: a labelled table, the classifiers, and how the rows are split into training and test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tanager.encoding import encode_labels
from tanager.encoding.chunks import rows_at
from tanager.encoding.dates import holds_dates
from tanager.encoding.row_order import LabelRuns, RowOrder, ranked, row_order
from tanager.encoding.tables import Table, read_table
from tanager.encoding.values import Numbers
from tanager.errors import DataError, OptionError, check_option
from tanager.evaluate.folds import blocked_folds, check_folds, stratified_folds, stratified_holdout
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.decision import check_costs


class Splits(Protocol):
    """How rows are split: numbered parts, each with its own test rows and training rows."""

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        """The test rows of a part, as booleans."""

    def train(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        """The training rows of a part: all others, unless they come too late."""

    def place(self, part: int) -> tuple[int, int]:
        """Its repetition and fold."""


# The names and fields of these are part of the keys in files of `resume=`: renaming them would orphan old files.


@dataclass(frozen=True)
class Folds:
    """Stratified folds: part p is fold p % folds of repetition p // folds."""

    folds: int
    seed: int

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        check_folds(self.folds, len(labels))
        return np.asarray(stratified_folds(labels, self.folds, self.seed + part // self.folds) == part % self.folds)

    def train(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return ~self.test(labels, part)

    def place(self, part: int) -> tuple[int, int]:
        return part // self.folds, part % self.folds


@dataclass(frozen=True)
class Holdout:
    """A stratified holdout: part p is repetition p."""

    share: float
    seed: int

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return stratified_holdout(labels, self.share, self.seed + part)

    def train(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return ~self.test(labels, part)

    def place(self, part: int) -> tuple[int, int]:
        return part, 0


@dataclass(frozen=True)
class BlockedFolds:
    """Neighbouring rows are one fold, in the order of the rows; all others are for training."""

    folds: int

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return np.asarray(blocked_folds(len(labels), self.folds) == part)

    def train(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return ~self.test(labels, part)

    def place(self, part: int) -> tuple[int, int]:
        return 0, part


@dataclass(frozen=True)
class ForwardFolds:
    """The same, and training rows are those before the fold. The first rows are for training alone."""

    folds: int

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return np.asarray(self._blocks(labels) == part + 1)

    def train(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return np.asarray(self._blocks(labels) <= part)

    def place(self, part: int) -> tuple[int, int]:
        return 0, part

    def _blocks(self, labels: np.ndarray) -> np.ndarray:
        check_folds(self.folds, len(labels) - 1)
        return blocked_folds(len(labels), self.folds + 1)


FOLD_ORDERS = ("random", "blocked", "forward")


def make_folds(folds: int, fold_order: str, seed: int, repeats: int) -> Splits:
    """The folds of a cross-validation. Raises OptionError where folds that follow the rows are to be repeated."""
    check_option("fold_order", fold_order, FOLD_ORDERS)
    if fold_order == "random":
        return Folds(folds, seed)
    if repeats > 1:
        raise OptionError(
            f"repeats={repeats} and fold_order={fold_order!r} exclude each other: these folds are the same each time. "
            "Leave repeats out."
        )
    return BlockedFolds(folds) if fold_order == "blocked" else ForwardFolds(folds)


@dataclass(frozen=True)
class LabelledTable:
    """A table whose cells were read once, with its labels as codes. Rows without a label are dropped."""

    X: Any
    names: tuple[str, ...] | None
    cells: list[Any]
    codes: np.ndarray | None
    labels: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any) -> LabelledTable:
        """From any table and its labels."""
        labels, classes = encode_labels(y)
        table = read_table(X)
        if table.n_rows != len(labels):
            raise DataError(f"X has {table.n_rows} rows, y has {len(labels)} labels. Give each row a label.")
        known = np.flatnonzero(labels != np.iinfo(labels.dtype).max)
        if len(known) < len(labels):
            X, labels = rows_at(X, known), labels[known]
            table = read_table(X)
        if len(classes) < 2:
            raise DataError(f"y has a single class, {classes[0]!r}; a classifier needs at least two.")
        cells = [] if table.codes is not None else [table.column(i) for i in range(table.n_columns)]
        return cls(X, table.names, cells, table.codes, labels.astype(np.uint16), classes)

    @property
    def table(self) -> Table:
        """The cells as a table."""
        if self.codes is not None:
            return read_table(self.codes)
        return Table(self.names, len(self.labels), [partial(_same, cells) for cells in self.cells])


def _same(cells: Any) -> Any:
    """The column itself. A module-level function, as plans are pickled and lambdas cannot be."""
    return cells


@dataclass
class EvaluationPlan:
    """A labelled table, the classifiers to evaluate on it, and its splits."""

    name: str
    data: LabelledTable
    models: dict[str, Any]
    splits: Splits
    n_parts: int
    costs: np.ndarray | None
    fingerprint: str | None = None  # of the data; computed by the checkpoint when it is needed

    def __post_init__(self) -> None:
        sharing: dict[str, list[str]] = {}
        self.fitted: list[str] = []  # classifiers that are fitted on their own
        for name, model in self.models.items():
            # Counts can be shared only by classifiers without forgetting and without Gaussian columns.
            alone = not isinstance(model, CountsClassifier) or model.forgets or model.answers_to_learn
            if alone or model.reads_numbers:
                self.fitted.append(name)
                continue
            model.check_options()
            sharing.setdefault(repr((sorted(model.encoder_options().items()), model.unseen)), []).append(name)
        self.groups = list(sharing.values())  # classifiers that encode the columns alike, and share their counts

    @property
    def n_cells(self) -> int:
        """Cells times classifiers of one part, an estimate of the work."""
        columns = len(self.data.cells) if self.data.codes is None else self.data.codes.shape[1]
        return len(self.data.labels) * columns * len(self.models)


def make_plan(name: str, models: Any, data: Any, splits: Splits, n_parts: int, costs: Any) -> EvaluationPlan:
    """Check the arguments of an evaluation. ``models`` may be a function of the data set."""
    made = models(data) if callable(models) else models
    if not isinstance(made, Mapping) or not made:
        raise OptionError("models must be a dict of names and classifiers, with at least one of them.")
    for key, model in made.items():
        if not hasattr(model, "predict_proba"):
            raise OptionError(f"models: {key!r} has no predict_proba; every classifier must give probabilities.")
    X, y = (data.X, data.y) if hasattr(data, "X") else data
    table = LabelledTable.of(X, y)
    splits.test(table.labels, 0)  # raises where the rows cannot be split like this
    if isinstance(splits, ForwardFolds):
        _check_first_rows(name, table, splits)
    return EvaluationPlan(name, table, dict(made), splits, n_parts, check_costs(costs, table.classes))


def _check_first_rows(name: str, table: LabelledTable, splits: ForwardFolds) -> None:
    """Raise unless the first rows, which are learned before all others, have two classes."""
    first = table.labels[splits.train(table.labels, 0)]
    if len(np.unique(first)) < 2:
        raise OptionError(
            f"the first {len(first):,} rows of {name!r} are all of class {table.classes.tolist()[first[0]]!r}: forward "
            "folds cannot learn from them. Use fewer folds, or folds that are blocked or random."
        )


def order_of(data: LabelledTable) -> RowOrder:
    """The order of the rows of a table."""
    runs = LabelRuns()
    runs.add(data.labels, data.classes.tolist())
    names = data.names or [str(i) for i in range(data.table.n_columns)]
    dates = {str(name) for name, cells in zip(names, data.cells, strict=False) if holds_dates(cells)}
    return row_order(runs, ((str(name), partial(_numbers, data, i)) for i, name in enumerate(names)), dates)


def _numbers(data: LabelledTable, i: int) -> np.ndarray:
    """A column as numbers that have its order."""
    if data.codes is not None:
        return np.asarray(data.codes[:, i])
    cells = data.cells[i]
    return np.asarray(cells.values) if isinstance(cells, Numbers) else ranked(cells.index, cells.values)
