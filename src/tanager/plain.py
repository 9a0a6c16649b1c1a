"""Options, tables and structures as plain data for JSON, and back.

JSON's own types stand for themselves. Everything else is an object whose key names its type: ``{"tuple": [...]}``,
``{"dict": [[key, value], ...]}``, ``{"array": [dtype, shape, cells]}``, ``{"estimate": [kind, strength, ...]}``,
``{"classifier": name, "params": {...}}``, ``{"value": [name, {...}]}`` for a structure learner and a few more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, fields
from datetime import date, datetime, timedelta
from importlib import import_module
from typing import Any, cast

import numpy as np

from tanager import saved
from tanager.counts.align import checked_type
from tanager.counts.estimates import ESTIMATES, Estimate
from tanager.counts.forgetting import Decay, Window
from tanager.encoding import Schema
from tanager.encoding.frames import is_arrow, is_pandas
from tanager.errors import ModelFileError
from tanager.learning.classifier import Classifier
from tanager.learning.recut_option import Recut
from tanager.learning.structure_change import Hoeffding
from tanager.networks.network import Network
from tanager.scoring.forms import Form, ProductOfSums, StagedSum, SumOfProducts
from tanager.streams.detectors import DDM
from tanager.structure.cbl import CBL
from tanager.structure.chow_liu import ChowLiu
from tanager.structure.hill_climb import HillClimb
from tanager.structure.independence_tests import GSquared, Pearson, Threshold
from tanager.structure.k2 import K2
from tanager.structure.pdag_search import PDAGSearch

RENAMED = {"judged_rows": "validation_rows"}  # options that older files know by another name


def to_plain(value: Any, place: str) -> Any:
    """Data for JSON; `place` is the name of the value in error messages.

    >>> to_plain({("x1", None): 2.0, "x2": (1, float("inf"))}, "weights")
    {'dict': [[{'tuple': ['x1', None]}, 2.0], ['x2', {'tuple': [1, {'float': 'inf'}]}]]}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is list:
        return [to_plain(item, place) for item in value]
    if type(value) is tuple:
        return {"tuple": [to_plain(item, place) for item in value]}
    if isinstance(value, Mapping):
        pairs = [[to_plain(key, place), to_plain(item, f"{place}[{key!r}]")] for key, item in value.items()]
        return {"dict": pairs}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufUO":
        cells = to_plain(value.ravel().tolist(), place)
        return {"array": [value.dtype.str, list(value.shape), cells, isinstance(value, np.generic)]}
    if isinstance(value, Schema):
        return {"schema": value.to_dict()}
    if type(value) in ESTIMATES.values():
        return {"estimate": [value.kind, *(to_plain(own, place) for own in astuple(value))]}
    if isinstance(value, Network):
        return {"network": value.to_dict()}
    if _VALUES.get(type(value).__name__) is type(value):
        own = {item.name: to_plain(getattr(value, item.name), f"{place}.{item.name}") for item in fields(value)}
        return {"value": [type(value).__name__, own]}
    if type(value) in (date, datetime):
        return {type(value).__name__: value.isoformat()}
    if type(value) is timedelta:
        return {"timedelta": value.total_seconds()}
    if isinstance(value, Classifier):
        return _classifier_to_plain(value, place)
    raise ModelFileError(
        f"cannot save {place}: {value!r} is a {type(value).__name__}; a model file contains plain data only (numbers, "
        "text,  lists, tuples, dicts, arrays, schemas, estimates, classifiers). Use one of these."
    )


def from_plain(data: Any) -> Any:
    """What ``to_plain`` wrote."""
    if isinstance(data, list):
        return [from_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "classifier" in data:
        return _classifier_from_plain(data)
    ((kind, content),) = data.items()
    return _READERS[kind](content)


def classifier_named(name: object) -> type[Classifier] | None:
    """The public classifier of this name. Only these are ever created from a file; None for any other name."""
    package = import_module("tanager")
    if name not in package.__all__:
        return None
    try:
        found = getattr(package, str(name))
    except ImportError:  # something else that is public, and needs a package that is not there
        return None
    return found if isinstance(found, type) and issubclass(found, Classifier) else None


def option_names(cls: type[Classifier]) -> list[str]:
    """The options of a classifier."""
    return [item.name for item in fields(cast(Any, cls))]  # all of them are dataclasses


def _classifier_to_plain(model: Classifier, place: str) -> dict[str, Any]:
    name = type(model).__name__
    if classifier_named(name) is not type(model):
        raise ModelFileError(
            f"cannot save {place}: {name} is not a classifier of tanager, and a file contains no code to create it "
            "again. Use pickle or joblib for your own classes."
        )
    params = model.get_params(deep=False)
    return {"classifier": name, "params": {key: to_plain(item, f"option {key!r}") for key, item in params.items()}}


def _classifier_from_plain(data: dict[str, Any]) -> Classifier:
    params = {RENAMED.get(key, key): from_plain(item) for key, item in data["params"].items()}
    cls = classifier_named(data["classifier"])
    if cls is None:
        raise KeyError(data["classifier"])
    return cls(**params)


def _array(data: list[Any]) -> Any:
    dtype, shape, cells, scalar = data
    array = np.empty(len(cells), dtype=checked_type(dtype, len(cells)))
    array[:] = from_plain(cells)
    return array[0] if scalar else array.reshape(shape)


def _estimate(data: list[Any]) -> Estimate:
    return ESTIMATES[data[0]](*from_plain(data[1:]))


def _value(data: list[Any]) -> Any:
    name, own = data
    return _VALUES[name](**{key: from_plain(item) for key, item in own.items()})


_VALUES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(CBL, ChowLiu, HillClimb, K2, PDAGSearch, Threshold, GSquared, Pearson),
        *(Decay, Window, Recut, Hoeffding, DDM),
    )
}

_READERS: dict[str, Any] = {
    "float": float,
    "tuple": lambda items: tuple(from_plain(items)),
    "dict": lambda pairs: {from_plain(key): from_plain(item) for key, item in pairs},
    "array": _array,
    "schema": Schema.from_dict,
    "timedelta": lambda seconds: timedelta(seconds=float(seconds)),
    "estimate": _estimate,
    "network": Network.from_dict,
    "value": _value,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


# --- structures --------------------------------------------------------------------------------------------------


def form_to_plain(form: Form) -> dict[str, Any]:
    """The families of a form and how they are combined, as plain data."""
    if isinstance(form, ProductOfSums):
        return asdict(form)
    rest = None if form.otherwise is None else form_to_plain(form.otherwise)
    plain = {"members": form.members, "weight": form.weight, "min_count": form.min_count, "otherwise": rest}
    if form.children is not None:
        plain["children"] = form.children
    if isinstance(form, StagedSum):
        margin = None if math.isinf(form.margin) else form.margin
        plain["in_turn"] = {"mix": form.mix, "limit": form.limit, "margin": margin}
    return plain


_PLACES = saved.items(saved.whole(0, 2**31 - 1))
_WEIGHTS = saved.items(saved.number(0.0))
_PRODUCT = {
    "child": _PLACES,
    "parents": saved.items(_PLACES),
    "weight": _WEIGHTS,
    "class_parents": _PLACES,
    "only": saved.items(_PLACES),
    "free": saved.items(saved.row(saved.whole(0, 2**31 - 1), _PLACES)),
    "joined": saved.items(_PLACES),
}
_SUM = {
    "members": saved.items(_PLACES),
    "weight": _WEIGHTS,
    "min_count": saved.number(0.0),
    "children": saved.maybe(_PLACES),
}
_IN_TURN = {
    "mix": saved.text("joint", "posterior", "replace"),
    "limit": saved.whole(-1),
    "margin": saved.maybe(saved.number(0.0)),
}


def form_from_plain(data: dict[str, Any]) -> Form:
    """The form that ``form_to_plain`` wrote."""
    if "child" in data:
        absent: dict[str, Any] = {"class_parents": [], "only": [], "free": [], "joined": []}  # in older files
        product = ProductOfSums(**saved.read("terms of its structure", absent | data, _PRODUCT))
        _check_speakers(product)
        return product
    members, weight, least, children = saved.read("members of its structure", {"children": None} | data, _SUM).values()
    rest = None if data["otherwise"] is None else form_from_plain(data["otherwise"])
    if data.get("in_turn") is None:
        return SumOfProducts(members, weight, least, rest, children=children)
    turn = saved.read("stages of its structure", data["in_turn"], _IN_TURN)
    margin = math.inf if turn["margin"] is None else turn["margin"]
    return StagedSum(members, weight, least, rest, turn["mix"], turn["limit"], margin)


def _check_speakers(form: ProductOfSums) -> None:
    """Where terms belong to some classes alone, a class has one term for a column."""
    classes = {c for only in form.only for c in only}
    spoken = [(i, c) for i, only in zip(form.child, form.only, strict=False) for c in only or classes]
    if form.only and (len(form.only) != len(form.child) or len(set(spoken)) < len(spoken)):
        raise ModelFileError("its structure has two networks for a class")


# --- tables ------------------------------------------------------------------------------------------------------


def table_to_plain(X: Any, name: str) -> tuple[Any, dict[str, np.ndarray]]:
    """A table as plain data and arrays, which restore the same type of table."""
    kind = "pandas" if is_pandas(X) else type(X).__module__.partition(".")[0]
    if kind in ("pandas", "polars", "pyarrow") and is_arrow(X):
        return {"frame": kind}, {name: _arrow_bytes(X)}
    if isinstance(X, np.ndarray) and X.dtype.kind in "biufUSmM":
        return {"stored": name}, {name: X}
    place = "the first rows of the stream, which are kept until cut points are fixed"
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        return {"objects": [list(X.shape), _cells(X.ravel().tolist(), place)]}, {}
    if isinstance(X, Mapping) and all(isinstance(column, list | tuple | np.ndarray) for column in X.values()):
        return {"columns": [[key, _cells(list(column), place)] for key, column in X.items()]}, {}
    if isinstance(X, list | tuple) and all(isinstance(row, Mapping) for row in X):
        return {"dicts": [[[key, *_cells([cell], place)] for key, cell in row.items()] for row in X]}, {}
    if isinstance(X, list | tuple):
        return {"lists": [_cells(list(row), place) for row in X]}, {}
    raise ModelFileError(f"cannot save {place}: a {type(X).__name__} cannot be stored. Save after more rows.")


def _cells(cells: list[Any], place: str) -> list[Any]:
    """Cells as plain data: NumPy numbers as Python's, pandas.NA and NaT as None."""
    plain = (cell.item() if isinstance(cell, np.generic) and cell.dtype.kind in "biufU" else cell for cell in cells)
    missing = ("NAType", "NaTType")
    return [None if type(cell).__name__ in missing else to_plain(cell, place) for cell in plain]


def table_from_plain(data: dict[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Any:
    """The table that ``table_to_plain`` wrote."""
    ((kind, content),) = data.items()
    if kind == "frame":
        return _from_arrow_bytes(arrays[name], content)
    if kind == "stored":
        return arrays[name]
    if kind == "objects":
        shape, cells = content
        table = np.empty(len(cells), dtype=object)
        table[:] = from_plain(cells)
        return table.reshape(shape)
    if kind == "columns":
        return {key: from_plain(cells) for key, cells in content}
    if kind == "dicts":
        return [{key: from_plain(cell) for key, cell in row} for row in content]
    return [from_plain(row) for row in content]


def _arrow_bytes(frame: Any) -> np.ndarray:
    import pyarrow as pa

    try:
        table = pa.Table.from_pandas(frame, preserve_index=False) if is_pandas(frame) else pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ModelFileError(
            f"cannot save the first rows of the stream: {error}. Save after more rows, or clean the data."
        ) from None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _from_arrow_bytes(data: np.ndarray, kind: str) -> Any:
    import pyarrow as pa

    table = pa.ipc.open_stream(pa.py_buffer(data.tobytes())).read_all()
    table.validate(full=True)
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(table)
    return table
