"""The tables of the page, from the figures on file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.accuracy.run import NAMED, developed_on
from experiments.common import read_csv
from tanager.evaluate import Table, average_ranks, nemenyi, win_draw_loss

BARS = (  # against whom, by what, share of the data sets on which the named classifier must be better
    ("random forest", "log_loss", 0.80),
    ("random forest", "error", 0.55),
    ("gradient boosting", "log_loss", 0.60),
)


SHORT = {"log_loss": "log loss", "error": "error"}


def tables(out: Path) -> dict[str, Table]:
    """By the name of their place on the page."""
    lines = read_csv(out / "results.csv")
    found = {
        "bars": bars(lines),
        "means": means(lines),
        "ranks": rank_table(lines),
        "duels": duels(lines),
        "sets": by_set(lines),
    }
    times = out / "times.csv"
    return found | ({"times": time_table(read_csv(times))} if times.exists() else {})


def _figures(lines: list[dict[str, Any]], developed: bool) -> dict[str, dict[str, dict[str, Any]]]:
    """Figures by data set and classifier, for the data sets of one half."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        if developed_on(line["dataset"]) == developed:
            own = line | {"error": 1 - line["accuracy"]}
            found.setdefault(line["dataset"], {})[line["classifier"]] = own
    return {name: own for name, own in found.items() if len(own) > 1}


def bars(lines: list[dict[str, Any]]) -> Table:
    """How often the named classifier is better; half a point for a draw."""
    rows = []
    for other, measure, least in BARS:
        row = [f"{measure.replace('_', ' ')} against {other}", f"{least:.0%}"]
        for developed in (False, True):
            pairs = [(own[NAMED][measure], own[other][measure]) for own in _figures(lines, developed).values()]
            won, drawn = sum(a < b for a, b in pairs), sum(a == b for a, b in pairs)
            row += [f"{won}-{drawn}-{len(pairs) - won - drawn}", f"{(won + drawn / 2) / max(1, len(pairs)):.0%}"]
        rows.append(row)
    return Table(["", "bar", "reported half", "share", "development half", "share "], rows)


def _everywhere(figures: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """The classifiers that all data sets have figures of."""
    names = dict.fromkeys(name for own in figures.values() for name in own)
    return [name for name in names if all(name in own for own in figures.values())]


def means(lines: list[dict[str, Any]]) -> Table:
    """Means over the data sets of the reported half, of classifiers that all of them have."""
    figures = _figures(lines, developed=False)
    measures = ("accuracy", "log_loss", "brier", "calibration_error")
    rows = [
        [name, *(float(np.mean([own[name][measure] for own in figures.values()])) for measure in measures)]
        for name in _everywhere(figures)
    ]
    return Table(["classifier", *measures], rows, dict.fromkeys(measures, ".3f"))


def rank_table(lines: list[dict[str, Any]]) -> Table:
    """Mean ranks over the reported half, the best first, and the critical difference of Nemenyi's test."""
    figures = _figures(lines, developed=False)
    names = _everywhere(figures)
    ranks = {
        measure: average_ranks([[own[name][measure] for name in names] for own in figures.values()])
        for measure in SHORT
    }
    order = np.argsort(ranks["log_loss"], kind="stable")
    rows = [[names[i], *(float(ranks[measure][i]) for measure in SHORT)] for i in order]
    apart = nemenyi(len(names), len(figures))
    rows.append(["critical difference", apart, apart])
    heads = [f"rank by {short}" for short in SHORT.values()]
    return Table(["classifier", *heads], rows, dict.fromkeys(heads, ".2f"))


def duels(lines: list[dict[str, Any]]) -> Table:
    """Wins, draws and losses of the named classifier against each other one, on both halves."""
    halves = [_figures(lines, developed) for developed in (False, True)]
    others = list(dict.fromkeys(n for half in halves for own in half.values() for n in own))
    rows = []
    for other in others:
        cells = []
        for measure in SHORT:
            for half in halves:
                both = [own for own in half.values() if other in own and NAMED in own]
                score = win_draw_loss([own[NAMED][measure] for own in both], [own[other][measure] for own in both])
                cells.append("-".join(map(str, score)))
        rows += [[other, *cells]] if other != NAMED else []
    return Table(["against", "log loss", "development half", "error", "development half "], rows)


def time_table(lines: list[dict[str, Any]]) -> Table:
    """Processor seconds over all data sets, and how many times as long as the random forest a classifier takes."""
    own = {(line["dataset"], line["classifier"]): line for line in lines}
    datasets = list(dict.fromkeys(line["dataset"] for line in lines))
    rows = []
    for name in dict.fromkeys(line["classifier"] for line in lines):
        cells: list[float] = []
        for what in ("fit_seconds", "predict_seconds"):
            both = [
                (own[data, name][what], own[data, "random forest"][what]) for data in datasets if (data, name) in own
            ]
            cells += [sum(a for a, _ in both), float(np.exp(np.mean([np.log(a / b) for a, b in both])))]
        rows.append([name, *cells])
    heads = ["seconds to learn", "of the forest's", "seconds to answer", "of the forest's "]
    return Table(["classifier", *heads], rows, dict.fromkeys(heads, ".2f"))


def by_set(lines: list[dict[str, Any]]) -> Table:
    """Error and log loss of four of them on every data set."""
    shown = (NAMED, "AODE", "random forest", "gradient boosting")
    rows = []
    for developed in (False, True):
        for name, own in _figures(lines, developed).items():
            cells = [f"{own[c]['error']:.3f} / {own[c]['log_loss']:.3f}" if c in own else "" for c in shown]
            rows.append([name, "development" if developed else "reported", next(iter(own.values()))["n_rows"], *cells])
    return Table(["data set", "half", "rows", *shown], rows)
