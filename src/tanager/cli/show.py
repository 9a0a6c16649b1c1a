"""``tanager show``: what a model has learned, in words and as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import click

from tanager.cli.networks import check_picture, described, draw, listed_arcs, load, print_text
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.reading import check_inputs, rows_in
from tanager.cli.rules import say_rules
from tanager.cli.screen import Screen, counted, listed, table
from tanager.errors import OptionError


@click.command(
    epilog=examples(
        "tanager show iris.tanager",
        "tanager show iris.tanager -o iris.png",
        "tanager show iris.tanager --compare-to expert.bif -o changes.svg",
        "tanager show alarm.bif",
    )
)
@click.argument("model")
@click.option("--output", "--plot", "-o", metavar="FILE", help="Draw the network: a .png, .svg or .pdf file.")
@click.option("--compare-to", metavar="FILE", help="Another model or network: say which arcs it has, and draw both.")
@click.option("--target", "-t", metavar="NAME", help="Of a network in a file: the variable that is the class.")
@click.option("--top", default=15, metavar="N", help="How many columns and classes to list.")
@json_option
def command(
    model: str, output: str | None, compare_to: str | None, target: str | None, top: int, as_json: bool
) -> None:
    """Say what MODEL has learned: classes, columns that tell most about them, and who depends on whom.

    MODEL may also be a network in a file (.bif, .xml, .json, .dot). Information is in nats, of arcs given the other
    parents. A picture of a model that votes over many networks shows the tree (TAN) over its counts.
    """
    screen = Screen(as_json=as_json)
    check_inputs(model, compare_to)
    if output is not None:
        check_output(output, model, compare_to)
        check_picture(output)
    with screen.waiting("starting"):
        import tanager

        what = load(model)
        other = None if compare_to is None else load(compare_to)
        for path, given in ((model, what), (compare_to, other)):
            if other is not None and hasattr(given, "rules"):
                raise OptionError(f"{path} has rules and no network that could be compared. See: tanager rules {path}")
        alone = isinstance(what, tanager.Network)
        report = {"file": model, "size": os.path.getsize(model)}
        report |= _of_network(what, target) if alone else _of_model(what)
    if alone:
        _print_network(screen, what, report)
        print_text(screen, what, target)
    else:
        _print_model(screen, what, report, top)
    if other is not None:
        report["compared"] = _compare(screen, what, other, target, str(compare_to))
    if output is not None:
        draw(screen, what, output, target=target, compare_to=other)
        screen.say(f"\nDrawn to {output}")
    screen.document(report | ({"picture": output} if output else {}))


# --- a network in a file ----------------------------------------------------------------------------------------


def _of_network(network: Any, target: str | None) -> dict[str, Any]:
    from tanager.plot.subject import subjects

    (subject,) = subjects(network, target)
    return {
        "variables": [{"name": name, "values": network.values(name)} for name in network.names],
        "arcs": [_arc(subject, arc) for arc in network.arcs],
        "tables": len(network.tables) == len(network.names),
    }


def _print_network(screen: Screen, network: Any, report: dict[str, Any]) -> None:
    screen.say(f"Network in {described(report['file'])}", style="bold")
    what = f"{counted(len(network.names), 'variable')}, {counted(len(network.arcs), 'arc')}"
    tables = counted(network.n_parameters, "parameter") if report["tables"] else "no tables"
    screen.say(f"{what}, {tables}")
    screen.say()


# --- a model ----------------------------------------------------------------------------------------------------


def _of_model(model: Any) -> dict[str, Any]:
    from tanager.cli.columns import told

    sizes = model.class_count_.tolist()
    changed = {key: value for key, value in model.get_params(deep=False).items() if not _usual(model, key, value)}
    kinds = {column.name: column.kind for column in model.encoder_.schema.columns}
    information = dict(sorted(told(model).items(), key=lambda item: -item[1]))
    return {
        "classifier": type(model).__name__,
        "options": {key: _short(value) for key, value in changed.items()},
        "target": model.target_name_,
        "rows": rows_in(model),
        "classes": [{"class": c, "rows": n} for c, n in zip(model.classes_.tolist(), sizes, strict=True)],
        "columns": [{"name": name, "kind": kinds[name], "information": value} for name, value in information.items()]
        + [{"name": name, "kind": kind} for name, kind in kinds.items() if name not in information],
        **_structure(model),
    }


def _usual(model: Any, option: str, value: Any) -> bool:
    default = getattr(type(model)(), option)
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _short(value: Any) -> Any:
    """An option as a person would write it: learners and models without what they usually have."""
    if isinstance(value, bool | int | float | str):
        return value
    if not is_dataclass(value) or hasattr(value, "get_params"):
        return str(value)
    told = [f"{f.name}={getattr(value, f.name)!r}" for f in fields(value) if getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(told)})"


def _structure(model: Any) -> dict[str, Any]:
    """What was tried; the arcs of one network or of one for every class, or the strongest pairs under a vote."""
    from tanager.plot.subject import one_network, subjects

    found: dict[str, Any] = {}
    if hasattr(model, "rules"):
        return {"rules": [str(rule) for rule in model.rules()]}
    if hasattr(type(model), "table"):
        _ = model.structure_  # so that the table follows all rows
        found["tried"] = [{key: value for key, value in line.items() if key != "model"} for line in model.table_]
    if not one_network(model):
        return found | _pairs(model.counts_)
    shown = subjects(model)
    if len(shown) == 1:
        return found | {"arcs": [_arc(shown[0], arc) for arc in shown[0].arcs]}
    return found | {"networks": [{"class": s.target, "arcs": [_arc(s, arc) for arc in s.arcs]} for s in shown]}


def _arc(subject: Any, arc: tuple[str, str]) -> dict[str, Any]:
    information = subject.strengths[arc].value if arc in subject.strengths else None
    return {"parent": arc[0], "child": arc[1], "information": information}


def _pairs(counts: Any) -> dict[str, Any]:
    """The pairs of columns that tell most about each other, given the class."""
    from tanager.structure.measures import conditional_information

    if counts.order < 2:
        return {}
    names, shared = counts.schema.names, conditional_information(counts)
    pairs = [(float(shared[i, j]), names[i], names[j]) for i in range(len(names)) for j in range(i)]
    strongest = sorted(pairs, key=lambda pair: -pair[0])[:1000]
    return {"pairs": [{"column": b, "other": a, "information": value} for value, a, b in strongest]}


def _print_model(screen: Screen, model: Any, report: dict[str, Any], top: int) -> None:
    rows, classes, columns = report["rows"], report["classes"], report["columns"]
    screen.say(f"{report['classifier']} in {described(report['file'])}", style="bold")
    target = f" in {report['target']!r}" if report["target"] else ""
    what = f"{counted(len(columns), 'column')}, {counted(len(classes), 'class', 'classes')}{target}"
    screen.say(f"learned from {counted(rows, 'row')}: {what}")
    if report["options"]:
        screen.say(f"options: {listed(f'{key}={value}' for key, value in report['options'].items())}")
    screen.say()
    lines = [(str(c["class"]), f"{c['rows']:,.0f}", f"{c['rows'] / max(rows, 1e-300):.1%}") for c in classes[:top]]
    screen.show(table(("class", "rows", "share"), lines, right=("rows", "share")))
    _more(screen, len(classes) - top)
    if "tried" in report:
        screen.say(f"\n{model.table()}")
    informed = [c for c in columns if "information" in c]
    if informed:
        screen.say()
        bars = [(c["information"], c["name"], c["kind"]) for c in informed[:top]]
        screen.show(_bars(screen, bars, "column", "kind", "information on the class"))
        _more(screen, len(informed) - top)
    if "rules" in report:
        screen.say()
        say_rules(screen, model.rules()[:top])
        _more(screen, len(report["rules"]) - top)
        return
    normal = [c["name"] for c in columns if "information" not in c]
    if normal:
        screen.show(f"\nDescribed by a normal distribution per class: {listed(normal, top)}")
    if report.get("pairs"):
        screen.say()
        bars = [(p["information"], p["column"], p["other"]) for p in report["pairs"][:top]]
        screen.show(_bars(screen, bars, "column", "and column", "dependence given the class"))
        _more(screen, len(report["pairs"]) - top)
    elif "arcs" in report or "networks" in report:
        screen.say()
        print_text(screen, model)


def _bars(screen: Screen, lines: Sequence[tuple[float, str, str]], first: str, second: str, what: str) -> Any:
    """Lines of two texts, a number of nats, and a bar for it."""
    most = max((value for value, _, _ in lines), default=0.0) or 1.0
    rows = [(a, b, f"{value:.3f}", screen.bar(value / most)) for value, a, b in lines]
    return table((first, second, "nats", what), rows, right=["nats"])


def _more(screen: Screen, n: int) -> None:
    if n > 0:
        screen.say(f"... and {n:,} more")


# --- two of them ------------------------------------------------------------------------------------------------


def _compare(screen: Screen, what: Any, other: Any, target: str | None, path: str) -> dict[str, Any]:
    """What became of every arc of the other network."""
    from tanager.plot.network import compared
    from tanager.plot.subject import subjects

    shown = subjects(what, target)
    _, pens = compared(shown, subjects(other, shown[0].target if len(shown) == 1 else target))
    found: dict[str, list[tuple[str, str]]] = {}
    for pen in pens:
        for arc, drawn in pen.items():
            found.setdefault(drawn.meaning, []).append(arc)
    screen.say(f"\nCompared to {path}", style="bold")
    lines = [(meaning, str(len(arcs)), listed_arcs(arcs)) for meaning, arcs in found.items()]
    screen.show(table(("", "arcs", ""), lines, right=["arcs"], elastic=[""]))
    return {meaning: [list(arc) for arc in arcs] for meaning, arcs in found.items()}
