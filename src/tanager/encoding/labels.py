"""Class labels to class codes. Codes follow the sorted order of the labels, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tanager import _kernels
from tanager.encoding.tables import read_column
from tanager.encoding.values import Categories, Numbers, index_whole
from tanager.errors import DataError


def encode_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the labels, and the labels in sorted order (by type name first when types are mixed).

    A missing label (None, NaN) gets the largest value of the code type.

    Parameters
    ----------
    y : array, column or sequence of labels
        The class of every row; None and NaN are missing.

    Returns
    -------
    codes : array of shape (n_rows,)
        The code of every label, uint8 or wider.
    classes : array of shape (n_classes,)
        The label of every code.

    Examples
    --------
    >>> codes, classes = encode_labels(["yes", "no", None, "yes"])
    >>> codes, classes
    (array([  1,   0, 255,   1], dtype=uint8), array(['no', 'yes'], dtype='<U3'))
    """
    codes, classes = _encode(y)
    if len(classes) == 0:
        raise DataError("y has no label: every entry is missing. At least one row needs a class.")
    return codes, classes


def encode_some_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """``encode_labels`` of a part of a table, in which all labels may be missing."""
    return _encode(y)


def join_classes(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """All classes of two parts of a table in sorted order, in a type that holds both.

    >>> join_classes(np.array(["no"]), np.array(["maybe", "no"]))
    array(['maybe', 'no'], dtype='<U5')
    """
    if len(ours) == 0 or len(theirs) == 0:
        return theirs if len(ours) == 0 else ours
    return _joined(sorted({*ours.tolist(), *theirs.tolist()}, key=sort_key), ours, theirs)


def _encode(y: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise DataError(f"y must be one column of labels, got an array of shape {y.shape}. Pass y.ravel().")
    if isinstance(y, np.ndarray) and y.dtype.kind == "b" and len(y):
        return _whole_labels(y.view(np.uint8), y.dtype)
    if isinstance(y, np.ndarray) and y.dtype.kind == "c":
        raise DataError("Complex data not supported: y has complex numbers. A label must be text or a whole number.")
    cells = read_column(y, "y")
    if isinstance(cells, Numbers):
        if cells.values.dtype.kind == "f" and np.isinf(cells.values).any():
            raise DataError("Input y contains infinity. A label must be text, a boolean or a finite number.")
        if cells.whole is not None and 0 < len(cells.whole) == len(cells.values):
            return _whole_labels(cells.whole, cells.values.dtype)
    categories = cells.categories
    used = np.flatnonzero(np.bincount(categories.index[categories.index >= 0]))
    values = [categories.values[v] for v in used]
    refuse_nul(values)
    order = sorted(range(len(used)), key=lambda v: sort_key(values[v]))
    table = np.full(len(categories.values), -1, dtype=np.int64)
    table[used[order]] = np.arange(len(used))
    return _codes(categories.index, table), _class_array([values[v] for v in order], y, cells)


def _whole_labels(whole: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The fast path for integers, none missing: their positions in sorted order are the codes."""
    classes, codes = index_whole(whole)
    return codes.astype(_code_type(len(classes)), copy=False), classes.astype(dtype)


def encode_more_labels(y: Any, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of more labels when some classes are known: codes, all classes in order, and the new code of each old one.

    All of them may be missing.

    Parameters
    ----------
    y : array, column or sequence of labels
        The class of every row; None and NaN are missing.
    classes : array
        The classes known so far, in the order of their codes.

    Returns
    -------
    codes : array of shape (n_rows,)
        The code of every label, uint8 or wider.
    together : array
        All classes, old and new, in the order of their codes.
    moved : array of int
        The new code of each of ``classes``.

    Examples
    --------
    >>> codes, classes, moved = encode_more_labels(["maybe", "yes"], np.array(["no", "yes"]))
    >>> codes, moved
    (array([0, 2], dtype=uint8), array([1, 2]))
    """
    codes, present = _encode(y)
    known = classes.tolist()
    new = [label for label in present.tolist() if label not in set(known)]
    together = sorted(known + new, key=sort_key)
    places = {label: c for c, label in enumerate(together)}
    table = np.array([places[label] for label in present.tolist()], dtype=np.int64)
    index = np.where(codes == np.iinfo(codes.dtype).max, -1, codes.astype(np.int32)).astype(np.int32)
    moved = np.array([places[label] for label in known], dtype=np.int64)
    everything = classes if not new else _joined(together, classes, present)
    return _codes(index, table), everything, moved


def refuse_nul(labels: Iterable[object]) -> None:
    """Raise DataError for text with a NUL at its end: arrays of text drop it, and the label would be another."""
    for label in labels:
        if isinstance(label, str) and label.endswith("\0"):
            raise DataError(f"y has the label {label[:80]!r}, which ends with a NUL character. Strip it first.")


def sort_key(label: object) -> tuple[str, Any]:
    """Labels of one type sort by value, labels of different types by the name of the type; numbers are one type."""
    kind = "number" if isinstance(label, int | float) and not isinstance(label, bool) else type(label).__name__
    return kind, label


def _code_type(n_classes: int) -> type[np.uint8] | type[np.uint16]:
    if n_classes > 65534:
        raise DataError(f"y has {n_classes:,} distinct labels, at most 65,534 are supported. Is it the right target?")
    return np.uint8 if n_classes <= 254 else np.uint16


def _codes(index: np.ndarray, table: np.ndarray) -> np.ndarray:
    """table[index] as class codes; -1 in either is missing."""
    out = np.empty(len(index), dtype=_code_type(int(table.max(initial=-1)) + 1))
    missing = 255 if out.dtype == np.uint8 else 65535
    _kernels.recode(index, np.append(np.where(table < 0, missing, table), missing).astype(out.dtype), out)
    return out


def _class_array(labels: list[Any], y: Any, cells: Numbers | Categories) -> np.ndarray:
    """The labels as an array of the type they came in."""
    if isinstance(cells, Numbers):
        return np.array(labels, dtype=cells.values.dtype)
    if isinstance(y, np.ndarray) and y.dtype.kind == "U":
        return np.array(labels, dtype=y.dtype)
    return _narrow(labels, keep_objects=isinstance(y, np.ndarray) and y.dtype.kind == "O")


def _joined(labels: list[Any], old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if old.dtype.kind in "iuf" and new.dtype.kind in "iuf":
        return np.array(labels, dtype=np.promote_types(old.dtype, new.dtype))
    return _narrow(labels, keep_objects=object in (old.dtype, new.dtype))


def _narrow(labels: list[Any], keep_objects: bool) -> np.ndarray:
    kinds = {type(label) for label in labels}
    if kinds == {bool} or kinds == {int} or kinds == {float} or (kinds == {str} and not keep_objects):
        return np.array(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out
