"""``tanager unlearn``: rows are taken out of a model."""

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
@click.option("--output", "-o", metavar="FILE", help="The new model file.  [default: MODEL itself, replaced at once]")
@target_option
@times_option
@reading_options
@json_option
def command(
    model: str, rows: str, output: str | None, target: str | None, times: str | None, as_json: bool, **reading: Any
) -> None:
    """Take ROWS, a file of learned rows with their classes, out of MODEL, as if they had never been seen.

    Kinds and cut points stay as they are. Rows that the model has not learned are refused, and nothing changes.
    """
    change("unlearn", "unlearned", model, rows, output, target, times, as_json, reading)
