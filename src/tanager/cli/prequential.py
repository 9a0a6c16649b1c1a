"""``tanager prequential``: classifiers on a stream, each row answered before it is learned."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.generate import MODELS as GENERATORS
from tanager.cli.generate import ROWS
from tanager.cli.models import MODELS, check_model, make, settings, value_of
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option, times_option
from tanager.cli.output import check_output
from tanager.cli.reading import KINDS, READING, check_columns, check_inputs, open_data, target_column
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import OptionError, nearest

RIVER = ("river-nb", "river-ht", "river-hat", "river-arf", "river-last")
FORGETTING = ("decay", "window", "refresh")
GENERATE = "generate:"
MEASURES = ("accuracy", "kappa", "log_loss")


@click.command(
    epilog="\b\nModels (names between commas; name:option=value for options of one):\n"
    + "\n".join(f"  {name:<12}{entry.about}" for name, entry in MODELS.items())
    + "\n\n"
    + examples(
        "tanager prequential stream.csv --target class --model nb,aode --plot curves.png",
        "tanager prequential stream.csv --model nb,nb:decay=1000,nb:window=5000",
        "tanager prequential stream.csv --model aode --against river-nb,river-ht --rows 100k",
        "tanager prequential generate:tan --rows 1e6 --model nb,tan,aode",
    )
)
@click.argument("data")
@target_option
@click.option("--model", "-m", "names", default="nb,aode", metavar="NAMES", help="What to try; see below.")
@click.option(
    "--against", default="", metavar="NAMES", help=f"Classifiers of river: {', '.join(RIVER)}.", show_default=False
)
@click.option("--rows", type=ROWS, metavar="N", help="Stop after so many rows (1000, 1e6, 10M).")
@click.option("--decay", metavar="HOW", help="Models forget: half-life in rows (1000) or time ('6 h').")
@click.option("--window", metavar="HOW", help="Models forget all but the last rows (5000) or times ('30 min').")
@click.option("--refresh", type=ROWS, metavar="N", help="Models learn their structure anew after so many rows.")
@click.option("--delay", type=ROWS, default=0, metavar="N", help="Labels come so many rows late.")
@click.option("--batch", type=ROWS, default=1, metavar="N", help="Answer so many rows before they are learned.")
@times_option
@click.option("--every", type=ROWS, metavar="N", help="Rows between two measurements.  [default: about 200 of them]")
@click.option("--last", type=ROWS, default=1000, metavar="N", help="Rows that recent accuracy is taken over.")
@click.option("--fade", type=float, default=0.999, metavar="FACTOR", help="Of fading measures, per row.")
@click.option("--set", "pairs", multiple=True, metavar="OPTION=VALUE", help="Any option of all models; JSON or text.")
@click.option("--smoothing", metavar="RULE", help="A pseudo-count; or lidstone, m, bdeu, prior, backoff; or m:2.")
@kind_options
@click.option("--seed", type=int, default=0, metavar="N", help="Of a generator.")
@click.option("--plot", metavar="FILE", help="The curves as .png, .svg or .pdf. Needs the extra 'plot'.")
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default="accuracy",
    help="What the picture shows, over the last rows.",
)
@click.option("--csv", metavar="FILE", help="All curves as a table.")
@reading_options
@json_option
def command(data: str, target: str | None, names: str, against: str, as_json: bool, **given: Any) -> None:
    """Try classifiers on the rows of DATA in their order: each row is answered first, then learned.

    DATA is a file of any size, read once for all models, or generate:NAME for rows that are made up (see tanager
    generate). Prints how often the answers were right, in all and lately, and where that was worst.
    """
    screen = Screen(as_json=as_json)
    specs, rivers = _asked(names), _rivers(against)
    _check_files(data, given)
    with screen.waiting("starting"):
        from tanager.evaluate import prequential

        models = _models(specs, rivers, given)
        stream, target, about = _stream(data, target, given)
    with screen.progress(f"running through {data}") as tick:
        result = prequential(
            models,
            stream,
            target=target,
            n_rows=given["rows"],
            window=given["last"],
            progress=tick,
            **{key: given[key] for key in ("every", "fade", "delay", "batch", "times", "drop")},
        )
    report = _report(result, data, target)
    _print(screen, result, report, about)
    if given["csv"] is not None:
        result.to_csv(given["csv"])
        screen.say(f"\nThe curves are in {given['csv']}.")
    if given["plot"] is not None:
        result.plot(given["plot"], given["measure"], title=data)
        screen.say(f"{'' if given['csv'] else chr(10)}The picture is in {given['plot']}.")
    screen.document(report)


def _asked(names: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Models by the words that ask for them: ``aode`` or ``nb:decay=1000``."""
    specs = {}
    for spec in (word.strip() for word in names.split(",")):
        if not spec:
            continue
        name, *pairs = spec.split(":")
        check_model(name)
        specs[spec] = (name, settings(pairs))
    if not specs:
        raise OptionError("--model: name at least one model, for example --model nb,aode")
    return specs


def _rivers(against: str) -> list[str]:
    names = [name.strip() for name in against.split(",") if name.strip()]
    for name in names:
        if name not in RIVER:
            hint = nearest(name, RIVER) or f" Known are {', '.join(RIVER)}."
            raise OptionError(f"--against: there is no classifier {name!r}.{hint}")
    return names


def _check_files(data: str, given: dict[str, Any]) -> None:
    """Refuse what cannot be read or written before the work begins."""
    if not data.startswith(GENERATE):
        check_inputs(data)
    for path in (given["plot"], given["csv"]):
        if path is not None:
            check_output(path, data)


def _models(specs: dict[str, Any], rivers: list[str], given: dict[str, Any]) -> dict[str, Any]:
    forgetting = {key: value_of(str(given[key])) for key in FORGETTING if given[key] is not None}
    bins = None if given["bins"] is None else value_of(given["bins"])
    flags = {key: given[key] for key in ("n_bins", "smoothing", *KINDS)}
    common = settings(given["pairs"], bins=bins, **flags, **forgetting)
    models = {spec: make(name, common | own) for spec, (name, own) in specs.items()}
    if rivers:
        from tanager.evaluate import stream_peers

        known = stream_peers()
        models |= {name: known[name] for name in rivers}
    return models


def _stream(data: str, target: str | None, given: dict[str, Any]) -> tuple[Any, str | None, str]:
    """The stream, its target, and what it is."""
    if data.startswith(GENERATE):
        made = _generator(data.removeprefix(GENERATE), given)
        return made, None, f"{len(made.names)} columns, {len(made.classes)} classes"
    source = open_data(data, **{key: given[key] for key in (*READING, *KINDS)})
    check_columns(source, [*given["drop"], *([given["times"]] if given["times"] else [])])
    target = target_column(source, target)
    return source, target, ""


def _generator(name: str, given: dict[str, Any]) -> Any:
    from tanager import generate

    if name not in GENERATORS:
        hint = nearest(name, GENERATORS) or f" Known are {listed(GENERATORS, 20)}."
        raise OptionError(f"there is no generator {name!r}.{hint}")
    if given["rows"] is None:
        raise OptionError("a generator never ends; say how many rows to take, for example --rows 1e6")
    return getattr(generate, GENERATORS[name].function)(random_state=given["seed"])


def _report(result: Any, data: str, target: str | None) -> dict[str, Any]:
    lines = []
    for name in result.models:
        row, accuracy = result.lowest(name)
        values = {measure: result.curve(name, measure)[-1] for measure in result.measures}
        recent = {f"{over}_accuracy": result.curve(name, "accuracy", over)[-1] for over in ("fading", "window")}
        recall = dict(zip(map(str, result.classes), result.curve(name, "recall")[-1].tolist(), strict=True))
        lowest = {"accuracy": accuracy, "row": row}
        speed = {"seconds": result.seconds[name], "rows_per_second": result.n_rows / max(result.seconds[name], 1e-9)}
        events = {"events": result.events[name]} if name in result.events else {}
        lines.append({"model": name, **values, **recent, "lowest": lowest, "recall": recall, **speed, **events})
    return {
        "data": data,
        "target": target,
        "rows": result.n_rows,
        "classes": result.classes,
        "window": result.window,
        "drifts": result.drifts,
        "dropped": result.dropped,
        "models": lines,
    }


def _print(screen: Screen, result: Any, report: dict[str, Any], about: str) -> None:
    what = about or f"{counted(len(report['classes']), 'class', 'classes')} in {report['target']!r}"
    screen.say(f"{report['data']}: {counted(result.n_rows, 'row')}, {what}", style="bold")
    if result.dropped:
        screen.say(f"Left out: {listed(f'{column} ({why})' for column, why in result.dropped.items())}")
    if result.drifts:
        screen.say(f"The stream changes at {listed(f'row {row:,}' for row in result.drifts)}.")
    screen.say()
    heads = ("accuracy", "kappa", "log loss", "lately", "lowest", "at row", "speed")
    rows = []
    for line in report["models"]:
        cells = [line["accuracy"], line["kappa"], line["log_loss"], line["window_accuracy"], line["lowest"]["accuracy"]]
        figures = [f"{cell:.4f}" if cell == cell else "" for cell in cells]
        rows.append((line["model"], *figures, f"{line['lowest']['row']:,}", _rate(line["rows_per_second"])))
    screen.show(table(("", *heads), rows, right=heads))
    screen.say(f"\nLately: accuracy over the last {result.window:,} rows; lowest: where that was worst. Speed in rows.")
    for name, events in result.events.items():
        if events:
            screen.say(f"{name} noticed: {listed(f'{what} at row {row:,}' for row, what in events)}.")


def _rate(per_second: float) -> str:
    """``1.2 M/s``, ``310 k/s``, ``900 /s``."""
    for size, unit in ((1e6, "M/s"), (1e3, "k/s")):
        if per_second >= size:
            return f"{per_second / size:.3g} {unit}"
    return f"{per_second:.3g} /s"
