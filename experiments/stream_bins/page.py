"""The tables of the page, made from results.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.accuracy.run import developed_on
from experiments.common import read_csv
from experiments.stream_bins.rules import RULES
from experiments.stream_bins.run import CLASSIFIERS, REPORTED
from tanager.evaluate import Table

CHOSEN = "stream"
BEFORE = dict.fromkeys(CLASSIFIERS, "refined") | {"NaiveBayes": "mdl", "TAN": "mdl"}  # the default of ``fit``
Figures = dict[tuple[str, str, str], dict[str, Any]]  # by stream, rule and classifier


def tables(folder: Path) -> dict[str, Table]:
    """By the name of their place on the page."""
    figures = {(line["stream"], line["rule"], line["classifier"]): line for line in read_csv(folder / "results.csv")}
    halves = [{k: v for k, v in figures.items() if developed_on(k[0]) == half} for half in (True, False)]
    return {
        "development": _rules(halves[0], list(RULES)),
        "reported": _rules(halves[1], list(REPORTED)),
        "streams": _by_stream(figures),
    }


def _rules(figures: Figures, rules: list[str]) -> Table:
    """For each rule and classifier: mean changes against the default of ``fit``, and wins, draws and losses."""
    rows = []
    for rule in rules:
        row: list[object] = [rule, float(np.mean([v["n_bins"] for k, v in figures.items() if k[1] == rule]))]
        for classifier in CLASSIFIERS:
            row += [_compared(figures, rule, classifier, *what) for what in (("log_loss", 1), ("error", 100))]
        rows.append(row)
    names = [f"{classifier}, {what}" for classifier in CLASSIFIERS for what in ("log loss", "error in %")]
    return Table(["rule", "bins", *names], rows, {"bins": ".1f"})


def _compared(figures: Figures, rule: str, classifier: str, measure: str, scale: float) -> str:
    """The mean change, and on how many streams it is better, equal and worse; of the default itself the mean."""
    base = BEFORE[classifier]
    kept = [name for name, own, kind in figures if own == rule and kind == classifier]
    streams = [name for name in kept if (name, base, classifier) in figures]
    pairs = [(figures[name, rule, classifier], figures[name, base, classifier]) for name in streams]
    if not pairs:
        return ""
    own, before = (scale * np.array([pair[at][measure] for pair in pairs]) for at in (0, 1))
    if rule == base:
        return f"{before.mean():.3f}" if scale == 1 else f"{before.mean():.2f}"
    change = np.round(own - before, 9)
    wins = f"{(change < 0).sum()}-{(change == 0).sum()}-{(change > 0).sum()}"
    return f"{change.mean():+.3f} {wins}" if scale == 1 else f"{change.mean():+.2f} {wins}"


def _by_stream(figures: Figures) -> Table:
    """Log loss and error on every stream, by the default of ``fit`` and by that of streams."""
    rows = []
    for name in dict.fromkeys(name for name, _, _ in figures):
        line = figures[name, CHOSEN, "NaiveBayes"]
        row: list[object] = [name, "development" if developed_on(name) else "reported", line["n_rows"], line["n_bins"]]
        for kind in CLASSIFIERS:
            pair = [figures.get((name, rule, kind)) for rule in (BEFORE[kind], CHOSEN)]
            for measure in ("log_loss", "error"):
                row.append("" if None in pair else " → ".join(f"{own[measure]:.3f}" for own in pair if own))
        rows.append(row)
    names = [f"{kind}, {what}" for kind in CLASSIFIERS for what in ("log loss", "error")]
    return Table(["stream", "half", "rows", "bins", *names], rows, {"bins": ".1f"})
