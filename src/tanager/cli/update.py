"""``tanager update``: learn more rows."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.change import change
from tanager.cli.options import examples, json_option, reading_options, target_option, times_option


@click.command(epilog=examples("tanager update iris.tanager iris.csv -o more.tanager"))
@click.argument("model")
@click.argument("data")
@click.option("--output", "-o", metavar="FILE", help="The new model file.  [default: replace MODEL]")
@target_option
@times_option
@reading_options
@json_option
def command(
    model: str, data: str, output: str | None, target: str | None, times: str | None, as_json: bool, **reading: Any
) -> None:
    """Train MODEL on the rows of DATA in addition to those it has learned.

    New values and classes are added; cut points stay as they are. If DATA has an error, MODEL is not changed.
    """
    change("update", "learned", model, data, output, target, times, as_json, reading)
