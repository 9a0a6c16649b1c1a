"""The rows of a stream, block by block: from arrays, frames, files, dicts and generators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from tanager.encoding import Encoder, encode_labels, encode_more_labels
from tanager.encoding.chunks import n_rows as count_rows
from tanager.encoding.chunks import take_rows
from tanager.encoding.frames import is_arrow, is_pandas
from tanager.encoding.validation import check_lengths, one_dimensional, refuse_fractions
from tanager.errors import DataError, OptionError, SchemaMismatch, nearest
from tanager.files.formats import open_table
from tanager.files.learn import as_labels, feature_columns, take_options
from tanager.files.source import Source, rechunk


class Labels(NamedTuple):
    """The labels of some rows as codes (the largest value of their type where missing), and the class of each code."""

    codes: np.ndarray
    classes: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """Which rows have none."""
        return np.asarray(self.codes == np.iinfo(self.codes.dtype).max)

    @property
    def plain(self) -> np.ndarray:
        """The labels themselves, None where missing."""
        missing = self.missing
        if not missing.any():
            return np.asarray(self.classes[self.codes])
        labels = np.full(len(self.codes), None, dtype=object)
        labels[~missing] = self.classes[self.codes[~missing]].tolist()
        return labels


StreamBlock = tuple[Any, Labels, Any]  # a table, its labels, and times or None


@dataclass
class StreamReader:
    """A stream that is ready to be read.

    ``blocks(size)`` yields tables of that many rows (the last one may be shorter), each with labels and times.
    ``n_rows`` and ``classes`` are None if they are not known in advance; ``done`` returns the fraction read, or None.
    """

    blocks: Callable[[int], Iterator[StreamBlock]]
    n_rows: int | None = None
    classes: Sequence[Any] | None = None
    names: Sequence[str] | None = None
    drifts: Sequence[int] = ()
    done: Callable[[], float | None] = lambda: None
    dropped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamOptions:
    """The options of ``prequential`` that concern the stream."""

    y: Any = None
    target: str | None = None
    n_rows: int | None = None
    times: Any = None
    drop: Sequence[str] = ()


def open_stream(stream: Any, options: StreamOptions, models: Iterable[Any]) -> StreamReader:
    """A reader for any kind of stream."""
    if isinstance(stream, str | os.PathLike):
        stream = open_table(stream)
    if isinstance(stream, Source):
        return _from_file(stream, options, models)
    if hasattr(stream, "chunks") and hasattr(stream, "drifts"):
        return _from_generator(stream, options)
    if isinstance(stream, tuple) and len(stream) == 2 and not isinstance(stream[0], Mapping | tuple):
        stream, options = (
            stream[0],
            StreamOptions(stream[1], options.target, options.n_rows, options.times, options.drop),
        )
    if options.y is not None:
        return _from_arrays(stream, options)
    if isinstance(stream, Mapping) or is_pandas(stream) or is_arrow(stream):
        return _from_frame(stream, options)
    if isinstance(stream, np.ndarray):
        raise OptionError("an array of rows needs its labels: prequential(model, X, y).")
    if not isinstance(stream, Iterable):
        raise OptionError(
            f"{type(stream).__name__} is not a stream of rows. Give X and y, a frame with target=, the path of a file, "
            "an iterable of dicts, or a generator of tanager.generate."
        )
    return _from_dicts(stream, options)


def _labels(y: Any) -> Labels:
    """The labels of a block."""
    codes, classes, _ = encode_more_labels(y, np.array([], dtype=object))
    refuse_fractions(classes)
    return Labels(codes, classes)


# --- arrays and frames --------------------------------------------------------------------------------------------


def _from_arrays(X: Any, options: StreamOptions) -> StreamReader:
    """A table and its labels."""
    m, times = count_rows(X), options.times
    check_lengths(m, options.y)
    codes, classes = encode_labels(one_dimensional(options.y))
    refuse_fractions(classes)
    if isinstance(times, str):
        X, times = _apart(X, times, "times")
    times = None if times is None else np.asarray(times)
    if times is not None and len(times) != m:
        raise DataError(f"times has {len(times)} entries, X has {m} rows. Give one time per row.")
    for name in options.drop:
        X, _ = _apart(X, name, "drop")
    end = m if options.n_rows is None else min(m, options.n_rows)
    seen = 0

    def blocks(size: int) -> Iterator[StreamBlock]:
        nonlocal seen
        for start in range(0, end, size):
            seen = stop = min(start + size, end)
            some = None if times is None else times[start:stop]
            yield take_rows(X, start, stop), Labels(codes[start:stop], classes), some

    dropped = dict.fromkeys(options.drop, "asked for")
    return StreamReader(blocks, end, classes.tolist(), done=lambda: seen / end, dropped=dropped)


def _from_frame(frame: Any, options: StreamOptions) -> StreamReader:
    """A frame with the classes in one of its columns."""
    if options.target is None:
        raise OptionError("the column with the classes is not named. Name it with target=, or give the labels as y.")
    X, y = _apart(frame, options.target, "target")
    return _from_arrays(X, StreamOptions(y, None, options.n_rows, options.times, options.drop))


def _apart(frame: Any, name: str, option: str) -> tuple[Any, Any]:
    """The other columns of a frame, and the one of that name."""
    if not (isinstance(frame, Mapping) or is_pandas(frame) or is_arrow(frame)):
        raise OptionError(
            f"{option}={name!r} is the name of a column, but this table has no column names. Give a frame."
        )
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


def _from_file(source: Source, options: StreamOptions, models: Iterable[Any]) -> StreamReader:
    """A file of any size. Its columns are read as the models that are fitted already expect them."""
    target, times = options.target, options.times
    if target is None:
        raise OptionError(f"the column of {source.name} with the classes is not named. Name it with target=.")
    columns = feature_columns(source, target, options.drop)
    if times is not None and not isinstance(times, str):
        raise OptionError("times: for a file, give the name of the column that holds the times.")
    if times is not None:
        _check_column(times, columns, "times")
        columns = [name for name in columns if name != times]
    for model in models:
        if hasattr(model, "encoder_"):
            source.match(model)
        elif hasattr(model, "categorical") and hasattr(model, "numeric") and hasattr(model, "schema"):
            take_options(model, source, columns)
    reader = StreamReader(lambda size: iter(()), _at_most(source.n_rows, options.n_rows), names=columns)
    reader.dropped = dict.fromkeys(options.drop, "asked for")
    read = ahead = 0  # rows handed out, and rows that the file was read for, several blocks at a time

    def chunks(asked: list[str]) -> Iterator[Any]:
        nonlocal ahead
        for chunk in source.chunks(asked, None):
            ahead += chunk.num_rows
            yield chunk

    def blocks(size: int) -> Iterator[StreamBlock]:
        nonlocal read
        asked = [*columns, target, *([times] if times else [])]
        tables = rechunk(chunks(asked), size)
        first = next(tables, None)
        if first is None:
            return
        own = _left_out_by_all(models, first.select(columns))
        reader.dropped |= own
        reader.names = kept = [name for name in columns if name not in own]
        for table in _up_to(chain([first], tables), options.n_rows):
            read += table.num_rows
            labels = _labels(as_labels(table[target], target))
            yield table.select(kept), labels, None if times is None else np.asarray(table[times])

    def done() -> float | None:
        part = None if source.done is None else source.done * read / max(ahead, 1)
        return part if options.n_rows is None else max(part or 0.0, read / options.n_rows)

    reader.blocks, reader.done = blocks, done
    return reader


def _left_out_by_all(models: Iterable[Any], first: Any) -> dict[str, str]:
    """Columns that none of the models would learn, by the first rows of a stream, and why."""
    fresh = [model for model in models if not hasattr(model, "encoder_")]
    inner = [model if hasattr(model, "schema") else getattr(model, "model", None) for model in fresh]
    encoders = [
        Encoder(**model.encoder_options()) for model in inner if model is not None and hasattr(model, "encoder_options")
    ]
    encoders = encoders or [Encoder()]
    found = [{gone.name: gone.reason for gone in encoder.leaves_out(first, stream=True)} for encoder in encoders]
    known = {name for model in models if hasattr(model, "encoder_") for name in model.encoder_.schema.learned_names}
    return {name: why for name, why in found[0].items() if name not in known and all(name in own for own in found)}


def _at_most(known: int | None, limit: int | None) -> int | None:
    return known if limit is None else limit if known is None else min(known, limit)


def _up_to(tables: Iterable[Any], n_rows: int | None) -> Iterator[Any]:
    """The tables, up to this many rows in all."""
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


def _from_dicts(rows: Iterable[Any], options: StreamOptions) -> StreamReader:
    """Dicts with the class among their values, or pairs of a dict and its class."""
    known = len(rows) if isinstance(rows, Sequence) else None
    target, times = options.target, options.times
    if times is not None and not isinstance(times, str):
        raise OptionError("times: for rows that are dicts, give the key of the time.")
    out = {target, times, *options.drop}

    def split(row: Any) -> tuple[dict[str, Any], Any, Any]:
        if isinstance(row, Mapping):
            label = row.get(target)
        else:
            row, label = row
        return {name: value for name, value in row.items() if name not in out}, label, row.get(times)

    def blocks(size: int) -> Iterator[StreamBlock]:
        left: Iterator[Any] = islice(rows, options.n_rows)
        first = next(left, None)
        if first is None:
            return
        _check_row(first, target)
        left = chain([first], left)
        while block := [split(row) for row in islice(left, size)]:
            dicts, labels, stamps = zip(*block, strict=True)
            yield list(dicts), _labels(labels), np.asarray(stamps) if times else None

    return StreamReader(blocks, _at_most(known, options.n_rows))


def _check_row(row: Any, target: str | None) -> None:
    """Check by the first row that rows are dicts with the class, or pairs of a dict and its class."""
    if isinstance(row, Mapping):
        if target is None:
            raise OptionError("the rows are dicts, and the key of the class is not named. Name it with target=.")
        _check_column(target, list(row), "target")
    elif not (isinstance(row, tuple | list) and len(row) == 2 and isinstance(row[0], Mapping)):
        raise OptionError(
            f"the first row is {row!r:.60}; expected a dict, or a pair of a dict and its class. "
            "For tables give X and y."
        )


def _from_generator(stream: Any, options: StreamOptions) -> StreamReader:
    """A stream of ``tanager.generate``, which has no end of its own."""
    n_rows = options.n_rows
    if n_rows is None:
        raise OptionError("a generator never ends. Give the number of rows, such as n_rows=100_000.")
    if options.times is not None or options.drop:
        raise OptionError("times and drop cannot be used with a generator. Leave them out.")
    made, labels = 0, np.array(list(stream.classes))

    def blocks(size: int) -> Iterator[StreamBlock]:
        nonlocal made
        for X, y in stream.chunks(n_rows, size):
            made += len(y)
            yield X, Labels(y, labels), None

    drifts = [row for row in stream.drifts if row < n_rows]
    return StreamReader(blocks, n_rows, stream.classes, stream.names, drifts, lambda: made / n_rows)
