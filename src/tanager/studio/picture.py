"""Pictures of networks for the page: where every box is, and how arcs run. Lengths are in px, and y grows downwards.

Places come from the layout of ``tanager.plot``. Boxes that have a place keep it; arcs between two boxes that are not
where the layout has put them have no points, and the page draws them from edge to edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tanager.networks.network import Arc, Network
from tanager.plot.component_layout import Point
from tanager.plot.layers import SHAPE, Layout, layered
from tanager.plot.names import wrapped

INCH = 96.0  # px of an inch, in which the layout thinks
LINE, PAD_X, PAD_Y = 17.0, 12.0, 7.0  # of the text in a box
MANY = 6  # children of the class, from which on its arcs do not shape the layout
GAP = 40.0  # between the class and all others, or rows of boxes that had no place yet
NARROW, WIDE = frozenset("iljtfrI.,:;'`|!()[]{}-/\\ "), frozenset("mwMW@%—…")
THIN, THICK = 1.2, 5.0

Places = Mapping[str, tuple[float, float]]
Routes = dict[Arc, list[Point]]
Rooms = Mapping[str, tuple[float, float]]  # the width and height of what is drawn in a box, below its name


@lru_cache(maxsize=4096)  # a picture asks for every box after every edit
def box_of(name: str, *, bold: bool = False) -> tuple[tuple[str, ...], float, float]:
    """The lines of a label, and the width and height of its box."""
    lines = tuple(wrapped(name).split("\n"))
    widest = max(map(_text_width, lines)) * (1.08 if bold else 1.0)
    return lines, round(max(widest + 2 * PAD_X, 44.0)), len(lines) * LINE + 2 * PAD_Y


def _text_width(text: str) -> float:
    """About the width of a text of 13 px; fonts differ, and boxes have room to spare."""
    return sum(4.6 if c in NARROW else 11.5 if c in WIDE else 13.5 if ord(c) > 0x2E80 else 7.9 for c in text)


def tidy(network: Network, target: str | None, rooms: Rooms | None = None) -> tuple[dict[str, Point], Routes]:
    """Places of all boxes, and routes of arcs, by the layered layout; the class on top.

    ``rooms`` are kept free below the names in boxes.
    """
    sizes = {name: _size(name, target, rooms) for name in network}
    inches = {name: (width / INCH, height / INCH) for name, (width, height) in sizes.items()}
    apart = target is not None and _is_above_all(network, target)
    if not apart or target is None:
        return _folded(*_turned(layered(inches, network.arcs, target)))
    head = sizes[target]
    del inches[target]
    places, routes = _folded(*_turned(layered(inches, [arc for arc in network.arcs if target not in arc])))
    if not places:
        return {target: (head[0] / 2, head[1] / 2)}, {}
    down = head[1] + GAP
    middle = (min(x for x, _ in places.values()) + max(x for x, _ in places.values())) / 2
    shift = max(head[0] / 2 - middle, 0.0)
    moved = {name: (x + shift, y + down) for name, (x, y) in places.items()}
    return (
        {target: (middle + shift, head[1] / 2), **moved},
        {arc: [(x + shift, y + down) for x, y in points] for arc, points in routes.items()},
    )


def _size(name: str, target: str | None, rooms: Rooms | None) -> tuple[float, float]:
    """The width and height of a box with its room."""
    _, width, height = box_of(name, bold=name == target)
    wide, high = (rooms or {}).get(name, (0.0, 0.0))
    return max(width, wide), height + high


def _folded(places: dict[str, Point], routes: Routes) -> tuple[dict[str, Point], Routes]:
    """Long chains make a picture too tall to be read: its lower parts come to the right, as columns of a newspaper.

    Arcs from one column to another lose their routes.
    """
    if not places:
        return places, routes
    wide = max(x for x, _ in places.values()) - min(x for x, _ in places.values()) + 2 * GAP
    tall = max(y for _, y in places.values()) + GAP
    n_columns = round((SHAPE * tall / wide) ** 0.5)
    if tall < 2 * wide or n_columns < 2:
        return places, routes
    high = tall / n_columns

    def column(name: str) -> int:
        return min(int(places[name][1] / high), n_columns - 1)

    def moved(place: Point, at: int) -> Point:
        return round(place[0] + at * (wide + GAP), 1), round(place[1] - at * high, 1)

    kept = {arc: points for arc, points in routes.items() if column(arc[0]) == column(arc[1])}
    return (
        {name: moved(place, column(name)) for name, place in places.items()},
        {arc: [moved(point, column(arc[0])) for point in points] for arc, points in kept.items()},
    )


def _is_above_all(network: Network, target: str) -> bool:
    """Whether the class is a parent of many columns: their arcs say little, and would pull all others about."""
    n = len(network.children(target))
    return not network.parents(target) and n >= MANY and 2 * n >= len(network) - 1


def _turned(layout: Layout) -> tuple[dict[str, Point], Routes]:
    """A layout in px, with y downwards."""

    def point(x: float, y: float) -> Point:
        return round(INCH * x, 1), round(INCH * (layout.height - y), 1)

    places = {name: point(*place) for name, place in layout.places.items()}
    return places, {arc: [point(*own) for own in points] for arc, points in layout.routes.items()}


def picture_of(
    network: Network,
    target: str | None,
    positions: Places,
    *,
    routes: Routes | None = None,
    shades: Mapping[str, float] | None = None,
    strengths: Mapping[Arc, float] | None = None,
    undirected: Sequence[Arc] = (),
    rooms: Rooms | None = None,
) -> dict[str, Any]:
    """What the page draws.

    Parameters
    ----------
    network, target
        The network, and which of its variables is the class.
    positions : mapping from name to (x, y)
        The centres of boxes; those that have none are put below all others. Without any, the layout places all.
    routes : mapping from arc to points, default=None
        From ``tidy``, of arcs whose boxes have not moved since.
    shades : mapping from name to number, default=None
        What a column says about the class; the darkest is the largest.
    strengths : mapping from arc to number, default=None
        The width of arcs.
    undirected : sequence of arcs
        Those that have no head, because the data do not say their direction.
    rooms : mapping from name to (width, height), default=None
        Of what the page draws in boxes, below their names.
    """
    places = {name: positions[name] for name in network if name in positions}
    if not places:
        places, routes = tidy(network, target, rooms)
    _place_rest(network, places)
    blanket = {*network.markov_blanket(target), target} if target is not None else set(network.names)
    most = max((shades or {}).values(), default=0.0)
    widest = max((strengths or {}).values(), default=0.0)
    nodes: list[dict[str, Any]] = []
    for name in network:
        width, height = _size(name, target, rooms)
        nodes.append(
            {
                "name": name,
                "lines": box_of(name)[0],
                "x": places[name][0],
                "y": places[name][1],
                "width": width,
                "height": height,
                "room": (rooms or {}).get(name, (0.0, 0.0))[1],
                "kind": "class" if name == target else "column",
                "shade": (shades or {}).get(name, 0.0) / most if most > 0 else 0.0,
                "faint": name not in blanket,
            }
        )
    free = {frozenset(arc) for arc in undirected}
    arcs = [
        {
            "parent": parent,
            "child": child,
            "points": (routes or {}).get((parent, child)),
            "width": _width((strengths or {}).get((parent, child)), widest),
            "style": "class" if parent == target else "plain",
            "head": frozenset((parent, child)) not in free,
        }
        for parent, child in network.arcs
    ]
    right = max((node["x"] + node["width"] / 2 for node in nodes), default=0.0)
    bottom = max((node["y"] + node["height"] / 2 for node in nodes), default=0.0)
    return {"nodes": nodes, "arcs": arcs, "width": right, "height": bottom}


def _width(strength: float | None, most: float) -> float:
    """The width of an arc; its area, so to speak, grows with the information."""
    if strength is None or most <= 0:
        return 1.6
    return round(THIN + (THICK - THIN) * float(max(strength, 0.0) / most) ** 0.5, 2)


def _place_rest(network: Network, places: dict[str, Any]) -> None:
    """Boxes without a place come below all others, in rows."""
    rest = [name for name in network if name not in places]
    room = max((x for x, _ in places.values()), default=800.0)
    y = max((y for _, y in places.values()), default=0.0) + GAP + LINE + 2 * PAD_Y
    x = 0.0
    for name in rest:
        width = box_of(name)[1]
        if x > 0 and x + width > max(room, 800.0):
            x, y = 0.0, y + GAP + LINE + 2 * PAD_Y
        places[name] = (x + width / 2, y)
        x += width + GAP / 2
