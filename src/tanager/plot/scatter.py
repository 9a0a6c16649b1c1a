"""Two classifiers over many data sets, a point per data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.plot.figure import Path, add_panel, add_title, new_figure, save_figure, text_size
from tanager.plot.names import shortened_apart
from tanager.plot.style import BLUE, FAINT, NAME, QUIET, SMALL, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 8  # data sets at most, those where the two differ most


@styled
def plot_scatter(
    x: Mapping[str, float],
    y: Mapping[str, float],
    path: Path | None = None,
    *,
    names: tuple[str, str],
    measure: str = "error",
    title: str | None = None,
) -> Figure:
    """A point per data set: the loss of one classifier to the right, that of the other upwards.

    Above the line the first classifier is better, below it the second. The data sets where they differ most are named.

    Parameters
    ----------
    x, y : mappings from data sets to losses
        Data sets that are in one of them only are left out.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    names : two str
        Of the classifiers.
    measure : str, default="error"
        The name of the loss; lower is better.
    title : str or None, default=None
        The line above the picture; None: no line.

    Returns
    -------
    matplotlib.figure.Figure
        One panel.

    Examples
    --------
    >>> from tanager.plot import plot_scatter
    >>> figure = plot_scatter({"iris": 0.1, "wine": 0.2}, {"iris": 0.3, "wine": 0.2}, names=("AODE", "TAN"))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['iris']
    >>> figure.axes[0].get_title()
    'above the line AODE is better (1), below it TAN (0)'
    """
    both = [name for name in x if name in y]
    if not both:
        raise OptionError(f"plot_scatter needs data sets that both {names[0]} and {names[1]} have, and there are none.")
    figure = new_figure(5.6, 6.15 if title else 5.75)
    axes = add_panel(figure, 0.75, 0.65, 4.6, 4.6)
    values = [side[name] for name in both for side in (x, y)]
    room = 0.06 * max(max(values) - min(values), 1e-6)
    low, high = min(values) - room, max(values) + room
    axes.plot([low, high], [low, high], color=FAINT, lw=1.5, zorder=1)
    axes.scatter([x[n] for n in both], [y[n] for n in both], 26, color=BLUE, alpha=0.8, lw=0, zorder=2)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    of = shortened_apart(names)
    first, second = (of[name] for name in names)
    axes.set_xlabel(f"{measure} of {first}")
    axes.set_ylabel(f"{measure} of {second}")
    wins = [sum(x[n] < y[n] for n in both), sum(x[n] > y[n] for n in both)]
    text = f"above the line {first} is better ({wins[0]}), below it {second} ({wins[1]})"
    axes.set_title(text if text_size(text, NAME)[0] < 5 else text.replace("), below", "),\nbelow"), color=QUIET)
    _name_outliers(figure, axes, {n: (x[n], y[n]) for n in both})
    add_title(figure, title)
    return save_figure(figure, path)


def _name_outliers(figure: Any, axes: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Name the points furthest from the line, away from it; a name that would touch anything is left out."""
    furthest = sorted(points, key=lambda name: -abs(points[name][0] - points[name][1]))
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    taken: list[Any] = []
    short = shortened_apart(points, 28)
    dots = axes.transData.transform(list(points.values()))
    for name in furthest[:_NAMED]:
        a, b = points[name]
        if a == b:
            break
        for spot in _spots(above=b > a):
            text = axes.annotate(short[name], (a, b), textcoords="offset points", fontsize=SMALL, **spot)
            box = text.get_window_extent(renderer)
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            if inside and not box.count_contains(dots) and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


def _spots(*, above: bool) -> list[dict[str, Any]]:
    """Positions to try for a name, on the side away from the line: beside its point, above or below it."""
    if above:
        return [
            {"xytext": (-5, 0), "ha": "right", "va": "center"},
            {"xytext": (0, 4), "ha": "center", "va": "bottom"},
            {"xytext": (4, 4), "ha": "right", "va": "bottom"},
            {"xytext": (-4, 4), "ha": "left", "va": "bottom"},
        ]
    return [
        {"xytext": (5, 0), "ha": "left", "va": "center"},
        {"xytext": (0, -4), "ha": "center", "va": "top"},
        {"xytext": (-4, -4), "ha": "left", "va": "top"},
        {"xytext": (4, -4), "ha": "right", "va": "top"},
    ]
