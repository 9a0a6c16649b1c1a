"""Of networks with very many columns, what can be read: columns that tell about the class, and the strongest arcs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from tanager.networks.network import Arc
from tanager.plot.drawable import DrawableNetwork


def strongest(shown: Sequence[DrawableNetwork], most: int, first: Collection[Arc] = ()) -> list[DrawableNetwork]:
    """The networks with at most so many columns: those of the arcs in ``first``, and then of the strongest ones.

    Where it is known what columns tell about the class, those that tell most are a third of the columns, unless there
    are arcs in ``first``: strong arcs alone may join columns that have nothing to do with the class. Arcs whose
    strength is not known come last, those of variables with many arcs before others.
    """
    names = shown[0].names
    if len(names) <= most:
        return list(shown)
    arcs = _by_strength(shown, first)
    alone = sorted(names, key=lambda name: -shown[0].class_information.get(name, 0.0))
    known = set(names)
    telling = [name for name in alone if shown[0].class_information.get(name, 0.0) > 0.0]
    kept = set() if first else set(telling[: most // 3])
    for ends in [*arcs, *((name,) for name in alone)]:
        new = (known & set(ends)) - kept
        if len(kept) + len(new) <= most:
            kept |= new
    return [_only(drawable, kept) for drawable in shown]


def _by_strength(shown: Sequence[DrawableNetwork], first: Collection[Arc]) -> list[Arc]:
    """All arcs, the strongest first."""
    size: dict[Arc, float] = {}
    for drawable in shown:
        for arc in drawable.all_arcs:
            own = drawable.strengths[arc].value if arc in drawable.strengths else 0.0
            size[arc] = math.inf if arc in first else max(own, size.get(arc, 0.0))
    degree = Counter(end for arc in size for end in arc)
    return sorted(size, key=lambda arc: (-size[arc], -degree[arc[0]] - degree[arc[1]]))


def _only(drawable: DrawableNetwork, kept: Collection[str]) -> DrawableNetwork:
    """The network of these columns and the class."""
    ends = {*kept, drawable.target}
    return replace(
        drawable,
        names=tuple(name for name in drawable.names if name in kept),
        arcs=[arc for arc in drawable.arcs if ends.issuperset(arc)],
        implied=tuple(name for name in drawable.implied if name in kept),
    )
