"""The tables and the picture of the page, all made from results.csv, curves.csv and memories.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.common import HOME, read_csv
from experiments.real_streams import rivals
from experiments.real_streams.run import DRAWN
from tanager.evaluate import Table
from tanager.plot.style import styled

Lines = list[dict[str, Any]]


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    lines = read_csv(folder / "results.csv")
    speeds = [line | {"speed": line["n_rows"] / line["seconds"]} for line in lines]
    return {
        "accuracy": _by_stream(lines, "model", "accuracy", ".4f"),
        "kappa": _by_stream(lines, "model", "kappa", ".3f"),
        "fading": _by_stream(lines, "model", "fading", ".4f"),
        "speed": _by_stream(speeds, "model", "speed", ",.0f"),
        "memories": _by_stream(read_csv(folder / "memories.csv"), "window", "accuracy", ".4f"),
        **rivals.tables(found if (found := folder / "rivals.csv").exists() else HOME / "real_streams" / "rivals.csv"),
    }


def _by_stream(lines: Lines, key: str, measure: str, form: str) -> Table:
    """A line per model, a column per stream."""
    streams = list(dict.fromkeys(line["stream"] for line in lines))
    found = {(line[key], line["stream"]): line[measure] for line in lines}
    names = list(dict.fromkeys(line[key] for line in lines))
    rows = [[name, *(found.get((name, stream)) for stream in streams)] for name in names]
    return Table([key, *streams], rows, dict.fromkeys(streams, form))


@styled
def pictures(folder: Path) -> None:
    """Fading accuracy of some models, a panel per stream."""
    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import COLOURS

    lines = read_csv(folder / "curves.csv")
    streams = list(dict.fromkeys(line["stream"] for line in lines))
    n_down = (len(streams) + 1) // 2
    figure = new_figure(6.4, 0.5 + 1.8 * n_down)
    for at, stream in enumerate(streams):
        axes = add_panel(figure, 0.45 + 3.1 * (at % 2), 0.6 + 1.8 * (n_down - 1 - at // 2), 2.6, 1.3)
        for name, colour in zip(DRAWN, COLOURS, strict=False):
            own = [line for line in lines if line["stream"] == stream and line["model"] == name]
            style = ":" if name == "no change" else "-"
            places, heights = [line["row"] for line in own], [line["fading"] for line in own]
            axes.plot(places, heights, style, color=colour, lw=1.3, label=name)
        axes.locator_params(nbins=5)
        axes.set_title(stream, loc="left")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    legend = {"loc": "lower center", "ncol": len(DRAWN), "fontsize": 7}
    figure.legend(*axes.get_legend_handles_labels(), **legend)
    save_figure(figure, folder / "curves.png")
