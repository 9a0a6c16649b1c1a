"""``tanager compare``: all classifiers on one file, or on several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tanager.cli.models import MODELS, make, settings, value_of
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option
from tanager.cli.output import check_output, written
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import OptionError, nearest

PEERS = ("tree", "boosted", "forest", "gradient", "logistic")
MEASURES = ("accuracy", "log_loss", "rmse", "auc", "calibration_error")
HEADS = ("accuracy", "log loss", "rmse", "auc", "calib.")
MARKED = ("accuracy", "log_loss")
BY = ("error", "log_loss", "rmse", "brier")
TABLES = {".csv": "to_csv", ".md": "to_markdown", ".tex": "to_latex"}


@click.command(
    epilog="\b\nModels: all, or names between commas (all leaves out those with a *):\n"
    + "\n".join(f"  {name + '*' * (not entry.compared):<12}{entry.about}" for name, entry in MODELS.items())
    + "\n\n"
    + examples(
        "tanager compare iris.csv --target class",
        "tanager compare iris.csv --models nb,tan,aode --with forest --repeats 10 --plot iris.png",
        "tanager compare iris.csv wine.csv breast_cancer.csv -o errors.csv",
    )
)
@click.argument("data", nargs=-1, required=True)
@target_option
@click.option("--models", "-m", default="all", metavar="NAMES", help="What to try; see below.")
@click.option("--with", "peers", default="", metavar="NAMES", help=f"Classifiers of scikit-learn: {', '.join(PEERS)}.")
@click.option(
    "--by",
    type=click.Choice(BY),
    help="What decides.  [default: log_loss for one file, error for several]",
)
@click.option("--folds", type=int, default=10, metavar="N", help="Parts that are left out in turn.")
@click.option("--repeats", type=int, default=1, metavar="N", help="Repetitions, each with other folds.")
@click.option("--seed", type=int, default=1, metavar="N", help="The same seed gives the same folds.")
@click.option("--jobs", type=int, default=-1, metavar="N", help="Processes; -1 takes all cores.")
@click.option("--smoothing", metavar="RULE", help="A pseudo-count; or lidstone, m, bdeu, prior, backoff; or m:2.")
@kind_options
@click.option("--output", "-o", metavar="FILE", help="The table as .csv, .md or .tex.")
@click.option("--plot", metavar="FILE", help="A picture: .png, .svg or .pdf. Needs the extra 'plot'.")
@click.option("--resume", metavar="FILE", help="Keep finished folds here, and go on from them when run again.")
@reading_options
@json_option
def command(
    data: tuple[str, ...], target: str | None, output: str | None, plot: str | None, as_json: bool, **given: Any
) -> None:
    """Try classifiers on DATA: each answers for rows that it has not learned (cross-validation).

    All of them read one count of the learned rows; kinds and cut points are learned without the rows that are asked.
    Several files give the tables that compare classifiers over data sets.
    """
    screen = Screen(as_json=as_json)
    names, peers = _names(given["models"], given["peers"])
    _check_outputs(output, plot, data)
    with screen.waiting("starting"):
        from tanager.evaluate import cross_validate_all

        sets = {_name(path, data): _read(screen, path, target, given) for path in data}
    with screen.folds("comparing") as tick:
        results = cross_validate_all(
            lambda labelled: _models(names, peers, labelled.options, given),
            sets,
            **{key: given[key] for key in ("folds", "repeats", "seed", "resume")},
            n_jobs=given["jobs"],
            progress=tick,
        )
    if len(sets) == 1:
        _introduce(screen, *next(iter(sets.items())), given)
    by = given["by"] or ("log_loss" if len(sets) == 1 else "error")
    report = (_one if len(sets) == 1 else _several)(screen, results, by)
    advice = results.recommend(by)
    for note in results.notes:
        screen.note(note)
    screen.say(f"\n{advice}")
    if output is not None:
        main = results.summary() if len(sets) == 1 else results.by_dataset(by)
        with written(output) as file:
            file.write(getattr(main, TABLES[Path(output).suffix.lower()])().encode())
        screen.say(f"\nThe table is in {output}.")
    if plot is not None:
        results.plot(plot, measure=by)
        screen.say(f"{'' if output else chr(10)}The picture is in {plot}.")
    recommended = {"classifier": advice.classifier, "reason": advice.reason}
    screen.document(report | {"recommended": recommended, "notes": list(results.notes)})


def _names(models: str, peers: str) -> tuple[list[str], list[str]]:
    """The classifiers asked for; slips of the pen are refused with the nearest name."""
    every = [name for name, entry in MODELS.items() if entry.compared]
    ours = every if models.strip() == "all" else [name.strip() for name in models.split(",") if name.strip()]
    theirs = [name.strip() for name in peers.split(",") if name.strip()]
    for name, known, option in [*((n, MODELS, "--models") for n in ours), *((n, PEERS, "--with") for n in theirs)]:
        if name not in known:
            hint = nearest(name, known) or f" Known are {', '.join(known)}."
            raise OptionError(f"{option}: there is no classifier {name!r}.{hint}")
    return ours, theirs


def _check_outputs(output: str | None, plot: str | None, data: tuple[str, ...]) -> None:
    for path in (output, plot):
        if path is not None:
            check_output(path, *data)
    if output is not None and Path(output).suffix.lower() not in TABLES:
        raise OptionError(f"cannot write {output!r}: the ending says no format. Use one of {', '.join(TABLES)}.")


def _name(path: str, data: tuple[str, ...]) -> str:
    """A file's name without folder and ending, where that tells it from the others."""
    short = [Path(other.removesuffix(".gz")).stem for other in data]
    return Path(path.removesuffix(".gz")).stem if len(set(short)) == len(short) else path


def _read(screen: Screen, path: str, target: str | None, given: dict[str, Any]) -> Any:
    from tanager.cli.reading import KINDS, READING, check_columns, doubt_target, open_data, target_column
    from tanager.files import read_labelled

    source = open_data(path, **{key: given[key] for key in (*READING, *KINDS)})
    check_columns(source, given["drop"], " (--drop)")
    target = target_column(source, target)
    labelled = read_labelled(source, target, drop=given["drop"], categorical=given["categorical"] or None)
    doubt_target(screen, target, len(set(labelled.y.to_pylist())), labelled.X.num_rows)
    return labelled


def _models(names: list[str], peers: list[str], declared: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The classifiers with the options that were given, for one file."""
    kinds = {key: given[key] or declared.get(key) for key in ("categorical", "numeric")}
    bins = None if given["bins"] is None else value_of(given["bins"])
    wanted = settings((), bins=bins, n_bins=given["n_bins"], smoothing=given["smoothing"], **kinds)
    made = {name: make(name, wanted) for name in names}
    if peers:
        from tanager.evaluate import peers as yardsticks

        known = yardsticks(**kinds)
        made |= {name: known[name] for name in peers}
    return made


def _introduce(screen: Screen, name: str, labelled: Any, given: dict[str, Any]) -> None:
    rows, columns = labelled.X.num_rows, labelled.X.num_columns
    times = f"{counted(given['repeats'], 'time')} " if given["repeats"] > 1 else ""
    what = f"{counted(rows, 'row')}, {counted(columns, 'column')}"
    screen.say(f"{name}: {what}, {times}{given['folds']}-fold cross-validation", style="bold")
    if labelled.dropped:
        screen.say(f"Left out: {listed(f'{column} ({why})' for column, why in labelled.dropped.items())}")
    screen.say()


def _one(screen: Screen, results: Any, by: str) -> dict[str, Any]:
    """The table of one file, best first; a minus marks what is significantly worse than the best."""
    dataset = results.datasets[0]
    lines = {line["classifier"]: line for line in results.summary(MEASURES).to_dicts()}
    order = results.best_first(dataset, by)
    worse = {
        measure: {
            line["classifier"]
            for line in results.compare(measure=measure).to_dicts()
            if str(line["verdict"]).startswith("worse")
        }
        for measure in MARKED
    }
    rows = []
    for name in order:
        line = lines[name]
        marks = {measure: " -" if name in worse[measure] else "  " for measure in MARKED}
        cells = [_figure(line[measure], marks.get(measure, "")) for measure in MEASURES]
        rows.append((name, *cells, _seconds(line["fit_seconds"]), _seconds(line["predict_seconds"])))
    screen.show(table(("", *HEADS, "learn", "answer"), rows, right=(*HEADS, "learn", "answer")))
    screen.say("\n- worse than the best (corrected resampled t-test, 5 %). Calib.: expected calibration error.")
    screen.say("Times: to learn all rows, and to answer for them, alone.")
    return {"dataset": dataset, "classifiers": [lines[name] for name in order]}


def _figure(value: float | None, mark: str) -> str:
    return "" if value is None or value != value else f"{value:.4f}{mark}"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _several(screen: Screen, results: Any, by: str) -> dict[str, Any]:
    """Classifiers over files: the measure, ranks, and the best against each of the others."""
    by_dataset, overall, tested = results.by_dataset(by), results.over_datasets(by), results.friedman(by)
    what = by.replace("_", " ")
    best = overall.rows[0][0]
    against = {}
    for line in results.pairs(by).to_dicts():
        if best in (line["first"], line["second"]):
            won, lost = (line["wins"], line["losses"]) if line["first"] == best else (line["losses"], line["wins"])
            other = line["second"] if line["first"] == best else line["first"]
            against[other] = (f"{won}-{line['draws']}-{lost}", f"{line['p']:.3f}")
    screen.say(what.capitalize(), style="bold")
    screen.say(_narrow(by_dataset, overall))
    screen.say(f"\nOver {counted(len(by_dataset.rows), 'file')}", style="bold")
    head = ("", f"mean {what}", "mean rank", "best on", "ratio", f"{best} against it", "p")
    rows = [
        (name, f"{mean:.4f}", f"{rank:.2f}", str(on), f"{ratio:.3f}", *against.get(name, ("", "")))
        for name, mean, rank, on, ratio in overall.rows
    ]
    screen.show(table(head, rows, right=head[1:]))
    friedman = tested.to_dicts()[0]
    screen.say(
        f"\nratio: geometric mean of its {what} to that of {best}. Wins-draws-losses with a two-tailed sign test.\n"
        f"Friedman: p = {friedman['p']:.3g}; mean ranks differ from {friedman['critical difference']:.2f} on (Nemenyi)."
    )
    return {
        by: by_dataset.to_dicts(),
        "overall": overall.to_dicts(),
        "pairs": results.pairs(by).to_dicts(),
        "friedman": friedman,
    }


def _narrow(by_dataset: Any, overall: Any, most: int = 8) -> str:
    """Errors of the best classifiers, as many as fit on a screen."""
    from tanager.evaluate import Table

    shown = [row[0] for row in overall.rows[:most]]
    places = [by_dataset.names.index(name) for name in shown]
    rows = [[row[0], *(row[at] for at in places)] for row in by_dataset.rows]
    left = len(overall.rows) - len(shown)
    note = f"... and {left} more classifiers, with lower ranks; -o FILE writes all." if left > 0 else ""
    return str(Table(["", *shown], rows, note=note))
