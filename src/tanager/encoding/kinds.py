"""How the kind of a column is decided, and what is learned about it.

=====================================================  ===========================================================
cells                                                  kind
=====================================================  ===========================================================
text, booleans, mixed objects                          categorical
text that is dates throughout                          numeric: seconds, and parts of dates (``dates``)
pandas category, Arrow dictionary, polars Enum         categorical, with the declared values
whole numbers, at most ``max_whole`` distinct          categorical (floats too, when all are whole)
other numbers                                          numeric: cut into bins
dates, times of day, durations                         numeric: seconds; of dates, parts of them as well
nothing but missing cells                              categorical, without values
2-D arrays of uint8, uint16, int8, int16               codes, as they are; largest value (or -1) is missing
=====================================================  ===========================================================

In the first rows of a stream, a column that shows one number at most, or whole numbers that are categories, may turn
out to be more than that. Its values have codes of their own then, and it is cut once enough further ones have come
(``Column.cut_after``); it is numeric as soon as a number has a fraction.

Text that is numbers throughout, without leading zeros, is numbers (``read_cells``); few whole numbers as text stay
text. Text that is dates throughout is dates. ``categorical=``, ``ordinal=``, ``numeric=`` and ``continuous=`` override
the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tanager.encoding.bins import FOR_NOW, METHODS, STREAM_BINS, equal_frequency, find_cuts, middle
from tanager.encoding.dates import (
    NAMED,
    NUMBERS,
    DatesOption,
    date_cell,
    date_cells,
    dates_in_text,
    given_parts,
    is_date,
    may_be_part,
    part_cells,
    part_name,
    settled_parts,
)
from tanager.encoding.lookalikes import lookalike
from tanager.encoding.marks import is_mark, marked, worth_a_word
from tanager.encoding.ordinal import given_orders, ordinal_column
from tanager.encoding.schema import APPEARED, Column, Value, is_number
from tanager.encoding.values import DATE_TYPES, DATES, DATES_AS_TEXT, Categories, Cells, Numbers, plain
from tanager.errors import OptionError, check_option, nearest

Key = int | str
BinsOption = str | Mapping[str, str | Sequence[Any]] | None

ENOUGH = 100  # further numbers after which a column of a stream is cut that showed too few in the first rows
CUT_LATE = "cut once its numbers varied"
GIVEN = "cut points given"
NUMBERS_AS_TEXT = "numbers as text"


@dataclass(frozen=True)
class Rules:
    """The options that decide kinds, values and cut points.

    Columns are given by their place in the table, and parts of dates by their name.
    """

    requested: Mapping[Key, str]
    orders: Mapping[Key, tuple[Value, ...] | None]
    bins: Mapping[Key, str | Sequence[Any]]
    default_bins: str
    n_bins: int
    mdl_encoding: str
    max_whole: int
    max_values: int
    continuous: bool
    first: bool = False  # whether the rows are the first of a stream, and must do for all that follow
    stream: bool = False  # whether more rows will come, in which constant columns may vary
    kept: frozenset[Key] | None = None  # columns that are learned whatever they hold; None: all of them
    parts: tuple[str, ...] = ("date",)  # of columns of dates
    dates: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)  # parts of columns that hold dates for sure
    names: tuple[str, ...] = ()  # of the columns of the table


def make_rules(
    names: Sequence[str],
    *,
    bins: BinsOption,
    default_bins: str,
    n_bins: int,
    mdl_encoding: str,
    categorical: object,
    ordinal: object,
    numeric: object,
    continuous: object,
    max_whole: int,
    max_values: int,
    keep: object = None,
    dates: object = None,
    first: bool = False,
    stream: bool = False,
    for_now: bool = False,
) -> Rules:
    """Validate the options of an encoder against the columns of a table."""
    check_option("mdl_encoding", mdl_encoding, ("n-1", "candidates"))
    _check_integer("n_bins", n_bins, 1, 65534)
    _check_integer("max_whole", max_whole, 0, 65534)
    _check_integer("max_values", max_values, 2, 65534)
    by_column: dict[object, str | Sequence[Any]] = {}
    if isinstance(bins, Mapping):
        by_column.update(bins)
    elif bins is not None:
        check_option("bins", bins, METHODS)
    for name, how in by_column.items():
        if isinstance(how, str):
            check_option(f"bins[{name!r}]", how, METHODS)
    given = {i: by_column[key] for key, i in _positions("bins", list(by_column), names).items()}
    known = given_orders(ordinal)
    orders = {i: known[key] for key, i in _positions("ordinal", list(known), names).items()}
    # Bins for a column imply that it holds numbers, or values with an order.
    requested = dict.fromkeys(given, "numeric") | dict.fromkeys(orders, "ordinal")
    for kind, columns in (("categorical", categorical), ("numeric", numeric), ("continuous", continuous)):
        for i in _positions(kind, columns, names).values():
            if requested.setdefault(i, kind) != kind:
                name = i if isinstance(i, str) else names[i]
                raise OptionError(f"column {name!r} is requested as both {requested[i]} and {kind}. Choose one.")
    if continuous is True:
        # numeric= says that a column holds numbers, not that it is cut; only explicit bins keep it out.
        requested |= {i: "continuous" for i, kind in requested.items() if kind == "numeric" and i not in given}
    if isinstance(bins, str):
        default = bins
    else:  # nobody has said how: few rows must not decide for good that a column tells nothing
        default = default_bins
        if default in ("mdl", "refined") and (first or for_now):
            default = "stream" if first else FOR_NOW
    kinds = requested, orders, given, default
    kept = None if keep == "all" and "all" not in names else frozenset(_positions("keep", keep, names).values())
    parts, known_parts = given_parts(dates)
    of_dates = {i: known_parts[key] for key, i in _positions("dates", list(known_parts), names).items()}
    sizes = n_bins, mdl_encoding, max_whole, max_values
    return Rules(*kinds, *sizes, continuous is True, first, stream, kept, parts, of_dates, tuple(names))


def learn_columns(
    name: str, i: int, cells: Cells, rules: Rules, labels: np.ndarray | None, weights: np.ndarray | None
) -> list[Column]:
    """What is learned of column i of a table: one column, or of dates as many as parts of them are asked for."""
    if isinstance(cells, Numbers) and cells.are_dates:
        as_they_are = rules.requested.get(i) in ("categorical", "ordinal")
        parts = settled_parts(rules.dates.get(i, ("date",) if as_they_are else rules.parts), cells)
        columns = [learn_part(name, i, part, cells, rules, labels, weights) for part in parts]
    else:
        columns = [learn_column(name, i, cells, rules, labels, weights)]
    return (
        [replace(column, reason=marked(column.reason, cells.marks)) for column in columns] if cells.marks else columns
    )


def refuse_unknown_parts(rules: Rules, names: Sequence[str]) -> None:
    """Raise OptionError where an option speaks of a part of dates that is not among the columns that are learned."""
    for key in rules.requested:
        if isinstance(key, str) and key not in names:
            raise OptionError(
                f"an option speaks of {key!r}, which is neither a column nor a part of dates that is learned; dates= "
                f"says which are learned.{nearest(key, names)}"
            )


def learn_part(
    source: str,
    i: int,
    part: str,
    cells: Numbers,
    rules: Rules,
    labels: np.ndarray | None,
    weights: np.ndarray | None,
) -> Column:
    """What is learned of one part of the dates in column i of a table."""
    if part == "date":
        return replace(learn_column(source, i, cells, rules, labels, weights), part=part)
    name = part_name(source, part)
    if part.startswith(NUMBERS) and name not in rules.requested:
        kind = "continuous" if rules.continuous else "numeric"
        rules = replace(rules, requested={**rules.requested, name: kind})
    column = learn_column(name, name, part_cells(cells, part), rules, labels, weights)
    return replace(column, part=part, source=source, reason=f"{part} of {source!r}".replace("since", "days since"))


def learn_column(
    name: str, i: Key, cells: Cells, rules: Rules, labels: np.ndarray | None, weights: np.ndarray | None
) -> Column:
    """Decide the kind of a column and learn its values or cut points."""
    column = _learned_column(name, i, cells, rules, labels, weights)
    return cut_later(column, cells, rules.max_values) if rules.first and not settled(column) else column


def cut_later(column: Column, cells: Cells, max_values: int) -> Column:
    """The column, to be cut later where these rows have too few different numbers."""
    if column.kind == "numeric" and not column.cuts:
        numbers = np.unique(cells.floats(column.name))
        values = tuple(plain(value) for value in numbers[np.isfinite(numbers)].tolist())
        if len(values) > 1:
            return column
    elif column.kind == "categorical":
        values = column.values
    else:
        return column
    cut_after = min(len(values) + ENOUGH, max_values - 1)
    if cut_after <= len(values):
        return column
    kind = "numeric" if isinstance(cells, Numbers) and not values else column.kind
    return replace(column, kind=kind, values=values, cut_after=cut_after)


def late_columns(name: str, value: Any, max_values: int, dates: DatesOption = None) -> list[Column]:
    """What comes after the first rows of a stream, with its first value, which is not among the values yet.

    One column, or of dates the parts that are asked for.
    """
    number, cut_after = is_number(plain(value)), min(ENOUGH, max_values - 1)
    parts, by_name = given_parts(dates)
    if is_date(value) or name in by_name:
        day = Numbers(np.array([date_cell(value, name)]))
        return [_late_part(name, part, cut_after) for part in settled_parts(by_name.get(name, parts), day)]
    if not number:
        return [Column(name, "categorical", reason=APPEARED)]
    whole = isinstance(plain(value), int) and not isinstance(value, DATE_TYPES)
    return [Column(name, "categorical" if whole else "numeric", reason=APPEARED, cut_after=cut_after)]


def _late_part(source: str, part: str, cut_after: int) -> Column:
    column = Column(part_name(source, part), "numeric", reason=APPEARED, cut_after=cut_after, part=part)
    if part in NAMED:
        column = replace(column, kind="categorical", values=NAMED[part], closed=True, cut_after=0)
    return column if part == "date" else replace(column, source=source)


def with_numbers(column: Column, new: Sequence[Value]) -> Column:
    """A column that is yet to be cut, with further values; cut, where these are enough.

    Numbers of the first rows, which may be most rows, have bins of their own; the others are cut by equal frequency.
    """
    values = column.values + tuple(new)
    if len(values) < column.cut_after:
        kind = "numeric" if any(isinstance(value, float) for value in new) else column.kind
        return replace(column, kind=kind, values=values)
    numbers = np.array([float(value) for value in values[: column.cut_after]])
    n_first = max(0, column.cut_after - ENOUGH)
    distinct = np.unique(numbers[np.isfinite(numbers)])
    between = middle(distinct[:-1], distinct[1:])
    first = np.searchsorted(distinct, numbers[:n_first])
    below, above = (np.append(-np.inf, between)[first], np.append(between, np.inf)[first])
    cuts = equal_frequency(numbers[n_first:], STREAM_BINS)
    inside = ((cuts[:, None] > below) & (cuts[:, None] < above)).any(axis=1)
    cuts = np.unique(np.concatenate([cuts[~inside], below, above]))
    found = tuple(cuts[np.isfinite(cuts)].tolist())
    return replace(column, kind="numeric", values=(), cuts=found, reason=CUT_LATE, cut_after=0)


def _learned_column(
    name: str, i: Key, cells: Cells, rules: Rules, labels: np.ndarray | None, weights: np.ndarray | None
) -> Column:
    kind, reason = _kind(cells, rules.requested.get(i), rules)
    if kind == "categorical":
        return _categorical(name, cells.categories, reason, rules.max_values, weights)
    how = rules.bins.get(i, rules.default_bins)

    given: Sequence[Any] | None = None if isinstance(how, str) else how

    def find(numbers: np.ndarray) -> np.ndarray:
        return find_cuts(numbers, str(how), rules.n_bins, rules.mdl_encoding, labels, weights)

    if kind == "ordinal" and not (rules.orders[i] is None and isinstance(cells, Numbers)):
        return ordinal_column(name, rules.orders[i], cells, given, find)
    numbers = cells.floats(name)  # also for continuous and given cut points: text among numbers is an error at once
    if kind == "continuous":
        return Column(name, kind, reason=reason)
    if given is not None:
        return Column(name, "numeric", cuts=_given_cuts(name, given), reason=GIVEN)
    return Column(name, "numeric", cuts=tuple(find(numbers).tolist()), reason=reason)  # also numbers said to be ordinal


_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d{0,15})(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")


def read_cells(cells: Cells, i: int, rules: Rules) -> Cells:
    """The cells of column i; text that is dates or numbers throughout, as it is written in files, is such.

    Not numbers with leading zeros, as zip codes have, nor beyond 2**53, as long keys are; nor where whole numbers are
    so few that they are categories in any case.
    """
    if i in rules.dates:
        return _dates(cells, rules.names[i])
    if not isinstance(cells, Categories) or cells.declared or rules.requested.get(i) in ("categorical", "ordinal"):
        return cells
    if cells.what == "mixed values":
        return _marked_numbers(cells)
    if cells.what != "text":
        return cells
    dates = dates_in_text(cells)
    return _numbers_in_text(cells, rules, rules.requested.get(i)) if dates is None else dates


def _numbers_in_text(cells: Categories, rules: Rules, requested: str | None) -> Cells:
    """Text that is numbers, but for marks of missing cells; other cells as they are."""
    first = next((value for value in cells.values if not is_mark(value)), "")
    if not reads_as_number(first):  # which spares a look at the others
        return cells
    seen = cells.in_order
    gaps = [is_mark(value) for value in seen.values]
    if not all(gap or reads_as_number(value) for gap, value in zip(gaps, seen.values, strict=True)):
        return cells
    numbers = _floats(seen.values, gaps)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if requested is None and len(distinct) <= rules.max_whole and not np.any(distinct % 1):
        return _without(seen, gaps) if any(gaps) else cells
    return Numbers(numbers[seen.index], NUMBERS_AS_TEXT, worth_a_word(seen.values)) if len(distinct) else cells


def _marked_numbers(cells: Categories) -> Cells:
    """Objects that are numbers, but for marks of missing cells, as numbers; other cells as they are."""
    seen = cells.in_order
    gaps = [is_mark(value) for value in seen.values]
    numbers = [value for gap, value in zip(gaps, seen.values, strict=True) if not gap]
    if not any(gaps) or not numbers or not all(is_number(value) and abs(float(value)) <= 2**53 for value in numbers):
        return cells
    return Numbers(_floats(seen.values, gaps)[seen.index], marks=worth_a_word(seen.values))


def _floats(values: Sequence[Value], gaps: Sequence[bool]) -> np.ndarray:
    """Values as numbers, with NaN for gaps, and behind them for missing cells."""
    return np.array([*(np.nan if gap else float(value) for gap, value in zip(gaps, values, strict=True)), np.nan])


def _without(cells: Categories, gaps: Sequence[bool]) -> Categories:
    """The cells without the values that mark missing ones."""
    places = np.append(np.where(gaps, -1, np.arange(len(gaps))), -1).astype(np.int32)
    return replace(cells, index=places[cells.index], exact=False, marks=worth_a_word(cells.values)).in_order


def _dates(cells: Cells, name: str) -> Numbers:
    """The cells of a column that holds dates, as an option says."""
    if isinstance(cells, Numbers) and not cells.are_dates and not np.isnan(cells.values).all():
        raise OptionError(
            f"dates: column {name!r} holds {cells.what}, not dates. Make dates of them first, for example by "
            "pandas.to_datetime, or leave it out."
        )
    return replace(date_cells(cells, name), what=DATES)


def as_written(value: Value) -> str:
    """A value as people write it, whatever its type.

    >>> [as_written(value) for value in (3, 3.0, "3", " 3.0", True, "TRUE", "03", "x")]
    ['3', '3', '3', '3', 'true', 'true', '03', 'x']
    """
    text = str(plain(float(value) if isinstance(value, str) and reads_as_number(value) else value)).strip()
    return text.lower() if text.lower() in ("true", "false") else text


def reads_as_number(value: object) -> bool:
    """Whether text is a number as it is written in files; not those beyond 2**53, nor with leading zeros."""
    text = str(value).strip()
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) <= 2**53


_OPEN = ("whole numbers", "all missing", NUMBERS_AS_TEXT, DATES_AS_TEXT)  # reasons that further rows may refute


def settled(column: Column) -> bool:
    """Whether the kind and the cut points of a learned column stay the same, whatever rows follow."""
    if column.kind in ("numeric", "ordinal"):
        return column.reason.startswith((GIVEN, CUT_LATE))
    return not column.reason.startswith(_OPEN)


def was_cut(column: Column) -> bool:
    """Whether rows have said where the numbers of a column are cut, and not somebody beforehand."""
    by_rows = column.kind == "numeric" and not (column.by_value or column.closed or column.reason.startswith(GIVEN))
    return by_rows and bool(column.cuts)


def stays_open(cells: Cells, i: int, rules: Rules) -> bool:
    """Whether column i is not settled by these cells, where they are numbers and their kind alone says so."""
    if not isinstance(cells, Numbers):
        return False
    kind, reason = _kind(cells, rules.requested.get(i), rules)
    if kind == "numeric":
        return isinstance(rules.bins.get(i, rules.default_bins), str)
    return kind in ("categorical", "continuous") and reason.startswith(_OPEN)


def _kind(cells: Cells, requested: str | None, rules: Rules) -> tuple[str, str]:
    """The kind of a column, and the reason."""
    if requested is not None:
        return requested, "requested"
    kind, reason = _rule(cells, rules.max_whole)
    if rules.continuous and (kind == "numeric" or (rules.stream and _are_floats_to_come(cells))):
        kind = "continuous"
    return kind, reason


def _are_floats_to_come(cells: Cells) -> bool:
    """Whether a column holds floats, all of them missing so far."""
    return isinstance(cells, Numbers) and cells.all_missing and not cells.are_times


def _rule(cells: Cells, max_whole: int) -> tuple[str, str]:
    if isinstance(cells, Categories):
        if cells.declared:
            return "categorical", "values declared"
        if not cells.values:
            return "categorical", "all missing"
        return "categorical", cells.what + (lookalike(cells.values, reads_as_number) if cells.what == "text" else "")
    if cells.all_missing:
        return "categorical", "all missing"
    if cells.are_times:
        return "numeric", cells.what
    # Few distinct integers are usually codes, grades or small counts, where each value is worth its own cell.
    n_distinct = cells.n_distinct_whole(max_whole)
    if n_distinct is not None:
        return "categorical", f"whole numbers, {n_distinct} distinct"
    if cells.what == NUMBERS_AS_TEXT:
        return "numeric", cells.what
    return "numeric", "numbers with fractions" if cells.whole is None else f"whole numbers, over {max_whole} distinct"


def _categorical(name: str, cells: Categories, reason: str, max_values: int, weights: np.ndarray | None) -> Column:
    """The values in order of appearance, or as declared; when they are too many, the most frequent ones and "other"."""
    if not cells.declared:
        cells = cells.in_order
    values = cells.values
    if len(values) >= max_values:
        present = cells.index >= 0
        # A stable sort, so that ties go to the value seen first; the kept ones stay in their order.
        counts = np.bincount(cells.index[present], None if weights is None else weights[present], len(values))
        kept = np.sort(np.argsort(-counts, kind="stable")[: max_values - 1])
        reason = f"{reason}; {len(values):,} distinct, the {max_values - 1:,} most frequent kept"
        values = [values[v] for v in kept]
    other = len(values) < len(cells.values)
    return Column(name, "categorical", tuple(values), closed=cells.declared, other=other, reason=reason)


def _given_cuts(name: str, cuts: Sequence[float]) -> tuple[float, ...]:
    try:
        numbers = tuple(date_cell(t, name) if is_date(t) else float(t) for t in cuts)
    except (TypeError, ValueError):
        raise OptionError(f"bins[{name!r}]={cuts!r}: expected cut points, that is, ascending numbers.") from None
    if any(t != t for t in numbers) or any(not a < b for a, b in pairwise(numbers)):
        raise OptionError(f"bins[{name!r}]={list(numbers)} must be ascending. Sort the cut points and drop duplicates.")
    return numbers


def _positions(option: str, columns: Any, names: Sequence[str]) -> dict[object, Key]:
    """Names or numbers of columns as positions: {as given: position}; the name of a part of dates stays a name."""
    if columns is None or isinstance(columns, bool):
        return {}
    if isinstance(columns, str):
        if columns == "all" and option == "categorical":
            return {name: i for i, name in enumerate(names)}
        columns = [columns]
    if not isinstance(columns, Iterable):
        raise OptionError(f"{option}={columns!r}: give names or places of columns, as a list.")
    positions: dict[object, Key] = {}
    for key in columns:
        if isinstance(key, str) and key in names:
            positions[key] = names.index(key)
        elif isinstance(key, str) and option not in ("dates", "keep") and may_be_part(key, names):
            positions[key] = key
        elif isinstance(key, int | np.integer) and not isinstance(key, bool) and -len(names) <= key < len(names):
            positions[key] = int(key) % len(names)
        else:
            raise OptionError(f"{option}: X has no column {key!r} (it has {len(names)}).{nearest(key, names)}")
    return positions


def _check_integer(option: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        raise OptionError(f"{option}={value!r} must be a whole number from {least} to {most}.")
