"""What is known about the columns of a table, for people and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from tanager.cli.screen import one_line, table
from tanager.encoding.schema import Column, Schema

MOST = 60  # columns of a table that are listed


def columns_table(schema: Schema, missing: Mapping[str, int], n_rows: float) -> Table:
    """Name, kind, values or bins, missing cells where there are any, and the reason, one line each."""
    gaps = any(missing.values())
    rows = [_line(column, share(missing.get(column.name, 0), n_rows), gaps) for column in schema.columns[:MOST]]
    if len(schema) > MOST:
        rows.append([f"... and {len(schema) - MOST:,} more", "", "", *([""] if gaps else []), ""])
    head = ["column", "kind", "values", *(["missing"] if gaps else []), "because"]
    return table(head, rows, right=["missing"], elastic=["values", "because"])


def _line(column: Column, missing: str, gaps: bool) -> list[str | Text]:
    values, reason = one_line(values_of(column)), one_line(column.reason)
    return [column.name, column.kind, values, *([missing] if gaps else []), reason]


def values_of(column: Column) -> str:
    """How many values and which, or how many bins and where they are cut."""
    if column.kind == "categorical":
        shown = ", ".join(str(value) for value in column.values[:20]) + (" ..." if len(column.values) > 20 else "")
        return f"{column.n_values}: {shown}" + (" and others" if column.other else "")
    if column.kind == "numeric":
        cuts = ", ".join(f"{cut:g}" for cut in column.cuts[:20])
        return f"{column.n_values} bins: {cuts}" if cuts else "1 bin: nothing to cut"
    return "normal distributions" if column.kind == "continuous" else str(column.n_values)


def share(n: float, total: float) -> str:
    """A part of a whole in percent; nothing where there is nothing."""
    return f"{n / total:.1%}" if n else ""


def told(model: Any) -> dict[str, float]:
    """What every column with codes tells about the class on its own, in nats; nothing of a model without counts."""
    from tanager.structure.measures import class_information

    if not hasattr(model, "counts_"):
        return {}
    columns = zip(model.counts_.schema.columns, class_information(model.counts_).tolist(), strict=True)
    return {column.name: value for column, value in columns if column.kind != "continuous"}
