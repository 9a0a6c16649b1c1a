"""The tables and the picture of the page, all made from results.csv and times.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import read_csv
from experiments.structures.run import MEASURES
from tanager.evaluate import Table
from tanager.plot.style import styled

Lines = list[dict[str, Any]]


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    lines = read_csv(folder / "results.csv")
    found = {measure: _by_size(lines, measure, ".1f" if measure == "distance" else ".3f") for measure in MEASURES}
    return found | {"times": _by_size(read_csv(folder / "times.csv"), "seconds", ".4f")}


def summary(folder: Path) -> Table:
    """F1 and distance side by side, for the page of the documentation."""
    found = tables(folder)
    rows = [[*f1, *distance[1:]] for f1, distance in zip(found["f1"].rows, found["distance"].rows, strict=True)]
    first, *more = (name.removesuffix(" rows") for name in found["f1"].names[1:])
    names = [f"{said}, {at}" for said in ("F1", "distance") for at in (f"{first} rows", *more)]
    return Table(["learner", *names], rows, {name: ".3f" if "F1" in name else ".1f" for name in names})


def _by_size(lines: Lines, measure: str, form: str) -> Table:
    """Means over the networks: a line per learner, a column per number of rows."""
    sizes = list(dict.fromkeys(line["n_rows"] for line in lines))
    names = [f"{size:,} rows" for size in sizes]
    rows = [[learner, *(_mean(lines, learner, size, measure) for size in sizes)] for learner in _learners(lines)]
    return Table(["learner", *names], rows, dict.fromkeys(names, form))


def _learners(lines: Lines) -> list[str]:
    return list(dict.fromkeys(line["learner"] for line in lines))


def _mean(lines: Lines, learner: str, size: int, measure: str) -> float:
    own = [line[measure] for line in lines if line["learner"] == learner and line["n_rows"] == size]
    return float(np.mean(own))


@styled
def pictures(folder: Path) -> None:
    """F1 of the edges and the distance to the truth, over the number of rows."""
    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import SMALL, colour_of

    lines = read_csv(folder / "results.csv")
    sizes = list(dict.fromkeys(line["n_rows"] for line in lines))
    figure = new_figure(8.8, 3.9)
    for at, (measure, said) in enumerate({"f1": "F1 of the edges", "distance": "distance to the truth"}.items()):
        axes = add_panel(figure, 0.6 + 3.55 * at, 0.55, 2.9, 2.95)
        for number, learner in enumerate(_learners(lines)):
            means = [_mean(lines, learner, size, measure) for size in sizes]
            style = "--" if "order" in learner else "-"
            axes.plot(sizes, means, style, color=colour_of(number), marker="o", markersize=4, lw=1.6, label=learner)
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("rows")
        axes.set_title(said, loc="left")
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="center right",
        title="dashed: order known",
        title_fontsize=SMALL,
    )
    save_figure(figure, folder / "found.png")
