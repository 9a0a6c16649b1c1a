"""Where the rows of a stream come from: arrays, frames, files, dicts and generators, as blocks of rows in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from tanager.encoding import encode_labels, encode_more_labels
from tanager.encoding.chunks import n_rows as count_rows
from tanager.encoding.chunks import take_rows
from tanager.encoding.frames import is_arrow, is_pandas
from tanager.encoding.validation import check_lengths, one_dimensional, refuse_fractions
from tanager.errors import DataError, OptionError, SchemaMismatch, nearest
from tanager.files.learn import as_labels, feature_columns, own_values, take_options
from tanager.files.source import Source, rechunk
from tanager.files.formats import open_table
from tanager.learning.counts_classifier import CountsClassifier


class Labels(NamedTuple):
    """The classes of some rows: codes (the largest value of their type where missing), and what they stand for."""

    codes: np.ndarray
    classes: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """Which rows have none."""
        return self.codes == np.iinfo(self.codes.dtype).max

    @property
    def plain(self) -> np.ndarray:
        """The labels themselves, None where missing."""
        missing = self.missing
        if not missing.any():
            return self.classes[self.codes]
        labels = np.full(len(self.codes), None, dtype=object)
        labels[~missing] = self.classes[self.codes[~missing]].tolist()
        return labels


Block = tuple[Any, Labels, Any]  # a table, its labels, and times or None


@dataclass
class Flow:
    """A stream that is ready to be read.

    ``blocks(size)`` gives tables of that many rows, the last one shorter, each with labels and times. ``n_rows`` and
    ``classes`` are None where they are not known beforehand; ``done`` gives the fraction read, or None.
    """

    blocks: Callable[[int], Iterator[Block]]
    n_rows: int | None = None
    classes: Sequence[Any] | None = None
    names: Sequence[str] | None = None
    drifts: Sequence[int] = ()
    done: Callable[[], float | None] = lambda: None
    dropped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """What was asked for beside the stream itself."""

    y: Any = None
    target: str | None = None
    n_rows: int | None = None
    times: Any = None
    drop: Sequence[str] = ()


def open_stream(stream: Any, wanted: Wanted, models: Iterable[Any]) -> Flow:
    """The rows of anything that has rows."""
    if isinstance(stream, str | os.PathLike):
        stream = open_table(stream)
    if isinstance(stream, Source):
        return _from_file(stream, wanted, models)
    if hasattr(stream, "chunks") and hasattr(stream, "drifts"):
        return _from_generator(stream, wanted)
    if isinstance(stream, tuple) and len(stream) == 2 and not isinstance(stream[0], Mapping | tuple):
        stream, wanted = stream[0], Wanted(stream[1], wanted.target, wanted.n_rows, wanted.times, wanted.drop)
    if wanted.y is not None:
        return _from_arrays(stream, wanted)
    if isinstance(stream, Mapping) or is_pandas(stream) or is_arrow(stream):
        return _from_frame(stream, wanted)
    if isinstance(stream, np.ndarray):
        raise OptionError("an array of rows needs its labels: prequential(model, X, y).")
    if not isinstance(stream, Iterable):
        raise OptionError(
            f"a {type(stream).__name__} is no stream of rows. Give X and y, a frame with target=, the path of a file, "
            "an iterable of dicts, or a generator of tanager.generate."
        )
    return _from_dicts(stream, wanted)


def _labels(y: Any) -> Labels:
    """The labels of a block."""
    codes, classes, _ = encode_more_labels(y, np.array([], dtype=object))
    refuse_fractions(classes)
    return Labels(codes, classes)


# --- arrays and frames --------------------------------------------------------------------------------------------


def _from_arrays(X: Any, wanted: Wanted) -> Flow:
    """A table and its labels."""
    m, times = count_rows(X), wanted.times
    check_lengths(m, wanted.y)
    codes, classes = encode_labels(one_dimensional(wanted.y))
    refuse_fractions(classes)
    if isinstance(times, str):
        X, times = _apart(X, times, "times")
    times = None if times is None else np.asarray(times)
    if times is not None and len(times) != m:
        raise DataError(f"times has {len(times)} entries and X {m} rows; give every row its time.")
    for name in wanted.drop:
        X, _ = _apart(X, name, "drop")
    end = m if wanted.n_rows is None else min(m, wanted.n_rows)
    seen = 0

    def blocks(size: int) -> Iterator[Block]:
        nonlocal seen
        for start in range(0, end, size):
            seen = stop = min(start + size, end)
            some = None if times is None else times[start:stop]
            yield take_rows(X, start, stop), Labels(codes[start:stop], classes), some

    dropped = dict.fromkeys(wanted.drop, "asked for")
    return Flow(blocks, end, classes.tolist(), done=lambda: seen / end, dropped=dropped)


def _from_frame(frame: Any, wanted: Wanted) -> Flow:
    """A frame with the classes in one of its columns."""
    if wanted.target is None:
        raise OptionError("which column holds the classes? Name it with target=, or give the labels as y.")
    X, y = _apart(frame, wanted.target, "target")
    return _from_arrays(X, Wanted(y, None, wanted.n_rows, wanted.times, wanted.drop))


def _apart(frame: Any, name: str, option: str) -> tuple[Any, Any]:
    """The other columns of a frame, and the one of that name."""
    if not (isinstance(frame, Mapping) or is_pandas(frame) or is_arrow(frame)):
        raise OptionError(f"{option}={name!r} names a column, and this table has no names. Give a frame.")
    known = list(frame.columns) if is_pandas(frame) else list(getattr(frame, "column_names", None) or _names(frame))
    _check_column(name, known, option)
    if isinstance(frame, Mapping):
        return {key: column for key, column in frame.items() if key != name}, frame[name]
    if is_pandas(frame):
        return frame.drop(columns=[name]), frame[name]
    return (frame.drop_columns([name]) if hasattr(frame, "drop_columns") else frame.drop(name)), frame[name]


def _names(frame: Any) -> Iterable[str]:
    return frame if isinstance(frame, Mapping) else frame.columns


def _check_column(name: str, known: Sequence[Any], option: str) -> None:
    if name not in known:
        shown = ", ".join(repr(other) for other in known[:10]) + (", ..." if len(known) > 10 else "")
        hint = nearest(name, known) or f" There are {shown}."
        raise SchemaMismatch(f"{option}: the stream has no column {name!r}.{hint}")


# --- files --------------------------------------------------------------------------------------------------------


def _from_file(source: Source, wanted: Wanted, models: Iterable[Any]) -> Flow:
    """A file of any size, read as a model that goes on learning has learned its columns."""
    target, times = wanted.target, wanted.times
    if target is None:
        raise OptionError(f"which column of {source.name} holds the classes? Name it with target=.")
    columns = feature_columns(source, target, wanted.drop)
    if times is not None and not isinstance(times, str):
        raise OptionError("times: a file has its times in one of its columns; give the name of that column.")
    if times is not None:
        _check_column(times, columns, "times")
        columns = [name for name in columns if name != times]
    for model in models:
        if hasattr(model, "encoder_"):
            source.match(model)
        elif hasattr(model, "categorical") and hasattr(model, "numeric") and hasattr(model, "schema"):
            take_options(model, source, columns)
    flow = Flow(lambda size: iter(()), _at_most(source.n_rows, wanted.n_rows), names=columns)
    flow.dropped = dict.fromkeys(wanted.drop, "asked for")
    read = 0

    def blocks(size: int) -> Iterator[Block]:
        nonlocal read
        asked = [*columns, target, *([times] if times else [])]
        tables = rechunk(source.chunks(asked, None), size)
        first = next(tables, None)
        if first is None:
            return
        own = own_values(first, columns, CountsClassifier())
        flow.dropped |= dict.fromkeys(own, "every row has its own value")
        kept = [name for name in columns if name not in own]
        if not kept:
            raise DataError(
                f"{source.name}: no column is left to learn from. Every row has its own value in {own[0]!r}."
            )
        for table in _up_to(chain([first], tables), wanted.n_rows):
            read += table.num_rows
            labels = _labels(as_labels(table[target], target))
            yield table.select(kept), labels, None if times is None else np.asarray(table[times])

    def done() -> float | None:
        return source.done if wanted.n_rows is None else max(source.done or 0.0, read / wanted.n_rows)

    flow.blocks, flow.done = blocks, done
    return flow


def _at_most(known: int | None, wanted: int | None) -> int | None:
    return known if wanted is None else wanted if known is None else min(known, wanted)


def _up_to(tables: Iterable[Any], n_rows: int | None) -> Iterator[Any]:
    """The tables until so many rows have come."""
    left = n_rows
    for table in tables:
        if left is None:
            yield table
            continue
        yield table.slice(0, left)
        left -= table.num_rows
        if left <= 0:
            return


# --- dicts and generators -----------------------------------------------------------------------------------------


def _from_dicts(rows: Iterable[Any], wanted: Wanted) -> Flow:
    """Dicts with the class among their values, or pairs of a dict and its class."""
    known = len(rows) if isinstance(rows, Sequence) else None
    target, times = wanted.target, wanted.times
    if times is not None and not isinstance(times, str):
        raise OptionError("times: rows that are dicts have their time among their values; give its name.")
    out = {target, times, *wanted.drop}

    def split(row: Any) -> tuple[dict[str, Any], Any, Any]:
        if isinstance(row, Mapping):
            label = row.get(target)
        else:
            row, label = row
        return {name: value for name, value in row.items() if name not in out}, label, row.get(times)

    def blocks(size: int) -> Iterator[Block]:
        left: Iterator[Any] = islice(rows, wanted.n_rows)
        first = next(left, None)
        if first is None:
            return
        _check_row(first, target)
        left = chain([first], left)
        while block := [split(row) for row in islice(left, size)]:
            dicts, labels, moments = zip(*block, strict=True)
            yield list(dicts), _labels(labels), np.asarray(moments) if times else None

    return Flow(blocks, _at_most(known, wanted.n_rows))


def _check_row(row: Any, target: str | None) -> None:
    """The first row tells what is meant."""
    if isinstance(row, Mapping):
        if target is None:
            raise OptionError("the rows are dicts; name the one of their values that is the class with target=.")
        _check_column(target, list(row), "target")
    elif not (isinstance(row, tuple | list) and len(row) == 2 and isinstance(row[0], Mapping)):
        raise OptionError(
            f"the first row is {row!r:.60}; expected a dict, or a pair of a dict and its class. "
            "For tables give X and y."
        )


def _from_generator(stream: Any, wanted: Wanted) -> Flow:
    """A stream of ``tanager.generate``, which never ends by itself."""
    n_rows = wanted.n_rows
    if n_rows is None:
        raise OptionError("a generator never ends; say how many rows to take: n_rows=100_000.")
    if wanted.times is not None or wanted.drop:
        raise OptionError("a generator has neither times nor columns to drop; leave out times and drop.")
    made, labels = 0, np.array(list(stream.classes))

    def blocks(size: int) -> Iterator[Block]:
        nonlocal made
        for X, y in stream.chunks(n_rows, size):
            made += len(y)
            yield X, Labels(y, labels), None

    drifts = [row for row in stream.drifts if row < n_rows]
    return Flow(blocks, n_rows, stream.classes, stream.names, drifts, lambda: made / n_rows)
