"""One row at a time: plain dicts in, labels and probabilities out; and whole tables, answered row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tanager.counts.align import as_label_array
from tanager.encoding.chunks import n_rows, take_rows
from tanager.encoding.validation import check_lengths, check_times, check_weights, one_dimensional
from tanager.encoding.values import is_missing
from tanager.errors import DataError


class OneRowMixin:
    """learn_one, predict_one, predict_proba_one and test_then_train of every classifier."""

    def learn_one(self: Any, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0, time: Any = None) -> Any:
        """Learn one row. Absent keys are missing; a missing label teaches nothing. ``time`` says when it happened."""
        check_row(row, "learn_one")
        if is_missing(y):
            return self
        weights = None if sample_weight == 1.0 else np.array([sample_weight])
        return self.partial_fit([row], [y], sample_weight=weights, times=None if time is None else [time])

    def predict_proba_one(self: Any, row: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of every class known so far; an empty dict before the first row."""
        check_row(row, "predict_proba_one")
        if not self._has_learned():
            return {}
        return dict(zip(self._class_codes(), self._answer_first([row])[0].tolist(), strict=True))

    def _has_learned(self: Any) -> bool:
        """Whether there are rows to answer from; those of a warm-up are counted first."""
        if hasattr(self, "classes_"):
            self._settle()
        return hasattr(self, "encoder_")

    def _answer_first(self: Any, one: Any) -> np.ndarray:
        """The answer for a table of one row, in a stream."""
        return self._scores(one, log_joint=False)

    def predict_one(self: Any, row: Mapping[str, Any]) -> Any:
        """The answer for one row; None before the first row was learned."""
        proba = self.predict_proba_one(row)
        if not proba:
            return None
        return self._decide(np.array([list(proba.values())])).tolist()[0]

    def _class_codes(self: Any) -> dict[Any, int]:
        """Label to class code; made again when classes have come."""
        cached = self.__dict__.get("_codes_of_classes")
        if cached is None or cached[0] is not self.classes_:
            codes = {label: c for c, label in enumerate(self.classes_.tolist())}
            cached = self._codes_of_classes = (self.classes_, codes)
        return cached[1]

    def test_then_train(
        self: Any, X: Any, y: Any, sample_weight: Any = None, times: Any = None, answered: Any = None
    ) -> np.ndarray:
        """Answer every row from the rows before it, then learn it; one column per class of the final ``classes_``.

        The same numbers as ``predict_proba_one`` and ``learn_one`` in turn, at the speed of compiled code. A row that
        comes before anything was learned is answered evenly; a class that was not known yet gets 0. Where the
        structure depends on the counts, it is learned again now and then; see ``refresh``.

        Parameters
        ----------
        X, y, sample_weight
            Rows to learn.
        times : array, default=None
            When they happened, for models that forget by time.
        answered : table, default=None
            Rows to answer, as many as are learned. None: the rows of X. With late labels they are newer than those.
        """
        m = n_rows(X)
        y = one_dimensional(y)
        labels = as_label_array(y) if isinstance(y, list | tuple) else np.asarray(y)
        check_lengths(m, labels)
        if answered is not None and n_rows(answered) != m:
            raise DataError(
                f"answered has {n_rows(answered):,} rows and X has {m:,}. Give as many to answer as to learn."
            )
        weights, moments = check_weights(sample_weight, m), check_times(times, m)
        if not hasattr(self, "classes_"):
            self._start()
        parts: list[tuple[np.ndarray, np.ndarray]] = []  # classes known, and answers
        done = 0
        while done < m:
            rest = tuple(None if part is None else part[done:] for part in (labels, weights, moments))
            to_answer = None if answered is None else take_rows(answered, done, m)
            parts.append(self._test_some(take_rows(X, done, m), *rest, to_answer))
            done += len(parts[-1][1])
        return self._side_by_side(parts, m)

    def _side_by_side(self: Any, parts: list[tuple[np.ndarray, np.ndarray]], m: int) -> np.ndarray:
        """Answers that were given while classes came, in one array."""
        out = np.zeros((m, len(self.classes_)))
        place = self._class_codes()
        done = 0
        for classes, proba in parts:
            columns = [place[label] for label in classes.tolist()]
            out[done : done + len(proba), columns] = proba
            if not columns:
                out[done : done + len(proba)] = 1.0 / max(1, len(self.classes_))
            done += len(proba)
        return out

    def _test_some(
        self: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, times: np.ndarray | None, answered: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Answer and learn at least one row; returns the classes known then, and the answers."""
        return self._test_first(X, y, weights, times, answered)

    def _test_first(
        self: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, times: np.ndarray | None, answered: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Answer and learn the first row, whatever it holds."""
        one = take_rows(X, 0, 1)
        classes, proba = self.classes_[:0], np.zeros((1, 0))
        if self._has_learned():
            classes = self.classes_
            proba = self._answer_first(one if answered is None else take_rows(answered, 0, 1))
        if not is_missing(y[0]):
            some, when = (None if part is None else part[:1] for part in (weights, times))
            self.partial_fit(one, y[:1], sample_weight=some, times=when)
        return classes, proba


def check_row(row: Any, place: str) -> None:
    """Rows are dicts."""
    if type(row) is not dict and not isinstance(row, Mapping):
        raise DataError(f"{place} takes a dict of column names and values, got {type(row).__name__}.")
