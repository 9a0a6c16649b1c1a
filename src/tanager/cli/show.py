"""``tanager show``: what a model has learned, in words and as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output, written
from tanager.cli.reading import check_inputs, load_model
from tanager.cli.screen import Screen, counted, file_size, listed, table
from tanager.errors import OptionError

PARENTS = "depends on, beside the class"
MOST_IN_TREE = 60  # columns
PICTURES = (".png", ".svg", ".pdf")


@click.command(epilog=examples("tanager show iris.tanager", "tanager show iris.tanager -o iris.png"))
@click.argument("model")
@click.option("--output", "-o", metavar="FILE", help="Draw the network: a .png, .svg or .pdf file (needs matplotlib).")
@click.option("--top", default=15, metavar="N", help="How many columns and arcs to list.")
@json_option
def command(model: str, output: str | None, top: int, as_json: bool) -> None:
    """Say what MODEL has learned: classes, columns that tell most about them, and who depends on whom.

    Information is in nats. A picture of a model that votes over many networks shows the tree (TAN) over its counts.
    """
    screen = Screen(as_json=as_json)
    check_inputs(model)
    if output is not None:
        check_output(output, model)
        if Path(output).suffix.lower() not in PICTURES:
            raise OptionError(f"cannot draw {output!r}: the ending says no picture. Use one of {', '.join(PICTURES)}.")
    with screen.waiting("starting"):
        classifier = load_model(model)
        report = {"file": model, "size": os.path.getsize(model), **_report(classifier)}
    _print(screen, report, top)
    if output is not None:
        with screen.waiting("drawing"):
            _draw(screen, classifier, output)
        screen.say(f"\nDrawn to {output}")
    screen.document(report | ({"picture": output} if output else {}))


def _report(model: Any) -> dict[str, Any]:
    from tanager.cli.columns import told

    counts = model.counts_
    changed = {key: value for key, value in model.get_params(deep=False).items() if not _usual(model, key, value)}
    kinds = {column.name: column.kind for column in counts.schema.columns}
    information = dict(sorted(told(model).items(), key=lambda item: -item[1]))
    return {
        "classifier": type(model).__name__,
        "options": {
            key: value if isinstance(value, bool | int | float | str) else str(value) for key, value in changed.items()
        },
        "target": model.target_name_,
        "rows": counts.n_rows,
        "classes": [
            {"class": c, "rows": n} for c, n in zip(model.classes_.tolist(), counts.class_counts.tolist(), strict=True)
        ],
        "columns": [{"name": name, "kind": kinds[name], "information": value} for name, value in information.items()]
        + [{"name": name, "kind": kind} for name, kind in kinds.items() if name not in information],
        **_structure(model),
    }


def _usual(model: Any, option: str, value: Any) -> bool:
    default = getattr(type(model)(), option)
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _structure(model: Any) -> dict[str, Any]:
    """The arcs of one network, or the strongest pairs under a vote, each with its information given the class."""
    from tanager.structure.measures import conditional_information

    found: dict[str, Any] = {}
    if hasattr(type(model), "table"):
        found["candidates"] = [
            {key: line[key] for key in ("candidate", "accuracy", "log_loss", "rmse")} for line in _candidates(model)
        ]
        model = model.best_
    counts = model.counts_
    if counts.order < 2:
        return found
    names, shared = counts.schema.names, conditional_information(counts)
    if hasattr(type(model), "parents_"):
        arcs = [(parent, child) for child, parents in model.parents_.items() for parent in parents]
        places = {name: i for i, name in enumerate(names)}
        found["arcs"] = [_arc("parent", p, "child", c, shared[places[c], places[p]]) for p, c in arcs]
        return found
    pairs = [(float(shared[i, j]), names[i], names[j]) for i in range(len(names)) for j in range(i)]
    strongest = sorted(pairs, key=lambda pair: -pair[0])[:1000]
    return found | {"pairs": [_arc("column", b, "other", a, value) for value, a, b in strongest]}


def _candidates(model: Any) -> Any:
    model._structure(fresh=True)
    return model.table_


def _arc(first: str, a: str, second: str, b: str, information: float) -> dict[str, Any]:
    return {first: a, second: b, "information": float(information)}


def _print(screen: Screen, report: dict[str, Any], top: int) -> None:
    rows, classes, columns = report["rows"], report["classes"], report["columns"]
    screen.say(f"{report['classifier']} in {report['file']} ({file_size(report['size'])})", style="bold")
    target = f" in {report['target']!r}" if report["target"] else ""
    what = f"{counted(len(columns), 'column')}, {counted(len(classes), 'class', 'classes')}{target}"
    screen.say(f"learned from {counted(rows, 'row')}: {what}")
    if report["options"]:
        screen.say(f"options: {listed(f'{key}={value}' for key, value in report['options'].items())}")
    screen.say()
    lines = [(str(c["class"]), f"{c['rows']:,.0f}", f"{c['rows'] / max(rows, 1e-300):.1%}") for c in classes[:top]]
    screen.show(table(("class", "rows", "share"), lines, right=("rows", "share")))
    _more(screen, len(classes) - top)
    if "candidates" in report:
        lines = [(c["candidate"], *(f"{c[key]:.4f}" for key in ("accuracy", "log_loss"))) for c in report["candidates"]]
        screen.say()
        screen.show(table(("candidate", "accuracy", "log loss"), lines, right=("accuracy", "log loss")))
    informed = [c for c in columns if "information" in c]
    if informed:
        screen.say()
        bars = [(c["information"], c["name"], c["kind"]) for c in informed[:top]]
        screen.show(_bars(screen, bars, "column", "kind", "information on the class"))
        _more(screen, len(informed) - top)
    normal = [c["name"] for c in columns if "information" not in c]
    if normal:
        screen.show(f"\nDescribed by a normal distribution per class: {listed(normal, top)}")
    if "arcs" in report:
        _print_arcs(screen, report["arcs"], [c["name"] for c in columns], top)
    elif report.get("pairs"):
        screen.say()
        bars = [(p["information"], p["column"], p["other"]) for p in report["pairs"][:top]]
        screen.show(_bars(screen, bars, "column", "and column", "dependence given the class"))
        _more(screen, len(report["pairs"]) - top)


def _bars(screen: Screen, lines: Sequence[tuple[float, str, str]], first: str, second: str, what: str) -> Any:
    """Lines of two texts, a number of nats, and a bar for it."""
    most = max((value for value, _, _ in lines), default=0.0) or 1.0
    rows = [(a, b, f"{value:.3f}", screen.bar(value / most)) for value, a, b in lines]
    return table((first, second, "nats", what), rows, right=["nats"])


def _more(screen: Screen, n: int) -> None:
    if n > 0:
        screen.say(f"... and {n:,} more")


def _print_arcs(screen: Screen, arcs: list[dict[str, Any]], columns: list[str], top: int) -> None:
    """A tree where every column has at most one parent and they are not too many, else a line for each column."""
    parents: dict[str, list[dict[str, Any]]] = {}
    for arc in arcs:
        parents.setdefault(arc["child"], []).append(arc)
    screen.say()
    if not arcs:
        screen.say("No column depends on another one given the class.")
    elif max(len(own) for own in parents.values()) > 1 or len(columns) > MOST_IN_TREE:
        lines = [
            (name, ", ".join(f"{arc['parent']} ({arc['information']:.3f})" for arc in parents.get(name, [])))
            for name in columns
        ]
        screen.show(table(("column", PARENTS), lines[:top], elastic=[PARENTS]))
        _more(screen, len(lines) - top)
    else:
        screen.show(_tree(parents, columns))


def _tree(parents: dict[str, list[dict[str, Any]]], columns: list[str]) -> Any:
    from rich.tree import Tree

    root = Tree("who depends on whom, beside the class (nats)")
    branches: dict[str, Tree] = {}

    def branch(name: str) -> Tree:
        if name not in branches:
            own = parents.get(name)
            above = branch(own[0]["parent"]) if own else root
            branches[name] = above.add(f"{name} ({own[0]['information']:.3f})" if own else name)
        return branches[name]

    for name in columns:
        branch(name)
    return root


def _draw(screen: Screen, model: Any, output: str) -> None:
    import tanager

    try:
        from tanager.plot import plot_network

        core = getattr(model, "best_", model)
        if not hasattr(type(core), "parents_") and not isinstance(core, tanager.NaiveBayes):
            screen.note(
                f"{type(core).__name__} votes over many networks; the picture shows the tree (TAN) over its counts"
            )
            core = tanager.TAN.from_counts(core.counts_)
        figure = plot_network(core, target=model.target_name_)
    except ModuleNotFoundError as error:
        raise OptionError(f"drawing needs {error.name}. Install it with: pip install 'tanager[plot]'") from None
    with written(output) as file:
        figure.savefig(file, format=Path(output).suffix[1:].lower())
