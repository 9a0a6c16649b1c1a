"""``tanager fit``: learn a model from a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from tanager.classifiers.names import MODELS
from tanager.cli.engines import ENGINES, is_address, learn_in_parts, open_folder
from tanager.cli.fit_report import make_report, print_next_steps, print_report
from tanager.cli.header import check_header
from tanager.cli.models import (
    check_model,
    make_model,
    option_names,
    options_of,
    parse_settings,
    parse_value,
)
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option, times_option
from tanager.cli.output import check_output
from tanager.cli.reading import (
    KINDS,
    READING,
    all_cores,
    check_columns,
    check_inputs,
    load_model,
    open_data,
    open_for,
    target_column,
)
from tanager.cli.screen import Screen, table
from tanager.cli.structure import learner_results, print_trace, structure, structure_options
from tanager.errors import DataError, OptionError, check_option

FLAGS = ("smoothing", "n_bins", "max_memory", "categorical", "ordinal", "numeric", "keep", "dates")


@click.command(
    epilog="\b\nModels:\n"
    + "\n".join(f"  {name:<16}{entry.about}" for name, entry in MODELS.items())
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
@click.option("--model", "-m", "name", metavar="NAME", help="The model to learn; see below.  [default: aode]")
@click.option("--output", "-o", metavar="FILE", help="The model file.  [default: DATA with the extension .tanager]")
@click.option("--set", "pairs", multiple=True, metavar="OPTION=VALUE", help="Set an option of the model; JSON or text.")
@click.option("--options", "list_options", is_flag=True, help="List the options of the model, and exit.")
@click.option(
    "--smoothing", metavar="RULE", help="A pseudo-count; or lidstone, m, bdeu, prior, backoff, learned; or m:2."
)
@kind_options
@click.option("--max-memory", metavar="SIZE", help="Fail if the counts need more memory.  [default: 2 GB]")
@click.option("--schema-from", metavar="MODEL", help="Use kinds and cut points of this model, to merge both later.")
@click.option("--engine", metavar="NAME", help="dask or spark: learn a folder of Parquet or CSV files in parts.")
@click.option("--no-loo", is_flag=True, help="Skip the leave-one-out evaluation.")
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

    DATA is CSV, TSV, Parquet, Arrow or ARFF; text formats may be gzipped; - is stdin. With --engine it may be a folder
    of Parquet or CSV files. Prints how the columns are treated, and accuracy and log loss by leave-one-out.
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
    if given["engine"] is not None:
        check_option("--engine", given["engine"], ENGINES)
    elif os.path.isdir(data):
        raise DataError(f"{data!r} is a folder. Give the path of a file, or learn all its files with --engine dask.")
    elsewhere = given["engine"] is not None and is_address(data)
    check_inputs(None if elsewhere else data, given["schema_from"], given["network"])
    check_output(output, data, given["schema_from"], given["network"])
    if given["engine"] is None and given["schema_from"] is None:
        check_header(data, target, given)
    with screen.waiting("starting"):
        from tanager.files import learn

        model, source, target, drop = _prepare(data, target, name, given)
    if given["engine"] is not None:
        with screen.waiting(f"learning {source.name}"):
            learned = learn_in_parts(model, source, target, drop)
    else:
        leave_one_out = _can_leave_one_out(screen, model, name, given)
        with screen.progress(f"learning {source.name}") as tick, all_cores(model):
            learned = learn(
                model, source, target, drop=drop, times=given["times"], progress=tick, leave_one_out=leave_one_out
            )
    model.save(output)
    report = {"data": source.name, "model": name, "output": output, "target": target, **make_report(learned)}
    print_report(screen, report, model.encoder_.schema)
    if report["leave_one_out"] is not None and learned.order.flatters:
        screen.note(learned.order.sentence("Try: tanager compare --folds forward, or tanager prequential."))
    if given["trace"]:
        print_trace(screen, model, target)
        report["steps"] = [{"class": c} | step for c, own in learner_results(model).items() for step in own.to_dicts()]
    print_next_steps(screen, report)
    screen.document(report)


def _can_leave_one_out(screen: Screen, model: Any, name: str, given: dict[str, Any]) -> bool:
    """Whether to evaluate by leave-one-out; a note says why not."""
    if given["no_loo"]:
        return False
    if getattr(model, "fit_by", "likelihood") != "likelihood":
        screen.note("no leave-one-out evaluation: it needs parameters that are counted, and these are optimized")
        return False
    if not model.can_leave_out:
        screen.note(f"no leave-one-out evaluation: {name} depends on the order of the rows. Use: tanager prequential")
        return False
    return True


def _prepare(data: str, target: str | None, name: str, given: dict[str, Any]) -> tuple[Any, Any, str, list[str]]:
    """The model with its options, the opened file, its target, and the columns to drop."""
    reading = {key: given[key] for key in READING}
    bins = None if given["bins"] is None else parse_value(given["bins"])
    wanted = parse_settings(given["pairs"], bins=bins, **{key: given[key] for key in FLAGS})
    if given["schema_from"] is None:
        make_model(name, wanted)  # reports an invalid option before the file is opened
        if given["engine"] is None:
            source = open_data(data, **reading, **{key: given[key] for key in KINDS})
        else:
            source = open_folder(data, given["engine"])
        check_columns(source, given["drop"], " (--drop)")
        target, drop = target_column(source, target), given["drop"]
    elif given["engine"] is not None:
        raise OptionError("--schema-from and --engine do not go together. Leave one out.")
    else:
        pattern = load_model(given["schema_from"])
        schema = pattern.encoder_.schema
        wanted |= _options_like(schema, wanted, name)
        source = open_for(pattern, data, **reading)
        check_columns(source, schema.learned_names, f", which {given['schema_from']} has")
        target = target_column(source, target or pattern.target_name_)
        drop = [column for column in source.columns if column not in (*schema.learned_names, target)]
    columns = [column for column in source.columns if column not in drop]
    return make_model(name, wanted | structure(name, given, columns)), source, target, drop


def _options_like(schema: Any, wanted: dict[str, Any], name: str) -> dict[str, Any]:
    """Options that give columns the kinds and cut points of a schema.

    Unlike under ``schema=``, new values are still added: merging matches values by name.
    """
    kinds = ["categorical", "ordinal", "numeric", "bins", "dates"]
    if MODELS[name].cls == "NaiveBayes":  # whose Gaussian columns are not cut
        kinds.append("gaussian")
    for option in kinds:
        if option in wanted:
            raise OptionError(
                f"{option} contradicts --schema-from, which sets the kinds of the columns. Leave one out."
            )
    from tanager.encoding.dates import NAMED

    names: dict[str, list[str]] = {}
    for column in schema.columns:
        if column.part not in NAMED:  # the others are of one kind alone
            names.setdefault(column.kind, []).append(column.name)
    dates: dict[str, list[str]] = {}
    for column in schema.columns:
        if column.part:
            dates.setdefault(column.table_name, []).append(column.part)
    if "bins" not in option_names(name):
        numbers = [*names.get("numeric", []), *names.get("continuous", [])]
        return {"categorical": names.get("categorical", []), "numeric": numbers, "dates": dates or None}
    from tanager.encoding.ordinal import cut_after

    ordinal = {column.name: list(column.values) for column in schema.columns if column.kind == "ordinal"}
    bins: dict[str, Any] = {column.name: list(column.cuts) for column in schema.columns if column.kind == "numeric"}
    bins |= {name: cut_after(schema[name]) for name in ordinal}
    like: dict[str, Any] = {"categorical": names.get("categorical", []), "ordinal": ordinal or None, "bins": bins}
    like["dates"] = dates or None
    return like | ({"gaussian": names["continuous"]} if "continuous" in names else {})


def _list_options(screen: Screen, name: str) -> None:
    with screen.waiting("starting"):
        options = options_of(name)
    screen.say(f"{name}: {MODELS[name].about}. Set an option with --set OPTION=VALUE.\n")
    lines = [(o["option"], _written(o["default"]), o["about"]) for o in options]
    screen.show(table(("option", "default", "description"), lines, elastic=["description"]))
    screen.document({"model": name, "about": MODELS[name].about, "options": options})


def _written(value: Any) -> str:
    """A default as it would be written after ``--set``."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
