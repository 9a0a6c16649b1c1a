"""``tanager importance``: how much each column matters to a model, by the log loss of left-out rows."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.explained_rows import is_picture
from tanager.cli.options import examples, json_option, reading_options, target_option
from tanager.cli.output import check_output, open_output
from tanager.cli.reading import LEARNED, check_columns, check_inputs, load_model, open_for, set_target
from tanager.cli.screen import Screen, table


@click.command(
    epilog=examples(
        "tanager importance iris.tanager iris.csv",
        "tanager importance iris.tanager new.csv --held-out -o importance.svg",
    )
)
@click.argument("model")
@click.argument("data")
@target_option
@click.option("--held-out", is_flag=True, help="DATA holds rows that MODEL has not learned.")
@click.option("--top", default=15, metavar="N", help="Number of columns to list.")
@click.option("--output", "-o", metavar="FILE", help="Write a table (.csv, .tsv, .parquet, .jsonl) or a picture.")
@reading_options
@json_option
def command(
    model: str,
    data: str,
    target: str | None,
    held_out: bool,
    top: int,
    output: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Measure how much each column matters to MODEL: by how much the log loss rises where it is not known.

    DATA are the rows that MODEL has learned: each is predicted from the counts without it. Intervals are of 95 %. For
    models that cannot leave rows out, such as forests, give rows that they have not learned, with --held-out.
    """
    screen = Screen(as_json=as_json, data_on_stdout=output == "-" and not as_json)
    check_inputs(model, data)
    if output is not None:
        check_output(output, model, data)
    with screen.waiting("starting"):
        from tanager.learning.importance import importance

        classifier = load_model(model)
        set_target(classifier, target, model)
        X, y = _read(classifier, data, reading)
        found = importance(classifier, X, y, learned=not held_out)
    _print(screen, found, top)
    if output is not None:
        _write(found, output)
        screen.say(f"\nwritten to {output}" if output != "-" else "")
    screen.document(
        {
            "model": model,
            "data": data,
            "log_loss": found.log_loss,
            "rows": found.n_rows,
            "confidence": found.confidence,
            "columns": _lines(found),
        }
    )


def _read(model: Any, data: str, reading: dict[str, Any]) -> tuple[Any, Any]:
    import pyarrow as pa

    source = open_for(model, data, **reading)
    names = source.columns_of(model)
    check_columns(source, [model.target_name_], LEARNED)
    whole = pa.concat_tables(list(source.chunks(columns=[*names, model.target_name_])), promote_options="permissive")
    return whole.select(names), whole.column(model.target_name_)


def _lines(found: Any) -> list[dict[str, Any]]:
    numbers = (found.increase, found.error, found.low, found.high)
    return [
        dict(zip(("column", "increase", "error", "low", "high"), line, strict=True))
        for line in zip(found.columns, *(own.tolist() for own in numbers), strict=True)
    ]


def _print(screen: Screen, found: Any, top: int) -> None:
    screen.say(f"log loss {found.log_loss:.4f} over {found.n_rows:,.0f} rows", style="bold")
    rows = [
        (str(own["column"]), f"{own['increase']:+.4f}", f"{own['low']:+.4f} to {own['high']:+.4f}")
        for own in _lines(found)[:top]
    ]
    head = ("column", "rise without it", "interval")
    screen.show(table(head, rows, right=head[1:], elastic=["column"]))
    if len(found.columns) > top:
        screen.say(f"and {len(found.columns) - top:,} more. See --top.")


def _write(found: Any, output: str) -> None:
    import pyarrow as pa

    from tanager.writing import TableWriter, table_format

    if is_picture(output):
        found.plot(output)
        return
    form = table_format(output)
    with open_output(output) as file:
        writer = TableWriter(file, form)
        writer.write(pa.Table.from_pylist(_lines(found)))
        writer.close()
