"""``tanager merge``: models that learned parts of the data become one."""

from __future__ import annotations

import click

from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.screen import Screen, table
from tanager.errors import SchemaMismatch


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
    check_output(output)
    with screen.waiting("merging"):
        from tanager.cli.reading import load_model

        merged = load_model(models[0])
        rows = {models[0]: merged.counts_.n_rows}
        for path in models[1:]:
            other = load_model(path)
            try:
                merged.merge(other)
            except SchemaMismatch as error:
                raise SchemaMismatch(
                    f"{path} does not fit {models[0]}: {error} On the command line: fit the part again with "
                    f"--schema-from {models[0]}"
                ) from None
            rows[path] = other.counts_.n_rows
        merged.save(output)
    total = merged.counts_.n_rows
    lines = [*((path, f"{n:,.0f}") for path, n in rows.items()), (output, f"{total:,.0f}")]
    screen.show(table(("model", "rows"), lines, right=["rows"]))
    screen.document(
        {"models": [{"model": path, "rows": n} for path, n in rows.items()], "output": output, "rows": total}
    )
