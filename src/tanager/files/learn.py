"""Learning from a file: small ones as a whole, large ones chunk by chunk.

A table of at most ``WHOLE`` cells is read whole, and learned as ``model.fit`` learns it. Of a larger one the kinds and
cut points come from a sample that is spread over the file; then every chunk is counted while the next one is read. A
model that looks at rows again keeps them, as codes; where its structure is chosen once (``refresh=inf``) and the file
can be read again, it is read again instead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.classifiers.aode import AODE
from tanager.encoding.arrow_columns import arrow_column, arrow_scalar
from tanager.encoding.frames import numbers_of, numbers_with_gaps
from tanager.encoding.policy import tell_columns, tell_text
from tanager.encoding.row_order import LabelRuns, RowOrder, ranked, row_order
from tanager.errors import DataError, OptionError, SchemaMismatch, nearest
from tanager.files.even_rows import EvenRows
from tanager.files.source import Source, every
from tanager.learning.held_out import HeldOut, held_out_answers
from tanager.scoring.decision import check_costs, decide
from tanager.stages import steps, tell

WHOLE = 20_000_000  # cells of a table that is read whole
SAMPLE = 120_000  # rows that kinds and cut points of a larger one come from
LEFT_OUT = 200_000  # most rows that are left out in turn
LEFT_OUT_AT_ONCE = 10_000  # rows between two words about progress
FOLDS = 5  # where leaving out single rows would flatter
CHUNK: int | None = None  # rows; None takes blocks as they are read, whose text has one dictionary each

Progress = Callable[[int, float | None], object]


@dataclass(frozen=True)
class LeftOut:
    """How well rows are answered that were not learned: each left out in turn, or a fold at a time.

    Parameters
    ----------
    accuracy : float
        The share of rows that are answered correctly.
    log_loss : float
        The mean of -log P(true class), in nats.
    n_rows : int
        How many rows were left out.
    n_folds : int or None
        In how many folds; None where each row was left out by itself.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import NaiveBayes
    >>> from tanager.files import learn, open_table
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("sky,class\\n" + 9 * "sun,play\\nrain,stay\\n" + "sun,stay\\nrain,play\\n")
    ...     file.flush()
    ...     learned = learn(NaiveBayes(), open_table(file.name), "class")
    >>> learned.left_out.n_rows, learned.left_out.accuracy, round(learned.left_out.log_loss, 4)
    (20, 0.9, 0.4225)
    """

    accuracy: float
    log_loss: float
    n_rows: int
    n_folds: int | None = None


@dataclass(frozen=True)
class Learned:
    """What became of a file; made by ``learn``.

    Parameters
    ----------
    model : classifier
        The one that was given, fitted.
    n_rows, n_unlabelled : int
        How many rows were learned, and how many were left out because they have no label.
    whole : bool
        Whether the model is the one that ``fit`` makes of the whole table; else kinds and cut points are of a sample.
    schema_rows : int
        The rows that kinds and cut points come from: all, or those of the sample.
    dropped : dict of str to str
        The columns that were left out, and why.
    missing : dict of str to int
        How many cells are empty, for columns that have such.
    left_out : LeftOut or None
        How well rows are answered that were not learned; None if nobody asked.
    order : RowOrder
        The order of the rows, where there is one: by time, by class or by a column, or neighbours that are alike.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import AODE
    >>> from tanager.files import learn, open_table
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     rows = 15 * "sun,here,play\\nrain,here,stay\\n" + "?,here,play\\n" + "sun,here,\\n"
    ...     _ = file.write("sky,place,class\\n" + rows)
    ...     file.flush()
    ...     learned = learn(AODE(), open_table(file.name), "class")
    >>> learned.n_rows, learned.n_unlabelled, learned.missing
    (31, 1, {'sky': 1})
    >>> learned.dropped
    {'place': 'one value only'}
    """

    model: Any
    n_rows: int
    n_unlabelled: int
    whole: bool
    schema_rows: int
    dropped: dict[str, str]
    missing: dict[str, int]
    left_out: LeftOut | None
    order: RowOrder = RowOrder("none")


def learn(
    model: Any,
    source: Source,
    target: str,
    *,
    drop: Iterable[str] = (),
    times: str | None = None,
    progress: Progress | None = None,
    leave_one_out: bool = True,
) -> Learned:
    """Fit a classifier to a table in a file.

    Parameters
    ----------
    model : classifier
        Fitted in place; what it had learned before is forgotten. Kinds that the file declares (ARFF) become its
        ``categorical`` and ``numeric`` options where it has none.
    source : Source
        From ``open_table``.
    target : str
        The column with the classes.
    drop : names of columns
        Not to be learned. Columns that ``fit`` leaves out of any table are dropped too, and the reason is told.
    times : str, default=None
        The column that says when a row happened, for models that forget by time. It is not learned.
    progress : callable, default=None
        Called with the rows read so far and the fraction of the file (None when unknown).
    leave_one_out : bool, default=True
        Whether to leave out rows in turn: all of them, or an even sample when there are more than 200,000.

    Returns
    -------
    Learned
        The model, and what became of rows and columns.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import AODE
    >>> from tanager.files import learn, open_table
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("sky,wind,class\\n" + 10 * "sun,weak,play\\nrain,strong,stay\\n")
    ...     file.flush()
    ...     learned = learn(AODE(), open_table(file.name), "class")
    >>> learned.n_rows, learned.left_out.accuracy
    (20, 1.0)
    """
    columns = feature_columns(source, target, [*drop, *_time_column(source, times)])
    take_options(model, source, columns)
    rows = _Reading(source, columns, target, progress, times)
    chunks = iter(rows)
    head, ended = _first_cells(chunks, len(columns) + 1)
    if not head:
        raise DataError(f"{source.name}: no row has a label in column {target!r}. At least one row needs a class.")
    sample = pa.concat_tables(head) if ended else _sample(source, head, columns, target)
    leave_one_out = leave_one_out and model.can_leave_out
    kept, runs = EvenRows(LEFT_OUT if leave_one_out else 0), LabelRuns()
    if ended:
        _refuse_one_class(source, target, sample[target])
        labels = as_labels(sample[target], target)
        tell(f"learning {len(labels):,} rows")
        model.fit_table(sample.select(columns), labels, target, times=_seconds(sample, times))
        kept.add(sample)
        runs.add(*_codes(sample[target]))
    else:
        model.fit_schema(sample.select(columns), as_labels(sample[target], target), target)
        kept.expect(rows.n_rows / (source.done or 1.0))
        if source.repeatable:
            model.read_again_by(lambda: _again(rows, columns))
        for chunk in chain(_drain(head), chunks):
            model.partial_fit(chunk.select(columns), as_labels(chunk[target], target), times=_seconds(chunk, times))
            kept.add(chunk)
            runs.add(*_codes(chunk[target]))
        _refuse_one_class(source, target, arrow_column(model.classes_.tolist()))
        model.check_learned()
    schema = model.encoder_.schema
    (tell_text if schema.left_out else tell_columns)(schema)  # what is left out is in the report
    dropped = dict.fromkeys(drop, "asked for") | {gone.name: gone.reason for gone in schema.left_out}
    missing = {name: n for name, n in rows.missing.items() if n and name in schema.learned_names}
    if not leave_one_out:
        left_out = None
    elif model.flatters_left_out:
        left_out = _by_folds(model)
    else:
        left_out = _leave_one_out(model, kept.table(), columns, target)
    # In parts, columns are not looked at again: that neighbours are alike is seen in the labels.
    ordered = ((name, partial(_numbers, sample[name])) for name in columns) if ended else ()
    order = row_order(runs, ordered, {column.table_name for column in schema.columns if column.part})
    return Learned(model, rows.n_rows, rows.n_unlabelled, ended, sample.num_rows, dropped, missing, left_out, order)


def _codes(column: pa.ChunkedArray) -> tuple[np.ndarray, list[Any]]:
    """A column as codes of its values; what is missing has the largest."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = coded.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    values = whole.dictionary.to_pylist()
    codes = whole.indices
    if codes.null_count:
        codes = codes.fill_null(arrow_scalar(len(values), codes.type))
    return numbers_of(codes).astype(np.int64), values


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """A column as numbers that have its order."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return numbers_with_gaps(column) if column.null_count else numbers_of(column)
    return ranked(*_codes(column))


def _time_column(source: Source, times: str | None) -> list[str]:
    if times is not None and times not in source.columns:
        raise OptionError(f"times: {source.name} has no column {times!r}.{nearest(times, source.columns)}")
    return [] if times is None else [times]


def _seconds(table: pa.Table, times: str | None) -> np.ndarray | None:
    if times is None:
        return None
    if table[times].null_count:
        raise DataError(f"column {times!r} has a cell without a time. Every row needs one.")
    return np.asarray(table[times])


def update(model: Any, source: Source, *, times: str | None = None, progress: Progress | None = None) -> int:
    """Learn the rows of a file in addition, and say how many. A file that is bad somewhere changes nothing.

    Parameters
    ----------
    model : classifier
        One that was learned from a file, or knows the name of its target otherwise (``target_name_``).
    source : Source
        From ``open_table``, with the column of the target. Columns that the model does not know are ignored, and those
        that the file lacks are missing values.
    times : str, default=None
        The column that says when a row happened, for models that forget by time.
    progress : callable, default=None
        Called with the rows read so far and the fraction of the file (None when unknown).

    Returns
    -------
    int
        How many rows there were.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import NaiveBayes
    >>> from tanager.files import open_table, update
    >>> model = NaiveBayes().fit({"sky": ["sun", "sun", "rain"]}, ["play", "stay", "stay"])
    >>> model.target_name_ = "class"
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("sky,class\\nsun,play\\n")
    ...     file.flush()
    ...     update(model, open_table(file.name))
    1
    >>> model.predict_proba([["sun"]])  # two of three played in the sun, and half of all
    array([[0.6, 0.4]])
    """
    return _change(model, source, times, progress, "partial_fit")


def unlearn(model: Any, source: Source, *, times: str | None = None, progress: Progress | None = None) -> int:
    """Take the rows of a file away, and say how many. A file that is bad somewhere changes nothing.

    The model is then the one that never learned them, but for cut points and the list of values.

    Parameters
    ----------
    model : classifier
        One that was learned from a file, or knows the name of its target otherwise (``target_name_``).
    source : Source
        From ``open_table``, with the column of the target. Columns that the model does not know are ignored, and those
        that the file lacks are missing values.
    times : str, default=None
        The column that says when a row happened, for models that forget by time.
    progress : callable, default=None
        Called with the rows read so far and the fraction of the file (None when unknown).

    Returns
    -------
    int
        How many rows there were.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import NaiveBayes
    >>> from tanager.files import open_table, unlearn
    >>> model = NaiveBayes().fit({"sky": ["sun", "sun", "rain"]}, ["play", "stay", "stay"])
    >>> model.target_name_ = "class"
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("sky,class\\nsun,stay\\n")
    ...     file.flush()
    ...     unlearn(model, open_table(file.name))
    1
    >>> model.counts_ == NaiveBayes().fit({"sky": ["sun", "rain"]}, ["play", "stay"]).counts_
    True
    """
    return _change(model, source, times, progress, "unlearn")


def _change(model: Any, source: Source, times: str | None, progress: Progress | None, verb: str) -> int:
    target = getattr(model, "target_name_", None)
    if target is None:
        raise DataError(
            f"this {type(model).__name__} does not know the name of its target column. "
            "Learn it from a file, or set model.target_name_."
        )
    names = source.columns_of(model)
    _time_column(source, times)
    rows = _Reading(source.match(model), names, target, progress, times)
    work = copy.deepcopy(model)
    for chunk in rows:
        try:
            getattr(work, verb)(chunk.select(names), as_labels(chunk[target], target), times=_seconds(chunk, times))
        except DataError as error:
            first = rows.n_rows - chunk.num_rows + 1
            raise type(error)(f"{source.name}, data rows {first:,} to {rows.n_rows:,}: {error}") from None
    model.take_over(work)
    return rows.n_rows


class _Reading:
    """One pass over the labelled rows, with what is to be counted on the way."""

    def __init__(
        self, source: Source, columns: list[str], target: str, progress: Progress | None, times: str | None = None
    ) -> None:
        self.source, self.columns, self.target, self.progress = source, columns, target, progress
        self.beside = [target] if times is None else [target, times]
        self.n_rows = self.n_unlabelled = 0
        self.missing = dict.fromkeys(columns, 0)

    def __iter__(self) -> Iterator[pa.Table]:
        for chunk in self.source.chunks([*self.columns, *self.beside], CHUNK):
            labelled = self._labelled(chunk)
            for name in self.columns:
                self.missing[name] += n_missing(labelled[name])
            self.n_rows += labelled.num_rows
            if self.progress is not None:
                self.progress(self.n_rows + self.n_unlabelled, self.source.done)
            if labelled.num_rows:
                yield labelled

    def _labelled(self, chunk: pa.Table) -> pa.Table:
        without = n_missing(chunk[self.target])
        self.n_unlabelled += without
        return chunk.filter(pc.is_valid(_no_nan(chunk[self.target]))) if without else chunk


def _again(first: _Reading, columns: list[str]) -> Iterator[tuple[pa.Table, pa.ChunkedArray]]:
    """The same rows and labels in one more pass; refused where the file is another one by now."""
    rows = _Reading(first.source, columns, first.target, first.progress)
    for chunk in rows:
        yield chunk.select(columns), as_labels(chunk[first.target], first.target)
    if rows.n_rows != first.n_rows:
        raise DataError(
            f"{first.source.name} has changed while it was read: {first.n_rows:,} labelled rows at first, and "
            f"{rows.n_rows:,} now. Learn it again."
        )


def feature_columns(source: Source, target: str, drop: Iterable[str]) -> list[str]:
    """The columns to learn from; names that are not there are refused."""
    drop = list(drop)
    if target not in source.columns:
        raise SchemaMismatch(f"{source.name} has no column {target!r} to learn.{nearest(target, source.columns)}")
    for name in drop:
        if name not in source.columns:
            raise OptionError(f"drop: {source.name} has no column {name!r}.{nearest(name, source.columns)}")
    if target in drop:
        raise OptionError(f"drop: {target!r} is the target. Name another column, or another target.")
    columns = [name for name in source.columns if name != target and name not in drop]
    if not columns:
        raise DataError(f"{source.name} has no column to learn from beside {target!r}.")
    return columns


def take_options(model: Any, source: Source, columns: list[str]) -> None:
    """Kinds that the file declares, where the model has none; columns that are not learned are not spoken of."""
    model = _with_columns(model)
    if model.schema is None and model.categorical is None and model.numeric is None:
        ordered = set(getattr(model, "ordinal", None) or ())
        declared = {kind: [name for name in names if name not in ordered] for kind, names in source.options.items()}
        model.set_params(**{kind: names for kind, names in declared.items() if names})
    for option in ("categorical", "numeric", "keep"):
        given = getattr(model, option)
        if isinstance(given, list | tuple):
            gone = set(source.columns) - set(columns)
            model.set_params(**{option: [name for name in given if name not in gone] or None})
    if isinstance(getattr(model, "dates", None), Mapping):
        model.set_params(dates={name: parts for name, parts in model.dates.items() if name in columns} or None)


def _with_columns(model: Any) -> Any:
    """The model whose options speak of columns: the one inside of HalfLives, which has none itself."""
    if hasattr(model, "schema"):
        return model
    if model.model is None:
        model.set_params(model=AODE())
    return model.model


def _first_cells(chunks: Iterator[pa.Table], n_columns: int) -> tuple[list[pa.Table], bool]:
    """Chunks of as many cells as are read whole, and whether these are all."""
    head, n_cells = [], 0
    for chunk in chunks:
        head.append(chunk)
        n_cells += chunk.num_rows * n_columns
        if n_cells > WHOLE:
            return head, False
    return head, True


def _drain(tables: list[pa.Table]) -> Iterator[pa.Table]:
    """The tables one after the other; each is let go of."""
    while tables:
        yield tables.pop(0)


def _sample(source: Source, head: list[pa.Table], columns: list[str], target: str) -> pa.Table:
    """Labelled rows from all over the file, or from the rows read already where it cannot be read again."""
    if source.repeatable:
        sample = source.sample(SAMPLE, [*columns, target])
        return sample.filter(pc.is_valid(_no_nan(sample[target])))
    first = pa.concat_tables(head)
    return every(first, max(1, first.num_rows // SAMPLE))


def _refuse_one_class(source: Source, target: str, labels: Any) -> None:
    try:
        classes = pc.unique(labels)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{source.name}: column {target!r} holds cells of type {labels.type}; classes must be text, booleans or "
            "whole numbers. Choose another target."
        ) from None
    if len(classes) == 1:
        raise DataError(
            f"{source.name}: column {target!r} has one value only, {classes[0].as_py()!r}. "
            "Classes must differ; is it the right target?"
        )


def as_labels(column: pa.ChunkedArray, target: str) -> pa.ChunkedArray:
    """A target column as class labels: numbers without fractions are whole numbers."""
    if not pa.types.is_floating(column.type):
        return column
    try:
        return _no_nan(column).cast(pa.int64())
    except pa.ArrowInvalid:
        raise DataError(
            f"column {target!r} holds numbers with fractions; classes must be text, booleans or whole numbers. "
            "Cut it into classes first, or choose another target."
        ) from None


def n_missing(column: pa.ChunkedArray) -> int:
    """How many cells of a column are null or NaN."""
    return int(_no_nan(column).null_count)


def _no_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NaN as null."""
    if not pa.types.is_floating(column.type) or not pc.any(pc.is_nan(column)).as_py():
        return column
    return pc.if_else(pc.is_nan(column), pa.nulls(1, column.type)[0], column)


def _leave_one_out(model: Any, rows: pa.Table, columns: list[str], target: str) -> LeftOut:
    """Accuracy by the model's own rule, and log loss; exact for these rows."""
    block = model.known_rows(rows.select(columns), as_labels(rows[target], target))
    parts = [block.part(slice(at, at + LEFT_OUT_AT_ONCE)) for at in range(0, len(block), LEFT_OUT_AT_ONCE)]
    proba = np.concatenate([model.leave_out(part) for part in steps("leaving rows out", parts)])
    return _measured(model, proba, block.labels)


def _by_folds(model: Any) -> LeftOut:
    """The same by models that learn again without the rows of a fold: slower, and honest where weights are learned."""
    held = HeldOut.deal(model.memory, FOLDS)
    return _measured(model, held_out_answers(model, held), model.memory.rows.block.labels[held.rows], FOLDS)


def _measured(model: Any, proba: np.ndarray, labels: np.ndarray, n_folds: int | None = None) -> LeftOut:
    answers = decide(proba, model.class_count_, check_costs(model.cost_matrix, model.classes_))
    right = proba[np.arange(len(labels)), labels]
    return LeftOut(
        accuracy=float((answers == labels).mean()),
        log_loss=float(-np.log(np.clip(right, 1e-15, None)).mean()),
        n_rows=len(labels),
        n_folds=n_folds,
    )
