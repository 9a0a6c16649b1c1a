"""``tanager generate``: rows from known models."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from shlex import quote
from typing import Any, NamedTuple

import click

from tanager.cli.models import parse_settings
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import OptionError, nearest
from tanager.writing import table_format

UNITS = {"k": 1e3, "M": 1e6, "G": 1e9}
DRIFTS = ("abrupt", "gradual", "recurring", "incremental")
MOST_SHOWN = 5  # drifts


class GeneratorEntry(NamedTuple):
    """The function behind a name, a line of help, and whether another seed gives another model to drift to."""

    function: str
    about: str
    random: bool = True


GENERATORS = {
    "nb": GeneratorEntry("naive_bayes", "a random naive Bayes model"),
    "tan": GeneratorEntry("tan", "a random tree over the columns"),
    "ban": GeneratorEntry("ban", "a random network over the columns"),
    "gaussians": GeneratorEntry("gaussians", "clusters of numbers"),
    "moving-gaussians": GeneratorEntry("moving_gaussians", "clusters that move"),
    "xor": GeneratorEntry("xor", "no column alone is informative", False),
    "overlap": GeneratorEntry("overlap", "classes that overlap", False),
    "sea": GeneratorEntry("sea", "a sum below a threshold that changes", False),
    "hyperplane": GeneratorEntry("hyperplane", "a weighted sum whose weights drift"),
    "stagger": GeneratorEntry("stagger", "size, colour and shape; rules that change", False),
    "led": GeneratorEntry("led", "digits on a faulty seven-segment display", False),
}


class RowNumber(click.ParamType[int]):
    """A number of rows as people write it: 1e7, 10_000_000 or 10M."""

    name = "rows"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip()
        unit = UNITS.get(text[-1:].lower() if text[-1:] == "K" else text[-1:], 1)
        try:
            number = float(text.removesuffix(text[-1]) if unit != 1 else text) * unit
        except ValueError:
            number = -1
        if number < 0 or not number.is_integer():
            self.fail(f"{value!r} is not a number of rows; write 10000, 10_000, 1e4 or 10k.", param, ctx)
        return int(number)


ROWS = RowNumber()


@click.command(
    epilog=examples(
        "tanager generate --list",
        "tanager generate tan --rows 1e5 --noise 0.05 --missing 0.05 -o tan.csv",
        "tanager generate ban --rows 10M --drift abrupt --at 5M --seed 3 -o drift.parquet",
        "tanager generate sea --rows 50k --set every=10000 | head -3",
    )
)
@click.argument("model", required=False)
@click.option(
    "--rows", "-n", type=ROWS, default="10000", metavar="N", help="Number of rows: 10000, 10k, 1e4 or 10_000."
)
@click.option("--output", "-o", default="-", metavar="FILE", help="A .csv, .csv.gz, .parquet, ... file; - is stdout.")
@click.option("--list", "list_models", is_flag=True, help="List the models; with MODEL, its options.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed; the same seed gives the same model and rows.")
@click.option("--columns", "n_columns", type=int, metavar="N", help="Number of columns, where it is an option.")
@click.option("--values", "n_values", type=int, metavar="N", help="Number of values per column, where it is an option.")
@click.option("--classes", "n_classes", type=int, metavar="N", help="Number of classes, where it is an option.")
@click.option(
    "--set", "pairs", multiple=True, metavar="OPTION=VALUE", help="Set any option of the model; see MODEL --list."
)
@click.option("--drift", type=click.Choice(DRIFTS), metavar="TYPE", help=f"Drift type: {', '.join(DRIFTS)}.")
@click.option("--at", type=ROWS, metavar="ROW", help="Row of the drift.  [default: half of the rows]")
@click.option("--width", type=ROWS, metavar="N", help="Rows from old to new.  [default: a tenth of all; abrupt: 1]")
@click.option("--every", type=ROWS, metavar="N", help="Rows between recurring changes.  [default: a tenth of all]")
@click.option("--irrelevant", type=int, metavar="N", help="Number of irrelevant columns to add.")
@click.option("--imbalance", metavar="SHARES", help="Class proportions, such as 0.9,0.1.")
@click.option("--noise", type=float, metavar="P", help="Probability that a cell is replaced by a random value.")
@click.option("--flip", is_flag=True, help="With --noise: always replace by a different value.")
@click.option("--class-noise", type=float, metavar="P", help="Probability that a label is wrong.")
@click.option("--missing", type=float, metavar="P", help="Probability that a cell is missing.")
@click.option("--by-class", is_flag=True, help="With --missing: make it depend on the class, from 0 to 2 P.")
@json_option
def command(model: str | None, rows: int, output: str, list_models: bool, as_json: bool, **given: Any) -> None:
    """Generate rows from MODEL, whose Bayes-optimal predictions are known; the last column is the class.

    A drift leads to a model of the same type with the next seed. Incremental drift keeps the arcs and starts at the row
    --at; gradual drift has its middle there.
    """
    if model is None:
        _list(Screen(as_json=as_json))
        return
    _check_model(model)
    if list_models:
        _list_options(Screen(as_json=as_json), model)
        return
    screen = Screen(as_json=as_json, data_on_stdout=output == "-")
    if as_json and output == "-":
        raise OptionError("--json and the rows would both go to stdout. Write the rows to a file with -o.")
    _check_flags(model, given)
    form = table_format(output)
    check_output(output)
    with screen.waiting("starting"):
        stream = _stream(model, rows, given)
    with screen.progress(f"writing {form if output == '-' else output}") as tick:
        stream.write(sys.stdout.buffer if output == "-" else output, rows, tick)
        sys.stdout.flush()  # rows before the summary
    with screen.waiting("computing the optimal accuracy"):
        accuracy = stream.accuracy(rows) if rows else None
    _print_summary(screen, stream, rows, output, accuracy)


def _list(screen: Screen) -> None:
    screen.show(table(("model", "description"), [(name, entry.about) for name, entry in GENERATORS.items()]))
    screen.document({"models": [{"model": name, "about": entry.about} for name, entry in GENERATORS.items()]})


def _list_options(screen: Screen, model: str) -> None:
    defaults = _options(model)
    screen.say(f"{model}: {GENERATORS[model].about}\n")
    screen.show(table(("option", "default"), [(name, str(value)) for name, value in defaults.items()]))
    screen.document({"model": model, "about": GENERATORS[model].about, "options": defaults})


def _options(model: str) -> dict[str, Any]:
    """The options of a generator with their defaults, except the seed."""
    from tanager import generate

    parameters = inspect.signature(getattr(generate, GENERATORS[model].function)).parameters
    return {name: p.default for name, p in parameters.items() if name != "random_state"}


def _check_model(model: str) -> None:
    if model not in GENERATORS:
        raise OptionError(
            f"unknown model {model!r}.{nearest(model, GENERATORS) or f' Known models: {listed(GENERATORS, 99)}.'}"
        )


def _check_flags(model: str, given: Mapping[str, Any]) -> None:
    """Raise OptionError for options that contradict each other, before anything is imported."""
    drift = given["drift"]
    for flag, kinds in {"at": DRIFTS, "width": ("gradual", "incremental"), "every": ("recurring",)}.items():
        if given[flag] is not None and (drift not in kinds or (flag, drift) == ("at", "recurring")):
            fitting = ", ".join(kind for kind in kinds if (flag, kind) != ("at", "recurring"))
            raise OptionError(f"--{flag} needs --drift {fitting}.")
    if drift is not None and not GENERATORS[model].random:
        others = ", ".join(name for name, entry in GENERATORS.items() if entry.random)
        raise OptionError(f"--drift is not available for {model}. It is for {others}.")
    for flag, other in (("flip", "noise"), ("by_class", "missing")):
        if given[flag] and given[other] is None:
            raise OptionError(f"--{flag.replace('_', '-')} needs --{other}.")


def _stream(model: str, rows: int, given: Mapping[str, Any]) -> Any:
    """The stream that the options describe."""
    options = parse_settings(given["pairs"], **{flag: given[flag] for flag in ("n_columns", "n_values", "n_classes")})
    stream = _drifted(model, rows, options, given)
    if given["irrelevant"]:
        stream = stream.irrelevant(given["irrelevant"])
    if given["imbalance"]:
        stream = stream.imbalanced(_shares(given["imbalance"]))
    if given["class_noise"] is not None:
        stream = stream.class_noise(given["class_noise"])
    if given["noise"] is not None:
        stream = stream.noise(given["noise"], given["flip"])
    if given["missing"] is not None:
        stream = stream.missing(given["missing"], "mar" if given["by_class"] else "mcar")
    return stream


def _drifted(model: str, rows: int, options: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    from tanager import generate

    seed, drift = given["seed"], given["drift"]
    first = _made(model, options, seed)
    if drift is None:
        return first
    if drift == "incremental" and first.network is None:
        raise OptionError("incremental drift is available for nb, tan and ban only. Use --drift gradual.")
    second = generate.redrawn(first, seed + 1) if drift == "incremental" else _made(model, options, seed + 1)
    tenth = max(rows // 10, 1)
    at = rows // 2 if given["at"] is None else given["at"]
    width = tenth if given["width"] is None else given["width"]
    if drift == "recurring":
        return generate.recurring(first, second, every=tenth if given["every"] is None else given["every"])
    if drift == "incremental":
        return generate.incremental(first, second, at, at + width)
    return generate.drift(first, second, at, 1 if drift == "abrupt" else width)


def _made(model: str, options: Mapping[str, Any], seed: int) -> Any:
    from tanager import generate

    known = _options(model)
    for option in options:
        if option not in known:
            hint = nearest(option, known) or f" Its options: {', '.join(known)}."
            raise OptionError(f"{model} has no option {option!r}.{hint}")
    return getattr(generate, GENERATORS[model].function)(**options, random_state=seed)


def _shares(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise OptionError(f"--imbalance {text}: give one proportion per class, such as 0.9,0.1.") from None


def _print_summary(screen: Screen, stream: Any, rows: int, output: str, accuracy: float | None) -> None:
    drifts = [row for row in stream.drifts if row < rows]
    effects = f", with {stream.effects}" if str(stream.effects) else ""
    screen.say(f"{counted(rows, 'row')} of {stream.source.text}{effects}")
    screen.say(f"{counted(len(stream.names), 'column')}: {listed(stream.names)}")
    screen.say(f"{counted(len(stream.classes), 'class', 'classes')}: {listed(stream.classes)}")
    if drifts:
        screen.say(f"{counted(len(drifts), 'drift')} at row {listed([f'{row:,}' for row in drifts], MOST_SHOWN)}")
    if accuracy is not None:
        screen.say(f"accuracy of the Bayes-optimal classifier: {accuracy:.4f}")
    if output != "-":
        screen.say(f"Written to {output}. Next: tanager fit {quote(output)}")
    screen.document(
        {
            "model": stream.source.text,
            "effects": str(stream.effects),
            "output": output,
            "rows": rows,
            "columns": stream.names,
            "classes": stream.classes,
            "drifts": drifts,
            "best_accuracy": accuracy,
        }
    )
