"""``tanager compare``: classifiers on one file, or on several, by cross-validation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from tanager.classifiers.names import MODELS
from tanager.cli.compare_report import print_heading, print_one, print_peers, print_several
from tanager.cli.header import check_header
from tanager.cli.interrupts import so_far
from tanager.cli.models import make_model, parse_settings, parse_value
from tanager.cli.options import examples, json_option, kind_options, reading_options, target_option
from tanager.cli.output import check_output, open_output
from tanager.cli.screen import Screen
from tanager.errors import OptionError, nearest

PEERS = {
    "forest": "random forest",
    "gradient": "histogram gradient boosting",
    "logistic": "logistic regression",
    "tree*": "decision tree",
    "boosted*": "AdaBoost with ten decision trees",
}
SECONDS = 45  # for each file, where all models are compared
FOLD_ORDERS = ("random", "blocked", "forward")
BY = ("error", "log_loss", "rmse", "brier")
TABLES = {".csv": "to_csv", ".md": "to_markdown", ".tex": "to_latex"}


@click.command(
    epilog="\b\nModels: comma-separated names, or all (without those marked by *):\n"
    + "\n".join(f"  {name + '*' * (not entry.compared):<16}{entry.about}" for name, entry in MODELS.items())
    + "\n\n\b\nOf scikit-learn, for --with or --models; with all models those without a *:\n"
    + "\n".join(f"  {name:<16}{about}" for name, about in PEERS.items())
    + "\n\n"
    + examples(
        "tanager compare iris.csv --target class",
        "tanager compare iris.csv --time-limit 300 --no-peers",
        "tanager compare iris.csv --models nb,tan,aode --with forest --repeats 10 --plot iris.png",
        "tanager compare iris.csv wine.csv breast_cancer.csv -o errors.csv",
    )
)
@click.argument("data", nargs=-1, required=True)
@target_option
@click.option("--models", "-m", default="all", metavar="NAMES", help="Models to compare; see below.")
@click.option(
    "--with",
    "peers",
    metavar="NAMES",
    help="Classifiers of scikit-learn to set beside them; see below.  [default: forest, gradient and logistic with all "
    "models, none with --models]",
)
@click.option("--no-peers", is_flag=True, help="No classifiers of scikit-learn.")
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="Cheap models come first, and those that would not be done by then are left out; inf: none is.  [default: "
    f"{SECONDS} for each file with all models, inf with --models]",
)
@click.option(
    "--by",
    type=click.Choice(BY),
    help="The measure to rank by.  [default: log_loss for one file, error for several]",
)
@click.option(
    "--folds",
    default="10",
    metavar="N",
    help="Number of folds; or how rows are dealt out: random, blocked (neighbours together) or forward (learn from "
    "earlier rows alone), also with a number: forward:5.",
)
@click.option("--repeats", type=int, default=1, metavar="N", help="Number of repetitions, each with other folds.")
@click.option("--seed", type=int, default=1, metavar="N", help="Seed of the folds.")
@click.option("--jobs", type=int, default=-1, metavar="N", help="Number of processes; -1 for all cores.")
@click.option(
    "--smoothing", metavar="RULE", help="A pseudo-count; or lidstone, m, bdeu, prior, backoff, learned; or m:2."
)
@kind_options
@click.option("--output", "-o", metavar="FILE", help="Write the table to a .csv, .md or .tex file.")
@click.option("--plot", metavar="FILE", help="Draw the results: .png, .svg or .pdf. Needs the extra 'plot'.")
@click.option(
    "--resume", metavar="FILE", help="Store finished folds in this file, and continue from them when run again."
)
@reading_options
@json_option
def command(
    data: tuple[str, ...], target: str | None, output: str | None, plot: str | None, as_json: bool, **given: Any
) -> None:
    """Compare classifiers on DATA by cross-validation.

    In every fold the training rows are counted once for all classifiers; kinds and cut points are learned from the
    training rows alone. With several files the classifiers are compared over data sets. Random forest, gradient
    boosting and logistic regression of scikit-learn are set beside ours.
    """
    screen = Screen(as_json=as_json)
    given["folds"], given["fold_order"] = _folds(given["folds"])
    names, peers = _names(given["models"], given["peers"], given["no_peers"])
    _check_outputs(output, plot, data)
    _check_files(data, given["models"])
    for path in data:
        check_header(path, target, given)
    with screen.waiting("starting"):
        from tanager.evaluate import TimeLimit, cross_validate_all, peer_encodings

        seconds = given["time_limit"]
        if seconds is None:
            seconds = SECONDS * len(data) if _all(given["models"]) else math.inf
        limit = TimeLimit(seconds, option="--time-limit ")
        sets = {_name(path, data): _read(screen, path, target, given) for path in data}
    with screen.folds("comparing", lambda: (limit.elapsed(), limit.seconds_left())) as tick:
        results, interrupted = so_far(
            lambda: cross_validate_all(
                lambda labelled: _models(names, peers, labelled.options, given),
                sets,
                **{key: given[key] for key in ("folds", "fold_order", "repeats", "seed", "resume")},
                n_jobs=given["jobs"],
                progress=tick,
                time_limit=limit,
            )
        )
    if len(sets) == 1:
        print_heading(screen, *next(iter(sets.items())), given)
    by = given["by"] or ("log_loss" if len(sets) == 1 else "error")
    report = (print_one if len(sets) == 1 else print_several)(screen, results, by)
    theirs = [name for name in peers if name in results.classifiers]
    print_peers(screen, peer_encodings(theirs))
    advice = results.recommend(by)
    for note in results.notes:
        screen.note(note)
    screen.say(f"\n{advice}")
    own = _advice_on(results, [name for name in names if name in results.classifiers], by)
    if advice.useful and advice.classifier in theirs and own is not None:
        screen.say(f"Of tanager's own, {own.reason[0].lower()}{own.reason[1:]}")
    if output is not None:
        main = results.summary() if len(sets) == 1 else results.by_dataset(by)
        with open_output(output) as file:
            file.write(getattr(main, TABLES[Path(output).suffix.lower()])().encode())
        screen.say(f"\nTable written to {output}")
    if plot is not None:
        results.plot(plot, measure=by)
        screen.say(f"{'' if output else chr(10)}Picture written to {plot}")
    recommended = {"classifier": advice.classifier, "reason": advice.reason, "useful": advice.useful}
    recommended |= {} if own is None else {"own": own.classifier}
    extra = {"recommended": recommended, "notes": list(results.notes), "left_out": limit.left_out}
    screen.document(report | extra | {"peers": peer_encodings(theirs)})
    if interrupted:
        raise KeyboardInterrupt


def _folds(text: str) -> tuple[int, str]:
    """The number of folds and how rows are dealt out, from ``5``, ``forward`` or ``forward:5``."""
    how, _, number = text.partition(":") if not text.lstrip("-").isdigit() else ("random", "", text)
    if how not in FOLD_ORDERS or (":" in text and not number.isdigit()):
        raise OptionError(
            f"--folds {text}: give a number of folds, {', '.join(FOLD_ORDERS[:-1])} or {FOLD_ORDERS[-1]}, or both "
            f"(forward:5).{nearest(how, FOLD_ORDERS)}"
        )
    return int(number or 10), how


def _advice_on(results: Any, names: list[str], by: str) -> Any:
    """Which of these classifiers to take; None where there is no choice."""
    return results.select(names).recommend(by) if len(names) > 1 else None


def _all(models: str) -> bool:
    return models.strip() == "all"


def _names(models: str, peers: str | None, no_peers: bool) -> tuple[list[str], list[str]]:
    """The names of the classifiers, ours and those of scikit-learn. Raises OptionError for an unknown one."""
    known = [name.rstrip("*") for name in PEERS]
    if no_peers and peers is not None:
        raise OptionError("--with and --no-peers exclude each other. Give one of them.")
    if _all(models):
        ours = [name for name, entry in MODELS.items() if entry.compared]
        theirs = [name for name in PEERS if name in known]
    else:
        named = _listed(models, "--models", [*MODELS, *known])
        ours, theirs = [n for n in named if n in MODELS], [n for n in named if n in known]
    if peers is not None:
        beside = _listed(peers, "--with", [*known, *MODELS])
        if wrong := [name for name in beside if name in MODELS]:
            raise OptionError(f"--with: {wrong[0]!r} is no classifier of scikit-learn. Name it with --models.")
        theirs = beside if _all(models) else list(dict.fromkeys([*theirs, *beside]))
    if not ours and not theirs:
        raise OptionError("--models: no classifier is named. Use all, or names such as nb,aode.")
    return ours, ([] if no_peers else theirs)


def _listed(names: str, option: str, known: list[str]) -> list[str]:
    found = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in found:
        if name == "all":
            raise OptionError(f"{option}: all stands by itself. Name classifiers, or use all alone.")
        if name not in known:
            hint = nearest(name, known) or f" Known classifiers: {', '.join(known)}."
            raise OptionError(f"{option}: unknown classifier {name!r}.{hint}")
    return found


def _check_outputs(output: str | None, plot: str | None, data: tuple[str, ...]) -> None:
    for path in (output, plot):
        if path is not None:
            check_output(path, *data)
    if output is not None and Path(output).suffix.lower() not in TABLES:
        raise OptionError(f"cannot write {output!r}: unknown extension. Use one of {', '.join(TABLES)}.")


def _check_files(data: tuple[str, ...], models: str) -> None:
    """Names of classifiers after a blank look like files."""
    for path in data:
        if (path in MODELS or path == ",") and not Path(path).exists():
            raise OptionError(f"there is no file {path!r}. Separate classifiers by commas: --models {models},{path}")


def _name(path: str, data: tuple[str, ...]) -> str:
    """The name of a file without folder and extension, where that is unique."""
    short = [Path(other.removesuffix(".gz")).stem for other in data]
    return Path(path.removesuffix(".gz")).stem if len(set(short)) == len(short) else path


def _read(screen: Screen, path: str, target: str | None, given: dict[str, Any]) -> Any:
    from tanager.cli.reading import KINDS, READING, check_columns, open_data, target_column, warn_many_classes
    from tanager.files import read_labelled

    source = open_data(path, **{key: given[key] for key in (*READING, *KINDS)})
    check_columns(source, given["drop"], " (--drop)")
    target = target_column(source, target)
    kinds = {key: given[key] for key in ("keep", "dates", *KINDS)}
    labelled = read_labelled(source, target, drop=given["drop"], **kinds)
    warn_many_classes(screen, target, len(labelled.y.unique()), labelled.X.num_rows)
    return labelled


def _models(names: list[str], peers: list[str], declared: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The classifiers with the given options, for one file."""
    ordinal = given["ordinal"]
    kinds = {key: given[key] or declared.get(key) for key in ("categorical", "numeric")}
    kinds["categorical"] = [name for name in kinds["categorical"] or () if name not in (ordinal or ())] or None
    bins = None if given["bins"] is None else parse_value(given["bins"])
    wanted = parse_settings(
        (),
        bins=bins,
        n_bins=given["n_bins"],
        smoothing=given["smoothing"],
        ordinal=ordinal,
        dates=given["dates"],
        **kinds,
    )
    wanted["keep"] = "all"  # what is to be left out was dropped when the file was read
    made = {name: make_model(name, wanted) for name in names}
    if peers:
        from tanager.evaluate import peers as yardsticks

        known = yardsticks(**kinds)
        made |= {name: known[name] for name in peers}
    return made
