"""Flags that say how a network is learned, and what they become: a learner, and options of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import click

from tanager.cli.models import LEARNERS, MODELS, learner_class, option_names
from tanager.cli.options import Command, names_in
from tanager.cli.screen import Screen, listed
from tanager.errors import DataError, OptionError, nearest

TESTS = {"mi": "Threshold", "g2": "GSquared", "x2": "Pearson"}
SCORES = ("bic", "aic", "bdeu", "k2", "ll")
FIT_BY = ("likelihood", "conditional-likelihood", "weights", "elr")

# Flags, and the fields of learners or the options of models that they set.
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
    """How a network is learned."""
    for option in (
        click.option("--trace", is_flag=True, help="Tell every step that led to the network."),
        click.option("--fit-by", type=click.Choice(FIT_BY), metavar="HOW", help=f"Parameters by {', '.join(FIT_BY)}."),
        click.option("--sum-out", is_flag=True, help="Sum missing values out exactly, instead of leaving them out."),
        click.option("--class-root/--no-class-root", default=None, help="Whether the class is before all columns."),
        click.option("--max-parents", type=int, metavar="N", help="Most parents of a column, beside the class."),
        click.option("--score", type=click.Choice(SCORES), metavar="NAME", help=f"To make large: {', '.join(SCORES)}."),
        click.option("--test", metavar="TEST", help="Of independence: mi, g2 or x2; or with a level, g2:0.01."),
        click.option("--threshold", type=float, metavar="NATS", help="Less information than this is none."),
        click.option("--tiers", metavar="A,B/C,D", help="No arc from a later tier to an earlier one."),
        click.option("--forbid", multiple=True, metavar="A:B", help="No arc from A to B; may be given several times."),
        click.option("--require", multiple=True, metavar="A:B", help="An arc from A to B; may be given several times."),
        click.option("--order", metavar="COLUMNS", help="Causes before effects; or: given, the order of the file."),
        click.option("--learner", type=click.Choice(list(LEARNERS)), metavar="NAME", help=f"By {', '.join(LEARNERS)}."),
        click.option("--network", metavar="FILE", help="A network to take the arcs from; see: tanager convert."),
    ):
        command = option(command)
    return command


def structure(name: str, given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """What the flags say about a model over these columns (the class among them), as its options."""
    said = {flag: given[flag] for flag in FLAGS if given[flag] is not None and given[flag] != () and _on(flag, given)}
    for flag in (*said, *(["trace"] if given["trace"] else [])):
        _refuse_for_model(flag, name)
    if name == "network" and "network" not in said:
        raise OptionError("the model 'network' needs a network: --network FILE, such as tanager convert writes.")
    options: dict[str, Any] = {OF_MODEL[flag]: said[flag] for flag in OF_MODEL if flag in said}
    if "missing" in options:
        options["missing"] = "marginal"
    if "fit_by" in options:
        options["fit_by"] = options["fit_by"].replace("-", "_")
    if "network" in options:
        options["network"] = read(options["network"])
    if not said.keys().isdisjoint(("learner", *OF_LEARNER)):
        options["learner"] = _learner(name, said, columns)
    return options


def _on(flag: str, given: Mapping[str, Any]) -> bool:
    return flag != "sum_out" or given[flag]


def _refuse_for_model(flag: str, name: str) -> None:
    option = OF_MODEL.get(flag, "learner")
    if option not in option_names(name):
        having = listed([other for other in MODELS if option in option_names(other)], 20)
        raise OptionError(f"{_shown(flag)} means nothing to the model {name!r}; it is for {having}.")
    inner = MODELS[name].wraps
    if inner and flag in ("threshold", "test"):
        raise OptionError(
            f"{_shown(flag)}: the model {name!r} finds its threshold by trying. Say which to try, for example "
            f"--set grid=[0.01,0.03], or take {inner}."
        )


def _learner(name: str, said: Mapping[str, Any], columns: Sequence[str]) -> Any:
    """The learner that was named, or the usual one of the model, with what was said about it."""
    import tanager

    usual = getattr(tanager, MODELS[MODELS[name].wraps or name].cls).usual
    cls = learner_class(said["learner"]) if "learner" in said else type(usual)
    own = {field.name for field in fields(cls)}
    for flag, option in OF_LEARNER.items():
        if flag in said and option not in own:
            having = [known for known in LEARNERS if option in {field.name for field in fields(learner_class(known))}]
            known = next(known for known, label in LEARNERS.items() if label == cls.__name__)
            raise OptionError(f"{_shown(flag)} means nothing to {known}; it is for --learner {' or '.join(having)}.")
    values = {option: _value(flag, said[flag], columns) for flag, option in OF_LEARNER.items() if flag in said}
    return replace(usual if isinstance(usual, cls) else cls(), **values)


def _value(flag: str, said: Any, columns: Sequence[str]) -> Any:
    if flag == "order":
        return said if said == "given" else _known(flag, names_in(said), columns)
    if flag == "tiers":
        return tuple(_known(flag, names_in(tier), columns) for tier in said.split("/"))
    if flag in ("require", "forbid"):
        return tuple(_arc(flag, text, columns) for text in said)
    return _test(said) if flag == "test" else said


def _known(flag: str, names: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in columns:
            hint = nearest(name, columns) or f" The columns are {listed(columns, 20)}."
            raise DataError(f"{_shown(flag)}: there is no column {name!r}.{hint}")
    return tuple(names)


def _arc(flag: str, text: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Two columns with a colon between them; the names themselves may have colons."""
    parts = text.split(":")
    ways = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(1, len(parts))]
    if not ways:
        raise OptionError(f"{_shown(flag)} {text}: write parent:child, for example {_shown(flag)} age:income.")
    return _known(flag, next((way for way in ways if set(way) <= set(columns)), ways[0]), columns)


def _test(text: str) -> Any:
    """A test of independence, with its level or threshold where one is given.

    >>> _test("g2:0.01")
    GSquared(level=0.01)
    """
    import tanager

    kind, colon, level = text.partition(":")
    if kind not in TESTS:
        raise OptionError(f"--test: there is no test {kind!r}.{nearest(kind, TESTS) or f' Known are {listed(TESTS)}.'}")
    try:
        return getattr(tanager, TESTS[kind])(*([float(level)] if colon else []))
    except ValueError:
        raise OptionError(f"--test {text}: {level!r} is no number. Write {kind}:0.01, for example.") from None


def _shown(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"


def read(path: str) -> Any:
    """A network in a file."""
    import tanager

    return tanager.read_network(path)


# --- what came of it --------------------------------------------------------------------------------------------


def found_in(model: Any) -> dict[str, Any]:
    """What the learner of a model did: one answer, or one for every class."""
    found = getattr(model, "best_", model).learned_
    return {str(label): own for label, own in found.items()} if isinstance(found, dict) else {"": found}


def print_trace(screen: Screen, model: Any, target: str) -> None:
    """Every step, phase by phase, and before it what a wrapper tried."""
    if hasattr(model, "table"):
        screen.say(f"\nTried\n{model.table()}")
    for label, learned in found_in(model).items():
        screen.say("\nHow the network was found" + (f", {target} = {label}" if label else ""), style="bold")
        screen.say(learned.trace())


def used_columns(model: Any) -> list[str]:
    """The columns that answers depend on."""
    from tanager.scoring.forms import ProductOfSums
    from tanager.scoring.network_view import form_columns

    names = model.encoder_.schema.names
    if not hasattr(model, "counts_"):
        return list(names)
    form = model.structure_
    return [names[i] for i in sorted(form_columns(form))] if isinstance(form, ProductOfSums) else list(names)
