"""The fuzzy sets of an evolving model: one panel per column, one curve (or set of bars) per pseudo-class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.errors import OptionError, check_option, nearest
from tanager.plot.figure import COLOURS, INK, QUIET, Path, add_panel, add_title, new_figure, save_figure, text_size
from tanager.streams.evolving import EvolvingNaiveBayes
from tanager.streams.fuzzy_sets import About, CountAbout, NumberSet
from tanager.streams.rules import PseudoClass, most_different

_WIDE, _TALL = 2.7, 1.55  # inches of a panel
_LEFT, _GAP, _BELOW = 0.66, 0.5, 0.62  # inches before the first one of a line, between two, and below
_SAMPLE = 0.24  # inches of a line in the key
_KEY = "pseudo-classes of a class in the order in which they came; pale: few rows"
_MOST = 12  # panels, unless columns are named
_MOST_BARS = 8  # values of a column that are drawn
_STYLES = ("-", "--", ":", "-.")


def plot_fuzzy_sets(
    model: EvolvingNaiveBayes,
    path: Path | None = None,
    *,
    kind: str = "fuzzy",
    columns: Sequence[str] | None = None,
    title: str | None = None,
) -> Any:
    """Every column of an evolving model, with the distribution of each pseudo-class.

    Pseudo-classes of one class share a colour; further ones are dashed and dotted, and those with a small prior are
    pale. The key above the panels has a line for each.

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
    >>> [text.get_text() for text in figure.texts]
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
    n_wide = min(len(shown), 2 if len(shown) in (2, 4) else 3)
    n_high = math.ceil(len(shown) / n_wide)
    several = len(pseudos) > len({p.label for p in pseudos})
    head = (0.45 if title else 0.1) + (0.5 if several else 0.3)
    wide = _LEFT + n_wide * (_WIDE + _GAP) - _GAP + 0.2
    figure = new_figure(
        max(wide, text_size(_KEY, 7.5)[0] + _LEFT + 0.2 if several else 3.4), n_high * (_TALL + _BELOW) + head
    )
    for at, name in enumerate(shown):
        left, row = _LEFT + at % n_wide * (_WIDE + _GAP), at // n_wide
        axes = add_panel(figure, left, (n_high - 1 - row) * (_TALL + _BELOW) + _BELOW - 0.08, _WIDE, _TALL)
        draw = _bells if name in pseudos[0].means else _bars
        draw(axes, name, pseudos, model.classes_.tolist(), kind == "fuzzy")
        axes.set_xlabel(name if len(name) < 40 else f"{name[:36]}...", fontsize=9, color=INK)
        if at % n_wide == 0 or kind == "density":
            axes.set_ylabel(_height(name, pseudos[0], kind), fontsize=8, color=INK, labelpad=2)
    _draw_key(figure, pseudos, model.classes_.tolist(), (0.45 if title else 0.1) + 0.08)
    if several:
        down = 1 - (head - 0.24) / figure.get_figheight()
        figure.text(_LEFT / figure.get_figwidth(), down, _KEY, fontsize=7.5, color=QUIET, va="center")
    if len(shown) < len(known) and columns is None:
        note = f"{len(shown)} of {len(known)} columns: those that differ most"
        figure.text(0.5, 0.04 / figure.get_figheight(), note, ha="center", fontsize=7.5, color=QUIET)
    add_title(figure, title)
    return save_figure(figure, path)


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
        colour = COLOURS[classes.index(p.label) % len(COLOURS)]
        styles.append({"color": colour, "ls": _STYLES[age % len(_STYLES)], "alpha": strength})
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
    short = [text if len(text) <= 10 else f"{text[:8]}..." for text in texts]
    crowded = sum(text_size(text, 8)[0] + 0.08 for text in short) > _WIDE
    axes.set_xticks(range(len(values)), short, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    axes.tick_params(axis="x", length=0, labelsize=6.5 if crowded else 8)
    axes.set_ylim(0, 1.02 if fuzzy else None)
    if fuzzy:
        axes.set_yticks([0, 0.5, 1])


def _draw_key(figure: Any, pseudos: Sequence[PseudoClass], classes: Sequence[Any], down: float) -> None:
    """The classes side by side: a line for each of their pseudo-classes, and the name in the same colour."""
    from matplotlib.lines import Line2D

    wide, high = figure.get_figwidth(), figure.get_figheight()
    y, x = 1 - down / high, _LEFT
    styles = _line_styles(pseudos, classes)
    for c, label in enumerate(classes):
        text = str(label) if len(str(label)) <= 24 else f"{str(label)[:21]}..."
        own = [style for p, style in zip(pseudos, styles, strict=True) if p.label == label]
        size = len(own) * (_SAMPLE + 0.06) + text_size(text, 9)[0] + 0.2
        if x + size > wide and c > 0:
            figure.text(x / wide, y, "...", fontsize=9, color=QUIET, va="center")
            return
        for style in own:
            figure.add_artist(Line2D([x / wide, (x + _SAMPLE) / wide], [y, y], lw=1.5, **style))
            x += _SAMPLE + 0.06
        figure.text(x / wide, y, text, fontsize=9, color=COLOURS[c % len(COLOURS)], va="center")
        x += text_size(text, 9)[0] + 0.2
