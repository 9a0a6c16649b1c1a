"""The tables of the page, made from results.csv and streams.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.accuracy.run import developed_on
from experiments.bins.rules import REPORTED, RULES
from experiments.bins.run import CLASSIFIERS
from experiments.common import read_csv
from tanager.evaluate import Table

BASE, CHOSEN = REPORTED
Figures = dict[tuple[str, str, str], dict[str, Any]]  # by data set, rule and classifier


def tables(folder: Path) -> dict[str, Table]:
    """By the name of their place on the page."""
    sets, streams = (_figures(folder / name) for name in ("results.csv", "streams.csv"))
    return {
        "development": _rules(_half(sets, developed=True), list(RULES)),
        "reported": _rules(_half(sets, developed=False), list(REPORTED)),
        "streams-development": _by_set(_half(streams, developed=True)),
        "streams-reported": _by_set(_half(streams, developed=False)),
        "sets": _by_set(sets, bins=True),
        "others": _others(_figures(folder / "others.csv")),
    }


def _figures(path: Path) -> Figures:
    return {(line["dataset"], line["rule"], line["classifier"]): line for line in read_csv(path)}


def _half(figures: Figures, *, developed: bool) -> Figures:
    return {key: line for key, line in figures.items() if developed_on(key[0]) == developed}


def _rules(figures: Figures, rules: list[str]) -> Table:
    """For each rule and classifier: mean changes of log loss and error against MDL, and wins, draws and losses."""
    rows = []
    for rule in rules:
        bins = [line["n_bins"] for (_, own, _), line in figures.items() if own == rule]
        row: list[object] = [rule, float(np.mean(bins)) if bins else None]
        for classifier in CLASSIFIERS:
            for measure, scale in (("log_loss", 1), ("error", 100)):
                row.append(_compared(figures, rule, classifier, measure, scale))
        rows.append(row)
    names = [f"{classifier}, {what}" for classifier in CLASSIFIERS for what in ("log loss", "error in %")]
    return Table(["rule", "bins", *names], rows, {"bins": ".1f"})


def _compared(figures: Figures, rule: str, classifier: str, measure: str, scale: float) -> str:
    """The mean change, and on how many data sets it is better, equal and worse; for MDL itself its mean."""
    sets = [name for name, own, kind in figures if own == rule and kind == classifier]
    own, base = (
        np.array([scale * figures[name, which, classifier][measure] for name in sets]) for which in (rule, BASE)
    )
    if rule == BASE:
        return f"{base.mean():.3f}" if scale == 1 else f"{base.mean():.2f}"
    change = np.round(own - base, 9)
    wins = f"{(change < 0).sum()}-{(change == 0).sum()}-{(change > 0).sum()}"
    return f"{change.mean():+.3f} {wins}" if scale == 1 else f"{change.mean():+.2f} {wins}"


def _by_set(figures: Figures, *, bins: bool = False) -> Table:
    """Log loss and error on every data set, by MDL and by the chosen rule."""
    sets = list(dict.fromkeys(name for name, _, _ in figures))
    kinds = [kind for kind in CLASSIFIERS if any(key[2] == kind for key in figures)]
    rows = []
    for name in sets:
        first = [next(line for key, line in figures.items() if key[:2] == (name, rule)) for rule in REPORTED]
        row: list[object] = [name, first[0]["n_rows"]]
        if bins:
            row = [name, "development" if developed_on(name) else "reported", first[0]["n_rows"]]
            row.append(f"{first[0]['n_bins']:.1f} → {first[1]['n_bins']:.1f}")
        for kind in kinds:
            for measure in ("log_loss", "error"):
                pair = [figures.get((name, rule, kind)) for rule in REPORTED]
                row.append("" if None in pair else " → ".join(f"{line[measure]:.3f}" for line in pair if line))
        rows.append(row)
    names = [f"{kind}, {what}" for kind in kinds for what in ("log loss", "error")]
    return Table(["data set", *(["half", "rows", "bins"] if bins else ["rows"]), *names], rows)


def _others(figures: Figures) -> Table:
    """For each classifier the mean changes against MDL, and wins, draws and losses."""
    kinds = dict.fromkeys(kind for _, _, kind in figures)
    rows = [
        [kind, *(_compared(figures, CHOSEN, kind, *what) for what in (("log_loss", 1), ("error", 100)))]
        for kind in kinds
    ]
    return Table(["classifier", "log loss", "error in %"], rows)
