"""The tables and the pictures of the page, all made from points.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import read_csv
from experiments.growth.run import MEASURES
from experiments.growth.theory import GROUPS, SIZES, SUBJECTS, Subject, exponent
from tanager.evaluate import Table
from tanager.plot.style import styled

Lines = list[dict[str, Any]]
FAR = 0.35  # an exponent this far from what is said is marked
UNITS = {"learning": "seconds to learn", "memory": "bytes learned", "answering": "µs for an answer"}


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    lines = read_csv(folder / "points.csv")
    measured = {line["classifier"] for line in lines}
    subjects = [subject for subject in SUBJECTS if subject.name in measured]
    return {measure: _exponents(lines, subjects, measure) for measure in MEASURES} | {"base": _base(lines, subjects)}


def _exponents(lines: Lines, subjects: list[Subject], measure: str) -> Table:
    """A line per classifier: what is said, and for every size the exponent measured and (said)."""
    rows = []
    for subject in subjects:
        cost = getattr(subject, measure)
        cells = [_cell(slope(lines, subject.name, size, measure), exponent(cost, size)) for size in SIZES]
        rows.append([subject.name, cost, *cells])
    return Table(["classifier", "said", *SIZES], rows)


def _cell(found: float | None, said: int) -> str:
    if found is None:
        return ""
    text = f"{found + 0.0:.1f}".replace("-0.0", "0.0")
    return f"{text} ({said})" if abs(found - said) < FAR else f"**{text}** ({said})"


def slope(lines: Lines, name: str, along: str, measure: str) -> float | None:
    """The exponent over the upper half of the range: log of the cost against log of the size."""
    points = _points(lines, name, along, measure)
    if len(points) < 3:
        return None
    x, y = np.log(np.array(points)).T
    upper = x >= (x[0] + x[-1]) / 2 - 1e-9
    if upper.sum() < 3:
        upper = np.arange(len(x)) >= len(x) - 3
    return float(np.polyfit(x[upper], y[upper], 1)[0])


def _points(lines: Lines, name: str, along: str, measure: str) -> list[tuple[float, float]]:
    own = [line for line in lines if line["classifier"] == name and line["along"] == along]
    return [(line[along], line[measure]) for line in own]


def _base(lines: Lines, subjects: list[Subject]) -> Table:
    """What all cost at the size where the others start from, and how far each was taken."""
    rows = []
    for subject in subjects:
        points = {
            size: [line for line in lines if (line["classifier"], line["along"]) == (subject.name, size)]
            for size in SIZES
        }
        at = next((line for line in points["rows"] if line["rows"] == 2000), points["rows"][-1])
        cells = [1000 * at["learning"], at["memory"] / 1000, 1e6 * at["answering"]]
        rows.append([subject.name, *cells, *(points[size][-1][size] for size in SIZES)])
    names = ["learning, ms", "memory, kB", "an answer, µs"]
    most = [f"most {size}" for size in SIZES]
    return Table(["classifier", *names, *most], rows, dict.fromkeys(names, ",.1f") | dict.fromkeys(most, ",.0f"))


def pictures(folder: Path) -> None:
    """For every group of classifiers three rows of panels (what is measured) and four columns (what grows)."""
    lines = read_csv(folder / "points.csv")
    for group in GROUPS:
        if any(subject.group == group and _points(lines, subject.name, "rows", "memory") for subject in SUBJECTS):
            _picture(lines, group, folder / f"{group.replace(' ', '-')}.png")


@styled
def _picture(lines: Lines, group: str, path: Path) -> None:
    from matplotlib.ticker import LogLocator

    from tanager.plot.figure import add_panel, new_figure, power_of_ten, save_figure
    from tanager.plot.style import colour_of, dashes_of

    own = [subject for subject in SUBJECTS if subject.group == group]
    figure = new_figure(6.6, 4.25)
    for down, measure in enumerate(MEASURES):
        for across, along in enumerate(SIZES):
            axes = add_panel(figure, 0.55 + 1.54 * across, 2.98 - 1.12 * down, 1.2, 0.92)
            for at, subject in enumerate(own):
                points = _points(lines, subject.name, along, measure)
                x, y = zip(*points, strict=True) if points else ((), ())
                scale = 1e6 if measure == "answering" else 1
                axes.plot(
                    x,
                    [scale * value for value in y],
                    ls=dashes_of(at),
                    color=colour_of(at),
                    lw=1.0,
                    label=subject.name,
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.tick_params(labelsize=6)
            axes.xaxis.set_major_locator(LogLocator(numticks=4))
            axes.yaxis.set_major_locator(LogLocator(numticks=5))
            if down == 0:
                axes.set_title(f"by {along}", loc="left")
            if across == 0:
                axes.set_ylabel(UNITS[measure], fontsize=7)
            axes.minorticks_off()
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(lambda value, _: power_of_ten(value))
            axes.tick_params(labelbottom=down == len(MEASURES) - 1)
    figure.legend(*axes.get_legend_handles_labels(), loc="lower center", ncol=5, fontsize=6.5)
    save_figure(figure, path)
