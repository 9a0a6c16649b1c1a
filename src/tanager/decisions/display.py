"""What a notebook shows of an influence diagram and of what to choose by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.display import Html, counted, first, heading, note, page, picture, preformatted
from tanager.labelled import LabelledTable
from tanager.networks.display import tables_folded
from tanager.shortcuts import public

if TYPE_CHECKING:
    from tanager.decisions.diagram import DecisionNetwork
    from tanager.decisions.policy import Solution

MOST_NODES = 40  # that are drawn without being asked
MOST_TABLES = 12  # that are shown


def decisions_html(diagram: DecisionNetwork) -> Html:
    """The drawing, and its tables for those who click."""
    about = ", ".join(
        counted(len(names), *words)
        for names, words in (
            (diagram.chance, ("chance node",)),
            (diagram.decisions, ("decision",)),
            (diagram.utilities, ("utility", "utilities")),
        )
    )
    drawn = (
        picture(public("decisions_svg")(diagram), about) if len(diagram) <= MOST_NODES else note("Draw it: .plot().")
    )
    tables = [table for name in diagram.tables if (table := _labelled(diagram, name)) is not None]
    shown, n_more = first(tables, MOST_TABLES)
    parts = [Html(table._repr_html_()) for table in shown]
    return page(heading("DecisionNetwork", about), drawn, tables_folded(parts, n_more))


def _labelled(diagram: DecisionNetwork, name: str) -> LabelledTable | None:
    """The table of a node; None for a utility that is one number alone."""
    is_chance = diagram.kind(name) == "chance"
    if is_chance:
        return diagram.network.cpt(name)
    axes = {parent: diagram.values(parent) for parent in diagram.parents(name)}
    return LabelledTable(diagram.tables[name], axes, name) if axes else None


def solution_html(solution: Solution) -> Html:
    """The expected utility, and what to choose."""
    rules = [page(heading(name), preformatted(policy.rules())) for name, policy in solution.policies.items()]
    sure = "" if solution.certain else " (no single policy can be improved; others may be better together)"
    return page(heading("Solution", f"expected utility {solution.expected_utility:.6g}{sure}"), *rules)
