"""A model as a nomogram: an axis for each column, from which log-odds are read and added up by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.learning.nomogram import Axis, Nomogram, nomogram
from tanager.plot.bars import TOP, largest, signed
from tanager.plot.figure import Path, add_remark, add_title, figure_in_inches, save_figure, text_size
from tanager.plot.names import bin_text, cell_text, shortened, shortened_apart
from tanager.plot.style import AGAINST, FAINT, FOR, INK, NAME, QUIET, REMARK, SMALL, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tanager.encoding.typing import Label
    from tanager.learning.counts_classifier import CountsClassifier

SCALE = 6.4  # inches of the axis of points
VALUE = 7.5  # points of the letters of values
LEVEL = 0.145  # inches from one level of values to the next
GAP = 0.2  # inches between two axes
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


@styled
def plot_nomogram(
    model: CountsClassifier | Nomogram,
    path: Path | None = None,
    *,
    row: Mapping[str, Any] | None = None,
    answer: Label | None = None,
    against: Label | None = None,
    top: int = TOP,
    title: str | None = None,
) -> Figure:
    """Draw the nomogram of a model (Možina and others, 2004): what every value of every column adds to the log-odds.

    To read it, find the value of each column on its axis and the log-odds above it on the uppermost scale; add them all
    to the prior, and look the sum up on the lowest scale, where its probability stands below it. With a row, its values
    and their sum are marked.

    Parameters
    ----------
    model : CountsClassifier or Nomogram
        A model with a single network, such as NaiveBayes, TAN or FAN; see ``tanager.nomogram``.
    path : str or path, default=None
        Where to write the picture; .png, .svg or .pdf.
    row : mapping from column to cell, default=None
        Whose values are marked, and at whose values parents are held.
    answer, against : object, default=None
        The two classes; see ``tanager.nomogram``.
    top : int, default=15
        How many columns are drawn, those that can matter most; the others are added up in words.
    title : str, default=None
        A line above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is also written where a path is given.

    Examples
    --------
    >>> from tanager import NaiveBayes, plot_nomogram
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> model = NaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> figure = plot_nomogram(model, row={"sky": "rain"})
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_fontsize() == 9]
    ['log-odds', 'sky', 'wind', 'sum, with prior +0.00', 'probability of stay']
    """
    drawn = model if isinstance(model, Nomogram) else nomogram(model, row, answer, against)
    lines, others = _lines(drawn, top)
    widest = max(text_size(name, NAME)[0] for name in [*(line.name for line in lines), *_below(drawn)])
    scale = _Scale.of([point for line in lines for point in line.points], widest + 0.3)
    outside = max([0.0, *(scale.left - line.begins(scale) for line in lines)])  # of values at the left end
    left = widest + 0.3 + outside
    scale = replace(scale, left=left, names=left - 0.2 - outside)
    for line in lines:
        line.place(scale)
    height = 0.75 + sum(line.height for line in lines) + (0.25 if others else 0.0) + 1.15
    figure, axes = figure_in_inches(left + SCALE + 0.5, height, margin=0.15, head=0.45 if title else 0.1, foot=0.3)
    y = height - 0.35
    _draw_scale(axes, scale, y)
    bottom = 1.15
    for x in scale.ticks():
        axes.plot([scale.at(x)] * 2, [bottom, y], color=FAINT, lw=0.5, alpha=0.7, zorder=0)
    y -= 0.4
    for line in lines:
        line.draw(axes, scale, y)
        y -= line.height
    if others:
        axes.text(left + SCALE / 2, y - 0.12, others, ha="center", va="center", **REMARK)
    _draw_sum(axes, drawn, scale)
    this, that = (shortened(str(label), 24) for label in (drawn.answer, drawn.against))
    hint = f"log-odds of {this} against {that}; right is for {this}"
    add_remark(figure, hint)
    add_title(figure, title)
    return save_figure(figure, path)


@dataclass(frozen=True)
class _Scale:
    """From log-odds to inches."""

    low: float
    high: float
    left: float
    names: float = 0.0  # where the names of the axes end

    @classmethod
    def of(cls, points: Iterable[float], left: float) -> _Scale:
        finite = [point for point in points if np.isfinite(point)]
        low, high = min([0.0, *finite]), max([0.0, *finite])
        room = 0.02 * (high - low) or 0.5
        return cls(low - room, high + room, left, left - 0.2)

    def at(self, point: float) -> float:
        """The place of a point; those beyond all numbers are at the ends."""
        share = (min(max(point, self.low), self.high) - self.low) / (self.high - self.low)
        return self.left + SCALE * share

    def ticks(self) -> list[float]:
        """Round numbers."""
        from matplotlib.ticker import MaxNLocator

        found = MaxNLocator(9, steps=[1, 2, 5, 10]).tick_values(self.low, self.high)
        return [float(x) for x in found if self.low <= x <= self.high]


class _Line:
    """One axis: ticks at the points of its values, and their names above and below where there is room."""

    def __init__(self, name: str, values: list[str], points: list[float], own: int | None) -> None:
        self.name, self.values, self.points, self.own = name, values, points, own
        self.levels: dict[int, int] = {}  # the level of each value that is named: 1, 2 below, -1, -2 above

    def begins(self, scale: _Scale) -> float:
        """Where the first letter of a value may be."""
        sizes = [text_size(value, VALUE)[0] for value in self.values]
        return min(scale.at(x) - size / 2 for x, size in zip(self.points, sizes, strict=True))

    def place(self, scale: _Scale) -> None:
        """Find room for the names of values: the row's own first, then the ends, then the others."""
        taken: dict[int, list[tuple[float, float]]] = {level: [] for level in (1, -1, 2, -2)}
        ends = [int(np.argmin(self.points)), int(np.argmax(self.points))]
        first = ([] if self.own is None else [self.own]) + ends
        for v in dict.fromkeys([*first, *range(len(self.values))]):
            half = text_size(self.values[v], VALUE)[0] / 2 + 0.04
            x = scale.at(self.points[v])
            for level, own in taken.items():
                if all(x + half <= a or b <= x - half for a, b in own):
                    own.append((x - half, x + half))
                    self.levels[v] = level
                    break

    @property
    def height(self) -> float:
        """Inches that the line takes, with the gap to the next."""
        return GAP + self._room(1) + self._room(-1)

    def _room(self, side: int) -> float:
        """Inches for values below (1) or above (-1), and for a name of two lines."""
        levels = max([0, *(abs(level) for level in self.levels.values() if level * side > 0)])
        return max(LEVEL * levels, 0.13 if "\n" in self.name else 0.0)

    def draw(self, axes: Any, scale: _Scale, y: float) -> None:
        """Draw it, below ``y``."""
        y -= self._room(-1)
        xs = [scale.at(point) for point in self.points]
        axes.text(scale.names, y, self.name, ha="right", va="center")
        axes.plot([min(xs), max(xs)], [y, y], color=INK, lw=1.1, solid_capstyle="butt")
        for v, x in enumerate(xs):
            level = self.levels.get(v, 0)
            side = -1 if level >= 0 else 1
            colour = FOR if v == self.own else INK
            deep = 0.05 + LEVEL * (abs(level) - 1) if abs(level) > 1 else 0.05
            axes.plot([x, x], [y, y + side * deep], color=INK if deep == 0.05 else FAINT, lw=0.9, zorder=1)
            if level:
                spot = {"ha": "center", "va": "top" if side < 0 else "bottom"}
                text_y = y + side * (0.055 + LEVEL * (abs(level) - 1))
                axes.text(x, text_y, self.values[v], fontsize=VALUE, color=colour, **spot)
        if self.own is not None:
            axes.plot([xs[self.own]], [y], "o", color=FOR, ms=5.5, zorder=3)


def _lines(drawn: Nomogram, top: int) -> tuple[list[_Line], str]:
    """An axis for each of the columns that can matter most, and what all others add in words."""
    sizes = np.array([axis.spread for axis in drawn.axes])
    shown, rest = largest(np.where(np.isnan(sizes), np.inf, sizes), top)
    names = shortened_apart(drawn.axes[i].column for i in shown)
    lines = [_line(drawn.axes[i], names[drawn.axes[i].column]) for i in shown]
    others = [drawn.axes[i] for i in rest]
    if not others:
        return lines, ""
    low, high = sum(min(axis.points) for axis in others), sum(max(axis.points) for axis in others)
    own = [axis.points[axis.at] for axis in others if axis.at is not None]
    text = f"{len(rest)} others add from {signed(low)} to {signed(high)}"
    return lines, f"{text}, and {signed(sum(own))} in this row" if own else text


def _line(axis: Axis, name: str) -> _Line:
    given = ", ".join(cell_text(name, value) for name, value in axis.given.items())
    name += f"\nwhere {shortened(given, 34)}" if given else ""
    texts = [bin_text(value) for value in axis.values]
    short = shortened_apart(texts, 20)
    values = [short[text] for text in texts]
    return _Line(name, values, list(axis.points), axis.at)


def _below(drawn: Nomogram) -> list[str]:
    return [f"sum, with prior {drawn.prior:+.2f}", f"probability of {shortened(str(drawn.answer), 24)}"]


def _draw_scale(axes: Any, scale: _Scale, y: float) -> None:
    axes.text(scale.names, y, "log-odds", ha="right", va="center", color=QUIET)
    axes.plot([scale.left, scale.left + SCALE], [y, y], color=QUIET, lw=1.0)
    for x in scale.ticks():
        axes.plot([scale.at(x)] * 2, [y, y + 0.05], color=QUIET, lw=0.9)
        axes.text(scale.at(x), y + 0.07, f"{x:+g}" if x else "0", ha="center", va="bottom", **REMARK)


def _draw_sum(axes: Any, drawn: Nomogram, above: _Scale) -> None:
    """The scale of sums, and probabilities below it."""
    reach = max(7.0, 1.15 * abs(drawn.total)) if np.isfinite(drawn.total) else 7.0
    left, y = above.left, 0.62
    scale = _Scale(-reach, reach, left)
    for name, height in zip(_below(drawn), (y, y - 0.32), strict=True):
        axes.text(above.names, height, name, ha="right", va="center")
    axes.plot([left, left + SCALE], [y, y], color=INK, lw=1.1)
    for x in scale.ticks():
        axes.plot([scale.at(x)] * 2, [y, y + 0.05], color=INK, lw=0.9)
        axes.text(scale.at(x), y + 0.07, f"{x:+g}" if x else "0", ha="center", va="bottom", fontsize=SMALL)
    axes.plot([left, left + SCALE], [y - 0.32] * 2, color=INK, lw=1.1)
    free: list[float] = []
    for p in sorted(PROBABILITIES, key=lambda p: abs(p - 0.5)):
        x = scale.at(float(np.log(p / (1 - p))))
        axes.plot([x, x], [y - 0.32, y - 0.37], color=INK, lw=0.9)
        if all(abs(x - other) > 0.42 for other in free):
            free.append(x)
            axes.text(x, y - 0.39, f"{100 * p:g} %", ha="center", va="top", fontsize=SMALL)
    if any(axis.at is not None for axis in drawn.axes):
        x = scale.at(drawn.total)
        axes.plot([x, x], [y, y - 0.32], color=AGAINST, lw=1.0, zorder=2)
        axes.plot([x, x], [y, y - 0.32], "o", color=AGAINST, ms=5.5, zorder=3)
