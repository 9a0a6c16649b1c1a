"""``tanager merge``: models that learned parts of the data become one."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.reading import check_inputs, load_model, rows_in
from tanager.cli.screen import Screen, table
from tanager.errors import OptionError, SchemaMismatch


@click.command(
    epilog=examples(
        "tanager fit part1.csv -o one.tanager",
        "tanager fit part2.csv -o two.tanager --schema-from one.tanager",
        "tanager merge one.tanager two.tanager -o both.tanager",
    )
)
@click.argument("models", nargs=-1, required=True)
@click.option("--output", "-o", required=True, metavar="FILE", help="The new model file.")
@json_option
def command(models: tuple[str, ...], output: str, as_json: bool) -> None:
    """Join MODELS of one kind that learned different rows, as if one had learned them all.

    Options are those of the first. Cut points of number columns must agree: fit with --schema-from.
    """
    screen = Screen(as_json=as_json)
    if len(models) < 2:
        raise click.UsageError("give at least two models.", click.get_current_context())
    check_inputs(*models)
    check_output(output)
    with screen.waiting("merging"):
        merged = load_model(models[0])
        rows = [(models[0], rows_in(merged))]
        for path in models[1:]:
            other = load_model(path)
            rows.append((path, rows_in(other)))
            _add(merged, other, models[0], path)
        merged.save(output)
    rows.append((f"{output} (new)", rows_in(merged)))
    screen.show(table(("model", "rows"), [(path, f"{n:,.0f}") for path, n in rows], right=["rows"]))
    parts = [{"model": path, "rows": n} for path, n in rows[:-1]]
    screen.document({"models": parts, "output": output, "rows": rows_in(merged)})


def _add(merged: Any, other: Any, first: str, path: str) -> None:
    if type(other) is not type(merged):
        raise OptionError(
            f"{first} holds {type(merged).__name__} and {path} holds {type(other).__name__}. Merge models of one kind."
        )
    try:
        merged.merge(other)
    except SchemaMismatch as error:
        raise SchemaMismatch(f"{error} That is: tanager fit ... -o {path} --schema-from {first}") from None
