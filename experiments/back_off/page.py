"""The tables of the page, made from results.csv."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from experiments.back_off.run import CLASSIFIERS
from experiments.common import read_means
from tanager.evaluate import Results, Table


def tables(folder: Path) -> dict[str, Table]:
    """Wins and means of every classifier, then the figures of every data set."""
    results = read_means(folder / "results.csv")

    def log_loss(name: str, dataset: str) -> float:
        return float(results.mean(dataset, name, "log_loss"))

    def error(name: str, dataset: str) -> float:
        return 1 - float(results.mean(dataset, name, "accuracy"))

    return {
        "summary": _summary(results, log_loss, error),
        "log-loss": _by_set(results, log_loss, ".4f"),
        "error": _by_set(results, error, ".4f"),
        "prior": _prior(read_means(folder / "prior.csv")),
    }


Figure = Callable[[str, str], float]


def _summary(results: Results, log_loss: Figure, error: Figure) -> Table:
    """For each classifier: mean log loss and error both ways, and on how many sets the learned one is better."""
    rows = []
    for name in CLASSIFIERS:
        row: list[object] = [name]
        for figure in (log_loss, error):
            before, after = (
                np.round([figure(f"{name}, {way}", d) for d in results.datasets], 6) for way in ("fixed", "learned")
            )
            wins = f"{(after < before).sum()}-{(after == before).sum()}-{(after > before).sum()}"
            row += [before.mean(), after.mean(), wins]
        rows.append(row)
    names = [f"{what}, {way}" for what in ("log loss", "error") for way in ("fixed", "learned", "wins")]
    return Table(["classifier", *names], rows, {name: ".4f" for name in names if not name.endswith("wins")})


def _prior(results: Results) -> Table:
    """The means of each classifier and smoothing; on how many sets it is better, equal and worse than a fixed one."""
    rows = []
    for name in results.classifiers:
        kind, smoothing = name.split(", ")
        row: list[object] = [kind, smoothing]
        for measure, sign in (("log_loss", 1), ("accuracy", -1)):
            own, base = (
                np.array([sign * float(results.mean(d, which, measure)) for d in results.datasets])
                for which in (name, f"{kind}, fixed")
            )
            change = np.round(own - base, 6)
            wins = f"{(change < 0).sum()}-{(change == 0).sum()}-{(change > 0).sum()}"
            row += [own.mean() if sign > 0 else 1 + own.mean(), wins]
        rows.append(row)
    names = ["classifier", "smoothing", "log loss", "wins", "error", "wins "]
    return Table(names, rows, {"log loss": ".4f", "error": ".4f"})


def _by_set(results: Results, figure: Figure, form: str) -> Table:
    """A line per data set; for each classifier a fixed strength, then the learned back-off."""
    names = [f"{name}, {way}" for name in CLASSIFIERS for way in ("fixed", "learned")]
    rows = [[dataset, *(figure(name, dataset) for name in names)] for dataset in results.datasets]
    return Table(["data set", *names], rows, dict.fromkeys(names, form))
