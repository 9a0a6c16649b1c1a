"""What columns look like: kinds with reasons, gaps, what they say about the class, and how they are distributed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tanager.encoding.dates import cells_of
from tanager.encoding.schema import Column
from tanager.encoding.tables import read_table
from tanager.encoding.values import Categories, Cells, Numbers
from tanager.studio.columns import MAX_ORDER
from tanager.studio.prepared import Prepared

SMALL = 16  # bars of a small picture
LARGE = 60  # of a large one
SOME_ROWS = 20_000  # that small pictures of numbers are made from
MAX_VALUES = 1000  # that are listed of one column
BITS = 1 / math.log(2)


def overview(prepared: Prepared) -> list[dict[str, Any]]:
    """All columns in a few figures each."""
    table = read_table(prepared.X)
    columns = prepared.schema.columns
    return [_line(prepared, column, cells_of(column, table.column(i))) for i, column in enumerate(columns)]


def _line(prepared: Prepared, column: Column, cells: Cells) -> dict[str, Any]:
    counts = prepared.sample.count(column.name, prepared.target)
    n_rows = prepared.loaded.n_rows
    return {
        "name": column.name,
        "kind": column.kind,
        "reason": column.reason,
        "n_values": column.n_values,
        "gaps": n_rows - int(counts.sum()),
        "information": information(prepared, column.name),
        "small": _small(prepared, column, cells, counts),
    }


def information(prepared: Prepared, name: str) -> float:
    """What a column says about the class, in bits; less what chance alone would seem to say with so many values."""
    found = prepared.sample.information(name, prepared.target)
    chance = found.df / (2 * found.rows) if found.rows else 0.0
    return max(0.0, found.value - chance) * BITS


def _small(prepared: Prepared, column: Column, cells: Cells, counts: np.ndarray) -> list[list[float]]:
    """Counts by class of a few bars: of equal ranges for numbers, else of the values, most frequent first."""
    if isinstance(cells, Numbers) and column.kind == "numeric":
        step = max(1, len(prepared.labels) // SOME_ROWS)
        numbers, labels = cells.floats(column.name)[::step], prepared.labels[::step]
        inside = np.isfinite(numbers)
        if not inside.any():
            return []
        low, high = np.percentile(numbers[inside], [1, 99])
        edges = np.linspace(low, high if high > low else low + 1, SMALL + 1)
        clipped = np.clip(numbers[inside], edges[0], edges[-1])
        return _by_class(clipped, labels[inside], edges, len(prepared.classes)).tolist()
    if column.kind == "categorical":
        counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    return np.asarray(counts[:SMALL]).tolist()


def _by_class(numbers: np.ndarray, labels: np.ndarray, edges: np.ndarray, n_classes: int) -> np.ndarray:
    """Rows by bin (open on the left, but for the first) and class."""
    place = np.clip(np.searchsorted(edges, numbers, side="left") - 1, 0, len(edges) - 2)
    cells = np.bincount(place * n_classes + labels, minlength=(len(edges) - 1) * n_classes)
    return cells.reshape(-1, n_classes)


# --- one column -------------------------------------------------------------------------------------------------------


def bins_of(prepared: Prepared, name: str) -> dict[str, Any]:
    """What a column is cut into: all that changes while a cut point moves."""
    column, counts = prepared.schema[name], prepared.sample.count(name, prepared.target)
    bins = [_bin(column, code, own) for code, own in enumerate(counts[:MAX_VALUES].tolist())]
    return {"kind": column.kind, "cuts": list(column.cuts), "bins": bins}


def detail(prepared: Prepared, name: str) -> dict[str, Any]:
    """All about one column."""
    column = prepared.schema[name]
    cells = cells_of(column, read_table(prepared.X.select([name])).column(0))
    counts = prepared.sample.count(name, prepared.target)
    totals = np.bincount(prepared.labels, minlength=len(prepared.classes))
    numbers = isinstance(cells, Numbers)
    return bins_of(prepared, name) | {
        "name": name,
        "reason": column.reason,
        "what": cells.what,
        "gaps": int(totals.sum() - counts.sum()),
        "gaps_by_class": (totals - counts.sum(axis=0)).astype(int).tolist(),
        "information": information(prepared, name),
        "n_values": column.n_values,
        "order": list(column.values) if column.kind == "ordinal" else None,
        "values": _values(prepared, column, cells),
        "numbers": _numbers(prepared, cells, name) if numbers and column.kind == "numeric" else None,
        "can_be": ["categorical", *(["numeric"] if _like_numbers(cells) else []), *_ordinal(cells)],
    }


def _bin(column: Column, code: int, counts: list[float]) -> dict[str, Any]:
    return {"label": str(column.describe(code)), "counts": counts}


def _like_numbers(cells: Cells) -> bool:
    return isinstance(cells, Numbers) or any(isinstance(value, int | float) for value in cells.values)


def _ordinal(cells: Cells) -> list[str]:
    if isinstance(cells, Numbers) and cells.what != "numbers":
        return []
    if isinstance(cells, Numbers) and cells.n_distinct_whole(MAX_ORDER) is None:
        return []
    return ["ordinal"] if 2 <= len(cells.categories.values) <= MAX_ORDER else []


def _values(prepared: Prepared, column: Column, cells: Cells) -> list[dict[str, Any]] | None:
    """Single values with their counts by class: in their order, or most frequent first; None for numbers."""
    if column.kind in ("numeric", "continuous"):
        return None
    categories: Categories = cells.categories
    n_classes = len(prepared.classes)
    present = categories.index >= 0
    place = categories.index[present].astype(np.int64) * n_classes + prepared.labels[present]
    counts = np.bincount(place, minlength=len(categories.values) * n_classes).reshape(-1, n_classes)
    by_value = dict(zip(categories.values, counts.tolist(), strict=True))
    if column.kind == "ordinal":
        none = [0] * n_classes
        return [{"value": value, "counts": by_value.get(value, none)} for value in column.values]
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_VALUES]
    return [{"value": categories.values[v], "counts": by_value[categories.values[v]]} for v in order]


def _numbers(prepared: Prepared, cells: Cells, name: str) -> dict[str, Any] | None:
    """Pictures along two axes: the numbers themselves, and spread out where they lie close together."""
    numbers = cells.floats(name)
    inside = np.isfinite(numbers)
    if not inside.any():
        return None
    numbers, labels = numbers[inside], prepared.labels[inside]
    whole = bool((numbers == np.round(numbers)).all()) and cells.what == "numbers"
    by_value = _value_axis(numbers, labels, whole, len(prepared.classes))
    totals = np.sum(by_value["counts"], axis=1)
    return {
        "low": float(numbers.min()),
        "high": float(numbers.max()),
        "whole": whole,
        "time": {"dates and times": "date", "times of day": "time"}.get(cells.what, ""),
        "value": by_value,
        "rank": _rank_axis(numbers, labels, len(prepared.classes)),
        "skewed": bool(totals.max() > 0.6 * totals.sum()),
    }


def _value_axis(numbers: np.ndarray, labels: np.ndarray, whole: bool, n_classes: int) -> dict[str, Any]:
    low, high = float(numbers.min()), float(numbers.max())
    if whole and high - low <= 2 * LARGE:
        edges = np.arange(low - 0.5, high + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1, LARGE + 1)
    knots = [[float(edges[0]), 0.0], [float(edges[-1]), 1.0]]
    share = (edges - edges[0]) / (edges[-1] - edges[0])
    return {"edges": share.tolist(), "counts": _by_class(numbers, labels, edges, n_classes).tolist(), "knots": knots}


def _rank_axis(numbers: np.ndarray, labels: np.ndarray, n_classes: int) -> dict[str, Any]:
    """Spread out: half by how many rows are below, half by how many distinct numbers are, for columns of many zeros.

    Knots are pairs of a number and its place from 0 to 1.
    """
    distinct, rows = np.unique(numbers, return_counts=True)
    spread = np.cumsum(rows) / len(numbers) / 2 + np.arange(1, len(distinct) + 1) / len(distinct) / 2
    tops = np.unique(np.minimum(np.searchsorted(spread, np.linspace(0, 1, LARGE + 1)[1:] - 1e-12), len(distinct) - 1))
    below = float(distinct[0] - max(1e-9, float(np.ptp(distinct))) / 1000)
    edges, places = np.array([below, *distinct[tops]]), np.array([0.0, *spread[tops]])
    counts = _by_class(numbers, labels, edges, n_classes).tolist()
    return {"edges": places.tolist(), "counts": counts, "knots": np.column_stack([edges, places]).tolist()}
