"""Diagrams as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tanager.errors import DataError
from tanager.networks.values import values_from_plain, values_to_plain

if TYPE_CHECKING:
    from tanager.decisions.diagram import DecisionNetwork

KINDS = ("chance", "decision", "utility")


def to_dict(diagram: DecisionNetwork) -> dict[str, Any]:
    """Plain data for JSON."""
    tables = diagram.tables
    nodes: list[dict[str, Any]] = []
    for name in diagram.names:
        node: dict[str, Any] = {"name": name, "kind": diagram.kind(name)}
        if node["kind"] != "utility":
            node["values"] = values_to_plain(diagram.values(name))
        node["parents"] = list(diagram.parents(name))
        nodes.append(node | ({"table": tables[name].tolist()} if name in tables else {}))
    return {"nodes": nodes} | ({"order": list(diagram.given_order)} if diagram.given_order is not None else {})


def parts(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a diagram is made from, out of plain data."""
    nodes = data["nodes"]
    names = [node["name"] for node in nodes]
    if len(set(names)) < len(names):
        raise DataError("two nodes have the same name. Rename one of them.")
    by_kind: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for node in nodes:
        if node["kind"] not in by_kind:
            raise DataError(
                f"the node {node['name']!r} is of kind {node['kind']!r}; expected one of {', '.join(KINDS)}."
            )
        by_kind[node["kind"]].append(node)
    return {
        "chance": {node["name"]: values_from_plain(node["values"]) for node in by_kind["chance"]},
        "decisions": {node["name"]: values_from_plain(node["values"]) for node in by_kind["decision"]},
        "utilities": [node["name"] for node in by_kind["utility"]],
        "arcs": [(parent, node["name"]) for node in nodes for parent in node["parents"]],
        "tables": {node["name"]: node["table"] for node in nodes if "table" in node},
        "order": data.get("order"),
    }
