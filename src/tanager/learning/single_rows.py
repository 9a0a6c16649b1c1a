"""Single rows: one row is learned or answered by the shortest way that its model allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.block import Block, Query
from tanager.counts.moments import Moments
from tanager.encoding.codes import row_array
from tanager.encoding.labels import refuse_nul
from tanager.encoding.typing import RowOfCodes
from tanager.encoding.validation import check_times, check_weights, is_weight
from tanager.encoding.values import is_missing, plain
from tanager.learning.answering import keep_row_plan, kernel_view
from tanager.learning.batch import Batch
from tanager.learning.counting import add_columns, follow_vocabulary, note_cuts, numbers_of
from tanager.learning.first_rows import keep_at_doubling, keep_provisional_row, provisional_row
from tanager.scoring.gaussian import Gaussian
from tanager.scoring.scorer import AnswersRows, Scorer

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


def learn_quickly(model: CountsClassifier, row: Mapping[str, Any], y: Any, weight: float) -> bool:
    """Learn a row by the shortest way, where columns are fixed and nothing in it is new; whether that was so."""
    memory = model._memory
    if memory is None or model._warm_up is not None or model._contest is not None or model._recutting is not None:
        return False
    if not memory.codes_only or not is_weight(weight) or weight == 0:
        return False
    encoder, label = model.encoder_, model.code_of(y)
    if label is None or encoder.has_cut or encoder.schema is not memory.counts.schema:
        return False
    codes = encoder.found_row(row, alone=True)
    if codes is None:
        return False
    memory.add_codes(codes, label, weight)
    return True


def learn_one(model: CountsClassifier, row: Mapping[str, Any], y: Any, sample_weight: float, time: Any) -> bool:
    """Learn a row, whatever is new in it; False where a warm-up must take it in as a table of one row."""
    if not model.columns_fixed:
        if _learn_provisionally(model, row, y, sample_weight, time):
            return True
        return model._recutting is None and keep_at_doubling(model, row, y, sample_weight, time)
    if not is_weight(sample_weight):
        check_weights([sample_weight], 1)
    label = model.code_of(y)
    if label is None:
        if is_missing(y):
            return True
        refuse_nul([y])
    memory = model._learned
    times = numbers = None
    codes_only = memory.codes_only and model._recutting is None and time is None
    if sample_weight != 0:  # cells and times that cannot be used are refused before a new class is taken in
        if codes_only:
            pass
        elif memory.numbers_only and model._recutting is None and time is None:
            numbers = model.encoder_.continuous_row(row)
        else:
            times, numbers = _beside_codes(model, row, time)
        if model.encoder_.new_names(row):
            add_columns(model, [row])
        codes = model.encoder_.update_row(row)
    if label is None:
        own = plain(y)
        if own not in model.class_codes:
            model.add_classes(np.array([own]))
        label = model.class_codes[own]
    if sample_weight == 0:
        return True
    follow_vocabulary(model)
    if model.encoder_.has_cut:
        note_cuts(model, np.array([label], dtype=np.uint16), np.array([float(sample_weight)]))
    if codes_only:
        memory.add_codes(codes, label, sample_weight)
        return True
    if memory.numbers_only and model._recutting is None:
        assert numbers is not None
        memory.add_numbers(codes, numbers, label, sample_weight)
        return True
    labels = np.array([label], dtype=np.uint16)
    weights = None if sample_weight == 1.0 else np.array([float(sample_weight)])
    memory.add_row(Block(codes[None, :], labels, weights, times, numbers))
    if model._recutting is not None:
        model._recutting.watch(model, Batch([row], labels, weights, times))
    return True


def _learn_provisionally(model: CountsClassifier, row: Mapping[str, Any], y: Any, weight: float, time: Any) -> bool:
    """Learn a row of a warm-up at once, where its columns stay and it brings nothing new; whether that was so."""
    if model._warm_up is None or model._recutting is not None or not model.knows_columns:
        return False
    memory = model._learned
    if not memory.codes_only and (memory.clock is not None or memory.rows is not None):
        return False
    found = provisional_row(model, row, y, weight, time)
    if found is None:
        return False
    codes, label = found
    if memory.codes_only:
        memory.add_codes(codes, label, 1.0)
    elif memory.numbers_only:
        memory.add_numbers(codes, model.encoder_.continuous_row(row), label, 1.0)
    else:
        own = row_array(codes)[None, :]
        memory.add_row(Block(own, np.array([label], dtype=np.uint16), None, None, numbers_of(model, [row])))
    keep_provisional_row(model, row, label)
    return True


def _beside_codes(
    model: CountsClassifier, row: Mapping[str, Any], time: Any
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """When a row happened, and its cells of Gaussian columns; refused where they cannot be used."""
    times = check_times(None if time is None else [time], 1)
    if model._learned.clock is not None:
        model._learned.clock.check(times, 1)
    return times, numbers_of(model, [row])


def answer_one(model: CountsClassifier, row: Mapping[str, Any]) -> Sequence[float]:
    """Probabilities of the classes, from a model that has learned rows."""
    encoder = model.encoder_
    codes = encoder.found_row(row)
    if codes is None:
        codes = encoder.encode_row(row, model.unseen)
    current = model._answers(fresh=False)
    view = kernel_view(model, current)
    moments, scorer = model._learned.moments, current.scorer
    if view is not None and moments is None:
        proba = view.plan.one(codes)
        keep_row_plan(model, current, view)
    elif view is not None and isinstance(moments, Moments) and isinstance(scorer, Gaussian):
        proba = scorer.score_row(codes, encoder.continuous_row(row))
    elif (own := _row_answer(model, scorer, codes)) is not None:
        proba = own
    else:
        query = Query(row_array(codes)[None, :], None if moments is None else numbers_of(model, [row]))
        scorer = model._calibrated(fresh=False) if model.calibrate else scorer
        proba = scorer.score(query, n_jobs=model.n_threads)[0].tolist()
    return proba


def _row_answer(model: CountsClassifier, scorer: Scorer, codes: RowOfCodes) -> list[float] | None:
    """The answer of a scorer that knows a short way for single rows; None elsewhere."""
    if model.calibrate or model._learned.moments is not None or not isinstance(scorer, AnswersRows):
        return None
    return scorer.answer_row(codes)
