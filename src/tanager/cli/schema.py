"""``tanager schema``: how the columns of a file would be treated."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.models import make_model, parse_settings, parse_value
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option
from tanager.cli.reading import KINDS, READING, check_columns, check_inputs, default_target, open_data
from tanager.cli.screen import Screen, counted, table

ROWS = 100_000  # sampled where there is no target


@click.command(epilog=examples("tanager schema iris.csv", "tanager schema iris.csv --bins frequency --json"))
@click.argument("data")
@target_option
@kind_options
@reading_options
@json_option
def command(data: str, target: str | None, as_json: bool, **given: Any) -> None:
    """Show how fit would treat the columns of DATA, and why: kinds, values, cut points, missing cells.

    Without a target, numbers are cut into bins of equal frequency, because the default needs the classes.
    """
    screen = Screen(as_json=as_json)
    check_inputs(data)
    with screen.waiting("starting"):
        from tanager.cli.columns import columns_table

        bins = None if given["bins"] is None else parse_value(given["bins"])
        kinds = {key: given[key] for key in KINDS}
        source = open_data(data, **kinds, **{key: given[key] for key in READING})
        wanted = parse_settings(
            (), bins=bins, n_bins=given["n_bins"], keep=given["keep"], dates=given["dates"], **kinds
        )
        check_columns(source, [*given["drop"], *([target] if target else [])])
        target = target or default_target(source)
    with screen.progress(f"reading {source.name}") as tick:
        if target is None:
            schema, missing, dropped, rows = _sampled(source, given["drop"], wanted)
        else:
            schema, missing, dropped, rows = _learned(source, target, given["drop"], wanted, tick)
    screen.say(f"{source.name}: {counted(rows, 'row')}, {counted(len(schema), 'column')}", style="bold")
    if target is None:
        screen.say("No target (--target): numbers are cut into bins of equal frequency.")
    screen.say()
    screen.show(columns_table(schema, missing, rows))
    if dropped:
        screen.say()
        screen.show(table(("dropped", "reason"), dropped.items()))
    screen.document(schema.to_dict())


def _learned(source: Any, target: str, drop: list[str], wanted: dict[str, Any], tick: Any) -> tuple[Any, ...]:
    """What learning from the file decides. Columns do not depend on the model but for the default of bins, which is
    that of AODE; naive Bayes is the cheapest."""
    from tanager import AODE
    from tanager.files import learn

    learned = learn(
        make_model("nb", {"bins": AODE.default_bins} | wanted),
        source,
        target,
        drop=drop,
        progress=tick,
        leave_one_out=False,
    )
    return learned.model.encoder_.schema, learned.missing, learned.dropped, learned.n_rows


def _sampled(source: Any, drop: list[str], wanted: dict[str, Any]) -> tuple[Any, ...]:
    """What an encoder decides without classes, from rows spread over the file."""
    from tanager.encoding import Encoder

    X = source.sample(ROWS, [name for name in source.columns if name not in drop])
    schema = Encoder(**{"bins": "frequency", **wanted}).learn(X).schema
    missing = {name: X.column(name).null_count for name in X.column_names}
    dropped = dict.fromkeys(drop, "asked for") | {gone.name: gone.reason for gone in schema.left_out}
    return schema, missing, dropped, X.num_rows
