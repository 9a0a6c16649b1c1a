"""``tanager convert``: networks in other formats and as pictures, models as ONNX and SQL."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
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

ELSEWHERE = (".onnx", ".sql")


@click.command(
    epilog=examples(
        "tanager convert iris.tanager iris.bif",
        "tanager convert alarm.bif alarm.png",
        "tanager convert alarm.xml alarm.bif",
        "tanager convert iris.tanager iris.onnx",
        "tanager convert iris.tanager iris.sql --dialect duckdb --table irises",
    )
)
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--class", "label", metavar="VALUE", help="Which network, for a model with one for every class.")
@click.option("--target", "-t", metavar="NAME", help="The class variable, for pictures of a network.")
@click.option("--title", metavar="TEXT", help="Title of a picture.")
@click.option("--dialect", type=click.Choice(["sqlite", "duckdb", "postgres"]), help="Of SQL; sqlite if not given.")
@click.option("--table", metavar="NAME", help="What SQL selects from; the name of OUT if not given.")
@click.option("--keep", metavar="NAME", multiple=True, help="A column that SQL gives back, such as a key; repeatable.")
@json_option
def command(
    source: str,
    output: str,
    label: str | None,
    target: str | None,
    title: str | None,
    dialect: str | None,
    table: str | None,
    keep: tuple[str, ...],
    as_json: bool,
) -> None:
    """Convert the model or network in IN to OUT.

    The extension of OUT gives the format: .bif, .xml or .xmlbif (XMLBIF), .dot or .json for other programs; .png,
    .svg or .pdf for a picture, .txt for a text drawing. The tables are those that the model predicts with. A model
    that is to answer elsewhere is written as .onnx (for onnxruntime) or .sql (a SELECT; single networks).
    """
    screen = Screen(as_json=as_json)
    if extension(output) not in (*NETWORKS, *PICTURES, ".txt", *ELSEWHERE):
        known = ", ".join((*NETWORKS, *PICTURES, ".txt", *ELSEWHERE))
        raise OptionError(f"cannot write {output!r}: unknown extension. Use one of {known}.")
    check_inputs(source)
    check_output(output, source)
    options = {"--dialect": dialect, "--table": table, "--keep": keep}
    for option, _ in (item for item in options.items() if item[1] and extension(output) != ".sql"):
        raise OptionError(f"{option} is for SQL, and {output} is none. Leave it out, or name a file that ends in .sql.")
    if extension(output) in ELSEWHERE:
        _write_elsewhere(screen, source, output, dialect or "sqlite", table or Path(output).stem, keep)
        return
    with screen.waiting("starting"):
        what = load_network_or_model(source)
        if label is not None or extension(output) in NETWORKS:
            what = single_network(what, source, label)
    n_arcs = _write(screen, what, output, target, title)
    arcs = "" if n_arcs is None else f": {counted(n_arcs, 'arc')}"
    screen.say(f"{source} written to {output}{arcs}")
    screen.document({"source": source, "output": output} | ({} if n_arcs is None else {"arcs": n_arcs}))


def _write_elsewhere(screen: Screen, source: str, output: str, dialect: str, table: str, keep: tuple[str, ...]) -> None:
    """Write a model so that it answers without tanager."""
    from tanager.cli.reading import load_model
    from tanager.export.onnx import to_onnx
    from tanager.export.sql import to_sql

    if extension(source) in NETWORKS:
        raise OptionError(
            f"{source} is a network and not a model. Fit one: tanager fit --model network --network {quote(source)}"
        )
    with screen.waiting("writing"):
        model = load_model(source)
        if extension(output) == ".onnx":
            data = to_onnx(model).SerializeToString()
        else:
            data = to_sql(model, dialect=dialect, table=table, keep=list(keep) or None).encode()
        with open_output(output) as file:
            file.write(data)
    name = type(model).__name__
    screen.say(f"{name} in {source} written to {output}")
    screen.document({"source": source, "output": output, "classifier": name, "bytes": len(data)})


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
