"""The tables and pictures of the page, all made from results.csv and times.csv."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bouckaert_streams.run import CLASSIFIERS, ORDERED, SEED
from experiments.bouckaert_streams.sources import IN_FRONT, SOURCES, STREAMS
from experiments.common import LEVEL, interval, read_csv
from tanager.evaluate import Table, equivalence, sign_test, win_draw_loss
from tanager.plot.style import styled

Lines = list[dict[str, Any]]
NAMES = list(CLASSIFIERS)
DUELS = (
    *(("TAN", "NB"), ("AODE", "NB"), ("FANC", "NB"), ("SPC", "NB"), ("TC", "NB")),
    *(("SPC", "FANC"), ("SPC", "AODE"), ("SPC", "TAN"), ("TC", "TAN"), ("TC", "SPC"), ("SPCr", "SPC"), ("TC", "SPCr")),
)
CHANGES = [*STREAMS[1:], IN_FRONT]
MARGIN = 0.0025  # of accuracy: what differs by less than a quarter of a point on average is alike


class Figures:
    """The results: stretches of streams with the number of right answers."""

    def __init__(self, lines: Lines) -> None:
        self.streams: dict[tuple[str, str, int], Lines] = {}
        for line in lines:
            self.streams.setdefault((line["source"], line["stream"], line["seed"]), []).append(line)
        self.seeds = sorted({line["seed"] for line in lines})
        self.n_rows = max(line["n_rows"] for line in lines)
        self.n_short = max(line["n_rows"] for line in lines if line["stream"] == IN_FRONT)

    def of(self, source: str, stream: str, seed: int = SEED) -> Lines:
        """The stretches of one stream."""
        return self.streams[source, stream, seed]

    def share(self, name: str, lines: Lines, after: float, until: float = np.inf) -> float:
        """The share of right answers in the rows from one number of rows on, up to another."""
        own = [line for line in lines if after < line["n_rows"] <= until]
        return sum(line[name] for line in own) / sum(line["asked"] for line in own)

    def late(self, name: str, source: str, stream: str) -> float:
        """Accuracy in the last nine tenths of a long stream."""
        return self.share(name, self.of(source, stream), self.n_rows / 10)

    def short(self, name: str, source: str, stream: str, seed: int) -> float:
        """Accuracy in the second half of a short stream, or in the same rows of a long one."""
        return self.share(name, self.of(source, stream, seed), self.n_short / 2, self.n_short)

    def spread(self, name: str, source: str, stream: str) -> np.ndarray:
        """Accuracy for each source of a kind."""
        return np.array([self.short(name, source, stream, seed) for seed in self.seeds])


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    figures, times = Figures(read_csv(folder / "results.csv")), read_csv(folder / "times.csv")
    return {
        "end": _end(figures),
        "start": _start(figures),
        "spread": _spread(figures),
        "duels": _duels(figures),
        "changes": _changes(figures),
        "spread-changes": _spread_changes(figures),
        "alike": _alike(figures),
        "orders": _orders(read_csv(folder / "orders.csv")),
        "times": _times(times),
        "parts": _parts(times),
        "run": _run(times),
    }


def _points(names: Sequence[str], form: str = ".2f") -> dict[str, str]:
    return dict.fromkeys(names, form)


def _end(figures: Figures) -> Table:
    """Accuracy when nearly all is learned."""
    rows = [[source, *(figures.late(name, source, "plain") for name in (*NAMES, "best"))] for source in SOURCES]
    return Table(["source", *NAMES, "best"], rows)


def _start(figures: Figures) -> Table:
    """Accuracy over the first hundredth."""
    until = figures.n_rows / 100
    rows = [
        [source, *(figures.share(name, figures.of(source, "plain"), 0, until) for name in (*NAMES, "best"))]
        for source in SOURCES
    ]
    return Table(["source", *NAMES, "best"], rows)


def _spread(figures: Figures) -> Table:
    """Points behind the best answers: mean and spread over the sources of a kind, and mean rank."""
    rows: list[list[Any]] = []
    for source in SOURCES:
        accuracy = np.array([figures.spread(name, source, "plain") for name in NAMES])
        behind = 100 * (figures.spread("best", source, "plain") - accuracy)
        ranks = (accuracy[None] > accuracy[:, None]).sum(axis=1) + 1.0
        ranks += ((accuracy[None] == accuracy[:, None]).sum(axis=1) - 1) / 2
        rows.append([source, "points behind", *(f"{own.mean():.2f} ± {own.std(ddof=1):.2f}" for own in behind)])
        rows.append([source, "mean rank", *(f"{rank:.1f}" for rank in ranks.mean(axis=1))])
    return Table(["source", "", *NAMES], rows)


def _duels(figures: Figures) -> Table:
    """One classifier against another on all sources of a kind: wins, losses, and the mean difference in points."""
    rows = []
    for first, second in DUELS:
        cells = []
        for source in SOURCES:
            a, b = figures.spread(first, source, "plain"), figures.spread(second, source, "plain")
            won, _, lost = win_draw_loss(1 - a, 1 - b)
            p = sign_test(won, lost)[1]
            cells.append(f"{won}-{lost}, {100 * (a - b).mean():+.2f}{' *' if p < 0.05 else ''}")
        rows.append([f"{first} against {second}", *cells])
    return Table(["", *(f"{source} source" for source in SOURCES)], rows, note="* p < 0.05 by the sign test.")


def _changes(figures: Figures) -> Table:
    """Points that the accuracy changes by when something is done to the rows of a long stream."""
    rows = []
    for stream in STREAMS[1:]:
        for source in SOURCES:
            change = [
                100 * (figures.late(name, source, stream) - figures.late(name, source, "plain"))
                for name in (*NAMES, "best")
            ]
            rows.append([stream, source, *change])
    return Table(["stream", "source", *NAMES, "best"], rows, _points([*NAMES, "best"]))


def _spread_changes(figures: Figures) -> Table:
    """The same over all sources of a kind: means."""
    rows = []
    for stream in CHANGES:
        for source in SOURCES:
            change = [
                100 * (figures.spread(name, source, stream) - figures.spread(name, source, "plain")).mean()
                for name in (*NAMES, "best")
            ]
            rows.append([stream, source, *change])
    return Table(["stream", "source", *NAMES, "best"], rows, _points([*NAMES, "best"]))


def _alike(figures: Figures) -> Table:
    """Where the source says that all are alike: differences over the sources of a kind, and whether they are small."""
    plain = {source: {name: figures.spread(name, source, "plain") for name in NAMES} for source in SOURCES}
    less = {name: own - plain["NB"]["NB"] for name, own in plain["NB"].items()}
    behind = {name: own - figures.spread("best", "TAN", "plain") for name, own in plain["TAN"].items()}
    rows = [["1", "accuracy less that of NB, NB source", *_tested(less)]]
    rows.append(["2", "accuracy less the best possible, TAN source", *_tested(behind)])
    for claim, stream in (("4", "irrelevant"), ("5", "noise"), ("5", "missing")):
        for source in SOURCES:
            change = {name: figures.spread(name, source, stream) - plain[source][name] for name in NAMES}
            if claim == "5":  # who loses more than the others
                mean = np.mean(list(change.values()), axis=0)
                change = {name: own - mean for name, own in change.items()}
            what = "change less the mean change" if claim == "5" else "change"
            rows.append([claim, f"{what}, {stream}, {source} source", *_tested(change)])
    note = f"90 % intervals of the mean, in points; = within {100 * MARGIN:g} points (p < {LEVEL})."
    return Table(["claim", "what", *NAMES], rows, note=note)


def _tested(differences: dict[str, np.ndarray]) -> list[str]:
    """The interval of each mean difference in points, marked where it lies within the margin."""
    found = [equivalence(own, MARGIN) for own in differences.values()]
    return [f"{interval(one, 100)}{' =' if one.p < LEVEL else ''}" for one in found]


def _orders(lines: Lines) -> Table:
    """Accuracy with the columns in several orders, mean over the sources; and with irrelevant columns in front."""
    rows: list[list[Any]] = []
    for source in dict.fromkeys(line["source"] for line in lines):
        for order in dict.fromkeys(line["order"] for line in lines):
            shares = [
                np.mean([line[name] / line["asked"] for line in lines if _is(line, source, order, stream)])
                for stream in ("plain", IN_FRONT)
                for name in ORDERED
            ]
            rows.append([source, order, *map(float, shares)])
    return Table(["source", "order", *ORDERED, *(f"{name}, in front" for name in ORDERED)], rows)


def _is(line: dict[str, Any], source: str, order: str, stream: str) -> bool:
    return (line["source"], line["order"], line["stream"]) == (source, order, stream)


def _times(times: Lines) -> Table:
    """Thousands of rows per second and core that each classifier answers; row by row it learns them as well."""
    rows = []
    for name in NAMES:
        cells = []
        for way in ("blocks", "row by row"):
            for wide in (False, True):
                own = [
                    line
                    for line in times
                    if (line["what"], line["way"]) == (name, way)
                    and line["seed"] == SEED
                    and line["stream"].startswith("irrelevant") == wide
                ]
                cells.append(
                    sum(line["n_rows"] for line in own) / max(sum(line["seconds"] for line in own), 1e-9) / 1e3
                )
        rows.append([name, *cells])
    names = ["blocks, 19 columns", "blocks, 29 columns", "row by row, 19 columns", "row by row, 29 columns"]
    return Table(["classifier", *names], rows, _points(names, ",.0f"))


def _parts(times: Lines) -> Table:
    """What the seconds of the processor were spent on."""
    seconds: dict[tuple[str, str], float] = {}
    for line in [line for line in times if line["way"] != "elapsed"]:
        key = line["what"], line["way"]
        seconds[key] = seconds.get(key, 0.0) + line["seconds"]
    total = sum(seconds.values())
    rows = [
        [what if way == "blocks" else f"{what}, {way}", spent, 100 * spent / total]
        for (what, way), spent in sorted(seconds.items(), key=lambda item: -item[1])
    ]
    return Table(["part", "seconds", "%"], [*rows, ["all", total, 100.0]], {"seconds": ",.1f", "%": ".1f"})


def _run(times: Lines) -> Table:
    """The whole experiment by the clock on the wall."""
    (whole,) = (line for line in times if line["way"] == "elapsed")
    n_rows, seconds = whole["n_rows"], whole["seconds"]
    n_answers = n_rows * len(NAMES)
    row = [whole["what"], f"{seconds:,.0f} s", n_rows, n_answers, round(n_rows / seconds), round(n_answers / seconds)]
    return Table(["run by", "time", "rows learned", "answers", "rows/s", "answers/s"], [row])


# --- pictures ------------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> None:
    """Figures 1 to 3 of the source."""
    figures = Figures(read_csv(folder / "results.csv"))
    _draw(folder / "curves.png", figures, "accuracy", _curve, figures.n_rows / 1_000, log=True)
    _draw(folder / "start.png", figures, "mean accuracy so far", _so_far, figures.n_rows / 10_000, figures.n_rows / 100)
    _draw(folder / "irrelevant.png", figures, "points lost", _lost_points, figures.n_rows / 1_000, log=True)


def _curve(figures: Figures, name: str, source: str, line: dict[str, Any]) -> float:
    """Accuracy in a stretch, less the luck that the best answers had in it."""
    return figures.late("best", source, "plain") + (line[name] - line["best"]) / line["asked"]


def _so_far(figures: Figures, name: str, source: str, line: dict[str, Any]) -> float:
    """Mean accuracy of all rows up to the end of a stretch."""
    return figures.share(name, figures.of(source, "plain"), 0, line["n_rows"])


def _lost_points(figures: Figures, name: str, source: str, line: dict[str, Any]) -> float:
    """Points of accuracy lost to irrelevant columns, in all rows up to the end of a stretch."""
    until = line["n_rows"]
    there = figures.share(name, figures.of(source, "irrelevant"), 0, until)
    return 100 * (figures.share(name, figures.of(source, "plain"), 0, until) - there)


@styled
def _draw(
    path: Path, figures: Figures, what: str, curve: Any, after: float, until: float = np.inf, *, log: bool = False
) -> None:
    """A panel for each source, a curve for each classifier."""
    from tanager.plot.figure import add_panel, new_figure, power_of_ten, save_figure
    from tanager.plot.style import COLOURS, INK, QUIET

    figure = new_figure(11.4, 4.0)
    for at, source in enumerate(SOURCES):
        axes = add_panel(figure, 0.75 + 3.35 * at, 0.55, 2.75, 2.9)
        lines = [line for line in figures.of(source, "plain") if after <= line["n_rows"] <= until]
        rows = [line["n_rows"] for line in lines]
        for name, colour in zip(NAMES, COLOURS, strict=False):
            values = [curve(figures, name, source, line) for line in lines]
            axes.plot(rows, values, "--" if name == "SPCr" else "-", color=colour, lw=1.5, label=name)
        if "accuracy" in what:
            best = [curve(figures, "best", source, line) for line in lines]
            axes.plot(rows, best, ":", color=INK, lw=1.5, label="best possible")
        else:
            axes.axhline(0, color=QUIET, lw=0.8)
        if log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: power_of_ten(value))
        else:
            axes.set_xlim(0)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("rows")
        axes.set_title(f"{source} source", loc="left")
        if at == 0:
            axes.set_ylabel(what)
    handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc="center right")
    save_figure(figure, path)
