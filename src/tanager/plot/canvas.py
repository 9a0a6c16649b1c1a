"""What all pictures share: paper, ink and how they are written."""

from __future__ import annotations

from os import PathLike
from typing import Any

Path = str | PathLike[str]

INK, QUIET, FAINT, ARC = "#22303c", "#5b6975", "#c9d1d8", "#c2571a"
# Told apart in print and by most colour-blind readers.
COLOURS = ("#2f6f9f", "#c2571a", "#3b8a5a", "#8a5aa8", "#b59b1d", "#5b6975", "#b03a5b", "#4aa3a8")


def canvas(width: float, height: float, *, margin: float, head: float, foot: float) -> tuple[Any, Any]:
    """A figure whose axes are measured in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    inner = max(width, 5.6)
    figure = Figure(figsize=(inner + 2 * margin, height + head + foot), dpi=120, facecolor="white")
    FigureCanvasAgg(figure)
    full = figure.get_figwidth(), figure.get_figheight()
    axes = figure.add_axes((margin / full[0], foot / full[1], inner / full[0], height / full[1]))
    spare = (inner - width) / 2
    axes.set_xlim(-spare, width + spare)
    axes.set_ylim(0, height)
    axes.set_axis_off()
    axes.set_clip_on(False)
    return figure, axes


def near_edge(figure: Any, top: float) -> dict[str, float]:
    return {"y": 1 - top / figure.get_figheight()}


def written(figure: Any, path: Path | None) -> Any:
    if path is not None:
        figure.savefig(path)
    return figure
