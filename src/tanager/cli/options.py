"""Arguments and options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def examples(*lines: str) -> str:
    """The end of a help text: commands that work as they stand."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _names(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """Of an option that may be given several times."""
    return [name for text in texts for name in names_in(text)]


def names_in(text: str) -> list[str]:
    """Names between commas, quoted as in a CSV file where they contain one.

    >>> names_in('age, "sex, at birth"')
    ['age', 'sex, at birth']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def columns_option(flag: str, text: str) -> Callable[[Command], Command]:
    """An option that takes names of columns."""
    return click.option(flag, multiple=True, callback=_names, metavar="COLUMNS", help=text, show_default=False)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
times_option = click.option(
    "--times", metavar="COLUMN", help="The column that says when a row happened; it is not learned."
)
target_option = click.option("--target", "-t", metavar="COLUMN", help="The column with the classes.")


def reading_options(command: Command) -> Command:
    """How a data file is read."""
    for option in (
        click.option("--format", metavar="FORMAT", help="csv, tsv, parquet, arrow or arff.  [default: by the ending]"),
        click.option("--encoding", default="utf-8", metavar="NAME", help="Of CSV and TSV files."),
        click.option("--delimiter", metavar="CHARACTER", help="Between the cells of a line.  [default: found out]"),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="One more text that stands for a missing cell.",
            show_default=False,
        ),
    ):
        command = option(command)
    return command


def kind_options(command: Command) -> Command:
    """How columns are treated."""
    for option in (
        columns_option("--drop", "Columns to leave out."),
        click.option("--n-bins", type=int, metavar="N", help="For width and frequency.  [default: 5]"),
        click.option(
            "--bins",
            metavar="HOW",
            help='How numbers are cut: mdl, width, frequency, or {"age": [18, 65]}.  [default: mdl]',
        ),
        columns_option("--numeric", "Columns that are numbers, to be cut into bins."),
        columns_option("--categorical", "Columns that are categories, also where they look like numbers."),
    ):
        command = option(command)
    return command
