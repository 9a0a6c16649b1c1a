"""``tanager ask``: which column of a row to ask for next, where asking costs."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import click

from tanager.cli.networks import load_network_or_model
from tanager.cli.options import examples, json_option, reading_options
from tanager.cli.pairs import number_in, numbers_in, pairs_in, pairs_option
from tanager.cli.reading import check_inputs, open_for, target_column
from tanager.cli.screen import Screen, table
from tanager.errors import DataError, OptionError, nearest

TOP = 10  # questions to list


@click.command(
    epilog=examples(
        "tanager ask heart.tanager --prices 1",
        "tanager ask heart.tanager --prices age=0,chol=7,thal=100 --known age=61",
        "tanager ask heart.tanager --prices prices.csv --costs '[[0, 5], [1, 0]]' --data new.csv",
    )
)
@click.argument("model")
@click.option("--prices", required=True, metavar="PRICES", help="One number, NAME=PRICE,..., or a CSV file.")
@click.option(
    "--costs", metavar="MATRIX", help="Costs of errors, as JSON or a CSV file.  [default: of the model, or 1]"
)
@pairs_option("--known", "What is known of the row.")
@click.option("--look-ahead", default=1, type=click.IntRange(min=1), metavar="N", help="Questions to think ahead.")
@click.option(
    "--target", "-t", metavar="NAME", help="The variable of a network to find out; the class column of --data."
)
@click.option("--data", metavar="FILE", help="Rows with their classes: what would asking cost on average?")
@click.option("--top", default=TOP, type=click.IntRange(min=1), metavar="N", help="Number of questions to list.")
@reading_options
@json_option
def command(
    model: str,
    prices: str,
    costs: str | None,
    known: dict[str, str],
    look_ahead: int,
    target: str | None,
    data: str | None,
    top: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Say which column to ask for next, so that prices of questions and costs of errors are least together.

    MODEL is a model file, or a network file with --target. On a terminal it goes on: type what came out, nothing where
    it is not to be had, or q to stop.

    A CSV file of prices has the columns name and price, and may have the column group: columns of one group are learned
    together, at one price. A CSV file of costs has a line for each true class and a column for each answer, both with
    their names.
    """
    screen = Screen(as_json=as_json)
    check_inputs(model, data)
    with screen.waiting("starting"):
        from tanager.decisions.acquisition import Acquisition
        from tanager.networks.network import Network

        learned = load_network_or_model(model)
        is_network = isinstance(learned, Network)
        labels = learned.values(target) if is_network and target in learned.names else getattr(learned, "classes_", [])
        what, groups = _prices(prices)
        asking = Acquisition(
            learned,
            what,
            None if costs is None else _costs(costs, [str(label) for label in labels]),
            groups=groups,
            look_ahead=look_ahead,
            target=target if is_network else None,
        )
        cells = {name: _cell(learned, name, text) for name, text in known.items()}
        report = None if data is None else _evaluate(asking, learned, data, target, list(known), reading)
    if report is not None:
        screen.say(str(report))
        screen.document({name: way._asdict() for name, way in report._asdict().items()})
        return
    advice = asking.next(cells)
    _print(screen, advice, top)
    while advice.best is not None and not as_json and _on_terminal():
        if not _learn(screen, asking, learned, cells, advice.best):
            break
        advice = asking.next(cells)
        _print(screen, advice, top)
    screen.document(_document(advice))


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _learn(screen: Screen, asking: Any, model: Any, cells: dict[str, Any], question: Any) -> bool:
    """Ask the person for the columns of a question; whether to go on."""
    for name in question.columns:
        while name not in cells:
            text = click.prompt(f"\n{name} (q to stop)", default="", show_default=False).strip()
            if text == "q":
                return False
            if not text:
                asking.questions = [q for q in asking.questions if q[0] != question.name]  # not to be had
                return True
            try:
                cell = _cell(model, name, text)
                asking.next({name: cell})
                cells[name] = cell
            except (DataError, OptionError) as error:
                screen.note(str(error))
    return True


def _print(screen: Screen, advice: Any, top: int) -> None:
    likely = sorted(advice.probabilities.items(), key=lambda item: -item[1])[:3]
    shares = ", ".join(f"{label} {p:.4f}" for label, p in likely)
    screen.say(f"Answer for now: {advice.answer} (expected cost {advice.expected_cost:.4g}; {shares})")
    if advice.questions:
        screen.say()
        rows = [(q.name, *(f"{x:.4g}" for x in (q.gain, q.price, q.net))) for q in advice.questions[:top]]
        screen.show(
            table(("question", "gain", "price", "net"), rows, right=["gain", "price", "net"], elastic=["question"])
        )
    best = advice.best
    screen.say("\nNo question is worth its price." if best is None else f"\nAsk for: {best.name}", style="bold")


def _document(advice: Any) -> dict[str, Any]:
    return {
        "ask": None if advice.best is None else advice.best.name,
        "answer": advice.answer,
        "expected_cost": advice.expected_cost,
        "probabilities": {str(label): p for label, p in advice.probabilities.items()},
        "questions": [question._asdict() for question in advice.questions],
    }


# --- what is given ----------------------------------------------------------------------------------------------------


def _prices(text: str) -> tuple[Any, dict[str, list[str]]]:
    """Prices and groups of columns, from one number, names with prices, or a file."""
    if Path(text).is_file():
        return _prices_in(text)
    if "=" in text:
        return numbers_in(pairs_in(text), "--prices"), {}
    if text.lower().endswith((".csv", ".txt")):
        check_inputs(text)
    return number_in(text, "--prices"), {}


def _prices_in(path: str) -> tuple[dict[str, float], dict[str, list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    missing = next((name for name in ("name", "price") if name not in (reader.fieldnames or ())), None)
    if missing is not None:
        raise DataError(f"{path} has no column {missing!r}; expected name, price and, if wanted, group.")
    prices: dict[str, float] = {}
    groups: dict[str, list[str]] = {}
    for row in rows:
        name, group = (row["name"] or "").strip(), (row.get("group") or "").strip()
        if group:
            groups.setdefault(group, []).append(name)
        if (row["price"] or "").strip():
            price = number_in(row["price"].strip(), f"{path}: price of {name}")
            if prices.get(group or name, price) != price:
                raise DataError(f"{path}: the group {group!r} has two prices, {prices[group]:g} and {price:g}.")
            prices[group or name] = price
    return prices, groups


def _costs(text: str, labels: list[str]) -> Any:
    """The matrix of costs in the order of the classes."""
    if not text.lstrip().startswith("["):
        check_inputs(text)
        return _costs_in(text, labels)
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError(
            f"--costs is no JSON: {error}. Write it as '[[0, 5], [1, 0]]', one row per true class."
        ) from None


def _costs_in(path: str, labels: list[str]) -> list[list[float]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    head = lines[0][1:] if lines else []
    rows = {line[0]: dict(zip(head, line[1:], strict=False)) for line in lines[1:]}
    for label in labels:
        for where, names in (("line", rows), ("column", head)):
            if label not in names:
                raise DataError(f"{path} has no {where} for the class {label!r}.{nearest(label, names)}")
    return [[number_in(rows[a].get(b, ""), f"{path}: {a}, {b}") for b in labels] for a in labels]


def _cell(model: Any, name: str, text: str) -> Any:
    """What was typed for a column, as a number where the column has numbers."""
    encoder = getattr(model, "encoder_", None)
    if encoder is None or name not in encoder.schema or encoder.schema[name].kind != "numeric":
        return text
    return number_in(text, name)


def _evaluate(asking: Any, model: Any, data: str, target: str | None, known: list[str], reading: dict[str, Any]) -> Any:
    """What asking would cost for the rows of a file."""
    if not hasattr(model, "encoder_"):
        raise OptionError("--data needs a model file; a network knows no columns of files.")
    source = open_for(model, data, **reading)
    names = source.columns_of(model)
    target = target_column(source, target or model.target_name_)
    import pyarrow as pa

    rows = pa.concat_tables(list(source.chunks(columns=[*names, target])), promote_options="permissive")
    labels = {str(label): label for label in model.classes_.tolist()}
    classes = [labels.get(str(label), label) for label in rows.column(target).to_pylist()]
    return asking.evaluate(rows.select(names), classes, known=known)
