"""The report of ``tanager compare``: one file, or classifiers over several files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tanager.cli.screen import Screen, counted, listed, table

MEASURES = ("accuracy", "log_loss", "rmse", "auc", "calibration_error")
HEADS = ("accuracy", "log loss", "rmse", "auc", "calib.")
MARKED = ("accuracy", "log_loss")  # measures with a mark of significance


def print_heading(screen: Screen, name: str, labelled: Any, given: dict[str, Any]) -> None:
    """The size of the data, the folds, and the dropped columns."""
    rows, columns = labelled.X.num_rows, labelled.X.num_columns
    times = f"{counted(given['repeats'], 'time')} " if given["repeats"] > 1 else ""
    what = f"{counted(rows, 'row')}, {counted(columns, 'column')}"
    how = "" if given["fold_order"] == "random" else f"{given['fold_order']} "
    screen.say(f"{name}: {what}, {times}{how}{given['folds']}-fold cross-validation", style="bold")
    if labelled.dropped:
        screen.say(f"Dropped: {listed(f'{column} ({why})' for column, why in labelled.dropped.items())}")
    screen.say()


def print_one(screen: Screen, results: Any, by: str) -> dict[str, Any]:
    """Print the table of one file, best first; a minus marks what is significantly worse than the best."""
    dataset = results.datasets[0]
    lines = {line["classifier"]: line for line in results.summary(MEASURES).to_dicts()}
    order = results.best_first(dataset, by)
    worse = {measure: _significantly_worse(results, measure) for measure in MARKED}
    rows = []
    for name in order:
        line = lines[name]
        marks = {measure: " -" if name in worse[measure] else "  " for measure in MARKED}
        cells = [_figure(line[measure], marks.get(measure, "")) for measure in MEASURES]
        rows.append((name, *cells, _seconds(line["fit_seconds"]), _seconds(line["predict_seconds"])))
    screen.show(table(("", *HEADS, "fit", "predict"), rows, right=(*HEADS, "fit", "predict")))
    screen.say(
        "\n- significantly worse than the best (corrected resampled t-test, 5 %). Calib.: expected calibration error."
    )
    screen.say(
        "Times are for fitting, and predicting, all rows with this classifier alone; slow ones scaled up from folds."
    )
    return {"dataset": dataset, "classifiers": [lines[name] for name in order]}


def print_peers(screen: Screen, encodings: Sequence[str]) -> None:
    """How the classifiers of scikit-learn see the table."""
    if encodings:
        screen.say("Of scikit-learn:")
    for line in encodings:
        screen.say(f"  {line}")


def _significantly_worse(results: Any, measure: str) -> set[str]:
    lines = results.compare(measure=measure).to_dicts()
    return {line["classifier"] for line in lines if str(line["verdict"]).startswith("worse")}


def _figure(value: float | None, mark: str) -> str:
    return "" if value is None or value != value else f"{value:.4f}{mark}"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def print_several(screen: Screen, results: Any, by: str) -> dict[str, Any]:
    """Print the comparison over files: the measure, ranks, and the best against each of the others."""
    by_dataset, overall, tested = results.by_dataset(by), results.over_datasets(by), results.friedman(by)
    what = by.replace("_", " ")
    best = overall.rows[0][0]
    against = _against(results, by, best)
    screen.say(what.capitalize(), style="bold")
    screen.say(_narrow(by_dataset, overall))
    screen.say(f"\nOver {counted(len(by_dataset.rows), 'file')}", style="bold")
    head = ("", f"mean {what}", "mean rank", "best on", "ratio", f"{best} vs. it", "p")
    rows = [
        (name, f"{mean:.4f}", f"{rank:.2f}", str(on), f"{ratio:.3f}", *against.get(name, ("", "")))
        for name, mean, rank, on, ratio in overall.rows
    ]
    screen.show(table(head, rows, right=head[1:]))
    friedman = tested.to_dicts()[0]
    screen.say(
        f"\nratio: geometric mean of its {what} relative to {best}. Wins-draws-losses with a two-tailed sign test.\n"
        f"Friedman: p = {friedman['p']:.3g}; critical difference {friedman['critical difference']:.2f} (Nemenyi)."
    )
    return {
        by: by_dataset.to_dicts(),
        "overall": overall.to_dicts(),
        "pairs": results.pairs(by).to_dicts(),
        "friedman": friedman,
    }


def _against(results: Any, by: str, best: str) -> dict[str, tuple[str, str]]:
    """Wins, draws and losses of the best classifier against each other one, and the p-value."""
    against = {}
    for line in results.pairs(by).to_dicts():
        if best in (line["first"], line["second"]):
            won, lost = (line["wins"], line["losses"]) if line["first"] == best else (line["losses"], line["wins"])
            other = line["second"] if line["first"] == best else line["first"]
            against[other] = (f"{won}-{line['draws']}-{lost}", f"{line['p']:.3f}")
    return against


def _narrow(by_dataset: Any, overall: Any, most: int = 8) -> str:
    """The measure for the best classifiers, as many as fit into the width of a terminal."""
    from tanager.evaluate import Table

    shown = [row[0] for row in overall.rows[:most]]
    places = [by_dataset.names.index(name) for name in shown]
    rows = [[row[0], *(row[at] for at in places)] for row in by_dataset.rows]
    left = len(overall.rows) - len(shown)
    note = f"... and {left} more classifiers, with lower ranks; use -o FILE for all." if left > 0 else ""
    return str(Table(["", *shown], rows, note=note))
