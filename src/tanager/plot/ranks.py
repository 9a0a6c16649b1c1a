"""The critical-difference diagram: mean ranks of classifiers over many data sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.plot.figure import Path, add_title, figure_in_inches, save_figure, text_size
from tanager.plot.names import shortened_apart
from tanager.plot.style import INK, NAME, QUIET, RED, REMARK, SMALL, for_letters, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 0.24  # inches from one name to the next
_STEP = 0.13  # inches from one bar to the next


@styled
def plot_ranks(
    ranks: Mapping[str, float], critical_difference: float, path: Path | None = None, *, title: str | None = None
) -> Figure:
    """The critical-difference diagram of Demšar: mean ranks on an axis, the best on the left.

    A bar joins classifiers whose mean ranks differ by no more than the critical difference: on these data sets their
    difference is not significant.

    Parameters
    ----------
    ranks : mapping from names to floats
        The mean rank of each classifier; 1 is best.
    critical_difference : float
        As given by ``tanager.evaluate.nemenyi``.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    title : str or None, default=None
        The line above the picture; None: no line.

    Returns
    -------
    matplotlib.figure.Figure
        One panel.

    Examples
    --------
    >>> from tanager.plot import plot_ranks
    >>> figure = plot_ranks({"AODE": 1.4, "TAN": 1.9, "NaiveBayes": 2.7}, critical_difference=0.8)
    >>> [text.get_text() for text in figure.axes[0].texts][-4:]
    ['critical difference 0.80', 'AODE  1.40', 'TAN  1.90', 'NaiveBayes  2.70']
    """
    if len(ranks) < 2:
        raise OptionError(f"plot_ranks needs two classifiers or more, got {list(ranks)}.")
    order = sorted(ranks, key=lambda name: ranks[name])
    places = [ranks[name] for name in order]
    groups = indistinct_groups(places, critical_difference)
    n_left = (len(order) + 1) // 2
    labels = [f"{name}  {ranks[of]:.2f}" for of, name in shortened_apart(order).items()]
    names = max(*(text_size(label, NAME)[0] + 0.1 for label in labels), 1.1)
    deep = 0.3 + _STEP * len(groups) + _LINE * n_left
    width = 2 * names + 4.6
    figure, axes = figure_in_inches(width, deep + 0.8, margin=0.15, head=0.45 if title else 0.1, foot=0.1)
    low, high = math.floor(places[0]), math.ceil(places[-1])
    scale = (4.6 - 0.5) / max(high - low, critical_difference, 1)  # inches for one rank

    def at(rank: float) -> float:
        return names + 0.25 + (rank - low) * scale

    _axis(axes, at, low, high, deep)
    _ruler(axes, at(low), critical_difference, scale, deep + 0.5)
    for g, (first, last) in enumerate(groups):
        y = deep - 0.16 - _STEP * g
        axes.plot([at(places[first]) - 0.05, at(places[last]) + 0.05], [y, y], color=RED, lw=3.2, solid_capstyle="butt")
    start = deep - 0.3 - _STEP * len(groups)
    for i, (label, rank) in enumerate(zip(labels, places, strict=True)):
        left = i < n_left
        y = start - _LINE * (i if left else len(order) - 1 - i)
        end = names if left else names + 4.6
        axes.plot([at(rank), at(rank), end], [deep, y, y], color=QUIET, lw=0.9, zorder=1)
        spot = {"ha": "right", "va": "center"} if left else {"ha": "left", "va": "center"}
        axes.text(end + (-0.06 if left else 0.06), y, label, **spot)
    add_title(figure, title)
    return save_figure(figure, path)


def indistinct_groups(places: list[float], critical_difference: float) -> list[tuple[int, int]]:
    """The longest stretches (first, last) of sorted ranks that are no further apart than the critical difference."""
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(places):
        last = max(i for i, other in enumerate(places) if other - rank <= critical_difference)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _axis(axes: Any, at: Callable[[float], float], low: int, high: int, y: float) -> None:
    axes.plot([at(low), at(high)], [y, y], color=INK, lw=1.2)
    for tick in range(low, high + 1):
        axes.plot([at(tick), at(tick)], [y, y + 0.07], color=INK, lw=1.2)
        axes.text(at(tick), y + 0.1, str(tick), ha="center", va="bottom")
    axes.text(at(high) + 0.15, y + 0.1, "mean rank (1 is best)", ha="left", va="bottom", **REMARK)


def _ruler(axes: Any, x: float, critical_difference: float, scale: float, y: float) -> None:
    end = x + critical_difference * scale
    axes.plot([x, x, x, end, end, end], [y - 0.05, y + 0.05, y, y, y + 0.05, y - 0.05], color=RED, lw=1.2)
    text = f"critical difference {critical_difference:.2f}"
    axes.text(x, y + 0.08, text, ha="left", va="bottom", fontsize=SMALL, color=for_letters(RED))
