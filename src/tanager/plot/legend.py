"""The legend of a picture: what lines, colours and shades mean, in a few centred lines below it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tanager.plot.figure import text_size
from tanager.plot.names import shortened
from tanager.plot.style import FAINT, REMARK, SMALL

_LINE, _WITHIN, _BETWEEN, _SAMPLE = 0.21, 0.16, 0.5, 0.42
_LONGEST = 44  # characters of what something means, where that is a name


class _Item(NamedTuple):
    text: str
    sample: float  # inches to the left of the text
    draw: Callable[[Any, float, float], None] | None

    @property
    def width(self) -> float:
        return self.sample + (text_size(self.text, SMALL)[0] if self.text else -_WITHIN)


class Legend:
    """Groups of samples with their meaning; a group starts with its heading."""

    def __init__(self) -> None:
        self.groups: list[list[_Item]] = []

    def group(self) -> Legend:
        """Begin a group that speaks for itself."""
        self.groups.append([])
        return self

    def heading(self, text: str) -> Legend:
        """Begin a group."""
        self.groups.append([_Item(text, 0.0, None)])
        return self

    def line(self, text: str, colour: str, width: float, style: str = "-", alpha: float = 1.0) -> Legend:
        """A line like those of arcs."""

        def draw(axes: Any, x: float, y: float) -> None:
            ends = [x, x + _SAMPLE - 0.08]
            axes.plot(ends, [y, y], color=colour, lw=width, ls=style, alpha=alpha, solid_capstyle="butt", clip_on=False)

        self.groups[-1].append(_Item(shortened(text, _LONGEST), _SAMPLE, draw))
        return self

    def box(self, text: str, fill: Any, edge: str = FAINT) -> Legend:
        """A filled box."""

        def draw(axes: Any, x: float, y: float) -> None:
            from matplotlib.patches import Rectangle

            axes.add_patch(Rectangle((x, y - 0.06), 0.22, 0.12, fc=fill, ec=edge, lw=0.7, clip_on=False))

        self.groups[-1].append(_Item(shortened(text, _LONGEST), 0.29, draw))
        return self

    def lines(self, room: float) -> list[list[list[_Item]]]:
        """The groups in lines of at most this width."""
        lines: list[list[list[_Item]]] = []
        used = math.inf
        for group in self.groups:
            for part in _parts(group, room):
                if used + _wide(part) > room:
                    lines.append([])
                    used = 0.0
                lines[-1].append(part)
                used += _wide(part) + _BETWEEN
        return lines

    def height(self, room: float) -> float:
        """Inches that the legend takes."""
        return _LINE * len(self.lines(room))

    def draw(self, axes: Any, middle: float, top: float, room: float) -> None:
        """Draw it, centred, downwards from ``top``."""
        for n, line in enumerate(self.lines(room)):
            y = top - _LINE * (n + 0.5)
            x = middle - (sum(_wide(group) + _BETWEEN for group in line) - _BETWEEN) / 2
            for group in line:
                for item in group:
                    if item.draw is not None:
                        item.draw(axes, x, y)
                    if item.text:
                        axes.text(x + item.sample, y, item.text, ha="left", va="center", **REMARK)
                    x += item.width + _WITHIN
                x += _BETWEEN - _WITHIN


def _parts(group: Sequence[_Item], room: float) -> list[list[_Item]]:
    """A group, in several parts where it is too long for a line."""
    parts: list[list[_Item]] = [[]]
    for item in group:
        if parts[-1] and _wide([*parts[-1], item]) > room:
            parts.append([])
        parts[-1].append(item)
    return parts


def _wide(group: Sequence[_Item]) -> float:
    return sum(item.width + _WITHIN for item in group) - _WITHIN
