"""What all pictures share: paper, ink and how they are written."""

from __future__ import annotations

import os
from typing import Any

from tanager.errors import OptionError
from tanager.writing import whole_file

Path = str | os.PathLike[str]

# Endings, and what a file would say about when it was written.
PICTURES: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}

INK, QUIET, FAINT, ARC = "#22303c", "#5b6975", "#c9d1d8", "#c2571a"
# Told apart in print and by most colour-blind readers.
COLOURS = ("#2f6f9f", "#c2571a", "#3b8a5a", "#8a5aa8", "#b59b1d", "#5b6975", "#b03a5b", "#4aa3a8")


def paper(width: float, height: float) -> Any:
    """An empty figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def panel(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Axes at a place of the figure, in inches."""
    full = figure.get_figwidth(), figure.get_figheight()
    axes = figure.add_axes((left / full[0], bottom / full[1], width / full[0], height / full[1]))
    axes.tick_params(labelsize=8, colors=INK, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_color(FAINT)
    return axes


def text_size(text: str, points: float, *, bold: bool = False) -> tuple[float, float]:
    """Width and height, in inches, that a text of one or more lines takes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=points, weight="bold" if bold else "normal")
    lines = text.split("\n")
    widest = max(text_to_path.get_text_width_height_descent(line or " ", font, False)[0] for line in lines)
    return widest / 72, len(lines) * points * 1.24 / 72


def canvas(width: float, height: float, *, margin: float, head: float, foot: float) -> tuple[Any, Any]:
    """A figure whose axes are measured in inches."""
    inner = max(width, 5.6)
    figure = paper(inner + 2 * margin, height + head + foot)
    axes = panel(figure, margin, foot, inner, height)
    spare = (inner - width) / 2
    axes.set_xlim(-spare, width + spare)
    axes.set_ylim(0, height)
    axes.set_axis_off()
    axes.set_clip_on(False)
    return figure, axes


def headed(figure: Any, title: str | None, top: float = 0.1) -> None:
    """Write the title, so many inches below the upper edge."""
    if title:
        figure.suptitle(title, y=1 - top / figure.get_figheight(), fontsize=12, color=INK, va="top")


def written(figure: Any, path: Path | None) -> Any:
    """The figure, and where a path is given a file, whose ending says the format; the same figure, the same bytes."""
    if path is not None:
        from matplotlib import rc_context

        ending = os.path.splitext(path)[1][1:].lower()
        if ending not in PICTURES:
            listed = ", ".join(f".{known}" for known in PICTURES)
            raise OptionError(f"cannot draw {os.fspath(path)!r}: the ending says no picture. Use one of {listed}.")
        with rc_context({"svg.hashsalt": "tanager"}), whole_file(path) as file:
            figure.savefig(file, format=ending, metadata=PICTURES[ending])
    return figure
