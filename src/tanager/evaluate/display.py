"""What a notebook shows of results."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tanager.display import Html, counted, element, folded, heading, page, picture
from tanager.errors import TanagerError

if TYPE_CHECKING:
    from tanager.evaluate.prequential_results import PrequentialResults
    from tanager.evaluate.results import Results

COLOURS = ("#3a86b7", "#d9731a", "#3b8a5a", "#8a5aa8", "#b59b1d", "#7b8894")
WIDTH, HEIGHT, MARGIN = 640, 170, 34  # px, of a chart
MOST_CURVES = len(COLOURS)


def results_html(results: Results) -> Html:
    """Advice in a sentence, and all measures; over several data sets, the ranks first."""
    folds = f"{counted(len(results), 'fold')} of {counted(len(results.classifiers), 'classifier')}"
    title = heading("Results", f"{folds} on {counted(len(results.datasets), 'data set')}")
    summary = results.summary()
    if len(results.datasets) == 1:
        summary = summary.without("dataset")
    measures, ranks = Html(summary._repr_html_()), _ranks(results)
    return page(title, _advice(results), *([ranks, folded("All measures", measures)] if ranks else [measures]))


def _ranks(results: Results) -> Html:
    """Every classifier over all data sets, where there are several that all have in common."""
    if len(results.datasets) < 2 or "error" not in results.measures:
        return Html("")
    try:
        return Html(results.over_datasets()._repr_html_())
    except TanagerError:
        return Html("")


def _advice(results: Results) -> Html:
    """Which classifier to use, where that can be said."""
    measure = next((name for name in ("log_loss", "accuracy") if name in results.measures), None)
    if measure is None or len(results.classifiers) < 2:
        return Html("")
    try:
        return element("div", results.recommend(measure).reason, style="margin: 0.3em 0")
    except TanagerError:  # classifiers have no data set in common
        return Html("")


def prequential_html(results: PrequentialResults) -> Html:
    """Accuracy along the stream as curves, and the measures at its end."""
    shown = [*results.models][:MOST_CURVES]
    curves = {name: results.curve(name, "accuracy", "window") for name in shown}
    title = heading("PrequentialResults", f"{counted(results.n_rows, 'row')}, {counted(len(results.models), 'model')}")
    about = f"Accuracy over the last {results.window:,} rows"
    svg = curves_svg(results.rows, curves, about)
    return page(title, picture(svg, about), folded("Measures at the end", Html(results.summary()._repr_html_())))


def curves_svg(rows: np.ndarray, curves: Mapping[str, np.ndarray], about: str) -> str:
    """A small chart of curves, with their names below; as SVG, with letters that can be read on light and dark."""
    every = np.concatenate([curve[~np.isnan(curve)] for curve in curves.values()] or [np.zeros(0)])
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    room = (high - low) or 1.0
    letters = 'font-family="system-ui, sans-serif" font-size="12" fill="#7b8894"'
    parts = [
        f'<text x="{MARGIN + 4}" y="13" {letters}>{html.escape(about)}</text>',
        *(
            f'<text x="{MARGIN - 4}" y="{_y(at, low, room) + 4:.1f}" text-anchor="end" {letters}>{at:.2f}</text>'
            for at in dict.fromkeys((low, high))
        ),
        f'<text x="{WIDTH - 4}" y="{HEIGHT + 2}" text-anchor="end" {letters}>{int(rows[-1]):,} rows</text>',
    ]
    across = 4.0
    for at, (name, colour) in enumerate(zip(curves, COLOURS, strict=False)):
        wide = 4.0 - 2.4 * at / max(len(curves) - 1, 1)  # the last is the thinnest, so that none hides another
        curve = curves[name]
        x = MARGIN + (WIDTH - MARGIN - 4) * rows / max(float(rows[-1]), 1.0)
        points = " ".join(f"{a:.1f},{_y(b, low, room):.1f}" for a, b in zip(x, curve, strict=True) if not np.isnan(b))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{wide:.1f}"/>')
        parts.append(f'<rect x="{across}" y="{HEIGHT + 10}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{across + 17}" y="{HEIGHT + 20}" {letters}>{html.escape(name)}</text>')
        across += 17 + 7.2 * len(name) + 18
    width = max(WIDTH, across)
    size = f'width="{width:.0f}" height="{HEIGHT + 28}" viewBox="0 0 {width:.0f} {HEIGHT + 28}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def _y(value: float, low: float, room: float) -> float:
    return HEIGHT - 14 - (HEIGHT - 36) * (value - low) / room
