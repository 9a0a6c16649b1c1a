"""Figures and axes measured in inches, colours, and how pictures are written to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tanager.errors import OptionError
from tanager.writing import whole_file

Path = str | os.PathLike[str]

# Extensions, and the metadata to suppress: a date would make every file different.
PICTURES: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}

INK, QUIET, FAINT, ARC = "#22303c", "#5b6975", "#c9d1d8", "#c2571a"
# Distinguishable in print and by most colour-blind readers.
COLOURS = ("#2f6f9f", "#c2571a", "#3b8a5a", "#8a5aa8", "#b59b1d", "#5b6975", "#b03a5b", "#4aa3a8")


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def add_panel(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Axes at a position of the figure, in inches."""
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


def figure_in_inches(width: float, height: float, *, margin: float, head: float, foot: float) -> tuple[Any, Any]:
    """A figure whose axes are measured in inches."""
    inner = max(width, 5.6)
    figure = new_figure(inner + 2 * margin, height + head + foot)
    axes = add_panel(figure, margin, foot, inner, height)
    spare = (inner - width) / 2
    axes.set_xlim(-spare, width + spare)
    axes.set_ylim(0, height)
    axes.set_axis_off()
    axes.set_clip_on(False)
    return figure, axes


def add_title(figure: Any, title: str | None, top: float = 0.1) -> None:
    """Write the title, ``top`` inches below the upper edge."""
    if title:
        figure.suptitle(title, y=1 - top / figure.get_figheight(), fontsize=12, color=INK, va="top")


def spread_apart(places: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Places from the highest to the lowest, moved apart to at least ``step``, and kept within bounds if there is room.

    >>> spread_apart([5.0, 4.9, 1.0], step=1.0, low=0.0, high=5.0)
    [5.0, 4.0, 1.0]
    """
    out = [min(place, high) for place in places]
    for at in range(1, len(out)):
        out[at] = min(out[at], out[at - 1] - step)
    for at in range(len(out) - 1, -1, -1):  # and back, where they would fall off the picture
        out[at] = max(out[at], low + step * (len(out) - 1 - at))
    return out


def save_figure(figure: Any, path: Path | None) -> Any:
    """The figure; with a path it is also written to a file, in the format of its extension. Same figure, same bytes."""
    if path is not None:
        from matplotlib import rc_context

        extension = os.path.splitext(path)[1][1:].lower()
        if extension not in PICTURES:
            listed = ", ".join(f".{known}" for known in PICTURES)
            raise OptionError(
                f"cannot draw {os.fspath(path)!r}: the extension is not that of a picture format. Use one of {listed}."
            )
        with rc_context({"svg.hashsalt": "tanager"}), whole_file(path) as file:
            figure.savefig(file, format=extension, metadata=PICTURES[extension])
    return figure
