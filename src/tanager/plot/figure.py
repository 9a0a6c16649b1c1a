"""Figures and axes measured in inches, titles and remarks, and how pictures are written to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.plot.names import shortened
from tanager.plot.style import QUIET, SMALL, TITLE, look
from tanager.writing import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Path = str | os.PathLike[str]

# Extensions, and the metadata to suppress: a date would make every file different.
PICTURES: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from tanager.plot.shown import ShownFigure

    figure = ShownFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def add_panel(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Axes at a position of the figure, in inches."""
    full = figure.get_figwidth(), figure.get_figheight()
    return figure.add_axes((left / full[0], bottom / full[1], width / full[0], height / full[1]))


def whole_axes(figure: Any) -> Any:
    """Axes over the whole figure, in inches."""
    size = figure.get_figwidth(), figure.get_figheight()
    axes = add_panel(figure, 0, 0, *size)
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]))
    axes.set_axis_off()
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
    """Write the title, ``top`` inches below the upper edge; in smaller letters and cut where it would not fit."""
    if title:
        text, points = fitted(title, TITLE, figure.get_figwidth() - 0.2)
        figure.suptitle(text, y=1 - top / figure.get_figheight(), fontsize=points, va="top")


def add_remark(figure: Any, text: str) -> None:
    """Write a line at the lower edge."""
    if not text:
        return
    text, points = fitted(text, SMALL, figure.get_figwidth() - 0.1)
    figure.text(0.5, 0.08 / figure.get_figheight(), text, ha="center", va="bottom", fontsize=points, color=QUIET)


def fitted(text: str, points: float, width: float) -> tuple[str, float]:
    """A line of text and the size of its letters, such that it is not wider than some inches: smaller, or cut.

    >>> fitted("short", 12, 5.0)
    ('short', 12)
    """
    wide = text_size(text, points)[0]
    if wide <= width:
        return text, points
    smallest = min(points, 7.5)
    smaller = max(points * width / wide, smallest)
    letters = int(len(text) * width / text_size(text, smaller)[0])
    return shortened(text, max(letters - 1, 8)) if letters < len(text) else text, smaller


def power_of_ten(value: float) -> str:
    """A tick of a logarithmic axis: small numbers as they are, others as powers.

    >>> power_of_ten(100), power_of_ten(1e6), power_of_ten(2e-5)
    ('100', '10⁶', '2·10⁻⁵')
    """
    if value == 0 or 0.001 <= abs(value) < 10_000:
        return f"{value:g}"
    digits, exponent = f"{value:.0e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


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


def save_figure(figure: Any, path: Path | None) -> Figure:
    """The figure; with a path it is also written to a file, in the format of its extension. Same figure, same bytes."""
    if path is not None:
        extension = os.path.splitext(path)[1][1:].lower()
        if extension not in PICTURES:
            listed = ", ".join(f".{known}" for known in PICTURES)
            raise OptionError(
                f"cannot draw {os.fspath(path)!r}: the extension is not that of a picture format. Use one of {listed}."
            )
        with look(), whole_file(path) as file:
            figure.savefig(file, format=extension, metadata=PICTURES[extension])
    return figure
