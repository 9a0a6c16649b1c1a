"""``tanager convert``: networks in other formats, and as pictures."""

from __future__ import annotations

from typing import Any

import click

from tanager.cli.networks import (
    NETWORKS,
    PICTURES,
    draw,
    extension,
    load_network_or_model,
    network_as_text,
    single_network,
)
from tanager.cli.options import examples, json_option
from tanager.cli.output import check_output, open_output
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
@click.option("--class", "label", metavar="VALUE", help="Which network, for a model with one for every class.")
@click.option("--target", "-t", metavar="NAME", help="The class variable, for pictures of a network.")
@click.option("--title", metavar="TEXT", help="Title of a picture.")
@json_option
def command(source: str, output: str, label: str | None, target: str | None, title: str | None, as_json: bool) -> None:
    """Convert the network in IN, a model or a network file, to OUT.

    The extension of OUT gives the format: .bif, .xml or .xmlbif (XMLBIF), .dot or .json for other programs; .png,
    .svg or .pdf for a picture, .txt for a text drawing. The tables are those that the model predicts with.
    """
    screen = Screen(as_json=as_json)
    if extension(output) not in (*NETWORKS, *PICTURES, ".txt"):
        known = ", ".join((*NETWORKS, *PICTURES, ".txt"))
        raise OptionError(f"cannot write {output!r}: unknown extension. Use one of {known}.")
    check_inputs(source)
    check_output(output, source)
    with screen.waiting("starting"):
        what = load_network_or_model(source)
        if label is not None or extension(output) in NETWORKS:
            what = single_network(what, source, label)
    n_arcs = _write(screen, what, output, target, title)
    arcs = "" if n_arcs is None else f": {counted(n_arcs, 'arc')}"
    screen.say(f"{source} written to {output}{arcs}")
    screen.document({"source": source, "output": output} | ({} if n_arcs is None else {"arcs": n_arcs}))


def _write(screen: Screen, what: Any, output: str, target: str | None, title: str | None) -> int | None:
    """Write in the format of the extension; returns the number of arcs of a single network."""
    from tanager.networks.files import write_network
    from tanager.networks.network import Network

    if extension(output) in PICTURES:
        draw(screen, what, output, target=target, title=title)
    elif extension(output) == ".txt":
        with open_output(output) as file:
            file.write(network_as_text(what, target).encode())
    else:
        write_network(what, output)
    return len(what.arcs) if isinstance(what, Network) else None
