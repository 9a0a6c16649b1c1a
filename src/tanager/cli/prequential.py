"""``tanager prequential``: classifiers on a stream, each row predicted before it is learned."""

from __future__ import annotations

from typing import Any

import click

from tanager.classifiers.names import MODELS
from tanager.cli.generate import GENERATORS, ROWS
from tanager.cli.header import check_header
from tanager.cli.interrupts import so_far
from tanager.cli.models import check_model, make_model, option_names, parse_settings, parse_value
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option, times_option
from tanager.cli.output import check_output
from tanager.cli.reading import KINDS, READING, check_columns, check_inputs, open_data, target_column
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import OptionError, nearest

RIVER = ("river-nb", "river-ht", "river-hat", "river-arf", "river-last")
FORGETTING = ("decay", "window", "refresh")
GENERATE = "generate:"
MEASURES = ("accuracy", "kappa", "kappa_temporal", "log_loss")


@click.command(
    epilog="\b\nModels (comma-separated; name:option=value sets an option of one model):\n"
    + "\n".join(f"  {name:<16}{entry.about}" for name, entry in MODELS.items())
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
@click.option("--model", "-m", "names", default="nb,aode", metavar="NAMES", help="Models to evaluate; see below.")
@click.option(
    "--against",
    default="",
    metavar="NAMES",
    help=f"Classifiers of river to compare with: {', '.join(RIVER)}.",
    show_default=False,
)
@click.option("--rows", type=ROWS, metavar="N", help="Stop after N rows (1000, 1e6, 10M).")
@click.option("--decay", metavar="SPAN", help="Exponential decay: half-life in rows (1000) or time ('6 h').")
@click.option("--window", metavar="SPAN", help="Sliding window: rows (5000) or time ('30 min').")
@click.option(
    "--refresh", metavar="N", help="Learn the structure of models again every N rows; or hoeffding: only where it pays."
)
@click.option("--lag", type=int, metavar="N", help="The last N labels are columns too, for half-lives.")
@click.option("--delay", type=ROWS, default=0, metavar="N", help="Labels arrive N rows late.")
@click.option("--batch", type=ROWS, default=1, metavar="N", help="Predict N rows at a time, then learn them.")
@times_option
@click.option("--every", type=ROWS, metavar="N", help="Rows between measurements.  [default: about 200 of them]")
@click.option("--last", type=ROWS, default=1000, metavar="N", help="Window of the recent measures, in rows.")
@click.option("--fade", type=float, default=0.999, metavar="FACTOR", help="Factor of fading measures, per row.")
@click.option(
    "--set", "pairs", multiple=True, metavar="OPTION=VALUE", help="Set an option of all models; JSON or text."
)
@click.option(
    "--smoothing", metavar="RULE", help="A pseudo-count; or lidstone, m, bdeu, prior, backoff, learned; or m:2."
)
@kind_options
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of a generator.")
@click.option("--plot", metavar="FILE", help="Draw the curves: .png, .svg or .pdf. Needs the extra 'plot'.")
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default="accuracy",
    help="The measure to draw, over the last rows.",
)
@click.option("--csv", metavar="FILE", help="Write all curves to a CSV file.")
@reading_options
@json_option
def command(data: str, target: str | None, names: str, against: str, as_json: bool, **given: Any) -> None:
    """Evaluate classifiers on the rows of DATA in order: each row is predicted, then learned (test-then-train).

    DATA is a file of any size, read once for all models, or generate:NAME for generated rows (see tanager generate).
    Prints measures over all rows and over the last rows, and the lowest accuracy on the way; beside the models also
    what answers with the last label (no change) or with the most frequent one (majority).
    """
    screen = Screen(as_json=as_json)
    specs, rivers = _specs(names), _rivers(against)
    _check_files(data, given)
    check_header(data, target, given)
    with screen.waiting("starting"):
        from tanager.evaluate import prequential

        models = _models(specs, rivers, given)
        stream, target, about = _stream(data, target, given)
    with screen.progress(f"evaluating on {data}") as tick:
        result, interrupted = so_far(
            lambda: prequential(
                models,
                stream,
                target=target,
                n_rows=given["rows"],
                window=given["last"],
                progress=tick,
                **{key: given[key] for key in ("every", "fade", "delay", "batch", "times", "drop")},
            )
        )
    report = _report(result, data, target)
    _print(screen, result, report, about)
    if given["csv"] is not None:
        result.to_csv(given["csv"])
        screen.say(f"\nCurves written to {given['csv']}")
    if given["plot"] is not None:
        result.plot(given["plot"], given["measure"], title=data)
        screen.say(f"{'' if given['csv'] else chr(10)}Picture written to {given['plot']}")
    screen.document(report)
    if interrupted:
        raise KeyboardInterrupt


def _specs(names: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Models by their specification: ``aode`` or ``nb:decay=1000``."""
    specs = {}
    for spec in (word.strip() for word in names.split(",")):
        if not spec:
            continue
        name, *pairs = spec.split(":")
        check_model(name)
        specs[spec] = (name, parse_settings(pairs))
    if not specs:
        raise OptionError("--model: give at least one model, for example --model nb,aode")
    return specs


def _rivers(against: str) -> list[str]:
    names = [name.strip() for name in against.split(",") if name.strip()]
    for name in names:
        if name not in RIVER:
            hint = nearest(name, RIVER) or f" Known classifiers: {', '.join(RIVER)}."
            raise OptionError(f"--against: unknown classifier {name!r}.{hint}")
    return names


def _check_files(data: str, given: dict[str, Any]) -> None:
    """Check that files can be read and written, before the work begins."""
    if not data.startswith(GENERATE):
        check_inputs(data)
    for path in (given["plot"], given["csv"]):
        if path is not None:
            check_output(path, data)


def _models(specs: dict[str, Any], rivers: list[str], given: dict[str, Any]) -> dict[str, Any]:
    forgetting = {key: parse_value(str(given[key])) for key in FORGETTING if given[key] is not None}
    if isinstance(forgetting.get("refresh"), str) and forgetting["refresh"] != "hoeffding":
        forgetting["refresh"] = ROWS.convert(forgetting["refresh"], None, None)  # such as 10k
    bins = None if given["bins"] is None else parse_value(given["bins"])
    flags = {key: given[key] for key in ("n_bins", "smoothing", "keep", "dates", *KINDS)}
    common = parse_settings(given["pairs"], bins=bins, **flags, **forgetting)
    lags = _lags(specs, common, given)
    models = {spec: make_model(name, common | lags.get(spec, {}) | own) for spec, (name, own) in specs.items()}
    if rivers:
        from tanager.evaluate import stream_peers

        known = stream_peers()
        models |= {name: known[name] for name in rivers}
    return models


def _lags(specs: dict[str, Any], common: dict[str, Any], given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Options of the models that can have last labels as columns: how many, and how late labels come."""
    able = [spec for spec, (name, _) in specs.items() if "lag" in option_names(name)]
    if given["lag"] and not able:
        raise OptionError("--lag: only half-lives has the last labels as columns. Add it: --model half-lives")
    lags = {} if given["lag"] is None else {"lag": given["lag"]}
    wanted = {spec: common | lags | specs[spec][1] for spec in able}
    return {spec: lags | ({"delay": given["delay"]} if own.get("lag") else {}) for spec, own in wanted.items()}


def _stream(data: str, target: str | None, given: dict[str, Any]) -> tuple[Any, str | None, str]:
    """The stream, its target, and a description."""
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
        hint = nearest(name, GENERATORS) or f" Known generators: {listed(GENERATORS, 20)}."
        raise OptionError(f"unknown generator {name!r}.{hint}")
    if given["rows"] is None:
        raise OptionError("a generator is endless; give the number of rows, for example --rows 1e6")
    return getattr(generate, GENERATORS[name].function)(random_state=given["seed"])


def _report(result: Any, data: str, target: str | None) -> dict[str, Any]:
    lines = [_measured(result, name) for name in result.models]
    baselines = [_measured(result, name) for name in result.baselines]
    return {
        "data": data,
        "target": target,
        "rows": result.n_rows,
        "classes": result.classes,
        "window": result.window,
        "drifts": result.drifts,
        "dropped": result.dropped,
        "models": lines,
        "baselines": baselines,
    }


def _measured(result: Any, name: str) -> dict[str, Any]:
    """The measures of a model, or of a baseline, which takes no time that counts."""
    row, accuracy = result.lowest(name)
    values = {measure: result.curve(name, measure)[-1] for measure in result.measures}
    recent = {f"{over}_accuracy": result.curve(name, "accuracy", over)[-1] for over in ("fading", "window")}
    recall = dict(zip(map(str, result.classes), result.curve(name, "recall")[-1].tolist(), strict=True))
    lowest = {"accuracy": accuracy, "row": row}
    speed: dict[str, float] = {}
    if name in result.seconds:
        seconds = result.seconds[name]
        speed = {"seconds": seconds, "rows_per_second": result.n_rows / max(seconds, 1e-9)}
    events = {"events": result.events[name]} if name in result.events else {}
    return {"model": name, **values, **recent, "lowest": lowest, "recall": recall, **speed, **events}


def _print(screen: Screen, result: Any, report: dict[str, Any], about: str) -> None:
    what = about or f"{counted(len(report['classes']), 'class', 'classes')} in {report['target']!r}"
    screen.say(f"{report['data']}: {counted(result.n_rows, 'row')}, {what}", style="bold")
    if result.dropped:
        screen.say(f"Dropped: {listed(f'{column} ({why})' for column, why in result.dropped.items())}")
    if result.drifts:
        screen.say(f"Drift at {listed(f'row {row:,}' for row in result.drifts)}.")
    screen.say()
    heads = ("accuracy", "kappa-t", "log loss", "recent", "lowest", "at row", "speed")
    rows = []
    for line in [*report["models"], *report["baselines"]]:
        cells = [line[name] for name in ("accuracy", "kappa_temporal", "log_loss", "window_accuracy")]
        figures = [f"{cell:.4f}" if cell == cell else "" for cell in [*cells, line["lowest"]["accuracy"]]]
        speed = _rate(line["rows_per_second"]) if "rows_per_second" in line else ""
        rows.append((line["model"], *figures, f"{line['lowest']['row']:,}", speed))
    screen.show(table(("", *heads), rows, right=heads))
    screen.say(f"\nRecent: accuracy over the last {result.window:,} rows; lowest: its minimum. Speed in rows/s.")
    screen.say("No change: the last label that has arrived; kappa-t: accuracy from there (0) to 1.")
    for name, events in result.events.items():
        if events:
            screen.say(f"{name} detected: {listed(f'{what} at row {row:,}' for row, what in events)}.")


def _rate(per_second: float) -> str:
    """``1.2 M/s``, ``310 k/s``, ``900 /s``."""
    for size, unit in ((1e6, "M/s"), (1e3, "k/s")):
        if per_second >= size:
            return f"{per_second / size:.3g} {unit}"
    return f"{per_second:.3g} /s"
