"""What the parts of a table tell about its columns, summed up apart and put together: enough for the schema of it all.

Kinds, values and cut points depend on a column through its distinct cells alone: how much each weighs in every class,
and which appeared first. So a part of a table is summed up in entries, one for each cell and class that occur together,
in order of appearance; summaries of parts, put together in the order of the parts, are the summary of the whole; and
the encoder, which respects weights, learns from entries what it would learn from the rows.

That is exact as long as a column has no more than ``most`` distinct cells. Beyond, a summary stays as small:

- Numbers share a *cell*, an interval of numbers with the same first bits, which is made just so wide that there are no
  more than ``most`` of them. A cell knows its smallest and its largest number, so that a cut between two cells is the
  very point that the rows would give. What is lost: no cut falls inside a cell. How wide the cells are depends on the
  distinct numbers alone, so every division into parts gives the same cut points.
- Of text, the heaviest values are kept. A value that is heavy in the whole is heavy in a part, so only the order of
  rare ones can be wrong; ``lost`` bounds by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from tanager.encoding.bins import equal_width, find_cuts, middle
from tanager.encoding.categories import codec
from tanager.encoding.encoder import Encoder
from tanager.encoding.kinds import Rules, learn_columns, read_cells, refuse_unknown_parts
from tanager.encoding.labels import encode_some_labels, join_classes
from tanager.encoding.policy import Run, is_constant, may_leave_out, names_things, numbers_rows, schema_of
from tanager.encoding.schema import Column, LeftOut, Schema
from tanager.encoding.tables import Table, read_table
from tanager.encoding.validation import check_lengths, check_weights, refuse_fractions
from tanager.encoding.values import Categories, Cells, Numbers, plain


@dataclass(frozen=True)
class ColumnSummary:
    """The cells of one column: an entry for each distinct one and class that occur together, and what it weighs.

    ``labels`` are class codes, -1 for rows without a class. Where numbers share cells, ``shift`` low bits of them are
    not told apart, and ``high`` is the largest number of an entry; ``cells`` hold the smallest.
    """

    cells: Cells
    labels: np.ndarray
    weights: np.ndarray
    shift: int | None = None
    high: np.ndarray | None = None
    n_present: int = 0  # cells that are not missing
    n_learned: int = 0  # of them, in rows with a label
    run: Run | None = None  # of whole numbers, in rows with a label
    n_dropped: int = 0  # distinct values of text that were dropped as rare, some perhaps more than once
    lost: float = 0.0  # of a value, at most so much weight was dropped

    @property
    def n_distinct(self) -> int:
        """How many distinct cells there are; at most, where some were dropped."""
        if isinstance(self.cells, Categories):
            return len(np.unique(self.cells.index)) + self.n_dropped
        return len(np.unique(self.cells.values if self.shift is None else _places(self.cells.values) >> self.shift))

    @property
    def exact(self) -> bool:
        """Whether nothing was left out."""
        return self.shift is None and self.n_dropped == 0

    def reason_to_leave_out(self, n_rows: int) -> str | None:
        """Why the column is not to be learned of so many rows with a label; None where it is."""
        learned = self.cells.take(self.labels >= 0)
        n_distinct = len(learned.categories.in_order.values) + self.n_dropped if self.shift is None else 2
        declared = isinstance(learned, Categories) and learned.declared
        if isinstance(learned, Categories) and not declared and (why := names_things(n_distinct, self.n_learned)):
            return why
        return numbers_rows(self.run) or (None if declared else is_constant(n_distinct, n_rows))

    @property
    def heaviest_cell(self) -> float:
        """The largest share of the weight that lies within one cell of several numbers: so far a rank may be off."""
        if self.shift is None or self.high is None or not len(self.weights):
            return 0.0
        _, place, total = _cells_of(self)
        low, high = _ends(self, place, len(total))
        return float(total[low < high].max(initial=0.0) / total.sum())


@dataclass(frozen=True)
class Summary:
    """What is known of some rows of a table: entries of its columns, its classes, and how many rows there are."""

    names: tuple[str, ...]
    named: bool  # whether the table itself has names
    columns: tuple[ColumnSummary, ...]
    classes: np.ndarray
    n_rows: int
    n_unlabelled: int
    weight: float  # of the rows with a label
    limits: np.ndarray | None = None  # of an array of codes: one more than the largest of every column
    n_learned: int = 0  # rows with a label and a weight
    most: int = field(default=0, compare=False)


def summarize(X: Any, y: Any, sample_weight: Any = None, *, most: int, options: Encoder) -> Summary:
    """Sum up some rows, as an encoder of these options will ask for it."""
    table = read_table(X)
    check_lengths(table.n_rows, y)
    weights = check_weights(sample_weight, table.n_rows)
    codes, classes = encode_some_labels(y)
    refuse_fractions(classes)
    labels = np.where(codes == np.iinfo(codes.dtype).max, -1, codes.astype(np.int64))
    counted = slice(None) if weights is None else weights > 0
    w = np.ones(table.n_rows) if weights is None else weights
    names = table.names or tuple(f"x{i}" for i in range(table.n_columns))
    rules = options.rules(names)
    requested = rules.requested

    def summed_up(i: int) -> ColumnSummary:
        cells = table.column(i).take(counted)
        if i in rules.dates:  # elsewhere, all parts together must say whether text is dates
            cells = read_cells(cells, i, rules)
        as_values = requested.get(i) in ("categorical", "ordinal") and table.codes is None
        return _summed_up(cells.categories if as_values else cells, labels[counted], w[counted], most)

    columns = tuple(summed_up(i) for i in range(table.n_columns))
    known = labels >= 0
    return Summary(
        names,
        table.names is not None,
        columns,
        classes,
        table.n_rows,
        int(np.count_nonzero(~known)),
        float(w[known].sum()),
        _limits(table),
        int(np.count_nonzero(known & (w > 0))),
        most,
    )


def _limits(table: Table) -> np.ndarray | None:
    return None if table.codes is None else table.limits.astype(np.int64)


def merge(parts: Sequence[Summary]) -> Summary:
    """The summary of the rows of all parts, which are in order."""
    first = parts[0]
    if len(parts) == 1:
        return first
    classes = first.classes
    for part in parts[1:]:
        classes = join_classes(classes, part.classes)
    places = {label: c for c, label in enumerate(classes.tolist())}
    maps = [np.array([*(places[label] for label in part.classes.tolist()), -1], dtype=np.int64) for part in parts]
    columns = tuple(
        _merged([replace(seen, labels=to[seen.labels]) for seen, to in zip(column, maps, strict=True)], first.most)
        for column in zip(*(part.columns for part in parts), strict=True)
    )
    limits = [part.limits for part in parts if part.limits is not None]
    sums: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts) for name in ("n_rows", "n_unlabelled", "weight", "n_learned")
    }
    return replace(first, columns=columns, classes=classes, limits=np.max(limits, axis=0) if limits else None, **sums)


def learn_schema(summary: Summary, encoder: Encoder) -> Schema:
    """The schema that the encoder learns of the rows that were summed up."""
    rules = encoder.rules(summary.names)

    if summary.limits is None:
        columns = tuple(_as_read(seen, i, rules) for i, seen in enumerate(summary.columns))
        summary = replace(summary, columns=columns)

    def learn(i: int) -> list[Column] | LeftOut:
        own = summary.limits is None and may_leave_out(i, rules)
        reason = summary.columns[i].reason_to_leave_out(summary.n_learned) if own else None
        return LeftOut(summary.names[i], i, reason) if reason else _learned(summary, i, rules)

    found = [learn(i) for i in range(len(summary.columns))]
    schema = schema_of(found, lambda i: _learned(summary, i, rules))
    refuse_unknown_parts(rules, schema.names)
    return schema


def _as_read(seen: ColumnSummary, i: int, rules: Rules) -> ColumnSummary:
    """The column with numbers in place of text that is numbers or dates throughout."""
    cells = read_cells(seen.cells, i, rules) if seen.n_dropped == 0 else seen.cells
    if cells is seen.cells:
        return seen
    there = _present(cells)  # marks of missing cells are none
    return replace(seen, cells=cells.take(there), labels=seen.labels[there], weights=seen.weights[there], run=None)


def grow_schema(schema: Schema, summary: Summary, max_values: int) -> Schema:
    """A schema with the values of further rows that are new in open columns, as ``Encoder.update`` takes them in."""
    places = {name: i for i, name in enumerate(summary.names)}
    columns = []
    for at, column in zip(schema.places, schema.columns, strict=True):
        i = places.get(column.table_name, -1) if summary.named else at
        if i < 0:
            columns.append(column)
            continue
        known = codec(column)
        limit = None if summary.limits is None else int(summary.limits[i])
        cells = summary.columns[i].cells
        columns.append((known.grown(cells, max_values) if limit is None else known.with_limit(limit)).column)
    return schema.with_all(columns)


# --- entries of a column --------------------------------------------------------------------------------------------


def _summed_up(cells: Cells, labels: np.ndarray, weights: np.ndarray, most: int) -> ColumnSummary:
    """Entries of rows."""
    if isinstance(cells, Numbers):
        cells = Numbers(_plain_numbers(cells.values), cells.what)
    present = _present(cells)
    labels, weights = labels[present], weights[present]
    known = labels >= 0
    seen = ColumnSummary(cells.take(present), labels, weights, n_present=len(labels))
    seen = replace(seen, n_learned=int(np.count_nonzero(known)), run=_run(seen.cells.take(known)))
    if isinstance(seen.cells, Numbers) and len(np.unique(seen.cells.values[: 2 * most])) > most:
        return _in_cells(replace(seen, shift=0, high=seen.cells.values), most)  # spares an index of all of them
    return _limited(_grouped(seen), most)


def _run(cells: Cells) -> Run | None:
    """Enough to tell whether whole numbers are row numbers."""
    plain = isinstance(cells, Numbers) and not cells.are_times
    return Run.of(cells.whole) if isinstance(cells, Numbers) and plain and cells.whole is not None else None


def _present(cells: Cells) -> np.ndarray | slice:
    """The rows in which it is not missing."""
    if isinstance(cells, Categories):
        return np.asarray(cells.index >= 0)
    return ~np.isnan(cells.values) if cells.values.dtype.kind == "f" else slice(None)


def _plain_numbers(values: np.ndarray) -> np.ndarray:
    """Numbers in a type that Arrow can tell apart, without a negative zero."""
    if values.dtype.kind != "f":
        return values
    wide: Any = values.astype(np.float32 if values.dtype.itemsize < 8 else np.float64, copy=False)
    return np.asarray(wide + wide.dtype.type(0.0))


def _grouped(seen: ColumnSummary) -> ColumnSummary:
    """Entries of the same cell and class become one, where the first of them was."""
    n = int(seen.labels.max(initial=-1)) + 2
    if isinstance(seen.cells, Categories):
        distinct, place = None, seen.cells.index
    else:
        distinct, place = _distinct(seen.cells.values)
    pairs, weights = _sums(place.astype(np.int64) * n + seen.labels + 1, seen.weights)
    at, labels = pairs // n, pairs % n - 1
    if isinstance(seen.cells, Categories):
        cells: Cells = replace(seen.cells, index=at.astype(np.int32), exact=False)
    else:
        assert distinct is not None
        cells = Numbers(distinct[at], seen.cells.what)
    return replace(seen, cells=cells, labels=labels, weights=weights)


def _sums(pairs: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs in order of appearance, and what each weighs."""
    size = int(pairs.max(initial=-1)) + 1
    if size > 2 * len(pairs) + 4096:
        distinct, index = _distinct(pairs)
        return distinct, np.bincount(index, weights, len(distinct))
    first = np.full(size, len(pairs))
    first[pairs[::-1]] = np.arange(len(pairs))[::-1]  # written last, the first stays
    distinct = pairs[np.sort(first[first < len(pairs)])]
    return distinct, np.bincount(pairs, weights, size)[distinct]


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct numbers in order of appearance, and the place of every one among them. Arrow hashes: no sorting."""
    import pyarrow as pa

    encoded = pa.array(values).dictionary_encode()
    return encoded.dictionary.to_numpy(zero_copy_only=False), encoded.indices.to_numpy(zero_copy_only=False)


def _merged(parts: list[ColumnSummary], most: int) -> ColumnSummary:
    """One column of several parts."""
    run = _whole_run(parts)
    parts = _of_one_kind(parts)
    labels, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "weights"))
    sums: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts) for name in ("n_present", "n_learned", "n_dropped", "lost")
    }
    sums["run"] = run
    if isinstance(parts[0].cells, Categories):
        cells: Cells = _joined([part.cells for part in parts if isinstance(part.cells, Categories)])
        return _limited(_grouped(ColumnSummary(cells, labels, weights, **sums)), most)
    low = np.concatenate([part.cells.values for part in parts if isinstance(part.cells, Numbers)])
    what = parts[0].cells.what
    if all(part.shift is None for part in parts):
        return _limited(_grouped(ColumnSummary(Numbers(low, what), labels, weights, **sums)), most)
    high = np.concatenate([part.cells.values if part.high is None else part.high for part in parts])
    shift = max(part.shift or 0 for part in parts)
    return _in_cells(ColumnSummary(Numbers(low, what), labels, weights, shift, high, **sums), most)


def _whole_run(parts: list[ColumnSummary]) -> Run | None:
    """What is known of whole numbers in all parts; None where a part has other cells."""
    runs = [part.run for part in parts if part.n_learned]
    known = [run for run in runs if run is not None]
    return reduce(add, known) if known and len(known) == len(runs) else None


def _of_one_kind(parts: list[ColumnSummary]) -> list[ColumnSummary]:
    """All numbers, or all categories: a part with nothing but missing cells is of any kind, and others are mixed."""
    told = [part for part in parts if len(part.labels) or _declared(part.cells)]
    if not told:
        return parts if len({type(part.cells) for part in parts}) == 1 else parts[:1]
    kinds = {(type(part.cells), part.cells.what if isinstance(part.cells, Numbers) else "") for part in told}
    if len(kinds) == 1:  # empty parts of this type stay: floats without a number make floats of all
        kind = type(told[0].cells)
        parts = [part for part in parts if isinstance(part.cells, kind)]
        return [
            replace(part, cells=Numbers(part.cells.values, told[0].cells.what))
            for part in parts
            if isinstance(part.cells, Numbers)
        ] or parts
    return [replace(part, cells=_as_categories(part), shift=None, high=None) for part in told]


def _declared(cells: Cells) -> bool:
    return isinstance(cells, Categories) and cells.declared


def _as_categories(part: ColumnSummary) -> Categories:
    if isinstance(part.cells, Categories):
        return part.cells
    values, index = _distinct(part.cells.values)
    return Categories([plain(value) for value in values.tolist()], index, "mixed values", exact=False)


def _joined(parts: Sequence[Categories]) -> Categories:
    """The cells of all parts over the values of all."""
    values = list(dict.fromkeys(value for part in parts for value in part.values))
    places = {value: v for v, value in enumerate(values)}
    index = [np.array([*(places[value] for value in part.values), -1], dtype=np.int32)[part.index] for part in parts]
    kinds = {part.what for part in parts if part.values}
    what = parts[0].what if not kinds else kinds.pop() if len(kinds) == 1 else "mixed values"
    return Categories(values, np.concatenate(index), what, all(part.declared for part in parts), exact=False)


# --- beyond the cap -------------------------------------------------------------------------------------------------


def _limited(seen: ColumnSummary, most: int) -> ColumnSummary:
    """Entries of no more than ``most`` distinct cells."""
    if len(seen.labels) <= most:
        return seen
    if isinstance(seen.cells, Numbers):
        if len(_distinct(seen.cells.values)[0]) <= most:
            return seen
        return _in_cells(replace(seen, shift=0, high=seen.cells.values), most)
    return seen if seen.cells.declared else _heaviest(seen, seen.cells, most)


def _heaviest(seen: ColumnSummary, cells: Categories, most: int) -> ColumnSummary:
    """The heaviest values; those seen first, where many weigh the same."""
    weights = np.bincount(cells.index, seen.weights, len(cells.values))
    n_distinct = int(np.count_nonzero(np.bincount(cells.index, minlength=len(cells.values))))
    if n_distinct <= most:
        return seen
    order = np.argsort(-weights, kind="stable")
    kept, heaviest_gone = np.sort(order[:most]), float(weights[order[most]])
    place = np.full(len(cells.values), -1, dtype=np.int32)
    place[kept] = np.arange(most)
    index = place[cells.index]
    stays = index >= 0
    fewer = Categories([cells.values[v] for v in kept], index[stays], cells.what, exact=False)
    return replace(
        seen,
        cells=fewer,
        labels=seen.labels[stays],
        weights=seen.weights[stays],
        n_dropped=seen.n_dropped + n_distinct - most,
        lost=seen.lost + heaviest_gone,
    )


def _places(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the given ones, one for every float64: neighbours differ by 1."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return np.asarray(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))


def _in_cells(seen: ColumnSummary, most: int) -> ColumnSummary:
    """Entries of cells that are as narrow as ``most`` allows, in ascending order.

    Infinite numbers and rows without a class are left out: cut points are finite, and found by classes.
    """
    assert isinstance(seen.cells, Numbers)
    assert seen.high is not None
    numbers = seen.cells.values.astype(np.float64)
    usable = np.isfinite(numbers) & (seen.labels >= 0)
    low, high = numbers[usable], seen.high[usable].astype(np.float64)
    labels, weights, places = seen.labels[usable], seen.weights[usable], _places(low)
    ordered = np.sort(places)
    shift = _narrowest(ordered, seen.shift or 0, most)
    ordered >>= shift
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    keys = ordered[new]
    at = np.searchsorted(keys, places >> shift)
    n = int(labels.max(initial=0)) + 1
    sums = np.bincount(at * n + labels, weights, len(keys) * n)
    pairs = np.flatnonzero(sums)
    lowest, highest = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
    np.minimum.at(lowest, at, low)
    np.maximum.at(highest, at, high)
    return replace(
        seen,
        cells=Numbers(lowest[pairs // n], seen.cells.what),
        labels=pairs % n,
        weights=sums[pairs],
        shift=shift,
        high=highest[pairs // n],
    )


def _narrowest(places: np.ndarray, shift: int, most: int) -> int:
    """The smallest shift that leaves no more than ``most`` cells of these sorted places; at least the given one."""
    few, many = 63, shift - 1  # enough, and not enough
    while few - many > 1:
        half = (few + many) // 2
        keys = places >> half
        if 1 + np.count_nonzero(keys[1:] != keys[:-1]) <= most:
            few = half
        else:
            many = half
    return few


def _cells_of(seen: ColumnSummary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells in ascending order, the rank of the cell of every entry, and what each cell weighs."""
    assert isinstance(seen.cells, Numbers)
    assert seen.shift is not None
    keys, place = np.unique(_places(seen.cells.values) >> seen.shift, return_inverse=True)
    return keys, place, np.bincount(place, seen.weights, len(keys))


def _ends(seen: ColumnSummary, place: np.ndarray, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest number of every cell."""
    assert isinstance(seen.cells, Numbers)
    assert seen.high is not None
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, place, seen.cells.values)
    np.maximum.at(high, place, seen.high)
    return low, high


# --- from entries to columns ----------------------------------------------------------------------------------------


def _learned(summary: Summary, i: int, rules: Rules) -> list[Column]:
    """What the encoder learns of a column: from rows with a class; then values of others get codes, too."""
    name, seen = summary.names[i], summary.columns[i]
    if summary.limits is not None and rules.requested.get(i, "categorical") == "categorical":
        return [Column(name, "codes", n_codes=int(summary.limits[i]), reason="an array of codes")]
    known = seen.labels >= 0
    labels, weights = seen.labels[known], seen.weights[known]
    columns = learn_columns(name, i, seen.cells.take(known), rules, labels, weights)
    if seen.shift is not None:
        return [_cut_between_cells(column, i, seen, rules, summary.most) for column in columns]
    return [codec(column).grown(seen.cells, rules.max_values).column for column in columns]


def _cut_between_cells(column: Column, i: int, seen: ColumnSummary, rules: Rules, most: int) -> Column:
    """A number column with more distinct numbers than are kept, as it was learned from the smallest number of cells."""
    how = rules.bins.get(i, rules.default_bins)
    if column.kind == "continuous" or not isinstance(how, str) or column.part not in ("", "date"):
        return column  # nothing depends on single numbers; parts of dates are few
    keys, place, _ = _cells_of(seen)
    low, high = _ends(seen, place, len(keys))
    if how == "width":
        cuts = equal_width(np.concatenate([low, high]), rules.n_bins)
    else:
        ranks = find_cuts(place.astype(np.float64), how, rules.n_bins, rules.mdl_encoding, seen.labels, seen.weights)
        at = np.floor(ranks).astype(np.int64)  # a cut between the cells of ranks r and r + 1 is at r + 1/2
        cuts = middle(high[at], low[at + 1])
    reason = f"{'dates' if column.part else 'numbers'}, over {most:,} distinct: {len(keys):,} cells"
    return Column(column.name, "numeric", cuts=tuple(cuts.tolist()), reason=reason, part=column.part)
