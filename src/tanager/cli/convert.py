"""``tanager convert``: networks for other programs, and for people."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.networks import NETWORKS, PICTURES, draw, ending, load, one_of, text_of
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output, written
from tanager.cli.reading import check_inputs
from tanager.cli.screen import Screen, counted
from tanager.errors import OptionError


@click.command(
    epilog=examples(
        "tanager convert iris.tanager iris.bif",
        "tanager convert alarm.bif alarm.png",
        "tanager convert alarm.xml alarm.bif",
    )
)
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--class", "label", metavar="VALUE", help="Of a model with a network for every class: which one.")
@click.option("--target", "-t", metavar="NAME", help="For pictures of a network: the variable that is the class.")
@click.option("--title", metavar="TEXT", help="For pictures.")
@json_option
def command(source: str, output: str, label: str | None, target: str | None, title: str | None, as_json: bool) -> None:
    """Write the network in IN, a model or a network in a file, to OUT.

    The ending says the format: .bif, .xml or .xmlbif (XMLBIF), .dot or .json for other programs; .png, .svg or .pdf
    for a picture, .txt for a drawing in characters. Tables are those that the model answers with.
    """
    screen = Screen(as_json=as_json)
    if ending(output) not in (*NETWORKS, *PICTURES, ".txt"):
        known = ", ".join((*NETWORKS, *PICTURES, ".txt"))
        raise OptionError(f"cannot write {output!r}: the ending says no format. Use one of {known}.")
    check_inputs(source)
    check_output(output, source)
    with screen.waiting("starting"):
        what = load(source)
        if label is not None or ending(output) in NETWORKS:
            what = one_of(what, source, label)
    n_arcs = _write(screen, what, output, target, title)
    arcs = "" if n_arcs is None else f": {counted(n_arcs, 'arc')}"
    screen.say(f"{source} written to {output}{arcs}")
    screen.document({"source": source, "output": output} | ({} if n_arcs is None else {"arcs": n_arcs}))


def _write(screen: Screen, what: Any, output: str, target: str | None, title: str | None) -> int | None:
    """In the format that the ending says; the number of arcs where it is one network."""
    import tanager

    if ending(output) in PICTURES:
        draw(screen, what, output, target=target, title=title)
    elif ending(output) == ".txt":
        with written(output) as file:
            file.write(text_of(what, target).encode())
    else:
        tanager.write_network(what, output)
    return len(what.arcs) if isinstance(what, tanager.Network) else None
