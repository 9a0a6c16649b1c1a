"""Test, then train: every row is answered from the rows before it, and then learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.encoding.chunks import n_rows
from tanager.encoding.validation import check_lengths, check_times, check_weights
from tanager.encoding.values import is_missing
from tanager.errors import DataError, counted_from
from tanager.learning.batch import StreamPart
from tanager.learning.reading import as_labels

if TYPE_CHECKING:
    from tanager.learning.classifier import Classifier

Answers = tuple[np.ndarray, np.ndarray]  # the classes known when rows were answered, and their probabilities


def run(model: Classifier, X: Any, y: Any, sample_weight: Any, times: Any, answered: Any) -> np.ndarray:
    """The answers that rows get from those before them, with a column for each of the classes known at the end."""
    model.check_teachable()
    m = n_rows(X)
    labels = as_labels(y)
    check_lengths(m, labels)
    if answered is not None and n_rows(answered) != m:
        raise DataError(f"answered has {n_rows(answered):,} rows and X has {m:,}. Give as many to answer as to learn.")
    stream = StreamPart(X, labels, check_weights(sample_weight, m), check_times(times, m), answered)
    if not model.started:
        model.start()
    parts: list[Answers] = []
    done = 0
    while done < m:
        try:
            parts.append(model._answer_and_learn(stream.part(done, m)))
        except DataError as error:
            raise counted_from(error, done) from None
        done += len(parts[-1][1])
    return _side_by_side(model, parts, m)


def _side_by_side(model: Classifier, parts: list[Answers], m: int) -> np.ndarray:
    """Answers that were given while classes came, in one array."""
    out = np.zeros((m, len(model.classes_)))
    place = model.class_codes
    done = 0
    for classes, proba in parts:
        columns = [place[label] for label in classes.tolist()]
        out[done : done + len(proba), columns] = proba
        if not columns:
            out[done : done + len(proba)] = 1.0 / max(1, len(model.classes_))
        done += len(proba)
    return out


def answer_and_learn_first(model: Classifier, rows: StreamPart) -> Answers:
    """Answer and learn the first row, whatever it holds."""
    first = rows.part(0, 1)
    classes, proba = model.classes_[:0], np.zeros((1, 0))
    if model.has_learned:
        classes, proba = model.classes_, model.stream_proba(first.to_answer)
    if not is_missing(first.y[0]):
        model.partial_fit(first.X, first.y, sample_weight=first.weights, times=first.times)
    return classes, proba
