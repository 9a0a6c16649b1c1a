"""One interface to models of tanager, river and scikit-learn: predict rows of a stream, and learn them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.frames import is_pandas
from tanager.encoding.tables import read_table
from tanager.encoding.values import is_missing
from tanager.errors import DataWarning, OptionError


class StreamRows:
    """Rows of a stream: the table, labels (None where missing), and times if there are any; ``at`` rows came before."""

    def __init__(self, X: Any, y: np.ndarray, times: Any, names: Sequence[str] | None, at: int = 0) -> None:
        self.X, self.y, self.times, self.names, self.at = X, y, times, names, at

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def dicts(self) -> list[dict[str, Any]]:
        """One dict per row, without missing cells, as river expects them."""
        if rows_of_dicts(self.X):
            return [{name: cell for name, cell in row.items() if not is_missing(cell)} for row in self.X]
        table = read_table(self.X)
        names = self.names or table.names or [f"x{i}" for i in range(table.n_columns)]
        columns = [_cells(table, i) for i in range(table.n_columns)]
        rows = zip(*columns, strict=True)
        return [{name: cell for name, cell in zip(names, row, strict=True) if cell is not None} for row in rows]

    @cached_property
    def frame(self) -> Any:
        """An array or a pandas frame, as scikit-learn expects them."""
        if isinstance(self.X, np.ndarray) or is_pandas(self.X):
            return self.X
        import pandas as pd

        if rows_of_dicts(self.X):
            return pd.DataFrame(list(self.X))
        if hasattr(self.X, "__arrow_c_stream__"):
            import pyarrow as pa

            return pa.table(self.X).to_pandas()
        return pd.DataFrame(self.X)

    @cached_property
    def labelled(self) -> np.ndarray:
        """Which rows have a label."""
        if self.y.dtype != object:
            return np.ones(len(self.y), dtype=bool)
        return np.array([label is not None for label in self.y.tolist()], dtype=bool)


def _cells(table: Any, i: int) -> list[Any]:
    """A column as plain values, None where missing."""
    cells = table.column(i)
    if hasattr(cells, "index"):  # categories
        values = [*cells.values, None]
        return [values[v] for v in cells.index.tolist()]
    return [None if value != value else value for value in cells.values.tolist()]


class Adapter(Protocol):
    """What a prequential evaluation asks of a model."""

    def classes(self) -> list[Any]:
        """The classes that the model knows, in the order of the columns of its predictions."""

    def predict(self, rows: StreamRows) -> np.ndarray:
        """Probabilities, one row each; no columns before anything was learned."""

    def learn(self, rows: StreamRows) -> None:
        """Learn rows; those without a label are skipped, unless the model can use them."""

    def test_then_train(self, test: StreamRows, train: StreamRows) -> np.ndarray:
        """Predict the first of ``test``, learn the first of ``train``, predict the second of ``test``, and so on."""


class TanagerAdapter:
    """A classifier of tanager: whole blocks are predicted and learned by compiled code."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def classes(self) -> list[Any]:
        return list(getattr(self.model, "classes_", np.array([])).tolist())

    def predict(self, rows: StreamRows) -> np.ndarray:
        return np.asarray(self.model.predict_proba(rows.X)) if self.classes() else np.zeros((len(rows), 0))

    def learn(self, rows: StreamRows) -> None:
        if not self.classes() and not rows.labelled.any():
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # that labels are missing
            self.model.partial_fit(rows.X, rows.y, **_times(rows))

    def test_then_train(self, test: StreamRows, train: StreamRows) -> np.ndarray:
        untrained = not self.classes()
        delayed = {} if test is train else {"answered": test.X}
        proba = np.asarray(self.model.test_then_train(train.X, train.y, **_times(train), **delayed))
        if untrained:  # before the first label there is nothing to predict from
            labelled = np.flatnonzero(train.labelled)
            proba[: 1 + labelled[0] if len(labelled) else len(train)] = 0.0
        return proba


def _times(rows: StreamRows) -> dict[str, Any]:
    return {} if rows.times is None else {"times": rows.times}


class RiverAdapter:
    """A classifier of river, or any other that learns and predicts one dict at a time."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._columns: dict[Any, int] = {}  # of each class, in the order in which the model named them

    def classes(self) -> list[Any]:
        return list(self._columns)

    def predict(self, rows: StreamRows) -> np.ndarray:
        return self._array([self.model.predict_proba_one(row) for row in rows.dicts])

    def learn(self, rows: StreamRows) -> None:
        for row, label in zip(rows.dicts, rows.y.tolist(), strict=True):
            if label is not None:
                self.model.learn_one(row, label)

    def test_then_train(self, test: StreamRows, train: StreamRows) -> np.ndarray:
        answers = []
        for new, row, label in zip(test.dicts, train.dicts, train.y.tolist(), strict=True):
            answers.append(self.model.predict_proba_one(new))
            if label is not None:
                self.model.learn_one(row, label)
        return self._array(answers)

    def _array(self, answers: Sequence[dict[Any, float]]) -> np.ndarray:
        for answer in answers:
            for label in answer:
                self._columns.setdefault(label, len(self._columns))
        proba = np.zeros((len(answers), len(self._columns)))
        for r, answer in enumerate(answers):
            for label, p in answer.items():
                proba[r, self._columns[label]] = p
        return np.nan_to_num(proba, copy=False)


class SklearnAdapter:
    """A classifier of scikit-learn with ``partial_fit`` and ``predict_proba``, which learns in batches."""

    def __init__(self, model: Any, known: Sequence[Any] | None) -> None:
        self.model, self.known = model, known
        if known is None and not hasattr(model, "classes_"):
            raise OptionError(
                f"{type(model).__name__} must know all classes before the first row, and this stream does not list "
                "them. Give them as classes=[...]."
            )

    def classes(self) -> list[Any]:
        return list(self.model.classes_.tolist()) if hasattr(self.model, "classes_") else []

    def predict(self, rows: StreamRows) -> np.ndarray:
        return np.asarray(self.model.predict_proba(rows.frame)) if self.classes() else np.zeros((len(rows), 0))

    def learn(self, rows: StreamRows) -> None:
        some = rows.labelled
        if not some.any():
            return
        X, y = (rows.frame, rows.y) if some.all() else (rows.frame[some], rows.y[some])
        classes = {} if self.classes() else {"classes": np.array(self.known)}
        self.model.partial_fit(X, np.array(y.tolist()), **classes)

    def test_then_train(self, test: StreamRows, train: StreamRows) -> np.ndarray:
        raise NotImplementedError  # always in batches; see adapter_for


def adapter_for(name: str, model: Any, known: Sequence[Any] | None, batch: int) -> Adapter:
    """The adapter that suits a model; an error where it cannot learn from a stream."""
    if isinstance(model, type):
        raise OptionError(f"model {name!r} is the class {model.__name__}; give an instance: {model.__name__}().")
    if hasattr(model, "test_then_train"):
        return TanagerAdapter(model)
    if hasattr(model, "learn_one") and hasattr(model, "predict_proba_one"):
        return RiverAdapter(model)
    if not hasattr(model, "partial_fit") or not hasattr(model, "predict_proba"):
        raise OptionError(
            f"model {name!r} is {type(model).__name__}, which cannot learn from a stream and predict probabilities. "
            "It needs partial_fit and predict_proba, or learn_one and predict_proba_one."
        )
    if batch == 1:
        raise OptionError(
            f"model {name!r} ({type(model).__name__}) learns in batches only. Give a number of rows, such as batch=100."
        )
    return SklearnAdapter(model, known)
