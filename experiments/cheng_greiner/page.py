"""The tables and pictures of the page, all made from results.csv and pairs.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.cheng_greiner.run import PAIRS, RULES, SETTINGS, SIX, YARDSTICKS
from experiments.common import LEVEL, read_csv
from tanager.evaluate import Table
from tanager.plot.style import styled

Lines = list[dict[str, Any]]

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
    lines, pairs = read_csv(folder / "results.csv"), read_csv(folder / "pairs.csv")
    return {
        "best": best(lines),
        "accuracy": accuracy(lines),
        "seeds": seeds(lines),
        "alike": alike(pairs),
        "order": order(lines),
        "features": features(lines),
        "smoothing": smoothing(lines),
        "wrapper": wrapper(lines),
        "times": times(lines),
    }


def of(lines: Lines, dataset: str, classifier: str | None = None, setting: str | None = "ours") -> Lines:
    """The lines of a data set, or of one classifier on it in one setting: one per draw and seed."""
    return [
        line
        for line in lines
        if line["dataset"] == dataset
        and classifier in (None, line["classifier"])
        and setting in (None, line["setting"])
    ]


def datasets(lines: Lines) -> list[str]:
    """Names of the data sets, in the order they came."""
    return list(dict.fromkeys(line["dataset"] for line in lines))


def percents(lines: Lines) -> list[float]:
    """Accuracies in percent; a line whose tables did not fit has none."""
    return [100 * line["accuracy"] for line in lines if line["accuracy"] is not None]


def percent(lines: Lines) -> float | None:
    """Accuracy in percent, the mean over draws and seeds."""
    known = percents(lines)
    return float(np.mean(known)) if known else None


def margin(accuracy: float, n_test: int) -> float:
    """The source's ±: 1.96 standard errors of a share, in percent."""
    p = accuracy / 100
    return float(100 * 1.96 * (p * (1 - p) / n_test) ** 0.5)


def reached(ours: float | None, said: float | None, n_test: int) -> str:
    """Whether a figure is at least the source's less its ±."""
    if ours is None or said is None:
        return "-"
    return "yes" if ours >= said - margin(said, n_test) else "no"


def said(dataset: str) -> dict[str, float]:
    """What the source has for the six."""
    return dict(zip(SIX, SOURCE.get(dataset, ()), strict=False))


def best(lines: Lines) -> Table:
    """The best of the six in the source and in both settings, and whether it is at least theirs less their ±."""
    rows = []
    for dataset in datasets(lines):
        n_test, theirs = of(lines, dataset)[0]["n_test"], said(dataset)
        top = max(theirs.values(), default=None)
        names = ", ".join(name for name, value in theirs.items() if value == top)
        row: list[Any] = [dataset, top, None if top is None else margin(top, n_test), names]
        for setting in SETTINGS:
            own = {name: percent(of(lines, dataset, name, setting)) or 0.0 for name in SIX}
            mine = max(SIX, key=lambda name: own[name])
            row += [own[mine], mine, reached(own[mine], top, n_test)]
        rows.append(row)
    names = ["dataset", "source", "±", "its best"]
    names += ["as published", "best", "reached", "ours", "our best", "ours reached"]
    rows = [[*row[:4], *row[7:], *row[4:7]] for row in rows]
    return Table(names, rows, dict.fromkeys(("source", "±", "as published", "ours"), ".2f"))


def accuracy(lines: Lines) -> Table:
    """Table 2: the six and two yardsticks in both settings beside the source, with the spread over draws and seeds."""
    rows: list[list[Any]] = []
    for dataset in datasets(lines):
        for name in (*SIX, *YARDSTICKS):
            n_test, top = of(lines, dataset)[0]["n_test"], said(dataset).get(name)
            row: list[Any] = [dataset, name, top, None if top is None else margin(top, n_test)]
            for setting in SETTINGS[::-1]:
                own = of(lines, dataset, name, setting)
                row += [percent(own), spread(percents(own), ".2f"), reached(percent(own), top, n_test)]
            rows.append(row)
    names = ["dataset", "classifier", "source", "±", "as published", "from, to", "reached"]
    names += ["ours", "ours, from, to", "ours reached"]
    counts = [sum(row[at] == "yes" for row in rows) for at in (6, 9)]
    note = f"Reached: as published {counts[0]}, ours {counts[1]}, of {sum(row[2] is not None for row in rows)} figures."
    return Table(names, rows, dict.fromkeys(("source", "±", "as published", "ours"), ".2f"), note=note)


def seeds(lines: Lines) -> Table:
    """How much the rows that the wrapper holds out matter, and how much the draw of the rows that are asked."""
    rows: list[list[Any]] = []
    for dataset in datasets(lines):
        for setting in SETTINGS[::-1]:
            by_seed = {name: _ranges(of(lines, dataset, name, setting), "draw") for name in SIX}
            by_draw = [_ranges(of(lines, dataset, name, setting), "seed") for name in SIX]
            most = max(SIX, key=lambda name: max(by_seed[name], default=0.0))
            changes = [_changes(of(lines, dataset, name, setting)) for name in SIX]
            flat = [value for own in by_seed.values() for value in own]
            drawn = [value for own in by_draw for value in own]
            row = [float(np.mean(flat)), max(flat), most, f"{sum(changes)} of {len(changes)}", float(np.mean(drawn))]
            rows.append([dataset, setting, *row])
    names = [
        "dataset",
        "setting",
        "range over seeds, mean",
        "largest",
        "of",
        "other threshold",
        "range over draws, mean",
    ]
    return Table(names, rows, dict.fromkeys((names[2], "largest", names[6]), ".2f"))


def _ranges(lines: Lines, fixed: str) -> list[float]:
    """The range of accuracy in points, with one of draw and seed held fixed."""
    parts = [percents([line for line in lines if line[fixed] == at]) for at in {line[fixed] for line in lines}]
    return [max(part) - min(part) for part in parts if part]


def _changes(lines: Lines) -> bool:
    """Whether another seed chose another threshold in some draw."""
    chosen = {(line["draw"], line["threshold"]) for line in lines}
    return len(chosen) > len({line["draw"] for line in lines})


def alike(pairs: Lines) -> Table:
    """What the source says makes little difference: gains of the second in points, and whether they are small."""
    rows = []
    for first, second in PAIRS:
        for setting in SETTINGS[::-1]:
            own = [
                pair for pair in pairs if (pair["first"], pair["second"], pair["setting"]) == (first, second, setting)
            ]
            rows.append([f"{first}, {second}", setting, *(_judged(own, dataset) for dataset in datasets(pairs))])
    note = (
        "Gain of the second in points, mean over the rows asked; = within one point (two one-sided tests, p < 0.05), "
        "+ or - better or worse (90 % interval apart from 0), ? neither shown."
    )
    return Table(["pair", "setting", *datasets(pairs)], rows, note=note)


def _judged(pairs: Lines, dataset: str) -> str:
    """The gain on one data set and what it has come to."""
    for pair in pairs:
        if pair["dataset"] == dataset:
            mark = "=" if pair["p"] < LEVEL else "+" if pair["low"] > 0 else "-" if pair["high"] < 0 else "?"
            return f"{100 * pair['gain']:+.2f} {mark}"
    return ""


def order(lines: Lines) -> Table:
    """Accuracy and arcs without an order, with the source's, and with that turned round."""
    rows = []
    for dataset in datasets(lines):
        for setting in SETTINGS[::-1]:
            for kind in ("W-GBN", "W-MN"):
                own = [of(lines, dataset, f"{kind}{mark}", setting) for mark in ("", "-O", "-R")]
                rows.append([dataset, setting, kind, *map(percent, own), *(_mean(each, "arcs") for each in own)])
    marks = ("no order", "order", "wrong order")
    names = ["dataset", "setting", "classifier", *marks, *(f"arcs, {mark}" for mark in marks)]
    return Table(names, rows, dict.fromkeys(marks, ".2f") | dict.fromkeys(names[6:], ".1f"))


def _mean(lines: Lines, what: str) -> float | None:
    """The mean of something that was measured, where it was."""
    known = [line[what] for line in lines if line[what] is not None]
    return float(np.mean(known)) if known else None


def features(lines: Lines) -> Table:
    """How many attributes are left in the blanket of the class, beside the source; the range over draws and seeds."""
    rows = []
    for dataset in datasets(lines):
        for setting in SETTINGS[::-1]:
            theirs = SOURCE_FEATURES.get(dataset, (None, None))
            cells: list[Any] = []
            for name, known in zip(("W-GBN", "W-GBN-O"), theirs, strict=True):
                own = of(lines, dataset, name, setting)
                cells += [known, *(spread([line[what] for line in own]) for what in ("features", "threshold"))]
            rows.append([dataset, of(lines, dataset)[0]["attributes"], setting, *cells])
    names = ["dataset", "attributes", "setting", "source", "W-GBN", "threshold", "source, O", "W-GBN-O", "threshold, O"]
    return Table(names, rows)


def smoothing(lines: Lines) -> Table:
    """Accuracy under the rules of smoothing that were run, with the wrapper's first seed."""
    first = [line for line in lines if line["seed"] == 0]
    shown = ["ours", *(rule for rule in RULES if any(line["setting"] == rule for line in lines)), "published"]
    rows = []
    for dataset in datasets(lines):
        for kind in ("W-GBN", "W-GBN-O", "W-MN", "W-MN-O"):
            rows.append([dataset, kind, *(percent(of(first, dataset, kind, rule)) for rule in shown)])
    names = ["dataset", "classifier", "back-off 20", *shown[1:-1], "as published"]
    return Table(names, rows, dict.fromkeys(names, ".2f"))


def spread(values: list[Any], form: str = "g") -> str:
    """One value, or the range of several."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = (format(value, form) for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def wrapper(lines: Lines) -> Table:
    """Seconds to learn with the wrapper as a multiple of those without it, at the threshold that it chose."""
    rows: list[list[Any]] = []
    for dataset in datasets(lines):
        for setting in SETTINGS[::-1]:
            cells: list[Any] = []
            for name in ("W-GBN", "W-MN", "W-MN-FS"):
                own = [line for line in of(lines, dataset, name, setting) if line["alone_seconds"] is not None]
                times = [line["fit_seconds"] / line["alone_seconds"] for line in own]
                cells += [float(np.median(times)), spread([line["threshold"] for line in own])]
            tried = [line["tried"] for line in of(lines, dataset, "W-GBN", setting)]
            rows.append([dataset, setting, spread(tried), *cells])
    kinds = ("W-GBN", "W-MN", "W-MN-FS")
    names = ["dataset", "setting", "thresholds tried", *(cell for kind in kinds for cell in (kind, f"{kind} at"))]
    return Table(names, rows, dict.fromkeys(kinds, ".1f"))


def times(lines: Lines) -> Table:
    """Table 3: seconds to learn, wrapper and all, beside the source; and rows answered in a second."""
    rows = []
    for dataset in datasets(lines):
        cells: list[Any] = []
        for name in ("W-GBN", "W-MN", "W-MN-FS"):
            cells.append(SOURCE_SECONDS.get(dataset, {}).get(name))
            cells += [_mean(of(lines, dataset, name, setting), "fit_seconds") for setting in SETTINGS[::-1]]
        quick = [line["n_test"] / line["predict_seconds"] for line in of(lines, dataset, "W-GBN")]
        rows.append([dataset, *cells, int(np.median(quick))])
    names = ["dataset"]
    for name in ("W-GBN", "W-MN", "W-MN-FS"):
        names += [f"{name}, source", f"{name}, as published", name]
    loads = [line["load"] for line in lines]
    note = (
        f"Seconds of the processor, from the table on; load of the machine while timing {min(loads)} to {max(loads)}. "
        "The source's are of a Pentium II at 300 MHz."
    )
    seconds = [name for name in names[1:] if "source" not in name]
    return Table([*names, "rows answered a second"], rows, dict.fromkeys(seconds, ".2f"), note=note)


@styled
def pictures(folder: Path) -> None:
    """Accuracy of the six in both settings beside the source's, a panel per data set."""
    from tanager.plot.figure import add_panel, new_figure, save_figure
    from tanager.plot.style import COLOURS, GRID, QUIET, SMALL

    lines = read_csv(folder / "results.csv")
    names = datasets(lines)
    figure = new_figure(1.2 + 2.0 * len(names), 3.0)
    for at, dataset in enumerate(names):
        axes = add_panel(figure, 0.95 + 2.0 * at, 0.55, 1.6, 1.95)
        n_test = of(lines, dataset)[0]["n_test"]
        for place, name in enumerate(SIX):
            for setting, colour, mark in (("ours", COLOURS[0], "o"), ("published", COLOURS[2], "s")):
                each = percents(of(lines, dataset, name, setting))
                if each:
                    at_height = -place - (0.08 if setting == "ours" else 0.28)
                    said_once = setting if not place else None
                    axes.plot(np.mean(each), at_height, mark, color=colour, ms=4, label=said_once)
                    axes.plot([min(each), max(each)], [at_height] * 2, color=colour, lw=1.5)
            if dataset in SOURCE:
                top = SOURCE[dataset][place]
                axes.errorbar(
                    top,
                    -place + 0.2,
                    xerr=margin(top, n_test),
                    fmt="D",
                    color=COLOURS[1],
                    ms=4,
                    lw=1.2,
                    label="source" if not place else None,
                )
        axes.set_yticks([-place for place in range(len(SIX))], SIX if at == 0 else [""] * len(SIX))
        axes.set_ylim(-len(SIX) + 0.5, 0.5)
        axes.grid(axis="x", **GRID)
        axes.set_title(dataset, color=QUIET)
        axes.set_xlabel("accuracy, percent", fontsize=SMALL)
    axes.legend(loc="lower left", bbox_to_anchor=(-1.1, 1.08), ncols=3)
    save_figure(figure, folder / "accuracy.png")
