"""Pictures of influence diagrams: chance nodes are ovals, decisions boxes, utilities diamonds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tanager.decisions.diagram import DecisionNetwork
from tanager.errors import OptionError
from tanager.plot.component_layout import Point
from tanager.plot.figure import Path, add_title, figure_in_inches, save_figure
from tanager.plot.layers import layered
from tanager.plot.legend import Legend
from tanager.plot.names import wrapped_apart
from tanager.plot.shapes import ArcStyle, ShapeDrawer, box_size
from tanager.plot.style import EDGE, GREY, RED, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, HEAD = 0.3, 0.55  # inches
FILLS = {"chance": "#e3edf5", "decision": "#fbe3c8", "utility": "#dcefdc"}  # told apart by their shapes, too
ROOM = {
    "chance": (1.3, 1.5),
    "decision": (1.05, 1.25),
    "utility": (1.6, 2.3),
}  # of a label: width and height of its shape
KNOWN = ArcStyle(RED, "known to the decision", "--")
DEPENDS = ArcStyle(GREY, "depends on")


@styled
def plot_decisions(diagram: DecisionNetwork, path: Path | None = None, *, title: str | None = None) -> Figure:
    """Draw an influence diagram: chance nodes as ovals, decisions as boxes, utilities as diamonds.

    Dashed arcs lead to decisions, from what is known when they are made.

    Parameters
    ----------
    diagram : DecisionNetwork
        What to draw.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    title : str or None, default=None
        What to write above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Examples
    --------
    >>> from tanager import DecisionNetwork, plot_decisions
    >>> arcs = [("rain", "comfort"), ("umbrella", "comfort")]
    >>> figure = plot_decisions(DecisionNetwork({"rain": "ny"}, {"umbrella": "ny"}, ["comfort"], arcs))
    Traceback (most recent call last):
    tanager.errors.DataError: variable 'rain': its values are given as one text 'ny'. Give a list of values.
    >>> figure = plot_decisions(DecisionNetwork({"rain": (0, 1)}, {"umbrella": (0, 1)}, ["comfort"], arcs))
    >>> [text.get_text() for text in figure.axes[0].texts][:3]
    ['rain', 'umbrella', 'comfort']
    """
    if not isinstance(diagram, DecisionNetwork):
        raise OptionError(f"{type(diagram).__name__} is no DecisionNetwork. Draw networks with plot_network.")
    labels = wrapped_apart(diagram.names)
    sizes = {name: _size(label, diagram.kind(name)) for name, label in labels.items()}
    layout = layered(sizes, diagram.arcs)
    legend = Legend().heading("oval: chance").heading("box: decision").heading("diamond: utility")
    legend.heading("arcs:").line(DEPENDS.meaning, DEPENDS.colour, 1.4)
    if any(diagram.parents(name) for name in diagram.decisions):
        legend.line(KNOWN.meaning, KNOWN.colour, 1.4, KNOWN.dashes)
    room = max(layout.width, 5.6)
    foot = legend.height(room) + 0.35
    figure, axes = figure_in_inches(
        layout.width, max(layout.height, MARGIN), margin=MARGIN, head=HEAD if title else MARGIN, foot=foot
    )
    drawer = ShapeDrawer(axes, 0.0, 0.0)
    for arc in diagram.arcs:
        points = _to_edges(layout.routes[arc], arc, diagram, layout.places, sizes)
        drawer.arc(points, KNOWN if diagram.kind(arc[1]) == "decision" else DEPENDS, 1.4)
    for name, label in labels.items():
        _draw(axes, diagram.kind(name), layout.places[name], sizes[name], label)
    legend.draw(axes, layout.width / 2, -0.2, room)
    add_title(figure, title, top=0.16)
    return save_figure(figure, path)


def _size(label: str, kind: str) -> Point:
    """Width and height of a shape that a label fits in."""
    (width, height), (wider, higher) = box_size(label), ROOM[kind]
    return width * wider, height * higher


def _draw(axes: Any, kind: str, middle: Point, size: Point, label: str) -> None:
    from matplotlib.patches import Ellipse, Polygon, Rectangle

    (x, y), (width, height) = middle, size
    ink: dict[str, Any] = {"fc": FILLS[kind], "ec": EDGE, "lw": 0.9, "zorder": 3, "clip_on": False}
    if kind == "chance":
        axes.add_patch(Ellipse(middle, width, height, **ink))
    elif kind == "decision":
        axes.add_patch(Rectangle((x - width / 2, y - height / 2), width, height, **ink))
    else:
        corners = [(x - width / 2, y), (x, y + height / 2), (x + width / 2, y), (x, y - height / 2)]
        axes.add_patch(Polygon(corners, closed=True, **ink))
    axes.text(x, y, label, ha="center", va="center", linespacing=1.1, zorder=4)


def _to_edges(
    points: list[Point],
    arc: tuple[str, str],
    diagram: DecisionNetwork,
    places: dict[str, Point],
    sizes: dict[str, Point],
) -> list[Point]:
    """An arc between boxes, with its ends on the edges of what is drawn in these boxes."""
    ends = [
        on_edge(points[at], diagram.kind(name), places[name], sizes[name]) for at, name in ((0, arc[0]), (-1, arc[1]))
    ]
    return [ends[0], *points[1:-1], ends[1]]


def on_edge(point: Point, kind: str, middle: Point, size: Point) -> Point:
    """The point straight above or below on the edge of a shape; ``point`` is on the edge of its box."""
    aside = min(2 * abs(point[0] - middle[0]) / size[0], 1.0)
    share = {"chance": math.sqrt(1 - aside**2), "decision": 1.0, "utility": 1 - aside}[kind]
    return point[0], middle[1] + (point[1] - middle[1]) * share
