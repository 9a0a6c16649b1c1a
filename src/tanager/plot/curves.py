"""Curves of a measure along a stream, with the rows at which the stream changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import OptionError
from tanager.plot.figure import Path, add_panel, add_remark, add_title, new_figure, save_figure, spread_apart, text_size
from tanager.plot.names import shortened_apart
from tanager.plot.style import GRID, NAME, QUIET, SMALL, colour_of, dashes_of, for_letters, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TALL, _WIDE = 3.4, 6.6  # inches of the curves
_LANE = 0.2  # inches for the events of one model
_LEFT, _LOW = 0.75, 0.55  # inches beside and below them
_LEAD = 0.42  # inches from the end of a curve to its name
_LABEL = 0.17  # inches from one name to the next
_WIDEST, _THINNEST = 3.6, 1.2  # points: the first curves are wider, so that they show beneath those that hide them
MANY = 30  # drifts, from which on their lines are thin
_START = 0.02  # of the stream: the first values are guesses, and may lie outside the picture


@styled
def plot_curves(
    rows: ArrayLike,
    curves: Mapping[str, ArrayLike],
    path: Path | None = None,
    *,
    measure: str = "accuracy",
    along: str = "rows",
    drifts: Sequence[int] = (),
    events: Mapping[str, Sequence[tuple[int, str]]] | None = None,
    title: str | None = None,
) -> Figure:
    """A curve per model over the rows of a stream, each with its name and last value at its end.

    Parameters
    ----------
    rows : array of int
        After how many rows the values were measured, or the positions on the axis that ``along`` names.
    curves : mapping from names to arrays
        One value for each of ``rows``.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    measure : str, default="accuracy"
        Label of the vertical axis.
    along : str, default="rows"
        Label of the horizontal axis, if it is not rows; the first values are then always in the picture.
    drifts : sequence of int, default=()
        Rows at which the stream changes: dashed lines.
    events : mapping from names to sequences of (row, what), or None, default=None
        What models detected: ticks below the curves, pale for warnings.
    title : str or None, default=None
        The line above the picture; None: no line.

    Returns
    -------
    matplotlib.figure.Figure
        One panel.

    Examples
    --------
    >>> from tanager.plot import plot_curves
    >>> figure = plot_curves([100, 200], {"AODE": [0.8, 0.9], "TAN": [0.7, 0.85]}, drifts=[150])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['AODE  0.9000', 'TAN  0.8500']
    """
    rows = np.asarray(rows, dtype=float)
    values = {name: np.asarray(curve, dtype=float) for name, curve in curves.items()}
    if not values or len(rows) == 0 or any(curve.shape != rows.shape for curve in values.values()):
        raise OptionError("plot_curves needs at least one curve, with one value for each of the rows.")
    colours = {name: colour_of(at) for at, name in enumerate(values)}
    styles = {name: dashes_of(at) for at, name in enumerate(values)}
    named = shortened_apart(values)
    detected = {name: [(row, what) for row, what in own if row <= rows[-1]] for name, own in (events or {}).items()}
    detected = {name: own for name, own in detected.items() if own and name in values}
    ends = {name: f"{named[name]}  {curve[-1]:.4f}" for name, curve in values.items()}
    lanes = {name: f"{named[name]} detected" for name in detected}
    right = _LEAD + 0.15 + max(text_size(text, NAME)[0] for text in [*ends.values(), *lanes.values()])
    key = _key(bool(len(drifts)), detected)
    floor = _LOW + (0.2 if key else 0.0)
    low = floor + _LANE * len(detected) + (0.1 if detected else 0.0)
    tall = max(_TALL, _LABEL * len(values))
    figure = new_figure(_LEFT + _WIDE + right, low + tall + (0.55 if title else 0.25))
    axes = add_panel(figure, _LEFT, low, _WIDE, tall)
    _mark(axes, drifts)
    widths = np.linspace(min(_WIDEST, _THINNEST + 0.8 * (len(values) - 1)), _THINNEST, len(values)).tolist()
    for (name, curve), width in zip(values.items(), widths, strict=True):
        marker = "o" if np.isfinite(curve).sum() == 1 else ""
        axes.plot(rows, curve, ls=styles[name], marker=marker, color=colours[name], lw=width, zorder=3)
    bottom, top = _window(rows, values, _START if along == "rows" else -1.0)
    axes.set_ylim(bottom, top)
    axes.set_xlim(0, rows[-1] if rows[-1] > 0 else 1)
    axes.grid(axis="y", **GRID)
    axes.set_ylabel(measure)
    _name_ends(axes, ends, values, tall)
    if detected:
        axes.tick_params(labelbottom=False)
        axes = _lanes(figure, detected, lanes, colours, floor, axes.get_xlim())
        _mark(axes, drifts)
    axes.set_xlabel(along)
    if key:
        add_remark(figure, key)
    axes.xaxis.get_major_locator().set_params(integer=True)  # of rows, or of super-parents
    axes.xaxis.set_major_formatter(lambda row, at: _short(row))
    add_title(figure, title)
    return save_figure(figure, path)


def _key(drifts: bool, detected: Mapping[str, Sequence[tuple[int, str]]]) -> str:
    """What dashed lines and ticks are."""
    warned = any(what == "warning" for own in detected.values() for _, what in own)
    known = {
        "dashed: the stream changes": drifts,
        "ticks: a model notices a change, once enough rows speak for it": bool(detected),
        "pale: a warning": warned,
    }
    words = [text for text, there in known.items() if there]
    return "; ".join(words)


def _mark(axes: Any, drifts: Sequence[int]) -> None:
    """Dashed lines where the stream changes; thin if there are many."""
    for row in drifts:
        axes.axvline(row, color=QUIET, lw=0.9 if len(drifts) <= MANY else 0.3, ls=(0, (5, 4)), zorder=1)


def _window(rows: np.ndarray, values: Mapping[str, np.ndarray], start: float) -> tuple[float, float]:
    """Lowest and highest value that is shown, of those after the start."""
    begun = rows > start * rows[-1] if rows[-1] > 0 else rows == rows
    shown = np.concatenate([curve[begun] for curve in values.values()])
    shown = shown[np.isfinite(shown)]
    if not len(shown):
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    margin = 0.06 * max(high - low, 0.01)
    return low - margin, high + margin


def _name_ends(axes: Any, ends: Mapping[str, str], values: Mapping[str, np.ndarray], tall: float) -> None:
    """Names beside the ends of the curves, moved apart where they would touch; a piece of its line leads to each."""
    bottom, top = axes.get_ylim()
    last = np.array([curve[-1] if np.isfinite(curve[-1]) else bottom for curve in values.values()])
    order = np.argsort(-last, kind="stable").tolist()
    step = _LABEL / tall * (top - bottom)
    places = spread_apart(last[order].tolist(), step, bottom + 0.3 * step, top - 0.3 * step)
    names, beside = list(values), axes.get_yaxis_transform()
    across = [1 + inch / _WIDE for inch in (0.04, 0.14, _LEAD - 0.05)]
    for at, place in zip(order, places, strict=True):
        colour, start = colour_of(at), min(max(float(last[at]), bottom), top)
        piece = {"ls": dashes_of(at), "color": colour, "lw": 1.2, "transform": beside, "clip_on": False}
        axes.plot(across, [start, place, place], **piece)
        text = {"va": "center", "color": for_letters(colour), "transform": beside, "clip_on": False}
        axes.text(1 + _LEAD / _WIDE, place, ends[names[at]], **text)


def _lanes(
    figure: Any,
    detected: Mapping[str, Sequence[tuple[int, str]]],
    texts: Mapping[str, str],
    colours: Mapping[str, str],
    floor: float,
    across: tuple[float, float],
) -> Any:
    """One line per model below the curves, with a tick where it detected something."""
    axes = add_panel(figure, _LEFT, floor, _WIDE, _LANE * len(detected))
    for at, (name, own) in enumerate(detected.items()):
        y = len(detected) - 1 - at
        for pale in (True, False):
            places = [row for row, what in own if (what == "warning") is pale]
            axes.vlines(places, y + 0.15, y + 0.85, color=colours[name], lw=1.3, alpha=0.35 if pale else 1.0)
        spot = {"va": "center", "transform": axes.get_yaxis_transform(), "clip_on": False}
        axes.text(1 + _LEAD / _WIDE, y + 0.5, texts[name], fontsize=SMALL, color=for_letters(colours[name]), **spot)
    axes.set_xlim(*across)
    axes.set_ylim(0, len(detected))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return axes


def _short(row: float) -> str:
    """``2 M``, ``50 k``, ``200``."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if abs(row) >= size:
            return f"{row / size:g}{unit}"
    return f"{row:g}"
