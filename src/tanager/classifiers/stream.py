"""Streams of counting classifiers: single rows in microseconds, whole arrays row by row in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tanager.classifiers.onerow import check_row
from tanager.encoding import Column, Schema
from tanager.encoding.chunks import take_rows
from tanager.encoding.values import is_missing, plain


class StreamMixin:
    """learn_one, predict_proba_one and test_then_train straight from and into the counts."""

    _view: Any

    def learn_one(self: Any, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0, time: Any = None) -> Any:
        """Learn one row. New keys are new columns, absent keys are missing; a missing label teaches nothing."""
        check_row(row, "learn_one")
        if not hasattr(self, "counts_") or self._warm is not None:
            return super().learn_one(row, y, sample_weight, time)  # type: ignore[misc]
        label = self._class_codes().get(y)
        if label is None and is_missing(y):
            return self
        if sample_weight != 0:  # cells that cannot be used are refused before a new class is taken in
            if self.encoder_.new_names(row):
                self._add_columns([row])
            codes = self.encoder_.update_row(row)
        if label is None:
            self._add_classes(np.array([plain(y)]))
            label = self._class_codes()[y]
        if sample_weight == 0:
            return self
        self._sync()
        self.counts_.learn_row(codes, label, sample_weight)
        if self._rows is not None or not self._answers_by_kernel():  # there is more to learn than counts
            weights = None if sample_weight == 1.0 else np.array([float(sample_weight)])
            self._learned([row], codes[None, :], np.array([label], dtype=np.uint16), weights)
        return self

    def predict_proba_one(self: Any, row: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        if not self._has_learned():
            return {}
        codes = self.encoder_.encode_row(row, self.unseen)
        view = self._structure(fresh=False)
        if self._answers_by_kernel():
            proba = view.plan.one(codes)
        else:
            proba = self._score_codes(codes[None, :], view, [row], log_joint=False)[0].tolist()
        return dict(zip(self._class_codes(), proba, strict=True))

    def _add_columns(self: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take in names that are no column yet: categorical, missing in all rows so far."""
        known = self.encoder_.schema
        new = dict.fromkeys(name for row in rows for name in self.encoder_.new_names(row) if not is_missing(row[name]))
        if self.schema is not None or not new:
            return
        self.encoder_.extend(Column(name, "categorical", reason="appeared in the stream") for name in new)
        # Three columns may be needed together where there were not even three.
        wider = self._shape(self.encoder_.schema) if len(known) < 3 else {}
        self.counts_.add_columns(self.encoder_.schema, **wider)
        self.n_features_in_ = len(self.encoder_.schema.names)
        if hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(self.encoder_.schema.names, dtype=object)
        if self._rows is not None:
            self._rows.add_columns(len(new))
        self._view = None

    def _answer_first(self: Any, one: Any) -> np.ndarray:
        view = self._structure(fresh=False)
        return self._score_codes(self._encode(one), view, one, log_joint=False)

    def _test_some(
        self: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, times: np.ndarray | None, answered: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Answer and learn at least one row, and stop where a class or (for the kernel) a value is new."""
        plain_rows = 0
        if hasattr(self, "counts_") and self._warm is None and self._answers_by_kernel():
            plain_rows = self._plain_rows(y, weights)
        if plain_rows == 0:
            return self._test_first(X, y, weights, times, answered)
        X, y, weights = take_rows(X, 0, plain_rows), y[:plain_rows], None if weights is None else weights[:plain_rows]
        labels, _ = self._labels(y)
        codes = self.encoder_.update(X, weights, type(self).__name__)
        out = np.empty((len(codes), len(self.classes_)))
        done = 0
        while done < len(codes):
            view = self._structure(fresh=False)
            part = slice(done, done + self._fresh_rows(len(codes) - done, None if weights is None else weights[done:]))
            some = None if weights is None else weights[part]
            went = view.stream(codes[part], labels[part], some, out[part])
            if went == 0:  # this row has a value that no row before it had
                went, part = 1, slice(done, done + 1)
                out[part] = view.score(self._unseen(codes[part]), n_jobs=1)
                self._grow_counts_to(codes[done])
                self.counts_.learn_rows(codes[part], labels[part], None if weights is None else weights[part])
            part = slice(done, done + went)
            self._learned(None, codes[part], labels[part], None if weights is None else weights[part])
            done += went
        self._sync()
        return self.classes_, out

    def _plain_rows(self: Any, y: np.ndarray, weights: np.ndarray | None) -> int:
        """How many rows from the first on have a known class and a weight."""
        odd = np.zeros(len(y), dtype=bool) if weights is None else weights == 0
        known = self._class_codes()
        values = np.unique(y) if y.dtype != object else np.array(list(dict.fromkeys(y.tolist())), dtype=object)
        for label in values.tolist():
            if label not in known:
                odd |= y == label if not is_missing(label) else np.array([is_missing(other) for other in y.tolist()])
        return int(np.argmax(odd)) if odd.any() else len(y)

    def _fresh_rows(self: Any, most: int, weights: np.ndarray | None) -> int:
        """How many rows the present view may answer in turn: until its form must be learned again."""
        if not self._adaptive():
            return most
        room = self._view_rows * self.stale - self.counts_.n_rows
        if weights is None:
            return min(most, max(0, int(room)) + 1)
        return min(most, 1 + int(np.searchsorted(np.cumsum(weights), room, side="right")))

    def _unseen(self: Any, codes: np.ndarray) -> np.ndarray:
        """Codes beyond the counts as prediction would see them."""
        n_values = self.counts_.schema.n_values
        beyond = (codes >= n_values) & (codes != np.iinfo(codes.dtype).max)
        marker = n_values if self.unseen == "smooth" else np.iinfo(codes.dtype).max
        return np.where(beyond, marker, codes).astype(codes.dtype)

    def _grow_counts_to(self: Any, row: np.ndarray) -> None:
        """Let the counts know the values up to those of this row; values have codes in order of appearance."""
        columns = list(self.counts_.schema.columns)
        for i, (column, code) in enumerate(zip(self.encoder_.schema.columns, row.tolist(), strict=True)):
            if columns[i].n_values <= code != np.iinfo(row.dtype).max:
                at_end = code + 1 >= column.n_values
                columns[i] = (
                    column
                    if at_end
                    else replace(
                        column, values=column.values[: code + 1], other=False, n_codes=min(column.n_codes, code + 1)
                    )
                )
        self.counts_.grow(Schema(tuple(columns)), self.classes_)
