"""Two models that have learned apart become one, as if one had learned the rows of both."""

from __future__ import annotations

import copy

import numpy as np

from tanager.counts.align import class_map, union_column, union_labels, value_map
from tanager.counts.forgetting import as_decay, as_window
from tanager.counts.joint import JointCounts
from tanager.encoding import Schema
from tanager.errors import SchemaMismatch
from tanager.learning.counts_classifier import CountsClassifier
from tanager.learning.rows import Rows


def merge_models(model: CountsClassifier, other: CountsClassifier) -> None:
    """Add what `other` has learned to `model`. What cannot be merged is refused before anything changes."""
    if type(other) is not type(model):
        raise SchemaMismatch(
            f"cannot merge {type(other).__name__} into {type(model).__name__}. Merge models of one class, or their "
            "counts: from_counts(a.counts_ + b.counts_)."
        )
    model._ready()
    other._ready()
    other = _at_one_time(model, other)
    rows = None
    if model._rows is None and other._rows is None:
        counts = model.counts_ + other.counts_
    else:
        schema, classes = _union(model.counts_, other.counts_)
        rows = _all_rows(model, other, schema, classes)
        rows.sort()
        counts = JointCounts(
            schema, classes, max_memory=model.max_memory, spare=model.counts_.spare, **model._shape(schema)
        )
        counts.update(*rows.all(), n_jobs=model._threads())
    model._merge_extra(other, counts)
    model.counts_, model.classes_, model._rows = counts, counts.classes, rows
    model.encoder_ = model._encoder_for(counts.schema)
    model._warm = model._view = None


def _at_one_time(model: CountsClassifier, other: CountsClassifier) -> CountsClassifier:
    """Models that forget by time are brought to the time of the later one; others cannot be merged."""
    if not model._forgets() and not other._forgets():
        return other
    ours, theirs = ((as_decay(part.decay), as_window(part.window)) for part in (model, other))
    if ours != theirs:
        raise SchemaMismatch(
            f"cannot merge: one model forgets by decay={model.decay!r}, window={model.window!r} and the other by "
            f"decay={other.decay!r}, window={other.window!r}. Give both the same."
        )
    decay, window = ours
    by_rows = (decay is not None and not decay.timed) or (window is not None and window.rows is not None)
    if by_rows:
        raise SchemaMismatch(
            "cannot merge models that forget with every further row: which rows of the two came first is not known. "
            "Let them forget by time (decay='6 h', window='30 min') and learn with times."
        )
    clocks = model._clock, other._clock
    assert clocks[0] is not None
    assert clocks[1] is not None
    moments = [clock.now for clock in clocks if clock is not None and clock.now is not None]
    if not moments:
        return other
    now = max(moments)
    other = copy.deepcopy(other)
    for part in (model, other):
        part._warm = None
        part._pass_time(now)
    clocks[0].learned += clocks[1].learned
    return other


def _union(ours: JointCounts, theirs: JointCounts) -> tuple[Schema, np.ndarray]:
    places = ours._places_of(theirs)
    pairs = zip(ours.schema.columns, (theirs.schema.columns[i] for i in places), strict=True)
    return Schema(tuple(union_column(*pair) for pair in pairs)), union_labels(ours.classes, theirs.classes)


def _all_rows(model: CountsClassifier, other: CountsClassifier, schema: Schema, classes: np.ndarray) -> Rows:
    """The rows that both have kept, in the codes of the schema."""
    rows = Rows()
    for part in (model, other):
        if part._rows is None or not np.isclose(part._rows.weight, part.counts_.n_rows):
            raise SchemaMismatch(
                f"{type(model).__name__} chooses its structure by looking at rows, and one of the models does not hold "
                "all of its rows: its counts were given, faded or merged. Fit on the rows again."
            )
        codes, labels, weights = part._rows.all()
        out = np.full((len(codes), len(schema)), 65535, dtype=np.uint16)
        for i, column in enumerate(schema.columns):
            at = part.counts_.schema.index(column.name)
            known = value_map(part.counts_.schema.columns[at], column)
            table = np.full(np.iinfo(codes.dtype).max + 1, 65535, dtype=np.uint16)
            table[: len(known)] = known
            out[:, i] = table[codes[:, at]]
        if schema.n_values.max(initial=0) < 255:
            out = np.where(out == 65535, 255, out).astype(np.uint8)
        beside = part._rows.times, _numbers(part, model)
        rows.append(out, class_map(part.classes_, classes)[labels].astype(np.uint16), weights, *beside)
    return rows


def _numbers(part: CountsClassifier, model: CountsClassifier) -> np.ndarray | None:
    """The cells of columns without codes that a model has kept, columns in the order of `model`."""
    assert part._rows is not None
    if part._rows.numbers is None:
        return None
    own, wanted = (
        [column.name for column in each.encoder_.schema.columns if column.kind == "continuous"]
        for each in (part, model)
    )
    return part._rows.numbers[:, [own.index(name) for name in wanted]]
