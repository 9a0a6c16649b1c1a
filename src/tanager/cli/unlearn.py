"""``tanager unlearn``: remove rows from a model."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.change import change
from tanager.cli.options import examples, json_option, reading_options, target_option, times_option


@click.command(
    epilog=examples(
        "tanager update iris.tanager iris.csv -o twice.tanager",
        "tanager unlearn twice.tanager iris.csv",
    )
)
@click.argument("model")
@click.argument("rows")
@click.option("--output", "-o", metavar="FILE", help="The new model file.  [default: replace MODEL]")
@target_option
@times_option
@reading_options
@json_option
def command(
    model: str, rows: str, output: str | None, target: str | None, times: str | None, as_json: bool, **reading: Any
) -> None:
    """Remove ROWS, a data file with rows that MODEL has learned, as if it had never seen them.

    Kinds and cut points stay as they are. If a row was not learned, MODEL is not changed.
    """
    change("unlearn", "unlearned", model, rows, output, target, times, as_json, reading)
