"""Pictures of influence diagrams for the page: where every shape is, and how arcs run. Lengths are in px."""

from __future__ import annotations

from typing import Any

from tanager.decisions.diagram import DecisionNetwork
from tanager.plot.layers import layered
from tanager.studio.picture import INCH, box_of


def decision_picture(diagram: DecisionNetwork) -> dict[str, Any]:
    """Places of nodes and routes of arcs, in pixels, as the view of networks draws them."""
    room = {"chance": (1.35, 1.25), "decision": (1.05, 1.1), "utility": (1.7, 1.9)}  # of a box around the label
    lines, sizes = {}, {}
    for name in diagram.names:
        lines[name], width, height = box_of(name)
        wide, high = room[diagram.kind(name)]
        sizes[name] = (wide * width / INCH, high * height / INCH)
    layout = layered(sizes, diagram.arcs)

    def turned(point: tuple[float, float]) -> list[float]:
        return [round(INCH * point[0], 1), round(INCH * (layout.height - point[1]), 1)]

    nodes = []
    for name, size in sizes.items():
        x, y = turned(layout.places[name])
        shape = {"name": name, "lines": lines[name], "x": x, "y": y, "width": INCH * size[0], "height": INCH * size[1]}
        nodes.append(shape | {"kind": diagram.kind(name), "shade": 0.0, "faint": False})
    arcs = [
        {
            "parent": parent,
            "child": child,
            "points": [turned(point) for point in layout.routes[parent, child]],
            "width": 1.6,
            "style": "known" if diagram.kind(child) == "decision" else "plain",
            "head": True,
        }
        for parent, child in diagram.arcs
    ]
    return {"nodes": nodes, "arcs": arcs, "width": INCH * layout.width, "height": INCH * layout.height}
