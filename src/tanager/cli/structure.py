"""Options for learning a network: from command-line options to a learner and options of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import click

from tanager.classifiers.names import MODELS
from tanager.cli.models import LEARNERS, default_learner, learner_class, option_names
from tanager.cli.options import Command, names_in
from tanager.cli.screen import Screen, listed
from tanager.errors import DataError, OptionError, nearest

TESTS = {"mi": "Threshold", "g2": "GSquared", "x2": "Pearson"}
SCORES = ("bic", "aic", "bdeu", "k2", "ll", "cll")
FIT_BY = ("likelihood", "conditional-likelihood", "weights", "factor-weights", "elr")

# Command-line options, and the fields of learners or the options of models that they set.
OF_LEARNER = {
    "order": "order",
    "require": "required",
    "forbid": "forbidden",
    "tiers": "tiers",
    "threshold": "threshold",
    "test": "test",
    "score": "score",
    "max_parents": "max_parents",
}
OF_MODEL = {"class_root": "class_root", "sum_out": "missing", "fit_by": "fit_by", "network": "network"}
FLAGS = ("learner", *OF_LEARNER, *OF_MODEL)


def structure_options(command: Command) -> Command:
    """Options for learning a network."""
    for option in (
        click.option("--trace", is_flag=True, help="Print every step of the structure learner."),
        click.option(
            "--fit-by", type=click.Choice(FIT_BY), metavar="METHOD", help=f"Parameter learning: {', '.join(FIT_BY)}."
        ),
        click.option(
            "--sum-out", is_flag=True, help="Marginalize over missing values, instead of dropping their terms."
        ),
        click.option(
            "--class-root/--no-class-root", default=None, help="Whether the class precedes all columns in the order."
        ),
        click.option(
            "--max-parents", type=int, metavar="N", help="Maximum number of parents of a column, besides the class."
        ),
        click.option(
            "--score", type=click.Choice(SCORES), metavar="NAME", help=f"Score to maximize: {', '.join(SCORES)}."
        ),
        click.option("--test", metavar="TEST", help="Independence test: mi, g2 or x2; with a level, g2:0.01."),
        click.option(
            "--threshold", type=float, metavar="NATS", help="Mutual information below this counts as independence."
        ),
        click.option("--tiers", metavar="A,B/C,D", help="No arc from a later tier to an earlier one."),
        click.option("--forbid", multiple=True, metavar="A:B", help="Forbidden arc from A to B; repeatable."),
        click.option("--require", multiple=True, metavar="A:B", help="Required arc from A to B; repeatable."),
        click.option(
            "--order", metavar="COLUMNS", help="Order of the columns, causes first; or 'given' for that of the file."
        ),
        click.option(
            "--learner",
            type=click.Choice(list(LEARNERS)),
            metavar="NAME",
            help=f"Structure learner: {', '.join(LEARNERS)}.",
        ),
        click.option("--network", metavar="FILE", help="Network file with the arcs to use; see: tanager convert."),
    ):
        command = option(command)
    return command


def structure(name: str, given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Options of a model over these columns (including the class), from the command-line options."""
    chosen = {flag: given[flag] for flag in FLAGS if given[flag] is not None and given[flag] != () and _on(flag, given)}
    for flag in (*chosen, *(["trace"] if given["trace"] else [])):
        _check_applies(flag, name)
    if name == "network" and "network" not in chosen:
        raise OptionError("the model 'network' needs --network FILE, for example one written by tanager convert.")
    options: dict[str, Any] = {OF_MODEL[flag]: chosen[flag] for flag in OF_MODEL if flag in chosen}
    if "missing" in options:
        options["missing"] = "marginal"
    if "fit_by" in options:
        options["fit_by"] = options["fit_by"].replace("-", "_")
    if "network" in options:
        options["network"] = read_network(options["network"])
    if not chosen.keys().isdisjoint(("learner", *OF_LEARNER)):
        options["learner"] = _learner(name, chosen, columns)
    return options


def _on(flag: str, given: Mapping[str, Any]) -> bool:
    return flag != "sum_out" or given[flag]


def _check_applies(flag: str, name: str) -> None:
    option = OF_MODEL.get(flag, "learner")
    if option not in option_names(name):
        having = listed([other for other in MODELS if option in option_names(other)], 20)
        raise OptionError(f"{_shown(flag)} does not apply to the model {name!r}; it is for {having}.")
    inner = MODELS[name].wraps
    if inner and flag in ("threshold", "test"):
        raise OptionError(
            f"{_shown(flag)}: the model {name!r} selects its threshold itself. Give the candidates, for example "
            f"--set grid=[0.01,0.03], or use {inner}."
        )


def _learner(name: str, chosen: Mapping[str, Any], columns: Sequence[str]) -> Any:
    """The given learner, or the default of the model, with the given settings."""
    default = default_learner(name)
    cls = learner_class(chosen["learner"]) if "learner" in chosen else type(default)
    own = {field.name for field in fields(cls)}
    for flag, option in OF_LEARNER.items():
        if flag in chosen and option not in own:
            having = [known for known in LEARNERS if option in {field.name for field in fields(learner_class(known))}]
            known = next(known for known, label in LEARNERS.items() if label == cls.__name__)
            raise OptionError(f"{_shown(flag)} does not apply to {known}; it is for --learner {' or '.join(having)}.")
    values = {option: _value(flag, chosen[flag], columns) for flag, option in OF_LEARNER.items() if flag in chosen}
    return replace(default if isinstance(default, cls) else cls(), **values)


def _value(flag: str, text: Any, columns: Sequence[str]) -> Any:
    if flag == "order":
        return text if text == "given" else _known(flag, names_in(text), columns)
    if flag == "tiers":
        return tuple(_known(flag, names_in(tier), columns) for tier in text.split("/"))
    if flag in ("require", "forbid"):
        return tuple(_arc(flag, arc, columns) for arc in text)
    return _test(text) if flag == "test" else text


def _known(flag: str, names: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in columns:
            hint = nearest(name, columns) or f" The columns are {listed(columns, 20)}."
            raise DataError(f"{_shown(flag)}: there is no column {name!r}.{hint}")
    return tuple(names)


def _arc(flag: str, text: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Two columns separated by a colon; the names may contain colons themselves."""
    parts = text.split(":")
    ways = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
    if not ways:
        raise OptionError(f"{_shown(flag)} {text}: write parent:child, for example {_shown(flag)} age:income.")
    return _known(flag, next((way for way in ways if set(way) <= set(columns)), ways[0]), columns)


def _test(text: str) -> Any:
    """An independence test, with its level or threshold if given.

    >>> _test("g2:0.01")
    GSquared(level=0.01)
    """
    from tanager.structure import independence_tests

    kind, colon, level = text.partition(":")
    if kind not in TESTS:
        raise OptionError(f"--test: unknown test {kind!r}.{nearest(kind, TESTS) or f' Known tests: {listed(TESTS)}.'}")
    try:
        return getattr(independence_tests, TESTS[kind])(*([float(level)] if colon else []))
    except ValueError:
        raise OptionError(f"--test {text}: {level!r} is not a number. Write {kind}:0.01, for example.") from None


def _shown(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"


def read_network(path: str) -> Any:
    """A network from a file."""
    from tanager.networks.files import read_network as read

    return read(path)


# --- results --------------------------------------------------------------------------------------------


def learner_results(model: Any) -> dict[str, Any]:
    """The results of the structure learner of a model: one, or one for every class."""
    found = getattr(model, "best_", model).learned_
    return {str(label): own for label, own in found.items()} if isinstance(found, dict) else {"": found}


def print_trace(screen: Screen, model: Any, target: str) -> None:
    """Print every step, phase by phase, and before them the settings that a wrapper tried."""
    if hasattr(model, "table"):
        screen.say(f"\nTried\n{model.table()}")
    for label, learned in learner_results(model).items():
        screen.say("\nSteps of the structure learner" + (f", {target} = {label}" if label else ""), style="bold")
        screen.say(learned.trace())
