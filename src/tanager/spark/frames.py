"""Spark frames: every partition is read as Arrow batches, returns bytes, and neighbours are merged.

``mapInArrow`` runs the work in the tasks that hold the rows. Its results are one small row per partition, which are
grouped by the number of the partition and merged in a shuffle of their own: never by ``coalesce``, which would pull the
counting itself into as few tasks as are left. The last of them come to the driver one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as f
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tanager.cluster import MOST_DISTINCT, Engine, Rows
from tanager.cluster import fit as fit_parts
from tanager.cluster import update as update_parts
from tanager.cluster.wire import FAN_IN, merge_in_order, pack, unpack
from tanager.encoding import Schema
from tanager.encoding.matching import there
from tanager.errors import DataError, MemoryBudgetError, OptionError, SchemaMismatch, nearest

ROWS_AT_ONCE = 200_000  # of a partition; batches of Arrow are a twentieth of that
RESULT = "place long, data binary"

Frame = Any  # pyspark.sql.DataFrame, classic or of Spark Connect
Batches = Iterable[pa.RecordBatch]


def fit(
    model: Any,
    frame: Frame,
    *,
    target: str,
    features: Sequence[str] | str | None = None,
    sample_weight: str | None = None,
    drop: Sequence[str] = (),
    max_distinct: int = MOST_DISTINCT,
    schema: Schema | None = None,
    classes: Any = None,
) -> Any:
    """Fit a classifier to a Spark frame, in place.

    The frame is read twice (once with ``schema``); where it takes long to make, ``frame.cache()`` it first.

    Parameters
    ----------
    model : classifier
        One that counts; see ``tanager.cluster.fit``.
    frame : DataFrame
        Rows with their labels. Text, numbers, booleans, dates and nulls are taken as they are.
    target : str
        The column with the labels.
    features : list of names or str, default=None
        The columns to learn from: all others by default. One name stands for a column of vectors or arrays.
    sample_weight : str, default=None
        The column with the weights of the rows.
    drop : names of columns, default=()
        Not to be learned.
    max_distinct, schema, classes
        See ``tanager.cluster.fit``.
    """
    columns = frame.columns
    beside = [target] if sample_weight is None else [target, sample_weight]
    for name in [*beside, *drop, *([features] if isinstance(features, str) else features or ())]:
        if name not in columns:
            raise SchemaMismatch(f"the frame has no column {name!r}.{nearest(name, columns)}")
    if features is None:
        features = [name for name in columns if name not in {*beside, *drop}]
    if not features:
        raise DataError("the frame has no column to learn from beside the labels.")
    rows = with_arrays(frame, features).select(*([features] if isinstance(features, str) else features), *beside)
    run = _engine(rows, _reader(features, target, sample_weight))
    named = not isinstance(features, str)
    return fit_parts(model, run, target=target, max_distinct=max_distinct, schema=schema, classes=classes, named=named)


def update(model: Any, frame: Frame, *, target: str | None = None, sample_weight: str | None = None) -> Any:
    """Learn the rows of a frame in addition, as ``partial_fit`` would; columns are found by their names."""
    target = target or model.target_name_
    if target is None:
        raise OptionError("this model does not know the name of its target column. Give target=.")
    names = there(frame.columns, model.encoder_.schema, type(model).__name__)
    beside = [target] if sample_weight is None else [target, sample_weight]
    for name in beside:
        if name not in frame.columns:
            raise SchemaMismatch(f"the frame has no column {name!r}.{nearest(name, frame.columns)}")
    return update_parts(model, _engine(frame.select(*names, *beside), _reader(names, target, sample_weight)))


def with_arrays(frame: Frame, features: Sequence[str] | str) -> Frame:
    """A frame whose column of vectors, if there is one, is a column of arrays."""
    if not isinstance(features, str):
        return frame
    kind = frame.schema[features].dataType
    if isinstance(kind, ArrayType):
        return frame
    if type(kind).__name__ != "VectorUDT":
        raise OptionError(f"column {features!r} holds no vectors. Give the columns to learn from as a list of names.")
    from pyspark.ml.functions import vector_to_array

    return frame.withColumn(features, vector_to_array(f.col(features)))


def matrix(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """A column of arrays, all of one length, as rows of numbers; a null is a row of gaps."""
    cells = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lengths = cells.value_lengths().drop_null().unique()
    if len(lengths) > 1:
        raise DataError(f"column {name!r}: arrays have {lengths[0]} and {lengths[1]} numbers. All must have as many.")
    width = lengths[0].as_py() if len(lengths) else 1
    out = np.full((len(cells), width), np.nan)
    out[cells.is_valid().to_numpy(zero_copy_only=False)] = (
        cells.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    )
    return out


# --- the engine -----------------------------------------------------------------------------------------------------


def _reader(features: Sequence[str] | str, target: str, weight: str | None) -> Callable[[Batches], Iterator[Rows]]:
    """How a task reads its partition."""
    names = features if isinstance(features, str) else list(features)

    def read(batches: Batches) -> Iterator[Rows]:
        for table in in_tables(batches):
            X = matrix(table[names], names) if isinstance(names, str) else table.select(names)
            yield X, table[target], None if weight is None else table[weight].to_numpy()

    return read


def in_tables(batches: Batches, size: int = ROWS_AT_ONCE) -> Iterator[pa.Table]:
    """Batches put together to tables of some size; there is no table without a row."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= size:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _engine(frame: Frame, read: Callable[[Batches], Iterator[Rows]]) -> Engine:
    def run(work: Callable[[Iterable[Rows]], bytes], merge: Callable[[list[bytes]], bytes]) -> bytes | None:
        def on_partition(batches: Batches) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            found = work(read(batches))
            if found:
                task = TaskContext.get()
                yield _result(0 if task is None else task.partitionId(), found)

        def neighbours(table: pa.Table) -> pa.Table:
            ordered = table.sort_by("place")
            return pa.Table.from_batches(
                [_result(ordered["place"][0].as_py() // FAN_IN, _merged(ordered["data"], merge))]
            )

        group = f.floor(f.col("place") / f.lit(FAN_IN)).alias("group")
        results = frame.mapInArrow(on_partition, RESULT).groupBy(group).applyInArrow(neighbours, RESULT)
        return merge_in_order(_in_order(results), merge)

    return run


def _result(place: int, data: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"place": pa.array([place], pa.int64()), "data": pa.array([data], pa.binary())})


def _merged(data: pa.ChunkedArray, merge: Callable[[list[bytes]], bytes]) -> bytes:
    parts = [part.as_py() for part in data]
    return merge(parts) if len(parts) > 1 else parts[0]


def _in_order(results: Frame) -> Iterator[bytes]:
    """What the groups of partitions give, in order, one at a time on the driver."""
    try:
        for row in results.orderBy("place").toLocalIterator(prefetchPartitions=False):
            yield bytes(row["data"])
    except Exception as error:
        raise _explained(error) from error


def _explained(error: Exception) -> Exception:
    """An error of a task in our words, where these help more than a trace of Java."""
    text = str(error)
    if "No module named 'tanager'" in text or "PYTHON_VERSION_MISMATCH" in text:
        return OptionError(
            "the workers run another Python than the driver, or one without tanager. Set PYSPARK_PYTHON (or "
            "spark.pyspark.python) to a Python that has it before the session is made."
        )
    for kind in (SchemaMismatch, DataError, OptionError, MemoryBudgetError):
        mark = f"tanager.errors.{kind.__name__}: "
        if mark in text:
            return kind(text.split(mark, 1)[1].splitlines()[0])
    return error


# --- answers --------------------------------------------------------------------------------------------------------


def transform(
    model: Any,
    frame: Frame,
    *,
    prediction: str | None = "prediction",
    probability: str | None = "probability",
    features: str | None = None,
) -> Frame:
    """The frame with the answers of a model beside its rows, lazily.

    ``prediction`` and ``probability`` name the columns to be added, None leaves one out. The probabilities are an array
    in the order of ``classes_``. The columns of the model are found by name, or in ``features``, a column of arrays.
    """
    fields = []
    if prediction is not None:
        fields.append(StructField(prediction, label_type(model), nullable=False))
    if probability is not None:
        fields.append(StructField(probability, ArrayType(DoubleType(), containsNull=False), nullable=False))
    if features is None:
        names: str | list[str] = there(frame.columns, model.encoder_.schema, type(model).__name__)
    elif features in frame.columns:
        names = features
    else:
        raise SchemaMismatch(f"the frame has no column {features!r}.{nearest(features, frame.columns)}")
    for field in fields:
        if field.name in frame.columns:
            raise OptionError(f"the frame has a column {field.name!r} already. Name the new one otherwise.")
    data = pack(model)

    def answer(batches: Batches) -> Iterator[pa.RecordBatch]:
        own = unpack(data)
        for batch in batches:
            yield _answered(own, batch, names, prediction, probability)

    return frame.mapInArrow(answer, StructType([*frame.schema.fields, *fields]))


def label_type(model: Any) -> DataType:
    """The type of the answers in a frame."""
    kind = {type(label) for label in model.classes_.tolist()}
    if kind == {bool}:
        return BooleanType()
    if kind == {int}:
        return LongType()
    return DoubleType() if kind <= {int, float} else StringType()


def _answered(
    model: Any, batch: pa.RecordBatch, names: list[str] | str, prediction: str | None, probability: str | None
) -> pa.RecordBatch:
    """A batch with two more columns."""
    k = len(model.classes_)
    proba = np.zeros((0, k))
    if batch.num_rows:
        table = pa.Table.from_batches([batch])
        proba = model.predict_proba(matrix(table[names], names) if isinstance(names, str) else table.select(names))
    columns, fields = list(batch.columns), list(batch.schema)
    if prediction is not None:
        labels = pa.array(model.decide(proba).tolist() if len(proba) else [], _ARROW[type(label_type(model))])
        columns.append(labels)
        fields.append(pa.field(prediction, labels.type, nullable=False))
    if probability is not None:
        ends = pa.array(np.arange(len(proba) + 1, dtype=np.int32) * k)
        cells = pa.ListArray.from_arrays(ends, pa.array(proba.ravel()))
        columns.append(cells)
        fields.append(pa.field(probability, cells.type, nullable=False))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


_ARROW: dict[type[DataType], Any] = {
    BooleanType: pa.bool_(),
    LongType: pa.int64(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
}
