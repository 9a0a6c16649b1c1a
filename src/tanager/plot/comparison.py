"""Classifiers side by side on one data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tanager.errors import OptionError
from tanager.plot.canvas import FAINT, INK, Path, canvas, near_edge, written


def plot_comparison(rows: Iterable[Mapping[str, Any]], path: Path | None = None, *, title: str | None = None) -> Any:
    """Bars of accuracy and of log loss, one pair per classifier, in the order given.

    Parameters
    ----------
    rows : iterable of mappings
        With ``name``, ``accuracy`` and ``log_loss``; where ``yardstick`` is true the bar is grey. Other keys are
        ignored, so the lines of a table can be passed as they are.
    path, title
        As in ``plot_network``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = list(rows)
    if not rows:
        raise OptionError("plot_comparison was given no rows; each needs a name, an accuracy and a log_loss.")
    figure, _ = canvas(9.0, 0.3 * len(rows), margin=0.0, head=0.75, foot=0.3)
    figure.clear()
    left = 0.08 * max(len(str(row["name"])) for row in rows) + 0.3
    height, width = figure.get_figheight(), figure.get_figwidth()
    span = (width - left - 0.9) / 2
    places = range(len(rows) - 1, -1, -1)
    for at, key in enumerate(("accuracy", "log_loss")):
        axes = figure.add_axes(
            ((left + at * (span + 0.5)) / width, 0.3 / height, span / width, 0.3 * len(rows) / height)
        )
        values = [float(row[key]) for row in rows]
        colours = ["#aab4bd" if row.get("yardstick") else ("#8fbcdd", "#e3a57f")[at] for row in rows]
        axes.barh(list(places), values, height=0.72, color=colours)
        for place, value in zip(places, values, strict=True):
            axes.text(value, place, f" {value:.4f}", va="center", fontsize=8, color=INK)
        axes.set_xlim(*_window(values, floor=key == "log_loss"))
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_yticks(list(places), [str(row["name"]) for row in rows] if at == 0 else [""] * len(rows), fontsize=9)
        label = "log loss (shorter is better)" if at else "accuracy (the axis does not start at 0)"
        axes.set_title(label, fontsize=9, color=INK)
        axes.tick_params(length=0, labelsize=8)
        axes.tick_params(axis="y", labelsize=9)
        axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
        axes.axvline(axes.get_xlim()[0], color=FAINT, lw=1)
    if title:
        figure.suptitle(title, **near_edge(figure, top=0.1), fontsize=12, color=INK, va="top")
    return written(figure, path)


def _window(values: Sequence[float], *, floor: bool) -> tuple[float, float]:
    """Where the axis starts and ends: at 0 for losses; for accuracies below the lowest, so that differences show."""
    low, high = (0.0, max(values)) if floor else (min(values), max(values))
    span = max(high - low, 0.02)
    return (0.0, high + 0.25 * span) if floor else (max(0.0, low - 0.4 * span), high + 0.35 * span)
