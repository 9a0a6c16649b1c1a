"""The tables of the page, from the figures on file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.accuracy.run import NAMED, developed_on
from experiments.common import read_csv
from tanager.evaluate import Table

BARS = (  # against whom, by what, share of the data sets on which the named classifier must be better
    ("random forest", "log_loss", 0.80),
    ("random forest", "error", 0.55),
    ("gradient boosting", "log_loss", 0.60),
)


def tables(out: Path) -> dict[str, Table]:
    """By the name of their place on the page."""
    lines = read_csv(out / "results.csv")
    return {"bars": bars(lines), "means": means(lines), "sets": by_set(lines)}


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


def means(lines: list[dict[str, Any]]) -> Table:
    """Means over the data sets of the reported half that all classifiers have."""
    figures = _figures(lines, developed=False)
    names = list(dict.fromkeys(name for own in figures.values() for name in own))
    everywhere = [name for name in names if all(name in own for own in figures.values())]
    measures = ("accuracy", "log_loss", "brier", "calibration_error", "fit_seconds", "predict_seconds")
    rows = []
    for name in everywhere:
        own = [_mean([figures[data][name][measure] for data in figures]) for measure in measures]
        rank = np.mean([1 + sum(o["log_loss"] < f[name]["log_loss"] for o in f.values()) for f in figures.values()])
        rows.append([name, *own, float(rank)])
    forms = {"accuracy": ".3f", "log_loss": ".3f", "brier": ".3f", "calibration_error": ".3f"}
    return Table(["classifier", *measures, "rank by log loss"], rows, forms | {"rank by log loss": ".2f"})


def _mean(numbers: list[float | None]) -> float | None:
    """None where some are not known: classifiers that share counts have no time of their own."""
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if len(known) == len(numbers) else None


def by_set(lines: list[dict[str, Any]]) -> Table:
    """Error and log loss of four of them on every data set."""
    shown = (NAMED, "AODE", "random forest", "gradient boosting")
    rows = []
    for developed in (False, True):
        for name, own in _figures(lines, developed).items():
            cells = [f"{own[c]['error']:.3f} / {own[c]['log_loss']:.3f}" if c in own else "" for c in shown]
            rows.append([name, "development" if developed else "reported", next(iter(own.values()))["n_rows"], *cells])
    return Table(["data set", "half", "rows", *shown], rows)
