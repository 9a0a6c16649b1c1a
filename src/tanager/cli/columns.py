"""Tables of columns: kinds, values and cut points."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from tanager.cli.screen import one_line, table
from tanager.encoding.schema import Column, Schema

MOST = 60  # columns listed


def columns_table(schema: Schema, missing: Mapping[str, int], n_rows: float) -> Table:
    """Name, kind, values or bins, missing cells if there are any, and the reason for the kind; one line per column."""
    has_missing = any(missing.values())
    rows = [
        _line(column, share(missing.get(column.table_name, 0), n_rows), has_missing) for column in schema.columns[:MOST]
    ]
    if len(schema) > MOST:
        rows.append([f"... and {len(schema) - MOST:,} more", "", "", *([""] if has_missing else []), ""])
    head = ["column", "kind", "values", *(["missing"] if has_missing else []), "reason"]
    return table(head, rows, right=["missing"], elastic=["values", "reason"])


def _line(column: Column, missing: str, has_missing: bool) -> list[str | Text]:
    values, reason = one_line(values_of(column)), one_line(column.reason)
    return [column.name, column.kind, values, *([missing] if has_missing else []), reason]


def values_of(column: Column) -> str:
    """The number of values and the first of them, or the number of bins and the cut points."""
    if column.by_value:
        shown = ", ".join(str(value) for value in column.values[:20]) + (" ..." if len(column.values) > 20 else "")
        return f"{column.n_values}: {shown}" + (" and others" if column.other else "")
    if column.kind == "ordinal":
        return f"{column.n_values}: " + ", ".join(str(column.describe(code)) for code in range(column.n_values))
    if column.kind == "numeric":
        cuts = ", ".join(column.shown_cut(i) for i in range(min(20, len(column.cuts))))
        return f"{column.n_values} bins: {cuts}" if cuts else "1 bin: no cut points"
    return "normal distributions" if column.kind == "continuous" else str(column.n_values)


def share(n: float, total: float) -> str:
    """A percentage; an empty text for zero."""
    return f"{n / total:.1%}" if n else ""
