"""Layered layout: arcs point down, rarely cross and run straight; layers are not too long.

After Sugiyama, Tagawa and Toda (1981). Connected components are laid out on their own (``component_layout.py``) and
packed here. Lengths are in inches, and y grows upwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tanager.networks.graph import has_path, reachable
from tanager.plot.component_layout import GAP, Point, best_drawing
from tanager.plot.leaves import LeafBlock, leaf_groups

Arc = tuple[str, str]

SHAPE = 1.6  # width to height of a picture that fills a screen


@dataclass(frozen=True)
class Layout:
    """The centre of every box, and the points of every arc, from the edge of its parent to that of its child.

    The points of an arc come in pairs: it runs straight from the first to the second of a pair, then curves to the
    next.
    """

    places: dict[str, Point]
    routes: dict[Arc, list[Point]]
    width: float
    height: float

    def moved(self, x: float, y: float) -> Layout:
        """The layout shifted."""
        return Layout(
            {name: (a + x, b + y) for name, (a, b) in self.places.items()},
            {arc: [(a + x, b + y) for a, b in points] for arc, points in self.routes.items()},
            self.width,
            self.height,
        )


def layered(sizes: Mapping[str, Point], arcs: Sequence[Arc], top: str | None = None, *, shape: float = SHAPE) -> Layout:
    """Place boxes of these sizes (width, height).

    Arcs point down where possible. An arc that would close a cycle with those before it points up, and so do arcs that
    lead to ``top``, which is placed above all others.

    >>> layout = layered({"a": (1.0, 0.2), "b": (1.0, 0.2)}, [("a", "b")])
    >>> [name for name, (x, y) in sorted(layout.places.items(), key=lambda place: -place[1][1])]
    ['a', 'b']
    """
    place = {name: i for i, name in enumerate(sizes)}
    down = _downward([(place[a], place[b]) for a, b in arcs], place.get(top or ""))
    layout = _with_blocks(sizes, down, top, shape)
    routes = {arc: layout.routes[arc] if arc in layout.routes else layout.routes[arc[::-1]][::-1] for arc in arcs}
    return Layout(layout.places, routes, layout.width, layout.height)


def _with_blocks(sizes: Mapping[str, Point], down: Sequence[tuple[int, int]], top: str | None, shape: float) -> Layout:
    """Many leaves of one parent are laid out as one block, and then put in its place."""
    names = list(sizes)
    groups = leaf_groups(down, names.index(top) if top in names else None)
    blocks = {parent: LeafBlock([names[i] for i in own], sizes, shape) for parent, own in groups.items()}
    inside = {i for own in groups.values() for i in own}
    number = {old: new for new, old in enumerate(i for i in range(len(names)) if i not in inside)}
    outer = {name: size for i, (name, size) in enumerate(sizes.items()) if i not in inside}
    key = {parent: f"leaves of {names[parent]}\0" for parent in groups}  # no column has such a name
    outer |= {key[parent]: block.size for parent, block in blocks.items()}
    arcs = [(number[a], number[b]) for a, b in down if b not in inside]
    arcs += [(number[parent], len(number) + at) for at, parent in enumerate(blocks)]
    layout = _pieces(outer, arcs, top, shape)
    for parent, block in blocks.items():
        (x, y), (width, height) = layout.places.pop(key[parent]), block.size
        corner, trunk = (x - width / 2, y - height / 2), layout.routes.pop((names[parent], key[parent]))
        for name, (across, up) in block.places.items():
            layout.places[name] = corner[0] + across, corner[1] + up
            layout.routes[names[parent], name] = block.route(name, trunk, corner)
    return layout


def _pieces(sizes: Mapping[str, Point], down: Sequence[tuple[int, int]], top: str | None, shape: float) -> Layout:
    """Connected components, each laid out on its own, and packed."""
    names = list(sizes)
    pieces, alone = [], []
    for piece in _joined(len(names), down):
        if len(piece) > 1 or names[piece[0]] == top:
            pieces.append(_drawn([names[i] for i in piece], sizes, [(names[a], names[b]) for a, b in down], top, shape))
        else:
            alone.append(names[piece[0]])
    pieces.sort(key=lambda piece: (top not in piece.places, -piece.height))
    return _packed(pieces, alone, sizes, shape)


def _downward(arcs: Iterable[tuple[int, int]], top: int | None) -> list[tuple[int, int]]:
    """The arcs without cycles, each once: an arc that would close a cycle, or lead to the top, is reversed."""
    arcs = list(arcs)
    # Greedy, in the order given: callers put the arcs first that matter most. A smallest set of arcs to reverse would
    # be NP-hard to find, and cycles are rare: they arise in comparisons, in multi-nets, and from arcs into the top.
    below: list[list[int]] = [[] for _ in range(max((max(arc) for arc in arcs), default=-1) + 1)]
    for parent, child in arcs:
        if child == top or (parent != top and has_path(below, child, parent)):
            parent, child = child, parent
        if child not in below[parent]:
            below[parent].append(child)
    return [(parent, child) for parent, own in enumerate(below) for child in own]


def _joined(n: int, arcs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The connected components."""
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in arcs:
        neighbours[a].append(b)
        neighbours[b].append(a)
    components = {min(nodes): sorted(nodes) for nodes in (reachable(neighbours, [i]) for i in range(n))}
    return list(components.values())


def _drawn(
    names: Sequence[str], sizes: Mapping[str, Point], arcs: Iterable[Arc], top: str | None, shape: float
) -> Layout:
    place = {name: i for i, name in enumerate(names)}
    own = [(place[a], place[b]) for a, b in arcs if a in place]
    drawing = best_drawing([sizes[name] for name in names], own, place.get(top or ""), shape)
    places = {name: drawing.place(i) for name, i in place.items()}
    routes = {(names[a], names[b]): points for (a, b), points in drawing.routes().items()}
    return Layout(places, routes, drawing.width, drawing.height)


# --- packing ----------------------------------------------------------------------------------------------------


def _packed(pieces: Sequence[Layout], alone: Sequence[str], sizes: Mapping[str, Point], shape: float) -> Layout:
    """Components side by side, in several lines if need be; below them the boxes without arcs, as a grid."""
    cell = max((sizes[name][0] for name in alone), default=0.0)
    # A width such that everything together has the wanted shape, but never less than the widest component.
    area = sum((piece.width + GAP) * (piece.height + GAP) for piece in pieces)
    area += sum((cell + GAP) * (sizes[name][1] + GAP) for name in alone)
    room = max([math.sqrt(area * shape), *(piece.width for piece in pieces)], default=0.0)
    lines: list[list[Layout]] = []
    used = math.inf
    for piece in pieces:
        if used + piece.width > room:
            lines.append([])
            used = 0.0
        lines[-1].append(piece)
        used += piece.width + GAP
    across = max(int((room + GAP) / (cell + GAP)), 1)
    across = math.ceil(len(alone) / max(math.ceil(len(alone) / across), 1))
    for at in range(0, len(alone), across or 1):
        lines.append([_box(name, cell, sizes[name][1]) for name in alone[at : at + across]])
    return _stacked(lines)


def _box(name: str, width: float, height: float) -> Layout:
    """A single box, in the centre of a cell of this size."""
    return Layout({name: (width / 2, height / 2)}, {}, width, height)


def _stacked(lines: Sequence[Sequence[Layout]]) -> Layout:
    """Lines of layouts below each other, centred vertically within a line."""
    wide = [sum(block.width + GAP for block in line) - GAP for line in lines]
    tall = [max(block.height for block in line) for line in lines]
    room, height = max(wide, default=0.0), sum(tall) + GAP * max(len(lines) - 1, 0)
    places: dict[str, Point] = {}
    routes: dict[Arc, list[Point]] = {}
    y = height
    for line, long, high in zip(lines, wide, tall, strict=True):
        x = (room - long) / 2
        for block in line:
            there = block.moved(x, y - (high + block.height) / 2)
            places |= there.places
            routes |= there.routes
            x += block.width + GAP
        y -= high + GAP
    return Layout(places, routes, room, height)
