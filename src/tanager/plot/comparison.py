"""Classifiers side by side on one data set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.plot.figure import Path, add_panel, add_title, new_figure, save_figure, text_size
from tanager.plot.names import shortened_apart
from tanager.plot.style import FAINT, INK, NAME, PALE_BLUE, PALE_GREY, PALE_RED, SMALL, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.3  # inches from one classifier to the next
_SPAN, _GAP = 3.3, 0.55  # inches of the bars of one measure, and between two


@styled
def plot_comparison(rows: Iterable[Mapping[str, Any]], path: Path | None = None, *, title: str | None = None) -> Figure:
    """Bars of accuracy and of log loss, one pair per classifier, in the order given.

    Parameters
    ----------
    rows : iterable of mappings
        With ``name``, ``accuracy`` and ``log_loss``. ``baseline=True`` draws the bar in grey; ``margin`` and
        ``log_loss_margin`` are half the widths of confidence intervals, drawn as whiskers. Other keys are ignored, so
        the rows of a table can be passed as they are.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    title : str or None, default=None
        The line above the picture; None: no line.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels.

    Examples
    --------
    >>> from tanager.plot import plot_comparison
    >>> rows = [
    ...     {"name": "AODE", "accuracy": 0.94, "log_loss": 0.17, "margin": 0.02},
    ...     {"name": "most frequent class", "accuracy": 0.5, "log_loss": 0.69, "baseline": True},
    ... ]
    >>> figure = plot_comparison(rows, title="Two classifiers")
    >>> [axes.get_title() for axes in figure.axes]
    ['accuracy (the axis does not start at 0, 95 % intervals)', 'log loss (shorter is better)']
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['AODE', 'most frequent class']
    """
    rows = list(rows)
    if not rows:
        raise OptionError("plot_comparison was given no rows; each needs a name, an accuracy and a log_loss.")
    tall = _ROW * len(rows)
    names = list(shortened_apart(str(row["name"]) for row in rows).values())
    left = max(text_size(name, NAME)[0] for name in names) + 0.3
    figure = new_figure(left + 2 * (_SPAN + _GAP), tall + 0.7 + (0.35 if title else 0.0))
    margins, of_losses = ([float(row.get(key) or 0.0) for row in rows] for key in ("margin", "log_loss_margin"))
    spread = "the axis does not start at 0" + (", 95 % intervals" if any(margins) else "")
    for at, (key, label, colour, whiskers) in enumerate(
        [
            ("accuracy", f"accuracy ({spread})", PALE_BLUE, margins),
            ("log_loss", "log loss (shorter is better)", PALE_RED, of_losses),
        ]
    ):
        axes = add_panel(figure, left + at * (_SPAN + _GAP), 0.3, _SPAN, tall)
        colours = [PALE_GREY if row.get("baseline") else colour for row in rows]
        _bars(axes, [float(row[key]) for row in rows], whiskers, colours, floor=key == "log_loss")
        axes.set_title(label)
        axes.set_yticks(_places(len(rows)), names if at == 0 else [""] * len(rows), fontsize=NAME)
    add_title(figure, title)
    return save_figure(figure, path)


def _bars(
    axes: Any, values: Sequence[float], whiskers: Sequence[float], colours: Sequence[str], *, floor: bool
) -> None:
    """Horizontal bars from the top down, each with its number behind it and whiskers where there are any."""
    places = _places(len(values))
    ends: list[float] = []
    axes.barh(places, values, height=0.72, color=colours)
    for place, value, margin in zip(places, values, whiskers, strict=True):
        end = min(value + margin, math.inf if floor else 1.0)  # an accuracy ends at 1
        if margin:
            axes.plot([value - margin, end], [place, place], color=INK, lw=1.1, solid_capstyle="butt")
        axes.text(end, place, f" {value:.4f}", va="center", fontsize=SMALL)
        ends += [value - margin, end]
    low, high = _window(ends, floor=floor)
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in axes.get_xticks() if low <= tick <= (high if floor else 1.0)])
    axes.set_ylim(-0.6, len(values) - 0.4)
    axes.tick_params(length=0)
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.axvline(axes.get_xlim()[0], color=FAINT, lw=1)


def _places(n: int) -> list[int]:
    return list(range(n - 1, -1, -1))


def _window(values: Sequence[float], *, floor: bool) -> tuple[float, float]:
    """The range of the axis: from 0 for losses; for accuracies from below the lowest, so that differences show."""
    low, high = (0.0, max(values)) if floor else (min(values), max(values))
    span = max(high - low, 0.02)
    return (0.0, high + 0.25 * span) if floor else (max(0.0, low - 0.4 * span), high + 0.35 * span)
