"""Boxes with names, frames, and arcs between boxes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from tanager.plot.component_layout import Point
from tanager.plot.figure import text_size
from tanager.plot.style import EDGE, FADED, FAINT, INK, NAME, paled


class ArcStyle(NamedTuple):
    """How an arc is drawn, and what that means in the legend."""

    colour: str
    meaning: str
    dashes: str = "-"


class ShapeDrawer:
    """Draws shapes relative to a point of the figure."""

    def __init__(self, axes: Any, x: float, y: float) -> None:
        self.axes, self.x, self.y = axes, x, y

    def moved(self, x: float, y: float) -> ShapeDrawer:
        return ShapeDrawer(self.axes, self.x + x, self.y + y)

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        self._round(x, y, width, height, 0.14, fc="none", ec=FAINT, lw=1.2, zorder=0)

    def box(
        self, middle: Point, size: Point, label: str, fill: Any, *, bold: bool = False, faint: bool = False
    ) -> None:
        (x, y), (width, height) = middle, size
        edge = FAINT if faint else EDGE
        self._round(x - width / 2, y - height / 2, width, height, 0.07, fc=fill, ec=edge, lw=0.8, zorder=3)
        ink = "white" if bold else FADED if faint else INK
        weight = "bold" if bold else "normal"
        spot = {"ha": "center", "va": "center", "linespacing": 1.1}
        self.axes.text(self.x + x, self.y + y, label, fontsize=NAME, color=ink, weight=weight, zorder=4, **spot)

    def _round(self, x: float, y: float, width: float, height: float, corner: float, **ink: Any) -> None:
        from matplotlib.patches import FancyBboxPatch

        style = f"round,pad=0,rounding_size={corner}"
        self.axes.add_patch(
            FancyBboxPatch((self.x + x, self.y + y), width, height, boxstyle=style, clip_on=False, **ink)
        )

    def arc(
        self, points: Sequence[Point], style: ArcStyle, width: float, *, head: bool = True, faint: bool = False
    ) -> None:
        """A line through points in pairs: straight from the first to the second of a pair, then a curve to the next."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path as Curve

        points = [(self.x + x, self.y + y) for x, y in points]
        vertices, codes = [points[0]], [Curve.MOVETO]
        for at, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(points)):
            if at % 2 == 0 and y0 != y1:
                vertices, codes = [*vertices, (x1, y1)], [*codes, Curve.LINETO]
            elif at % 2 == 1:
                vertices += [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
                codes += [Curve.CURVE4] * 3
        arrow = f"-|>,head_length={2.3 + 0.25 * width:.2f},head_width={1.1 + 0.12 * width:.2f}" if head else "-"
        self.axes.add_patch(
            FancyArrowPatch(
                path=Curve(vertices, codes),
                arrowstyle=arrow,
                mutation_scale=2,
                lw=width,
                ls=style.dashes,
                color=paled(style.colour) if faint else style.colour,
                joinstyle="miter",
                zorder=1 if faint else 2,
                clip_on=False,
            )
        )


def box_size(label: str, *, bold: bool = False) -> Point:
    """Width and height of a box that a label fits in."""
    width, height = text_size(label, NAME, bold=bold)
    return max(width + 0.2, 0.4), height + 0.12
