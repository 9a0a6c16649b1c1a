"""Explanations as pictures: one row as bars from the prior to the answer, many rows as a strip for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.errors import DataError, OptionError, nearest
from tanager.learning.explanations import Explanations
from tanager.plot.bars import TOP, largest, lined_panel, signed
from tanager.plot.figure import Path, add_remark, add_title, save_figure
from tanager.plot.names import cells_apart, shortened, shortened_apart
from tanager.plot.style import AGAINST, FAINT, FOR, GREEN, INK, QUIET, REMARK, SMALL, styled
from tanager.scoring.explain import Explanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tanager.encoding.typing import Label

MOST_POINTS = 400  # of a strip; of more rows, so many are drawn
TICKS = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)  # probabilities


@styled
def plot_explanation(
    explanation: Explanation | Explanations,
    path: Path | None = None,
    *,
    answer: Label | None = None,
    top: int = TOP,
    title: str | None = None,
) -> Figure:
    """Draw why a row gets its answer, or why many rows get theirs.

    One row: a bar for each column, the largest first, each from where the one above has ended; so they lead from the
    prior to the log-odds of the answer. The upper axis shows the probability of the answer if only the two classes are
    possible.

    Many rows: a strip for each column, by the mean size of what it adds, with a point for each row (of at most 400).
    Points of columns with an order are dark where the value is low, and light where it is high; those of other columns
    are green.

    Parameters
    ----------
    explanation : Explanation or Explanations
        What ``model.explain`` gives.
    path : str or path, default=None
        Where to write the picture; .png, .svg or .pdf.
    answer : label, default=None
        Many rows: the class whose log-odds are drawn. Default: of two classes the second; else, for each row, the class
        that it is explained for.
    top : int, default=15
        How many columns are drawn; the others are added up.
    title : str, default=None
        A line above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is also written where a path is given.

    Examples
    --------
    >>> from tanager import NaiveBayes, plot_explanation
    >>> X = {"sky": ["sun", "sun", "rain", "rain"] * 5, "wind": ["no", "yes", "no", "yes"] * 5}
    >>> model = NaiveBayes().fit(X, ["play", "play", "stay", "stay"] * 5)
    >>> figure = plot_explanation(model.explain({"sky": "rain"}))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['prior', 'sky = rain', 'log-odds']
    """
    if isinstance(explanation, Explanation):
        if answer is not None:
            raise OptionError("answer= is for many rows; explain the row with it: model.explain(row, answer).")
        return _draw_row(explanation, path, top, title)
    if not isinstance(explanation, Explanations):
        raise OptionError(f"plot_explanation needs what model.explain gives, got {type(explanation).__name__}.")
    return _draw_rows(explanation, path, answer, top, title)


# --- one row --------------------------------------------------------------------------------------------------------


def _draw_row(told: Explanation, path: Path | None, top: int, title: str | None) -> Any:
    names, values = _bars_of(told, top)
    drawn = _finite(values)
    ends = np.cumsum(drawn)
    starts = np.concatenate([[0.0], ends[:-1]])
    figure, axes = lined_panel([*names, "log-odds"], 5.2, head=0.95 if title else 0.65, foot=0.65)
    for at, (start, value) in enumerate(zip(starts.tolist(), drawn.tolist(), strict=True)):
        colour = FOR if value >= 0 else AGAINST
        axes.barh(at, value, left=start, height=0.62, color=colour, lw=0)
        axes.plot([start + value] * 2, [at - 0.31, at + 1.31], color=QUIET, lw=0.7)
        _beside(axes, at, start, start + value, signed(values[at]))
    total = float(ends[-1]) if len(ends) else 0.0
    axes.barh(len(names), total, height=0.62, color=INK, lw=0)
    _beside(axes, len(names), 0.0, total, signed(told.log_odds))
    axes.axvline(0, color=INK, lw=0.8)
    low, high = min(0.0, *starts, *ends), max(0.0, *starts, *ends)
    room = 0.12 * max(high - low, 0.5)
    axes.set_xlim(low - room, high + room)
    this, that = shortened(str(told.answer), 24), shortened(str(told.against), 24)
    axes.set_xlabel(f"log-odds: right for {this}, left for {that}")
    _probability_axis(axes, f"probability of {this} rather than {that}")
    add_title(figure, title)
    return save_figure(figure, path)


def _bars_of(told: Explanation, top: int) -> tuple[list[str], np.ndarray]:
    """Prior, the largest columns and the sum of all others; a prior of nothing is left out where there is more."""
    columns = told.columns
    sizes = np.abs(np.array(list(columns.values())))
    shown, rest = largest(sizes, top)
    items = list(columns.items())
    names = ["prior", *cells_apart((items[i][0], told.values.get(items[i][0], "?")) for i in shown)]
    values = [told.prior, *(items[i][1] for i in shown)]
    if rest:
        names.append(f"{len(rest)} others")
        values.append(sum(items[i][1] for i in rest))
    return names, np.array(values)


def _finite(values: np.ndarray) -> np.ndarray:
    """Bars for numbers some of which may be infinite: these are longer than all others together."""
    finite = np.where(np.isfinite(values), values, 0.0)
    return np.where(np.isfinite(values), values, np.sign(values) * (3.0 + np.abs(finite).sum()))


def _beside(axes: Any, at: float, start: float, end: float, text: str) -> None:
    """A number at the end of a bar."""
    right = end >= start
    offset = (3, 0) if right else (-3, 0)
    spot = {"ha": "left" if right else "right", "va": "center", "fontsize": SMALL}
    axes.annotate(text, (end, at), offset, textcoords="offset points", **spot)


def _probability_axis(axes: Any, label: str) -> None:
    """Probabilities of one of two classes above the axis of log-odds; only ticks that do not collide."""
    low, high = axes.get_xlim()
    upper = axes.twiny()
    upper.set_xlim(low, high)
    places, shown = list[float](), list[str]()
    for p in sorted(TICKS, key=lambda p: abs(p - 0.5)):
        x = float(np.log(p / (1 - p)))
        if low <= x <= high and all(abs(x - other) > 0.09 * (high - low) for other in places):
            places.append(x)
            shown.append(f"{100 * p:g} %")
    upper.set_xticks(places, shown)
    upper.tick_params(colors=QUIET)
    upper.spines[["left", "right", "bottom"]].set_visible(False)
    upper.spines["top"].set_color(FAINT)
    upper.set_xlabel(label, **REMARK, labelpad=5)


# --- many rows ------------------------------------------------------------------------------------------------------


def _draw_rows(told: Explanations, path: Path | None, answer: Any, top: int, title: str | None) -> Any:
    values, what = _of_class(told, answer)
    values = np.where(np.isfinite(values), values, np.nan)
    some = ~np.isnan(values).all(axis=1)
    if not some.any():
        raise DataError("there is no row with finite log-odds to draw. Give the model some smoothing.")
    sizes = np.nanmean(np.abs(values[some]), axis=0)
    shown, rest = largest(sizes, top)
    drawn = np.flatnonzero(some)
    drawn = drawn[np.unique(np.linspace(0, len(drawn) - 1, MOST_POINTS).astype(int))]
    ranks = told.source.ranks(told.numbers[drawn])
    names = list(shortened_apart(told.columns[i] for i in shown).values()) + ([f"{len(rest)} others"] if rest else [])
    figure, axes = lined_panel(names, 5.2, head=0.75 if title else 0.4, foot=0.78, right=0.75)
    strips = [(values[drawn, i], ranks[:, i], sizes[i]) for i in shown]
    span = np.nanmax(np.abs(np.concatenate([strip for strip, _, _ in strips])), initial=0.1)
    if rest:  # where they reach far beyond the others' strips, only how far
        together = np.nansum(values[:, rest], axis=1)
        far = np.abs(together[drawn]).max() > 1.5 * span
        strip = np.full(len(drawn), np.nan) if far else together[drawn]
        strips.append((strip, np.full(len(drawn), np.nan), np.abs(together[some]).mean()))
        if far:
            low, high = together[some].min(), together[some].max()
            where = f"together from {signed(low)} to {signed(high)}"
            axes.text(0, len(shown), where, ha="center", va="center", **REMARK, backgroundcolor="white")
    for at, (strip, rank, size) in enumerate(strips):
        there = ~np.isnan(strip)
        y = at + _swarm(strip[there] / span)
        axes.scatter(strip[there], y, 7, color=_shades(rank[there]), lw=0, alpha=0.85, zorder=2)
        axes.annotate(f"{size:.2f}", (1.02, at), xycoords=("axes fraction", "data"), **REMARK, va="center")
    axes.axvline(0, color=INK, lw=0.8, zorder=1)
    axes.annotate("mean size", (1.02, -0.75), xycoords=("axes fraction", "data"), va="bottom", **REMARK)
    axes.set_xlabel(what)
    hint = "points of ordered columns: dark low, light high"
    if np.isnan(ranks[:, shown]).all(axis=0).any():
        hint += "; green: no order"
    if len(drawn) < len(told):
        hint = f"{len(drawn)} of {len(told):,} rows drawn; {hint}"
    add_remark(figure, hint)
    add_title(figure, title)
    return save_figure(figure, path)


def _of_class(told: Explanations, answer: Any) -> tuple[np.ndarray, str]:
    """What columns add in every row, for the class that is asked for, and what that is."""
    if answer is not None and answer not in told.classes:
        raise OptionError(f"answer={answer!r} is none of the classes.{nearest(answer, told.classes)}")
    if answer is None and len(told.classes) > 2:
        return told.of_answers, "log-odds of each row's answer against the next class"
    label = told.classes[-1] if answer is None else answer
    place = told.classes.index(label)
    rivals = set(told.against[:, place].tolist())
    other = shortened(str(rivals.pop()), 24) if len(rivals) == 1 else "the next class"
    return told.contributions[:, :, place], f"log-odds of {shortened(str(label), 24)} against {other}"


def _swarm(x: np.ndarray) -> np.ndarray:
    """Heights at which points of nearly the same place stand above and below each other."""
    out, bins = np.zeros(len(x)), np.round(x * 60).astype(int)
    crowd = np.bincount(bins - bins.min()).max() if len(x) else 1
    step = min(0.1, 0.7 / max(crowd, 1))
    for own in np.unique(bins):
        which = np.flatnonzero(bins == own)
        order = np.arange(len(which))
        out[which] = np.where(order % 2, 1, -1) * ((order + 1) // 2) * step
    return out


def _shades(rank: np.ndarray) -> np.ndarray:
    """From dark blue to yellow, which differ in lightness too; green where there is no order."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    colours = colormaps["cividis"](np.where(np.isnan(rank), 0.0, rank))
    colours[np.isnan(rank)] = to_rgba(GREEN)
    return np.asarray(colours)
