"""``tanager explain``: the reasons for a prediction."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from tanager.cli.options import examples, json_option, reading_options
from tanager.cli.reading import check_inputs, load_model, open_for
from tanager.cli.screen import Screen, listed, table
from tanager.errors import DataError, OptionError, nearest

MOST_CLASSES = 10


@click.command(
    epilog=examples(
        """tanager explain iris.tanager '{"petal length (cm)": 4.9, "petal width (cm)": 1.7}'""",
        "tanager explain iris.tanager --data iris.csv --row 107",
    )
)
@click.argument("model")
@click.argument("row", required=False)
@click.option("--data", metavar="FILE", help="Take the row from a data file.")
@click.option("--row", "number", type=click.IntRange(min=1), metavar="N", help="Number of the row in FILE, from 1.")
@click.option("--answer", metavar="CLASS", help="The class to explain.  [default: the predicted one]")
@click.option("--against", metavar="CLASS", help="The class to compare with.  [default: the most probable other]")
@reading_options
@json_option
def command(
    model: str,
    row: str | None,
    data: str | None,
    number: int | None,
    answer: str | None,
    against: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Explain the prediction of MODEL for one row: the contribution of every column to the log-odds.

    ROW is JSON ({"column": value, ...}), the path of a JSON file, or - for stdin. Columns left out are missing. Or take
    a row of a data file with --data and --row.
    """
    screen = Screen(as_json=as_json)
    if (row is None) == (data is None) or (data is None) != (number is None):
        raise click.UsageError("Give a row as JSON, or both --data and --row.", click.get_current_context())
    check_inputs(model, data)
    cells = None if row is None else _row_from_json(row)
    with screen.waiting("starting"):
        classifier = load_model(model)
        if cells is None:
            cells = _row_of_file(classifier, str(data), int(number or 0), reading)
        _note_unknown_columns(screen, classifier, cells)
        labels = {str(label): label for label in classifier.classes_.tolist()}
        chosen = [_class(labels, flag, name) for flag, name in (("--answer", answer), ("--against", against))]
        reasons = classifier.explain(cells, *chosen)
        proba = dict(zip(labels, classifier.predict_proba([cells])[0].tolist(), strict=True))
    screen.say(str(reasons))
    screen.say()
    likely = sorted(proba.items(), key=lambda item: -item[1])[:MOST_CLASSES]
    screen.show(table(("class", "probability"), [(name, f"{p:.4f}") for name, p in likely], right=["probability"]))
    screen.document(_report(reasons, proba))


def _row_from_json(text: str) -> dict[str, Any]:
    """A row from JSON: inline, in a file, or on stdin."""
    place = "the row"
    if text == "-":
        place, text = "<stdin>", sys.stdin.read()
    elif not text.lstrip().startswith(("{", "[")):
        place = text
        if not Path(text).is_file():
            raise OptionError(
                f"{text!r} is neither a file nor JSON. Write the row as '{{\"column\": value, ...}}', or take one of a "
                "data file with --data FILE --row N."
            )
        text = Path(text).read_text(encoding="utf-8")
    try:
        cells = json.loads(text)
    except ValueError as error:
        raise DataError(f"{place} is not valid JSON: {error}. Write it as '{{\"column\": value, ...}}'.") from None
    if isinstance(cells, list) and len(cells) == 1:
        cells = cells[0]
    if not isinstance(cells, dict):
        raise DataError(f"{place} is not a JSON object. Write it as '{{\"column\": value, ...}}'.")
    return cells


def _row_of_file(model: Any, data: str, number: int, reading: dict[str, Any]) -> dict[str, Any]:
    """One row of a data file, counted from 1 after the header."""
    source = open_for(model, data, **reading)
    names = source.columns_of(model)
    before = 0
    for chunk in source.chunks(columns=names):
        if number <= before + chunk.num_rows:
            return dict(chunk.slice(number - before - 1, 1).to_pylist()[0])
        before += chunk.num_rows
    raise DataError(f"{source.name} has {before:,} rows; there is no row {number:,}.")


def _note_unknown_columns(screen: Screen, model: Any, cells: dict[str, Any]) -> None:
    known = model.encoder_.schema.names
    if cells and not set(cells) & set(known):
        hints = nearest(next(iter(cells)), known) or f" Its columns are {listed(known)}."
        raise DataError(f"the model has none of the columns of this row, such as {next(iter(cells))!r}.{hints}")
    for name in cells:
        if name not in known and name != model.target_name_:
            free = [other for other in known if other not in cells]
            screen.note(f"ignored {name!r}, which is not a column of the model.{nearest(name, free)}")


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
