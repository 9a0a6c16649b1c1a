"""What a notebook shows of a network: a drawing, and its tables for those who click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tanager.display import Html, counted, first, folded, heading, more, note, page, picture

if TYPE_CHECKING:
    from tanager.networks.network import Network

MOST_TABLES = 12  # that are shown
MOST_VARIABLES = 150  # of a network that is drawn without being asked
MOST_ARCS = 60  # of one that is no tree, whose layout takes longer: about half a second


def network_html(network: Network) -> Html:
    """The drawing, unless it would take long, and the tables."""
    about = f"A network of {counted(len(network), 'variable')}"
    svg = network._repr_svg_()
    drawn = picture(svg, about) if svg else note("Large: draw it with .plot(), or look at it with .widget().")
    tables = [name for name in network if name in network.tables and 0 not in network.shape(name)]
    shown, n_more = first(tables, MOST_TABLES)
    parts = [Html(network.cpt(name)._repr_html_()) for name in shown]
    return page(heading("Network", network_words(network)), drawn, tables_folded(parts, n_more))


def tables_folded(tables: Sequence[Html], n_more: int) -> Html:
    """Tables for those who click, and how many more there are."""
    return folded("Tables", *tables, note(more(n_more, "tables"))) if tables else Html("")


def network_words(network: Network) -> str:
    """How many variables, arcs and parameters it has."""
    known = len(network.tables)
    tables = "" if known == len(network) else ", without tables" if not known else f", with {known} of the tables"
    return (
        f"{counted(len(network), 'variable')}, {counted(len(network.arcs), 'arc')}, "
        f"{counted(network.n_parameters, 'free parameter')}{tables}"
    )


def is_quickly_drawn(
    network: Network,
    target: str | None = None,
    *,
    most_variables: int = MOST_VARIABLES,
    most_arcs: int = MOST_ARCS,
) -> bool:
    """Whether its layout takes no longer than a notebook may: trees do, and small networks. Arcs of a class do not
    count."""
    n_arcs = sum(parent != target for parent, _ in network.arcs)
    return len(network) <= most_variables and (n_arcs < len(network) or n_arcs <= most_arcs)
