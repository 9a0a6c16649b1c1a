"""Counting: rows become counts, and counts grow where rows bring values, classes or columns that are new.

The model that learns is the first argument of every function; what it counts in is its ``Memory``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.counts.align import cut_columns
from tanager.counts.block import Block
from tanager.counts.context_moments import ContextMoments
from tanager.counts.joint import JointCounts
from tanager.counts.moments import Moments
from tanager.encoding import Column, Encoder, Schema
from tanager.encoding.chunks import rows_of_dicts
from tanager.encoding.tables import Table
from tanager.errors import MemoryBudgetError
from tanager.learning.batch import Batch
from tanager.learning.gaussian_option import gaussian_columns
from tanager.learning.recut_option import first_cuts
from tanager.scoring.forms import ParentSet

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier


def leave_uncut(model: CountsClassifier) -> None:
    """Let columns stay as the first rows show them, where they must not be cut by later rows."""
    schema = model.encoder_.schema
    uncut = {i: _not_cut_late(model, c) for i, c in enumerate(schema.columns) if c.cut_after}
    changed = {i: column for i, column in uncut.items() if column is not None}
    if changed:
        model.encoder_.adopt(schema.with_columns(changed))
        model._start_model()


def _not_cut_late(model: CountsClassifier, column: Column) -> Column | None:
    """The column without ``cut_after``, where others see to it that it is cut, or need not be; else None.

    With ``recut`` numbers that do not vary yet are watched like all others. Normal distributions of numbers given
    bins could not be brought together.
    """
    watched = model._recutting is not None and column.kind == "numeric" and column.values
    if not (model.reads_numbers or watched):
        return None
    return replace(column, values=() if column.kind == "numeric" else column.values, cut_after=0)


def start_counts(model: CountsClassifier) -> None:
    """Make empty counts for the schema of the encoder and the classes known so far."""
    schema = model.encoder_.schema
    spare = int(model.unseen == "smooth")
    shape = model.counts_shape(schema)
    counts = JointCounts(schema, model.classes_, max_memory=model.max_memory, spare=spare, **shape)
    model._remember(counts, no_moments(model, counts))


def no_moments(model: CountsClassifier, counts: JointCounts) -> Moments | ContextMoments | None:
    """What is to be learned of Gaussian columns beside these counts, still empty."""
    schema, k, ddof = counts.schema, counts.n_classes, getattr(model, "ddof", 0)
    n = sum(column.kind == "continuous" for column in schema.columns)
    if n:
        return Moments(k, n, ddof)
    columns, sets = moments_shape(model, schema)
    if not columns:
        return None
    budget, beside, owner = model.max_memory, counts.nbytes, type(model).__name__
    shape = columns, sets, schema.n_values, k
    return ContextMoments(*shape, ddof=ddof, max_memory=budget, beside=beside, owner=owner)


def moments_shape(model: CountsClassifier, schema: Schema) -> tuple[list[int], list[ParentSet]]:
    """Columns with codes whose numbers are learned as well, and the parent sets that they are learned given."""
    columns = gaussian_columns(getattr(model, "gaussian", False), schema)
    sets = model._parent_sets(schema) if columns else None
    return ([], []) if sets is None else (columns, sets)


def count(model: CountsClassifier, batch: Batch, classes: np.ndarray | None = None) -> None:
    """Encode rows, grow where values, classes (or, in dicts, names) are new, and add them to the counts.

    Cells that cannot be used are refused first, so that a refused batch leaves no new class behind.
    """
    if rows_of_dicts(batch.X):  # as single rows: one without a label or a weight brings no column and no value
        batch = batch.only_counted()
    X, name = batch.X, type(model).__name__
    if len(batch.labels) == 0:
        return
    numbers = numbers_of(model, X)
    if rows_of_dicts(X):
        add_columns(model, X)
    codes = None if model.answers_to_learn else model.encoder_.own_codes(X, name)
    raw = codes is not None
    if codes is None:
        codes = model.encoder_.update(X, batch.weights, name)
    else:
        model.counts_.refuse_full_codes(codes)
    if classes is not None:
        model.add_classes(classes)
    _count_block(model, Block(codes, batch.labels, batch.weights, batch.times, numbers))
    if raw:  # codes are not looked at before they are counted: the counts have met what is new
        model.encoder_.adopt(model.counts_.schema)


def first_block(model: CountsClassifier, batch: Batch) -> Block | None:
    """All first rows, encoded, of a model that has just started by them; None where they go the way of other rows."""
    if not isinstance(batch.X, Table) or batch.X.codes is not None:
        return None
    codes = model.encoder_.update(batch.X, batch.weights, type(model).__name__)
    if cut_columns(model.encoder_.schema, model.counts_.schema):
        return None
    if model.encoder_.schema is not model.counts_.schema:
        model._start_model()
    note_cuts(model, batch.labels, batch.weights)
    return Block(codes, batch.labels, batch.weights, batch.times, numbers_of(model, batch.X))


def _count_block(model: CountsClassifier, block: Block) -> None:
    """Learn rows whose values the encoder has met; where rows are answered first, not before their turn.

    A row that a column is cut by goes by itself there, and is encoded in its bins.
    """
    if model._contest is None or cut_columns(model.encoder_.schema, model.counts_.schema):
        follow_vocabulary(model)
    note_cuts(model, block.labels, block.weights)
    model.learn_block(block)
    if model._contest is not None:
        follow_vocabulary(model)


def follow_vocabulary(model: CountsClassifier) -> None:
    """Let the counts know the values that the encoder has met; refused where they take too much memory."""
    if model._contest is None and model.encoder_.schema is model._learned.counts.schema:
        return
    cut: dict[int, np.ndarray] = {}
    if model.encoder_.schema is not model.counts_.schema:
        model.make_room(model.encoder_.schema, model.classes_)
        cut = cut_columns(model.encoder_.schema, model.counts_.schema)
    try:
        model._learned.follow(model.encoder_.schema, model.classes_)
    except MemoryBudgetError:
        model.encoder_ = encoder_for(model, model.counts_.schema)  # nothing was learned
        raise
    if cut:
        model._columns_cut(cut)
    if model._contest is not None:
        model._contest.follow(model)


def note_cuts(model: CountsClassifier, labels: np.ndarray, weights: np.ndarray | None) -> None:
    """Where columns were cut by these rows, which are yet to be learned, write down by which row of the stream."""
    cut = model.encoder_.take_cuts()
    if cut and model._warm_up is None:  # until then all columns are for now
        own = np.ones(len(labels)) if weights is None else weights
        own = (labels != np.iinfo(labels.dtype).max) * (own if model._learned.clock is None else own > 0)
        model.events_ += first_cuts(model.encoder_.schema, cut, model._learned.n_learned + np.cumsum(own))


def numbers_of(model: CountsClassifier, X: Any) -> np.ndarray | None:
    """Cells of Gaussian columns, where there are any; absent keys of dicts are missing."""
    if model._learned.moments is None:
        return None
    if type(X) is list and len(X) == 1 and type(X[0]) is dict and isinstance(model._learned.moments, Moments):
        return model.encoder_.continuous_row(X[0])[None, :]
    columns = model._learned.number_columns
    if rows_of_dicts(X):
        return model.encoder_.numbers_of(X, columns)
    return model.encoder_.numbers(X, columns, type(model).__name__)


def add_columns(model: CountsClassifier, rows: Sequence[Mapping[str, Any]]) -> None:
    """Take in names that are no column yet, missing in all rows so far; the first value says of what kind."""
    known = model.encoder_.schema
    new = model.encoder_.first_values(rows)
    if model.schema is not None or not new:
        return
    late = model.encoder_.late_columns(new)
    if model.reads_numbers:
        late = [replace(column, kind="categorical", cut_after=0) for column in late]
    model.encoder_.extend(late)
    # Three columns may be needed together where there were not even three.
    wider = model.counts_shape(model.encoder_.schema) if len(known) < 3 else {}
    model._columns_added(len(late), wider)
    model.note_columns()
    if "feature_names_in_" in model.__dict__:
        model.feature_names_in_ = np.array(model.encoder_.schema.table_names, dtype=object)


def make_room_for_columns(model: CountsClassifier, n_new: int, wider: dict[str, Any]) -> None:
    """What was learned makes room for new columns."""
    schema = model.encoder_.schema
    model._learned.add_columns(schema, n_new, **wider)
    if isinstance(model._learned.moments, ContextMoments):
        model._learned.moments.add_columns(schema.n_values[-n_new:], moments_shape(model, schema)[1])
    if model._recutting is not None:
        model._recutting.add_columns(n_new)
    if model._contest is not None:
        model._contest.add_columns(model, n_new, wider)
    model._answering.add_columns(model, n_new)


def move_classes(model: CountsClassifier, places: np.ndarray, classes: np.ndarray) -> None:
    """There are more classes: class c is now places[c]."""
    model.make_room(model.counts_.schema, classes)
    model._learned.move_classes(places, classes)
    if model._recutting is not None:
        model._recutting.move_classes(places, len(classes))
    if model._contest is not None:
        model._contest.add_classes(classes)


def encoder_for(model: CountsClassifier, schema: Schema) -> Encoder:
    """An encoder of these columns, as they were learned elsewhere."""
    return Encoder.from_schema(schema, max_values=model.max_values)
