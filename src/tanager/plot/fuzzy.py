"""The fuzzy sets of an evolving model: one panel per column, one curve (or set of bars) per pseudo-class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.errors import OptionError, check_option, nearest
from tanager.plot.figure import Path, add_panel, add_remark, add_title, new_figure, save_figure, text_size, whole_axes
from tanager.plot.legend import Legend
from tanager.plot.names import shortened, shortened_apart
from tanager.plot.style import COLOURS, DASHES, SMALL, colour_of, styled
from tanager.streams.evolving import EvolvingNaiveBayes
from tanager.streams.fuzzy_sets import About, CountAbout, NumberSet
from tanager.streams.rules import PseudoClass, most_different

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE, _TALL = 2.7, 1.55  # inches of a panel
_LEFT, _GAP, _BELOW = 0.66, 0.5, 0.62  # inches before the first one of a line, between two, and below
_MOST = 12  # panels, unless columns are named
_MOST_BARS = 8  # values of a column that are drawn


@styled
def plot_fuzzy_sets(
    model: EvolvingNaiveBayes,
    path: Path | None = None,
    *,
    kind: str = "fuzzy",
    columns: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Every column of an evolving model, with the distribution of each pseudo-class.

    Pseudo-classes of one class share a colour; further ones are dashed and dotted, and those with a small prior are
    pale. The key above the panels has a line for each. Of many classes, the most frequent are drawn.

    Parameters
    ----------
    model : EvolvingNaiveBayes
        A fitted one.
    path : path or None, default=None
        File to write; its extension sets the format: .png, .svg or .pdf.
    kind : {"fuzzy", "density"}, default="fuzzy"
        Scaled to 1 at the peak, which is a fuzzy set; or the density (for values: the probability) itself.
    columns : list of str, default=None
        Which columns. None: all, or if there are more than 12 those in which pseudo-classes differ most.
    title : str or None, default=None
        What to write above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Examples
    --------
    >>> from tanager import EvolvingNaiveBayes, plot_fuzzy_sets
    >>> model = EvolvingNaiveBayes().fit([[1.5], [2.5], [8.5], [9.5]], ["low", "low", "high", "high"])
    >>> figure = plot_fuzzy_sets(model)
    >>> [text.get_text() for text in figure.axes[-1].texts]
    ['high', 'low']
    """
    if not isinstance(model, EvolvingNaiveBayes):
        raise OptionError(
            f"plot_fuzzy_sets draws an EvolvingNaiveBayes, got {type(model).__name__}. Use plot_network for networks."
        )
    check_option("kind", kind, ("fuzzy", "density"))
    pseudos = model.pseudo_classes_
    varied = {*pseudos[0].means, *pseudos[0].tables}
    known = [name for name in model.encoder_.schema.names if name in varied]
    if not known:
        raise OptionError("there is nothing to draw: no column has two different values yet.")
    shown = most_different(pseudos, known, _MOST) if columns is None else _checked(columns, known)
    classes = _most_frequent(pseudos, model.classes_.tolist())
    drawn = [p for p in pseudos if p.label in classes]
    n_wide = min(len(shown), 2 if len(shown) in (2, 4) else 3)
    n_high = math.ceil(len(shown) / n_wide)
    wide = max(_LEFT + n_wide * (_WIDE + _GAP) - _GAP + 0.2, 3.6)
    legend, remark = _legend(drawn, classes), _remark(len(shown), len(known), len(classes), len(model.classes_))
    head = legend.height(wide - 0.4) + (0.45 if title else 0.1) + 0.15
    foot = 0.22 if remark else 0.0
    figure = new_figure(wide, n_high * (_TALL + _BELOW) + head + foot)
    labels = shortened_apart(shown)
    for at, name in enumerate(shown):
        left, row = _LEFT + at % n_wide * (_WIDE + _GAP), at // n_wide
        axes = add_panel(figure, left, foot + (n_high - 1 - row) * (_TALL + _BELOW) + _BELOW - 0.08, _WIDE, _TALL)
        draw = _bells if name in pseudos[0].means else _bars
        draw(axes, name, drawn, classes, kind == "fuzzy")
        axes.set_xlabel(labels[name])
        if at % n_wide == 0 or kind == "density":
            axes.set_ylabel(_height(name, pseudos[0], kind), fontsize=SMALL, labelpad=2)
    legend.draw(whole_axes(figure), wide / 2, figure.get_figheight() - (0.45 if title else 0.1), wide - 0.4)
    add_remark(figure, remark)
    add_title(figure, title)
    return save_figure(figure, path)


def _most_frequent(pseudos: Sequence[PseudoClass], classes: Sequence[Any]) -> list[Any]:
    """As many classes as there are colours, in their order."""
    prior = {label: sum(p.prior for p in pseudos if p.label == label) for label in classes}
    most = sorted(classes, key=lambda label: -prior[label])[: len(COLOURS)]
    return [label for label in classes if label in most]


def _remark(n_shown: int, n_columns: int, n_drawn: int, n_classes: int) -> str:
    """What is left out."""
    parts = [f"{n_shown} of {n_columns} columns: those that differ most"] if n_shown < n_columns else []
    parts += [f"{n_drawn} of {n_classes} classes: the most frequent"] if n_drawn < n_classes else []
    return "; ".join(parts)


def _height(name: str, pseudo: PseudoClass, kind: str) -> str:
    """What the height of a curve or bar is."""
    if kind == "fuzzy":
        return "degree of membership"
    continuous = name in pseudo.means and pseudo.densities.get(name) != "poisson"
    return "density" if continuous else "probability"


def _checked(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    for name in columns:
        if name not in known:
            raise OptionError(f"columns: there is no column {name!r} with two or more values.{nearest(name, known)}")
    if len(columns) == 0:
        raise OptionError("columns is empty; name at least one column.")
    return list(columns)


def _line_styles(pseudos: Sequence[PseudoClass], classes: Sequence[Any]) -> list[dict[str, Any]]:
    """Line styles: colour by class, dashes by age within the class, pale if the prior is small."""
    seen: dict[Any, int] = {}
    styles = []
    for p in pseudos:
        age = seen[p.label] = seen.get(p.label, -1) + 1
        own = sum(other.prior for other in pseudos if other.label == p.label)
        strength = 0.35 + 0.65 * min(1.0, 4 * p.prior / own) if own > 0 else 0.35
        colour = colour_of(classes.index(p.label))
        styles.append({"color": colour, "ls": DASHES[age % len(DASHES)], "alpha": strength})
    return styles


def _bells(axes: Any, name: str, pseudos: Sequence[PseudoClass], classes: Sequence[Any], fuzzy: bool) -> None:
    sets = [p.number_set(name) for p in pseudos]
    above = not isinstance(sets[0], About)  # counts and waits are not below 0
    low = 0.0 if above else min(own.centre - 3 * own.spread for own in sets)
    high = max(own.centre + 3 * own.spread for own in sets)
    for own, style in zip(sets, _line_styles(pseudos, classes), strict=True):
        degrees = _counts if isinstance(own, CountAbout) else _smooth
        x, heights = degrees(own, low, high)
        steps = {"drawstyle": "steps-mid"} if isinstance(own, CountAbout) else {}
        axes.plot(x, heights if fuzzy else heights * math.exp(own.log_peak), lw=1.5, **steps, **style)
    if isinstance(sets[0], CountAbout):
        axes.xaxis.get_major_locator().set_params(integer=True)
        low -= 0.5
    axes.set_xlim(low, high)
    axes.set_ylim(bottom=0)
    if fuzzy:
        axes.set_yticks([0, 0.5, 1])


def _smooth(own: NumberSet, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a curve goes; narrow ones stay smooth."""
    x = np.union1d(np.linspace(low, high, 200), own.centre + own.spread * np.linspace(-4, 4, 81))
    x = x[(x >= low) & (x <= high)]
    return x, np.exp([own.log_degree(value) for value in x])


def _counts(own: NumberSet, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """A step for every count, or for as many as can be seen."""
    x = np.unique(np.round(np.linspace(low, max(high, 1.0), min(math.ceil(high) + 2, 400))))
    return x, np.exp([own.log_degree(value) for value in x])


def _bars(axes: Any, name: str, pseudos: Sequence[PseudoClass], classes: Sequence[Any], fuzzy: bool) -> None:
    total = {value: sum(p.prior * p.tables[name][value] for p in pseudos) for value in pseudos[0].tables[name]}
    frequent = sorted(total, key=lambda value: -total[value])[:_MOST_BARS]
    values = [value for value in total if value in frequent]
    if all(isinstance(value, int | float) for value in values):
        values.sort()
    width = 0.8 / len(pseudos)
    for at, (p, style) in enumerate(zip(pseudos, _line_styles(pseudos, classes), strict=True)):
        shares = np.array([p.tables[name][value] for value in values])
        heights = shares / max(p.tables[name].values()) if fuzzy else shares
        places = np.arange(len(values)) + (at - (len(pseudos) - 1) / 2) * width
        axes.bar(places, heights, 0.9 * width, color=style["color"], alpha=style["alpha"])
    texts = [str(value) for value in values]
    short = list(shortened_apart(texts, 10).values())
    crowded = sum(text_size(text, SMALL)[0] + 0.08 for text in short) > _WIDE
    axes.set_xticks(range(len(values)), short, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    axes.tick_params(axis="x", length=0, labelsize=6.5 if crowded else SMALL)
    axes.set_ylim(0, 1.02 if fuzzy else None)
    if fuzzy:
        axes.set_yticks([0, 0.5, 1])


def _legend(pseudos: Sequence[PseudoClass], classes: Sequence[Any]) -> Legend:
    """A line for each pseudo-class, and the name of its class behind the last."""
    legend, styles = Legend(), _line_styles(pseudos, classes)
    for label in classes:
        own = [style for p, style in zip(pseudos, styles, strict=True) if p.label == label]
        legend.group()
        for at, style in enumerate(own):
            name = str(label) if at == len(own) - 1 else ""
            legend.line(shortened(name, 24), style["color"], 1.5, style["ls"], style["alpha"])
    if len(pseudos) > len(classes):
        legend.heading("pseudo-classes of a class in the order in which they came; pale: few rows")
    return legend
