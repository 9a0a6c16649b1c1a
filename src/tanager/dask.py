"""Classifiers learn from and answer to Dask frames and arrays; the extra ``dask`` brings what is needed.

Every partition is read where it is, in two passes or a few more; what travels are summaries and counts, merged as a
tree (see ``tanager.cluster``). The model is the one that ``fit`` makes of the whole table on one machine, and is saved,
asked and taught as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tanager.cluster import MOST_DISTINCT, Engine, Rows
from tanager.cluster import fit as fit_parts
from tanager.cluster.wire import FAN_IN
from tanager.encoding import Schema
from tanager.encoding.matching import there
from tanager.errors import DataError, OptionError, SchemaMismatch, nearest

try:
    dask: Any = import_module("dask")
except ImportError as error:
    raise ImportError("tanager.dask needs Dask. Install the extra: pip install 'tanager[dask]'.") from error


def fit(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    sample_weight: Any = None,
    drop: Sequence[str] = (),
    max_distinct: int = MOST_DISTINCT,
    schema: Schema | None = None,
    classes: Any = None,
    **compute: Any,
) -> Any:
    """Fit a classifier to a Dask frame or array, in place.

    Parameters
    ----------
    model : classifier
        One that counts; see ``tanager.cluster.fit``.
    X : dask DataFrame or Array
        Rows. Frames may hold the labels, too.
    y : dask Series or Array, default=None
        Labels in the same partitions, where they are not in the frame.
    target : str, default=None
        The column of the frame with the labels.
    sample_weight : str, dask Series or Array, default=None
        Weights of the rows, or the column of the frame that holds them.
    drop : names of columns, default=()
        Not to be learned.
    max_distinct, schema, classes
        See ``tanager.cluster.fit``.
    **compute
        For ``dask.compute``: ``scheduler`` ("threads", "processes", "sync" or a client; by default what Dask is set
        to), and on a cluster ``retries`` for tasks that fail.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from tanager import AODE
    >>> from tanager.dask import fit, predict
    >>> table = pd.DataFrame({"sky": ["sun", "rain"] * 4, "wind": ["weak"] * 8, "class": ["play", "stay"] * 4})
    >>> frame = dd.from_pandas(table, npartitions=3)
    >>> model = fit(AODE(), frame, target="class", scheduler="sync")
    >>> predict(model, frame).compute(scheduler="sync").tolist()[:2]
    ['play', 'stay']
    """
    parts, named = _parts(X, y, target, sample_weight, list(drop))
    run = _engine(parts, compute)
    name = target or getattr(y, "name", None)
    return fit_parts(
        model,
        run,
        target=name if isinstance(name, str) else None,
        max_distinct=max_distinct,
        schema=schema,
        classes=classes,
        named=named,
    )


def predict_proba(model: Any, X: Any) -> Any:
    """Probabilities of the classes, lazily: a frame with a column for each class, or an array."""
    if _is_frame(X):
        meta = _empty_frame(model)
        return X[_features(model, X)].map_partitions(_proba_frame, dask.delayed(model), meta=meta)
    X = _whole_rows(X)
    k = len(model.classes_)
    return X.map_blocks(_proba_array, model, dtype=np.float64, chunks=(X.chunks[0], (k,)))


def predict(model: Any, X: Any) -> Any:
    """The answers, lazily: a series or an array."""
    kind = model.classes_.dtype
    if _is_frame(X):
        import pandas as pd

        meta = pd.Series([], dtype=object if kind.kind == "U" else kind, name=model.target_name_)
        return X[_features(model, X)].map_partitions(_label_series, dask.delayed(model), meta=meta)
    return _whole_rows(X).map_blocks(_label_array, model, dtype=kind, drop_axis=1)


# --- answers of a partition -----------------------------------------------------------------------------------------


def _proba_frame(table: Any, model: Any) -> Any:
    import pandas as pd

    proba = model.predict_proba(table) if len(table) else np.zeros((0, len(model.classes_)))
    return pd.DataFrame(proba, index=table.index, columns=model.classes_.tolist())


def _label_series(table: Any, model: Any) -> Any:
    import pandas as pd

    kind = model.classes_.dtype
    labels = model.predict(table) if len(table) else model.classes_[:0]
    return pd.Series(labels.astype(object) if kind.kind == "U" else labels, index=table.index, name=model.target_name_)


def _proba_array(rows: np.ndarray, model: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(rows)) if len(rows) else np.zeros((0, len(model.classes_)))


def _label_array(rows: np.ndarray, model: Any) -> np.ndarray:
    return np.asarray(model.predict(rows)) if len(rows) else model.classes_[:0]


def _empty_frame(model: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({label: np.zeros(0) for label in model.classes_.tolist()})


def _features(model: Any, X: Any) -> list[str]:
    """The columns of the model that the frame has, by name; the others are missing values."""
    return there(X.columns.tolist(), model.encoder_.schema, type(model).__name__)


# --- the engine -----------------------------------------------------------------------------------------------------


def _engine(parts: list[Any], compute: Mapping[str, Any]) -> Engine:
    """Work on every partition and merge neighbours, in one graph."""

    def run(work: Callable[..., bytes], merge: Callable[[list[bytes]], bytes]) -> bytes | None:
        work, merge = dask.delayed(work), dask.delayed(merge)
        results = [dask.delayed(_done)(work, part) for part in parts]
        while len(results) > 1:
            results = [dask.delayed(_merged)(merge, results[at : at + FAN_IN]) for at in range(0, len(results), FAN_IN)]
        (found,) = dask.compute(results[0], **compute)
        return found or None

    return run


def _done(work: Callable[..., bytes], part: Rows) -> bytes:
    return work([part])


def _merged(merge: Callable[[list[bytes]], bytes], results: list[bytes]) -> bytes:
    filled = [result for result in results if result]
    return merge(filled) if len(filled) > 1 else filled[0] if filled else b""


# --- partitions -----------------------------------------------------------------------------------------------------


def _is_frame(X: Any) -> bool:
    return hasattr(X, "npartitions") and hasattr(X, "columns")


def _parts(X: Any, y: Any, target: str | None, weights: Any, drop: list[str]) -> tuple[list[Any], bool]:
    """Rows, labels and weights of every partition, lazily; and whether columns have names."""
    if _is_frame(X):
        return _frame_parts(X, y, target, weights, drop), True
    if not hasattr(X, "chunks"):
        raise DataError(f"X is a {type(X).__name__}; give a Dask frame or array, or use model.fit for other tables.")
    if y is None or target is not None or drop:
        raise OptionError("an array has no names: give the labels as y, without target= and drop=.")
    X = _whole_rows(X)
    rows = list(X.to_delayed().ravel())
    beside = [
        None if cells is None else _like(cells, X, name) for cells, name in ((y, "y"), (weights, "sample_weight"))
    ]
    labels, w = ([None] * len(rows) if cells is None else cells for cells in beside)
    return [dask.delayed(_triple)(*part) for part in zip(rows, labels, w, strict=True)], False


def _triple(X: Any, y: Any, weights: Any) -> Rows:
    return X, y, weights


def _whole_rows(X: Any) -> Any:
    """The array in blocks of whole rows."""
    if X.ndim != 2:
        raise DataError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _like(cells: Any, X: Any, name: str) -> list[Any]:
    """Labels or weights in the blocks of X."""
    known = not any(np.isnan(size) for size in (*X.chunks[0], *getattr(cells, "chunks", ((),))[0]))
    if hasattr(cells, "rechunk") and known:
        cells = cells.rechunk((X.chunks[0],))
    parts = list(cells.to_delayed()) if hasattr(cells, "to_delayed") else []
    if len(parts) != X.numblocks[0]:
        raise DataError(f"{name} must be a Dask array or series with the {X.numblocks[0]} blocks of X.")
    return parts


def _frame_parts(X: Any, y: Any, target: str | None, weights: Any, drop: list[str]) -> list[Any]:
    columns = X.columns.tolist()
    if (y is None) == (target is None):
        raise OptionError("give the labels as y, or the column that holds them as target=.")
    weight = weights if isinstance(weights, str) else None
    beside = [name for name in (target, weight) if name is not None]
    for name in [*beside, *drop]:
        if name not in columns:
            raise SchemaMismatch(f"the frame has no column {name!r}.{nearest(name, columns)}")
    features = [name for name in columns if name not in {*beside, *drop}]
    if not features:
        raise DataError("the frame has no column to learn from beside the labels.")
    rows = X[[*features, *beside]].to_delayed()
    labels = [None] * len(rows) if y is None else _series(y, len(rows), "y")
    w = [None] * len(rows) if weights is None or weight is not None else _series(weights, len(rows), "sample_weight")
    split = partial(_split, features=features, target=target, weight=weight)
    return [dask.delayed(split)(*part) for part in zip(rows, labels, w, strict=True)]


def _series(cells: Any, n: int, name: str) -> list[Any]:
    parts = list(cells.to_delayed()) if hasattr(cells, "to_delayed") else []
    if len(parts) != n:
        raise DataError(f"{name} must be a Dask series with the {n} partitions of X.")
    return parts


def _split(table: Any, y: Any, w: Any, *, features: list[str], target: str | None, weight: str | None) -> Rows:
    """Rows, labels and weights of one partition."""
    return table[features], table[target] if y is None else y, table[weight] if weight is not None else w
