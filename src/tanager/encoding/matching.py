"""Which column of a table is which column of a schema: by name where both have names, else by place.

By name, the order does not matter, further columns are ignored, and columns that are not there are missing values; each
is told once. By place, all columns must be there, those that are left out among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tanager.encoding.frames import is_pandas
from tanager.encoding.schema import Schema
from tanager.encoding.tables import Table, read_table
from tanager.errors import SchemaMismatch, first_few, nearest, warn_user

Told = set[tuple[str, ...]]  # what has been said already about sets of names


def match_columns(table: Table, schema: Schema, name: str, told: Told, doing: str) -> Sequence[int]:
    """Where each column of the schema is in the table, -1 where it is not there.

    ``name`` is who to speak of in errors, and ``doing`` what is done with the rows, "answered" or "learned". Rows that
    are dicts may have gaps and further names without a word.
    """
    if table.names == schema.table_names:
        return schema.places
    if table.names is None or (_unnamed(schema) and _other_names(table, schema)):
        if table.n_columns != schema.width:
            raise SchemaMismatch(
                f"X has {table.n_columns} features, but {name} is expecting {schema.width} features as input."
                + _left_out_too(schema)
            )
        return schema.places
    places = {column: i for i, column in enumerate(table.names)}
    order = [places.get(source, -1) for source in schema.sources]
    if not table.gaps:
        refuse_strangers(table.names, schema.learned_names, name)
        tell_differences(table.names, schema.learned_names, schema.known_names, name, told, doing)
    return order


def refuse_strangers(names: Sequence[str], known: Sequence[str], name: str, source: str = "X") -> None:
    """Refuse a table that has none of the columns."""
    if set(names).isdisjoint(known):
        hint = nearest(known[0], names)
        raise SchemaMismatch(
            f"{source} has none of the {len(known)} columns that {name} was fitted on: it has {_listed(names)}, "
            f"expected were {_listed(known)}.{hint} Rename its columns."
        )


def there(names: Sequence[str], schema: Schema, name: str, source: str = "X") -> list[str]:
    """The columns that a schema is learned from, and that a table has; refused where it has none."""
    refuse_strangers(names, schema.learned_names, name, source)
    return [column for column in schema.learned_names if column in set(names)]


def tell_differences(
    names: Sequence[str], wanted: Sequence[str], known: frozenset[str], name: str, told: Told, doing: str
) -> None:
    """Say which columns are missing, and which are ignored: once for each set of names."""
    there = set(names)
    missing = tuple(column for column in wanted if column not in there)
    extra = tuple(column for column in names if column not in known)
    if missing and ("missing", *missing) not in told:
        told.add(("missing", *missing))
        warn_user(are_missing(missing, len(wanted), doing) + nearest(missing[0], extra))
    if extra and ("extra", *extra) not in told:
        told.add(("extra", *extra))
        warn_user(are_ignored(extra, name))


def are_missing(missing: Sequence[str], n_wanted: int, doing: str) -> str:
    """What is to be told about columns that are not there."""
    are = "column is" if n_wanted == 1 else "columns is" if len(missing) == 1 else "columns are"
    them = "it" if len(missing) == 1 else "them"
    return f"{len(missing):,} of {n_wanted:,} {are} missing ({_listed(missing)}): {doing} without {them}."


def are_ignored(extra: Sequence[str], name: str) -> str:
    """What is to be told about columns that nobody has learned."""
    which = "column" if len(extra) == 1 else "columns"
    return f"{len(extra):,} {which} that {name} was not fitted on ({_listed(extra)}): ignored."


def aligned(X: Any, names: Sequence[str], name: str, told: Told) -> Any:
    """A frame or a dict of columns with these columns, in this order; missing ones are empty, further ones go."""
    given = read_table(X).names
    if given is None or given == tuple(names):
        return X
    refuse_strangers(given, names, name)
    tell_differences(given, names, frozenset(names), name, told, "learned")
    return with_columns_of(X, names)


def with_columns_of(X: Any, names: Sequence[str]) -> Any:
    """The same without a word."""
    given = read_table(X).names or ()
    if isinstance(X, Mapping):
        empty = [None] * read_table(X).n_rows
        return {column: X.get(column, empty) for column in names}
    if is_pandas(X):
        return X.reindex(columns=list(names))
    if type(X).__module__.startswith("polars"):
        import polars as pl

        return X.select([pl.col(column) if column in given else pl.lit(None).alias(column) for column in names])
    import pyarrow as pa

    table = X if isinstance(X, pa.Table) else pa.table(X)
    columns = [table[column] if column in given else pa.nulls(table.num_rows) for column in names]
    return pa.table(columns, list(names))


def _unnamed(schema: Schema) -> bool:
    return schema.table_names == tuple(f"x{i}" for i in range(schema.width))


def _other_names(table: Table, schema: Schema) -> bool:
    """Whether the names of a table are not those of the schema. Names may be absent from dicts, but not all of them."""
    assert table.names is not None
    if table.gaps:
        return len(table.names) > 0 and schema.known_names.isdisjoint(table.names)
    return set(table.names) != schema.known_names


def _listed(names: Sequence[str]) -> str:
    return first_few([repr(name) for name in names])


def _left_out_too(schema: Schema) -> str:
    gone = _listed([column.name for column in schema.left_out])
    return f" Columns that are left out ({gone}) count: arrays are matched by place." if gone else ""
