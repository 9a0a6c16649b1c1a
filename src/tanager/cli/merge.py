"""``tanager merge``: merge models that learned different rows."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from tanager.cli.model_state import n_learned
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.reading import check_inputs, load_model
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
    """Merge MODELS of the same type that learned different rows, as if one had learned them all.

    The options are those of the first. Cut points of numeric columns must agree: fit with --schema-from.
    """
    screen = Screen(as_json=as_json)
    if len(models) < 2:
        raise click.UsageError("At least two models are needed.", click.get_current_context())
    check_inputs(*models)
    check_output(output)
    with screen.waiting("merging"):
        merged = load_model(models[0])
        rows = [(models[0], n_learned(merged))]
        for path in models[1:]:
            other = load_model(path)
            rows.append((path, n_learned(other)))
            _add(merged, other, models[0], path)
        merged.save(output)
    rows.append((f"{output} (new)", n_learned(merged)))
    screen.show(table(("model", "rows"), [(path, f"{n:,.0f}") for path, n in rows], right=["rows"]))
    parts = [{"model": path, "rows": n} for path, n in rows[:-1]]
    screen.document({"models": parts, "output": output, "rows": n_learned(merged)})


def _add(merged: Any, other: Any, first: str, path: str) -> None:
    if type(other) is not type(merged):
        raise OptionError(
            f"{first} contains {type(merged).__name__}, {path} {type(other).__name__}. Merge models of the same type."
        )
    try:
        merged.merge(other)
    except SchemaMismatch as error:
        raise SchemaMismatch(
            f"{error} That is: tanager fit ... -o {quote(path)} --schema-from {quote(first)}"
        ) from None
