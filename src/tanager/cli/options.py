"""Arguments and options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def examples(*lines: str) -> str:
    """The end of a help text: examples that work as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _names(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """The names given by all uses of an option."""
    return [name for text in texts for name in names_in(text)]


def names_in(text: str) -> list[str]:
    """Comma-separated names, quoted as in a CSV file where they contain a comma.

    >>> names_in('age, "sex, at birth"')
    ['age', 'sex, at birth']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def _kept(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[str] | str:
    """Names of columns to keep, or "all"."""
    names = _names(ctx, param, texts)
    return "all" if names == ["all"] else names


def _orders(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, list[str]] | None:
    """The order of the values of each column that is named."""
    orders = {}
    for text in texts:
        column, equals, values = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: write COLUMN=VALUES, for example size=S,M,L", ctx, param)
        orders[column.strip()] = names_in(values)
    return orders or None


def _dates(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, list[str]] | list[str] | None:
    """Parts of all dates, or of the columns that are named."""
    named, parts = {}, list[str]()
    for text in texts:
        column, equals, own = text.rpartition("=")
        if equals:
            named[column.strip()] = names_in(own)
        else:
            parts += names_in(own)
    if named and parts:
        raise click.BadParameter("give parts for all dates, or COLUMN=PARTS for each column, not both", ctx, param)
    return named or parts or None


def columns_option(flag: str, text: str) -> Callable[[Command], Command]:
    """An option that takes column names."""
    return click.option(flag, multiple=True, callback=_names, metavar="COLUMNS", help=text, show_default=False)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
times_option = click.option(
    "--times", metavar="COLUMN", help="The column with the times of the rows; not used as a feature."
)
target_option = click.option("--target", "-t", metavar="COLUMN", help="The column with the classes.")


def reading_options(command: Command) -> Command:
    """How a data file is read."""
    for option in (
        click.option("--format", metavar="FORMAT", help="csv, tsv, parquet, arrow or arff.  [default: detected]"),
        click.option("--encoding", default="utf-8", metavar="NAME", help="Encoding of CSV and TSV files."),
        click.option("--delimiter", metavar="CHARACTER", help="Field separator of CSV files.  [default: detected]"),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="Another text that marks a missing cell; repeatable.",
            show_default=False,
        ),
    ):
        command = option(command)
    return command


def kind_options(command: Command) -> Command:
    """How columns are treated."""
    for option in (
        columns_option("--drop", "Columns to ignore."),
        click.option("--n-bins", type=int, metavar="N", help="Number of bins for width and frequency.  [default: 5]"),
        click.option(
            "--bins",
            metavar="METHOD",
            help='Discretization: mdl, refined, stream, width, frequency, or {"age": [18, 65]}.  [default: by model]',
        ),
        click.option(
            "--ordinal",
            multiple=True,
            callback=_orders,
            metavar="COLUMN=VALUES",
            help="A column whose values have an order, smallest first: size=S,M,L; repeatable.",
            show_default=False,
        ),
        click.option(
            "--keep",
            multiple=True,
            callback=_kept,
            metavar="COLUMNS",
            help="Columns to learn even if they look like ids or have one value only; 'all' for every one.",
            show_default=False,
        ),
        click.option(
            "--dates",
            multiple=True,
            callback=_dates,
            metavar="PARTS",
            help="What to learn of dates: 'parts', or some of date, since, year, month, day, weekday, hour; "
            "sold=month,weekday for one column; repeatable.  [default: date]",
            show_default=False,
        ),
        columns_option("--numeric", "Columns to treat as numeric, and to discretize."),
        columns_option("--categorical", "Columns to treat as categorical, also where they look like numbers."),
    ):
        command = option(command)
    return command
