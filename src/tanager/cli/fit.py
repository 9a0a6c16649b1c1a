"""``tanager fit``: a file becomes a model."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import click

from tanager.cli.models import MODELS, check_model, make, option_names, options_of, settings, value_of
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option, times_option
from tanager.cli.output import check_output
from tanager.cli.reading import (
    READING,
    all_cores,
    check_columns,
    check_inputs,
    load_model,
    open_data,
    open_for,
    target_column,
)
from tanager.cli.screen import Screen, counted, file_size, listed, table
from tanager.cli.structure import found_in, print_trace, structure, structure_options, used_columns
from tanager.errors import OptionError

MOST_CLASSES = 30  # classes of a table that are listed
FLAGS = ("smoothing", "n_bins", "max_memory", "categorical", "numeric")


@click.command(
    epilog="\b\nModels:\n"
    + "\n".join(f"  {name:<12}{entry.about}" for name, entry in MODELS.items())
    + "\n\n"
    + examples(
        "tanager fit iris.csv --target class",
        "tanager fit iris.csv --model kdb --set k=3 -o kdb.tanager",
        "tanager fit --model kdb --options",
        "tanager fit iris.csv --model gbn --forbid petal_width:petal_length --trace",
    )
)
@click.argument("data", required=False)
@target_option
@times_option
@click.option("--model", "-m", "name", metavar="NAME", help="What to learn; see below.  [default: aode]")
@click.option("--output", "-o", metavar="FILE", help="The model file.  [default: DATA with the ending .tanager]")
@click.option("--set", "pairs", multiple=True, metavar="OPTION=VALUE", help="Any option of the model; JSON or text.")
@click.option("--options", "list_options", is_flag=True, help="List the options of the model, and learn nothing.")
@click.option("--smoothing", metavar="RULE", help="A pseudo-count; or lidstone, m, bdeu, prior, backoff; or m:2.")
@kind_options
@click.option("--max-memory", metavar="SIZE", help="Refuse counts that need more.  [default: 2 GB]")
@click.option("--schema-from", metavar="MODEL", help="Kinds and cut points of another model, to merge the two later.")
@click.option("--no-loo", is_flag=True, help="Skip the measurement with every row left out once.")
@structure_options
@reading_options
@json_option
def command(
    data: str | None,
    target: str | None,
    name: str | None,
    output: str | None,
    list_options: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn a model from DATA and write it to a file.

    DATA is CSV, TSV, Parquet, Arrow or ARFF, also compressed (.gz); - is stdin. Prints what was decided about the
    columns, and how well the model answers for rows that are left out.
    """
    screen = Screen(as_json=as_json)
    name = name or ("network" if given["network"] else "aode")
    check_model(name)
    if list_options:
        _list_options(screen, name)
        return
    if data is None:
        raise click.UsageError("Missing argument 'DATA'.", click.get_current_context())
    output = output or ("model" if data == "-" else Path(data.removesuffix(".gz")).stem) + ".tanager"
    check_inputs(data, given["schema_from"], given["network"])
    check_output(output, data, given["schema_from"], given["network"])
    with screen.waiting("starting"):
        from tanager.files import learn

        model, source, target, drop = _prepare(data, target, name, given)
    measured = not given["no_loo"] and getattr(model, "fit_by", "likelihood") == "likelihood"
    if not measured and not given["no_loo"]:
        screen.note("rows cannot be left out of parameters that were searched for; how good they are is not measured")
    elif measured and not model.can_leave_out:
        screen.note(f"what {name} learns depends on the order of the rows; measure it with: tanager prequential")
    with screen.progress(f"learning {source.name}") as tick, all_cores(model):
        learned = learn(model, source, target, drop=drop, times=given["times"], progress=tick, leave_one_out=measured)
    model.save(output)
    report = {"data": source.name, "model": name, "output": output, "target": target, **_report(learned)}
    _print(screen, report, model.encoder_.schema)
    if given["trace"]:
        print_trace(screen, model, target)
        report["steps"] = [{"class": c} | step for c, own in found_in(model).items() for step in own.to_dicts()]
    _say_next(screen, report)
    screen.document(report)


def _prepare(data: str, target: str | None, name: str, given: dict[str, Any]) -> tuple[Any, Any, str, list[str]]:
    """The model as asked for, the opened file, its target, and the columns to leave out."""
    reading = {key: given[key] for key in READING}
    bins = None if given["bins"] is None else value_of(given["bins"])
    wanted = settings(given["pairs"], bins=bins, **{key: given[key] for key in FLAGS})
    if given["schema_from"] is None:
        make(name, wanted)  # a slip in an option is told before the file is opened
        source = open_data(data, **reading, categorical=given["categorical"], numeric=given["numeric"])
        check_columns(source, given["drop"], " (--drop)")
        target, drop = target_column(source, target), given["drop"]
    else:
        pattern = load_model(given["schema_from"])
        schema = pattern.encoder_.schema
        wanted |= _like(schema, wanted, name)
        source = open_for(pattern, data, **reading)
        check_columns(source, schema.names, f", which {given['schema_from']} has")
        target = target_column(source, target or pattern.target_name_)
        drop = [column for column in source.columns if column not in (*schema.names, target)]
    columns = [column for column in source.columns if column not in drop]
    return make(name, wanted | structure(name, given, columns)), source, target, drop


def _like(schema: Any, wanted: dict[str, Any], name: str) -> dict[str, Any]:
    """Options that give columns the kinds and cut points of a schema.

    New values stay welcome, as merging matches values by name; an encoder with a given schema would refuse them.
    """
    for option in ("categorical", "numeric", "bins", "gaussian"):
        if option in wanted:
            raise OptionError(f"--schema-from says already what the columns are. Leave out {option}.")
    names: dict[str, list[str]] = {}
    for column in schema.columns:
        names.setdefault(column.kind, []).append(column.name)
    if "bins" not in option_names(name):
        numbers = [*names.get("numeric", []), *names.get("continuous", [])]
        return {"categorical": names.get("categorical", []), "numeric": numbers}
    bins = {column.name: list(column.cuts) for column in schema.columns if column.kind == "numeric"}
    like: dict[str, Any] = {"categorical": names.get("categorical", []), "bins": bins}
    return like | ({"gaussian": names["continuous"]} if "continuous" in names else {})


def _report(learned: Any) -> dict[str, Any]:
    from tanager.cli.columns import told

    model, left_out = learned.model, learned.left_out
    counts = model.class_count_.tolist()
    shares = [n / sum(counts) for n in counts if n > 0]
    information = told(model)
    measured = (
        {"accuracy": left_out.accuracy, "log_loss": left_out.log_loss, "rows": left_out.n_rows} if left_out else None
    )
    return {
        "rows": learned.n_rows,
        "rows_without_class": learned.n_unlabelled,
        "rows_for_kinds": learned.schema_rows,
        "classes": [{"class": c, "rows": n} for c, n in zip(model.classes_.tolist(), counts, strict=True)],
        "columns": [
            c.to_dict() | {"missing": learned.missing.get(c.name, 0), "information": information.get(c.name)}
            for c in model.encoder_.schema.columns
        ],
        "dropped": learned.dropped,
        "used": used_columns(model),
        "leave_one_out": measured,
        "majority_class": {"accuracy": max(shares), "log_loss": -sum(s * math.log(s) for s in shares)},
    }


def _print(screen: Screen, report: dict[str, Any], schema: Any) -> None:
    from tanager.cli.columns import columns_table
    from tanager.cli.reading import doubt_target

    rows, classes = report["rows"], report["classes"]
    doubt_target(screen, report["target"], len(classes), rows)
    what = f"{counted(rows, 'row')}, {counted(len(schema), 'column')}, {counted(len(classes), 'class', 'classes')}"
    screen.say(f"{report['data']}: {what} in {report['target']!r}", style="bold")
    if report["rows_without_class"]:
        screen.say(f"{counted(report['rows_without_class'], 'row')} without a class left out")
    if report["rows_for_kinds"] < rows:
        screen.say(f"Kinds and cut points come from {report['rows_for_kinds']:,} rows spread over the file.")
    screen.say()
    counted_rows = sum(c["rows"] for c in classes) or 1  # fewer than there are where old ones are forgotten
    lines = [(str(c["class"]), f"{c['rows']:,.0f}", f"{c['rows'] / counted_rows:.1%}") for c in classes[:MOST_CLASSES]]
    screen.show(table(("class", "rows", "share"), lines, right=("rows", "share")))
    if len(classes) > MOST_CLASSES:
        screen.say(f"... and {len(classes) - MOST_CLASSES:,} more")
    screen.say()
    screen.show(columns_table(schema, {c["name"]: c["missing"] for c in report["columns"]}, rows))
    if report["dropped"]:
        screen.say()
        screen.show(table(("left out", "because"), report["dropped"].items()))
    silent = [c["name"] for c in report["columns"] if c["information"] == 0]
    if silent:
        screen.show(f"\nOn their own these columns tell nothing about the class: {listed(silent)}")
    if len(report["used"]) < len(schema):
        screen.show(f"\nAnswers depend on {len(report['used'])} of {len(schema)} columns: {listed(report['used'], 20)}")
    _print_measured(screen, report)


def _say_next(screen: Screen, report: dict[str, Any]) -> None:
    size = file_size(os.path.getsize(report["output"]))
    screen.say(f"\nWritten to {report['output']} ({size}). Next:")
    screen.say(f"  tanager show {report['output']}\n  tanager predict {report['output']} NEW.csv")


def _print_measured(screen: Screen, report: dict[str, Any]) -> None:
    measured, majority = report["leave_one_out"], report["majority_class"]
    if measured is None:
        return
    lines = [
        (n, f"{m['accuracy']:.4f}", f"{m['log_loss']:.4f}")
        for n, m in ((report["model"], measured), ("majority class", majority))
    ]
    head = "each row left out" if measured["rows"] == report["rows"] else f"each of {measured['rows']:,} rows left out"
    screen.say()
    screen.show(table((head, "accuracy", "log loss"), lines, right=("accuracy", "log loss")))


def _list_options(screen: Screen, name: str) -> None:
    with screen.waiting("starting"):
        options = options_of(name)
    screen.say(f"{name}: {MODELS[name].about}. Set an option with --set OPTION=VALUE.\n")
    lines = [(o["option"], _written(o["default"]), o["about"]) for o in options]
    screen.show(table(("option", "default", "meaning"), lines, elastic=["meaning"]))
    screen.document({"model": name, "about": MODELS[name].about, "options": options})


def _written(value: Any) -> str:
    """A default as one would write it after ``--set``."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
