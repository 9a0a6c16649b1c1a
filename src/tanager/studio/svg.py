"""Networks as SVG text, as the page draws them: without a browser, and without matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tanager.decisions.diagram import DecisionNetwork
from tanager.networks.network import Network
from tanager.plot.component_layout import Point
from tanager.plot.decisions import FILLS, KNOWN, on_edge
from tanager.studio.decision_picture import decision_picture
from tanager.studio.picture import LINE, Places, picture_of

MARGIN = 12.0
HEAD = 7.0  # the length of the head of a thin arc
PAD = 12.0  # between columns and the frame around them
BOX, BOX_LINE, ARC, INK, QUIET, BRAND = "#ffffff", "#7f929f", "#6b7680", "#1b2730", "#566570", "#0b4f71"
SHADE = (169, 196, 217)  # of the column that tells most about the class
FILLS_BY_KIND = {**FILLS, "frame": "none"}
FONT = "system-ui, 'Segoe UI', 'Liberation Sans', sans-serif"


def network_svg(
    network: Network,
    target: str | None = None,
    *,
    positions: Places | None = None,
    shades: Mapping[str, float] | None = None,
    framed: bool = False,
) -> str:
    """A network as SVG, with the layout of ``plot_network``; needs no other package.

    Parameters
    ----------
    network : Network
        What to draw.
    target : str, default=None
        The variable that is the class: drawn on top, with pale arcs.
    positions : mapping from name to (x, y), default=None
        Where boxes are, in px; None lays them out.
    shades : mapping from name to number, default=None
        What each column tells about the class; the one that tells most is the darkest.
    framed : bool, default=False
        A class that is a parent of all columns has one arc to a frame around them, in place of an arc to each.

    Returns
    -------
    str
        The picture as text.

    Examples
    --------
    >>> from tanager import Network, network_svg
    >>> network = Network({"rain": ("no", "yes"), "grass": ("dry", "wet")}, [("rain", "grass")])
    >>> text = network_svg(network)
    >>> text[:34], text.count("<rect"), text.count("<polygon")
    ('<svg xmlns="http://www.w3.org/2000', 2, 1)
    """
    if target is not None:
        network.index(target)
    picture = picture_of(network, target, positions or {}, shades=shades)
    return svg_of(_with_frame(picture) if framed else picture)


def decisions_svg(diagram: DecisionNetwork) -> str:
    """An influence diagram as SVG, as ``plot_decisions`` draws it; needs no other package.

    Chance nodes are ovals, decisions boxes, utilities diamonds; dashed arcs lead to decisions, from what is known then.

    Parameters
    ----------
    diagram : DecisionNetwork
        The diagram.

    Returns
    -------
    str
        SVG text.

    Examples
    --------
    >>> from tanager import DecisionNetwork, decisions_svg
    >>> arcs = [("rain", "comfort"), ("umbrella", "comfort")]
    >>> text = decisions_svg(DecisionNetwork({"rain": (0, 1)}, {"umbrella": (0, 1)}, ["comfort"], arcs))
    >>> text.count("<ellipse"), text.count("<rect"), text.count("<polygon")
    (1, 1, 3)
    """
    picture = decision_picture(diagram)
    nodes = {node["name"]: node for node in picture["nodes"]}
    for arc in picture["arcs"]:  # which end at the box around a shape
        for at, name in ((0, arc["parent"]), (-1, arc["child"])):
            node = nodes[name]
            box = (node["x"], node["y"]), (node["width"], node["height"])
            arc["points"][at] = on_edge(arc["points"][at], node["kind"], *box)
    return svg_of(picture)


def svg_of(picture: Mapping[str, Any]) -> str:
    """The SVG of what ``picture_of`` or ``decision_picture`` gives."""
    nodes = {node["name"]: node for node in picture["nodes"]}
    left, top, _, _ = _bounds(nodes.values(), MARGIN)
    across = [x for arc in picture["arcs"] for x, _ in arc["points"] or ()]  # arcs may go around boxes
    left = min([left, *(x - MARGIN for x in across)])
    width = max([picture["width"], *across]) - left + MARGIN
    height = picture["height"] - top + MARGIN
    arcs = [_arc(arc, nodes) for arc in picture["arcs"]]
    about = f"A network of {len(nodes)} variables and {len(arcs)} arcs"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" role="img" '
            'style="max-width: 100%; height: auto">',
            f"<title>{about}</title>",
            *arcs,
            f'<g font-family="{FONT}" font-size="13" text-anchor="middle">',
            *map(_node, nodes.values()),
            "</g>",
            "</svg>",
        ]
    )


def _with_frame(picture: dict[str, Any]) -> dict[str, Any]:
    """The picture with a frame around all columns, where the class is above and a parent of all of them."""
    columns = [node for node in picture["nodes"] if node["kind"] != "class"]
    rest = [arc for arc in picture["arcs"] if arc["style"] != "class"]
    if not columns or len(picture["arcs"]) - len(rest) < len(columns):
        return picture
    (head,) = (node for node in picture["nodes"] if node["kind"] == "class")
    left, top, right, bottom = _bounds(columns, PAD)
    below = head["y"] + head["height"] / 2
    if top < below + HEAD:
        return picture
    frame = {"name": "all columns", "lines": (), "kind": "frame", "shade": 0.0, "faint": False}
    frame |= {"x": (left + right) / 2, "y": (top + bottom) / 2, "width": right - left, "height": bottom - top}
    line = {"points": [(head["x"], below), (head["x"], top)], "width": 1.6, "style": "plain", "head": True}
    arc = {"parent": head["name"], "child": frame["name"], **line}
    right, bottom = max(right, picture["width"]), max(bottom, picture["height"])
    return {"nodes": [frame, *picture["nodes"]], "arcs": [*rest, arc], "width": right, "height": bottom}


def _bounds(nodes: Iterable[Mapping[str, Any]], room: float) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of all boxes, with some room around them."""
    boxes = [(node["x"], node["y"], node["width"] / 2 + room, node["height"] / 2 + room) for node in nodes]
    boxes = boxes or [(0.0, 0.0, room, room)]
    least = (min(x - w for x, _, w, _ in boxes), min(y - h for _, y, _, h in boxes))
    return *least, max(x + w for x, _, w, _ in boxes), max(y + h for _, y, _, h in boxes)


def _node(node: Mapping[str, Any]) -> str:
    """A box with its name; the shade says how much a column tells about the class."""
    x, y, width, height = node["x"], node["y"], node["width"], node["height"]
    is_class = node["kind"] == "class"
    fill = BRAND if is_class else FILLS_BY_KIND.get(node["kind"]) or _shaded(node["shade"])
    ink = BOX if is_class else QUIET if node["faint"] else INK
    dashes = ' stroke-dasharray="4 3"' if node["faint"] else ""
    bold = ' font-weight="600"' if is_class else ""
    middle = (len(node["lines"]) - 1) / 2
    lines = [
        f'<text x="{x:.1f}" y="{y + LINE * (i - middle) + 4.5:.1f}" fill="{ink}"{bold}>{escape(line)}</text>'
        for i, line in enumerate(node["lines"])
    ]
    ink_of_line = f'fill="{fill}" stroke="{BRAND if is_class else BOX_LINE}" stroke-width="1.2"{dashes}'
    box = f"<{_shape(node['kind'], x, y, width, height)} {ink_of_line}/>"
    return f"<g data-name={quoteattr(node['name'])}><title>{escape(node['name'])}</title>{box}{''.join(lines)}</g>"


def _shape(kind: str, x: float, y: float, width: float, height: float) -> str:
    """An oval for chances, a diamond for utilities, and a box for all else."""
    if kind == "chance":
        return f'ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{width / 2:.1f}" ry="{height / 2:.1f}"'
    left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    if kind == "utility":
        return f'polygon points="{x:.1f},{top:.1f} {right:.1f},{y:.1f} {x:.1f},{bottom:.1f} {left:.1f},{y:.1f}"'
    return f'rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"'


def _shaded(share: float) -> str:
    return "#" + "".join(f"{round(255 + (tone - 255) * share):02x}" for tone in SHADE)


def _arc(arc: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    pale = arc["style"] == "class"
    points = arc["points"] or _straight(nodes[arc["parent"]], nodes[arc["child"]])
    (x0, y0), (x1, y1) = points[-2:]
    width = 1.1 if pale else arc["width"]
    known = arc["style"] == "known"
    ink, dashes = (KNOWN.colour, ' stroke-dasharray="5 3"') if known else (ARC, "")
    line = f'<path d="{_path(points)}" fill="none" stroke="{ink}" stroke-width="{width}"{dashes}/>'
    head = f'<polygon points="{_head((x1, y1), math.atan2(y1 - y0 or 1e-9, x1 - x0), width)}" fill="{ink}"/>'
    title = f"<title>{escape(arc['parent'])} → {escape(arc['child'])}</title>"
    opacity = ' opacity="0.35"' if pale else ""
    return f"<g{opacity}>{title}{line}{head if arc['head'] else ''}</g>"


def _path(points: list[Point]) -> str:
    """Through points in pairs: straight within a pair, then a curve to the next, as the layout means them."""
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for i in range(1, len(points)):
        (x0, y0), (x1, y1) = points[i - 1], points[i]
        middle = (y0 + y1) / 2
        curve = f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
        parts.append(f"L{x1:.1f} {y1:.1f}" if i % 2 else curve)
    return "".join(parts)


def _head(tip: Point, angle: float, width: float) -> str:
    """The corners of an arrow head."""
    length = HEAD + 1.6 * width
    corners = [tip] + [
        (tip[0] - length * math.cos(angle + turn), tip[1] - length * math.sin(angle + turn)) for turn in (0.42, -0.42)
    ]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _straight(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Point]:
    """From edge to edge, for boxes that were moved by hand."""
    return [_edge(one, other), _edge(other, one)]


def _edge(box: Mapping[str, Any], other: Mapping[str, Any]) -> Point:
    """Where the line to another box leaves a box."""
    dx, dy = other["x"] - box["x"], other["y"] - box["y"]
    if dx == dy == 0:
        return box["x"], box["y"] + box["height"] / 2
    scale = min(box["width"] / 2 / abs(dx or 1e-9), box["height"] / 2 / abs(dy or 1e-9))
    return box["x"] + dx * scale, box["y"] + dy * scale
