"""``tanager explain``: the reasons for predictions, and what would turn them."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.explained_rows import explain_many, is_picture
from tanager.cli.options import columns_option, examples, json_option, reading_options
from tanager.cli.output import check_output
from tanager.cli.reading import check_inputs, load_model
from tanager.cli.rows_to_explain import Places, is_data_file, known_cells, row_from_json, rows_of_file
from tanager.cli.screen import Screen, listed, table
from tanager.errors import OptionError, nearest

MOST_CLASSES = 10
MOST_CHANGES = 10


def _costs(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """What it costs to change each column that is named."""
    costs = {}
    for text in texts:
        column, _, cost = text.rpartition("=")
        try:
            costs[column.strip()] = float(cost)
        except ValueError:
            column = ""
        if not column:
            raise click.BadParameter(f"{text!r}: write COLUMN=NUMBER, for example age=2.5", ctx, param)
    return costs


@click.command(
    epilog=examples(
        """tanager explain iris.tanager '{"petal length (cm)": 4.9, "petal width (cm)": 1.7}'""",
        "tanager explain iris.tanager --data iris.csv --rows 107 --what-if",
        "tanager explain iris.tanager --data iris.csv --contrast versicolor virginica -o reasons.csv",
        "tanager explain iris.tanager --data iris.csv -o reasons.svg",
    )
)
@click.argument("model")
@click.argument("row", required=False)
@click.option("--data", metavar="FILE", help="Explain rows of a data file.")
@click.option("--rows", "--row", "places", metavar="NUMBERS", help="Which rows of FILE, from 1: 107, or 1-10,17.")
@click.option("--answer", metavar="CLASS", help="The class to explain.  [default: the predicted one]")
@click.option("--against", metavar="CLASS", help="The class to compare with.  [default: the most probable other]")
@click.option("--contrast", nargs=2, metavar="CLASS CLASS", help="The class to explain, and the one to compare with.")
@click.option("--what-if", is_flag=True, help="Also say which other values would turn the prediction, at least cost.")
@click.option("--wanted", metavar="CLASS", help="--what-if: the class to reach.  [default: any other]")
@columns_option("--fixed", "--what-if: columns that may not change.")
@click.option(
    "--cost",
    "costs",
    multiple=True,
    callback=_costs,
    metavar="COLUMN=NUMBER",
    help="--what-if: what it costs to change a column, instead of 1; repeatable.",
    show_default=False,
)
@click.option("--max-columns", default=2, metavar="N", help="--what-if: how many columns may change.")
@click.option("--output", "-o", metavar="FILE", help="Write a table (.csv, .tsv, .parquet, .jsonl) or a picture.")
@reading_options
@json_option
def command(
    model: str,
    row: str | None,
    data: str | None,
    places: str | None,
    answer: str | None,
    against: str | None,
    contrast: tuple[str, str] | None,
    what_if: bool,
    wanted: str | None,
    fixed: list[str],
    costs: dict[str, float],
    max_columns: int,
    output: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Explain predictions of MODEL: the contribution of every column to the log-odds.

    ROW is JSON ({"column": value, ...}), the path of a JSON file, or - for stdin. Columns left out are missing. Or it
    is a data file, as with --data: all its rows are explained, or those of --rows. A picture (.png, .svg, .pdf) shows
    one row as bars, and several as a strip for each column.
    """
    screen = Screen(as_json=as_json, data_on_stdout=output == "-" and not as_json)
    context = click.get_current_context()
    if row is not None and data is None and is_data_file(row):
        row, data = None, row
    if (row is None) == (data is None) or (data is None and places is not None):
        raise click.UsageError("Give a row as JSON, or a data file and, for some rows of it, --rows.", context)
    if contrast and (answer or against):
        raise click.UsageError("--contrast names both classes; leave --answer and --against out.", context)
    if (wanted or fixed or costs) and not what_if:
        raise click.UsageError("--wanted, --fixed and --cost are for --what-if.", context)
    check_inputs(model, data)
    if output is not None:
        check_output(output, model, data)
    chosen = None if places is None else Places.read(places)
    cells = None if row is None else row_from_json(row)
    with screen.waiting("starting"):
        classifier = load_model(model)
        labels = {str(label): label for label in classifier.classes_.tolist()}
        names = contrast or (answer, against)
        pair = [_class(labels, flag, name) for flag, name in zip(_flags(contrast), names, strict=True)]
        change = {"wanted": _class(labels, "--wanted", wanted), "fixed": fixed, "costs": costs}
        asked = {**change, "max_columns": max_columns} if what_if else None
        if cells is None and (chosen is None or chosen.single is None):
            explain_many(screen, classifier, str(data), chosen, pair, asked, output, reading)
            return
        if cells is None:
            cells = rows_of_file(classifier, str(data), chosen, reading)[1].to_pylist()[0]
        cells = known_cells(screen, classifier, cells)
        reasons = classifier.explain(cells, *pair)
        proba = dict(zip(labels, classifier.predict_proba([cells])[0].tolist(), strict=True))
        changes = None if asked is None else _changes(classifier, cells, asked)
        if output is not None:
            _draw(reasons, output)
    _print(screen, reasons, proba, changes)
    if output is not None:
        screen.say(f"\nPicture written to {output}")
    report = _report(reasons, proba) | ({} if changes is None else {"changes": [vars(own) for own in changes]})
    screen.document(report | ({"picture": output} if output else {}))


def _flags(contrast: tuple[str, str] | None) -> tuple[str, str]:
    return ("--contrast", "--contrast") if contrast else ("--answer", "--against")


def _changes(model: Any, cells: dict[str, Any], asked: dict[str, Any]) -> list[Any]:
    from tanager.learning.changes import nearest_changes

    known = model.encoder_.schema.learned_names
    return nearest_changes(model, {name: cell for name, cell in cells.items() if name in known}, **asked)


def _draw(reasons: Any, output: str) -> None:
    if not is_picture(output):
        raise OptionError(f"{output!r}: one row is written as a picture (.png, .svg, .pdf). For data, see --json.")
    reasons.plot(output)


def _print(screen: Screen, reasons: Any, proba: dict[str, float], changes: list[Any] | None) -> None:
    screen.say(str(reasons))
    screen.say()
    likely = sorted(proba.items(), key=lambda item: -item[1])[:MOST_CLASSES]
    screen.show(table(("class", "probability"), [(name, f"{p:.4f}") for name, p in likely], right=["probability"]))
    if changes is None:
        return
    screen.say()
    if not changes:
        screen.say("No change of so few columns would turn the prediction. See --max-columns.")
        return
    lines = [
        (", ".join(f"{name} = {text}" for name, text in own.shown.items()), str(own.answer), f"{own.probability:.4f}")
        for own in changes[:MOST_CHANGES]
    ]
    screen.show(
        table(("it would take", "to get", "probability"), lines, right=["probability"], elastic=["it would take"])
    )
    if len(changes) > MOST_CHANGES:
        screen.say(f"and {len(changes) - MOST_CHANGES:,} more of the same cost, {changes[0].cost:g}")


def _class(labels: dict[str, Any], flag: str, name: str | None) -> Any:
    if name is not None and name not in labels:
        raise OptionError(
            f"{flag} {name}: unknown class.{nearest(name, labels) or ' Known classes: ' + listed(labels) + '.'}"
        )
    return None if name is None else labels[name]


def _report(reasons: Any, proba: dict[str, float]) -> dict[str, Any]:
    return {
        "answer": reasons.answer,
        "against": reasons.against,
        "probability": reasons.probability,
        "log_odds": reasons.log_odds,
        "prior": reasons.prior,
        "columns": [{"column": c, "value": reasons.values[c], "log_odds": v} for c, v in reasons.columns.items()],
        "parts": [{"column": p.column, "parents": p.parents, "log_odds": p.log_odds} for p in reasons.parts],
        "probabilities": proba,
    }
