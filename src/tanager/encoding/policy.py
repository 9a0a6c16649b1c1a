"""Which columns of a table are left out of learning, and why: decided here for every door into the library.

=====================================================  ===========================================================
column                                                 left out as
=====================================================  ===========================================================
text of which (almost) every row has its own value     a name of things: an id, free text
whole numbers that run through a range, each once      row numbers
one value only, or none at all                         telling nothing; not in a stream, where it may vary later on
=====================================================  ===========================================================

And where a column is numbers or dates but for text that stands for missing cells (``marks``), these are missing.

Nothing is said about fewer than ``ENOUGH_ROWS`` rows. Columns with declared values, those that an option names
(``categorical=``, ``numeric=``, ``ordinal=``, ``bins=``, ``keep=``), arrays of codes and columns of a given schema
stay; and all of them stay where none would remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tanager.encoding.kinds import Rules, reads_as_number, settled
from tanager.encoding.lookalikes import looks_told
from tanager.encoding.marks import marks_told
from tanager.encoding.schema import APPEARED, Column, LeftOut, Schema, Value
from tanager.encoding.values import Categories, Cells, Numbers
from tanager.errors import first_few, warn_user

ENOUGH_ROWS = 20  # fewer tell nothing about a column
ODD = 0.05  # so many of the distinct values of a column of numbers may be text for it to be called that
OWN = 0.95  # a text column with so many values per row holds names of things
NONE_REMAINS = "; kept, since no column would remain"


@dataclass(frozen=True)
class Run:
    """Enough about whole numbers to tell whether they run through a range, each once; sums are modulo 2**64.

    Of parts of a table they are added up, so that it need not be in one place.
    """

    n: int
    low: int
    high: int
    total: int
    squares: int

    @classmethod
    def of(cls, whole: np.ndarray) -> Run | None:
        """Of a column of integers; None without any."""
        if len(whole) == 0:
            return None
        numbers = whole.astype(np.uint64) if whole.dtype.kind == "u" else whole.astype(np.int64).view(np.uint64)
        return cls(len(whole), int(whole.min()), int(whole.max()), int(numbers.sum()), int((numbers * numbers).sum()))

    def __add__(self, other: Run) -> Run:
        sums = ((a + b) % 2**64 for a, b in ((self.total, other.total), (self.squares, other.squares)))
        return Run(self.n + other.n, min(self.low, other.low), max(self.high, other.high), *sums)

    @property
    def through_a_range(self) -> bool:
        """Whether every number from the lowest to the highest is there once."""
        if self.high - self.low + 1 != self.n:
            return False
        total = (self.low + self.high) * self.n // 2
        squares = _squares_up_to(self.high) - _squares_up_to(self.low - 1)
        return (total - self.total) % 2**64 == 0 and (squares - self.squares) % 2**64 == 0


def _squares_up_to(n: int) -> int:
    """0² + 1² + ... + n², continued to negative n as a polynomial, so that differences are sums of squares."""
    return n * (n + 1) * (2 * n + 1) // 6


def names_things(n_distinct: int, n_present: int) -> str | None:
    """Why text with so many distinct values in so many cells is no category; None where it may be one."""
    if n_present < ENOUGH_ROWS or n_distinct < OWN * n_present:
        return None
    return "every row has its own value" if n_distinct == n_present else "almost every row has its own value"


def numbers_rows(run: Run | None) -> str | None:
    """Why whole numbers tell nothing; None where they may."""
    if run is None or run.n < ENOUGH_ROWS or not run.through_a_range:
        return None
    return f"row numbers: every number from {run.low} to {run.high} once"


def is_constant(n_distinct: int, n_rows: int) -> str | None:
    """Why a column with so many distinct values tells nothing; None where it may."""
    if n_rows < ENOUGH_ROWS or n_distinct > 1:
        return None
    return "one value only" if n_distinct else "all cells are missing"


def reason_to_leave_out(cells: Cells, i: int, rules: Rules) -> str | None:
    """Why column i of a table is not to be learned; None where it is."""
    n_rows = len(cells.index if isinstance(cells, Categories) else cells.values)
    if n_rows < ENOUGH_ROWS or not may_leave_out(i, rules):
        return None
    reason = _text(cells) if isinstance(cells, Categories) else _whole(cells)
    return reason or (None if rules.stream else is_constant(_up_to_two(cells), n_rows))


def left_out_of(columns: Sequence[Cells], names: Sequence[str], rules: Rules) -> tuple[LeftOut, ...]:
    """The columns of a table that are not to be learned."""
    reasons = [reason_to_leave_out(cells, i, rules) for i, cells in enumerate(columns)]
    return () if all(reasons) else tuple(LeftOut(names[i], i, why) for i, why in enumerate(reasons) if why)


def may_leave_out(i: int, rules: Rules) -> bool:
    """Whether no option speaks of column i."""
    return rules.kept is not None and i not in rules.kept and i not in rules.requested and i not in rules.dates


def may_name_things(cells: Cells, i: int, rules: Rules) -> bool:
    """Whether column i may be ids or free text, so far as few rows can tell: hardly a value has come again."""
    if not may_leave_out(i, rules) or not isinstance(cells, Categories) or cells.declared or cells.what == "booleans":
        return False
    return len(cells.in_order.values) >= OWN * int(np.count_nonzero(cells.index >= 0))


def _text(cells: Categories) -> str | None:
    if cells.declared or len(cells.values) < OWN * ENOUGH_ROWS:
        return None
    n_present = int(np.count_nonzero(cells.index >= 0))
    if len(cells.values) < OWN * n_present:  # no need to look which of them occur
        return None
    reason = names_things(len(cells.in_order.values), n_present)
    return reason and reason + _odd_among_numbers(cells.in_order.values)


def _odd_among_numbers(values: Sequence[object]) -> str:
    """What to do where a column would be numbers but for a few cells, such as "?" for what is missing."""
    odd = [value for value in values if not reads_as_number(value)]
    if not 0 < len(odd) <= ODD * len(values):
        return ""
    return f"; numbers but for {first_few([repr(value) for value in odd])}: give None for a missing cell"


def _whole(cells: Numbers) -> str | None:
    whole = None if cells.are_times else cells.whole
    if whole is None or len(whole) == 0 or int(whole.max()) - int(whole.min()) + 1 != len(whole):
        return None
    return numbers_rows(Run.of(whole))


def _up_to_two(cells: Cells) -> int:
    """How many distinct values there are, counted up to two; two where values are declared."""
    for size in (100, None):  # most columns vary among their first cells
        if isinstance(cells, Categories):
            n = len(np.unique(cells.index[:size][cells.index[:size] >= 0])) if not cells.declared else 2
        else:
            head = cells.values[:size]
            low, high = np.fmin.reduce(head), np.fmax.reduce(head)  # NaN where all are missing
            n = 0 if low != low else 1 if low == high else 2
        if n > 1:
            return 2
    return n


def schema_of(found: Sequence[Sequence[Column] | LeftOut], learn: Callable[[int], Sequence[Column]]) -> Schema:
    """The schema of what was found about all columns of a table, each of which may become several.

    ``learn`` learns one after all, where none would remain.
    """
    gone = tuple(column for column in found if isinstance(column, LeftOut))
    if len(gone) == len(found):
        learned = [(column, left_out.reason) for i, left_out in enumerate(gone) for column in learn(i)]
        kept = [replace(column, reason=f"{column.reason}; {why}{NONE_REMAINS}") for column, why in learned]
        return Schema(tuple(kept))
    return Schema(tuple(column for own in found if not isinstance(own, LeftOut) for column in own), gone)


def tell_columns(schema: Schema) -> None:
    """A word about columns that are left out, or had better be, and about text that stands for something else."""
    _tell_left_out(schema)
    tell_text(schema)


def tell_of_numbers(before: Column, now: Column) -> None:
    """Say that numbers have come to a column of which nobody has said that it holds categories, and are such."""
    asked = settled(before) and before.reason != APPEARED
    if asked or now.kind != "categorical" or now.cut_after or any(map(_has_fraction, before.values)):
        return
    first = next(filter(_has_fraction, now.values[len(before.values) :]), None)
    if first is not None:
        warn_user(
            f"column {now.name!r} holds numbers such as {first!r}, which the first rows did not show: each is a "
            f"category of its own from now on. Give numeric=[{now.name!r}] beforehand, with first rows that have the "
            "column, be it missing."
        )


def _has_fraction(value: Value) -> bool:
    return isinstance(value, float) and value % 1 > 0


def tell_text(schema: Schema) -> None:
    """A word about text that is taken as missing, and one about text that looks like numbers or dates."""
    marks = {column.table_name: told for column in schema.columns if (told := marks_told(column.reason))}
    if marks:
        listed, names = (
            first_few(found) for found in ([f"{n!r} ({t})" for n, t in marks.items()], [*map(repr, marks)])
        )
        has = "1 column has" if len(marks) == 1 else f"{len(marks):,} columns have"
        way_out = f"Give None there; or learn the text as values, with categorical=[{names}]."
        warn_user(f"{has} text among numbers or dates that stands for missing cells: {listed}. {way_out}")
    looks = {column.table_name: told for column in schema.columns if (told := looks_told(column.reason))}
    if looks:
        listed, names = (
            first_few(found) for found in ([f"{n!r} ({t})" for n, t in looks.items()], [*map(repr, looks)])
        )
        has = "1 column is" if len(looks) == 1 else f"{len(looks):,} columns are"
        kinds = {"numbers": "1234.5", "dates": "2024-05-31"}
        write = " and ".join(
            f"{kind} as {form}"
            for kind, form in kinds.items()
            if any(f"like {kind}" in told for told in looks.values())
        )
        other = ", give None (in a file: --missing) for other cells" if " but for " in listed else ""
        way_out = f"Write {write}{other}; or say that text is meant, with categorical=[{names}]."
        warn_user(f"{has} learned as text, every value by itself: {listed}. {way_out}")


def _tell_left_out(schema: Schema) -> None:
    gone = [(column.name, column.reason) for column in schema.left_out]
    if gone:
        listed, names = first_few([f"{name!r} ({why})" for name, why in gone]), first_few([repr(n) for n, _ in gone])
        them, those = ("it", "column is") if len(gone) == 1 else ("them", "columns are")
        keep = f"Keep {them} with keep=[{names}], or drop {them} from the table."
        warn_user(f"{len(gone):,} {those} left out: {listed}. {keep}")
    elif schema.columns and schema.columns[0].reason.endswith(NONE_REMAINS):
        warn_user(f"no column tells anything: {schema.columns[0].name!r}, {schema.columns[0].reason}.")
