"""Two memories that have learned apart become one, as if one had learned the rows of both."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tanager.counts.align import class_map, union_column, union_labels, value_map
from tanager.counts.block import Block
from tanager.counts.context_moments import ContextMoments
from tanager.counts.joint import JointCounts
from tanager.counts.moments import Moments
from tanager.encoding import Schema
from tanager.errors import SchemaMismatch
from tanager.learning.memory import Memory
from tanager.learning.rows import KeptRows

if TYPE_CHECKING:
    from tanager.learning.counts_classifier import CountsClassifier

Model = TypeVar("Model", bound="CountsClassifier")


def merge_memories(ours: Memory, theirs: Memory, shape: Callable[[Schema], dict[str, Any]], n_jobs: int = 1) -> Memory:
    """What both have learned, at the time of the later one; `shape` says how wide to count. Neither is changed."""
    if ours.has_let_rows_go:
        theirs = _with_families(ours, theirs, shape, n_jobs)
    elif theirs.has_let_rows_go and ours.rows is not None:
        raise SchemaMismatch(
            f"cannot merge: the other {theirs.owner} has chosen its structure once (refresh=inf) and kept no rows, and "
            "this one is yet to choose by its rows. Merge this one into the other, or give both refresh=None."
        )
    ours, theirs = _at_one_time(ours, theirs)
    rows = None
    if ours.rows is None and theirs.rows is None:
        counts = ours.counts + theirs.counts
    else:
        schema, classes = _union(ours.counts, theirs.counts)
        rows = _all_rows(ours, theirs, schema, classes)
        rows.sort()
        spare = ours.counts.spare
        counts = JointCounts(schema, classes, max_memory=ours.max_memory, spare=spare, **shape(schema))
        block = rows.block
        counts.update(block.codes, block.labels, block.weights, n_jobs=n_jobs)
    merged = copy.copy(ours)
    merged.counts, merged.rows, merged.moments = counts, rows, _moments(ours, theirs, counts)
    if merged.clock is not None and theirs.clock is not None:
        merged.clock.learned += theirs.clock.learned
    return merged


def add_memory(ours: Memory, theirs: Memory) -> None:
    """Add what another memory of the same options has learned to ours, in place; neither keeps rows or forgets."""
    if ours.moments is None:
        ours.counts.merge(theirs.counts)
        return
    counts = ours.counts + theirs.counts
    ours.moments = _moments(ours, theirs, counts)
    ours.counts = counts


def _with_families(ours: Memory, theirs: Memory, shape: Callable[[Schema], dict[str, Any]], n_jobs: int) -> Memory:
    """Theirs without rows, and with the families alone that ours go on learning; refused where these are not there."""
    places = ours.counts.places_of(theirs.counts)
    families = [tuple(places[i] for i in family) for family in ours.counts.families]
    theirs = copy.copy(theirs)
    if theirs.rows is not None and theirs.holds_all_rows:
        theirs.count_families(families, shape(theirs.counts.schema), n_jobs)
    if not theirs.counts.holds(families=families):
        raise SchemaMismatch(
            f"cannot merge: this {ours.owner} has chosen its structure once (refresh=inf), and the other one has not "
            "counted the families of it. Let both go on learning with one structure, or merge before either chooses."
        )
    if set(families) != set(theirs.counts.families):
        theirs.counts = theirs.counts.narrowed(theirs.counts.order, families)
    theirs.rows = None
    return theirs


def _at_one_time(ours: Memory, theirs: Memory) -> tuple[Memory, Memory]:
    """Models that forget by time, as they are at the time of the later one; others that forget cannot be merged."""
    if ours.clock is None and theirs.clock is None:
        return ours, theirs
    if (ours.decay, ours.window) != (theirs.decay, theirs.window):
        raise SchemaMismatch(
            f"cannot merge: one model forgets by decay={ours.decay!r}, window={ours.window!r} and the other by "
            f"decay={theirs.decay!r}, window={theirs.window!r}. Give both the same."
        )
    decay, window = ours.decay, ours.window
    by_rows = (decay is not None and not decay.timed) or (window is not None and window.rows is not None)
    if by_rows:
        raise SchemaMismatch(
            "cannot merge models that forget with every further row: which rows of the two came first is not known. "
            "Let them forget by time (decay='6 h', window='30 min') and learn with times."
        )
    times = [part.clock.now for part in (ours, theirs) if part.clock is not None and part.clock.now is not None]
    if not times:
        return ours, theirs
    return _advanced(ours, max(times)), _advanced(theirs, max(times))


def _advanced(memory: Memory, now: float) -> Memory:
    """A copy at a later time: what is refused later on has changed nothing."""
    later = copy.copy(memory)
    later.counts, later.moments = copy.deepcopy((memory.counts, memory.moments))
    later.rows, later.clock = copy.deepcopy((memory.rows, memory.clock))
    later.advance(now)
    return later


def _union(ours: JointCounts, theirs: JointCounts) -> tuple[Schema, np.ndarray]:
    places = ours.places_of(theirs)
    pairs = zip(ours.schema.columns, (theirs.schema.columns[i] for i in places), strict=True)
    return ours.schema.with_all(union_column(*pair) for pair in pairs), union_labels(ours.classes, theirs.classes)


def _all_rows(ours: Memory, theirs: Memory, schema: Schema, classes: np.ndarray) -> KeptRows:
    """The rows that both have kept, in the codes of the schema."""
    rows = KeptRows()
    for part in (ours, theirs):
        if part.rows is None or not part.holds_all_rows:
            raise SchemaMismatch(
                f"{ours.owner} chooses its structure by looking at rows, and one of the models does not hold "
                "all of its rows: its counts were given, faded or merged. Fit on the rows again."
            )
        block = part.rows.block
        codes = _recoded(block.codes, part.counts.schema, schema)
        labels = class_map(part.counts.classes, classes)[block.labels].astype(np.uint16)
        rows.append(Block(codes, labels, block.weights, block.times, _numbers(block, part, ours)))
    return rows


def _recoded(codes: np.ndarray, own: Schema, schema: Schema) -> np.ndarray:
    """Codes of one schema as codes of another, which has all its values."""
    out = np.full((len(codes), len(schema)), 65535, dtype=np.uint16)
    for i, column in enumerate(schema.columns):
        at = own.index(column.name)
        known = value_map(own.columns[at], column)
        table = np.full(np.iinfo(codes.dtype).max + 1, 65535, dtype=np.uint16)
        table[: len(known)] = known
        out[:, i] = table[codes[:, at]]
    if schema.n_values.max(initial=0) < 255:
        out = np.where(out == 65535, 255, out).astype(np.uint8)
    return out


def _numbers(block: Block, own: Memory, ours: Memory) -> np.ndarray | None:
    """The cells of Gaussian columns that are kept, columns in our order."""
    if block.numbers is None:
        return None
    return block.numbers[:, [own.number_names.index(name) for name in ours.number_names]]


def _moments(ours: Memory, theirs: Memory, counts: JointCounts) -> Moments | ContextMoments | None:
    """The moments of both, columns in our order."""
    if set(ours.number_names) != set(theirs.number_names):
        one, other = (", ".join(part.number_names) or "none" for part in (ours, theirs))
        raise SchemaMismatch(
            f"cannot merge: the Gaussian columns are {one} here and {other} there. Give both models the same gaussian=."
        )
    if ours.moments is None or theirs.moments is None:
        return None
    if isinstance(ours.moments, ContextMoments):
        return _contexts(ours.moments, ours, theirs, counts)
    assert isinstance(theirs.moments, Moments)
    mine, others = (
        part.move_classes(class_map(memory.counts.classes, counts.classes), counts.n_classes)
        for part, memory in ((ours.moments, ours), (theirs.moments, theirs))
    )
    in_our_order = others.project([theirs.number_names.index(name) for name in ours.number_names])
    return mine.at_scale(counts.scale).merge(in_our_order)


def _contexts(mine: ContextMoments, ours: Memory, theirs: Memory, counts: JointCounts) -> ContextMoments:
    """The moments of both in the contexts of the merged counts."""
    blank = mine.blank(n_values=np.maximum(mine.n_values, counts.schema.n_values), n_classes=counts.n_classes)
    total = blank.at_scale(counts.scale)
    for part in (ours, theirs):
        own = part.counts.schema
        columns = [counts.schema.index(name) for name in own.names]
        assert isinstance(part.moments, ContextMoments)
        absent = set(mine.sets) - {tuple(sorted(columns[i] for i in p)) for p in part.moments.sets}
        if absent:
            names = ", ".join(counts.schema.names[i] for i in min(absent))
            raise SchemaMismatch(
                f"cannot merge: only one of the models has learned normal distributions given {names}. Give both the "
                "same options."
            )
        values = {i: value_map(column, counts.schema.columns[columns[i]]) for i, column in enumerate(own.columns)}
        classes = class_map(part.counts.classes, counts.classes)
        total.merge(part.moments.moved(blank.blank(), columns=columns, values=values, classes=classes))
    return total


def mergeable(ours: Model, theirs: CountsClassifier) -> Model:
    """The other model, which is of the same class; refused where what both have learned cannot be put together."""
    if ours._recutting is not None and ours._recutting.watches and ours.window is not None:
        raise SchemaMismatch(
            "cannot merge into a window whose cut points follow the stream: they are made from the numbers in it, "
            "and those of the other model are gone. Use recut=None, or decay in place of a window."
        )
    if type(theirs) is not type(ours):
        raise SchemaMismatch(
            f"cannot merge {type(theirs).__name__} into {type(ours).__name__}. Merge models of one class, or their "
            "counts: from_counts(a.counts_ + b.counts_)."
        )
    if ours._contest is not None or theirs._contest is not None:
        raise SchemaMismatch(
            "cannot merge models whose super-parents compete along a stream: each has seen its own rows, one after "
            "the other. Name the super-parent, and merge models that have it."
        )
    return theirs
