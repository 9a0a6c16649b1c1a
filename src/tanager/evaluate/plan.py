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
from tanager.encoding.tables import Table, read_table
from tanager.errors import DataError, OptionError
from tanager.evaluate.folds import check_folds, stratified_folds, stratified_holdout
from tanager.learning.counts_classifier import CountsClassifier
from tanager.scoring.decision import check_costs


class Splits(Protocol):
    """How rows are split: numbered parts, each with its own test rows; all other rows are for training."""

    def test(self, labels: np.ndarray, part: int) -> np.ndarray:
        """The test rows of a part, as booleans."""

    def place(self, part: int) -> tuple[int, int]:
        """Its repetition and fold."""


# The names and fields of these two are part of the keys in files of `resume=`: renaming them would orphan old files.


@dataclass(frozen=True)
class Folds:
    """Stratified folds: part p is fold p % folds of repetition p // folds."""

    folds: int
    seed: int

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        check_folds(self.folds, len(labels))
        return np.asarray(stratified_folds(labels, self.folds, self.seed + part // self.folds) == part % self.folds)

    def place(self, part: int) -> tuple[int, int]:
        return part // self.folds, part % self.folds


@dataclass(frozen=True)
class Holdout:
    """A stratified holdout: part p is repetition p."""

    share: float
    seed: int

    def test(self, labels: np.ndarray, part: int) -> NDArray[np.bool_]:
        return stratified_holdout(labels, self.share, self.seed + part)

    def place(self, part: int) -> tuple[int, int]:
        return part, 0


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
    return EvaluationPlan(name, table, dict(made), splits, n_parts, check_costs(costs, table.classes))
