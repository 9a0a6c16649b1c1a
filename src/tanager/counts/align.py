"""Matching two vocabularies: which value of one column, or which class, is which in another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tanager import saved
from tanager.encoding.labels import sort_key
from tanager.encoding.schema import OTHER, Column, Schema
from tanager.errors import ModelFileError, SchemaMismatch


def as_label_array(labels: Iterable[object]) -> np.ndarray:
    """Class labels as a one-dimensional array of their own type (mixed types become objects)."""
    if isinstance(labels, np.ndarray):
        return labels
    labels = list(labels)
    if len({type(label) for label in labels}) > 1:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return array
    return np.asarray(labels)


def sort_labels(labels: Iterable[object]) -> np.ndarray:
    """Labels in ascending order; labels of different types are grouped by type."""
    return as_label_array(sorted(dict.fromkeys(as_label_array(labels).tolist()), key=sort_key))


def union_labels(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """All labels of both, sorted; the type of ours is kept where nothing is new."""
    mine = set(ours.tolist())
    if all(label in mine for label in theirs.tolist()):
        return ours
    return sort_labels([*ours.tolist(), *theirs.tolist()])


def class_map(theirs: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """For each of their classes its position among ours."""
    place = {label: at for at, label in enumerate(ours.tolist())}
    return np.array([place[label] for label in theirs.tolist()], dtype=np.int64)


def value_map(theirs: Column, ours: Column) -> np.ndarray:
    """For each code of their column the code of the same value in ours."""
    if theirs.by_value and not ours.by_value:  # it was cut since
        return np.searchsorted(np.array(ours.cuts), np.array(theirs.values, dtype=np.float64), side="left")
    if not theirs.by_value or (theirs.values == ours.values[: len(theirs.values)] and not theirs.other):
        return np.arange(theirs.n_values)
    place: dict[object, int] = {value: at for at, value in enumerate(ours.values)}
    if ours.other:
        place[OTHER] = ours.n_values - 1
    beyond = place.get(OTHER, -1)
    return np.array([place.get(theirs.describe(code), beyond) for code in range(theirs.n_values)], dtype=np.int64)


def union_column(ours: Column, theirs: Column) -> Column:
    """The column that holds the values of both; refused where these cannot be matched."""
    if ours == theirs:
        return ours
    place = f"cannot merge counts over different schemas: {ours.name!r}"
    for yet, cut in ((ours, theirs), (theirs, ours)):
        if yet.cut_after and cut.kind == "numeric" and not cut.by_value:  # all of its numbers are known
            return cut
    if ours.cut_after and theirs.cut_after and ours.kind != theirs.kind:
        ours, theirs = replace(ours, kind="numeric"), replace(theirs, kind="numeric")
    if ours.kind != theirs.kind:
        raise SchemaMismatch(f"{place} is {ours.kind} here and {theirs.kind} there. Encode both parts with one Schema.")
    if ours.part != theirs.part and ours.part and theirs.part:
        raise SchemaMismatch(f"{place} is {ours.part!r} of dates here and {theirs.part!r} there. Name the same day.")
    if ours.cuts != theirs.cuts:
        bins = f"has {ours.n_values} bins here and {theirs.n_values} there"
        if ours.n_values == theirs.n_values:
            bins = "has other cut points here than there"
        raise SchemaMismatch(f"{place} {bins}. Encode both parts with one Schema.")
    if ours.kind == "ordinal":
        raise SchemaMismatch(f"{place} has its values in another order here than there. Give both parts one order.")
    if ours.kind == "codes":
        return replace(ours, n_codes=max(ours.n_codes, theirs.n_codes))
    known = set(ours.values)
    new = tuple(value for value in theirs.values if value not in known)
    if ours.other:  # the cap was reached here: what is new joins the others
        new = ()
    cut_after = ours.cut_after if theirs.cut_after or not theirs.values else 0
    return replace(ours, values=ours.values + new, other=ours.other or theirs.other, cut_after=cut_after)


def cut_columns(new: Schema, old: Schema) -> dict[int, np.ndarray]:
    """The columns that were cut since: for each code of a value, the code of its bin."""
    return {
        i: value_map(before, now)
        for i, (now, before) in enumerate(zip(new.columns, old.columns, strict=False))
        if before.by_value and not now.by_value
    }


def extends(new: Schema, old: Schema) -> bool:
    """Whether every code of the old schema means the same in the new one."""
    if new.names != old.names:
        return False
    changed = [(a, b) for a, b in zip(new.columns, old.columns, strict=True) if a is not b]  # few of hundreds
    return all(
        (a.kind == b.kind or a.by_value)
        and a.by_value == b.by_value
        and a.values[: len(b.values)] == b.values
        and a.cuts == b.cuts
        and (a.other == b.other)
        and (not b.other or a.n_values == b.n_values)
        for a, b in changed
    )


def labels_to_plain(labels: np.ndarray) -> dict[str, object]:
    """Class labels as data for JSON."""
    return {"dtype": labels.dtype.str if labels.dtype != object else "object", "labels": labels.tolist()}


def labels_from_plain(data: dict[str, Any]) -> np.ndarray:
    """The labels that ``labels_to_plain`` wrote."""
    name, items = saved.read("classes", data, {"dtype": saved.text(), "labels": saved.items(saved.anything())}).values()
    array = np.empty(len(items), dtype=checked_type(name, len(items)))
    array[:] = items
    labels = array.tolist()
    sound = array.dtype.kind in "biufUO" and all(type(label) in (bool, int, float, str) for label in labels)
    if not sound or any(label != label for label in labels):
        raise ModelFileError("its classes are not all text or numbers")
    if len(set(labels)) < len(labels):
        raise ModelFileError("one of its classes is there twice")
    return array


def checked_type(name: str, length: int) -> np.dtype:
    """A type of array by its name in a file, where that many cells of it are no burden."""
    dtype = np.dtype(name)
    if dtype.itemsize * length > 2**28:
        raise ModelFileError(f"{length} cells of type {name} would need too much memory")
    return dtype
