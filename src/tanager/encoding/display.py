"""What is shown of a Schema and an Encoder, in notebooks and in print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tanager.display import Html, counted, facts, heading, listed, note, page, table

if TYPE_CHECKING:
    from tanager.encoding.encoder import Encoder
    from tanager.encoding.schema import Schema


def schema_html(schema: Schema) -> Html:
    """The columns, their kinds and values, and why."""
    return page(heading("Schema", kinds_of(schema)), columns_table(schema))


def schema_text(schema: Schema) -> str:
    """How many columns there are of each kind, and their names."""
    return f"<Schema of {kinds_of(schema)}: {listed(schema.names)}>" if len(schema) else "<Schema without columns>"


def encoder_html(encoder: Encoder) -> Html:
    """The columns that it has learned, and the options whose values are not the defaults."""
    options = facts((name, repr(value)) for name, value in encoder.changed_options().items())
    if not encoder.knows_columns:
        return page(heading("Encoder", "no columns learned yet"), options)
    return page(heading("Encoder", kinds_of(encoder.schema)), options, columns_table(encoder.schema))


def columns_table(schema: Schema) -> Html:
    """A line for each column, those that are left out at the end."""
    rows = [(column.name, column.kind, column.summary, column.reason) for column in schema.columns]
    rows += [(gone.name, "left out", "", gone.reason) for gone in left_out(schema)]
    names = ("column", "kind", "values or cut points", "reason")
    width = 4 if any(row[3] for row in rows) else 3
    return table(names[:width], [row[:width] for row in rows]) if rows else note("no columns")


def left_out(schema: Schema) -> tuple[Any, ...]:
    """The columns of the table that are not learned."""
    return getattr(schema, "left_out", ())


def kinds_of(schema: Schema) -> str:
    """How many columns there are of each kind.

    >>> from tanager import Column, Schema
    >>> kinds_of(Schema((Column("sky", "categorical", ("sun", "rain")), Column("age", "numeric", cuts=(18.0, 65.0)))))
    '2 columns (1 categorical, 1 numeric)'
    """
    kinds = Counter(column.kind for column in schema.columns)
    listed = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    return f"{counted(len(schema), 'column')} ({listed})" if kinds else "no columns"
