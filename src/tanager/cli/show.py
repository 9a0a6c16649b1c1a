"""``tanager show``: what a model has learned, as text and as a picture."""

from __future__ import annotations

import os
from shlex import quote
from typing import Any

import click

from tanager.cli.networks import check_picture, described, draw, listed_arcs, load_network_or_model, print_text
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted, table
from tanager.cli.show_model import arc_entry, model_report, print_model
from tanager.cli.show_nomogram import show_nomogram
from tanager.errors import OptionError


@click.command(
    epilog=examples(
        "tanager show iris.tanager",
        "tanager show iris.tanager -o iris.png",
        "tanager show iris.tanager --compare-to expert.bif -o changes.svg",
        "tanager show iris.tanager --nomogram -o nomogram.svg",
        "tanager show alarm.bif",
    )
)
@click.argument("model")
@click.option("--output", "--plot", "-o", metavar="FILE", help="Draw the network: a .png, .svg or .pdf file.")
@click.option("--compare-to", metavar="FILE", help="Another model or network: compare the arcs, and draw both.")
@click.option("--target", "-t", metavar="NAME", help="The class variable of a network file.")
@click.option("--nomogram", is_flag=True, help="Show what each value adds to the log-odds, and draw that instead.")
@click.option("--answer", metavar="CLASS", help="--nomogram: the class that values speak for.")
@click.option("--against", metavar="CLASS", help="--nomogram: the class that it is compared with.")
@click.option("--top", default=15, metavar="N", help="Number of columns and classes to list.")
@json_option
def command(
    model: str,
    output: str | None,
    compare_to: str | None,
    target: str | None,
    nomogram: bool,
    answer: str | None,
    against: str | None,
    top: int,
    as_json: bool,
) -> None:
    """Show what MODEL has learned: classes, the most informative columns, and the arcs of its network.

    MODEL may also be a network file (.bif, .xml, .json, .dot). Mutual information is in nats, that of arcs given the
    other parents. The picture of a model that averages over many networks shows the tree (TAN) over its counts.
    """
    screen = Screen(as_json=as_json)
    if nomogram and compare_to is not None:
        raise click.UsageError("--nomogram shows one model; leave --compare-to out.", click.get_current_context())
    if (answer or against) and not nomogram:
        raise click.UsageError("--answer and --against are for --nomogram.", click.get_current_context())
    check_inputs(model, compare_to)
    if output is not None:
        check_output(output, model, compare_to)
        check_picture(output)
    if nomogram:
        show_nomogram(screen, model, answer, against, output, top)
        return
    with screen.waiting("starting"):
        from tanager.networks.network import Network

        what = load_network_or_model(model)
        other = None if compare_to is None else load_network_or_model(compare_to)
        for path, given in ((model, what), (compare_to, other)):
            if other is not None and hasattr(given, "rules"):
                raise OptionError(f"{path} has rules, not a network to compare. See: tanager rules {quote(str(path))}")
            if other is not None and hasattr(type(given), "tree_"):
                raise OptionError(f"{path} has a tree of classifiers, not a network to compare.")
        is_network = isinstance(what, Network)
        report = {"file": model, "size": os.path.getsize(model)}
        report |= _network_report(what, target) if is_network else model_report(what)
    if is_network:
        _print_network(screen, what, report)
        print_text(screen, what, target)
    else:
        print_model(screen, what, report, top)
    if other is not None:
        report["compared"] = _compare(screen, what, other, target, str(compare_to))
    if output is not None:
        draw(screen, what, output, target=target, compare_to=other)
        screen.say(f"\nPicture written to {output}")
    screen.document(report | ({"picture": output} if output else {}))


def _network_report(network: Any, target: str | None) -> dict[str, Any]:
    from tanager.plot.drawable import drawable_networks

    (subject,) = drawable_networks(network, target)
    return {
        "variables": [{"name": name, "values": network.values(name)} for name in network.names],
        "arcs": [arc_entry(subject, arc) for arc in network.arcs],
        "tables": len(network.tables) == len(network.names),
    }


def _print_network(screen: Screen, network: Any, report: dict[str, Any]) -> None:
    screen.say(f"Network in {described(report['file'])}", style="bold")
    what = f"{counted(len(network.names), 'variable')}, {counted(len(network.arcs), 'arc')}"
    tables = counted(network.n_parameters, "parameter") if report["tables"] else "no tables"
    screen.say(f"{what}, {tables}")
    screen.say()


def _compare(screen: Screen, what: Any, other: Any, target: str | None, path: str) -> dict[str, Any]:
    """Print and return the arcs of both networks, grouped by how they differ."""
    from tanager.plot.drawable import drawable_networks
    from tanager.plot.network import compared

    shown = drawable_networks(what, target)
    _, pens = compared(shown, drawable_networks(other, shown[0].target if len(shown) == 1 else target))
    found: dict[str, list[tuple[str, str]]] = {}
    for pen in pens:
        for arc, drawn in pen.items():
            found.setdefault(drawn.meaning, []).append(arc)
    screen.say(f"\nCompared to {path}", style="bold")
    lines = [(meaning, str(len(arcs)), listed_arcs(arcs)) for meaning, arcs in found.items()]
    screen.show(table(("", "arcs", ""), lines, right=["arcs"], elastic=[""]))
    return {meaning: [list(arc) for arc in arcs] for meaning, arcs in found.items()}
