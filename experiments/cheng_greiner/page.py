"""The tables and pictures of the page, all made from results.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.cheng_greiner.run import RULES, SIX, YARDSTICKS
from experiments.common import read_csv
from tanager.evaluate import Table

Lines = list[dict[str, Any]]

PERCENT = dict.fromkeys(("source", "±", "ours", "our ±"), ".2f") | {"ours less source": "+.2f"}

# Table 2 of the source: accuracy in percent, in the order of SIX; on nursery feature selection keeps all features.
SOURCE = {
    "adult": (86.33, 85.88, 84.83, 85.54, 85.79, 85.46),
    "nursery": (91.92, 91.60, 97.13, 97.31, 97.13, 97.31),
    "mushroom": (98.67, 98.74, 99.96, 100.0, 98.67, 99.11),
    "chess": (93.53, 93.62, 96.44, 94.56, 93.25, 93.43),
    "dna": (95.70, 96.63, 94.10, 93.51, 95.36, 95.70),
}
# Features that the source's GBN kept, order unknown and order given.
SOURCE_FEATURES = {"adult": (7, 8), "nursery": (8, 8), "mushroom": (7, 5), "chess": (11, 11), "dna": (14, 15)}
# Table 3: seconds of a Pentium II at 300 MHz.
SOURCE_SECONDS: dict[str, dict[str, int | None]] = {
    "adult": {"W-GBN": 1046, "W-MN": 1466, "W-MN-FS": 1200},
    "nursery": {"W-GBN": 54, "W-MN": 79, "W-MN-FS": None},
    "mushroom": {"W-GBN": 322, "W-MN": 533, "W-MN-FS": 345},
    "chess": {"W-GBN": 84, "W-MN": 163, "W-MN-FS": 109},
    "dna": {"W-GBN": 210, "W-MN": 1000, "W-MN-FS": 266},
}


def tables(folder: Path) -> dict[str, Table]:
    """All tables of the page, by name."""
    lines = read_csv(folder / "results.csv")
    return {
        "best": best(lines),
        "accuracy": accuracy(lines),
        "features": features(lines),
        "smoothing": smoothing(lines),
        "times": times(lines),
    }


def of(lines: Lines, dataset: str, classifier: str | None = None) -> Lines:
    """The lines of a data set, or of one classifier on it: one per draw."""
    return [line for line in lines if line["dataset"] == dataset and classifier in (None, line["classifier"])]


def datasets(lines: Lines) -> list[str]:
    """Names of the data sets, in the order they came."""
    return list(dict.fromkeys(line["dataset"] for line in lines))


def percent(lines: Lines) -> float:
    """Accuracy in percent, the mean over the draws."""
    return 100 * float(np.mean([line["accuracy"] for line in lines]))


def margin(accuracy: float, n_test: int) -> float:
    """The source's ±: 1.96 standard errors of a share, in percent."""
    p = accuracy / 100
    return float(100 * 1.96 * (p * (1 - p) / n_test) ** 0.5)


def best(lines: Lines) -> Table:
    """The best of the six in the source, ours, and whether ours is at least theirs less their ±."""
    rows = []
    for dataset in datasets(lines):
        n_test = of(lines, dataset)[0]["n_test"]
        ours = {name: percent(of(lines, dataset, name)) for name in SIX}
        mine = max(SIX, key=lambda name: ours[name])
        said = dict(zip(SIX, SOURCE[dataset], strict=True)) if dataset in SOURCE else ours
        top = max(said.values())
        theirs = ", ".join(name for name, value in said.items() if value == top)
        reached = "yes" if ours[mine] >= top - margin(top, n_test) else "no"
        rows.append([dataset, *shown(top, n_test), theirs, *shown(ours[mine], n_test), mine, reached])
    return Table(["dataset", "source", "±", "its best", "ours", "our ±", "our best", "reached"], rows, PERCENT)


def accuracy(lines: Lines) -> Table:
    """Table 2: accuracy of the six and of two yardsticks, the source's beside ours, and the spread over our draws."""
    rows: list[list[Any]] = []
    for dataset in datasets(lines):
        said = dict(zip(SIX, SOURCE.get(dataset, ()), strict=False))
        for name in (*SIX, *YARDSTICKS):
            own = of(lines, dataset, name)
            each = " ".join(f"{percent([line]):.2f}" for line in own) if len(own) > 1 else ""
            top, mine = said.get(name), percent(own)
            less = None if top is None else mine - top
            rows.append([dataset, name, *shown(top, own[0]["n_test"]), *shown(mine, own[0]["n_test"]), each, less])
    names = ["dataset", "classifier", "source", "±", "ours", "our ±", "draws", "ours less source"]
    return Table(names, rows, PERCENT)


def shown(accuracy: float | None, n_test: int) -> tuple[float | None, float | None]:
    """An accuracy and its ±."""
    return (None, None) if accuracy is None else (accuracy, margin(accuracy, n_test))


def features(lines: Lines) -> Table:
    """How many attributes are left in the blanket of the class, beside the source; with several draws the range."""
    rows = []
    for dataset in datasets(lines):
        theirs = SOURCE_FEATURES.get(dataset, (None, None))
        cells: list[Any] = []
        for name, said in zip(("W-GBN", "W-GBN-O"), theirs, strict=True):
            own = of(lines, dataset, name)
            cells += [said, spread([line["features"] for line in own]), spread([line["threshold"] for line in own])]
        rows.append([dataset, of(lines, dataset)[0]["attributes"], *cells])
    names = ["dataset", "attributes", "source", "W-GBN", "threshold", "source, O", "W-GBN-O", "threshold, O"]
    return Table(names, rows)


def smoothing(lines: Lines) -> Table:
    """Accuracy under the rules of smoothing that were run."""
    rules = ["", *(f", {rule}" for rule in RULES if any(line["classifier"].endswith(rule) for line in lines))]
    rows = []
    for dataset in datasets(lines):
        for kind in ("W-GBN", "W-GBN-O", "W-MN", "W-MN-O"):
            rows.append([dataset, kind, *(percent(of(lines, dataset, kind + rule)) for rule in rules)])
    names = ["dataset", "classifier", "back-off 20", *(rule.removeprefix(", ") for rule in rules[1:])]
    return Table(names, rows, dict.fromkeys(names, ".2f"))


def spread(values: list[Any]) -> str:
    """One value, or the range of several."""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def times(lines: Lines) -> Table:
    """Table 3: seconds to learn, wrapper and all, beside the source; and rows answered in a second."""
    rows = []
    for dataset in datasets(lines):
        cells: list[Any] = []
        for name in ("W-GBN", "W-MN", "W-MN-FS"):
            own = of(lines, dataset, name)
            cells += [SOURCE_SECONDS.get(dataset, {}).get(name), float(np.mean([line["fit_seconds"] for line in own]))]
        quick = [line["n_test"] / line["predict_seconds"] for line in of(lines, dataset, "W-GBN")]
        rows.append([dataset, *cells, int(np.median(quick))])
    names = [
        "dataset",
        "W-GBN, source",
        "W-GBN",
        "W-MN, source",
        "W-MN",
        "W-MN-FS, source",
        "W-MN-FS",
        "rows answered a second",
    ]
    loads = [line["load"] for line in lines]
    note = (
        f"Seconds of the processor, from the table on; load of the machine while timing {min(loads)} to {max(loads)}. "
        "The source's are of a Pentium II at 300 MHz."
    )
    return Table(names, rows, dict.fromkeys(("W-GBN", "W-MN", "W-MN-FS"), ".2f"), note=note)


def pictures(folder: Path) -> None:
    """Accuracy of the six beside the source's, a panel per data set."""
    from tanager.plot.figure import COLOURS, FAINT, INK, QUIET, add_panel, new_figure, save_figure

    lines = read_csv(folder / "results.csv")
    names = datasets(lines)
    figure = new_figure(1.2 + 2.0 * len(names), 3.0)
    for at, dataset in enumerate(names):
        axes = add_panel(figure, 0.95 + 2.0 * at, 0.55, 1.6, 1.95)
        n_test = of(lines, dataset)[0]["n_test"]
        for place, name in enumerate(SIX):
            value = percent(of(lines, dataset, name))
            axes.plot(value, -place - 0.14, "o", color=COLOURS[0], ms=5, label="ours" if not place else None)
            each = [percent([line]) for line in of(lines, dataset, name)]
            axes.plot([min(each), max(each)], [-place - 0.14] * 2, color=COLOURS[0], lw=1.5)
            if dataset in SOURCE:
                said = SOURCE[dataset][place]
                axes.errorbar(
                    said,
                    -place + 0.14,
                    xerr=margin(said, n_test),
                    fmt="D",
                    color=COLOURS[1],
                    ms=4,
                    lw=1.2,
                    label="source" if not place else None,
                )
        axes.set_yticks([-place for place in range(len(SIX))], SIX if at == 0 else [""] * len(SIX))
        axes.set_ylim(-len(SIX) + 0.5, 0.5)
        axes.grid(axis="x", color=FAINT, lw=0.5)
        axes.set_axisbelow(True)
        axes.set_title(dataset, fontsize=9, color=QUIET)
        axes.set_xlabel("accuracy, percent", fontsize=8, color=INK)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower left", bbox_to_anchor=(-0.1, 1.08), ncols=2)
    save_figure(figure, folder / "accuracy.png")
